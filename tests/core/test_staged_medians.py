"""Weighted medians after each round, against sorting the members of every round anew."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee import _core
from committee.learners.formula_rows import find_medians
from tests.interrupts import count_polls
from tests.naive import adaboost as naive

HALF = 0.5 - 1e-12
# Weights whose sums are exact, so that any order of adding them gives the same.
exact_weights = st.integers(1, 64).map(lambda n: n / 16.0)
members = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3), st.just(float("nan")), st.just(float("inf")))


@given(st.data(), st.integers(1, 40), st.integers(0, 6))
@settings(max_examples=150)
def test_medians_are_those_of_sorted_members(data: st.DataObject, n_members: int, n_rows: int) -> None:
    rows = [data.draw(st.lists(members, min_size=n_members, max_size=n_members)) for _ in range(n_rows)]
    values = np.array(rows, dtype=np.float64).reshape(n_rows, n_members)
    weights = np.array(data.draw(st.lists(exact_weights, min_size=n_members, max_size=n_members)))
    found = _core.find_staged_medians(values, weights, HALF)
    assert found.shape == (n_members, n_rows)
    np.testing.assert_array_equal(found, naive.stage_medians(values, weights, HALF))


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_any_number_of_threads_and_weights_of_any_size(n_jobs: int) -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(300, 90)).round(1), 10.0 ** rng.uniform(-12.0, 12.0, 90)
    found = _core.find_staged_medians(values, weights, HALF, n_jobs)
    expected = [find_medians(values[:, : n + 1], weights[: n + 1], HALF) for n in range(90)]
    np.testing.assert_array_equal(found, expected)


def test_without_any_weight_the_least_member_is_first() -> None:
    found = _core.find_staged_medians(np.array([[2.0, 1.0, 3.0]]), np.zeros(3), HALF)
    np.testing.assert_array_equal(found[:, 0], [2.0, 1.0, 1.0])


def test_large_weights_leave_small_ones_alone() -> None:
    # A sum from which 1e300 was taken away again would have lost the ones.
    weights = np.array([1.0, 1.0, 1.0, 1e300])
    found = _core.find_staged_medians(np.array([[3.0, 1.0, 2.0, 0.0]]), weights, HALF)
    np.testing.assert_array_equal(found[:, 0], [3.0, 1.0, 2.0, 0.0])


def test_every_member_needs_a_weight() -> None:
    with pytest.raises(ValueError, match="one entry a member"):
        _core.find_staged_medians(np.zeros((2, 3)), np.ones(2), HALF)


def test_long_work_asks_for_interrupts() -> None:
    values = np.random.default_rng(0).normal(size=(20_000, 60))
    assert count_polls(lambda: _core.find_staged_medians(values, np.ones(60), HALF, 1)) > 0
