"""The search for the best split of a boosted tree is the plain maximum in double, whatever its first look says."""

from __future__ import annotations

import numpy as np
import pytest

from committee import _core
from tests.naive.boosting import find_numeric_split


def search(
    gradients: np.ndarray, hessians: np.ndarray, missing: bool, bits: int, **params: float
) -> tuple[float, int, bool] | None:
    """The engine's split of the same column, with `bits` for the hessian in a word."""
    engine = _core.BoostingParams()
    engine.min_samples_leaf = int(params["min_samples_leaf"])
    engine.reg_lambda, engine.gamma, engine.min_child_weight = params["reg_lambda"], params["gamma"], 0.0
    words = (gradients.astype(np.int64) << bits) + hessians
    units = (params["gradient_unit"], params["hessian_unit"])
    n_rows, largest = int(params["n_rows"]), int(params.get("largest", 0))
    found = _core.testing.find_numeric_split(words, missing, n_rows, units, engine, bits, largest)
    return None if found is None or found[0] <= 0.0 else found[:3]


def check(gradients: np.ndarray, hessians: np.ndarray, missing: bool, bits: int = 32, **params: float) -> None:
    known = {"gradient_unit": 2.0**-20, "hessian_unit": 2.0**-22, "reg_lambda": 0.0, "gamma": 0.0}
    known |= {"min_samples_leaf": 1, "n_rows": 1000} | params
    limits = (1, int(known.pop("n_rows")))
    largest = known.pop("largest", 0)
    want = find_numeric_split(gradients, hessians, missing, limits, **known)
    assert search(gradients, hessians, missing, bits, n_rows=limits[1], largest=largest, **known) == want


@pytest.mark.parametrize("seed", range(40))
def test_splits_are_the_plain_maximum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(25):
        n_bins = int(rng.integers(1, 256))
        missing = bool(rng.integers(2)) and n_bins > 1
        size = 2.0 ** rng.uniform(3, 29) / n_bins
        hessians = rng.integers(0, int(size) + 2, n_bins)
        hessians[rng.random(n_bins) < rng.choice([0.0, 0.5, 0.95])] = 0
        # Gradients that nearly follow the hessians: the gains are small differences of large numbers.
        follow, noise = rng.choice([0.0, 0.9, -0.99]), 10.0 ** rng.uniform(-6, 0)
        gradients = np.rint(follow * hessians + noise * size * rng.normal(size=n_bins)).astype(np.int64)
        gradients[hessians == 0] = 0
        if hessians.sum() == 0:
            continue
        params = {"reg_lambda": rng.choice([0.0, 1.0, 1e6]), "gamma": rng.choice([0.0, 1e-3])}
        params |= {"min_samples_leaf": int(rng.choice([1, 20])), "n_rows": int(rng.choice([30, 100_000]))}
        check(gradients, hessians, missing, **params)


def test_equal_and_nearly_equal_gains_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        # A symmetric histogram has every gain twice; one unit more somewhere decides.
        half = rng.integers(-1000, 1000, 100)
        gradients = np.concatenate([half, -half[::-1]])
        hessians = np.full(200, 2**20)
        check(gradients, hessians, missing=False)
        gradients[rng.integers(200)] += 1
        check(gradients, hessians, missing=False)


@pytest.mark.parametrize("seed", range(10))
def test_gradients_that_are_cut_for_the_first_look_are_compared_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_rows = 2**17
    for _ in range(20):
        hessians = rng.multinomial(n_rows, np.full(200, 1 / 200))
        largest = 2**24
        drift = rng.choice([0, largest - 1000])
        gradients = hessians * drift + rng.integers(-1000, 1000, 200) * hessians
        check(gradients, hessians, missing=False, bits=18, n_rows=n_rows, largest=largest)
