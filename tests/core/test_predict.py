"""Every way through the trees gives the bytes of the plain walk."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from committee import _core
from committee.losses import LossFunction
from tests.core.random_trees import Draw, convert_sklearn, draw_rows, draw_tree
from tests.naive import tree as naive

PATHS = ("automatic", "plain", "interleaved", "sequence", "coded")
DRAWS = {
    "plain": Draw(),
    "one leaf": Draw(n_leaves=1),
    "stumps": Draw(n_leaves=2),
    "double thresholds": Draw(exact_floats=False, n_leaves=20),
    "on the thresholds": Draw(grid=6, n_leaves=30),
    "wide values": Draw(width=3),
    "counts": Draw(outputs=[3], counts=5),
    "large counts": Draw(outputs=[2], counts=100_000),
    "class weights": Draw(outputs=[4], n_leaves=40),
    "outputs": Draw(outputs=[2, 5, 1], counts=300),
    "one feature": Draw(n_features=1, n_leaves=60),
    "256 leaves": Draw(n_leaves=256, n_features=3),
    "many leaves": Draw(n_leaves=700, n_features=4),
    "categories": Draw(categorical=(0, 3), n_leaves=25),
    "as many categories as a byte can name": Draw(categorical=(1, 2), n_codes=254, n_leaves=40),
    "wide categories": Draw(categorical=(1,), n_codes=400, n_leaves=25, exact_floats=False),
}


def has_path(path: str, draw: Draw, grown: list[naive.Tree]) -> bool:
    if path == "sequence":
        return draw.n_leaves <= 256 and (not draw.categorical or draw.n_codes <= 254)
    if path == "coded":
        return draw.n_leaves <= 2048 and not draw.categorical and count_thresholds(grown) <= 255
    return True


def count_thresholds(grown: list[naive.Tree]) -> int:
    """Of the feature that has the most."""
    pairs = {(f, t) for g in grown for f, t in zip(g["feature"], g["threshold"], strict=True) if f >= 0}
    return max(Counter(f for f, _ in pairs).values(), default=0)


def assert_same_bytes(got: np.ndarray, wanted: np.ndarray) -> None:
    assert got.shape == wanted.shape
    assert got.dtype == wanted.dtype
    assert got.tobytes() == wanted.tobytes()


def make(draw: Draw, n_trees: int, seed: int) -> tuple[list[naive.Tree], _core.Trees, np.random.Generator]:
    rng = np.random.default_rng(seed)
    grown = [draw_tree(rng, draw) for _ in range(n_trees)]
    return grown, _core.testing.build_trees(grown, draw.outputs, draw.n_features), rng


def list_combines(draw: Draw) -> list[str]:
    return ["sum", "mean", "vote"] if draw.outputs else ["sum", "mean"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", DRAWS)
def test_all_paths_give_the_bytes_of_the_naive_walk(name: str, dtype: type) -> None:
    draw = DRAWS[name]
    grown, trees, rng = make(draw, n_trees=11, seed=len(name))
    X = draw_rows(rng, 203, draw, dtype=dtype)
    for combine in list_combines(draw):
        wanted = naive.predict(grown, draw.outputs, X, combine)
        for path in PATHS:
            if has_path(path, draw, grown):
                assert_same_bytes(_core.testing.predict_by_path(trees, X, combine, path=path), wanted)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_leaves=st.integers(1, 90),
    n_trees=st.integers(1, 20),
    n_rows=st.integers(0, 130),
    outputs=st.lists(st.integers(1, 4), max_size=3),
    counts=st.sampled_from([0, 3, 300, 70_000]),
    grid=st.sampled_from([0, 4]),
    exact_floats=st.booleans(),
    missing=st.sampled_from([0.0, 0.3]),
    double=st.booleans(),
)
def test_random_forests(
    seed: int,
    n_leaves: int,
    n_trees: int,
    n_rows: int,
    outputs: list[int],
    counts: int,
    grid: int,
    exact_floats: bool,
    missing: float,
    double: bool,
) -> None:
    draw = Draw(n_leaves=n_leaves, outputs=outputs, counts=counts, grid=grid, exact_floats=exact_floats)
    grown, trees, rng = make(draw, n_trees, seed)
    X = draw_rows(rng, n_rows, draw, missing, np.float64 if double else np.float32)
    weights = rng.normal(size=n_trees) ** 2
    for combine in list_combines(draw):
        wanted = naive.predict(grown, outputs, X, combine, list(weights))
        for path in PATHS:
            if has_path(path, draw, grown):
                assert_same_bytes(_core.testing.predict_by_path(trees, X, combine, weights, path=path), wanted)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("n_jobs", [1, 2, 5, -1])
def test_threads_change_nothing(path: str, n_jobs: int) -> None:
    _, trees, rng = make(Draw(n_leaves=31, outputs=[3], grid=40), 40, seed=5)
    X = draw_rows(rng, 3000, Draw())
    wanted = _core.testing.predict_by_path(trees, X, "mean", n_jobs=1, path="plain")
    assert_same_bytes(_core.testing.predict_by_path(trees, X, "mean", n_jobs=n_jobs, path=path), wanted)
    assert_same_bytes(trees.apply(X, n_jobs), trees.apply(X, 1))


@pytest.mark.parametrize("path", PATHS)
def test_any_strides(path: str) -> None:
    _, trees, rng = make(Draw(n_leaves=31, n_features=4), 9, seed=6)
    X = np.ascontiguousarray(draw_rows(rng, 500, Draw(n_features=4)))
    wanted = _core.testing.predict_by_path(trees, X, path="plain")
    everywhere = np.full((1000, 9), np.nan, np.float32)
    everywhere[1::2, 7::-2] = X
    for view in (np.asfortranarray(X), everywhere[1::2, 7::-2], X[::-1][::-1], np.asfortranarray(X[::-1])[::-1]):
        assert_same_bytes(_core.testing.predict_by_path(trees, view, path=path), wanted)
        assert_same_bytes(trees.apply(view), trees.apply(X))
    assert_same_bytes(
        _core.testing.predict_by_path(trees, np.broadcast_to(X[:1], X.shape), path=path), np.repeat(wanted[:1], 500, 0)
    )


@pytest.mark.parametrize("n_rows", [1, 2, 7, 8, 9, 63, 64, 65, 255, 256, 257, 1025])
def test_rows_do_not_depend_on_their_neighbours(n_rows: int) -> None:
    _, trees, rng = make(Draw(n_leaves=20, outputs=[2]), 13, seed=7)
    X = draw_rows(rng, 1025, Draw())
    whole = _core.testing.predict_by_path(trees, X, path="plain")
    for path in PATHS:
        assert_same_bytes(_core.testing.predict_by_path(trees, X[:n_rows], path=path), whole[:n_rows])


@pytest.mark.parametrize("path", PATHS)
def test_slots_and_ranges(path: str) -> None:
    draw = Draw(n_leaves=10)
    grown, trees, rng = make(draw, 12, seed=8)
    X = draw_rows(rng, 150, draw)
    slots = np.arange(12, dtype=np.uint32) % 3
    weights = rng.normal(size=12)
    wanted = naive.predict(grown, [], X, "sum", list(weights), list(slots), 3)
    assert_same_bytes(_core.testing.predict_by_path(trees, X, "sum", weights, slots, 3, path=path), wanted)
    wanted = naive.predict(grown[2:7], [], X, "mean")
    assert_same_bytes(_core.testing.predict_by_path(trees, X, "mean", first=2, last=7, path=path), wanted)
    assert_same_bytes(_core.testing.predict_by_path(trees.select(2, 7), X, "mean", path=path), wanted)


def test_more_thresholds_than_a_byte_can_name() -> None:
    draw = Draw(n_leaves=40, n_features=2)
    grown, trees, rng = make(draw, 60, seed=9)
    assert len({(f, t) for g in grown for f, t in zip(g["feature"], g["threshold"], strict=True) if f >= 0}) > 1000
    X = draw_rows(rng, 300, draw)
    assert_same_bytes(
        _core.testing.predict_by_path(trees, X, "sum", path="sequence"),
        _core.testing.predict_by_path(trees, X, "sum", path="plain"),
    )
    with pytest.raises(ValueError, match="no coded form"):
        _core.testing.predict_by_path(trees, X, "sum", path="coded")
    for _ in range(3):
        assert_same_bytes(trees.predict(X[:1], "sum"), _core.testing.predict_by_path(trees, X[:1], "sum", path="plain"))


@pytest.mark.parametrize("n_thresholds", [1, 2, 254, 255])
@pytest.mark.parametrize("exact_floats", [True, False])
def test_codes_of_a_single_row(n_thresholds: int, exact_floats: bool) -> None:
    """Deep and shallow trees that are left anywhere, with all thresholds that a byte can name."""
    draw = Draw(n_leaves=30, n_features=3, exact_floats=exact_floats)
    grown, _, rng = make(draw, 300, seed=n_thresholds)
    grid = np.sort(rng.normal(size=n_thresholds)).astype(np.float32 if exact_floats else np.float64)
    for tree in grown:
        tree["threshold"] = rng.permutation(np.resize(grid, len(tree["threshold"]))).astype(np.float64)
    trees = _core.testing.build_trees(grown, [], draw.n_features)
    X = np.concatenate([draw_rows(rng, 20, draw, 0.3), np.float32(rng.choice(grid, (20, 3)))])
    assert_same_bytes(_core.testing.predict_by_path(trees, X, "sum", path="coded"), naive.predict(grown, [], X, "sum"))
    for row, wanted in zip(X, _core.testing.predict_by_path(trees, X, "sum", path="plain"), strict=True):
        assert_same_bytes(trees.predict(row[None], "sum"), wanted[None])


def test_single_rows_from_many_threads() -> None:
    _, trees, rng = make(Draw(n_leaves=31), 50, seed=21)
    rows = draw_rows(rng, 64, Draw())
    wanted = _core.testing.predict_by_path(trees, rows, "sum", path="plain")
    with ThreadPoolExecutor(8) as pool:
        for i, got in enumerate(pool.map(lambda i: trees.predict(rows[i : i + 1], "sum"), range(64))):
            assert_same_bytes(got, wanted[i : i + 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinite_thresholds_and_values(dtype: type) -> None:
    draw = Draw(n_leaves=12)
    grown, _, rng = make(draw, 30, seed=10)
    for tree in grown:
        inner = np.flatnonzero(tree["feature"] >= 0)
        tree["threshold"][inner[::2]] = rng.choice([np.inf, -np.inf, 0.0, -0.0], len(inner[::2]))
    trees = _core.testing.build_trees(grown, [], draw.n_features)
    X = draw_rows(rng, 200, draw, dtype=dtype)
    X[rng.random(X.shape) < 0.2] = np.inf
    X[rng.random(X.shape) < 0.2] = -np.inf
    X[rng.random(X.shape) < 0.2] = -0.0
    wanted = naive.predict(grown, [], X, "sum")
    for path in PATHS:
        assert_same_bytes(_core.testing.predict_by_path(trees, X, "sum", path=path), wanted)


def test_a_float_against_a_double_threshold_is_compared_as_a_double() -> None:
    draw = Draw(n_leaves=2, n_features=1)
    grown, _, _ = make(draw, 1, seed=11)
    tree = grown[0]
    tree["threshold"][0] = 0.1  # float32(0.1) lies above
    trees = _core.testing.build_trees(grown, [], 1)
    right, left = (tree["value"][tree[f"children_{side}"][0], 0] for side in ("right", "left"))
    for path in PATHS:
        assert _core.testing.predict_by_path(trees, np.float32([[0.1]]), "sum", path=path)[0, 0] == right
        assert _core.testing.predict_by_path(trees, np.array([[0.1]]), "sum", path=path)[0, 0] == left


@pytest.mark.parametrize("n_rows", [3, 2000])
@pytest.mark.parametrize("name", ["counts", "class weights", "outputs", "categories of classes", "large counts"])
def test_labels_are_the_largest_shares(name: str, n_rows: int) -> None:
    draw = DRAWS.get(name, Draw(categorical=(0, 3), n_leaves=25, outputs=[3], counts=4))
    _, trees, rng = make(draw, n_trees=1, seed=1)
    X = draw_rows(rng, n_rows, draw)
    shares, wanted, first = trees.predict(X, "mean"), [], 0
    for n_classes in draw.outputs:
        wanted.append(shares[:, first : first + n_classes].argmax(axis=1))
        first += n_classes
    for n_jobs in (1, 3):
        assert_same_bytes(trees.label(X, n_jobs=n_jobs), np.stack(wanted, axis=1))


def test_labels_of_many_trees_or_of_values_are_refused() -> None:
    X = np.zeros((1, Draw().n_features))
    for draw, n_trees in ((Draw(), 1), (Draw(outputs=[2], counts=3), 2)):
        with pytest.raises(ValueError, match="one tree with class weights"):
            make(draw, n_trees, seed=0)[1].label(X)


def test_apply_names_the_node_that_describe_shows() -> None:
    for draw in DRAWS.values():
        grown, trees, rng = make(draw, 5, seed=12)
        X = draw_rows(rng, 70, draw)
        nodes = trees.apply(X)
        assert nodes.dtype == np.uint32
        for t, tree in enumerate(grown):
            shown = trees.describe(t, "gini")
            for row, node in zip(X, nodes[:, t], strict=True):
                assert shown["children_left"][node] == -1
                np.testing.assert_array_equal(shown["value"][node], tree["value"][naive.walk_row(tree, row)])


@pytest.mark.parametrize("missing", [False, True])
def test_scikit_learn_forests(missing: bool) -> None:
    X, y = make_classification(600, 12, n_informative=6, n_classes=3, random_state=0)
    X = X.astype(np.float32)
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    trees = _core.testing.build_trees([convert_sklearn(e.tree_, classes=True) for e in forest.estimators_], [3], 12)
    for path in PATHS:
        got = _core.testing.predict_by_path(trees, X, "mean", path=path)
        np.testing.assert_allclose(got, forest.predict_proba(X), rtol=1e-12, atol=1e-15)
    stump = RandomForestRegressor(30, max_leaf_nodes=9, random_state=0).fit(X, X[:, 0] if not missing else y)
    trees = _core.testing.build_trees([convert_sklearn(e.tree_, classes=False) for e in stump.estimators_], [], 12)
    for path in PATHS:
        np.testing.assert_allclose(
            _core.testing.predict_by_path(trees, X, path=path)[:, 0], stump.predict(X), rtol=1e-12
        )


def test_scikit_learn_leaves() -> None:
    X, y = make_regression(500, 8, random_state=1)
    X = X.astype(np.float32)
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    grown = [convert_sklearn(e.tree_, classes=False) for e in forest.estimators_]
    nodes = _core.testing.build_trees(grown, [], 8).apply(X)
    for t, leaves in enumerate(forest.apply(X).T):
        # Nodes are numbered otherwise, but rows that share a leaf there share one here.
        assert len(set(zip(leaves, nodes[:, t], strict=True))) == len(set(leaves)) == len(set(nodes[:, t]))


def test_the_sequence_is_derived_once_by_many_threads() -> None:
    _, trees, rng = make(Draw(n_leaves=31), 50, seed=13)
    X = draw_rows(rng, 600, Draw())
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: trees.predict(X, "sum"), range(16)))
    for got in results:
        assert_same_bytes(got, _core.testing.predict_by_path(trees, X, "sum", path="plain"))


def test_bad_arguments_get_a_sentence() -> None:
    _, trees, rng = make(Draw(outputs=[2]), 3, seed=14)
    _, plain, _ = make(Draw(), 3, seed=14)
    X = draw_rows(rng, 10, Draw())
    packed = np.zeros(10, np.dtype([("a", "u1"), ("b", "<f4", (5,))]))["b"]
    for bad in (
        X[:, :4],
        X[0],
        np.zeros((10, 5), int),
        X.astype(">f4"),
        "text",
        None,
        [[1.0] * 5],
        X.astype("f2"),
        packed,
    ):
        for call in (trees.predict, trees.apply):
            with pytest.raises(ValueError, match="X must"):
                call(bad)
    for kwargs in (
        {"combine": "median"},
        {"tree_weights": np.ones(2)},
        {"tree_weights": np.zeros(3)},
        {"tree_weights": "heavy"},
        {"first": 3},
        {"first": 5},
        {"out_width": 3},
        {"slots": np.zeros(3, np.uint32)},
        {"last": "all"},
        {"last": 4},
    ):
        with pytest.raises(ValueError):
            trees.predict(X, **kwargs)
    with pytest.raises(ValueError, match="class weights"):
        plain.predict(X, "vote")
    with pytest.raises(ValueError, match="slot"):
        plain.predict(X, "sum", slots=np.uint32([0, 1, 2]), out_width=2)
    with pytest.raises(ValueError, match="slots"):
        plain.predict(X, "sum", slots=np.uint32([0, 1]), out_width=2)
    _, deep, _ = make(Draw(n_leaves=300), 1, seed=15)
    with pytest.raises(ValueError, match="no split sequence"):
        _core.testing.predict_by_path(deep, X, path="sequence")
    with pytest.raises(ValueError, match="path must"):
        _core.testing.predict_by_path(deep, X, path="scenic")


def test_sound_tables() -> None:
    X = np.zeros((3, 4), np.float32)
    packed = np.zeros(3, np.dtype([("a", "u1"), ("b", "<f4", (4,))]))["b"]
    for good in (X, X.astype(np.float64), np.asfortranarray(X), X[:1], np.full((1, 4), np.nan)):
        assert _core.is_sound_table(good, 4)
    for bad in (X[:0], X[:, :3], X[0], X.astype(int), X.astype(">f4"), X.astype(object), packed, X.astype("M8[s]")):
        assert not _core.is_sound_table(bad, 4)
    for value in (np.inf, -np.inf):
        spoiled = np.zeros((900, 4))
        spoiled[880, 2] = value
        assert not _core.is_sound_table(spoiled, 4)
        assert not _core.is_sound_table(spoiled[880:881], 4)


@pytest.mark.parametrize("n_rows", [1, 5, 1000])
def test_answers_of_boosted_trees(n_rows: int) -> None:
    draw = Draw(n_leaves=12)
    _, trees, rng = make(draw, 30, seed=31)
    X = draw_rows(rng, n_rows, draw)
    slots, baseline = np.arange(30, dtype=np.uint32) % 3, rng.normal(size=3)
    scores = trees.predict(X, "sum", None, slots, 3) + baseline
    assert_same_bytes(trees.predict_boosted(X, slots, baseline, None), scores)
    softmax = LossFunction("softmax", n_scores=3)
    assert_same_bytes(
        trees.predict_boosted(X, slots, baseline, softmax.made), np.ascontiguousarray(softmax.find_means(scores))
    )
    logistic, start = LossFunction("logistic"), np.array([0.3])
    means = logistic.find_means(trees.predict(X, "sum", None, np.zeros(30, np.uint32), 1) + start)
    for n_jobs in (1, 3):
        pairs = trees.predict_boosted(X, None, start, logistic.made, True, n_jobs=n_jobs)
        assert_same_bytes(pairs, np.concatenate((1.0 - means, means), axis=1))
    for options in ((slots, baseline, logistic.made), (slots, baseline, softmax.made, True), (None, start, None, True)):
        with pytest.raises(ValueError):
            trees.predict_boosted(X, *options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_all_finite_or_missing(dtype: type, order: str) -> None:
    X = np.asarray(np.random.default_rng(0).normal(size=(37, 11)), dtype=dtype, order=order)
    assert _core.all_finite_or_missing(X)
    X[5, 3] = np.nan
    assert _core.all_finite_or_missing(X)
    for value in (np.inf, -np.inf):
        for at in ((0, 0), (36, 10), (17, 4)):
            Y = X.copy(order="K")
            Y[at] = value
            assert not _core.all_finite_or_missing(Y)
            assert _core.all_finite_or_missing(Y[:0])
