"""Presorted columns against NumPy's stable sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee._core import BinMapper, presort_columns, save_bins, sort_and_bin
from tests.core.test_binning import draw_table
from tests.naive import binning as naive


def assert_presorted(X: np.ndarray, n_jobs: int) -> None:
    presort = presort_columns(X, np.zeros(X.shape[1], np.uint32), n_jobs)
    assert presort.order.shape == presort.rank.shape == (X.shape[1], X.shape[0])
    for c in range(X.shape[1]):
        order, rank, distinct = naive.presort(X[:, c])
        np.testing.assert_array_equal(presort.order[c], order)
        np.testing.assert_array_equal(presort.rank[c], rank)
        np.testing.assert_array_equal(presort.values(c), distinct)


@settings(max_examples=150, deadline=None)
@given(draw_table(), st.sampled_from([1, 2]))
def test_small_columns_equal_the_twin(X: np.ndarray, n_jobs: int) -> None:
    assert_presorted(X, n_jobs)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [100, 4096, 4097, 30_000])
def test_long_columns_equal_the_twin(n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 9)).astype(dtype)
    X[:, 1] = rng.integers(-5, 5, n)
    X[:, 2] = 3.0
    X[rng.random(X.shape) < 0.1] = np.nan
    for A in (X, np.asfortranarray(X)):
        for n_jobs in (1, 2, 5):
            assert_presorted(A, n_jobs)


def test_categories_are_ranked_by_code() -> None:
    column = np.array([[2.0], [np.nan], [0.0], [7.0], [2.0]])
    presort = presort_columns(column, np.array([5], np.uint32))
    missing = naive.MISSING_CODE
    assert presort.order[0].tolist() == [2, 0, 4, 1, 3]
    assert presort.rank[0].tolist() == [2, missing, 0, missing, 2]
    assert presort.values(0).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_views_are_read_only() -> None:
    order = presort_columns(np.eye(2), np.zeros(2, np.uint32)).order
    with pytest.raises(ValueError, match="read-only"):
        order[0, 0] = 1


def test_misfits_get_a_sentence() -> None:
    with pytest.raises(ValueError, match="one entry a column"):
        presort_columns(np.eye(2), np.zeros(3, np.uint32))
    with pytest.raises(ValueError, match="fewer than 2\\^32 - 1 rows"):
        presort_columns(np.broadcast_to(np.float32(1), (2**33, 1)), np.zeros(1, np.uint32))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("n", "max_bins"), [(1, 255), (40, 5), (3000, 255), (3000, 20), (200_001, 255)])
def test_one_sort_gives_order_and_bins(n: int, max_bins: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 7)).astype(dtype)
    X[:, 1] = rng.integers(-5, 5, n)
    X[:, 2] = np.nan
    X[:, 3] = np.where(rng.random(n) < 0.5, 0.0, X[:, 3]) * rng.choice([-1.0, 1.0], n)
    X[rng.random(n) < 0.1, 4] = np.nan
    X[:, 5] = rng.integers(0, 6, n)
    X[:, 6] = rng.integers(0, 400, n)
    n_levels = np.array([0, 0, 0, 0, 0, 5, 400], np.uint32)
    for A in (X, np.asfortranarray(X)):
        for n_jobs in (1, 3):
            presort, table = sort_and_bin(A, n_levels, max_bins, n_jobs)
            other, mapper = presort_columns(A, n_levels, 1), BinMapper.fit(A, None, n_levels, max_bins, 1)
            bins = mapper.transform(A, 1)
            np.testing.assert_array_equal(presort.order, other.order)
            np.testing.assert_array_equal(presort.rank, other.rank)
            np.testing.assert_array_equal(table.columns, bins.columns)
            np.testing.assert_array_equal(table.wide_codes(6), bins.wide_codes(6))
            assert save_bins(table.mapper) == save_bins(mapper)
            for c in range(7):
                np.testing.assert_array_equal(presort.values(c), other.values(c))
