"""OrdinalGradientBoostingClassifier with a spread by row: the loss beside its twin, quality, contracts."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

import committee
from committee import OrdinalGradientBoostingClassifier, _core
from committee.ensembles.boosting.ordinal_link import CUMULATIVE_LINKS, OrdinalLink
from committee.ensembles.boosting.ordinal_loss import BoundOrdinalLoss, OrdinalLoss
from committee.ensembles.boosting.ordinal_rows import LinkedRows, make_level_rows
from committee.exceptions import CommitteeError, ParameterError
from committee.inspection import shap_values
from tests.ensembles.boosting.ordinal_cases import assert_same_rows
from tests.naive import ordinal as naive

every_link = pytest.mark.parametrize("link", sorted(CUMULATIVE_LINKS))


def draw_rows(n: int = 300, seed: int = 0) -> tuple[Any, Any]:
    """Five levels, whose noise depends on the third column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    latent = 1.5 * X[:, 0] + X[:, 1] + np.exp(0.9 * X[:, 2]) * rng.logistic(size=n)
    return X, np.digitize(latent, [-1.5, 0.0, 1.2, 3.0])


def fit(X: Any, y: Any, *weights: Any, **params: Any) -> OrdinalGradientBoostingClassifier:
    params = {"spread": "by_row", "n_estimators": 10, "random_state": 0, **params}
    return OrdinalGradientBoostingClassifier(**params).fit(X, y, *weights)


def bind(link: str, labels: Any, weights: Any = None, n_levels: int = 4) -> BoundOrdinalLoss:
    bound: Any = OrdinalLoss(link, n_levels, 2).bind(np.asarray(labels, dtype=float)[:, None], weights)
    return bound


# --- the loss ----------------------------------------------------------------------------------------------------


@every_link
def test_loss_and_derivatives_are_those_of_the_twin(link: str) -> None:
    rng = np.random.default_rng(1)
    labels = np.append(np.arange(4), rng.integers(0, 4, size=76))
    scores, spreads, thresholds = 0.6 * rng.normal(size=80), 0.3 * rng.normal(size=80), np.array([-1.0, 0.2, 1.0])
    flat = np.concatenate((scores, spreads))
    rows = make_level_rows(link, labels, None, 4, 2)
    each = list(zip(labels.tolist(), scores.tolist(), spreads.tolist(), strict=True))
    total = sum(naive.find_loss(link, k, f, thresholds, s) for k, f, s in each)
    assert rows.sum_losses(flat, thresholds, 1) == pytest.approx(total, rel=1e-12)
    found = [part.reshape(2, -1) for part in rows.find_gradients(flat, thresholds, 1)]
    for i, (k, f, s) in enumerate(each):
        # In units of the spread the score's derivatives are those of a row with spread one.
        slope, curve = naive.differentiate(link, k, f / np.exp(s), thresholds / np.exp(s))
        np.testing.assert_allclose(found[0][0, i], slope / np.exp(s), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found[1][0, i], curve / np.exp(2.0 * s), rtol=1e-4, atol=1e-5)
        own = max(naive.differentiate_spread(link, k, f, thresholds, s), -10.0)
        np.testing.assert_allclose(found[0][1, i], own, rtol=1e-4, atol=1e-5)
        information = naive.find_information(link, f, thresholds, s)
        np.testing.assert_allclose(found[1][1, i], information, rtol=1e-4, atol=1e-5)
    shares = OrdinalLink(link, thresholds[None]).find_probabilities(np.column_stack((scores, spreads)))
    wanted = [naive.find_probabilities(link, f, thresholds, s) for _, f, s in each]
    np.testing.assert_allclose(shares, wanted, rtol=1e-10, atol=1e-14)


@every_link
def test_sums_for_the_thresholds_are_differences_of_the_loss(link: str) -> None:
    rng = np.random.default_rng(2)
    labels = np.append(np.arange(4), rng.integers(0, 4, size=60))
    flat, weights = rng.normal(size=128) * 0.7, rng.random(64) + 0.1
    rows, thresholds = make_level_rows(link, labels, weights, 4, 2), np.array([-0.8, 0.1, 0.9])
    loss, gradient, diagonal, beside = rows.sum_terms(flat, thresholds, 1)
    assert loss == rows.sum_losses(flat, thresholds, 1)
    for k, unit in enumerate(1e-4 * np.eye(3)):
        before, after = (rows.sum_terms(flat, thresholds + step, 1) for step in (-unit, unit))
        np.testing.assert_allclose(gradient[k], (after[0] - before[0]) / 2e-4, rtol=1e-5, atol=1e-5)
        slopes = (after[1] - before[1]) / 2e-4
        np.testing.assert_allclose(diagonal[k], slopes[k], rtol=1e-5)
        if k > 0:
            np.testing.assert_allclose(beside[k - 1], slopes[k - 1], rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_levels", [2, 3, 6])
def test_logistic_rows_are_those_of_any_link(n_levels: int, weighted: bool) -> None:
    """The core's formulas beside the general ones; blocks of many rows, some of them far away or beyond the bounds."""
    rng = np.random.default_rng(n_levels)
    levels = np.append(np.arange(n_levels), rng.integers(0, n_levels, size=20_000))
    far = rng.random(len(levels)) < 0.5
    scores = 5.0 * rng.normal(size=len(levels)) * np.where(far, 20.0, 1.0)
    spreads = np.maximum(0.7 * rng.normal(size=len(levels)), np.where(far, 0.0, -0.5))
    spreads[:5_000:50] = 30.0
    flat = np.concatenate((scores, spreads))
    weights = rng.integers(0, 3, size=len(levels)) * 0.5 if weighted else None
    for thresholds in (np.arange(n_levels - 1) - 1.0, np.arange(n_levels - 1) * 1e-2, np.arange(n_levels - 1) * 90.0):
        rows = make_level_rows("logit", levels, weights, n_levels, 2)
        twin = LinkedRows("logit", levels, weights, n_levels, 2)
        assert_same_rows(rows, twin, flat, thresholds, loss=1e-9, rest=1e-6)


def test_rows_of_spread_one_are_those_without_spreads() -> None:
    rng = np.random.default_rng(3)
    levels, scores, thresholds = (
        rng.integers(0, 4, size=5_000),
        2.0 * rng.normal(size=5_000),
        np.array([-1.0, 0.5, 2.0]),
    )
    flat = np.concatenate((scores, np.zeros(5_000)))
    one, two = make_level_rows("logit", levels, None, 4), make_level_rows("logit", levels, None, 4, 2)
    assert two.sum_losses(flat, thresholds, 1) == pytest.approx(one.sum_losses(scores, thresholds, 1), rel=1e-14)
    for found, wanted in zip(
        two.find_gradients(flat, thresholds, 1), one.find_gradients(scores, thresholds, 1), strict=True
    ):
        np.testing.assert_array_equal(found[:5_000], wanted)


def test_sums_are_the_same_in_any_order_and_by_any_threads() -> None:
    rng = np.random.default_rng(7)
    levels, scores = rng.integers(0, 4, size=50_000), rng.normal(size=(2, 50_000))
    weights, thresholds = rng.random(50_000), np.array([-1.0, 0.5, 2.0])
    order = rng.permutation(len(levels))
    rows = make_level_rows("logit", levels, weights, 4, 2)
    shuffled = make_level_rows("logit", levels[order], weights[order], 4, 2)
    wanted = (rows.sum_losses(scores.ravel(), thresholds, 1), *rows.sum_terms(scores.ravel(), thresholds, 1))
    moved = scores[:, order].ravel()
    found = (shuffled.sum_losses(moved, thresholds, 5), *shuffled.sum_terms(moved, thresholds, 5))
    assert [np.asarray(part).tobytes() for part in found] == [np.asarray(part).tobytes() for part in wanted]
    direct = rows.find_gradients(scores.ravel(), thresholds, 1)
    for k, part in enumerate(shuffled.find_gradients(moved, thresholds, 5)):
        np.testing.assert_array_equal(part.reshape(2, -1), direct[k].reshape(2, -1)[:, order])


def test_wrong_numbers_of_scores_are_refused() -> None:
    levels = np.array([0, 1], dtype=np.uint32)
    with pytest.raises(ValueError, match="one score or two"):
        _core.LogisticLevels(levels, np.empty(0), 2, 3)
    with pytest.raises(ValueError, match="those of all rows"):
        _core.LogisticLevels(levels, np.empty(0), 2, 2).sum_losses(np.zeros(2), np.zeros(1))


@every_link
def test_steps_leave_the_common_factor_out(link: str) -> None:
    rng = np.random.default_rng(4)
    labels, weights = rng.integers(0, 4, size=200), rng.integers(0, 3, size=200).astype(float)
    gradients, hessians = bind(link, labels, weights).find_gradients(0.5 * rng.normal(size=(200, 2)), 1)
    assert abs((weights * gradients[:, 1]).sum()) < 1e-9 * weights.sum()
    assert (hessians > 0.0).all()


@every_link
def test_far_scores_and_spreads_stay_finite(link: str) -> None:
    labels = np.repeat([0, 1, 2, 3], 6)
    wrong = np.linspace(-1.0, 1.0, 24)[::-1]  # as wrong as can be
    for far, spreads in (
        (6.0, np.full(24, -40.0)),
        (60.0, np.full(24, 40.0)),
        (60.0, np.zeros(24)),
        (6.0, np.tile([-3.0, 0.0, 3.0], 8)),
    ):
        scores, bound = np.column_stack((far * wrong, spreads)), bind(link, labels)
        for part in (*bound.find_gradients(scores, 1), bound.fit_thresholds(scores), bound.measure(scores, 1)):
            assert np.isfinite(part).all()
        shares = bound.make_link(scores).find_probabilities(scores)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)


def test_levels_of_next_to_no_weight_keep_a_place() -> None:
    labels, scores = np.array([0, 0, 1, 2, 2]), np.linspace(-1.0, 1.0, 10).reshape(5, 2)
    bound = bind("logit", labels, np.array([1e18, 1e18, 1.0, 1e18, 1e18]), n_levels=3)
    thresholds = bound.fit_thresholds(scores)
    assert thresholds[0] < thresholds[1]
    for part in (*bound.find_gradients(scores, 1), bound.measure(scores, 1)):
        assert np.isfinite(part).all()


# --- quality -----------------------------------------------------------------------------------------------------


@every_link
def test_better_where_the_noise_depends_on_the_row(link: str) -> None:
    (X, y), (X_test, y_test) = draw_rows(1500), draw_rows(3000, 1)
    params: dict[str, Any] = {"link": link, "n_estimators": 120, "learning_rate": 0.05, "max_depth": 3}
    losses = [log_loss(y_test, fit(X, y, spread=s, **params).predict_proba(X_test)) for s in ("by_row", "common")]
    assert losses[0] < losses[1] - 0.02
    spread = fit(X, y, **params).predict_spread(X_test)
    assert np.corrcoef(np.log(spread), X_test[:, 2])[0, 1] > 0.8


def test_spread_is_one_where_it_is_common() -> None:
    X, y = draw_rows()
    np.testing.assert_array_equal(fit(X, y, spread="common").predict_spread(X), 1.0)


# --- contracts ---------------------------------------------------------------------------------------------------


@every_link
def test_weights_are_repetitions_and_zero_is_absent(link: str) -> None:
    X, y = draw_rows(200)
    weights = np.random.default_rng(4).integers(0, 4, size=200)
    weights[y == 2] = 0  # a level that is absent
    params: dict[str, Any] = {"link": link, "min_samples_leaf": 1, "levels": [0, 1, 2, 3, 4]}
    model, repeated = fit(X, y, weights, **params), np.repeat(np.arange(200), weights)
    for other in (
        fit(X[repeated], y[repeated], **params),
        fit(X[weights > 0], y[weights > 0], weights[weights > 0], **params),
        fit(X, y, 8.0 * weights, **params),
    ):
        np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), rtol=1e-7, atol=1e-12)
    assert (model.predict_proba(X)[:, 2] == 0.0).all()


@every_link
def test_files_threads_stages_and_warm_starts_change_nothing(link: str, tmp_path: Any) -> None:
    X, y = draw_rows()
    X[::7, 1] = np.nan
    table = pd.DataFrame(X, columns=list("abcde"))
    table["f"] = pd.Categorical(np.array(["p", "q", "r"])[y % 3])
    params: dict[str, Any] = {"link": link, "subsample": 0.8}
    model = fit(table, y, n_jobs=1, **params)
    shares = model.predict_proba(table)
    committee.save(model, tmp_path / "model")
    longer = fit(table, y, n_estimators=4, warm_start=True, **params)
    short = longer.predict_proba(table)
    longer.set_params(n_estimators=10).fit(table, y)
    for same in (committee.load(tmp_path / "model"), fit(table, y, n_jobs=2, **params), longer):
        np.testing.assert_array_equal(same.predict_proba(table), shares)
        for one, two in zip(same.staged_predict_proba(table), model.staged_predict_proba(table), strict=True):
            np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(list(model.staged_predict_proba(table))[3], short)
    np.testing.assert_array_equal(list(model.staged_predict_proba(table))[-1], shares)
    np.testing.assert_array_equal(model.predict_proba(table.iloc[5:6]), shares[5:6])
    assert len(model.oob_scores_) == 10


@pytest.mark.parametrize("scoring", ["loss", "accuracy"])
def test_early_stopping(scoring: str) -> None:
    X, y = draw_rows(400)
    params: dict[str, Any] = {"scoring": scoring, "learning_rate": 0.3, "n_estimators": 150, "early_stopping": True}
    model = fit(X, y, n_iter_no_change=10, **params)
    assert 1 <= model.n_estimators_ < 150
    assert len(list(model.staged_predict(X))) == model.n_estimators_
    assert model.estimators_.shape == (model.n_estimators_, 2)
    np.testing.assert_array_equal(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))


@every_link
def test_refit_leaves(link: str, tmp_path: Any) -> None:
    X, y = draw_rows()
    model = fit(X, y, link=link)
    for found, wanted in zip(
        model.refit_leaves(X, y, decay_rate=0.0).staged_predict_proba(X), model.staged_predict_proba(X), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-7)
    others = draw_rows(seed=1)
    moved = model.refit_leaves(*others, decay_rate=0.5)
    losses = [log_loss(others[1], own.predict_proba(others[0])) for own in (moved, model)]
    assert losses[0] < losses[1]
    committee.save(moved, tmp_path / "model")
    np.testing.assert_array_equal(committee.load(tmp_path / "model").predict_proba(X), moved.predict_proba(X))


def test_shapley_values_explain_both_scores() -> None:
    X, y = draw_rows()
    for labels in (y, y > 1):
        model = fit(X, labels)
        found = shap_values(model, X[:20])
        assert found.output_names == ["score", "logarithm of the spread"]
        total = np.asarray(found.values).sum(axis=1) + found.base_values
        np.testing.assert_allclose(total[:, 0], model.predict_score(X[:20]), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(np.exp(total[:, 1]), model.predict_spread(X[:20]), rtol=1e-9)


def test_damaged_files_are_refused(tmp_path: Any) -> None:
    X, y = draw_rows()
    model = fit(X, y, n_estimators=3)
    own = model._ordinal_link.thresholds
    for bad in (own[:2], np.repeat(own, 2, axis=0)):
        model._ordinal_link = OrdinalLink("logit", bad)
        committee.save(model, tmp_path / "model")
        with pytest.raises(CommitteeError, match="thresholds"):
            committee.load(tmp_path / "model")


def test_what_cannot_be_gets_a_sentence() -> None:
    X, y = draw_rows(60)
    with pytest.raises(ParameterError, match="spread='common' only"):
        fit(X, y, monotonic_cst=[1, 0, 0, 0, 0])
    with pytest.raises(CommitteeError, match="spread"):
        fit(X, y, spread="row")
    model = fit(X, y, n_estimators=2, warm_start=True).set_params(spread="common", n_estimators=4)
    with pytest.raises(ParameterError, match="another 'spread'"):
        model.fit(X, y)
