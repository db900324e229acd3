"""A LightGBM model as an arena of ours, from the text that LightGBM writes of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.engines import get_engine

_NO_ZERO = 1e-35  # LightGBM counts smaller numbers as zero where zero means missing


def convert_booster(booster: Any, n_features: int) -> tuple[Any, np.ndarray]:
    """The trees, and for each of them the class that it adds to."""
    dump = booster.dump_model()
    trees = [_convert_tree(tree["tree_structure"]) for tree in dump["tree_info"]]
    slots = np.arange(len(trees), dtype=np.uint32) % dump["num_tree_per_iteration"]
    return get_engine().testing.build_trees(trees, [], n_features), slots.astype(np.uint32)  # type: ignore[attr-defined]


def _convert_tree(root: dict[str, Any]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    categories: dict[int, list[int]] = {}

    def add(node: dict[str, Any]) -> int:
        at = len(rows)
        rows.append({})
        if "split_feature" not in node:
            count = node.get("leaf_count", 1)
            rows[at] = {"left": -1, "right": -1, "feature": -2, "threshold": -2.0, "missing": False}
            rows[at] |= {"count": count, "value": node["leaf_value"]}
            return at
        threshold, missing = node["threshold"], node["missing_type"] == "NaN" and node["default_left"]
        if node["decision_type"] == "==":
            categories[at] = [int(code) for code in threshold.split("||")]
            threshold, missing = np.nan, False
        elif node["missing_type"] == "None":
            missing = threshold >= -_NO_ZERO  # LightGBM then reads a missing value as zero
        left, right = add(node["left_child"]), add(node["right_child"])
        rows[at] = {"left": left, "right": right, "feature": node["split_feature"], "threshold": threshold}
        rows[at] |= {"missing": missing, "count": node["internal_count"], "value": node["internal_value"]}
        return at

    add(root)

    def column(key: str) -> np.ndarray:
        return np.array([row[key] for row in rows])

    return {
        "children_left": column("left"),
        "children_right": column("right"),
        "feature": column("feature"),
        "threshold": column("threshold").astype(float),
        "missing_go_to_left": column("missing"),
        "n_node_samples": column("count"),
        "weighted_n_node_samples": column("count").astype(float),
        "impurity": np.zeros(len(rows)),
        "value": column("value").astype(float)[:, None],
        "left_categories": categories,
    }
