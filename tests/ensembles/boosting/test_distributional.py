"""DistributionalBoostingRegressor: the loss beside its twin, scores, quality, targets, weights, files, exports."""

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import committee
from committee import DistributionalBoostingRegressor, GradientBoostingRegressor
from committee.ensembles.boosting.distribution_loss import DistributionLoss
from committee.ensembles.boosting.distributions import PredictedDistribution
from committee.ensembles.boosting.settings import resolve_settings
from committee.exceptions import DataError, ParameterError
from committee.inspection import shap_values
from tests.naive import distributions as naive

NAMES = ["normal", "lognormal", "negative_binomial"]
every_name = pytest.mark.parametrize("name", NAMES)


def draw_rows(name: str, n: int = 600, seed: int = 0) -> tuple[Any, Any]:
    """Location by the first feature, spread by the second."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 4))
    if name == "negative_binomial":
        mean, dispersion = np.exp(1.5 + X[:, 0]), np.exp(-1.0 + X[:, 1])
        return X, rng.poisson(rng.gamma(1.0 / dispersion, dispersion * mean)).astype(float)
    y = 2.0 * X[:, 0] + np.exp(-1.0 + X[:, 1]) * rng.normal(size=n)
    return X, np.exp(y) if name == "lognormal" else y


def draw_scores(name: str, n: int = 50) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    scores = np.asfortranarray(np.column_stack([rng.normal(size=n), rng.normal(scale=0.7, size=n)]))
    y = {
        "normal": rng.normal(size=n),
        "lognormal": rng.lognormal(size=n),
        "negative_binomial": rng.integers(0, 12, size=n).astype(float),
    }[name]
    return y, scores


# --- the loss ----------------------------------------------------------------------------------------------------


@every_name
def test_the_loss_and_its_gradients_are_those_of_the_twin(name: Any) -> None:
    y, scores = draw_scores(name)
    bound = DistributionLoss(name).bind(y[:, None], None)
    losses = [naive.find_loss(name, v, *s) for v, s in zip(y, scores, strict=True)]
    assert bound.measure(scores) == pytest.approx(np.mean(losses), rel=1e-12)
    gradients, hessians = bound.find_gradients(scores)
    pairs = np.array([naive.differentiate(name, v, *s) for v, s in zip(y, scores, strict=True)])
    information = np.array([naive.find_information(name, *s) for s in scores])
    if name != "negative_binomial":
        # Natural gradients, to which trees are fitted by least squares.
        np.testing.assert_allclose(gradients, np.maximum(pairs / information, -1e9), rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(hessians, 1.0)
        return
    np.testing.assert_allclose(gradients, pairs, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(hessians[:, 0], information[:, 0], rtol=1e-5)
    # An upper bound, close for large means.
    assert (hessians[:, 1] >= information[:, 1] * (1.0 - 1e-5)).all()


def test_the_information_of_the_dispersion_is_close_for_large_means() -> None:
    scores = np.asfortranarray([[5.0, -0.5], [5.0, 0.5]])
    _, hessians = DistributionLoss("negative_binomial").bind(np.ones((2, 1)), None).find_gradients(scores)
    wanted = [naive.find_information("negative_binomial", *s)[1] for s in scores]
    np.testing.assert_allclose(hessians[:, 1], wanted, rtol=0.1)


def test_gamma_functions_are_those_of_scipy() -> None:
    # By the loss of one count y at score ln m = 0: its terms are ln Gamma and its derivatives.
    y = np.array([0.0, 1.0, 5.0, 40.0, 3e4])
    for log_a in (-12.0, -3.0, 0.0, 2.0, 6.0):
        r = np.exp(-log_a)
        scores = np.asfortranarray(np.column_stack([np.zeros(5), np.full(5, log_a)]))
        gradients, hessians = DistributionLoss("negative_binomial").bind(y[:, None], None).find_gradients(scores)
        by_r = special.digamma(y + r) - special.digamma(r) + np.log(r / (r + 1.0)) + 1.0 - (r + y) / (r + 1.0)
        np.testing.assert_allclose(gradients[:, 1], r * by_r, rtol=1e-6, atol=1e-9 * max(1.0, r))
        wanted = r * (r * special.polygamma(1, r) - 1.0) / (1.0 + r) ** 2
        np.testing.assert_allclose(hessians[:, 1], max(wanted, 1e-6), rtol=1e-6, atol=1e-9)


@every_name
def test_log_likelihoods_are_those_of_scipy(name: Any) -> None:
    """Those of targets that the distribution does not have, too."""
    y, scores = draw_scores(name, 400)
    known = PredictedDistribution.of(name, scores)
    y[:9] = [0.0, -0.0, -1.0, 0.5, 1.0, 1e6, np.inf, -np.inf, np.nan]
    frozen = known.to_scipy()
    with np.errstate(invalid="ignore", divide="ignore"):
        wanted = frozen.logpmf(y) if name == "negative_binomial" else frozen.logpdf(y)
    wanted[6] = -np.inf  # an infinite count: NaN by SciPy
    np.testing.assert_allclose(known.find_log_likelihood(y), wanted, rtol=1e-9, atol=1e-9)


@every_name
def test_rows_of_weight_zero_are_absent_and_threads_do_not_matter(name: Any) -> None:
    y, scores = draw_scores(name, 20_000)
    weights = np.random.default_rng(2).integers(0, 3, size=20_000).astype(float)
    y = np.where(weights > 0.0, y, np.nan)
    bound = DistributionLoss(name).bind(y[:, None], weights)
    present = weights > 0.0
    alone = DistributionLoss(name).bind(y[present, None], weights[present])
    own = np.asfortranarray(scores[present])
    assert bound.measure(scores, 1) == bound.measure(scores, 4) == alone.measure(own, 1)
    one, four = bound.find_gradients(scores, 1), bound.find_gradients(scores, 4)
    for a, b, c in zip(one, four, alone.find_gradients(own, 1), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a[present], c)
        assert not a[~present].any()


def test_a_row_far_away_is_bounded() -> None:
    scores = np.asfortranarray([[0.0, -300.0], [0.0, 0.0]])
    gradients, _ = DistributionLoss("normal").bind(np.array([[1e200], [1e3]]), None).find_gradients(scores)
    assert gradients[:, 1].tolist() == [-50.0, -50.0]


def test_small_steps_have_more_patience() -> None:
    small, other = DistributionalBoostingRegressor(), GradientBoostingRegressor()
    assert resolve_settings(small).n_iter_no_change == 33
    assert resolve_settings(other).n_iter_no_change == 20
    assert resolve_settings(DistributionalBoostingRegressor(n_iter_no_change=7)).n_iter_no_change == 7
    assert resolve_settings(DistributionalBoostingRegressor(n_estimators=10)).n_iter_no_change is None


# --- predicted distributions -------------------------------------------------------------------------------------


@every_name
def test_scores_of_a_distribution_are_those_of_the_twin(name: str) -> None:
    y, scores = draw_scores(name, 12)
    known = PredictedDistribution.of(name, scores)
    losses = [naive.find_loss(name, v, *s) for v, s in zip(y, scores, strict=True)]
    np.testing.assert_allclose(-known.find_log_likelihood(y), losses, rtol=1e-9)
    found = known.find_crps(y)
    for i in range(12):
        own = PredictedDistribution(name, known.location[i : i + 1], known.spread[i : i + 1]).to_scipy()
        if name == "negative_binomial":
            points = np.arange(0.0, max(float(own.ppf(1.0 - 1e-12)[0]), y[i]) + 50.0)
            wanted = naive.find_crps(own.cdf(points), points, y[i])
            assert found[i] == pytest.approx(wanted, rel=1e-6, abs=1e-8)
        else:
            points = np.unique([*own.ppf(np.linspace(0.0, 1.0, 200_003)[1:-1]), y[i]])
            wanted = naive.find_crps(own.cdf(points), points, y[i])
            assert found[i] == pytest.approx(wanted, rel=5e-3, abs=1e-4)
    drawn = known.draw_samples(4000, 0)
    assert drawn.shape == (12, 4000)
    errors = known.find_standard_deviation() / np.sqrt(4000.0)
    assert (np.abs(drawn.mean(axis=1) - known.find_mean()) < 6.0 * errors).all()
    np.testing.assert_allclose(known.find_probability(known.find_quantiles(0.3)) >= 0.3 - 1e-12, True)


def test_what_is_asked_of_a_distribution_is_checked() -> None:
    known = PredictedDistribution("normal", np.zeros(2), np.ones(2))
    with pytest.raises(DataError, match="coverage must be in"):
        known.find_interval(1.0)
    with pytest.raises(DataError, match="q must be a number in"):
        known.find_quantiles(1.5)
    with pytest.raises(DataError, match="a number for each of 2 rows"):
        known.find_crps([0.0])


# --- the estimator -----------------------------------------------------------------------------------------------


@every_name
def test_location_and_spread_are_learnt(name: Any) -> None:
    X, y = draw_rows(name, 4000)
    new, true = draw_rows(name, 2000, seed=1)
    model = DistributionalBoostingRegressor(name, random_state=0).fit(X, y)
    known = model.predict_distribution(new)
    constant = PredictedDistribution.of(name, np.tile(model._baseline, (2000, 1)))
    assert known.find_crps(true).mean() < 0.85 * constant.find_crps(true).mean()
    assert known.find_log_likelihood(true).mean() > constant.find_log_likelihood(true).mean() + 0.1
    assert np.corrcoef(np.log(known.spread), new[:, 1])[0, 1] > 0.7
    inside = (true >= model.predict_interval(new)[:, 0]) & (true <= model.predict_interval(new)[:, 1])
    assert 0.85 < inside.mean() < 0.97
    np.testing.assert_array_equal(model.predict(new), known.find_mean())
    np.testing.assert_array_equal(list(model.staged_predict(new))[-1], model.predict(new))


def test_the_spread_beats_that_of_one_constant() -> None:
    X, y = draw_rows("normal", 3000)
    new, true = draw_rows("normal", 3000, seed=1)
    means = GradientBoostingRegressor(random_state=0).fit(X, y)
    spread = np.sqrt(np.mean(np.square(y - means.predict(X))))
    constant = stats.norm(means.predict(new), spread).logpdf(true).mean()
    model = DistributionalBoostingRegressor(random_state=0).fit(X, y)
    assert model.predict_distribution(new).find_log_likelihood(true).mean() > constant + 0.1


@every_name
def test_a_model_file_and_an_export_predict_the_same(name: Any, tmp_path: Any) -> None:
    X, y = draw_rows(name)
    model = DistributionalBoostingRegressor(name, n_estimators=20, random_state=0).fit(X, y)
    committee.save(model, tmp_path / "m.committee")
    loaded = committee.load(tmp_path / "m.committee")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))
    predictor = model.predictor()
    np.testing.assert_array_equal(predictor.predict(X), model.predict(X))


def test_shapley_values_are_of_both_scores() -> None:
    X, y = draw_rows("normal")
    model = DistributionalBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    found = shap_values(model, X[:20])
    scores = model._raw_predict(X[:20])
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "bad", "words"),
    [
        ("lognormal", 0.0, "positive targets only; y has 0"),
        ("negative_binomial", 0.5, r"counts 0, 1, 2, .. as targets; y has 0.5"),
        ("negative_binomial", -1.0, "y has -1"),
    ],
)
def test_targets_that_the_distribution_does_not_have_are_refused(name: Any, bad: float, words: str) -> None:
    X, y = draw_rows(name)
    y[3] = bad
    with pytest.raises(DataError, match=words):
        DistributionalBoostingRegressor(name).fit(X, y)
    # A row of weight zero is absent.
    DistributionalBoostingRegressor(name, n_estimators=2).fit(X, y, sample_weight=np.arange(len(y)) != 3)


def test_other_wrong_input_is_refused() -> None:
    X, y = draw_rows("normal")
    with pytest.raises(DataError, match="all of y are zero"):
        DistributionalBoostingRegressor("negative_binomial").fit(X, np.zeros(len(y)))
    with pytest.raises(ParameterError, match="distribution"):
        DistributionalBoostingRegressor("poisson").fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(DataError):
        DistributionalBoostingRegressor().fit(X, np.column_stack([y, y]))


def test_a_constant_target_has_a_small_spread() -> None:
    X, _ = draw_rows("normal")
    model = DistributionalBoostingRegressor(n_estimators=5).fit(X, np.full(len(X), 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0)
    assert (model.predict_distribution(X).spread < 1e-3).all()


def test_early_stopping_uses_the_likelihood_or_a_scorer() -> None:
    X, y = draw_rows("normal")
    by_loss = DistributionalBoostingRegressor(random_state=0).fit(X, y)
    assert 5 < by_loss.n_estimators_ < 300
    longer = DistributionalBoostingRegressor(n_estimators=600, random_state=0).fit(X, y)
    assert longer.n_estimators_ == 600
    new, true = draw_rows("normal", seed=1)
    likelihoods = [model.predict_distribution(new).find_log_likelihood(true).mean() for model in (by_loss, longer)]
    assert likelihoods[0] > likelihoods[1] + 0.5
    by_error = DistributionalBoostingRegressor(
        n_estimators=300, early_stopping=True, scoring="neg_mean_squared_error", random_state=0
    ).fit(X, y)
    assert by_error.n_estimators_ <= 300
    assert by_error.validation_score_.max() > by_error.validation_score_[0]
