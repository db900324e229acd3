"""The boosting loop and its parts: callbacks, early stopping, validation splits, objectives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

from committee import GradientBoostingClassifier, GradientBoostingRegressor, HistGradientBoostingClassifier
from committee.data import ClassTarget, Dataset
from committee.data.intake import take_in
from committee.engines import get_engine
from committee.ensembles.boosting.booster import Booster, InitialScores, RoundCallback
from committee.ensembles.boosting.callbacks import TrainingLoss
from committee.ensembles.boosting.early_stopping import EarlyStopping, has_stopped_improving
from committee.ensembles.boosting.objective import Objective, make_class_loss
from committee.ensembles.boosting.scorer import BoostingScorer
from committee.ensembles.boosting.validation import draw_test_rows, split_folds, split_validation
from committee.exceptions import ParameterTypeError

X, Y = load_breast_cancer(return_X_y=True)
X_VALUES, Y_VALUES = load_diabetes(return_X_y=True)


def read(y: Any = Y, weights: Any = None) -> Dataset:
    return take_in(HistGradientBoostingClassifier(), X, y, weights, task="classify")


def make_booster(dataset: Dataset) -> Booster:
    params = get_engine().BoostingParams()
    objective = Objective.of(make_class_loss("log_loss", dataset), dataset)
    return Booster(dataset, dataset.binned(), objective, params, InitialScores())


class Recorder(RoundCallback):
    def __init__(self, stop_after: int, calls: list[Any]) -> None:
        self.stop_after, self.calls = stop_after, calls

    def before_training(self, booster: Booster) -> None:
        self.calls.append("training")

    def before_round(self, booster: Booster) -> None:
        self.calls.append(("before", booster.n_rounds))

    def after_round(self, booster: Booster) -> bool:
        self.calls.append(("after", booster.n_rounds))
        return booster.n_rounds == self.stop_after


def test_all_callbacks_are_called_in_every_round_and_any_stops() -> None:
    calls: list[Any] = []
    booster = make_booster(read())
    booster.boost(10, [Recorder(2, calls), Recorder(9, calls)])
    one_round = [("before", 0)] * 2 + [("after", 1)] * 2
    assert calls == ["training"] * 2 + one_round + [("before", 1)] * 2 + [("after", 2)] * 2
    assert booster.n_rounds == 2


def test_the_loop_with_callbacks_grows_the_trees_of_the_single_call() -> None:
    alone, observed = make_booster(read()), make_booster(read())
    alone.boost(5)
    observed.boost(5, [RoundCallback()])
    np.testing.assert_array_equal(alone.state.scores, observed.state.scores)
    np.testing.assert_array_equal(alone.score_rows(X), observed.score_rows(X))


@pytest.mark.parametrize(
    ("params", "fit_params", "at_once"),
    [
        ({"early_stopping": False, "subsample": 0.8}, {}, True),
        ({"early_stopping": False, "subsample": 1.0}, {}, True),
        ({"early_stopping": False, "boosting": "goss"}, {}, True),
        ({"early_stopping": True, "stopping_folds": 2}, {}, True),  # the fit on all rows, after the folds
        ({"early_stopping": True, "stopping_folds": None, "refit": False}, {}, False),
        ({"early_stopping": "oob"}, {}, False),
        ({"early_stopping": False, "boosting": "dart"}, {}, False),
        ({"early_stopping": False}, {"callbacks": [lambda report: False]}, False),
        ({"early_stopping": False}, {"eval_set": [(X_VALUES, Y_VALUES)]}, False),
        ({"early_stopping": False, "loss": "huber"}, {}, False),
    ],
    ids=["subsample", "all rows", "goss", "folds", "split", "oob", "dart", "callbacks", "eval_set", "huber"],
)
def test_one_call_of_the_engine_suffices_where_only_losses_are_recorded(
    params: dict[str, Any], fit_params: dict[str, Any], at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[int] = []
    run = Booster._boost_measured

    def count(self: Booster, n_rounds: int, callbacks: Any) -> None:
        measured.append(n_rounds)
        run(self, n_rounds, callbacks)

    monkeypatch.setattr(Booster, "_boost_measured", count)
    model = GradientBoostingRegressor(n_estimators=6, random_state=0, **params).fit(X_VALUES, Y_VALUES, **fit_params)
    assert measured == [model.n_estimators_] * at_once
    monkeypatch.setattr(TrainingLoss, "records_losses_only", False)
    looped = GradientBoostingRegressor(n_estimators=6, random_state=0, **params).fit(X_VALUES, Y_VALUES, **fit_params)
    assert measured == [model.n_estimators_] * at_once
    np.testing.assert_array_equal(looped.predict(X_VALUES), model.predict(X_VALUES))
    for name in ("train_score_", "oob_improvement_", "oob_scores_"):
        assert getattr(looped, name, np.nan) == pytest.approx(getattr(model, name, np.nan), abs=0.0, nan_ok=True)


def test_scores_that_stop_improving() -> None:
    assert not has_stopped_improving([0.0, 0.0], patience=2, tol=0.0)
    assert has_stopped_improving([0.0, 0.0, 0.0], patience=2, tol=0.0)
    assert not has_stopped_improving([0.0, 0.0, 0.1], patience=2, tol=0.0)
    assert has_stopped_improving([0.0, 0.0, 0.1], patience=2, tol=0.1)


def test_early_stopping_scores_the_baseline_and_every_round() -> None:
    training, validation, _ = split_validation(read(), 0.2, 0)
    booster = make_booster(training)
    stopping = EarlyStopping(BoostingScorer("loss", booster.loss), validation, patience=50, tol=0.0, seed=0)
    booster.boost(4, [stopping])
    assert len(stopping.training_scores) == len(stopping.validation_scores) == 5
    assert stopping.training_scores[-1] == -booster.state.measure_loss()
    found = booster.score_rows(validation.X)
    np.testing.assert_allclose(validation.update_scores(booster), found, atol=1e-12)


def test_folds_are_stratified_and_leave_rows_of_weight_zero_alone() -> None:
    weights = np.where(np.arange(len(Y)) % 7 == 0, 0.0, 1.0)
    sizes = []
    for training, validation, offset in split_folds(read(weights=weights), 4, 0, None):
        assert offset is None
        assert training.n_rows + validation.X.shape[0] == len(Y)
        assert validation.weights is not None
        assert (validation.weights > 0.0).all()
        assert isinstance(validation.target, ClassTarget)
        sizes.append((validation.target.labels == 1).sum())
    assert len(sizes) == 4
    assert max(sizes) - min(sizes) < 20


@pytest.mark.parametrize("params", [{"subsample": 0.8}, {"boosting": "dart", "subsample": 0.5}, {}], ids=str)
def test_losses_are_recorded_for_every_round(params: dict[str, Any]) -> None:
    model = GradientBoostingClassifier(n_estimators=6, early_stopping=False, random_state=0, **params).fit(X, Y)
    assert len(model.train_score_) == 6
    assert hasattr(model, "oob_scores_") == ("subsample" in params)


def test_previous_losses_stay_with_a_warm_start() -> None:
    model = GradientBoostingRegressor(n_estimators=4, subsample=0.8, warm_start=True, random_state=0)
    first = model.fit(X_VALUES, Y_VALUES).train_score_
    model.set_params(n_estimators=7).fit(X_VALUES, Y_VALUES)
    np.testing.assert_array_equal(model.train_score_[:4], first)
    assert len(model.train_score_) == len(model.oob_improvement_) == 7


@pytest.mark.parametrize("n_classes", [1, 2, 3, 17, 300])
@pytest.mark.parametrize("share", [0.1, 0.37, 0.5])
def test_the_rows_that_scikit_learn_holds_out(n_classes: int, share: float) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        labels = rng.permutation(np.r_[np.repeat(np.arange(n_classes), 2), rng.integers(n_classes, size=701)])
        n_out = max(n_classes, int(share * len(labels)))
        stratify = labels if n_classes > 1 else None
        _, wanted = train_test_split(np.arange(len(labels)), test_size=n_out, stratify=stratify, random_state=seed)
        found = draw_test_rows(labels.astype(np.uint32), n_out, seed)
        np.testing.assert_array_equal(np.sort(found), np.sort(wanted))


@pytest.mark.parametrize("given", [{"callbacks": ["a"]}, {"callbacks": 3}, {"monitor": "a"}])
def test_functions_of_the_user_must_be_callables(given: dict[str, Any]) -> None:
    name = next(iter(given))
    with pytest.raises(ParameterTypeError, match=f"'{name}' of GradientBoostingRegressor.fit must be a "):
        GradientBoostingRegressor().fit(np.arange(20.0)[:, None], np.arange(20.0), **given)
