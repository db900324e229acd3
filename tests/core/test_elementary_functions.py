"""Exponentials and logarithms in Python: accurate, and the same for a number alone and among others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from committee import losses
from tests.naive import elementary

SPREAD = np.concatenate(
    [np.linspace(-40.0, 40.0, 2001), np.geomspace(1e-300, 700.0, 500), -np.geomspace(1e-300, 700.0, 500)]
)
CASES: dict[str, tuple[Callable[..., Any], Any]] = {
    "apply_exp": (np.exp, SPREAD),
    "apply_expm1": (np.expm1, SPREAD),
    "apply_log": (np.log, np.abs(SPREAD[SPREAD != 0.0])),
    "apply_log1p": (np.log1p, SPREAD[SPREAD > -0.99]),
    "apply_softplus": (lambda x: np.logaddexp(0.0, x), SPREAD),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_numpy_up_to_the_last_bits(name: str) -> None:
    twin, numbers = CASES[name]
    np.testing.assert_allclose(getattr(losses, name)(numbers), twin(numbers), rtol=1e-15, atol=0.0)


@pytest.mark.parametrize("name", CASES)
def test_a_number_alone_has_the_bits_that_it_has_among_others(name: str) -> None:
    function, numbers = getattr(losses, name), CASES[name][1][::97]
    # A number out of the usual range takes all of them another way.
    together = function(np.append(numbers, 1e305))[:-1]
    np.testing.assert_array_equal(together, [float(function(np.asarray(number))) for number in numbers])
    assert function(numbers.reshape(1, -1)).shape == (1, len(numbers))


def test_the_logarithm_of_the_gamma_function_is_that_of_scipy() -> None:
    numbers = np.concatenate([np.geomspace(1e-300, 1e300, 1001), np.linspace(0.01, 30.0, 3001)])
    wanted = special.gammaln(numbers)
    # Relative to its size, or to one: it is zero at 1 and at 2.
    np.testing.assert_allclose(losses.apply_log_gamma(numbers), wanted, rtol=2e-15, atol=2e-14)
    ends = np.array([0.0, np.inf, -1.5, -np.inf, np.nan])
    np.testing.assert_array_equal(losses.apply_log_gamma(ends), [np.inf, np.inf, np.nan, np.nan, np.nan])


def test_ends_of_the_range() -> None:
    ends = np.array([-np.inf, -745.0, 709.7, 710.0, np.inf, np.nan])
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(losses.apply_exp(ends), np.exp(ends), rtol=1e-15)
    np.testing.assert_array_equal(
        losses.apply_log(np.array([0.0, np.inf, -1.0, np.nan])), [-np.inf, np.inf, np.nan, np.nan]
    )
    np.testing.assert_allclose(losses.apply_log(np.array([5e-324, 1e308])), np.log([5e-324, 1e308]), rtol=1e-15)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(), max_size=20))
def test_bits_are_those_of_the_naive_twins(numbers: list[float]) -> None:
    given_numbers = np.array(numbers, dtype=np.float64)
    np.testing.assert_array_equal(losses.apply_log(given_numbers), [elementary.find_log(x) for x in numbers])
    np.testing.assert_array_equal(losses.apply_exp(given_numbers), [elementary.find_exponential(x) for x in numbers])


def test_bits_are_those_of_the_naive_twins_over_the_whole_range() -> None:
    rng = np.random.default_rng(0)
    exponents = rng.uniform(-750.0, 720.0, size=4001)
    values = np.concatenate([np.exp(np.clip(exponents, -745.0, 709.0)), [5e-324, 0.5, 1.0, 2.0]])
    np.testing.assert_array_equal(losses.apply_log(values), [elementary.find_log(x) for x in values.tolist()])
    found = losses.apply_exp(exponents)
    np.testing.assert_array_equal(found, [elementary.find_exponential(x) for x in exponents.tolist()])


def test_shapes_and_strides_are_kept() -> None:
    numbers = np.arange(1.0, 25.0).reshape(2, 3, 4)
    for given_numbers in (numbers, numbers[:, ::2], numbers.T, np.asfortranarray(numbers), numbers[:0]):
        expected = np.vectorize(elementary.find_log, otypes=[float])(given_numbers)
        np.testing.assert_array_equal(losses.apply_log(given_numbers), expected)
    assert losses.apply_exp(np.asarray(0.0)).shape == ()
