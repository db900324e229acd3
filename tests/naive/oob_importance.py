"""Importance by out-of-bag rows, member by member, from what a forest shows of itself."""

from itertools import pairwise

import numpy as np


def list_out_of_bag(forest, n_rows):
    for member, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        yield member, np.setdiff1d(np.arange(n_rows), sample)


def permute_out_of_bag(forest, X, y, n_repeats, seed=0):
    """Mean over trees of the growth of the loss; the shuffles are of its own."""
    rng = np.random.default_rng(seed)
    growth = np.zeros((X.shape[1], n_repeats))
    for member, out in list_out_of_bag(forest, len(X)):
        before = measure_loss(member, X[out], y[out])
        for feature in range(X.shape[1]):
            for repeat in range(n_repeats):
                shuffled = X[out].copy()
                shuffled[:, feature] = rng.permutation(shuffled[:, feature])
                growth[feature, repeat] += measure_loss(member, shuffled, y[out]) - before
    return growth / len(forest.estimators_)


def measure_loss(member, X, y):
    answer = member.predict(X)
    return np.mean(answer != y) if hasattr(member, "classes_") else np.mean((answer - y) ** 2)


def debias_impurity(forest, X, y):
    """Mean over trees of sum (child's mean - node's mean) * y along the paths of rows out of bag [Li2019]."""
    total = np.zeros(X.shape[1])
    classes = getattr(forest, "classes_", None)
    targets = y[:, None] if classes is None else (y[:, None] == classes).astype(float)
    for member, out in list_out_of_bag(forest, len(X)):
        tree = member.tree_
        means = tree.value[:, 0, :]
        for row in out:
            path = member.decision_path(X[row : row + 1]).indices
            for node, child in pairwise(path):
                total[tree.feature[node]] += (means[child] - means[node]) @ targets[row] / len(out)
    return total / len(forest.estimators_)
