"""`GradientBoosting*`: early stopping, options, losses, callbacks and what is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import GradientBoostingClassifier, GradientBoostingRegressor, HistGradientBoostingClassifier
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.inspection import shap_values

X_VALUES, Y_VALUES = load_diabetes(return_X_y=True)
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
X, X_NEW, Y, Y_NEW = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
FEW: dict[str, Any] = {"n_estimators": 15, "early_stopping": False, "learning_rate": 0.1, "random_state": 0}
FEW |= {"subsample": 1.0, "max_features": None}


class LogLoss:
    """Written by a user."""

    def value(self, y: Any, scores: Any) -> Any:
        return np.logaddexp(0.0, scores) - y * scores

    def gradient(self, y: Any, scores: Any) -> Any:
        return 1.0 / (1.0 + np.exp(-scores)) - y

    def hessian(self, y: Any, scores: Any) -> Any:
        p = 1.0 / (1.0 + np.exp(-scores))
        return p * (1.0 - p)

    def baseline(self, y: Any, weights: Any) -> Any:
        mean = np.average(y, weights=weights)
        return np.log(mean / (1.0 - mean))


def test_the_defaults_choose_rounds_and_rate() -> None:
    model = GradientBoostingClassifier(random_state=0).fit(X, Y)
    assert model.score(X_NEW, Y_NEW) > 0.95
    # Mixed growth of all rows has a quarter more rounds than were best for parts of them.
    assert model.best_iteration_ + 1 == model.n_estimators_ == round(1.25 * int(np.argmax(model.validation_score_)))
    assert model.learning_rate_ == pytest.approx(0.03)
    assert len(model.train_score_) == model.n_estimators_
    # The deviance, as in scikit-learn, is twice the log-loss.
    assert model.train_score_[-1] == pytest.approx(2.0 * log_loss(Y, model.predict_proba(X)), rel=1e-9)


@pytest.mark.parametrize("refit", [False, True])
def test_a_validation_split_chooses_rounds(refit: bool) -> None:
    params = {"stopping_folds": None, "learning_rate": 0.3, "n_iter_no_change": 5, "refit": refit}
    model = GradientBoostingClassifier(**params, random_state=0).fit(X, Y)
    best = int(np.argmax(model.validation_score_))
    assert model.n_estimators_ == (round(1.25 * best) if refit else best)
    assert best + 5 <= len(model.validation_score_) < 200
    # Rows that were held out are fitted worse than the others, unless the model was fitted on all rows in the end.
    kept = GradientBoostingClassifier(**{**params, "refit": not refit}, random_state=0).fit(X, Y)
    losses = log_loss(Y, model.predict_proba(X)), log_loss(Y, kept.predict_proba(X))
    assert (losses[0] < losses[1]) == refit


def test_tables_metrics_and_callbacks() -> None:
    reports = []

    def stop(report: Any) -> bool:
        reports.append(report)
        report.params.learning_rate = 0.05
        return bool(report.iteration == 9)

    model = GradientBoostingClassifier(random_state=0, learning_rate=0.1)
    model.fit(
        X, Y, eval_set=[(X, Y), (X_NEW, Y_NEW)], eval_names=["seen", "new"], eval_metric="roc_auc", callbacks=[stop]
    )
    assert [r.iteration for r in reports] == list(range(10))
    assert set(model.evals_result_) == {"seen", "new"}
    last = model.n_estimators_ - 1
    assert model.evals_result_["new"]["loss"][last] == pytest.approx(log_loss(Y_NEW, model.predict_proba(X_NEW)))
    found = model.evals_result_["new"]["roc_auc"][last]
    assert found == pytest.approx(roc_auc_score(Y_NEW, model.predict_proba(X_NEW)[:, 1]))
    assert model.evals_result_["seen"]["loss"][:10] == pytest.approx(model.train_score_ / 2.0)
    with pytest.raises(DataError, match="one length"):
        model.fit(X, Y, eval_set=[(X, Y)], eval_names=["a", "b"])


def test_out_of_bag_improvements_and_stopping() -> None:
    params = {"subsample": 0.5, "early_stopping": "oob", "learning_rate": 0.2, "n_iter_no_change": 10}
    model = GradientBoostingRegressor(**params, random_state=0).fit(X_VALUES, Y_VALUES)
    assert model.oob_improvement_[:5].min() > 0
    assert model.oob_score_ == model.oob_scores_[-1]
    assert model.n_estimators_ == int(np.argmax(np.cumsum(model.oob_improvement_))) + 1
    assert len(model.oob_improvement_) == model.n_estimators_ + 10
    with pytest.raises(ParameterError, match="set 'subsample' below 1"):
        GradientBoostingRegressor(early_stopping="oob", subsample=1.0).fit(X_VALUES, Y_VALUES)


def test_a_loss_of_the_users_is_that_of_the_engine() -> None:
    engine = GradientBoostingClassifier(**FEW).fit(X, Y)
    custom = GradientBoostingClassifier(loss=LogLoss(), **FEW).fit(X, Y)
    np.testing.assert_allclose(custom.predict_proba(X_NEW), engine.predict_proba(X_NEW), atol=1e-9)
    np.testing.assert_allclose(2.0 * custom.train_score_, engine.train_score_, rtol=1e-9)
    stopped = GradientBoostingClassifier(loss=LogLoss(), random_state=0, subsample=0.7).fit(X, Y)
    assert stopped.score(X_NEW, Y_NEW) > 0.95

    def squares(y: Any, scores: Any) -> Any:
        return scores - y, np.ones_like(y)

    by_function = GradientBoostingRegressor(loss=squares, base_score=float(Y_VALUES.mean()), **FEW)
    by_name = GradientBoostingRegressor(**FEW).fit(X_VALUES, Y_VALUES)
    found = by_function.fit(X_VALUES, Y_VALUES).predict(X_VALUES)
    np.testing.assert_allclose(found, by_name.predict(X_VALUES), rtol=1e-9)
    with pytest.raises(DataError, match="must not be negative"):
        GradientBoostingRegressor(loss=lambda y, f: (f - y, -np.ones_like(y)), **FEW).fit(X_VALUES, Y_VALUES)
    with pytest.raises(DataError, match="first derivative of the loss must be finite"):
        GradientBoostingRegressor(loss=lambda y, f: (f * np.nan, f), **FEW).fit(X_VALUES, Y_VALUES)


def test_dart_drops_trees_and_records_what_it_predicts() -> None:
    params = {**FEW, "n_estimators": 40, "boosting": "dart", "skip_drop": 0.0}
    model = GradientBoostingClassifier(**params).fit(X, Y, eval_set=[(X_NEW, Y_NEW)])
    plain = GradientBoostingClassifier(**{**params, "boosting": "plain"}).fit(X, Y)
    assert (model.predict_proba(X) != plain.predict_proba(X)).any()
    assert model.score(X_NEW, Y_NEW) > 0.93
    # Scores that trees were subtracted from and added to again are those of the finished trees.
    assert model.train_score_[-1] == pytest.approx(2.0 * log_loss(Y, model.predict_proba(X)), rel=1e-6)
    assert model.evals_result_["validation_0"]["loss"][-1] == pytest.approx(
        log_loss(Y_NEW, model.predict_proba(X_NEW)), rel=1e-6
    )
    with pytest.raises(ParameterError, match="cannot stop early with boosting='dart'"):
        GradientBoostingClassifier(boosting="dart", early_stopping=True).fit(X, Y)


@pytest.mark.parametrize(
    "option",
    [
        {"boosting": "goss"},
        {"growth": "level", "max_leaf_nodes": None, "max_depth": 4},
        {"reg_alpha": 5.0},
        {"reg_lambda": 100.0},
        {"gamma": 5.0},
        {"min_child_weight": 20.0},
        {"colsample_bytree": 0.3},
        {"colsample_bylevel": 0.3},
        {"colsample_bynode": 0.3},
        {"max_features": "sqrt"},
        {"subsample": 0.5},
        {"max_bins": 8},
        {"max_depth": 2},
        {"max_leaf_nodes": 4},
        {"min_samples_leaf": 40},
        {"loss": "exponential"},
        {"base_score": 2.0},
        {"init": "zero"},
    ],
    ids=str,
)
def test_every_option_changes_the_model_and_none_breaks_it(option: dict[str, Any]) -> None:
    usual = GradientBoostingClassifier(**FEW).fit(X, Y)
    model = GradientBoostingClassifier(**{**FEW, **option}).fit(X, Y)
    assert (model.predict_proba(X_NEW) != usual.predict_proba(X_NEW)).any()
    assert model.score(X_NEW, Y_NEW) > 0.85


def test_an_initial_estimator_is_added_to() -> None:
    model = GradientBoostingRegressor(init=Ridge(), **FEW).fit(X_VALUES, Y_VALUES)
    stages = list(model.staged_predict(X_VALUES))
    np.testing.assert_allclose(stages[-1], model.predict(X_VALUES), rtol=1e-12)
    ridge = Ridge().fit(X_VALUES, Y_VALUES).predict(X_VALUES)
    assert np.abs(stages[0] - ridge).max() < np.abs(stages[0] - Y_VALUES).max()
    with pytest.raises(ParameterTypeError, match="starts from a Ridge"):
        shap_values(model, X_VALUES)
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    stopped = GradientBoostingClassifier(init=logistic, random_state=0).fit(X, Y)
    assert stopped.score(X_NEW, Y_NEW) > 0.95


def test_all_levels_start_from_the_prediction_of_an_initial_estimator() -> None:
    model = GradientBoostingRegressor(loss="quantile", alpha=[0.2, 0.8], init=Ridge(), **FEW).fit(X_VALUES, Y_VALUES)
    first = next(iter(model.staged_predict(X_VALUES)))
    ridge = Ridge().fit(X_VALUES, Y_VALUES).predict(X_VALUES)
    assert np.abs(first - ridge[:, None]).max() < np.abs(Y_VALUES - ridge).max()
    low, high = model.predict(X_VALUES).T
    assert (low <= high).all()
    assert np.mean(low > Y_VALUES) < np.mean(ridge > Y_VALUES) < np.mean(high > Y_VALUES)


def test_a_warm_start_goes_on_and_leaves_are_numbered() -> None:
    whole = GradientBoostingClassifier(**FEW).fit(X_IRIS, Y_IRIS)
    grown = GradientBoostingClassifier(**{**FEW, "n_estimators": 6}, warm_start=True).fit(X_IRIS, Y_IRIS)
    grown.set_params(n_estimators=15).fit(X_IRIS, Y_IRIS)
    np.testing.assert_allclose(grown.predict_proba(X_IRIS), whole.predict_proba(X_IRIS), atol=1e-9)
    assert whole.apply(X_IRIS).shape == (150, 15, 3)
    assert GradientBoostingRegressor(**FEW).fit(X_VALUES, Y_VALUES).apply(X_VALUES).shape == (442, 15)


def test_a_warm_start_holds_the_same_rows_out_and_counts_all_rounds() -> None:
    params = {"learning_rate": 0.1, "early_stopping": True, "stopping_folds": None, "random_state": 1}
    grown = GradientBoostingRegressor(n_estimators=10, warm_start=True, **params).fit(X_VALUES, Y_VALUES)
    assert grown.n_estimators_ == 10
    grown.set_params(n_estimators=25).fit(X_VALUES, Y_VALUES)
    whole = GradientBoostingRegressor(n_estimators=25, refit=False, **params).fit(X_VALUES, Y_VALUES)
    assert grown.n_estimators_ == whole.n_estimators_ > 10
    np.testing.assert_allclose(grown.validation_score_, whole.validation_score_, rtol=1e-9)
    np.testing.assert_allclose(grown.predict(X_VALUES), whole.predict(X_VALUES), rtol=1e-9)


def test_contradictions_are_refused() -> None:
    for params, words in (
        ({"init": "zero", "base_score": 1.0}, "set only one"),
        ({"boosting": "goss", "subsample": 0.5}, "draws rows by itself"),
        ({"boosting": "dart", "warm_start": True}, "cannot go on"),
    ):
        with pytest.raises(ParameterError, match=words):
            GradientBoostingClassifier(**params).fit(X, Y)
    with pytest.raises(DataError, match="requires two classes"):
        GradientBoostingClassifier(loss="exponential").fit(X_IRIS, Y_IRIS)


@pytest.mark.parametrize("params", [{}, {"n_estimators": 5}])
def test_one_class_is_refused_as_in_scikit_learn(params: dict[str, Any]) -> None:
    model = GradientBoostingClassifier(random_state=0, **params)
    sentence = "^y contains 1 class after sample_weight trimmed classes with zero weights, while a minimum of 2 classes"
    with pytest.raises(DataError, match=sentence):
        model.fit(X_IRIS[:50], Y_IRIS[:50])
    with pytest.raises(DataError, match=sentence):
        model.fit(X_IRIS, Y_IRIS, sample_weight=Y_IRIS == 1)
    assert (HistGradientBoostingClassifier().fit(X_IRIS[:50], Y_IRIS[:50]).predict(X_IRIS) == 0).all()


@pytest.mark.parametrize("cls", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_a_lazy_frame_reaches_the_initial_estimator(cls: Any) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({f"x{k}": X_IRIS[:, k] for k in range(4)})
    init = LogisticRegression(max_iter=500) if cls is GradientBoostingClassifier else Ridge()
    eager = cls(init=init, n_estimators=4, random_state=0).fit(frame, Y_IRIS)
    lazy = cls(init=init, n_estimators=4, random_state=0).fit(frame.lazy(), Y_IRIS, eval_set=[(frame.lazy(), Y_IRIS)])
    np.testing.assert_array_equal(lazy.predict(frame.lazy()), eager.predict(frame))
    np.testing.assert_array_equal(lazy.predict(frame.with_columns(more=0.0).lazy()), eager.predict(frame))
