"""Trees over blocks of rows have the bytes of trees over all rows, for every kind of sums, and blocks can be lost."""

import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

from committee import _core
from committee.engines.block_trees import BlockTrees
from committee.engines.hosts import LocalHosts

N_ROWS, N_NUMBERS = 300, 4
OFFSETS = [0, 1, 90, 91, 200, N_ROWS]


def make_bins(seed: int) -> _core.BinnedMatrix:
    """Four numbers, one with missing values and one of few values, and a category with missing values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, N_NUMBERS + 1))
    X[:, 1] = X[:, 1].round()
    X[:, N_NUMBERS] = rng.integers(0, 12, N_ROWS)
    X[rng.random(N_ROWS) < 0.1, 2] = np.nan
    X[rng.random(N_ROWS) < 0.1, N_NUMBERS] = np.nan
    levels = np.array([0] * N_NUMBERS + [12], dtype=np.uint32)
    mapper = _core.BinMapper.fit(X, None, levels, 64, 1)
    return mapper.transform(X)


class SlicedBins(NamedTuple):
    """As `PartitionBins`, cut out of a table."""

    bins: _core.BinnedMatrix
    offsets: list[int]

    @property
    def mapper(self) -> _core.BinMapper:
        return self.bins.mapper

    @property
    def n_rows(self) -> int:
        return self.bins.n_rows

    def load(self, block: int) -> _core.BinnedMatrix:
        return _core.slice_rows(self.bins, self.offsets[block], self.offsets[block + 1])


class LosingHosts(LocalHosts):
    """Loses the state of a block before every other call."""

    n_calls = 0

    def call(self, fit: str, *args: Any, **options: Any) -> Any:
        self.n_calls += 1
        if self.n_calls % 2 == 0:
            self.drop(fit, self.n_calls // 2 % (len(OFFSETS) - 1))
        return super().call(fit, *args, **options)


def make_params(**options: Any) -> _core.GrowParams:
    params = _core.GrowParams()
    for name, value in {"seed": 3, "tree": 2, "n_jobs": 1, **options}.items():
        setattr(params, name, value)
    return params


RNG = np.random.default_rng(1)
WHOLE = RNG.integers(0, 3, N_ROWS).astype(float)  # some rows are absent
PARTS = (WHOLE + 1.0) / 6.0
REAL = RNG.gamma(0.5, size=N_ROWS) * (RNG.random(N_ROWS) < 0.9)
ONES = np.full(N_ROWS, 1.0 / N_ROWS)
CLASS_CASES: dict[str, tuple[int, Any, dict[str, Any]]] = {
    "two classes": (2, ONES, {"max_depth": 4}),
    "counts": (2, WHOLE, {"shuffle_ties": True}),
    "parts of a unit": (2, PARTS, {"max_depth": 5, "criterion": "entropy"}),
    "real weights": (2, REAL, {"max_depth": 6, "min_weight_leaf": 0.5}),
    "limits of rows": (2, WHOLE, {"min_samples_leaf": 4, "min_samples_split": 20}),
    "few features": (2, REAL, {"max_features": 2, "shuffle_ties": True, "max_depth": 5}),
    "best first": (2, WHOLE, {"max_leaf_nodes": 9}),
    "monotone": (2, WHOLE, {"monotonic": [1, 0, -1, 0, 0], "max_depth": 4}),
    "interactions": (2, REAL, {"interaction_groups": [[0, 1], [2, 3, 4]], "max_depth": 4}),
    "several classes": (5, WHOLE, {"max_depth": 6}),
    "several classes, real weights": (5, REAL, {"criterion": "gain_ratio", "max_depth": 4}),
    "a decrease": (3, REAL, {"min_impurity_decrease": 0.01}),
}
VALUE_CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "equal weights": (ONES, {"max_depth": 4}),
    "counts": (WHOLE, {}),
    "real weights": (REAL, {"max_depth": 6, "shuffle_ties": True}),
    "friedman": (PARTS, {"criterion": "friedman_mse", "max_leaf_nodes": 8}),
    "poisson": (REAL, {"criterion": "poisson", "max_depth": 5}),
    "monotone": (WHOLE, {"monotonic": [1, 0, -1, 0, 0], "max_depth": 4}),
}


def describe(tree: Any, importances: Any) -> tuple[bytes, bytes]:
    return pickle.dumps(tree), importances.tobytes()


@pytest.mark.parametrize("hosts", [LocalHosts, LosingHosts])
@pytest.mark.parametrize("name", CLASS_CASES)
def test_trees_of_classes(name: str, hosts: Any) -> None:
    n_classes, weights, options = CLASS_CASES[name]
    bins, params = make_bins(len(name)), make_params(**options)
    rng = np.random.default_rng(len(name))
    labels = ((bins.column(0) > 30).astype(int) + rng.integers(0, n_classes, N_ROWS)) % n_classes
    own = labels.astype(np.uint32)
    expected = _core.grow_tree(bins, None, own[:, None], [n_classes], None, weights, params)
    trees = BlockTrees(hosts(), SlicedBins(bins, OFFSETS))  # type: ignore[arg-type]
    trees.set_labels(own, n_classes)
    trees.set_weights(weights)
    grown = trees.grow(params)
    assert describe(grown.trees, grown.importances) == describe(*expected)
    assert len(grown.names) > 2


@pytest.mark.parametrize("digits", [0, 6])
@pytest.mark.parametrize("name", VALUE_CASES)
def test_trees_of_numbers(name: str, digits: int) -> None:
    weights, options = VALUE_CASES[name]
    bins, params = make_bins(len(name)), make_params(**{"criterion": "squared_error", **options})
    rng = np.random.default_rng(len(name))
    values = (np.abs(bins.column(0) / 20.0 + rng.normal(size=N_ROWS)) + 0.1).round(digits)
    expected = _core.grow_tree(bins, None, None, [], values[:, None], weights, params)
    trees = BlockTrees(LosingHosts(), SlicedBins(bins, OFFSETS))  # type: ignore[arg-type]
    trees.set_values(values)
    trees.set_weights(weights)
    grown = trees.grow(params)
    assert describe(grown.trees, grown.importances) == describe(*expected)
    assert len(grown.names) > 2


def test_leaves_of_all_rows() -> None:
    """Rows without weight follow the splits as predictions do: missing values and categories that no other row has."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N_ROWS, 3))
    X[:, 2] = rng.integers(0, 20, N_ROWS)
    weights = (np.arange(N_ROWS) % 3 == 0) * 1.0
    X[(weights == 0.0) & (rng.random(N_ROWS) < 0.3), 0] = np.nan
    X[rng.random(N_ROWS) < 0.2, 1] = np.nan
    mapper = _core.BinMapper.fit(X, None, np.array([0, 0, 20], dtype=np.uint32), 255, 1)
    values = np.nan_to_num(X[:, 0]) + np.isin(X[:, 2], [1, 4, 7]) + np.isnan(X[:, 1])
    trees = BlockTrees(LocalHosts(), SlicedBins(mapper.transform(X), OFFSETS))  # type: ignore[arg-type]
    trees.set_values(values)
    trees.set_weights(weights)
    grown = trees.grow(make_params(max_depth=5, criterion="squared_error"))
    predicted = grown.trees.predict(X, "sum", None, None, None, 0, None, 1)
    np.testing.assert_array_equal(grown.values[trees.find_leaves(grown)], predicted)


def test_weights_that_blocks_keep() -> None:
    """Sums and weights are those of one process, to the bit."""
    bins, rng = make_bins(8), np.random.default_rng(8)
    labels = rng.integers(0, 3, N_ROWS).astype(np.uint32)
    trees = BlockTrees(LosingHosts(), SlicedBins(bins, OFFSETS))  # type: ignore[arg-type]
    trees.set_labels(labels, 3)
    trees.keep_weights(REAL)
    own = REAL / _core.round_exact(_core.sum_exactly(REAL))
    for _ in range(3):
        assert trees.n_present == np.count_nonzero(own)
        np.testing.assert_array_equal(trees.weights, own)
        grown = trees.grow(make_params(max_depth=3))
        tree, _ = _core.grow_tree(bins, None, labels[:, None], [3], None, own, make_params(max_depth=3))
        assert pickle.dumps(grown.trees) == pickle.dumps(tree)
        leaves = trees.find_leaves(grown)
        trees.settle(grown)
        factors = rng.gamma(1.0, size=(len(grown.names), 3))
        taken = factors[leaves, labels]
        assert trees.sum(factors) == _core.round_exact(_core.sum_exactly(own, taken))
        own = own * taken
        own = own / _core.round_exact(_core.sum_exactly(own))
        trees.multiply(factors)
    trees.close()


def test_commands_are_checked() -> None:
    block = _core.TreeBlock(make_bins(0), 1)
    with pytest.raises(ValueError, match="one entry for each row"):
        block.set_weights(np.ones(3))
    with pytest.raises(ValueError, match="not below its number of classes"):
        block.set_labels(np.full(N_ROWS, 2, dtype=np.uint32), 2)
    block.set_labels(np.zeros(N_ROWS, dtype=np.uint32), 2)
    block.set_weights(np.ones(N_ROWS))
    block.run("fix_weights", (np.array([1.0, 1.0]), np.array([0, 1])))
    with pytest.raises(ValueError, match="knows no command 'dance'"):
        block.run("dance", ())
    with pytest.raises(ValueError, match="has no tree yet"):
        block.find_leaves(np.zeros(1, dtype=np.uint32))


@pytest.mark.parametrize(
    ("options", "grows"),
    [
        ({}, True),
        ({"exact": True}, False),
        ({"random_splits": True}, False),
        ({"ccp_alpha": 0.1}, False),
        ({"criterion": "absolute_error"}, False),
    ],
)
def test_what_histograms_decide(options: dict[str, Any], grows: bool) -> None:
    assert _core.grows_over_blocks(make_bins(0).mapper, make_params(**options)) == grows
