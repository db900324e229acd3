"""Sums over the lanes of words of class weights: the plain form, the machine's own, and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from committee import _core

N_BOUNDARIES, N_CLASSES, STRIDE, MASK = 4, 8, 16, 5


def share_weight(rng: np.random.Generator, n_cases: int, most: int) -> NDArray[np.int64]:
    """Weights (case, boundary, class) that add up to ``most`` at most in a case, some of them in one class alone."""
    shares = rng.dirichlet(np.full(N_BOUNDARIES * N_CLASSES, 0.3), size=n_cases)
    weights = np.floor(shares * rng.integers(0, most + 1, size=(n_cases, 1))).astype(np.int64)
    weights[::5] = 0
    weights[::5, rng.integers(N_BOUNDARIES * N_CLASSES)] = most
    return weights.reshape(n_cases, N_BOUNDARIES, N_CLASSES)


def sum_four(lefts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Squares left and right of each boundary and the weight on its left: (case, 12)."""
    rights = lefts.sum(axis=1, keepdims=True) - lefts
    sums = [(lefts**2).sum(axis=2), (rights**2).sum(axis=2), lefts.sum(axis=2)]
    return np.concatenate(sums, axis=1).astype(np.float32)


def add_unset(rows: NDArray[np.int64], records: NDArray[np.uint8], n_rows: int) -> NDArray[np.int64]:
    unset = (records[:, :n_rows, 0] & MASK) == 0
    return (rows[:, :n_rows] * unset[:, :, None]).sum(axis=1)


@pytest.mark.parametrize("form", ["plain", "native"])
@given(seed=st.integers(0, 2**32), n_cases=st.integers(1, 30))
@settings(max_examples=30)
def test_sums_over_lanes_are_those_of_numpy(form: str, seed: int, n_cases: int) -> None:
    rng = np.random.default_rng(seed)
    light, heavy = share_weight(rng, n_cases, 255), share_weight(rng, n_cases, 65535)
    words = light.astype(np.uint8).reshape(-1).view(np.uint64)
    quads = rng.integers(0, 4, size=(n_cases, 4)).astype(np.float32)  # so that some are equal
    records = rng.integers(0, 256, size=(n_cases, N_BOUNDARIES, STRIDE), dtype=np.uint8)
    asked: Any = (words, heavy.astype(np.uint16).reshape(-1), quads.reshape(-1), records.reshape(-1))
    narrowed, unset, widened, unset_wide, scalars, sums = _core.testing.evaluate_packed_counts(form, *asked)

    np.testing.assert_array_equal(narrowed, words)
    np.testing.assert_array_equal(widened, light.reshape(-1))
    both = np.stack([add_unset(light, records, n) for n in (3, 4)], axis=1)
    np.testing.assert_array_equal(unset.view(np.uint8), both.reshape(-1))
    np.testing.assert_array_equal(unset_wide, both.reshape(-1))
    others = np.roll(quads, -1, axis=0)
    found = scalars.reshape(n_cases, -1)
    expected = np.stack(
        [heavy.sum(axis=2), (heavy**2).sum(axis=2), heavy.max(axis=2), ~heavy.any(axis=2)], axis=2, dtype=np.int64
    )
    np.testing.assert_array_equal(found[:, :-1], expected.reshape(n_cases, -1))
    np.testing.assert_array_equal(found[:, -1], ((quads >= others[:, :1]) * [1, 2, 4, 8]).sum(axis=1))
    np.testing.assert_array_equal(
        sums.reshape(n_cases, -1),
        np.hstack([sum_four(light), sum_four(heavy), np.maximum(quads, others), quads.max(axis=1, keepdims=True)]),
    )


def test_cases_that_do_not_fit_are_refused() -> None:
    words, wides = np.zeros(4, dtype=np.uint64), np.zeros(32, dtype=np.uint16)
    quads, records = np.zeros(4, dtype=np.float32), np.zeros(64, dtype=np.uint8)
    with pytest.raises(ValueError, match="a case"):
        _core.testing.evaluate_packed_counts("plain", words, wides[:-1], quads, records)
    with pytest.raises(ValueError, match="'plain' or 'native'"):
        _core.testing.evaluate_packed_counts("other", words, wides, quads, records)
