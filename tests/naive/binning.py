"""Bins, thresholds and presorted columns in plain NumPy: what the kernels must reproduce byte by byte."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

MISSING_BIN = 255
MISSING_CODE = 0xFFFFFFFF
SAMPLE_ROWS = 200_000


@dataclass
class NaiveBins:
    low: list[float]
    high: list[float]
    thresholds: list[float]
    has_missing: bool

    def find_bin(self, x: float) -> int:
        return MISSING_BIN if np.isnan(x) else sum(t < x for t in self.thresholds)


def choose_threshold(a: float, b: float) -> float:
    """The middle of a < b, moved to a float32 number if there is one in [a, b)."""
    middle = a / 2 + b / 2
    with np.errstate(over="ignore"):
        nearest = np.float32(middle)
        beside = [nearest, np.nextafter(nearest, np.float32(-np.inf)), np.nextafter(nearest, np.float32(np.inf))]
    for t in map(float, beside):
        if a <= t < b:
            return t
    return middle if a <= middle < b else a


def scale_to_integers(weights: np.ndarray) -> np.ndarray:
    """The weights times the smallest power of two that leaves no fraction."""
    for _ in range(60):
        if np.all(weights == np.floor(weights)):
            return weights.astype(np.int64)
        weights = weights * 2
    raise ValueError("The twin wants weights with few bits.")


def find_heavy(weights: np.ndarray, max_bins: int) -> np.ndarray:
    """Which values outweigh a fair share of what the others leave."""
    heavy = np.zeros(len(weights), dtype=bool)
    while True:
        n_left = max_bins - heavy.sum()
        found = ~heavy & (weights * n_left >= weights[~heavy].sum())
        if not found.any():
            return heavy
        heavy |= found


def part_stretch(weights: np.ndarray, n_bins: int) -> list[int]:
    """Sizes of n_bins neighbouring bins, each as near as can be to an even share of what is left."""
    sizes: list[int] = []
    at = 0
    for left in range(n_bins, 0, -1):
        sums = np.cumsum(weights[at : len(weights) - left + 1])
        off = np.abs(sums * left - weights[at:].sum())
        sizes.append(1 + int(np.argmin(off)))  # the first of equals
        at += sizes[-1]
    return sizes


def give_bins(masses: list[int], sizes: list[int], n_bins: int) -> list[int]:
    """The next bin always goes to the stretch that needs it most."""
    given = [0] * len(masses)

    def need(j: int) -> tuple[bool, Fraction, int]:
        return given[j] == 0, Fraction(masses[j], max(given[j], 1)), -j

    for _ in range(n_bins):
        open_ = [j for j, size in enumerate(sizes) if given[j] < size]
        if not open_:
            break
        given[max(open_, key=need)] += 1
    return given


def cut_tail(weights: np.ndarray, max_bins: int) -> list[int]:
    """Sizes of the narrow bins at the beginning: each weighs an eighth of what lies before it, or one value."""
    sizes: list[int] = []
    while max_bins >= 128 and len(sizes) < max_bins // 6:
        at = sum(sizes)
        before = weights[:at].sum()
        size = 1
        while 8 * weights[at : at + size].sum() < before:
            size += 1
        if weights[at : at + size].sum() * max_bins >= weights.sum():
            break
        sizes.append(size)
    return sizes


def share_bins(weights: np.ndarray, max_bins: int) -> list[int]:
    """How many neighbouring values each bin takes."""
    if len(weights) <= max_bins:
        return [1] * len(weights)
    lower, upper = cut_tail(weights, max_bins), cut_tail(weights[::-1], max_bins)[::-1]
    n_inner = max_bins - len(lower) - len(upper)
    inner = weights[sum(lower) : len(weights) - sum(upper)]
    if len(inner) <= n_inner:
        return share_evenly(weights, max_bins)
    return lower + share_evenly(inner, n_inner) + upper


def share_evenly(weights: np.ndarray, max_bins: int) -> list[int]:
    """How many neighbouring values each bin takes, the bins of about equal weight."""
    heavy = find_heavy(weights, max_bins)
    edges = np.flatnonzero(np.diff(heavy)) + 1
    pieces = np.split(np.arange(len(weights)), np.union1d(edges, np.flatnonzero(heavy)[1:]))
    light = [p for p in pieces if not heavy[p[0]]]
    given = give_bins([int(weights[p].sum()) for p in light], [len(p) for p in light], max_bins - int(heavy.sum()))
    bins: list[int] = []
    waiting = 0  # a stretch without a bin of its own joins the heavy value after it
    for piece in pieces:
        if heavy[piece[0]]:
            bins.append(waiting + 1)
            waiting = 0
            continue
        n_bins = given.pop(0)
        bins += part_stretch(weights[piece], n_bins)
        waiting = len(piece) if n_bins == 0 else 0
    bins[-1] += waiting
    return bins


def mix_bits(x: np.ndarray) -> np.ndarray:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def sample_rows(n_rows: int) -> np.ndarray:
    """One row from each of equally long stretches."""
    if n_rows <= SAMPLE_ROWS:
        return np.arange(n_rows)
    k = np.arange(SAMPLE_ROWS, dtype=np.uint64)
    begin = k * np.uint64(n_rows) // np.uint64(SAMPLE_ROWS)
    end = (k + np.uint64(1)) * np.uint64(n_rows) // np.uint64(SAMPLE_ROWS)
    drawn = ((mix_bits(k) >> np.uint64(32)) * (end - begin)) >> np.uint64(32)
    return (begin + drawn).astype(np.intp)


def learn_column(column: np.ndarray, weights: np.ndarray | None, max_bins: int) -> NaiveBins:
    """The bins of one numeric column."""
    kept = np.ones(len(column), dtype=bool) if weights is None else weights > 0
    values = column[kept].astype(np.float64) + 0.0
    w = np.ones(len(values)) if weights is None else weights[kept]
    rows = sample_rows(len(values))
    present = ~np.isnan(values[rows])
    distinct, place = np.unique(values[rows][present], return_inverse=True)
    mass = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(mass, place, scale_to_integers(w[rows])[present])
    everything = np.unique(values[~np.isnan(values)])
    if len(everything) <= max_bins:
        distinct, mass = everything, np.ones(len(everything), dtype=np.int64)
    ends = np.cumsum(share_bins(mass, max_bins), dtype=np.intp)
    starts = np.concatenate([[0], ends[:-1]]).astype(np.intp) if len(ends) else ends
    low, high = distinct[starts].tolist(), distinct[ends - 1].tolist()
    thresholds = [choose_threshold(h, b) for h, b in zip(high[:-1], low[1:], strict=True)]
    if low:
        low[0], high[-1] = float(everything[0]), float(everything[-1])
    return NaiveBins(low, high, thresholds, bool(np.isnan(values).any()))


def bin_column(bins: NaiveBins, column: np.ndarray) -> np.ndarray:
    wide = column.astype(np.float64)
    found = np.searchsorted(np.array(bins.thresholds), wide, side="left")
    return np.where(np.isnan(wide), MISSING_BIN, found).astype(np.uint8)


def bin_codes(column: np.ndarray, n_levels: int) -> np.ndarray:
    """Codes of a category; MISSING_CODE for what is none."""
    wide = column.astype(np.float64)
    with np.errstate(invalid="ignore"):
        good = (wide >= 0) & (wide < n_levels) & (wide == np.floor(wide))
    return np.where(good, np.where(good, wide, 0), MISSING_CODE).astype(np.uint32)


def presort(column: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order, dense rank and distinct values of a numeric column."""
    order = np.argsort(column, kind="stable").astype(np.uint32)
    missing = np.isnan(column)
    distinct, place = np.unique(column[~missing].astype(np.float64) + 0.0, return_inverse=True)
    rank = np.full(len(column), MISSING_CODE, dtype=np.uint32)
    rank[~missing] = place
    return order, rank, distinct
