"""A table that is kept as entries has the bins of its bytes, and everything that is grown on it is the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from committee._core import BinMapper, BinnedMatrix, select_columns
from tests.core.test_binning import draw_table
from tests.core.test_binning_sparse import take_apart


def bin_both_ways(X: np.ndarray, *, max_bins: int = 255, n_jobs: int = 1) -> tuple[BinnedMatrix, BinnedMatrix]:
    parts = take_apart(sparse.csc_array(X), "i4")
    mapper = BinMapper.fit_csc(*parts, None, np.zeros(X.shape[1], np.uint32), max_bins, 1)
    return mapper.transform(X, 1), mapper.transform_csc(*parts, n_jobs, 0)


def read_columns(bins: BinnedMatrix) -> np.ndarray:
    return np.stack([bins.column(c) for c in range(bins.n_cols)])


@settings(max_examples=200, deadline=None)
@given(draw_table(), st.integers(2, 8), st.sampled_from([1, 3]))
def test_entries_hold_the_bins_of_the_bytes(X: np.ndarray, max_bins: int, n_jobs: int) -> None:
    dense, listed = bin_both_ways(X, max_bins=max_bins, n_jobs=n_jobs)
    assert listed.has_entries
    assert not dense.has_entries
    np.testing.assert_array_equal(read_columns(listed), dense.columns)


def test_filled_columns_keep_their_bytes() -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((640, 20))
    X[:, 3] = rng.normal(size=640)
    X[::100, 7] = -1.0
    dense, listed = bin_both_ways(X)
    assert 640 <= listed.nbytes < 2000  # one column of bytes, and little else
    np.testing.assert_array_equal(read_columns(listed), dense.columns)


def test_columns_can_be_selected() -> None:
    rng = np.random.default_rng(1)
    X = np.where(rng.random((100, 12)) < 0.05, rng.normal(size=(100, 12)), 0.0)
    X[:, 4] = rng.normal(size=100)
    dense, listed = bin_both_ways(X)
    chosen = np.array([4, 11, 0, 4], np.uint32)
    selected = select_columns(listed, chosen)
    assert selected.has_entries
    np.testing.assert_array_equal(read_columns(selected), dense.columns[chosen])


def test_a_table_is_kept_as_entries_where_it_is_large_and_sparse() -> None:
    def is_listed(n_rows: int, n_columns: int, n_entries: int) -> bool:
        rng = np.random.default_rng(0)
        at = rng.choice(n_rows * n_columns, n_entries, replace=False)
        S = sparse.csc_array((np.ones(n_entries), (at // n_columns, at % n_columns)), shape=(n_rows, n_columns))
        parts = take_apart(S, "i4")
        mapper = BinMapper.fit_csc(*parts, None, np.zeros(n_columns, np.uint32), 255, 1)
        return mapper.transform_csc(*parts, 1).has_entries

    assert is_listed(4096, 4096, 1000)
    assert not is_listed(4096, 4095, 1000)
    assert not is_listed(1 << 18, 64, 1000)


def test_categories_are_never_kept_as_entries() -> None:
    parts = take_apart(sparse.csc_array(np.eye(4)), "i4")
    mapper = BinMapper.fit_csc(*parts, None, np.array([0, 2, 0, 0], np.uint32), 255, 1)
    assert not mapper.transform_csc(*parts, 1, 0).has_entries


def test_bytes_of_entries_are_not_shown() -> None:
    _, listed = bin_both_ways(np.eye(4))
    with pytest.raises(ValueError, match="kept as entries"):
        _ = listed.columns
    with pytest.raises(ValueError, match="kept as entries"):
        listed.record(0)
    assert len(listed.wide_codes(0)) == 0
