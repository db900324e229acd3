"""Every loss by its own light: derivatives by finite differences, the baseline as minimiser, weights as repetition."""

from __future__ import annotations

import pickle
from math import nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from committee import _core
from committee.losses import LossFunction, describe_loss, list_losses, list_value_losses
from tests.naive import boosting as naive

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
    gradients, _ = loss.find_gradients(y, scores)
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
    _, hessians = loss.find_gradients(y, scores)
    if name in KINKED:  # the second derivative is zero almost everywhere; one a row makes leaves of counts
        assert (hessians == 1.0).all()
        return
    step = 1e-6
    factor = 1.5 if name == "softmax" else 1.0  # K / (K - 1)
    for k in range(loss.n_scores):
        shift = np.zeros(loss.n_scores)
        shift[k] = step
        ahead, behind = loss.find_gradients(y, scores + shift)[0], loss.find_gradients(y, scores - shift)[0]
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
        gradients, hessians = loss.find_gradients(y, np.sign(scores) * factor)
        assert np.isfinite(gradients).all()
        assert np.isfinite(hessians).all()
        assert (hessians >= 0.0).all()
        assert np.isfinite(loss.find_means(np.sign(scores) * factor)).all()


def test_several_outputs_are_the_loss_of_each() -> None:
    rng = np.random.default_rng(7)
    y, scores = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    both = LossFunction("squared_error", nan, 2)
    one = LossFunction("squared_error")
    gradients, _ = both.find_gradients(y, scores)
    for k in range(2):
        np.testing.assert_array_equal(gradients[:, k], one.find_gradients(y[:, k], scores[:, k : k + 1])[0][:, 0])
    np.testing.assert_allclose(both.find_values(y, scores), 0.5 * ((y - scores) ** 2).sum(axis=1))
    np.testing.assert_allclose(both.find_baseline(y), y.mean(axis=0), rtol=1e-12)


def test_exponentials_are_those_of_numpy() -> None:
    scores = np.concatenate([np.linspace(-700, 700, 4001), np.linspace(-1, 1, 1001)])[:, None]
    means = LossFunction("poisson").find_means(scores)
    np.testing.assert_allclose(means, np.exp(scores), rtol=4e-16)


def test_slopes_of_classes_are_those_of_numpy_to_ten_digits() -> None:
    scores = np.concatenate([np.linspace(-700, 700, 4001), np.linspace(-3, 3, 1006), [-1e4, 1e4]])[:, None]
    y = np.random.default_rng(0).integers(0, 2, scores.shape).astype(float)
    with np.errstate(over="ignore"):
        shares = 1.0 / (1.0 + np.exp(-scores))
    gradients, hessians = LossFunction("logistic").find_gradients(y, scores)
    np.testing.assert_allclose(gradients, shares - y, rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(hessians, shares * (1.0 - shares), rtol=1e-10, atol=1e-15)

    scores = np.random.default_rng(1).normal(scale=12.0, size=(1003, 4))
    scores[-1] = [0.0, -1e4, 1e4, 2.0]
    labels = np.random.default_rng(2).integers(0, 4, len(scores)).astype(float)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    softmax = LossFunction("softmax", nan, 4)
    gradients, hessians = softmax.find_gradients(labels, scores)
    np.testing.assert_allclose(gradients, shares - np.eye(4)[labels.astype(int)], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(hessians, 4.0 / 3.0 * shares * (1.0 - shares), rtol=1e-9, atol=1e-15)
    # Whether a row is one of eight or by itself.
    for row in (0, 5, 1000, 1002):
        alone = softmax.find_gradients(labels[row : row + 1], scores[row : row + 1])
        np.testing.assert_array_equal(alone[0][0], gradients[row])
        np.testing.assert_array_equal(alone[1][0], hessians[row])


def test_a_loss_survives_pickling() -> None:
    loss = LossFunction("quantile", 0.2)
    loss.find_means(np.zeros((1, 1)))
    assert pickle.loads(pickle.dumps(loss)) == loss


def draw_values(n_rows: int, n_distinct: int, order: str, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n_rows) if n_distinct == 0 else rng.integers(0, n_distinct, n_rows) / 4.0
    return {"none": values, "ascending": np.sort(values), "descending": np.sort(values)[::-1].copy()}[order]


@settings(max_examples=60, deadline=None)
@given(
    n_rows=st.sampled_from([1, 2, 3, 127, 129, 1000, 5000]),
    n_distinct=st.sampled_from([0, 1, 2, 7, 400]),
    order=st.sampled_from(["none", "ascending", "descending"]),
    level=st.sampled_from([0.001, 0.1, 0.25, 0.5, 0.9, 0.999]),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
def test_quantiles_are_exact(n_rows: int, n_distinct: int, order: str, level: float, weighted: bool, seed: int) -> None:
    values = draw_values(n_rows, n_distinct, order, seed)
    weights = np.random.default_rng(seed).integers(1, 30, n_rows).astype(float)
    found = LossFunction("quantile", level).find_baseline(values, weights if weighted else None)
    assert found[0] == naive.find_quantile(values, weights if weighted else np.ones(n_rows), level)


def test_a_misleading_sample_changes_no_quantile() -> None:
    # Every 16th value, which is what a sample of 65,536 values would see, lies far from all others.
    values = np.random.default_rng(0).normal(size=65_536)
    values[::16] += 1e6
    for level in (0.05, 0.5, 0.95):
        expected = naive.find_quantile(values, np.ones(len(values)), level)
        assert LossFunction("quantile", level).find_baseline(values)[0] == expected
        heavy = np.where(values > 1e5, 1.0, 9.0)
        assert LossFunction("quantile", level).find_baseline(values, heavy)[0] == naive.find_quantile(
            values, heavy, level
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_huber_moves_its_turn_and_its_leaves_as_the_textbook_does(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    y = rng.standard_t(2, size=3000)
    X = np.where(np.arange(3000) < 1200, 0.0, 1.0).reshape(-1, 1)
    y[:1200] += 3.0
    weights = rng.integers(1, 5, 3000).astype(float) if weighted else None
    table = _core.BinMapper.fit(X, weights, np.zeros(1, dtype=np.uint32), 255, 1).transform(X, 1)
    params = _core.BoostingParams()
    params.n_jobs, params.max_leaf_nodes, params.learning_rate = 1, 2, 1.0
    state = _core.Boosting(table, y, weights, "huber", 0.8, 1, params)
    state.add_constant(state.find_baseline())
    residuals = y - state.scores[:, 0]
    counts = np.ones(3000) if weights is None else weights
    state.boost(1)
    assert state.delta == naive.find_quantile(np.abs(residuals), counts, 0.8)
    for side in (X[:, 0] == 0.0, X[:, 0] == 1.0):
        step = naive.find_huber_step(residuals[side], counts[side], state.delta)
        np.testing.assert_allclose(y[side] - state.scores[side, 0], residuals[side] - step, rtol=0, atol=1e-12)


def test_every_loss_has_traits() -> None:
    for name in list_losses():
        assert describe_loss(name) == LossFunction(name).traits
    classes = [name for name in list_losses() if describe_loss(name).target_range == "classes"]
    assert list_value_losses() == [name for name in list_losses() if name not in classes]


@pytest.mark.parametrize("name", list_value_losses())
def test_the_link_is_the_one_that_scores_are_turned_back_by(name: str) -> None:
    scores = np.linspace(-2.0, 2.0, 5)[:, None]
    inverse = {"identity": scores, "log": np.exp(scores)}[describe_loss(name).link]
    np.testing.assert_allclose(LossFunction(name).find_means(scores), inverse, rtol=1e-12)


@pytest.mark.parametrize("name", list_losses())
def test_properties_of_a_loss_agree_with_what_it_computes(name: str) -> None:
    info = next(info for info in _core.describe_losses() if info.name == name)
    n_scores = 3 if info.target_range == "classes" else 1
    loss = LossFunction(info.name, n_scores=n_scores)
    scores = np.random.default_rng(0).normal(size=(50, n_scores))
    inverse = {
        "identity": lambda f: f,
        "log": np.exp,
        "logit": lambda f: 1.0 / (1.0 + np.exp(-f)),
        "half_logit": lambda f: 1.0 / (1.0 + np.exp(-2.0 * f)),
        "softmax": lambda f: np.exp(f) / np.exp(f).sum(axis=1, keepdims=True),
    }
    np.testing.assert_allclose(loss.find_means(scores), inverse[info.link](scores), rtol=1e-12)
    lower, upper = info.mean_bounds
    assert lower < upper
    if info.target_range in ("non_negative", "binary"):  # all rows on one side of the range
        baseline = loss.find_baseline(np.zeros(4))
        np.testing.assert_allclose(loss.find_means(baseline[None, :])[0], lower)


def test_losses_are_listed_by_the_names_of_their_descriptions() -> None:
    assert _core.list_losses() == [info.name for info in _core.describe_losses()]
