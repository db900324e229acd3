"""Small random tables to grow trees on, and the comparison of the core's tree with its twin's, node by node."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from committee import _core
from tests.naive.growth import Column, Node, Twin, code_bins, code_category, code_values

CLASS_CRITERIA = ("gini", "entropy", "gain_ratio", "error")
VALUE_CRITERIA = ("squared_error", "friedman_mse", "poisson", "absolute_error")
CRITERIA = CLASS_CRITERIA + VALUE_CRITERIA
#: Names of the fast paths, in the order of their bits in GrowParams.routes.
ROUTES = tuple(name for name, _, _ in _core.list_routes())


@dataclass
class Case:
    """Raw values, a target (labels or values, a column an output), weights, and what the grower is params."""

    X: Any
    labels: Any = None
    values: Any = None
    weights: Any = None
    n_levels: Any = None
    max_bins: int = 255
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.n_levels is None:
            self.n_levels = np.zeros(self.X.shape[1], dtype=np.uint32)

    @property
    def n_classes(self) -> list[int]:
        return [] if self.labels is None else [int(k) + 1 for k in self.labels.max(axis=0)]

    def make_params(self) -> Any:
        params = _core.GrowParams()
        for name, value in {"n_jobs": 1, **self.params}.items():
            assert name in (*_core.GrowParams.fields, "monotonic", "interaction_groups", "member_features")
            setattr(params, name, value)
        return params

    def make_arguments(self) -> tuple[Any, ...]:
        """The arguments of the core's grow_tree."""
        params = self.make_params()
        presort = _core.presort_columns(self.X, self.n_levels, 1) if params.exact else None
        return (self.bins[1], presort, self.labels, self.n_classes, self.values, self.weights, params)

    @cached_property
    def bins(self) -> tuple[Any, Any]:
        mapper = _core.BinMapper.fit(self.X, None, self.n_levels, self.max_bins, 1)
        return mapper, mapper.transform(self.X, 1)

    def grow_trees(self) -> tuple[Any, Any]:
        """The core's arena of one tree, and its importances."""
        return _core.grow_tree(*self.make_arguments())  # type: ignore[no-any-return]

    def count_nodes(self, plan: Any = None) -> dict[str, int]:
        """Nodes of the tree, or of a forest, by the route that grew or searched them."""
        return _core.testing.count_nodes_by_route(*self.make_arguments(), plan)  # type: ignore[no-any-return]

    def describe_routes(self, in_forest: bool = False) -> dict[str, str]:
        """The reason why each route is refused; empty: it is allowed."""
        described = _core.describe_route(*self.make_arguments(), in_forest)
        assert all(allowed == (reason == "") for _, allowed, reason in described)
        return {name: reason for name, _, reason in described}

    def grow(self) -> dict[str, Any]:
        """The core's tree as arrays, with its importances."""
        trees, importances = self.grow_trees()
        return {**trees.describe(0, self.make_params().criterion), "importances": importances}

    def grow_twin(self) -> Twin:
        params, (mapper, _) = self.make_params(), self.bins
        columns: list[Column] = []
        for f, x in enumerate(self.X.T):
            if self.n_levels[f]:
                columns.append(code_category(x, int(self.n_levels[f])))
            else:
                columns.append(code_values(x) if params.exact else code_bins(x, mapper.thresholds(f)))
        return Twin(columns, self.labels, self.values, self.weights, params)


def switch_off(*routes: str) -> int:
    """GrowParams.routes without some of them."""
    return 0xFFFFFFFF & ~sum(1 << ROUTES.index(route) for route in routes)


def draw_table(rng: Any, n_rows: int, n_cols: int, n_values: int, missing: float = 0.0) -> Any:
    """Columns of few values, so that ties are frequent, or of many."""
    X = rng.integers(0, n_values, size=(n_rows, n_cols)).astype(float)
    if n_values > n_rows:
        X = rng.normal(size=(n_rows, n_cols))
    X[rng.random(X.shape) < missing] = np.nan
    return X


def draw_target(rng: Any, criterion: str, n_rows: int, n_outputs: int = 1, n_classes: int = 2) -> dict[str, Any]:
    """Labels for a criterion over classes, small counts for one over values; every class occurs."""
    if criterion in CLASS_CRITERIA:
        labels = rng.integers(0, n_classes, size=(n_rows, n_outputs)).astype(np.uint32)
        labels[:n_classes] = np.arange(n_classes)[:, None]
        return {"labels": labels}
    values = rng.integers(0, 5, size=(n_rows, n_outputs)).astype(float)
    values[0] = 1.0
    return {"values": values}


def draw_weights(rng: Any, kind: str, n_rows: int) -> Any:
    """None, small integers with zeros among them, or fractions."""
    if kind == "none":
        return None
    weights = rng.integers(0, 4, size=n_rows).astype(float) if kind == "integer" else rng.random(n_rows) + 0.01
    weights[:4] = 1.0
    return weights


def draw_case(rng: Any, criterion: str) -> Case:
    """A random table with every kind of column, target, weight and rule that the twin knows."""
    n_rows, n_cols = int(rng.integers(8, 60)), int(rng.integers(1, 6))
    n_classes, n_outputs = int(rng.choice([2, 3, 4])), int(rng.choice([1, 1, 2]))
    missing = float(rng.choice([0.0, 0.2]))
    X = draw_table(rng, n_rows, n_cols, int(rng.choice([2, 3, 6, 1000])), missing)
    n_levels = np.zeros(n_cols, dtype=np.uint32)
    # Beyond two classes or one output categories are ordered by a principal axis, which the twin does not know.
    plain = n_outputs == 1 and (n_classes == 2 or criterion in VALUE_CRITERIA)
    for f in np.flatnonzero(rng.random(n_cols) < 0.4 * plain):
        n_levels[f] = rng.choice([2, 5, 20])
        X[:, f] = rng.integers(0, n_levels[f], size=n_rows)
        X[rng.random(n_rows) < missing, f] = np.nan
    params = {"criterion": criterion, "exact": bool(rng.integers(2)), "max_depth": int(rng.integers(1, 8))}
    rules = {
        "min_samples_leaf": int(rng.integers(1, 4)),
        "min_samples_split": int(rng.integers(2, 12)),
        "max_leaf_nodes": int(rng.integers(2, 12)),
        "min_weight_leaf": float(rng.choice([1.0, 1.5, 2.0])),
        "min_impurity_decrease": float(rng.choice([0.01, 0.03, 0.1])),
        "interaction_groups": [[f for f in range(n_cols) if rng.random() < 0.6] for _ in range(3)],
    }
    if rng.random() < 0.5:
        params |= {"seed": int(rng.integers(1 << 32)), "tree": int(rng.integers(100)), "shuffle_ties": True}
        rules |= {"random_splits": True, "max_features": int(rng.integers(1, n_cols + 1))}
    if plain:
        rules["monotonic"] = [0 if n_levels[f] else int(rng.integers(-1, 2)) for f in range(n_cols)]
    params |= {name: rule for name, rule in rules.items() if rng.random() < 0.3}
    return Case(
        X,
        weights=draw_weights(rng, str(rng.choice(["none", "integer", "fraction"])), n_rows),
        n_levels=n_levels,
        max_bins=int(rng.choice([255, 255, 4])),
        params=params,
        **draw_target(rng, criterion, n_rows, n_outputs, n_classes),
    )


def compare(case: Case) -> int:
    """Assert that the core's tree is the twin's; the number of its nodes."""
    return compare_tree(case, case.grow())


def compare_tree(case: Case, tree: dict[str, Any]) -> int:
    """Assert that a tree, as the core describes it, is the twin's; the number of its nodes."""
    twin = case.grow_twin()
    stack = [(0, twin.root)]
    while stack:
        at, node = stack.pop()
        compare_node(case, tree, at, twin, node)
        if node.children:
            stack += zip((tree["children_left"][at], tree["children_right"][at]), node.children, strict=True)
    importances = twin.measure_importances()
    np.testing.assert_allclose(tree["importances"], importances, rtol=1e-9, atol=1e-9 * (1 + importances.sum()))
    return len(tree["feature"])


def compare_node(case: Case, tree: dict[str, Any], at: int, twin: Twin, node: Node) -> None:
    assert tree["n_node_samples"][at] == len(node.rows)
    assert tree["depth"][at] == node.depth
    np.testing.assert_allclose(tree["weighted_n_node_samples"][at], twin.raw_weights[node.rows].sum(), rtol=1e-9)
    value, impurity = twin.summarise(node)
    np.testing.assert_allclose(tree["impurity"][at], impurity, rtol=1e-9, atol=1e-9)
    if node.children is None:
        assert tree["feature"][at] == -2
        np.testing.assert_allclose(tree["value"][at], value, rtol=1e-9, atol=1e-9)
        return
    split, column = node.split, twin.columns[node.split.feature]
    assert tree["feature"][at] == split.feature
    seen = set(column.codes[node.rows].tolist())
    # Where no value is missing, missing ones will follow the heavier child, and so will unseen levels.
    heavier_left = 2 * twin.weights[split.left].sum() > twin.weights[node.rows].sum()
    missing_left = split.missing_left if -1 in seen else bool(heavier_left)
    assert bool(tree["missing_go_to_left"][at]) == missing_left
    if column.n_levels:
        unseen = set(range(column.n_levels)) - seen if missing_left else set()
        assert set(tree["left_categories"][at]) == split.left_levels | unseen
    else:
        assert tree["threshold"][at] == split.threshold
