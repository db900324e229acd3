"""An isolation forest from the paper, by recursion over arrays, with the random numbers of the kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tests.naive.randomness import (
    FEATURES,
    ROOT_KEY,
    THRESHOLD,
    TIE,
    NodeNumbers,
    child_key,
    combine_keys,
    draw_stream,
    scale_below,
    scale_unit,
)

BOOTSTRAP = 1


def average_path_length(n: float) -> float:
    """c(n): of an unsuccessful search in a binary search tree."""
    if n <= 2:
        return float(n == 2)
    return 2 * (math.log(n - 1) + float(np.euler_gamma)) - 2 * (n - 1) / n


def draw_rows(weights: list[int], n_draws: int, replace: bool, seed: int, tree: int) -> list[int]:
    """A sample of places, by Floyd's algorithm; a weight of k is k places of the row."""
    places = [row for row, weight in enumerate(weights) for _ in range(weight)]
    key = combine_keys(combine_keys(combine_keys(seed, tree), 0), BOOTSTRAP)
    drawn: list[int] = []
    for k, number in enumerate(draw_stream(key, n_draws)):
        last = len(places) - 1 if replace else len(places) - n_draws + k
        place = scale_below(number, last + 1)
        drawn.append(last if not replace and place in drawn else place)
    return sorted(places[place] for place in drawn)


@dataclass
class Isolation:
    """A tree: for each node, depth-first, its feature (-1: leaf), threshold or left codes, rows and value."""

    X: np.ndarray
    n_levels: list[int]
    max_depth: int
    seed: int
    tree: int
    nodes: list[tuple[int, object, bool, int, float]] = field(default_factory=list)

    def grow(self, rows: list[int], features: list[int]) -> list[tuple[int, object, bool, int, float]]:
        self.features = features
        self._grow(np.asarray(rows), 0, ROOT_KEY, len(features))
        return self.nodes

    def _grow(self, rows: np.ndarray, depth: int, key: int, n_varying: int) -> None:
        numbers, at = NodeNumbers(self.seed, self.tree, key), len(self.nodes)
        self.nodes.append((-1, None, False, len(rows), depth + average_path_length(len(rows))))
        draws = 0
        while len(rows) > 1 and depth < self.max_depth and n_varying:
            k = scale_below(numbers.at(FEATURES, draws), n_varying)
            feature, draws = self.features[k], draws + 1
            x, n_levels = self.X[rows, feature].astype(np.float64), self.n_levels[feature]
            found = split_categories(x, n_levels, numbers) if n_levels else split_numbers(x, numbers)
            if found is not None:
                left, question, missing_left = found
                self.nodes[at] = (feature, question, missing_left, *self.nodes[at][3:])
                for is_right, own in ((False, rows[left]), (True, rows[~left])):
                    self._grow(own, depth + 1, child_key(key, is_right), n_varying)
                return
            n_varying -= 1
            self.features[k], self.features[n_varying] = self.features[n_varying], feature


def split_numbers(x: np.ndarray, numbers: NodeNumbers) -> tuple[np.ndarray, object, bool] | None:
    """A uniform threshold; which rows go left, the threshold, and the side of missing values."""
    seen = x[~np.isnan(x)]
    if not len(seen) or (seen.min() == seen.max() and len(seen) == len(x)):
        return None
    low, high, number = float(seen.min()), float(seen.max()), numbers.at(THRESHOLD, 0)
    if low == high:
        return ~np.isnan(x), np.inf, False
    threshold = low * (1.0 - scale_unit(number)) + high * scale_unit(number)
    with np.errstate(over="ignore"):
        rounded = float(np.float32(threshold))
    if low <= rounded < high:
        threshold = rounded
    threshold = threshold if low <= threshold < high else low
    missing_left = bool(number & 1) if len(seen) < len(x) else int((x <= threshold).sum()) * 2 > len(x)
    return np.where(np.isnan(x), missing_left, x <= threshold), threshold, missing_left


def split_categories(x: np.ndarray, n_levels: int, numbers: NodeNumbers) -> tuple[np.ndarray, object, bool] | None:
    """A coin for each category and for missing values; if all that are there took one side, one moves."""
    codes = np.where(np.isnan(x), n_levels, x).astype(int)
    present = np.unique(codes).tolist()
    if len(present) < 2:
        return None
    side = [bool(numbers.at(THRESHOLD, code // 32) >> (code % 32) & 1) for code in range(n_levels + 1)]
    if len({side[code] for code in present}) == 1:
        moved = present[scale_below(numbers.at(TIE, 0), len(present))]
        side[moved] = not side[moved]
    return np.asarray(side)[codes], frozenset(c for c in range(n_levels) if side[c]), side[n_levels]
