"""The executable textbook of boosting: exact splits of Newton steps, leaf by leaf, in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.naive.randomness import ROOT_KEY, THRESHOLD, NodeNumbers, child_key, scale_below

Floats = NDArray[np.float64]
Slopes = Callable[[Floats], tuple[Floats, Floats]]


def find_split(X: Floats, g: Floats, h: Floats, lam: float, min_leaf: int) -> tuple[float, int, float, bool]:
    """Best (gain, feature, threshold, missing left) of a node: every threshold, missing values on either side."""
    best = (0.0, -1, 0.0, False)
    whole = g.sum() ** 2 / (h.sum() + lam)
    for feature in range(X.shape[1]):
        x = X[:, feature]
        seen = np.unique(x[~np.isnan(x)])
        cuts = list(seen[:-1]) + ([np.inf] if np.isnan(x).any() and len(seen) else [])
        for cut in cuts:
            for missing_left in (False, True) if np.isnan(x).any() and np.isfinite(cut) else (False,):
                left = np.where(np.isnan(x), missing_left, x <= cut)
                if min(left.sum(), (~left).sum()) < min_leaf:
                    continue
                gl, hl, gr, hr = g[left].sum(), h[left].sum(), g[~left].sum(), h[~left].sum()
                gain = (gl**2 / (hl + lam) + gr**2 / (hr + lam) - whole) / 2
                if gain > best[0] * (1 + 1e-9) + 1e-12:
                    best = (gain, feature, cut, missing_left)
    return best


def grow(X: Floats, g: Floats, h: Floats, n_leaves: int, lam: float, min_leaf: int) -> Floats:
    """Newton step of each row: the best leaf is split first until there are enough."""
    leaves = [(np.arange(len(X)), find_split(X, g, h, lam, min_leaf))]
    while len(leaves) < n_leaves:
        k = max(range(len(leaves)), key=lambda i: leaves[i][1][0])
        rows, (gain, feature, cut, missing_left) = leaves[k]
        if gain <= 0.0:
            break
        x = X[rows, feature]
        left = np.where(np.isnan(x), missing_left, x <= cut)
        parts = [rows[left], rows[~left]]
        leaves[k : k + 1] = [(part, find_split(X[part], g[part], h[part], lam, min_leaf)) for part in parts]
    steps = np.zeros(len(X))
    for rows, _ in leaves:
        steps[rows] = -g[rows].sum() / (h[rows].sum() + lam)
    return steps


def measure_split(left: NDArray[np.bool_], g: Floats, h: Floats, lam: float, min_leaf: int) -> float:
    """What a split of a node gains; 0 if it leaves too few rows on a side."""
    if min(left.sum(), (~left).sum()) < min_leaf:
        return 0.0
    sides = sum(g[side].sum() ** 2 / (h[side].sum() + lam) for side in (left, ~left))
    return max(0.0, float(sides - g.sum() ** 2 / (h.sum() + lam)) / 2)


def grow_levels(X: Floats, g: Floats, h: Floats, depth: int, lam: float, min_leaf: int) -> Floats:
    """Newton step of each row of a symmetric tree: a depth has the split with the largest sum of gains in its nodes."""
    level = [np.arange(len(X))]
    for _ in range(depth):
        best, chosen = 0.0, np.zeros(len(X), dtype=bool)
        for x in X.T:
            seen = np.unique(x[~np.isnan(x)])
            for cut in [*seen[:-1], *([np.inf] if np.isnan(x).any() else [])]:
                for missing_left in (False, True) if np.isnan(x).any() and np.isfinite(cut) else (False,):
                    left = np.where(np.isnan(x), missing_left, x <= cut)
                    gain = sum(measure_split(left[rows], g[rows], h[rows], lam, min_leaf) for rows in level)
                    if gain > best * (1 + 1e-9) + 1e-12:
                        best, chosen = gain, left
        parts = []
        for rows in level:
            worth = measure_split(chosen[rows], g[rows], h[rows], lam, min_leaf) > 0.0
            parts += [rows[chosen[rows]], rows[~chosen[rows]]] if worth else [rows]
        level = parts
    steps = np.zeros(len(X))
    for rows in level:
        steps[rows] = -g[rows].sum() / (h[rows].sum() + lam)
    return steps


def find_random_split(
    X: Floats, g: Floats, h: Floats, values: list[Floats], numbers: NodeNumbers, lam: float, min_leaf: int
) -> tuple[float, int, float, bool]:
    """As `find_split`, with one threshold of each feature, drawn of the values of the table that are in its range."""
    best = (0.0, -1, 0.0, False)
    for feature, x in enumerate(X.T):
        known, has_missing = x[~np.isnan(x)], bool(np.isnan(x).any())
        inside = (
            values[feature][(values[feature] >= known.min()) & (values[feature] < known.max())] if len(known) else []
        )
        cuts = [*inside, *([np.inf] if has_missing and len(known) else [])]
        if not cuts:
            continue
        cut = cuts[scale_below(numbers.at(THRESHOLD, feature), len(cuts))]
        for missing_left in (False, True) if has_missing and np.isfinite(cut) else (False,):
            gain = measure_split(np.where(np.isnan(x), missing_left, x <= cut), g, h, lam, min_leaf)
            if gain > best[0] * (1 + 1e-9) + 1e-12:
                best = (gain, feature, cut, missing_left)
    return best


def grow_random(
    X: Floats, g: Floats, h: Floats, n_leaves: int, lam: float, min_leaf: int, seed: int, tree: int
) -> Floats:
    """As `grow`, with random thresholds, which the path of a node and the number of the tree are the keys of."""
    values = [np.unique(x[~np.isnan(x)]) for x in X.T]

    def look(rows: NDArray[np.intp], key: int) -> tuple[NDArray[np.intp], int, tuple[float, int, float, bool]]:
        numbers = NodeNumbers(seed, tree, key)
        return rows, key, find_random_split(X[rows], g[rows], h[rows], values, numbers, lam, min_leaf)

    leaves = [look(np.arange(len(X)), ROOT_KEY)]
    while len(leaves) < n_leaves:
        k = max(range(len(leaves)), key=lambda i: leaves[i][2][0])
        rows, key, (gain, feature, cut, missing_left) = leaves[k]
        if gain <= 0.0:
            break
        x = X[rows, feature]
        left = np.where(np.isnan(x), missing_left, x <= cut)
        leaves[k : k + 1] = [look(rows[left], child_key(key, False)), look(rows[~left], child_key(key, True))]
    steps = np.zeros(len(X))
    for rows, _, _ in leaves:
        steps[rows] = -g[rows].sum() / (h[rows].sum() + lam)
    return steps


def boost(X: Floats, slopes: Slopes, baseline: float, n_rounds: int, rate: float, **tree: Any) -> Floats:
    """Scores of the training rows after so many rounds.

    Trees are symmetric if their depth is given, and have random thresholds if a seed is; with a depth and a number of
    leaves every second one is symmetric.
    """
    depth = {"depth": tree.pop("depth")} if "depth" in tree else {}
    leaves = {"n_leaves": tree.pop("n_leaves")} if "n_leaves" in tree else {}
    by_leaves = grow_random if "seed" in tree else grow
    scores = np.full(len(X), baseline)
    for number in range(n_rounds):
        g, h = slopes(scores)
        if depth and (number % 2 == 1 or not leaves):
            steps = grow_levels(X, g, h, **depth, **tree)
        else:
            steps = by_leaves(X, g, h, **leaves, **tree, **({"tree": number} if "seed" in tree else {}))
        scores = scores + rate * steps
    return scores


def find_steps(leaves: NDArray[Any], g: Floats, h: Floats, lam: float, weights: Floats | None) -> Floats:
    """Newton step of each row, by all rows of its leaf."""
    own = np.ones(len(g)) if weights is None else weights
    steps = np.zeros(len(g))
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        steps[rows] = -(own * g)[rows].sum() / ((own * h)[rows].sum() + lam)
    return steps


def find_quantile(values: Floats, weights: Floats, level: float) -> float:
    """The least value with that share of the weight at or below it; the middle to the next where it is parted so."""
    order = np.argsort(values, kind="stable")
    values, reached = values[order], np.cumsum(weights[order])
    at = int(np.argmax(reached >= level * reached[-1]))
    parted = reached[at] == level * reached[-1] and at + 1 < len(values)
    return float(values[at] / 2 + values[at + 1] / 2 if parted else values[at])


def find_huber_step(residuals: Floats, weights: Floats, delta: float) -> float:
    """The median, moved by the mean of the distances from it, held within delta [Friedman2001, eq. 30]."""
    middle = find_quantile(residuals, weights, 0.5)
    return middle + float(np.average(np.clip(residuals - middle, -delta, delta), weights=weights))


def find_numeric_split(
    gradients: NDArray[np.int64], hessians: NDArray[np.int64], has_missing: bool, limits: tuple[int, int], **by: float
) -> tuple[float, int, bool] | None:
    """Best (gain, bin, missing left) of a column's histogram: the plain maximum in double of all that is allowed.

    `limits` are the least hessian of a side and the number of rows in a node; `by` has gradient_unit, hessian_unit,
    reg_lambda, gamma and min_samples_leaf. Gains that are not positive are no splits.
    """
    n_bins = len(gradients) - has_missing
    g, h = float(gradients.sum()), float(hessians.sum())
    l2 = by["reg_lambda"] / by["hessian_unit"]
    whole = h + 2.0 * l2
    ratio, shift = g / whole, g * g / whole - g * g / (h + l2)
    least = max(limits[0], int(np.ceil((by["min_samples_leaf"] - 0.5) * h / limits[1])))
    unit = 0.5 * by["gradient_unit"] * by["gradient_unit"] / by["hessian_unit"]
    missing = bool(has_missing and (gradients[-1] != 0 or hessians[-1] != 0))
    best: tuple[float, int, bool] | None = None
    for missing_left in (False, True) if missing else (False,):
        n_cuts = n_bins if missing and not missing_left else n_bins - 1
        left_g, left_h = (np.cumsum(a[:n_cuts]) + (a[-1] if missing_left else 0) for a in (gradients, hessians))
        for cut in range(n_cuts):
            if not least <= left_h[cut] <= hessians.sum() - least:
                continue
            a = float(left_h[cut]) + l2
            d = float(left_g[cut]) - ratio * a
            gain = unit * (d * d * whole / (a * (whole - a)) + shift) - by["gamma"]
            if gain > (0.0 if best is None else best[0]):
                best = (gain, cut, missing_left)
    return best
