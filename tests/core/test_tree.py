"""The arena of finished trees: layout, views, pickles, and what is refused."""

import gc
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import _core
from tests.core.random_trees import Draw, convert_sklearn, draw_rows, draw_tree

LEAF, CATEGORICAL, MISSING_LEFT = 1 << 31, 1 << 30, 1 << 29
ARRAYS = (
    "nodes",
    "node_offsets",
    "leaf_offsets",
    "values",
    "category_offsets",
    "category_words",
    "leaf_samples",
    "leaf_weights",
    "node_impurity",
)
DRAWS = {
    "plain": Draw(n_leaves=9),
    "counts": Draw(n_leaves=9, outputs=[3, 2], counts=9),
    "class weights": Draw(n_leaves=9, outputs=[3]),
    "categories": Draw(n_leaves=20, categorical=(0, 1), exact_floats=False, width=2),
}


def make(draw: Draw, n_trees: int = 4, seed: int = 0, keep: bool = True) -> _core.Trees:
    rng = np.random.default_rng(seed)
    return _core.testing.build_trees(
        [draw_tree(rng, draw) for _ in range(n_trees)], draw.outputs, draw.n_features, keep
    )


def assert_same_trees(got: _core.Trees, wanted: _core.Trees) -> None:
    assert got.n_trees == wanted.n_trees
    assert got.n_features == wanted.n_features
    assert got.outputs == wanted.outputs
    for name in ARRAYS:
        a, b = getattr(got, name), getattr(wanted, name)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", DRAWS)
def test_nodes_are_breadth_first_with_children_side_by_side(name: str) -> None:
    trees = make(DRAWS[name])
    for t in range(trees.n_trees):
        nodes = trees.nodes[trees.node_offsets[t] : trees.node_offsets[t + 1]]
        leaf = (nodes["tag"] & LEAF) != 0
        np.testing.assert_array_equal(nodes["left"][~leaf], 1 + 2 * np.arange(np.sum(~leaf)))
        np.testing.assert_array_equal(nodes["left"][leaf], np.arange(np.sum(leaf)))
        assert trees.leaf_offsets[t + 1] - trees.leaf_offsets[t] == np.sum(leaf)
        depth = trees.describe(t, "gini")["depth"]
        assert np.all(np.diff(depth.astype(int)) >= 0)


@pytest.mark.parametrize(
    ("draw", "dtype"),
    [
        (Draw(outputs=[2], counts=255), "u1"),
        (Draw(outputs=[2], counts=65_535), "u2"),
        (Draw(outputs=[2], counts=2**32 - 1), "u4"),
        (Draw(outputs=[2]), "f8"),
        (Draw(), "f8"),
    ],
)
def test_values_are_kept_in_the_narrowest_type(draw: Draw, dtype: str) -> None:
    tree = draw_tree(np.random.default_rng(0), draw)
    if draw.counts:
        tree["value"][tree["feature"] < 0, 0] = draw.counts
    assert _core.testing.build_trees([tree], draw.outputs, 5).values.dtype == dtype
    if draw.counts:
        tree["value"][:, 0] += 1
        assert _core.testing.build_trees([tree], draw.outputs, 5).values.dtype != dtype


def test_plain_values_are_never_counts() -> None:
    tree = draw_tree(np.random.default_rng(0), Draw())
    tree["value"] = np.ones_like(tree["value"])
    assert _core.testing.build_trees([tree], [], 5).values.dtype == np.float64


def test_thresholds_are_floats_where_all_are_float32_numbers() -> None:
    assert make(Draw()).nodes.dtype["threshold"] == np.float32
    assert make(Draw()).nodes.itemsize == 12
    assert make(Draw(exact_floats=False)).nodes.dtype["threshold"] == np.float64
    assert make(Draw(exact_floats=False)).nodes.itemsize == 16


def test_leaf_weights_are_kept_where_they_cannot_be_derived() -> None:
    draw = Draw(outputs=[3], counts=5)
    tree = draw_tree(np.random.default_rng(0), draw)
    assert len(_core.testing.build_trees([tree], [3], 5).leaf_weights) == 8
    tree["weighted_n_node_samples"] = tree["value"].sum(axis=1)
    assert len(_core.testing.build_trees([tree], [3], 5).leaf_weights) == 0
    plain = draw_tree(np.random.default_rng(0), Draw())
    assert len(_core.testing.build_trees([plain], [], 5).leaf_weights) == 8
    plain["weighted_n_node_samples"] = plain["n_node_samples"].astype(float)
    made = _core.testing.build_trees([plain], [], 5)
    assert len(made.leaf_weights) == 0
    np.testing.assert_allclose(made.describe(0, "squared_error")["weighted_n_node_samples"].min() >= 1, True)


@pytest.mark.parametrize("name", DRAWS)
def test_describe_gives_back_what_was_built(name: str) -> None:
    draw = DRAWS[name]
    rng = np.random.default_rng(3)
    grown = draw_tree(rng, draw)
    trees = _core.testing.build_trees([grown], draw.outputs, draw.n_features)
    shown = trees.describe(0, "gini")
    again = _core.testing.build_trees([shown], draw.outputs, draw.n_features)
    assert_same_trees(again.stripped(), trees.stripped())
    np.testing.assert_array_equal(again.leaf_samples, trees.leaf_samples)

    def compare(a: int, b: int) -> None:
        assert shown["feature"][b] == grown["feature"][a]
        np.testing.assert_array_equal(shown["threshold"][b], grown["threshold"][a])
        if grown["children_left"][a] < 0:
            assert shown["n_node_samples"][b] == grown["n_node_samples"][a]
            assert shown["weighted_n_node_samples"][b] == grown["weighted_n_node_samples"][a]
            np.testing.assert_array_equal(shown["value"][b], grown["value"][a])
            return
        assert shown["missing_go_to_left"][b] == grown["missing_go_to_left"][a]
        assert shown["left_categories"].get(b) == grown["left_categories"].get(a)
        children = [int(shown[key][b]) for key in ("children_left", "children_right")]
        assert shown["n_node_samples"][b] == shown["n_node_samples"][children].sum()
        for child, key in zip(children, ("children_left", "children_right"), strict=True):
            assert shown["depth"][child] == shown["depth"][b] + 1
            compare(int(grown[key][a]), child)

    compare(0, 0)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_describe_agrees_with_scikit_learn_in_every_node(criterion: str) -> None:
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).random(len(y))
    tree = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y, weights).tree_
    shown = _core.testing.build_trees([convert_sklearn(tree, classes=True)], [3], 4).describe(0, criterion)
    wanted = dict(zip(map(tuple, walk_paths(tree)), range(tree.node_count), strict=True))
    for path, node in ((tuple(p), i) for i, p in enumerate(walk_paths_of(shown))):
        there = wanted[path]
        assert shown["n_node_samples"][node] == tree.n_node_samples[there]
        np.testing.assert_allclose(shown["impurity"][node], tree.impurity[there], atol=1e-12)
        np.testing.assert_allclose(shown["weighted_n_node_samples"][node], tree.weighted_n_node_samples[there])
        shares = shown["value"][node] / shown["value"][node].sum()
        np.testing.assert_allclose(shares, tree.value[there, 0], atol=1e-12)


def test_describe_gives_the_means_of_a_regression() -> None:
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeRegressor(random_state=0).fit(X[:, :3], X[:, 3], y + 1.0).tree_
    shown = _core.testing.build_trees([convert_sklearn(tree, classes=False)], [], 3).describe(0, "squared_error")
    wanted = dict(zip(map(tuple, walk_paths(tree)), range(tree.node_count), strict=True))
    for node, path in enumerate(walk_paths_of(shown)):
        np.testing.assert_allclose(shown["value"][node], tree.value[wanted[tuple(path)], 0])
        assert shown["impurity"][node] == tree.impurity[wanted[tuple(path)]]


def walk_paths_of(tree: dict[str, Any]) -> list[list[int]]:
    """The turns from the root to each node."""
    paths: dict[int, list[int]] = {0: []}
    open_nodes = [0]
    while open_nodes:
        node = open_nodes.pop()
        if tree["children_left"][node] < 0:
            continue
        for turn, key in enumerate(("children_left", "children_right")):
            child = int(tree[key][node])
            paths[child] = [*paths[node], turn]
            open_nodes.append(child)
    return [paths[node] for node in range(len(paths))]


def walk_paths(tree: Any) -> list[list[int]]:
    return walk_paths_of({"children_left": tree.children_left, "children_right": tree.children_right})


@pytest.mark.parametrize("name", DRAWS)
def test_parts_are_the_whole(name: str) -> None:
    draw = DRAWS[name]
    trees = make(draw, 6)
    parts = [trees.select(0, 1), trees.select(1, 4), trees.select(4, 4), trees.select(4, 6)]
    whole = _core.concatenate_trees(parts)
    assert pickle.dumps(_core.concatenate_trees(parts, n_jobs=2)) == pickle.dumps(whole)
    assert_same_trees(whole, trees)
    X = draw_rows(np.random.default_rng(1), 50, draw)
    assert trees.select(1, 4).predict(X).tobytes() == trees.predict(X, first=1, last=4).tobytes()
    assert pickle.loads(pickle.dumps(parts[1])).predict(X).tobytes() == parts[1].predict(X).tobytes()


def test_concatenation_widens_what_must_be_wider() -> None:
    small, large = make(Draw(outputs=[2], counts=3), seed=1), make(Draw(outputs=[2], exact_floats=False), seed=2)
    both = _core.concatenate_trees([small, large])
    assert both.values.dtype == np.float64
    assert both.nodes.itemsize == 16
    X = draw_rows(np.random.default_rng(1), 50, Draw())
    assert both.predict(X, "sum", last=4).tobytes() == small.predict(X, "sum").tobytes()
    assert both.predict(X, "sum", first=4).tobytes() == large.predict(X, "sum").tobytes()
    assert len(_core.concatenate_trees([small, large.stripped()]).leaf_samples) == 0


def test_concatenation_takes_along_only_the_category_sets_in_use() -> None:
    trees = make(Draw(n_leaves=30, categorical=(0, 1, 2)), 5)
    one = _core.concatenate_trees([trees.select(2, 3)])
    used = trees.select(2, 3).nodes["tag"] & CATEGORICAL
    assert len(one.category_offsets) == 1 + np.count_nonzero(used) < len(trees.category_offsets)
    X = draw_rows(np.random.default_rng(1), 50, Draw(categorical=(0, 1, 2)))
    assert one.predict(X).tobytes() == trees.predict(X, first=2, last=3).tobytes()


def test_trees_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ValueError, match="same features"):
        _core.concatenate_trees([make(Draw()), make(Draw(n_features=6))])
    with pytest.raises(ValueError, match="same features"):
        _core.concatenate_trees([make(Draw(width=2)), make(Draw(outputs=[2]))])
    with pytest.raises(ValueError, match="at least one"):
        _core.concatenate_trees([])
    with pytest.raises(ValueError, match="from 0 to 4"):
        make(Draw()).select(3, 5)
    with pytest.raises(ValueError, match="4 trees"):
        make(Draw()).describe(4, "gini")


def test_stripped_trees_predict_the_same_in_fewer_bytes() -> None:
    for draw in DRAWS.values():
        trees = make(draw)
        bare = trees.stripped()
        X = draw_rows(np.random.default_rng(1), 50, draw)
        assert bare.predict(X).tobytes() == trees.predict(X).tobytes()
        assert bare.nbytes < trees.nbytes
        assert_same_trees(bare, make(draw, keep=False))
        shown = bare.describe(0, "gini")
        assert "n_node_samples" not in shown
        assert ("impurity" in shown) == bool(draw.outputs)


def test_views_are_read_only_and_keep_their_trees_alive() -> None:
    trees = make(DRAWS["categories"])
    views = {name: getattr(trees, name) for name in ARRAYS}
    wanted = {name: view.tobytes() for name, view in views.items()}
    part = trees.select(1, 2)
    expected = part.nodes.tobytes()
    del trees
    gc.collect()
    for name, view in views.items():
        assert not view.flags.writeable
        assert view.tobytes() == wanted[name]
    assert part.nodes.tobytes() == expected


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", DRAWS)
def test_pickles(name: str, protocol: int) -> None:
    trees = make(DRAWS[name])
    assert_same_trees(pickle.loads(pickle.dumps(trees, protocol)), trees)


def test_read_only_arrays_are_viewed_and_writable_ones_copied() -> None:
    trees = make(DRAWS["counts"])
    state = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in trees.__getstate__().items()}
    for name in ARRAYS:
        state[name].flags.writeable = False
    made = _core.Trees.from_arrays(state)
    assert made.nodes.__array_interface__["data"] == state["nodes"].__array_interface__["data"]
    for name in ARRAYS:
        state[name].flags.writeable = True
    made = _core.Trees.from_arrays(state)
    state["nodes"]["left"] = 1 << 30
    assert_same_trees(made, trees)


def test_a_misaligned_view_is_copied() -> None:
    trees = make(Draw(exact_floats=False))
    state = trees.__getstate__()
    shifted = np.frombuffer(b"abc" + state["nodes"].tobytes(), np.uint8)[3:].view(state["nodes"].dtype)
    made = _core.Trees.from_arrays({**state, "nodes": shifted})
    assert made.nodes.__array_interface__["data"][0] % 8 == 0
    assert_same_trees(made, trees)


def test_trees_are_immutable() -> None:
    trees = make(Draw())
    with pytest.warns(RuntimeWarning, match="already-initialized"), pytest.raises(TypeError):
        trees.__setstate__(trees.__getstate__())
    with pytest.raises(TypeError):
        _core.Trees()
    with pytest.raises(ValueError):
        trees.nodes["left"][0] = 5


def test_an_arena_without_trees() -> None:
    trees = make(Draw()).select(2, 2)
    X = draw_rows(np.random.default_rng(1), 5, Draw())
    np.testing.assert_array_equal(trees.predict(X, "sum"), np.zeros((5, 1)))
    assert trees.apply(X).shape == (5, 0)
    with pytest.raises(ValueError, match="positive sum"):
        trees.predict(X)
    assert pickle.loads(pickle.dumps(trees)).n_trees == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 2}, "version"),
        ({"extra": 1}, "unknown entries"),
        ({"n_features": 0}, "n_features"),
        ({"n_features": -1}, "n_features"),
        ({"n_features": 4}, "feature that does not exist"),
        ({"n_features": 1 << 40}, "n_features"),
        ({"outputs": [2]}, "add up"),
        ({"outputs": [3, 0]}, "at least one class"),
        ({"outputs": "two"}, "outputs"),
        ({"nodes": None}, "nodes"),
        ({"nodes": np.zeros(3)}, "nodes"),
        ({"values": np.zeros((3, 3), np.int64)}, "values"),
        ({"values": np.zeros((36, 3), np.uint8)}, "positive"),
        ({"values": np.full((36, 3), np.nan)}, ">= 0"),
        ({"node_offsets": np.zeros(0, np.uint64)}, "empty"),
        ({"leaf_samples": np.zeros(3, np.uint32)}, "leaf_samples"),
        ({"leaf_weights": np.full(36, np.nan)}, "leaf_weights"),
        ({"node_impurity": np.zeros(3)}, "node_impurity"),
        ({"category_words": np.zeros(3, np.uint32)}, "category"),
    ],
)
def test_what_is_out_of_place_gets_a_sentence(change: dict[str, Any], sentence: str) -> None:
    state = make(Draw(n_leaves=9, outputs=[3], counts=9)).__getstate__()
    with pytest.raises(ValueError, match=sentence):
        _core.Trees.from_arrays({**state, **change})


def test_a_state_without_an_array_is_refused() -> None:
    state = make(Draw()).__getstate__()
    for name in state:
        with pytest.raises(ValueError, match=f"lacks '{name}'"):
            _core.Trees.from_arrays({k: v for k, v in state.items() if k != name})


def damage(state: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Flip bytes of an array, cut it, or lengthen it."""
    name = ARRAYS[int(rng.integers(len(ARRAYS)))]
    array = np.array(state[name])
    kind = rng.integers(4)
    if kind == 0:
        array = array[: int(rng.integers(len(array) + 1))]
    elif kind == 1:
        array = np.concatenate([array, array[: int(rng.integers(1, 4))]])
    elif array.size:
        raw = array.reshape(-1).view(np.uint8)
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(raw)))
            raw[at] = rng.integers(256) if kind == 2 else raw[at] ^ (1 << int(rng.integers(8)))
    return {**state, name: array}


@pytest.mark.parametrize("name", DRAWS)
def test_damaged_states_are_refused_or_valid_but_never_crash(name: str) -> None:
    draw = DRAWS[name]
    rng = np.random.default_rng(4)
    state = make(draw).__getstate__()
    X = draw_rows(rng, 70, draw)
    outcomes = {True: 0, False: 0}
    for _ in range(1500):
        try:
            trees = _core.Trees.from_arrays(damage(state, rng))
        except ValueError:
            outcomes[False] += 1
            continue
        outcomes[True] += 1
        wanted = _core.testing.predict_by_path(trees, X, "sum", path="plain")
        assert _core.testing.predict_by_path(trees, X, "sum", path="interleaved").tobytes() == wanted.tobytes()
        if not draw.categorical:
            assert _core.testing.predict_by_path(trees, X, "sum", path="sequence").tobytes() == wanted.tobytes()
        for t in range(trees.n_trees):
            trees.describe(t, "gini")
        assert_same_trees(_core.concatenate_trees([trees]).stripped(), trees.stripped())
    assert min(outcomes.values()) > 50


@pytest.mark.parametrize(
    "change",
    [
        {"children_left": [1, 0, -1], "children_right": [2, 2, -1]},
        {"children_left": [1, -1, -1], "children_right": [1, -1, -1]},
        {"children_left": [1, -1, -1], "children_right": [-1, -1, -1]},
        {"children_left": [7, -1, -1], "children_right": [2, -1, -1]},
        {"children_left": [-1, 2, 1], "children_right": [-1, 1, 2]},
        {"children_left": [], "children_right": []},
        {"feature": [5, -2, -2]},
        {"feature": [-1, -2, -2]},
        {"threshold": [np.nan, 0, 0]},
        {"value": np.ones(4)},
        {"value": np.full(3, np.inf)},
        {"impurity": [1.0]},
        {"left_categories": {9: [1]}},
    ],
)
def test_grown_trees_that_are_none_are_refused(change: dict[str, Any]) -> None:
    tree = {
        "children_left": [1, -1, -1],
        "children_right": [2, -1, -1],
        "feature": [0, -2, -2],
        "threshold": [0.5, -2, -2],
        "n_node_samples": [3, 1, 2],
        "weighted_n_node_samples": [3.0, 1, 2],
        "impurity": [0.5, 0, 0],
        "value": [0.0, 1, 2],
    }
    assert _core.testing.build_trees([tree], [], 5).n_trees == 1
    with pytest.raises(ValueError):
        _core.testing.build_trees([{**tree, **change}], [], 5)


def test_trees_of_different_width_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="same number of values"):
        _core.testing.build_trees([draw_tree(rng, Draw()), draw_tree(rng, Draw(width=2))], [], 5)
