"""How a tree is grown, written for reading: every cut of every feature is tried on all rows of the node.

Ties fall as in the core (see `tests.naive.criteria`), so that whole trees can be compared.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from tests.naive.criteria import (
    Floats,
    Ints,
    MedianMeasure,
    SumMeasure,
    find_value,
    fix_targets,
    fix_weights,
    measure_class_impurity,
    measure_value_impurity,
)
from tests.naive.randomness import (
    ROOT_KEY,
    THRESHOLD,
    TIE,
    NodeNumbers,
    child_key,
    draw_stream,
    scale_below,
    scale_unit,
)

MISSING = -1


@dataclass
class Column:
    """A feature: the code of every row (MISSING: none), ordered unless it is a category of `n_levels` levels."""

    codes: Ints
    place_cut: Callable[[int, int], float] = lambda cut, following: np.nan
    n_levels: int = 0
    low: Floats = field(default_factory=lambda: np.empty(0))  # smallest and largest value of each code
    high: Floats = field(default_factory=lambda: np.empty(0))
    is_binned: bool = False


def code_values(x: Floats) -> Column:
    """Exact: one code for each distinct value, thresholds in the middle of neighbours in the node."""
    values = np.unique(x[~np.isnan(x)])
    codes = np.where(np.isnan(x), MISSING, np.searchsorted(values, x))
    return Column(
        codes, lambda cut, following: choose_threshold(values[cut], values[following]), low=values, high=values
    )


def code_bins(x: Floats, thresholds: Floats) -> Column:
    """Binned: cuts between occupied bins, at the boundary next to the middle of what lies between them."""
    codes = np.where(np.isnan(x), MISSING, np.searchsorted(thresholds, x))

    @cache
    def place_cut(cut: int, following: int) -> float:
        middle = high[cut] / 2 + low[following] / 2
        return float(min(thresholds[cut:following], key=lambda t: abs(t - middle)))

    seen = [x[codes == code] for code in range(codes.max() + 1)]
    low, high = (np.array([edge(values) if len(values) else np.nan for values in seen]) for edge in (np.min, np.max))
    return Column(codes, place_cut, low=low, high=high, is_binned=True)


def code_category(x: Floats, n_levels: int) -> Column:
    return Column(np.where(np.isnan(x), MISSING, x).astype(np.int64), n_levels=n_levels)


def choose_threshold(a: float, b: float) -> float:
    middle = a / 2 + b / 2
    short = float(np.float32(middle))
    return short if a <= short < b else min(max(middle, a), np.nextafter(b, -inf))


@dataclass
class Split:
    score: float
    feature: int
    cut: int
    missing_left: bool
    left: Ints  # rows
    right: Ints
    threshold: float = np.nan
    left_levels: set[int] = field(default_factory=set)
    place: int = 0

    def rank(self) -> tuple[float, int, int, bool]:
        """Larger score, then the first feature, then the lowest cut, then missing values to the right."""
        return self.score, -self.place, -self.cut, not self.missing_left


@dataclass
class Node:
    rows: Ints
    depth: int = 0
    key: int = ROOT_KEY
    bounds: tuple[float, float] = (-inf, inf)
    allowed: frozenset[int] = frozenset()
    split: Split | None = None
    decrease: float = 0.0
    children: tuple[Node, Node] | None = None


class Twin:
    """Grows a tree over columns for labels (row, output) or values (row, output), with the core's parameters."""

    def __init__(self, columns: list[Column], labels: Any, values: Any, weights: Any, params: Any) -> None:
        self.columns, self.params = columns, params
        n_rows = len(columns[0].codes)
        raw = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=float)
        self.weights, self.unit = fix_weights(raw, *((52, 52) if values is None else (35, 32)))
        self.raw_weights, self.rows = raw, np.flatnonzero(self.weights)
        target_unit = 1.0
        if values is None:
            n_classes = labels.max(axis=0) + 1
            parts = [
                np.eye(k, dtype=np.int64)[c] * self.weights[:, None] for k, c in zip(n_classes, labels.T, strict=True)
            ]
            counted = params.min_samples_leaf > 1 and self.weights.max() > 1
            small = self.weights.max() < 65536 and not counted
            self.target = labels
            self.measure: Any = SumMeasure(
                params.criterion, parts, self.weights, small and list(n_classes) == [2], True
            )
        else:
            self.target, means, target_unit = fix_targets(values, self.weights, params.criterion != "poisson")
            self.level = float(means[0]), target_unit
            parts = [(self.weights * y)[:, None] for y in self.target.T]
            if params.criterion == "absolute_error":
                self.measure = MedianMeasure(self.target, self.weights)
            else:
                self.measure = SumMeasure(params.criterion, parts, self.weights, False, False)
            target_unit **= 1 if params.criterion in ("poisson", "absolute_error") else 2
            target_unit /= values.shape[1]
        self.labels, self.values = labels, values
        self.decrease_unit = self.unit * target_unit
        self.root = self.grow()

    def grow(self) -> Node:
        """Best-first; without a limit on the leaves the order does not matter, and the tree is that of depth-first."""
        groups = range(len(self.params.interaction_groups))
        root = Node(self.rows, allowed=frozenset(groups))
        limit, n_leaves, order = self.params.max_leaf_nodes or inf, 1, 0
        heap: list[tuple[float, int, Node]] = []

        def open_node(node: Node) -> None:
            nonlocal order
            order += 1
            if self.find_split(node):
                heapq.heappush(heap, (-node.decrease, order, node))

        open_node(root)
        while heap and n_leaves < limit:
            node = heapq.heappop(heap)[2]
            node.children = self.part(node)
            n_leaves += 1
            for child in reversed(node.children):
                open_node(child)
        return root

    def find_split(self, node: Node) -> bool:
        p, n = self.params, len(node.rows)
        target = self.target[node.rows]
        if node.depth >= p.max_depth or n < max(p.min_samples_split, 2 * p.min_samples_leaf):
            return False
        if self.weights[node.rows].sum() < 2.0 * p.min_weight_leaf / self.unit or np.all(target == target[0]):
            return False
        candidates = [c for c in self.list_splits(node) if c.score > -inf]
        if not candidates:
            return False
        node.split = max(candidates, key=Split.rank)
        total = self.weights.sum() * self.unit
        decrease = self.measure.measure_decrease(node.split.left, node.split.right)
        node.decrease = decrease * self.decrease_unit / total
        return bool(node.decrease + np.finfo(float).eps >= p.min_impurity_decrease)

    def list_splits(self, node: Node) -> Iterator[Split]:
        numbers = NodeNumbers(self.params.seed, self.params.tree, node.key)
        is_drawn = self.params.max_features < len(self.columns)
        for place, feature in enumerate(self.draw_features(node, numbers)):
            column = self.columns[feature]
            if self.params.random_splits:
                draw = self.draw_subset if column.n_levels else self.draw_cut
                found = draw(node, feature, column, numbers.at(THRESHOLD, feature))
            else:
                found = (self.list_subsets if column.n_levels else self.list_cuts)(node, feature, column)
            for split in found:
                split.place = feature
                if self.params.shuffle_ties:
                    split.place = place if is_drawn else numbers.at(TIE, feature) >> 32 << 32 | feature
                if self.judge(node, split):
                    yield split

    def draw_features(self, node: Node, numbers: NodeNumbers) -> list[int]:
        """All that may be looked at; or as many as were asked for, and more until one of them varies."""
        groups, n = self.params.interaction_groups, len(self.columns)
        allowed = [f for f in range(n) if not groups or any(f in groups[g] for g in node.allowed)]
        if self.params.max_features >= n:
            return allowed
        drawn: list[int] = []
        for place in numbers.shuffle(len(allowed)):
            varies = any(len(np.unique(self.columns[f].codes[node.rows])) > 1 for f in drawn)
            if len(drawn) >= self.params.max_features and varies:
                break
            drawn.append(allowed[place])
        return drawn

    def draw_cut(self, node: Node, feature: int, column: Column, number: int) -> Iterator[Split]:
        """A threshold uniform between the extreme values, and the last code with no value above it."""
        rows, codes = node.rows, column.codes[node.rows]
        present, missing = np.unique(codes[codes != MISSING]), codes == MISSING
        if len(present) < 2:
            if len(present) and missing.any():
                yield Split(0.0, feature, int(present[0]), False, rows[~missing], rows[missing], inf)
            return
        lo, hi = int(present[0]), int(present[-1])
        threshold = column.low[lo] + (column.high[hi] - column.low[lo]) * scale_unit(number)
        cut = max([lo, *(code for code in range(lo, hi) if column.high[code] <= threshold)])
        missing_left = bool(missing.any() and number & 1)
        following = cut + 1
        if not column.is_binned or self.params.criterion == "absolute_error":
            cut, following = int(present[present <= cut][-1]), int(present[present > cut][0])
        left = np.where(missing, missing_left, codes <= cut)
        yield Split(0.0, feature, cut, missing_left, rows[left], rows[~left], column.place_cut(cut, following))

    def draw_subset(self, node: Node, feature: int, column: Column, number: int) -> Iterator[Split]:
        """A random number of random levels; for absolute error a random prefix of those in order."""
        if self.params.criterion == "absolute_error":
            splits = list(self.list_subsets(node, feature, column))
            if splits:
                yield splits[scale_below(number, len(splits))]
            return
        rows, codes = node.rows, column.codes[node.rows]
        present = sorted(np.unique(codes), key=lambda k: (k == MISSING, k))
        if len(present) < 2:
            return
        stream = draw_stream(number, len(present) + 1)
        order = [k for _, k in sorted((scale_unit(stream[i]), i) for i in range(len(present)))]
        size = 1 + scale_below(stream[-1], len(present) - 1)
        chosen = [present[k] for k in order[:size]]
        left = np.isin(codes, chosen)
        levels = {int(code) for code in chosen} - {MISSING}
        yield Split(0.0, feature, size - 1, MISSING in chosen, rows[left], rows[~left], left_levels=levels)

    def list_cuts(self, node: Node, feature: int, column: Column) -> Iterator[Split]:
        rows, codes = node.rows, column.codes[node.rows]
        present = np.unique(codes[codes != MISSING])
        missing = codes == MISSING
        for missing_left in (False, True) if missing.any() else (False,):
            for cut, following in pairwise(present):
                left = np.where(missing, missing_left, codes <= cut)
                threshold = column.place_cut(cut, following)
                yield Split(0.0, feature, int(cut), missing_left, rows[left], rows[~left], threshold)
        if missing.any() and len(present):
            yield Split(0.0, feature, int(present[-1]), False, rows[~missing], rows[missing], inf)

    def list_subsets(self, node: Node, feature: int, column: Column) -> Iterator[Split]:
        """Levels by their mean target: the best subset is a prefix [Fisher1958, Breiman1984]. Missing is a level."""
        rows, codes = node.rows, column.codes[node.rows]
        present = sorted(np.unique(codes), key=lambda k: (k == MISSING, k))
        order = sorted(
            self.pool_rare(rows, codes, present),
            key=lambda voice: self.measure.order_level(rows[np.isin(codes, voice)]),
        )
        for k in range(len(order) - 1):
            prefix = [code for voice in order[: k + 1] for code in voice]
            left = np.isin(codes, prefix)
            missing_left = MISSING in prefix
            levels = {int(code) for code in prefix} - {MISSING}
            yield Split(0.0, feature, k, missing_left, rows[left], rows[~left], left_levels=levels)

    def pool_rare(self, rows: Ints, codes: Ints, present: list[int]) -> list[list[int]]:
        """Groups of levels that stay together: where there are more than ten, those of less than five rows are one."""
        raw = self.raw_weights[self.rows]
        counts = any(np.allclose(w, w.round(), rtol=1e-12, atol=0) for w in (raw, raw / raw.min()))
        least = 4.5 * (1.0 if counts else self.weights.sum() / len(self.rows)) if len(present) > 10 else 0
        rare = [k for k in present if self.weights[rows[codes == k]].sum() < least]
        return [[k] for k in present if k not in rare] + ([rare] if rare else [])

    def judge(self, node: Node, split: Split) -> bool:
        """Whether the limits allow the split; if so its score is set."""
        p, sides = self.params, (split.left, split.right)
        if min(map(len, sides)) < p.min_samples_leaf:
            return False
        if p.min_weight_leaf and min(self.weights[side].sum() for side in sides) < p.min_weight_leaf / self.unit:
            return False
        bounded = any(p.monotonic)
        if bounded:
            a, b = map(self.measure.measure_level, sides)
            (low, high), direction = node.bounds, p.monotonic[split.feature]
            if not (low <= min(a, b) and max(a, b) <= high and (b - a) * direction >= 0):
                return False
        split.score = self.measure.score(split.left, split.right, bounded)
        return True

    def part(self, node: Node) -> tuple[Node, Node]:
        assert node.split is not None
        split, allowed = node.split, node.allowed
        direction = self.params.monotonic[split.feature] if self.params.monotonic else 0
        low, high = node.bounds
        bounds = [node.bounds, node.bounds]
        if direction:
            middle = self.measure.measure_level(split.left) / 2 + self.measure.measure_level(split.right) / 2
            bounds = [(low, middle), (middle, high)][::direction]
        allowed = frozenset(g for g in allowed if split.feature in self.params.interaction_groups[g])
        left, right = (
            Node(rows, node.depth + 1, child_key(node.key, right), bound, allowed)
            for rows, bound, right in zip((split.left, split.right), bounds, (False, True), strict=True)
        )
        return left, right

    def summarise(self, node: Node) -> tuple[Floats, float]:
        """Value (class weights, or a number for each output) and impurity of a node."""
        w, criterion = self.raw_weights[node.rows], self.params.criterion
        if self.values is not None:
            outputs = self.values[node.rows].T
            value = np.array([find_value(criterion, y, w) for y in outputs])
            # A median between two values may leave the bounds that the lower one keeps.
            mean, unit = self.level
            value[0] = np.clip(value[0], *(bound * unit + mean for bound in node.bounds))
            return value, float(np.mean([measure_value_impurity(criterion, y, w) for y in outputs]))
        parts = [part[node.rows].sum(axis=0) * self.unit for part in self.measure.parts]
        return np.concatenate(parts), float(np.mean([measure_class_impurity(criterion, c) for c in parts]))

    def measure_importances(self) -> Floats:
        """Weighted decreases of impurity, summed by feature."""
        importances = np.zeros(len(self.columns))
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node.children:
                stack += node.children
                sizes = [self.raw_weights[n.rows].sum() * self.summarise(n)[1] for n in (node, *node.children)]
                importances[node.split.feature] += sizes[0] - sizes[1] - sizes[2]
        return importances
