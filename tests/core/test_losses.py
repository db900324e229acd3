"""Every loss by its own light: derivatives by finite differences, the baseline as minimiser, weights as repetition."""

from __future__ import annotations

import pickle
from math import nan

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.losses import LossFunction, list_losses

PARAMETERS = {"quantile": 0.3, "huber": 0.9, "tweedie": 1.3}
KINKED = {"quantile", "absolute_error", "huber"}


def make(name: str, n_scores: int = 1) -> LossFunction:
    return LossFunction(name, PARAMETERS.get(name, nan), 3 if name == "softmax" else n_scores)


def draw(name: str, n_rows: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    if name == "softmax":
        return rng.integers(0, 3, n_rows).astype(float), rng.normal(size=(n_rows, 3)) * 2
    y = {
        "logistic": rng.integers(0, 2, n_rows).astype(float),
        "exponential": rng.integers(0, 2, n_rows).astype(float),
        "poisson": rng.poisson(2.0, n_rows).astype(float),
        "gamma": rng.gamma(2.0, size=n_rows) + 0.1,
        "tweedie": rng.poisson(1.0, n_rows) * rng.gamma(2.0, size=n_rows),
    }.get(name, rng.normal(size=n_rows) * 3)
    return y, rng.normal(size=(n_rows, 1)) * 2


every_loss = pytest.mark.parametrize("name", list_losses())


def test_all_are_there() -> None:
    assert set(list_losses()) >= {"squared_error", "logistic", "softmax", "poisson", "gamma", "tweedie", "huber"}
    with pytest.raises(ValueError, match="unknown loss 'hinge'"):
        LossFunction("hinge").find_means(np.zeros((1, 1)))


@every_loss
def test_the_gradient_is_the_slope_of_the_value(name: str) -> None:
    loss = make(name)
    y, scores = draw(name, 300, 0)
    gradients, _ = loss.find_slopes(y, scores)
    step = 1e-6
    for k in range(loss.n_scores):
        shift = np.zeros(loss.n_scores)
        shift[k] = step
        ahead, behind = loss.find_values(y, scores + shift), loss.find_values(y, scores - shift)
        np.testing.assert_allclose(gradients[:, k], (ahead - behind) / (2 * step), rtol=2e-6, atol=2e-7)


@every_loss
def test_the_hessian_is_the_slope_of_the_gradient(name: str) -> None:
    loss = make(name)
    y, scores = draw(name, 300, 1)
    _, hessians = loss.find_slopes(y, scores)
    if name in KINKED:  # the second derivative is zero almost everywhere; one a row makes leaves of counts
        assert (hessians == 1.0).all()
        return
    step = 1e-6
    factor = 1.5 if name == "softmax" else 1.0  # K / (K - 1)
    for k in range(loss.n_scores):
        shift = np.zeros(loss.n_scores)
        shift[k] = step
        ahead, behind = loss.find_slopes(y, scores + shift)[0], loss.find_slopes(y, scores - shift)[0]
        slope = factor * (ahead[:, k] - behind[:, k]) / (2 * step)
        np.testing.assert_allclose(hessians[:, k], slope, rtol=1e-6, atol=1e-7)


@every_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_no_constant_is_better_than_the_baseline(name: str, weighted: bool) -> None:
    loss = make(name)
    y, _ = draw(name, 401, 2)
    weights = np.random.default_rng(3).integers(0, 4, len(y)).astype(float) if weighted else None

    def total(constant: NDArray[np.float64]) -> float:
        values = loss.find_values(y, np.tile(constant, (len(y), 1)))
        return float(np.average(values, weights=weights))

    if name == "huber":  # it starts from the median, since its delta is not known before the first residuals
        assert loss.find_baseline(y, weights) == make("absolute_error").find_baseline(y, weights)
        return
    baseline = loss.find_baseline(y, weights)
    least = total(baseline)
    for k in range(loss.n_scores):
        for step in (-0.1, -0.001, 0.001, 0.1):
            moved = baseline.copy()
            moved[k] += step
            assert total(moved) >= least - 1e-12


@every_loss
def test_a_weight_is_repetition(name: str) -> None:
    loss = make(name)
    y, _ = draw(name, 200, 4)
    weights = np.random.default_rng(5).integers(0, 4, len(y))
    repeated = loss.find_baseline(np.repeat(y, weights))
    np.testing.assert_allclose(loss.find_baseline(y, weights.astype(float)), repeated, rtol=1e-12, atol=1e-12)


@every_loss
def test_far_scores_give_numbers(name: str) -> None:
    loss = make(name)
    y, scores = draw(name, 50, 6)
    for factor in (-300.0, 300.0):
        gradients, hessians = loss.find_slopes(y, np.sign(scores) * factor)
        assert np.isfinite(gradients).all()
        assert np.isfinite(hessians).all()
        assert (hessians >= 0.0).all()
        assert np.isfinite(loss.find_means(np.sign(scores) * factor)).all()


def test_several_outputs_are_the_loss_of_each() -> None:
    rng = np.random.default_rng(7)
    y, scores = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    both = LossFunction("squared_error", nan, 2)
    one = LossFunction("squared_error")
    gradients, _ = both.find_slopes(y, scores)
    for k in range(2):
        np.testing.assert_array_equal(gradients[:, k], one.find_slopes(y[:, k], scores[:, k : k + 1])[0][:, 0])
    np.testing.assert_allclose(both.find_values(y, scores), 0.5 * ((y - scores) ** 2).sum(axis=1))
    np.testing.assert_allclose(both.find_baseline(y), y.mean(axis=0), rtol=1e-12)


def test_exponentials_are_those_of_numpy() -> None:
    scores = np.concatenate([np.linspace(-700, 700, 4001), np.linspace(-1, 1, 1001)])[:, None]
    means = LossFunction("poisson").find_means(scores)
    np.testing.assert_allclose(means, np.exp(scores), rtol=4e-16)


def test_a_loss_survives_pickling() -> None:
    loss = LossFunction("quantile", 0.2)
    loss.find_means(np.zeros((1, 1)))
    assert pickle.loads(pickle.dumps(loss)) == loss
