"""OrdinalGradientBoostingClassifier: the loss beside its twin, quality, order of levels, weights, stages, files."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

import committee
from committee import (
    BaggingClassifier,
    GradientBoostingClassifier,
    OrdinalGradientBoostingClassifier,
    VotingClassifier,
    _core,
)
from committee.ensembles.boosting.ordinal_link import CUMULATIVE_LINKS, OrdinalLink, choose_levels
from committee.ensembles.boosting.ordinal_loss import BoundOrdinalLoss, OrdinalLoss
from committee.ensembles.boosting.ordinal_rows import LinkedRows, make_level_rows
from committee.exceptions import CommitteeError, DataError, ParameterError
from committee.inspection import shap_values
from committee.losses import apply_log
from tests.ensembles.boosting.ordinal_cases import assert_same_rows
from tests.naive import ordinal as naive

LINKS = sorted(CUMULATIVE_LINKS)
every_link = pytest.mark.parametrize("link", LINKS)


def draw_rows(n: int = 300, seed: int = 0) -> tuple[Any, Any]:
    """A model of proportional odds with five levels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    latent = 1.5 * X[:, 0] + X[:, 1] + 0.8 * np.abs(X[:, 2]) + rng.logistic(size=n)
    return X, np.digitize(latent, [-1.5, 0.0, 1.2, 3.0])


def bind(link: str, labels: Any, weights: Any = None, n_levels: int = 4) -> BoundOrdinalLoss:
    bound: Any = OrdinalLoss(link, n_levels).bind(np.asarray(labels, dtype=float)[:, None], weights)
    return bound


# --- the loss ----------------------------------------------------------------------------------------------------


@every_link
def test_loss_and_derivatives_are_those_of_the_twin(link: str) -> None:
    rng = np.random.default_rng(1)
    labels, scores = rng.integers(0, 4, size=80), 1.5 * rng.normal(size=(80, 1))
    bound = bind(link, labels)
    gradients, hessians = bound.find_gradients(scores, 1)
    thresholds = bound.fit_thresholds(scores)
    rows = list(zip(labels.tolist(), scores[:, 0].tolist(), strict=True))
    pairs = np.array([naive.differentiate(link, k, s, thresholds) for k, s in rows])
    np.testing.assert_allclose(gradients[:, 0], pairs[:, 0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hessians[:, 0], pairs[:, 1], rtol=1e-4, atol=1e-5)
    total = naive.find_total(link, labels, scores[:, 0], thresholds, np.ones(80))
    assert bound.measure(scores, 1) == pytest.approx(total / 80, rel=1e-12)
    shares = OrdinalLink(link, thresholds[None]).find_probabilities(scores[:, 0])
    wanted = [naive.find_probabilities(link, s, thresholds) for _, s in rows]
    np.testing.assert_allclose(shares, wanted, rtol=1e-10, atol=1e-14)
    for power, by in enumerate(("absolute_error", "squared_error"), start=1):
        assert choose_levels(shares, by).tolist() == [naive.choose_least_error(p, power) for p in wanted]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_levels", [2, 3, 6])
def test_logistic_rows_are_those_of_any_link(n_levels: int, weighted: bool) -> None:
    """The core's short formulas beside the general ones; blocks of many rows, some of them far away."""
    rng = np.random.default_rng(n_levels)
    levels = np.append(np.arange(n_levels), rng.integers(0, n_levels, size=30_000))
    scores = 5.0 * rng.normal(size=len(levels)) * rng.choice([1.0, 20.0], size=len(levels))
    weights = rng.integers(0, 3, size=len(levels)) * 0.5 if weighted else None
    for thresholds in (np.arange(n_levels - 1) - 1.0, np.arange(n_levels - 1) * 1e-3, np.arange(n_levels - 1) * 90.0):
        rows, twin = make_level_rows("logit", levels, weights, n_levels), LinkedRows("logit", levels, weights, n_levels)
        assert_same_rows(rows, twin, scores, thresholds, loss=1e-10, rest=1e-7)


def test_logistic_rows_have_the_same_sums_in_any_order_and_by_any_threads() -> None:
    rng = np.random.default_rng(7)
    levels, scores = rng.integers(0, 4, size=50_000), 2.0 * rng.normal(size=50_000)
    weights, thresholds = rng.random(50_000), np.array([-1.0, 0.5, 2.0])
    order = rng.permutation(len(levels))
    rows = make_level_rows("logit", levels, weights, 4)
    shuffled = make_level_rows("logit", levels[order], weights[order], 4)
    wanted = (rows.sum_losses(scores, thresholds, 1), *rows.sum_terms(scores, thresholds, 1))
    for found in (
        (rows.sum_losses(scores, thresholds, 5), *rows.sum_terms(scores, thresholds, 5)),
        (shuffled.sum_losses(scores[order], thresholds, 5), *shuffled.sum_terms(scores[order], thresholds, 5)),
    ):
        assert [np.asarray(part).tobytes() for part in found] == [np.asarray(part).tobytes() for part in wanted]
    direct = rows.find_gradients(scores, thresholds, 1)
    for k, part in enumerate(shuffled.find_gradients(scores[order], thresholds, 5)):
        np.testing.assert_array_equal(part, direct[k][order])


def test_rows_of_no_level_are_refused() -> None:
    with pytest.raises(ValueError, match="below their number"):
        _core.LogisticLevels(np.array([0, 2], dtype=np.uint32), np.empty(0), 2)
    rows = _core.LogisticLevels(np.array([0, 1], dtype=np.uint32), np.empty(0), 2)
    with pytest.raises(ValueError, match="one less than there are levels"):
        rows.sum_losses(np.zeros(2), np.zeros(2))


@every_link
def test_thresholds_have_the_least_loss(link: str) -> None:
    rng = np.random.default_rng(2)
    labels, scores, weights = rng.integers(0, 4, size=60), rng.normal(size=(60, 1)), rng.integers(0, 4, size=60) * 0.5
    thresholds = bind(link, labels, weights).fit_thresholds(scores)
    assert (np.diff(thresholds) > 0.0).all()
    least = naive.find_total(link, labels, scores[:, 0], thresholds, weights)
    for k in range(3):
        for step in (-1e-3, 1e-3):
            other = thresholds + step * (np.arange(3) == k)
            assert naive.find_total(link, labels, scores[:, 0], other, weights) > least


@every_link
def test_thresholds_do_not_depend_on_the_start_or_the_order_of_rows(link: str) -> None:
    rng = np.random.default_rng(3)
    labels, scores = rng.integers(0, 4, size=200), rng.normal(size=(200, 1))
    bound, order = bind(link, labels), rng.permutation(200)
    direct = bound.fit_thresholds(scores)
    bound.fit_thresholds(scores + 30.0)
    np.testing.assert_array_equal(bound.fit_thresholds(scores), direct)
    np.testing.assert_array_equal(bind(link, labels[order]).fit_thresholds(scores[order]), direct)


@every_link
def test_far_scores_stay_finite(link: str) -> None:
    labels = np.repeat([0, 1, 2, 3], 5)
    scores = np.linspace(-60.0, 60.0, 20)[::-1][:, None]  # as wrong as can be
    bound = bind(link, labels)
    for part in (*bound.find_gradients(scores, 1), bound.fit_thresholds(scores), bound.measure(scores, 1)):
        assert np.isfinite(part).all()


def test_levels_of_next_to_no_weight_keep_a_place() -> None:
    """Their thresholds begin where a double cannot tell them apart."""
    labels, scores = np.array([0, 0, 1, 2, 2]), np.linspace(-1.0, 1.0, 5)[:, None]
    bound = bind("logit", labels, np.array([1e18, 1e18, 1.0, 1e18, 1e18]), n_levels=3)
    thresholds = bound.fit_thresholds(scores)
    assert thresholds[0] < thresholds[1]
    assert thresholds[1] - thresholds[0] < 1e-6
    for part in (*bound.find_gradients(scores, 1), bound.measure(scores, 1)):
        assert np.isfinite(part).all()


@every_link
def test_levels_without_rows_have_probability_zero(link: str) -> None:
    labels, scores = np.array([1, 1, 3, 3, 3, 1, 3]), np.linspace(-1.0, 1.0, 7)[:, None]
    bound = bind(link, labels, n_levels=6)
    thresholds = bound.fit_thresholds(scores)
    assert thresholds[0] == -np.inf
    assert thresholds[1] == thresholds[2]
    assert (thresholds[3:] == np.inf).all()
    shares = bound.make_link(scores).find_probabilities(scores[:, 0])
    assert (shares[:, [0, 2, 4, 5]] == 0.0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-15)


# --- quality -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_better_than_classes_without_order_on_few_rows(seed: int) -> None:
    (X, y), (X_test, y_test) = draw_rows(200, seed), draw_rows(3000, 100 + seed)
    params: dict[str, Any] = {"n_estimators": 60, "learning_rate": 0.05, "max_depth": 3, "random_state": 0}
    plain = GradientBoostingClassifier(**params).fit(X, y)
    model = OrdinalGradientBoostingClassifier(**params, predict_by="absolute_error").fit(X, y)
    assert log_loss(y_test, model.predict_proba(X_test)) < log_loss(y_test, plain.predict_proba(X_test)) - 0.02
    errors = [np.abs(own.predict(X_test) - y_test).mean() for own in (model, plain)]
    assert errors[0] < errors[1] - 0.02


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_reversed_levels_give_mirrored_probabilities(link: str) -> None:
    X, y = draw_rows()
    params: dict[str, Any] = {"link": link, "n_estimators": 15, "random_state": 0}
    model = OrdinalGradientBoostingClassifier(**params).fit(X, y)
    mirrored = OrdinalGradientBoostingClassifier(**params).fit(X, 4 - y)
    np.testing.assert_allclose(mirrored.predict_proba(X)[:, ::-1], model.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(-mirrored.thresholds_[::-1], model.thresholds_, atol=1e-5)


@every_link
def test_two_levels_are_learnt(link: str) -> None:
    X, y = draw_rows()
    model = OrdinalGradientBoostingClassifier(link=link, n_estimators=30, random_state=0).fit(X, y > 1)
    assert model.score(X, y > 1) > 0.8
    assert model.thresholds_.shape == (1,)
    assert model.classes_.tolist() == [False, True]


@every_link
def test_monotone_constraint_on_the_score(link: str) -> None:
    X, y = draw_rows()
    cst = [1, 0, 0, 0, 0]
    model = OrdinalGradientBoostingClassifier(link=link, n_estimators=20, monotonic_cst=cst, random_state=0).fit(X, y)
    line = np.zeros((50, 5))
    line[:, 0] = np.linspace(-3.0, 3.0, 50)
    assert (np.diff(model.predict_score(line)) >= 0.0).all()
    assert (np.diff(np.cumsum(model.predict_proba(line), axis=1), axis=0) <= 1e-12).all()


# --- the order of levels -----------------------------------------------------------------------------------------


def test_order_by_list_or_ordered_category() -> None:
    X, y = draw_rows()
    names = np.array(["low", "mid", "high", "top", "unused"])
    codes = np.minimum(y, 3)
    params: dict[str, Any] = {"n_estimators": 8, "random_state": 0}
    plain = OrdinalGradientBoostingClassifier(**params).fit(X, codes)
    listed = OrdinalGradientBoostingClassifier(**params, levels=names.tolist()).fit(X, names[codes])
    category = pd.Series(pd.Categorical(names[codes], categories=names, ordered=True))
    ordered = OrdinalGradientBoostingClassifier(**params).fit(X, category)
    for model in (listed, ordered):
        assert model.classes_.tolist() == names.tolist()
        np.testing.assert_array_equal(model.predict(X), names[plain.predict(X)])
        np.testing.assert_allclose(model.predict_proba(X)[:, :4], plain.predict_proba(X), rtol=1e-12)
        assert (model.predict_proba(X)[:, 4] == 0.0).all()
    unordered = OrdinalGradientBoostingClassifier(**params).fit(X, names[codes])
    assert unordered.classes_.tolist() == sorted(names[:4])


def test_numbers_in_an_order_of_their_own() -> None:
    X, y = draw_rows()
    model = OrdinalGradientBoostingClassifier(n_estimators=8, levels=[4, 3, 2, 1, 0], random_state=0).fit(X, y)
    assert model.classes_.tolist() == [4, 3, 2, 1, 0]
    assert model.classes_.dtype == y.dtype
    assert np.corrcoef(model.predict_score(X), y)[0, 1] < -0.5


def test_evaluation_sets_and_metrics_follow_the_order() -> None:
    (X, y), (X_test, y_test) = draw_rows(), draw_rows(200, 1)
    names = np.array(["e", "a", "d", "b", "c"])
    model = OrdinalGradientBoostingClassifier(n_estimators=12, levels=names, random_state=0, subsample=0.7)
    model.fit(X, names[y], eval_set=[(X_test, names[y_test])], eval_metric=["accuracy", "neg_log_loss"])
    found = model.evals_result_["validation_0"]
    shares = model.predict_proba(X_test)
    own = -np.log(shares[np.arange(200), y_test]).mean()
    assert found["loss"][-1] == pytest.approx(own, rel=1e-9)
    assert found["neg_log_loss"][-1] == pytest.approx(-own, rel=1e-6)
    assert found["accuracy"][-1] == pytest.approx(model.score(X_test, names[y_test]))
    assert len(model.oob_scores_) == 12
    assert model.oob_improvement_[0] > 0.0


def test_what_cannot_be_gets_a_sentence() -> None:
    X, y = draw_rows(60)
    with pytest.raises(DataError, match="not among the levels"):
        OrdinalGradientBoostingClassifier(levels=[0, 1]).fit(X, y)
    for levels in ([0, 1, 1, 2, 3, 4], [0], [[0], [1]]):
        with pytest.raises(ParameterError, match="'levels' must list"):
            OrdinalGradientBoostingClassifier(levels=levels).fit(X, y)
    with pytest.raises(DataError, match="minimum of 2 classes"):
        OrdinalGradientBoostingClassifier(levels=[0, 1]).fit(X, np.zeros(60, dtype=int))
    with pytest.raises(CommitteeError, match="boosting"):
        OrdinalGradientBoostingClassifier(boosting="dart").fit(X, y)
    model = OrdinalGradientBoostingClassifier(n_estimators=2, link="probit").fit(X, y)
    with pytest.raises(CommitteeError, match="normal noise"):
        model.to_formula()


# --- contracts ---------------------------------------------------------------------------------------------------


@every_link
def test_weights_are_repetitions_and_zero_is_absent(link: str) -> None:
    X, y = draw_rows(200)
    weights = np.random.default_rng(4).integers(0, 4, size=200)
    weights[y == 2] = 0  # a level that is absent
    params: dict[str, Any] = {"link": link, "n_estimators": 10, "min_samples_leaf": 1, "random_state": 0}
    params["levels"] = [0, 1, 2, 3, 4]
    model = OrdinalGradientBoostingClassifier(**params).fit(X, y, weights)
    repeated = np.repeat(np.arange(200), weights)
    for other in (
        OrdinalGradientBoostingClassifier(**params).fit(X[repeated], y[repeated]),
        OrdinalGradientBoostingClassifier(**params).fit(X[weights > 0], y[weights > 0], weights[weights > 0]),
        OrdinalGradientBoostingClassifier(**params).fit(X, y, 8.0 * weights),
    ):
        np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), rtol=1e-7, atol=1e-12)
    assert (model.predict_proba(X)[:, 2] == 0.0).all()


@every_link
def test_files_threads_stages_and_warm_starts_change_nothing(link: str, tmp_path: Any) -> None:
    X, y = draw_rows()
    X[::7, 1] = np.nan
    table = pd.DataFrame(X, columns=list("abcde"))
    table["f"] = pd.Categorical(np.array(["p", "q", "r"])[y % 3])
    params: dict[str, Any] = {"link": link, "subsample": 0.8, "random_state": 0}
    model = OrdinalGradientBoostingClassifier(n_estimators=10, n_jobs=1, **params).fit(table, y)
    shares = model.predict_proba(table)
    committee.save(model, tmp_path / "model")
    other = OrdinalGradientBoostingClassifier(n_estimators=10, n_jobs=2, **params).fit(table, y)
    longer = OrdinalGradientBoostingClassifier(n_estimators=4, warm_start=True, **params).fit(table, y)
    short = longer.predict_proba(table)
    longer.set_params(n_estimators=10).fit(table, y)
    for same in (committee.load(tmp_path / "model"), other, longer):
        np.testing.assert_array_equal(same.predict_proba(table), shares)
        for one, two in zip(same.staged_predict_proba(table), model.staged_predict_proba(table), strict=True):
            np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(list(model.staged_predict_proba(table))[3], short)
    np.testing.assert_array_equal(list(model.staged_predict_proba(table))[-1], shares)
    np.testing.assert_array_equal(list(model.staged_predict(table))[-1], model.predict(table))
    np.testing.assert_array_equal(model.predict_proba(table.iloc[5:6]), shares[5:6])
    np.testing.assert_array_equal(model.predict_log_proba(table), apply_log(shares))


@pytest.mark.parametrize("scoring", ["loss", "accuracy", "neg_log_loss"])
def test_early_stopping(scoring: str) -> None:
    X, y = draw_rows(400)
    params: dict[str, Any] = {"scoring": scoring, "learning_rate": 0.3, "n_estimators": 150, "random_state": 0}
    folds = OrdinalGradientBoostingClassifier(early_stopping=True, n_iter_no_change=10, **params).fit(X, y)
    split = OrdinalGradientBoostingClassifier(
        early_stopping=True, n_iter_no_change=10, stopping_folds=None, validation_fraction=0.2, **params
    ).fit(X, y)
    for model in (folds, split):
        assert 1 <= model.n_estimators_ < 150
        assert model.validation_score_.max() > model.validation_score_[0]
        assert len(list(model.staged_predict(X))) == model.n_estimators_
        np.testing.assert_array_equal(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))


def test_shapley_values_explain_the_score() -> None:
    X, y = draw_rows()
    model = OrdinalGradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, y)
    found = shap_values(model, X[:20])
    total = np.asarray(found.values).reshape(20, 5).sum(axis=1) + np.ravel(found.base_values)
    np.testing.assert_allclose(total, model.predict_score(X[:20]), rtol=1e-9, atol=1e-9)


def test_damaged_files_are_refused(tmp_path: Any) -> None:
    X, y = draw_rows()
    model = OrdinalGradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y)
    own = model._ordinal_link.thresholds
    for bad in (own[:2], own[:, ::-1].copy(), np.full_like(own, np.nan), own[:, :2].copy()):
        model._ordinal_link = OrdinalLink("logit", bad)
        committee.save(model, tmp_path / "model")
        with pytest.raises(CommitteeError, match="thresholds"):
            committee.load(tmp_path / "model")


def test_as_a_member_of_other_ensembles() -> None:
    X, y = draw_rows()
    single = OrdinalGradientBoostingClassifier(n_estimators=6, random_state=0)
    shares = single.fit(X, y).predict_proba(X)
    vote = VotingClassifier([("one", single), ("two", single)], voting="soft").fit(X, y)
    np.testing.assert_allclose(vote.predict_proba(X), shares, rtol=1e-9)
    bag = BaggingClassifier(single, n_estimators=3, random_state=0).fit(X, y + 10)
    assert bag.score(X, y + 10) > 0.4
    with pytest.raises(DataError, match="ascending numbers"):
        BaggingClassifier(single.set_params(levels=[10, 11, 12, 13, 14]), n_estimators=2).fit(X, y + 10)
