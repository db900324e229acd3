"""Trees to test with: drawn at random, or taken from scikit-learn, as dicts for `_core.testing.build_trees`."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Tree = dict[str, Any]


@dataclass
class Draw:
    """What random trees look like."""

    n_leaves: int = 8
    n_features: int = 5
    outputs: list[int] = field(default_factory=list)  # classes of each output; empty: plain values
    width: int = 1  # of plain values
    categorical: tuple[int, ...] = ()  # features with codes 0 .. n_codes - 1
    n_codes: int = 40
    exact_floats: bool = True  # thresholds are float32 numbers
    counts: int = 0  # > 0: class weights are integers below it
    grid: int = 0  # > 0: thresholds from this many values, so that rows meet them exactly


def draw_threshold(rng: np.random.Generator, draw: Draw) -> float:
    if draw.grid:
        return float(rng.integers(draw.grid)) / 4
    x = rng.normal()
    return float(np.float32(x)) if draw.exact_floats else float(x)


def draw_value(rng: np.random.Generator, draw: Draw) -> np.ndarray:
    if not draw.outputs:
        return rng.normal(size=draw.width)
    parts = []
    for n_classes in draw.outputs:
        part = rng.integers(0, draw.counts, n_classes).astype(float) if draw.counts else rng.random(n_classes)
        part[rng.integers(n_classes)] += 1.0
        parts.append(part)
    return np.concatenate(parts)


def draw_tree(rng: np.random.Generator, draw: Draw) -> Tree:
    """Split a random leaf until there are enough; then number the nodes at random, but for the root."""
    left, right = [-1], [-1]
    leaves = [0]
    while len(leaves) < draw.n_leaves:
        node = leaves.pop(int(rng.integers(len(leaves))))
        left[node], right[node] = len(left), len(left) + 1
        leaves += [left[node], right[node]]
        left += [-1, -1]
        right += [-1, -1]
    n = len(left)
    number = np.concatenate([[0], 1 + rng.permutation(n - 1)]).astype(int)
    tree: Tree = {
        "children_left": np.full(n, -1),
        "children_right": np.full(n, -1),
        "feature": np.full(n, -2),
        "threshold": np.full(n, -2.0),
        "missing_go_to_left": rng.random(n) < 0.5,
        "n_node_samples": rng.integers(1, 100, n),
        "weighted_n_node_samples": rng.random(n) + 0.1,
        "impurity": rng.random(n),
        "value": np.array([draw_value(rng, draw) for _ in range(n)]),
        "left_categories": {},
    }
    for node in range(n):
        if left[node] < 0:
            continue
        at = int(number[node])
        tree["children_left"][at], tree["children_right"][at] = number[left[node]], number[right[node]]
        feature = int(rng.integers(draw.n_features))
        tree["feature"][at] = feature
        if feature in draw.categorical:
            tree["left_categories"][at] = [c for c in range(draw.n_codes) if rng.random() < 0.5]
            tree["threshold"][at] = np.nan
        else:
            tree["threshold"][at] = draw_threshold(rng, draw)
    return tree


def draw_rows(
    rng: np.random.Generator, n: int, draw: Draw, missing: float = 0.1, dtype: type = np.float32
) -> np.ndarray:
    X = (
        rng.integers(-1, draw.grid + 1, (n, draw.n_features)) / 4
        if draw.grid
        else rng.normal(size=(n, draw.n_features))
    )
    for f in draw.categorical:
        X[:, f] = rng.integers(0, draw.n_codes + 9, n)
    X[rng.random(X.shape) < missing] = np.nan
    return X.astype(dtype)


def convert_sklearn(tree: Any, classes: bool) -> Tree:
    """A scikit-learn `tree_` as a dict; class shares become class weights."""
    value = tree.value.reshape(tree.node_count, -1)
    return {
        "children_left": tree.children_left,
        "children_right": tree.children_right,
        "feature": tree.feature,
        "threshold": tree.threshold,
        "missing_go_to_left": tree.missing_go_to_left,
        "n_node_samples": tree.n_node_samples,
        "weighted_n_node_samples": tree.weighted_n_node_samples,
        "impurity": tree.impurity,
        "value": value * tree.weighted_n_node_samples[:, None] if classes else value,
        "left_categories": {},
    }
