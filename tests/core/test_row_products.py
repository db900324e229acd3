"""Products of rows: sums in the order of the columns, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee import _core
from committee._core import testing
from committee.engines.row_products import multiply_rows
from tests.interrupts import count_polls, interrupt_at_poll


@pytest.fixture(autouse=True)
def restore_instructions() -> Iterator[None]:
    yield
    testing.limit_instructions("avx512")


def multiply_one_by_one(rows: Any, others: Any) -> Any:
    """One column after the other, each product and each sum rounded."""
    sums = np.zeros((len(rows), len(others)))
    for column, other in zip(rows.T, others.T.astype(np.float64), strict=True):
        sums = sums + column[:, None] * other
    return sums


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 20), st.integers(1, 40), st.integers(0, 35), st.sampled_from([np.float32, np.float64]))
def test_bits_are_those_of_the_twin(n_rows: int, n_columns: int, n_others: int, dtype: type) -> None:
    rng = np.random.default_rng(n_rows + 100 * n_columns + 10_000 * n_others)
    rows, others = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(n_others, n_columns)).astype(dtype)
    wanted = multiply_one_by_one(rows, others)
    for most in ("plain", "avx2", "avx512"):
        testing.limit_instructions(most)
        np.testing.assert_array_equal(multiply_rows(rows, others), wanted)


def test_rows_of_several_blocks() -> None:
    rng = np.random.default_rng(0)
    rows, others = rng.normal(size=(1030, 9)), rng.normal(size=(19, 9))
    np.testing.assert_array_equal(multiply_rows(rows, others), multiply_one_by_one(rows, others))
    np.testing.assert_array_equal(multiply_rows(rows[777:778], others), multiply_rows(rows, others)[777:778])
    strided, columns = rows[::2], np.asfortranarray(others)
    np.testing.assert_array_equal(multiply_rows(strided, columns), multiply_rows(rows, others)[::2])


def test_numbers_that_are_none_stay_in_their_row() -> None:
    rows, others = np.ones((6, 3)), np.ones((5, 3))
    rows[1, 0], rows[4, 2] = np.nan, np.inf
    products = multiply_rows(rows, others)
    assert np.isnan(products[1]).all()
    assert np.isinf(products[4]).all()
    assert (products[[0, 2, 3, 5]] == 3.0).all()


def test_no_columns() -> None:
    np.testing.assert_array_equal(multiply_rows(np.zeros((3, 0)), np.zeros((2, 0))), np.zeros((3, 2)))


def test_other_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="equally many columns"):
        _core.multiply_rows(np.zeros((3, 2)), np.zeros((2, 3)))


def test_interrupts() -> None:
    rows, others = np.zeros((20_000, 8)), np.zeros((16, 8))

    def multiply() -> Any:
        return multiply_rows(rows, others)

    assert count_polls(multiply) > 10
    interrupt_at_poll(5, multiply)
