"""Kernels over tables that are kept as entries, beside the twins that try everything on dense tables."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from committee import _core
from tests.core.growth_cases import CLASS_CRITERIA, CRITERIA, Case, compare, draw_target, draw_weights
from tests.core.test_binning_sparse import take_apart
from tests.naive import boosting as naive_boosting
from tests.naive.adaboost import find_stump, measure_error, measure_gini
from tests.naive.binning import learn_column
from tests.naive.entries import list_entries, sum_stump_slots


def bin_entries(X: np.ndarray, weights: np.ndarray | None = None, max_bins: int = 255) -> tuple[Any, Any]:
    """The mapper and the bins, as entries however small the table is."""
    parts = take_apart(sparse.csc_array(X), "i4")
    mapper = _core.BinMapper.fit_csc(*parts, weights, np.zeros(X.shape[1], np.uint32), max_bins, 1)
    bins = mapper.transform_csc(*parts, 1, 0)
    assert bins.has_entries
    return mapper, bins


def draw_sparse(rng: Any, n_rows: int, n_cols: int) -> np.ndarray:
    """Few values that are not zero, of both signs; in some columns missing values, in some none is zero."""
    X = np.where(
        rng.random((n_rows, n_cols)) < rng.choice([0.03, 0.08, 0.2]), rng.integers(-2, 4, (n_rows, n_cols)), 0.0
    )
    if rng.random() < 0.4:
        X[rng.random(X.shape) < 0.03] = np.nan
    if rng.random() < 0.4:
        X[:, rng.integers(n_cols)] = rng.normal(size=n_rows).round(1)
    return X


class EntryCase(Case):
    """The core grows the tree on entries; the twin has the dense table."""

    @cached_property
    def bins(self) -> tuple[Any, Any]:
        return bin_entries(self.X, max_bins=self.max_bins)


def draw_entry_case(rng: Any, criterion: str) -> EntryCase:
    n_rows, n_cols = int(rng.integers(8, 60)), int(rng.integers(1, 9))
    params = {"criterion": criterion, "exact": bool(rng.random() < 0.3), "max_depth": int(rng.integers(1, 8))}
    rules = {
        "min_samples_leaf": int(rng.integers(1, 4)),
        "min_samples_split": int(rng.integers(2, 12)),
        "max_leaf_nodes": int(rng.integers(2, 12)),
        "min_weight_leaf": float(rng.choice([1.0, 1.5, 2.0])),
        "min_impurity_decrease": float(rng.choice([0.01, 0.03, 0.1])),
    }
    if rng.random() < 0.5:
        params |= {"seed": int(rng.integers(1 << 32)), "tree": int(rng.integers(100)), "shuffle_ties": True}
        rules |= {"random_splits": True, "max_features": int(rng.integers(1, n_cols + 1))}
    params |= {name: rule for name, rule in rules.items() if rng.random() < 0.3}
    return EntryCase(
        draw_sparse(rng, n_rows, n_cols),
        weights=draw_weights(rng, str(rng.choice(["none", "integer", "fraction"])), n_rows),
        max_bins=int(rng.choice([255, 4])),
        params=params,
        **draw_target(rng, criterion, n_rows, int(rng.choice([1, 1, 2])), int(rng.choice([2, 3, 4]))),
    )


@pytest.mark.parametrize("criterion", CRITERIA)
def test_trees_on_entries_equal_their_twins(criterion: str) -> None:
    n_nodes = [compare(draw_entry_case(np.random.default_rng(seed), criterion)) for seed in range(40)]
    assert sum(n > 3 for n in n_nodes) > 15  # most of them are trees indeed


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_trees_on_tiny_tables_of_entries_equal_their_twins(data: st.DataObject) -> None:
    n_rows, n_cols = data.draw(st.integers(2, 24)), data.draw(st.integers(1, 4))
    cell = st.sampled_from([0.0] * 16 + [1.0, -1.0, np.nan])
    X = np.array(
        data.draw(st.lists(st.lists(cell, min_size=n_cols, max_size=n_cols), min_size=n_rows, max_size=n_rows))
    )
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows)))[:, None]
    y[0] = 1
    criterion = data.draw(st.sampled_from(CRITERIA))
    target = {"labels": y.astype(np.uint32)} if criterion in CLASS_CRITERIA else {"values": y.astype(float)}
    compare(EntryCase(X, params={"criterion": criterion}, **target))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 6))
def test_entries_are_those_of_the_twin(seed: int, max_bins: int) -> None:
    rng = np.random.default_rng(seed)
    X = draw_sparse(rng, int(rng.integers(1, 80)), 5)
    _, bins = bin_entries(X, max_bins=max_bins)
    for c, column in enumerate(X.T):
        listed, rest = list_entries(learn_column(column, None, max_bins), column)
        expected = np.full(len(X), rest)
        for row, found in listed:
            expected[row] = found
        np.testing.assert_array_equal(bins.column(c), expected)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4))
def test_histograms_of_stumps_are_those_of_the_twin(seed: int, n_classes: int) -> None:
    """Every sum of the trainer: entry by entry, in units of a row's weight."""
    rng = np.random.default_rng(seed)
    X = draw_sparse(rng, int(rng.integers(4, 80)), int(rng.integers(1, 9)))
    labels = rng.integers(0, n_classes, len(X)).astype(np.uint32)
    units = rng.integers(1, 5, len(X)).astype(np.uint64)
    _, bins = bin_entries(X)
    block = _core.StumpBlock(bins, labels, n_classes, units, None, float(units.sum()), 1)
    columns = [(learn_column(column, None, 255), column) for column in X.T]
    expected = sum_stump_slots(columns, units.astype(np.int64), labels, n_classes)
    found = np.asarray(block.histograms)
    assert found.shape == expected.shape
    scale = int(found.max()) // int(expected.max())
    np.testing.assert_array_equal(found, expected * scale)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(2, 4),
    st.sampled_from(["gini", "error"]),
    st.sampled_from(["no", "whole", "real"]),
)
def test_no_stump_is_better_than_that_on_entries(seed: int, n_classes: int, criterion: str, weighted: str) -> None:
    rng = np.random.default_rng(seed)
    impurity = {"gini": measure_gini, "error": measure_error}[criterion]
    n_rows = int(rng.integers(5, 60))
    X, y = draw_sparse(rng, n_rows, 5), rng.integers(0, n_classes, n_rows)
    weights = {"no": None, "whole": rng.integers(1, 4, n_rows).astype(float), "real": rng.random(n_rows) + 0.1}[
        weighted
    ]
    _, bins = bin_entries(X, weights)
    trainer = _core.StumpTrainer(bins, None, y.astype(np.uint32), n_classes, weights, criterion, 1)
    for _ in range(3):
        current = trainer.weights
        trees, _, shares = trainer.grow()
        best, *_ = find_stump(X, y, current, impurity, n_classes)
        whole = impurity(shares.sum(axis=0))
        np.testing.assert_allclose(sum(map(impurity, shares)), min(best, whole), atol=1e-9)
        leaves = trees.apply(X)[:, 0]
        for leaf, node in enumerate(np.unique(leaves)):
            counted = np.bincount(y[leaves == node], weights=current[leaves == node], minlength=n_classes)
            np.testing.assert_allclose(shares[leaf], counted, atol=1e-12)
        trainer.multiply(rng.random(shares.shape) + 0.5)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 1.0]), st.integers(1, 4))
def test_boosting_on_entries_is_that_of_the_textbook(seed: int, lam: float, min_leaf: int) -> None:
    rng = np.random.default_rng(seed)
    X = draw_sparse(rng, int(rng.integers(20, 70)), int(rng.integers(1, 9)))
    y = np.nan_to_num(X).sum(axis=1) + rng.normal(size=len(X))
    params = _core.BoostingParams()
    params.n_jobs, params.max_leaf_nodes, params.min_samples_leaf, params.reg_lambda = 1, 6, min_leaf, lam
    state = _core.Boosting(bin_entries(X)[1], y, None, "squared_error", float("nan"), 1, params)
    state.add_constant(state.find_baseline())
    state.boost(3)
    expected = naive_boosting.boost(
        X, lambda f: (f - y, np.ones_like(y)), y.mean(), 3, 0.1, n_leaves=6, lam=lam, min_leaf=min_leaf
    )
    np.testing.assert_allclose(state.scores[:, 0], expected, atol=1e-7)
