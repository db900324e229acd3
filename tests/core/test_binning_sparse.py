"""A sparse table has the bins and bytes of its dense form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from committee._core import BinMapper, BinnedMatrix
from tests.core.test_binning import assert_same_mapper, draw_ragged_weights, draw_table, make_tall_table, read_records


def take_apart(S: sparse.csc_array, index: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]:
    return S.data, S.indices.astype(index), S.indptr.astype(index), S.shape


def assert_same_matrix(a: BinnedMatrix, b: BinnedMatrix) -> None:
    assert a.columns.tobytes() == b.columns.tobytes()
    np.testing.assert_array_equal(read_records(a), read_records(b))
    for c in range(a.n_cols):
        np.testing.assert_array_equal(a.wide_codes(c), b.wide_codes(c))


@settings(max_examples=200, deadline=None)
@given(st.data(), draw_table(), st.integers(2, 8), st.sampled_from(["i4", "i8"]), st.sampled_from([1, 3]))
def test_sparse_equals_dense(data: st.DataObject, X: np.ndarray, max_bins: int, index: str, n_jobs: int) -> None:
    weights = data.draw(st.one_of(st.none(), draw_ragged_weights(len(X))))
    level = st.sampled_from([0, 0, 0, 3, 300])
    levels = np.array(data.draw(st.lists(level, min_size=X.shape[1], max_size=X.shape[1])), np.uint32)
    S = take_apart(sparse.csc_array(X), index)
    dense = BinMapper.fit(X, weights, levels, max_bins, 1)
    mapper = BinMapper.fit_csc(*S, weights, levels, max_bins, n_jobs)
    assert_same_mapper(mapper, dense)
    assert_same_matrix(mapper.transform_csc(*S, n_jobs), dense.transform(X, 1))


def test_entries_that_are_zero_count_as_zero() -> None:
    data, rows, indptr = np.array([0.0, 2.0, -0.0]), np.array([0, 2, 1], np.int32), np.array([0, 2, 3], np.int32)
    mapper = BinMapper.fit_csc(data, rows, indptr, (4, 2), None, np.zeros(2, np.uint32), 255, 1)
    assert mapper.n_bins.tolist() == [2, 1]
    assert mapper.transform_csc(data, rows, indptr, (4, 2)).columns.tolist() == [[0, 0, 1, 0], [0, 0, 0, 0]]


def test_more_rows_than_the_sample() -> None:
    X = make_tall_table()
    X[np.random.default_rng(0).random(X.shape) < 0.7] = 0.0
    weights = np.ones(len(X))
    weights[::3] = 0.0
    S = take_apart(sparse.csc_array(X), "i4")
    levels = np.zeros(X.shape[1], np.uint32)
    for w in (None, weights):
        dense = BinMapper.fit(X, w, levels, 255, 2)
        mapper = BinMapper.fit_csc(*S, w, levels, 255, 2)
        assert_same_mapper(mapper, dense)
        assert mapper.transform_csc(*S, 2).columns.tobytes() == dense.transform(X, 2).columns.tobytes()


@pytest.mark.parametrize(
    ("rows", "indptr", "sentence"),
    [
        ([0, 4], [0, 1, 2], "strictly ascending"),
        ([0, -1], [0, 1, 2], "strictly ascending"),
        ([1, 1], [0, 2, 2], "strictly ascending"),
        ([2, 1], [0, 2, 2], "strictly ascending"),
        ([0, 1], [0, 2, 3], "within the data"),
        ([0, 1], [0, 2, 1], "not fall"),
        ([0, 1], [-1, 1, 2], "start at 0"),
        ([0, 1], [0, 2], "one entry more"),
        ([0], [0, 1, 1], "as long as data"),
    ],
)
def test_numbers_out_of_place_get_a_sentence(rows: list[int], indptr: list[int], sentence: str) -> None:
    parts = np.ones(2), np.array(rows, np.int32), np.array(indptr, np.int32), (4, 2)
    levels = np.zeros(2, np.uint32)
    with pytest.raises(ValueError, match=sentence):
        BinMapper.fit_csc(*parts, None, levels, 255, 1)
    mapper = BinMapper.fit(np.eye(2), None, levels, 255, 1)
    with pytest.raises(ValueError, match=sentence):
        mapper.transform_csc(*parts)


def test_misfit_types_get_a_sentence() -> None:
    rows, indptr, levels = np.array([0], np.int32), np.array([0, 1], np.int32), np.zeros(1, np.uint32)
    with pytest.raises(ValueError, match="data must be float32 or float64"):
        BinMapper.fit_csc(np.ones(1, np.int64), rows, indptr, (1, 1), None, levels, 255, 1)
    with pytest.raises(ValueError, match="both be int32 or both int64"):
        BinMapper.fit_csc(np.ones(1), rows, indptr.astype(np.int64), (1, 1), None, levels, 255, 1)
