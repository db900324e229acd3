"""Rules of where the bins of a numeric column end, in plain NumPy, for `bins_boosting.py`."""

from collections.abc import Callable
from functools import partial

import numpy as np

__all__ = ["RULES", "Rule", "code_columns"]

MOST_BINS = 255
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From the distinct values of a column, ascending, and how often they occur, to the thresholds between its bins."""


def find_heavy(counts: np.ndarray, n_bins: int) -> np.ndarray:
    """Which values outweigh a fair share of what the others leave, and get a bin of their own."""
    heavy = np.zeros(len(counts), dtype=bool)
    while (found := ~heavy & (counts * (n_bins - heavy.sum()) >= counts[~heavy].sum())).any():
        heavy |= found
    return heavy


def part_stretch(counts: np.ndarray, n_bins: int) -> list[int]:
    """Sizes of neighbouring bins, each as near as can be to an even share of what is left."""
    sums = np.concatenate([[0], np.cumsum(counts)])
    sizes, at = [], 0
    for left in range(n_bins, 0, -1):
        wanted = (sums[-1] - sums[at]) / left
        last = len(counts) - left + 1
        end = at + 1 + int(np.argmin(np.abs(sums[at + 1 : last + 1] - sums[at] - wanted)))
        sizes.append(end - at)
        at = end
    return sizes


def share_evenly(counts: np.ndarray, n_bins: int) -> list[int]:
    """How many neighbouring values each bin takes, the bins of about equal weight."""
    heavy = find_heavy(counts, n_bins)
    starts = np.flatnonzero(np.diff(heavy, prepend=not heavy[0]) | heavy)
    pieces = np.split(np.arange(len(counts)), starts[1:])
    light = [k for k, piece in enumerate(pieces) if not heavy[piece[0]]]
    weights = {k: int(counts[pieces[k]].sum()) for k in light}
    given = dict.fromkeys(range(len(pieces)), 1) | dict.fromkeys(light, 0)
    for _ in range(n_bins - int(heavy.sum())):
        # The next bin goes to the stretch that has most weight a bin.
        needy = [k for k in light if given[k] < len(pieces[k])]
        if not needy:
            break
        neediest = max(needy, key=lambda k: (given[k] == 0, weights[k] / max(1, given[k]), -k))
        given[neediest] += 1
    sizes: list[int] = []
    waiting = 0
    for k, piece in enumerate(pieces):
        parts = part_stretch(counts[piece], given[k])
        if parts:
            parts[0] += waiting
        waiting = 0 if parts else len(piece)
        sizes += parts
    sizes[-1] += waiting
    return sizes


def cut_tail(counts: np.ndarray, growth: int) -> list[int]:
    """Values of each narrow bin at the beginning of a column: a bin weighs 1 / growth of what lies before it."""
    sizes: list[int] = []
    at, before = 0, 0
    while growth and len(sizes) < MOST_BINS // 6:
        weight, size = counts[at], 1
        while weight * growth < before:
            weight, size = weight + counts[at + size], size + 1
        if weight * MOST_BINS >= counts.sum():
            break
        sizes.append(size)
        at, before = at + size, before + weight
    return sizes


def join_narrow(sizes: list[int], counts: np.ndarray) -> list[int]:
    """Neighbouring bins at the beginning of a column joined, up to what a bin of equal weight would hold."""
    joined, weight, at = [0], 0, 0
    for size in sizes:
        own = counts[at : at + size].sum()
        at += size
        if (weight + own) * MOST_BINS > counts.sum():
            joined.append(0)
            weight = 0
        joined[-1] += size
        weight += own
    return [size for size in joined if size]


def cut_by_weight(
    values: np.ndarray,
    counts: np.ndarray,
    growth: int,
    n_bins: int = MOST_BINS,
    place: float = 0.5,
    join: bool = False,
) -> np.ndarray:
    """Bins of equal weight, with narrow ones at the ends unless the growth is 0: with 8 the core's rule.

    A threshold lies in the middle between neighbouring values, or where `place` says, 0 being the lower of them. To
    `join` the narrow bins leaves the others as they are.
    """
    if len(values) <= n_bins:
        return values[:-1] + place * np.diff(values)
    lower, upper = cut_tail(counts, growth), cut_tail(counts[::-1], growth)[::-1]
    n_inner = n_bins - len(lower) - len(upper)
    inner = counts[sum(lower) : len(counts) - sum(upper)]
    if len(inner) <= n_inner:
        lower, upper, inner, n_inner = [], [], counts, n_bins
    if join:
        lower, upper = join_narrow(lower, counts), join_narrow(upper[::-1], counts[::-1])[::-1]
    ends = np.cumsum([*lower, *share_evenly(inner, n_inner), *upper])[:-1]
    return values[ends - 1] + place * (values[ends] - values[ends - 1])


def cut_greedily(values: np.ndarray, counts: np.ndarray, n_bins: int, least: int = 3) -> np.ndarray:
    """LightGBM's `GreedyFindBin`: a bin ends when it reaches the mean of what is left; of at least three rows."""
    ends: list[int] = []
    weight = 0
    if len(values) <= n_bins:
        for k in range(len(values) - 1):
            weight += counts[k]
            if weight >= least:
                ends.append(k + 1)
                weight = 0
    else:
        n_bins = max(1, min(n_bins, int(counts.sum()) // least))
        large = counts >= counts.sum() / n_bins
        bins_left, rest = n_bins - int(large.sum()), int(counts[~large].sum())
        mean = rest / max(1, bins_left)
        for k in range(len(values) - 1):
            rest -= 0 if large[k] else counts[k]
            weight += counts[k]
            if large[k] or weight >= mean or (large[k + 1] and weight >= max(1.0, mean / 2)):
                ends.append(k + 1)
                if len(ends) >= n_bins - 1:
                    break
                weight = 0
                if not large[k]:
                    bins_left -= 1
                    mean = rest / max(1, bins_left)
    return np.array([(values[end - 1] + values[end]) / 2 for end in ends])


def cut_as_lightgbm(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """LightGBM's bins: zero has one of its own, numbers on both sides have their share of the others."""
    zero = 1e-35
    below, above = values < -zero, values > zero
    cuts = [np.empty(0)]
    used = 0
    if below.any():
        share = int(counts[below].sum() / counts[below | above].sum() * (MOST_BINS - 1))
        cuts += [cut_greedily(values[below], counts[below], max(1, share)), np.array([-zero])]
        used = len(cuts[1]) + 1
    if above.any() and used < MOST_BINS - 1:
        cuts += [np.array([zero]), cut_greedily(values[above], counts[above], MOST_BINS - 1 - used)]
    return np.concatenate(cuts)


RULES: dict[str, Rule] = {
    "equal weight": partial(cut_by_weight, growth=0),
    "narrow ends, 1/8": partial(cut_by_weight, growth=8),
    "narrow ends, 1/4": partial(cut_by_weight, growth=4),
    "narrow ends, 1/2": partial(cut_by_weight, growth=2),
    "LightGBM's bins": cut_as_lightgbm,
    "narrow ends, 1/8, joined to fair shares": partial(cut_by_weight, growth=8, join=True),
    "equal weight, threshold at the lower value": partial(cut_by_weight, growth=0, place=0.0),
    "narrow ends, 1/8, threshold at the lower value": partial(cut_by_weight, growth=8, place=0.0),
    "equal weight, 171 bins": partial(cut_by_weight, growth=0, n_bins=MOST_BINS - 2 * (MOST_BINS // 6)),
}
"""In the core a narrow bin weighs an eighth of what lies beyond it."""


def code_columns(X: np.ndarray, X_test: np.ndarray, rule: Rule) -> tuple[np.ndarray, np.ndarray]:
    """Both tables in numbers of bins, which a rule learns from the first; missing values stay missing."""
    coded = np.full(X.shape, np.nan), np.full(X_test.shape, np.nan)
    for j, column in enumerate(X.T):
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        thresholds = rule(values, counts)
        for table, codes in zip((X, X_test), coded, strict=True):
            present = ~np.isnan(table[:, j])
            codes[present, j] = np.searchsorted(thresholds, table[present, j])
    return coded
