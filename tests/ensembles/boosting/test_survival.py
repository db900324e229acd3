"""Boosting of censored times: likelihoods and their derivatives, curves, early stopping, XGBoost's values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import committee
from committee import GradientBoostingSurvivalAnalysis, make_survival_target
from committee.ensembles.boosting.survival_losses import AftLoss, CensoredRows, CoxLoss, FailureTimes, HazardLoss
from committee.exceptions import CommitteeError
from committee.scoring import estimate_survival, integrated_brier_score

LOSSES: dict[str, dict[str, Any]] = {
    "cox": {"loss": "cox"},
    "efron": {"loss": "cox", "ties": "efron"},
    "normal": {"loss": "aft"},
    "logistic": {"loss": "aft", "distribution": "logistic"},
    "extreme": {"loss": "aft", "distribution": "extreme"},
    "hazard": {"loss": "hazard", "n_intervals": 8},
}
every_loss = pytest.mark.parametrize("params", LOSSES.values(), ids=LOSSES)


def draw_rows(seed: int = 0, n: int = 600, digits: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    time, censoring = rng.exponential(np.exp(-1.5 * X[:, 0])), rng.exponential(1.5, size=n)
    return X, make_survival_target(time <= censoring, np.minimum(time, censoring).round(digits) + 0.01)


def draw_target(digits: int = 1, n: int = 40) -> tuple[Any, Any]:
    _, y = draw_rows(n=n, digits=digits)
    return np.column_stack([y["event"], y["time"]]).astype(float), np.random.default_rng(1).normal(size=(n, 1))


def make_losses() -> dict[str, Any]:
    aft = {name: AftLoss(FailureTimes(name, 0.7)) for name in ("normal", "logistic", "extreme")}
    return {"cox": CoxLoss("breslow"), **aft, "hazard": HazardLoss(np.array([0.2, 0.5, 1.0, 5.0]))}


@pytest.mark.parametrize("name", make_losses())
def test_derivatives_are_those_of_the_loss(name: str) -> None:
    loss, (target, scores) = make_losses()[name], draw_target()
    scores = np.repeat(scores, loss.n_scores, axis=1)
    bound: Any = loss.bind(target, None)
    gradients, hessians = bound.find_gradients(scores, 1)
    step, total = 1e-4, len(target)
    for row in range(0, total, 7):
        for k in range(loss.n_scores):
            moved = [scores.copy() for _ in range(2)]
            moved[0][row, k] += step
            moved[1][row, k] -= step
            up, down, at = (total * bound.measure(own, 1) for own in (*moved, scores))
            assert gradients[row, k] == pytest.approx((up - down) / (2.0 * step), rel=1e-4, abs=1e-6)
            assert hessians[row, k] == pytest.approx((up - 2.0 * at + down) / step**2, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_cox_is_the_partial_likelihood_over_risk_sets(ties: str) -> None:
    target, scores = draw_target(digits=1)
    event, time = target[:, 0] > 0, target[:, 1]

    def likelihood(own: Any) -> float:
        total, hazards = 0.0, np.exp(own)
        for t in np.unique(time[event]):
            died = np.flatnonzero(event & (time == t))
            for number, row in enumerate(died):
                left_out = number / len(died) * hazards[died].sum() if ties == "efron" else 0.0
                total += np.log(hazards[time >= t].sum() - left_out) - own[row]
        return total

    bound: Any = CoxLoss(ties).bind(target, None)
    gradients, _ = bound.find_gradients(scores, 1)
    for row in range(0, len(time), 5):
        up, down = scores[:, 0].copy(), scores[:, 0].copy()
        up[row] += 1e-5
        down[row] -= 1e-5
        assert gradients[row, 0] == pytest.approx((likelihood(up) - likelihood(down)) / 2e-5, abs=1e-6)
    if ties == "breslow":
        assert bound.measure(scores, 1) == pytest.approx(likelihood(scores[:, 0]) / len(time), rel=1e-10)


def test_weights_of_cox_are_repetitions() -> None:
    target, scores = draw_target()
    weights = np.random.default_rng(2).integers(0, 4, size=len(target))
    copies = np.repeat(np.arange(len(target)), weights)
    weighted: Any = CoxLoss("breslow").bind(target, weights.astype(float))
    repeated: Any = CoxLoss("breslow").bind(target[copies], None)
    own, others = weighted.find_gradients(scores, 1), repeated.find_gradients(scores[copies], 1)
    for mine, other in zip(own, others, strict=True):
        np.testing.assert_allclose(mine[copies], other, rtol=1e-9, atol=1e-12)


def test_hazards_are_logistic_models_of_expanded_rows() -> None:
    target, _ = draw_target(n=60)
    loss = HazardLoss(np.array([0.2, 0.5, 1.0]))
    prepared = loss.prepare(CensoredRows.of(target, None))
    at_risk, died = prepared.at_risk, prepared.died
    baseline = loss.find_baseline(target, None)
    rows, intervals = np.nonzero(at_risk)
    design = np.eye(3)[intervals]
    fitted = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10).fit(design, died[rows, intervals])
    np.testing.assert_allclose(baseline, fitted.coef_[0], rtol=1e-3, atol=1e-3)
    bound: Any = loss.bind(target, None)
    expanded = -fitted.predict_log_proba(design)[np.arange(len(rows)), died[rows, intervals].astype(int)].sum()
    assert len(target) * bound.measure(np.tile(baseline, (60, 1)), 1) == pytest.approx(expanded, rel=1e-4)


@every_loss
def test_models_learn_and_their_curves_are_calibrated(params: Any) -> None:
    (X, y), (new_X, new_y) = draw_rows(n=1500), draw_rows(seed=1, n=1500)
    model = GradientBoostingSurvivalAnalysis(n_estimators=60, **params).fit(X, y)
    assert model.score(new_X, new_y) > 0.72
    times = np.quantile(new_y["time"], [0.1, 0.3, 0.5, 0.7])
    survival = model.predict_survival_function(new_X, times)
    known = estimate_survival(new_y)(times)
    np.testing.assert_allclose(survival.mean(axis=0), known, atol=0.06)
    constant = integrated_brier_score(y, new_y, np.tile(known, (1500, 1)), times)
    assert integrated_brier_score(y, new_y, survival, times) < constant - 0.03
    whole = model.predict_survival_function(X)
    assert whole.shape == (1500, len(model.event_times_))
    assert (np.diff(whole, axis=1) <= 1e-12).all()
    hazards = model.predict_cumulative_hazard_function(X)
    np.testing.assert_allclose(np.exp(-hazards), whole)


def test_without_features_cox_gives_breslows_estimate() -> None:
    _, y = draw_rows(n=200, digits=1)
    model = GradientBoostingSurvivalAnalysis("cox", n_estimators=2).fit(np.zeros((200, 1)), y)
    hazards = model.predict_cumulative_hazard_function([[0.0]])[0]
    at_risk = np.array([(y["time"] >= t).sum() for t in model.event_times_])
    deaths = np.array([(y["event"] & (y["time"] == t)).sum() for t in model.event_times_])
    np.testing.assert_allclose(hazards, np.cumsum(deaths / at_risk), rtol=1e-9)


@pytest.mark.parametrize("distribution", ["normal", "logistic", "extreme"])
def test_failure_times_have_the_likelihood_of_xgboost(distribution: str) -> None:
    xgboost = pytest.importorskip("xgboost")
    target, scores = draw_target(n=100)
    time, event = target[:, 1], target[:, 0] > 0
    table = xgboost.DMatrix(np.zeros((100, 1)), base_margin=-scores[:, 0])
    table.set_float_info("label_lower_bound", time)
    table.set_float_info("label_upper_bound", np.where(event, time, np.inf))
    params = {"objective": "survival:aft", "aft_loss_distribution": distribution, "aft_loss_distribution_scale": 0.7}
    own: Any = AftLoss(FailureTimes(distribution, 0.7)).bind(target, None)
    # A tree of one leaf without regularisation: minus the sum of gradients over that of hessians.
    leaf = {"max_depth": 1, "eta": 1.0, "reg_lambda": 0.0, "min_child_weight": 0.0, "base_score": 1.0}
    booster = xgboost.train({**params, **leaf}, table, num_boost_round=1)
    moved = float((booster.predict(table, output_margin=True) + scores[:, 0])[0])
    gradients, hessians = own.find_gradients(scores, 1)
    assert -moved == pytest.approx(-gradients.sum() / hessians.sum(), rel=1e-3)


@pytest.mark.parametrize("scoring", ["loss", "concordance"])
@every_loss
def test_early_stopping_by_likelihood_or_concordance(params: Any, scoring: str) -> None:
    X, y = draw_rows(n=400)
    model = GradientBoostingSurvivalAnalysis(
        n_estimators=200, learning_rate=0.5, early_stopping=True, scoring=scoring, random_state=0, **params
    ).fit(X, y)
    assert 1 <= model.n_iter_ < 200
    assert len(model.validation_score_) == model.n_iter_ + 1
    assert model.validation_score_.max() > model.validation_score_[0]


@every_loss
def test_model_files_threads_and_warm_starts_change_nothing(params: Any, tmp_path: Any) -> None:
    X, y = draw_rows()
    model = GradientBoostingSurvivalAnalysis(n_estimators=10, n_jobs=1, **params).fit(X, y)
    committee.save(model, tmp_path / "model")
    other = GradientBoostingSurvivalAnalysis(n_estimators=10, n_jobs=2, **params).fit(X, y)
    for same in (committee.load(tmp_path / "model"), other):
        np.testing.assert_array_equal(same.predict(X), model.predict(X))
        np.testing.assert_array_equal(same.predict_survival_function(X), model.predict_survival_function(X))
    longer = GradientBoostingSurvivalAnalysis(n_estimators=4, warm_start=True, n_jobs=1, **params).fit(X, y)
    longer.set_params(n_estimators=10).fit(X, y)
    np.testing.assert_allclose(longer.predict(X), model.predict(X), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X[3:4]), model.predict(X)[3:4])


def test_what_cannot_be_gets_a_sentence() -> None:
    X, y = draw_rows(n=50)
    zero = make_survival_target(y["event"], np.append(0.0, y["time"][1:]))
    with pytest.raises(CommitteeError, match="must be positive"):
        GradientBoostingSurvivalAnalysis("aft").fit(X, zero)
    with pytest.raises(CommitteeError, match="monotone constraints"):
        GradientBoostingSurvivalAnalysis("hazard", monotonic_cst=[1, 0, 0, 0]).fit(X, y)
    with pytest.raises(CommitteeError, match="All rows of y are censored"):
        GradientBoostingSurvivalAnalysis().fit(X, make_survival_target(np.zeros(50), y["time"]))
