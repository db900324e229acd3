"""The frozen data set: bins and sorted columns are made once and shared."""

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from committee.base import CommitteeEstimator
from committee.data import Dataset, take_in

X = np.array([[1.0, 3.0], [2.0, np.nan], [2.0, 1.0], [5.0, 0.0]])


def make(table: object = X, **options: object) -> Dataset:
    return take_in(CommitteeEstimator(), table, [0, 1, 0, 1], task="classify", **options)


def test_it_is_frozen() -> None:
    data = make()
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.weights = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.schema.n_features = 3


def test_bins_are_made_once_for_each_number_of_bins() -> None:
    data = make()
    bins = data.binned()
    assert data.binned(255, n_jobs=1) is bins
    assert data.binned(2) is not bins
    assert data.binned(2) is data.binned(2)
    assert (bins.n_rows, bins.n_cols) == (4, 2)
    assert bins.columns.tolist() == [[0, 1, 1, 2], [2, 255, 1, 0]]


def test_columns_are_sorted_once() -> None:
    data = make()
    presort = data.presorted()
    assert data.presorted(n_jobs=1) is presort
    assert presort.order.tolist() == [[0, 1, 2, 3], [3, 2, 0, 1]]


def test_sparse_and_dense_give_the_same_bins() -> None:
    dense, sparse = make(), make(sp.csr_array(X))
    np.testing.assert_array_equal(sparse.binned().columns, dense.binned().columns)
    np.testing.assert_array_equal(sparse.presorted().order, dense.presorted().order)


def test_categories_are_binned_by_code() -> None:
    data = make(categorical_features=[0])
    assert data.n_levels.tolist() == [3, 0]
    assert data.binned().columns[0].tolist() == [0, 1, 1, 2]


def test_the_weights_of_the_table_decide_on_the_bins_whoever_asks_first() -> None:
    rng = np.random.default_rng(0)
    table, fold = rng.normal(size=(2000, 1)), np.repeat([1.0, 0.0], 1000)
    target = np.arange(2000) % 2
    late, early = (take_in(CommitteeEstimator(), table, target, task="classify") for _ in range(2))
    early.reweighted(fold).binned(8)  # a copy of a copy asks first
    early.reweighted(fold).reweighted(None).binned(16)
    for max_bins in (8, 16):
        np.testing.assert_array_equal(early.binned(max_bins).columns, late.binned(max_bins).columns)
    alone = take_in(CommitteeEstimator(), table, target, fold, task="classify")
    assert not np.array_equal(alone.binned(8).columns, late.binned(8).columns)


def test_other_weights_share_the_bins() -> None:
    data = make()
    bins = data.binned()
    other = data.reweighted(np.array([1.0, 2.0, 3.0, 4.0]))
    assert other.binned() is bins
    assert other.X is data.X
    assert data.weights is None


def test_what_was_made_is_not_pickled() -> None:
    data = make()
    data.binned()
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.binned().columns, data.binned().columns)


def test_fortran_and_strided_tables_give_the_same_bins() -> None:
    wide = np.zeros((8, 4))
    wide[::2, ::2] = X
    for table in (np.asfortranarray(X), wide[::2, ::2], X.astype("f4")):
        np.testing.assert_array_equal(make(table).binned().columns, make().binned().columns)


def test_sparse_with_long_indices_and_read_only_parts() -> None:
    table = sp.csc_array(X)
    table.indices, table.indptr = table.indices.astype(np.int64), table.indptr.astype(np.int64)
    table.data.flags.writeable = False
    np.testing.assert_array_equal(make(table).binned().columns, make().binned().columns)


def test_a_row_of_weight_zero_is_as_good_as_absent() -> None:
    weights = np.array([1.0, 0.0, 2.0, 1.0])
    table = [["a", 1], ["only here", 2], ["b", 3], ["a", 4]]
    data = take_in(CommitteeEstimator(), table, [0, 1, 0, 1], weights, task="classify")
    absent = take_in(CommitteeEstimator(), [table[0], *table[2:]], [0, 0, 1], weights[[0, 2, 3]], task="classify")
    assert data.schema.categories[0].tolist() == absent.schema.categories[0].tolist() == ["a", "b"]
    np.testing.assert_array_equal(data.X[[0, 2, 3]], absent.X)
    assert np.isnan(data.X[1, 0])
