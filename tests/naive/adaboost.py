"""AdaBoost with stumps, as it is on the blackboard: every threshold of every feature is tried."""

import numpy as np


def measure_gini(counts):
    """Weight times Gini index."""
    total = counts.sum()
    return total - (counts**2).sum() / total if total > 0 else 0.0


def measure_error(counts):
    """Weight that is not of the heaviest class."""
    return counts.sum() - counts.max()


def count_classes(y, w, rows, n_classes):
    return np.bincount(y[rows], weights=w[rows], minlength=n_classes)


def list_questions(x, levels=0):
    """All ways to part the rows by one column, as masks of what goes left; missing values go either way."""
    missing = np.isnan(x)
    if levels:
        subsets = (np.isin(x, [k for k in range(levels) if s >> k & 1]) for s in range(1, 2**levels))
        sides = [(left, 0.0) for left in subsets]
    else:
        values = np.unique(x[~missing])
        sides = [(x <= t, t) for t in (values[:-1] + values[1:]) / 2]
        if missing.any() and len(values):
            sides.append((~missing, np.inf))
    for left, threshold in sides:
        yield left, threshold
        if missing.any() and np.isfinite(threshold):
            yield left | missing, threshold


def find_stump(X, y, w, impurity, n_classes, levels=None):
    """Impurity, feature, threshold and left side of the best question; the first of equals."""
    best = (np.inf, 0, 0.0, None)
    for j in range(X.shape[1]):
        for left, threshold in list_questions(X[:, j], 0 if levels is None else levels[j]):
            if w[left].sum() == 0 or w[~left].sum() == 0:
                continue
            split = sum(impurity(count_classes(y, w, side, n_classes)) for side in (left, ~left))
            if split < best[0] - 1e-12:
                best = (split, j, threshold, left)
    return best


def predict_sides(y, w, left, n_classes):
    """Each side predicts its heaviest class."""
    votes = [count_classes(y, w, side, n_classes).argmax() for side in (left, ~left)]
    return np.where(left, votes[0], votes[1])


def boost_discrete(X, y, n_rounds, impurity=measure_error):
    """alpha = 1/2 log((1 - eps) / eps), D *= exp(-alpha y h): for each round D, eps, alpha, feature, threshold."""
    n = len(y)
    D, rounds = np.full(n, 1 / n), []
    for _ in range(n_rounds):
        _, j, threshold, left = find_stump(X, y, D, impurity, 2)
        wrong = predict_sides(y, D, left, 2) != y
        eps = D[wrong].sum()
        alpha = 0.5 * np.log((1 - eps) / eps)
        rounds.append((D, eps, alpha, j, threshold))
        D = D * np.exp(np.where(wrong, alpha, -alpha))
        D = D / D.sum()
    return rounds


def boost_samme(X, y, n_rounds, n_classes, impurity=measure_gini):
    """alpha = log((1 - eps) / eps) + log(K - 1), wrong rows times exp(alpha)."""
    n = len(y)
    D, rounds = np.full(n, 1 / n), []
    for _ in range(n_rounds):
        _, j, threshold, left = find_stump(X, y, D, impurity, n_classes)
        wrong = predict_sides(y, D, left, n_classes) != y
        eps = D[wrong].sum()
        alpha = np.log((1 - eps) / eps) + np.log(n_classes - 1)
        rounds.append((D, eps, alpha, j, threshold))
        D = np.where(wrong, D * np.exp(alpha), D)
        D = D / D.sum()
    return rounds


def stage_medians(values, weights, share):
    """For each number of first members, the first value with which their weights reach a share of the sum."""
    staged = np.empty((values.shape[1], values.shape[0]))
    for row, own in enumerate(values):
        for n in range(1, len(own) + 1):
            members = sorted(range(n), key=lambda t: (np.isnan(own[t]), own[t], t))
            reached, goal = 0.0, share * sum(weights[:n].tolist())
            for t in members:
                reached += weights[t]
                if reached >= goal:
                    staged[n - 1, row] = own[t]
                    break
    return staged
