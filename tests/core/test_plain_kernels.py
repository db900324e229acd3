"""Kernels with the instructions of this processor give the bytes of the plain forms."""

import pickle
from collections.abc import Callable, Iterator
from math import ceil, fsum
from typing import Any

import numpy as np
import pytest

from committee import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from committee._core import (
    BinMapper,
    ForestPlan,
    Loss,
    StumpTrainer,
    grow_forest,
    round_exact,
    save_bins,
    sum_exactly,
    testing,
)
from tests.core.growth_cases import Case
from tests.core.random_trees import Draw, draw_rows, draw_tree
from tests.core.test_wide_growth import draw_wide
from tests.naive.binning import NaiveBins, bin_column

FORMS = ("plain", "avx2", "avx512")
VALUES = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-45, -1e-45, 1e30, -1e30])


@pytest.fixture
def run_forms() -> Iterator[Callable[[Callable[[], bytes]], list[bytes]]]:
    """What a call returns by the plain kernels, and by those with more and more instructions of this processor."""

    def run(call: Callable[[], bytes]) -> list[bytes]:
        returned = []
        for most in FORMS:
            testing.limit_instructions(most)
            returned.append(call())
        return returned

    yield run
    testing.limit_instructions(FORMS[-1])


def find_bins(values: np.ndarray, thresholds: np.ndarray) -> bytes:
    return bin_column(
        NaiveBins(thresholds=thresholds, low=thresholds, high=thresholds, has_missing=True), values
    ).tobytes()


def draw_column(n_thresholds: int, dtype: type, rng: np.random.Generator) -> np.ndarray:
    """Values whose bins have so many thresholds, and special ones."""
    grid = np.sort(rng.normal(size=n_thresholds + 1)).astype(dtype)
    return np.concatenate([grid, rng.choice(grid, 1000), VALUES.astype(dtype)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_thresholds", [13, 25, 31, 32, 64, 127, 128, 200, 251])
def test_bins(n_thresholds: int, dtype: type, run_forms: Callable) -> None:
    rng = np.random.default_rng(n_thresholds)
    column = draw_column(n_thresholds, dtype, rng)[:, None]
    mapper = BinMapper.fit(column, None, np.zeros(1, np.uint32), 255, 1)
    thresholds = mapper.thresholds(0)
    near = [thresholds, np.nextafter(thresholds, -np.inf), np.nextafter(thresholds, np.inf), rng.normal(size=500)]
    with np.errstate(over="ignore"):
        asked = np.concatenate([column[:, 0], *(values.astype(dtype) for values in near)])
    rng.shuffle(asked)
    for n in (1, 7, 15, 16, 17, 33, len(asked)):  # whole vectors, and what is left of them
        X = asked[:n, None]
        wanted = find_bins(X[:, 0].astype(np.float64), thresholds)
        assert run_forms(lambda X=X: mapper.transform(X, 1).column(0).tobytes()) == [wanted] * len(FORMS)


def list_shapes(n: int, dtype: type) -> np.ndarray:
    """Columns that a sort may find hard: in order, of few values, with nothing but missing ones."""
    rng = np.random.default_rng(n)
    noise, place = rng.normal(size=n), np.arange(n)
    shapes = [noise, np.sort(noise), np.sort(noise)[::-1], np.full(n, 0.5), np.full(n, np.nan), place % 3 + 0.5]
    shapes += [np.where(place % 2, noise, -0.0), np.minimum(noise, 0.0), np.maximum(noise, 0.25), np.abs(place - n / 3)]
    shapes += [np.exp(100 * noise), rng.choice(VALUES, n), np.round(noise, 1), np.where(place % 5, noise, np.nan)]
    with np.errstate(over="ignore"):
        return np.stack(shapes, axis=1).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [33, 64, 65, 127, 128, 129, 200, 256, 257, 513, 4099, 70_001])  # of registers, and beside
def test_bins_of_sorted_columns(n: int, dtype: type, run_forms: Callable) -> None:
    X = list_shapes(n, dtype)

    def learn() -> bytes:
        bins = BinMapper.fit_transform(X, None, np.zeros(X.shape[1], np.uint32), 255, 1)
        return save_bins(bins.mapper) + bins.columns.tobytes()

    plain, *others = run_forms(learn)
    assert others == [plain] * len(others)
    if n > 255:
        return
    for column, low in zip(X.T, run_lows(X), strict=True):
        np.testing.assert_array_equal(low, np.unique(column[~np.isnan(column)]))


def run_lows(X: np.ndarray) -> list[np.ndarray]:
    """The smallest values of the bins of each column."""
    mapper = BinMapper.fit(X, None, np.zeros(X.shape[1], np.uint32), 255, 1)
    return [mapper.low(c) for c in range(X.shape[1])]


def test_doubles_with_equal_upper_halves(run_forms: Callable) -> None:
    """The first 32 bits of all values are the same: the others decide."""
    column = (np.float64(1.0).view(np.int64) + 5 * np.arange(250)).view(np.float64)[:, None]
    mapper = BinMapper.fit(column, None, np.zeros(1, np.uint32), 255, 1)
    asked = (np.float64(1.0).view(np.int64) + np.arange(-7, 1300)).view(np.float64)[:, None]
    wanted = find_bins(asked[:, 0], mapper.thresholds(0))
    assert run_forms(lambda: mapper.transform(asked, 1).column(0).tobytes()) == [wanted] * len(FORMS)
    assert len(set(wanted)) == 250


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [5, 37, 3000, 20_000])  # from 16,384 on classes have scales of their own
def test_boosted_stumps(n: int, weighted: bool, run_forms: Callable) -> None:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    y = np.digitize(X.sum(axis=1) + rng.normal(size=n), [-1.0, 1.0]).astype(np.uint32)
    weights = rng.integers(0, 3, n).astype(float) + np.eye(1, n)[0] if weighted else None
    bins = BinMapper.fit(X, weights, np.zeros(3, np.uint32), 255, 1).transform(X, 1)
    steps = rng.choice([1.0, 1.5, 1e-3, 1e-200], size=(12, 2, 3))

    def boost() -> bytes:
        trainer = StumpTrainer(bins, None, y, 3, weights, "gini", 1)
        bytes_ = b""
        for factors in steps:
            trees, _, shares = trainer.grow()
            bytes_ += trees.nodes.tobytes() + shares.tobytes() + trainer.weights.tobytes()
            trainer.multiply(factors[: len(shares)])
        return bytes_

    plain, *others = run_forms(boost)
    assert others == [plain] * len(others)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_leaves", [1, 2, 31, 255, 256])
def test_split_sequences(n_leaves: int, dtype: type, run_forms: Callable) -> None:
    rng = np.random.default_rng(n_leaves)
    draw = Draw(n_leaves=n_leaves, n_features=4)
    trees = testing.build_trees([draw_tree(rng, draw) for _ in range(9)], draw.outputs, draw.n_features)
    for n_rows in (1, 63, 64, 65, 256, 300, 1500):  # groups of 64 rows, four at a time
        X = draw_rows(rng, n_rows, draw, 0.1, dtype)
        wanted = testing.predict_by_path(trees, X, "sum", path="plain").tobytes()
        found = run_forms(lambda X=X: testing.predict_by_path(trees, X, "sum", path="sequence").tobytes())
        assert found == [wanted] * len(FORMS)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_codes", [2, 40, 254])
def test_split_sequences_of_categories(n_codes: int, dtype: type, run_forms: Callable) -> None:
    rng = np.random.default_rng(n_codes)
    draw = Draw(n_leaves=31, n_features=4, categorical=(1, 3), n_codes=n_codes)
    trees = testing.build_trees([draw_tree(rng, draw) for _ in range(9)], draw.outputs, draw.n_features)
    for n_rows in (1, 65, 300, 1500):
        X = draw_rows(rng, n_rows, draw, 0.1, dtype)
        X[rng.random(n_rows) < 0.1, 1] = rng.choice([-1.0, -0.5, 0.5, 253.5, 254.0, 255.0, 1e9, np.inf, -np.inf])
        wanted = testing.predict_by_path(trees, X, "sum", path="plain").tobytes()
        found = run_forms(lambda X=X: testing.predict_by_path(trees, X, "sum", path="sequence").tobytes())
        assert found == [wanted] * len(FORMS)


@pytest.mark.parametrize("n_trees", [2, 40])
@pytest.mark.parametrize("n_leaves", [200, 700])
def test_the_path_is_a_matter_of_speed_alone(n_leaves: int, n_trees: int, run_forms: Callable) -> None:
    """Forms for this processor change which path is the fastest."""
    rng = np.random.default_rng(n_leaves)
    draw = Draw(n_leaves=n_leaves, n_features=6, grid=100)
    trees = testing.build_trees([draw_tree(rng, draw) for _ in range(n_trees)], draw.outputs, draw.n_features)
    X = draw_rows(rng, 2000, draw, 0.0, np.float32)
    wanted = testing.predict_by_path(trees, X, "mean", path="plain").tobytes()
    assert run_forms(lambda: trees.predict(X, "mean").tobytes()) == [wanted] * len(FORMS)


@pytest.mark.parametrize("n_cols", [5, 28, 60])  # records of 16, 32 and 64 bytes
def test_extra_trees(n_cols: int, run_forms: Callable) -> None:
    """Sets of bytes and of bits: blocks and vectors of many sizes follow from random cuts."""
    rng = np.random.default_rng(n_cols)
    X = np.round(rng.normal(size=(3000, n_cols)), 2)
    X[:, 1] = X[:, 1] > 2.0  # most nodes find it constant
    labels = (X[:, [0]] + rng.normal(size=(3000, 1)) > 0.0).astype(np.uint32)
    params = {"random_splits": True, "max_features": max(2, n_cols // 6), "seed": 5, "shuffle_ties": True}
    for n_rows in (512, 513, 576, 577, 3000):
        case = Case(X[:n_rows], labels=labels[:n_rows], params=params)
        assert case.count_nodes()["extra_trees_bitmap"] > 0
        found = run_forms(lambda case=case: pickle.dumps(case.grow()))
        assert found == [found[0]] * len(FORMS)


@pytest.mark.parametrize("is_single", [True, False])
def test_extra_trees_that_are_grown_together(is_single: bool, run_forms: Callable) -> None:
    """Nodes that are gathered and nodes that are sets; tables of whole words of rows and others."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(5003, 70))
    X[:, ::3] = np.round(X[:, ::3], 1)
    if is_single:
        X = X.astype(np.float32).astype(float)
    labels = (X[:, [0]] + rng.normal(size=(len(X), 1)) > 0.0).astype(np.uint32)
    params = {"random_splits": True, "max_features": 9, "seed": 5, "shuffle_ties": True}
    plan = ForestPlan()
    plan.n_trees = 6
    for n_rows in (40, 64, 65, 448, 1000, len(X)):
        for weights in (None, (np.arange(n_rows) % 5 > 0).astype(float)):
            case = Case(X[:n_rows], labels=labels[:n_rows], weights=weights, params=params)
            assert case.count_nodes(plan)["trees_together"] > 20
            plain, *others = run_forms(lambda case=case: pickle.dumps(grow_forest(*case.make_arguments(), plan)))
            assert others == [plain] * len(others)


@pytest.mark.parametrize("kind", ["floats", "doubles", "tiny", "huge"])
def test_random_thresholds_of_wide_tables(kind: str, run_forms: Callable) -> None:
    """Of values, where a tree by itself asks for the cuts."""
    rng = np.random.default_rng(7)
    values = np.round(rng.normal(size=(400, 1)), 1)
    params = {"criterion": "squared_error", "random_splits": True, "max_features": 9, "seed": 5, "shuffle_ties": True}
    plan = ForestPlan()
    plan.n_trees = 3
    case = Case(draw_wide(kind), values=values, params=params)
    plain, *others = run_forms(lambda: pickle.dumps(grow_forest(*case.make_arguments(), plan)))
    assert others == [plain] * len(others)


@pytest.mark.parametrize("n_cols", [5, 28, 60])  # records of 16, 32 and 64 bytes
@pytest.mark.parametrize("max_features", [2, 11, 60])
def test_extra_trees_of_values(n_cols: int, max_features: int, run_forms: Callable) -> None:
    """Sums left of random cuts, of fewer features than a vector has lanes and of more."""
    rng = np.random.default_rng(n_cols)
    X = np.round(rng.normal(size=(3000, n_cols)), 2)
    X[:, 1] = X[:, 1] > 2.0  # most nodes find it constant
    values = np.round(X[:, [0]] + rng.normal(size=(3000, 1)), 1)
    params = {"random_splits": True, "max_features": max_features, "seed": 5, "shuffle_ties": True}
    params["criterion"] = "squared_error"
    for weights in (None, rng.integers(0, 4, len(X)).astype(float)):
        case = Case(X, values=values, weights=weights, params=params)
        assert case.count_nodes()["extra_trees_values"] > 0
        found = run_forms(lambda case=case: pickle.dumps(case.grow()))
        assert found == [found[0]] * len(FORMS)


@pytest.mark.parametrize("n_cols", [5, 28, 60])  # records of 16, 32 and 64 bytes
@pytest.mark.parametrize("n_classes", [2, 7])
def test_forests(n_classes: int, n_cols: int, run_forms: Callable) -> None:
    """Histograms of two classes and blocks of several; weights and nodes of many sizes."""
    rng = np.random.default_rng(n_cols)
    X = np.round(rng.normal(size=(3000, n_cols)), 2)
    X[:, 1] = X[:, 1] > 1.0
    labels = rng.integers(0, n_classes, (len(X), 1)).astype(np.uint32)
    labels[X[:, 0] > 0.5] = n_classes - 1
    for weights in (None, rng.integers(1, 9, len(X)).astype(float)):
        params = {"max_features": 4, "seed": 5, "shuffle_ties": True}
        case = Case(X, labels=labels, weights=weights, params=params)
        assert (case.count_nodes()["multiclass_block"] > 0) == (n_classes > 2)
        found = run_forms(lambda case=case: pickle.dumps(case.grow()))
        assert found == [found[0]] * len(FORMS)


@pytest.mark.parametrize("n_bits", [30, 120])  # records of 16 and 32 bytes
def test_forests_of_bits(n_bits: int, run_forms: Callable) -> None:
    """Packed records: columns of one bit in both halves of a record, leaves on either side of a split."""
    rng = np.random.default_rng(n_bits)
    X = np.column_stack([rng.normal(size=(4000, 4)).round(1), rng.random((4000, n_bits)) < rng.random(n_bits)])
    y = (X[:, 0] > 0.3) + (X[:, 4:6] @ [1, 2]).astype(int) + rng.integers(0, 2, len(X)) * (X[:, 1] > 0.0)
    forest = RandomForestClassifier(n_estimators=3, max_features=0.4, random_state=5, n_jobs=1)
    plain, *others = run_forms(lambda: pickle.dumps(forest.fit(X, y).to_tree_model().trees))
    assert others == [plain] * len(others)


@pytest.mark.parametrize("max_bins", [7, 30, 255])
@pytest.mark.parametrize("follows", [True, False], ids=["words kept", "words anew"])
def test_boosted_trees(follows: bool, max_bins: int, run_forms: Callable) -> None:
    """Sums of bins, their screening, partitions, and the root of the next tree; leaves of many sizes."""
    rng = np.random.default_rng(max_bins)
    X = np.round(rng.normal(size=(4500, 5)), 2)
    X[:, 4] = np.arange(len(X)) // 900 % 2  # leaves whose rows lie close together, but for some gaps
    values = X[:, 0] * X[:, 1] + X[:, 2] + 2.0 * X[:, 4] + rng.normal(size=len(X))
    X[rng.random(len(X)) < 0.2, 1] = np.nan
    X[:, 3] = rng.integers(0, 7, len(X))
    params: dict[str, Any] = {"max_iter": 4, "max_bins": max_bins, "max_leaf_nodes": 17, "categorical_features": [3]}
    params |= {"min_samples_leaf": 5, "early_stopping": False}

    def fit() -> bytes:
        if follows:
            return HistGradientBoostingRegressor(**params).fit(X, values).predict(X).tobytes()
        return HistGradientBoostingClassifier(**params).fit(X, values > 0.0).decision_function(X).tobytes()

    found = run_forms(fit)
    assert found == [found[0]] * len(FORMS)


def test_leaves_that_threads_share(run_forms: Callable) -> None:
    """Blocks of a leaf's rows, first divided and then put together; tests of bins, of categories, and of few rows."""
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(150_011, 3)), 2)
    X[:, 2] = rng.integers(0, 9, len(X))
    values = X[:, 0] * X[:, 1] + np.sin(3.0 * X[:, 2]) + rng.normal(size=len(X))
    X[rng.random(len(X)) < 0.2, 1] = np.nan

    def fit(n_jobs: int) -> bytes:
        model = GradientBoostingRegressor(
            n_estimators=3, max_leaf_nodes=9, categorical_features=[2], subsample=0.8, random_state=1, n_jobs=n_jobs
        )
        return model.fit(X, values).predict(X).tobytes()

    assert set(run_forms(lambda: fit(3))) == set(run_forms(lambda: fit(1))[:1])


def test_unknown_instructions_are_refused() -> None:
    with pytest.raises(ValueError, match="'plain', 'avx2' or 'avx512'; got 'sse9'"):
        testing.limit_instructions("sse9")


@pytest.mark.parametrize("level", [0.5, 0.25, 0.9, 0.001])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 64, 511, 512, 513, 3000, 20_000])  # one selection, or more and more
def test_quantiles(n: int, level: float, run_forms: Callable) -> None:
    rng = np.random.default_rng(n)
    loss = Loss.make("quantile", level, 1, [])
    for y in (rng.normal(size=n), np.round(rng.normal(size=n)), np.full(n, 3.0), np.sort(rng.random(n)) ** 9):
        ordered, last = np.sort(y), max(ceil(level * n), 1) - 1
        wanted = ordered[last]
        if level * n == last + 1 < n and wanted != ordered[last + 1]:
            wanted = wanted / 2 + ordered[last + 1] / 2
        found = run_forms(lambda y=y: np.asarray(loss.find_baseline(y, None, n)).tobytes())
        assert found == [np.float64(wanted + 0.0).tobytes()] * len(FORMS)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 5000])
def test_exact_sums(n: int, run_forms: Callable) -> None:
    rng = np.random.default_rng(n)
    for spread in (0, 40, 900):  # bits that the sizes differ by: one cut, several, term by term
        terms = rng.normal(size=n) * 2.0 ** rng.integers(-spread, spread + 1, n)
        found = run_forms(lambda terms=terms: np.float64(round_exact(sum_exactly(terms))).tobytes())
        assert found == [np.float64(fsum(terms)).tobytes()] * len(FORMS)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]
)
def test_losses_of_boosting(loss: str, weighted: bool, run_forms: Callable) -> None:
    """Gradients, their words, values of leaves and losses; blocks of rows that are not whole vectors."""
    rng = np.random.default_rng(len(loss))
    X = rng.normal(size=(3001, 4))
    y = np.exp(X[:, 0] + rng.normal(size=len(X)))
    weights = rng.integers(0, 4, len(X)).astype(float) if weighted else None
    model = GradientBoostingRegressor(loss=loss, n_estimators=8, random_state=5, n_jobs=1)

    def boost() -> bytes:
        model.fit(X, y, sample_weight=weights)
        return pickle.dumps(model.to_tree_model().trees) + model.train_score_.tobytes()

    plain, *others = run_forms(boost)
    assert others == [plain] * len(others)
