"""Two trees side by side: the same splits wherever one split is best; where several are equally good, either."""

import numpy as np
from numpy.testing import assert_allclose


def measure_decrease(tree, node):
    """Decrease of the weighted impurity that the split of a node brings, per weight in the tree."""
    weighted = tree.weighted_n_node_samples * tree.impurity
    left, right = tree.children_left[node], tree.children_right[node]
    return (weighted[node] - weighted[left] - weighted[right]) / tree.weighted_n_node_samples[0]


def assert_same_splits(ours, theirs, least=1):
    """Walk two fitted trees together; below a tie, which each side may decide its own way, nothing is compared."""
    mine, their = ours.tree_, theirs.tree_
    agreed, stack = 0, [(0, 0)]
    while stack:
        a, b = stack.pop()
        assert mine.n_node_samples[a] == their.n_node_samples[b]
        assert_allclose(mine.weighted_n_node_samples[a], their.weighted_n_node_samples[b], rtol=1e-9)
        assert_allclose(mine.impurity[a], their.impurity[b], rtol=1e-7, atol=1e-9)
        is_leaf = mine.children_left[a] < 0
        # A median of all rows cannot be distinguished from the medians in the leaves, which are what a tree stores.
        if is_leaf or ours.criterion != "absolute_error":
            assert_allclose(mine.value[a], their.value[b], rtol=1e-7, atol=1e-9)
        assert is_leaf == (their.children_left[b] < 0)
        if is_leaf:
            continue
        assert_allclose(measure_decrease(mine, a), measure_decrease(their, b), rtol=1e-6, atol=1e-9)
        same_rows = (
            mine.n_node_samples[mine.children_left[a]] == their.n_node_samples[their.children_left[b]]
            and mine.feature[a] == their.feature[b]
        )
        if same_rows:
            assert_allclose(mine.threshold[a], their.threshold[b], rtol=1e-6, atol=1e-9)
            agreed += 1
            stack += [
                (mine.children_left[a], their.children_left[b]),
                (mine.children_right[a], their.children_right[b]),
            ]
    assert agreed >= least, f"only {agreed} splits agree"
    return agreed


def list_splits(tree):
    """(depth, feature, threshold, rows) of every split, in an order that does not depend on the numbering."""
    splits, stack = [], [(0, 0)]
    while stack:
        node, depth = stack.pop()
        if tree.children_left[node] >= 0:
            splits.append((depth, int(tree.feature[node]), tree.threshold[node], int(tree.n_node_samples[node])))
            stack += [(tree.children_left[node], depth + 1), (tree.children_right[node], depth + 1)]
    return splits


def break_ties(X, seed=0):
    """The same table with a little noise, so that few splits are equally good by accident."""
    rng = np.random.default_rng(seed)
    return X + rng.normal(scale=1e-3, size=X.shape) * X.std(axis=0)
