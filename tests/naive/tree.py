"""A decision tree as the textbook walks it: one row, one tree, one comparison at a time.

A tree is a dict of arrays with scikit-learn's names, one entry a node (see `_core.testing.build_trees`).
"""

from typing import Any

import numpy as np

Tree = dict[str, Any]


def walk_row(tree: Tree, row: np.ndarray) -> int:
    """The node in which the row ends."""
    node = 0
    while tree["children_left"][node] >= 0:
        x = float(row[tree["feature"][node]])
        if np.isnan(x):
            left = bool(tree["missing_go_to_left"][node])
        elif node in tree["left_categories"]:
            left = x >= 0 and int(x) in tree["left_categories"][node]
        else:
            left = x <= tree["threshold"][node]
        node = int(tree["children_left"][node] if left else tree["children_right"][node])
    return node


def split_outputs(outputs: list[int]) -> list[range]:
    """The columns of each output."""
    ends = np.cumsum(outputs)
    return [range(int(end) - n, int(end)) for n, end in zip(outputs, ends, strict=True)]


def give_terms(value: np.ndarray, outputs: list[int], combine: str) -> list[float]:
    """What a leaf says of each column, before its tree's weight."""
    terms = [float(v) for v in value]
    if combine == "sum" or not outputs:
        return terms
    for columns in split_outputs(outputs):
        if combine == "mean":
            total = 0.0
            for c in columns:
                total += float(value[c])
            for c in columns:
                terms[c] = float(value[c]) / total
        else:
            best = max(columns, key=lambda c: (value[c], -c))
            for c in columns:
                terms[c] = float(c == best)
    return terms


def predict(
    trees: list[Tree],
    outputs: list[int],
    X: np.ndarray,
    combine: str,
    tree_weights: list[float] | None = None,
    slots: list[int] | None = None,
    out_width: int | None = None,
) -> np.ndarray:
    """Sum over the trees in their order, for every row."""
    width = np.asarray(trees[0]["value"]).reshape(len(trees[0]["feature"]), -1).shape[1]
    weights = [1.0] * len(trees) if tree_weights is None else tree_weights
    out = np.zeros((len(X), out_width or width))
    for i, row in enumerate(X):
        for t, tree in enumerate(trees):
            value = np.asarray(tree["value"]).reshape(-1, width)[walk_row(tree, row)]
            for c, term in enumerate(give_terms(value, outputs, combine)):
                out[i, c + (slots[t] if slots else 0)] += weights[t] * term
        if combine == "mean":
            out[i] /= sum(weights)
    return out


def count_leaves(tree: Tree, node: int) -> int:
    if tree["children_left"][node] < 0:
        return 1
    return count_leaves(tree, tree["children_left"][node]) + count_leaves(tree, tree["children_right"][node])


def measure_risk(tree: Tree, node: int) -> float:
    """R(t): the node's impurity, weighted by its share of the training weight."""
    weight = tree["weighted_n_node_samples"]
    return float(weight[node] * tree["impurity"][node] / weight[0])


def measure_branch_risk(tree: Tree, node: int) -> float:
    """R(T_t): the risk of the leaves below the node."""
    left, right = tree["children_left"][node], tree["children_right"][node]
    if left < 0:
        return measure_risk(tree, node)
    return measure_branch_risk(tree, left) + measure_branch_risk(tree, right)


def list_inner(tree: Tree, node: int = 0) -> list[int]:
    if tree["children_left"][node] < 0:
        return []
    below = list_inner(tree, tree["children_left"][node]) + list_inner(tree, tree["children_right"][node])
    return [node, *below]


def prune(tree: Tree, ccp_alpha: float = np.inf) -> tuple[Tree, list[float], list[float]]:
    """Collapse the weakest link while it costs at most ccp_alpha; the tree, and alphas and risks on the way."""
    tree = {**tree, "children_left": tree["children_left"].copy(), "children_right": tree["children_right"].copy()}
    alphas, risks = [0.0], [measure_branch_risk(tree, 0)]
    while inner := list_inner(tree):

        def cost(node: int) -> float:
            return (measure_risk(tree, node) - measure_branch_risk(tree, node)) / (count_leaves(tree, node) - 1)

        weakest = min(inner, key=lambda node: (cost(node), node))
        if cost(weakest) > ccp_alpha:
            break
        alphas.append(cost(weakest))
        tree["children_left"][weakest] = tree["children_right"][weakest] = -1
        risks.append(measure_branch_risk(tree, 0))
    return tree, alphas, risks
