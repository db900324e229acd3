"""Boosted trees: both signatures, their stopping rules, and targets with outliers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier as PeerClassifier
from sklearn.ensemble import HistGradientBoostingRegressor as PeerRegressor
from sklearn.metrics import log_loss, mean_pinball_loss
from sklearn.model_selection import train_test_split

from committee import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from committee.exceptions import DataError, ParameterError

X_VALUES, Y_VALUES = load_diabetes(return_X_y=True)
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
X_CANCER, Y_CANCER = load_breast_cancer(return_X_y=True)
FEW: dict[str, Any] = {"max_iter": 12, "random_state": 0}


def test_probabilities_of_two_classes_are_those_of_scikit_learn() -> None:
    classes = (HistGradientBoostingClassifier, PeerClassifier)
    mine, peer = (cls(max_iter=30, random_state=0).fit(X_CANCER, Y_CANCER).predict_proba(X_CANCER) for cls in classes)
    np.testing.assert_allclose(mine, peer, atol=0.1)
    assert abs(log_loss(Y_CANCER, mine) - log_loss(Y_CANCER, peer)) < 0.01


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma", "quantile"])
def test_values_are_close_to_scikit_learn(loss: str) -> None:
    params: dict[str, Any] = {"loss": loss, "max_iter": 50, "random_state": 0}
    if loss == "quantile":
        params["quantile"] = 0.8
    X, X_new, y, y_new = train_test_split(X_VALUES, Y_VALUES, random_state=0)
    mine, peer = (cls(**params).fit(X, y).predict(X_new) for cls in (HistGradientBoostingRegressor, PeerRegressor))
    if loss == "quantile":
        found, wanted = (mean_pinball_loss(y_new, p, alpha=0.8) for p in (mine, peer))
    else:
        found, wanted = (float(np.abs(y_new - p).mean()) for p in (mine, peer))
    assert found < 1.06 * wanted


def test_stages_end_in_the_prediction() -> None:
    model = HistGradientBoostingClassifier(**FEW).fit(X_IRIS, Y_IRIS)
    stages = list(model.staged_predict_proba(X_IRIS))
    assert len(stages) == model.n_iter_ == 12
    np.testing.assert_allclose(stages[-1], model.predict_proba(X_IRIS), atol=1e-14)
    losses = [log_loss(Y_IRIS, stage) for stage in stages]
    assert all(late < early for early, late in pairwise(losses))
    np.testing.assert_array_equal(list(model.staged_predict(X_IRIS))[-1], model.predict(X_IRIS))
    np.testing.assert_allclose(
        list(model.staged_decision_function(X_IRIS))[-1], model.decision_function(X_IRIS), atol=1e-12
    )
    values = HistGradientBoostingRegressor(**FEW).fit(X_VALUES, Y_VALUES)
    np.testing.assert_allclose(list(values.staged_predict(X_VALUES))[-1], values.predict(X_VALUES), rtol=1e-12)


def test_a_warm_start_goes_on_where_it_was() -> None:
    whole = HistGradientBoostingClassifier(**FEW).fit(X_IRIS, Y_IRIS)
    grown = HistGradientBoostingClassifier(max_iter=5, random_state=0, warm_start=True).fit(X_IRIS, Y_IRIS)
    grown.set_params(max_iter=12).fit(X_IRIS, Y_IRIS)
    assert grown.n_iter_ == 12
    np.testing.assert_allclose(grown.predict_proba(X_IRIS), whole.predict_proba(X_IRIS), atol=1e-9)
    with pytest.raises(ParameterError, match="max_iter=3 must be larger"):
        grown.set_params(max_iter=3).fit(X_IRIS, Y_IRIS)
    with pytest.raises(DataError, match="other features, categories or classes"):
        grown.set_params(max_iter=20).fit(X_IRIS, Y_IRIS == 1)


@pytest.mark.parametrize("scoring", ["loss", "neg_log_loss", "roc_auc", None])
def test_early_stopping_uses_a_validation_split(scoring: str | None) -> None:
    params = {"max_iter": 200, "early_stopping": True, "n_iter_no_change": 5, "learning_rate": 0.3}
    model = HistGradientBoostingClassifier(**params, scoring=scoring, random_state=0).fit(X_CANCER, Y_CANCER)
    assert model.do_early_stopping_
    assert 5 <= model.n_iter_ < 200
    assert len(model.train_score_) == len(model.validation_score_) == model.n_iter_ + 1
    last = model.validation_score_[-6:]
    assert not (last[1:] > last[0] + 1e-7).any()


def test_rows_for_early_stopping_can_be_given() -> None:
    X, X_val, y, y_val = train_test_split(X_CANCER, Y_CANCER.astype(str), random_state=0)
    model = HistGradientBoostingClassifier(early_stopping=True, random_state=0, max_iter=80)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.validation_score_[-1] == pytest.approx(-log_loss(y_val, model.predict_proba(X_val)), rel=1e-9)
    assert model.train_score_[-1] == pytest.approx(-log_loss(y, model.predict_proba(X)), rel=1e-9)
    with pytest.raises(DataError, match="belong together"):
        model.fit(X, y, X_val=X_val)
    with pytest.raises(DataError, match="class 'x', which the training rows do not have"):
        model.fit(X, y, X_val=X_val[:1], y_val=["x"])


def test_scores_of_huber_use_one_and_the_same_loss() -> None:
    model = HistGradientBoostingRegressor("huber", early_stopping=True, random_state=0).fit(X_VALUES, Y_VALUES)
    assert (np.diff(model.train_score_) > 0).mean() > 0.9


def test_many_rows_are_stopped_early_by_themselves() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10_001, 3)), rng.normal(size=10_001)
    model = HistGradientBoostingRegressor(max_iter=30, random_state=0).fit(X, y)
    assert model.do_early_stopping_
    assert model.n_iter_ < 30
    assert not HistGradientBoostingRegressor(max_iter=2).fit(X[:10_000], y[:10_000]).do_early_stopping_


def test_constraints_hold() -> None:
    rising = HistGradientBoostingRegressor(max_iter=30, monotonic_cst=[0, 0, 1] + [0] * 7).fit(X_VALUES, Y_VALUES)
    grid = np.tile(X_VALUES[:20], (50, 1, 1))
    grid[:, :, 2] = np.linspace(-0.1, 0.2, 50)[:, None]
    predictions = rising.predict(grid.reshape(-1, 10)).reshape(50, 20)
    assert (np.diff(predictions, axis=0) >= 0).all()
    alone = HistGradientBoostingRegressor(max_iter=10, interaction_cst="no_interactions").fit(X_VALUES, Y_VALUES)
    moved = X_VALUES.copy()
    moved[:, 2] += 0.05
    shift = alone.predict(moved) - alone.predict(X_VALUES)
    swapped, again = X_VALUES.copy(), moved.copy()
    swapped[:, 8], again[:, 8] = swapped[::-1, 8], again[::-1, 8]
    np.testing.assert_allclose(alone.predict(again) - alone.predict(swapped), shift, atol=1e-9)


def test_features_can_be_drawn_and_missing_values_be_the_question() -> None:
    drawn = HistGradientBoostingRegressor(max_features=0.3, **FEW).fit(X_VALUES, Y_VALUES)
    assert (
        drawn.predict(X_VALUES) != HistGradientBoostingRegressor(**FEW).fit(X_VALUES, Y_VALUES).predict(X_VALUES)
    ).any()
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 1)) < 0.3, np.nan, 1.0)
    model = HistGradientBoostingClassifier(**FEW).fit(X, np.isnan(X[:, 0]))
    assert model.score(X, np.isnan(X[:, 0])) == 1.0


def test_categories_are_split_by_sets_of_levels() -> None:
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 30, 2000)
    frame = pd.DataFrame({"level": pd.Categorical(levels.astype(str)), "noise": rng.normal(size=2000)})
    model = HistGradientBoostingRegressor(max_iter=60).fit(frame, (levels % 7 == 3).astype(float))
    assert model.is_categorical_.tolist() == [True, False]
    assert model.score(frame, (levels % 7 == 3).astype(float)) > 0.99


def test_several_outputs_are_fitted_each_by_itself() -> None:
    both = np.column_stack([Y_VALUES, np.sqrt(Y_VALUES)])
    model = HistGradientBoostingRegressor(**FEW).fit(X_VALUES, both)
    alone = HistGradientBoostingRegressor(**FEW).fit(X_VALUES, both[:, 1])
    np.testing.assert_allclose(model.predict(X_VALUES)[:, 1], alone.predict(X_VALUES), rtol=1e-6)


# --- targets with outliers ----------------------------------------------------------------------


def test_rare_classes_keep_probabilities_sane() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    y = (X[:, 0] + 0.1 * rng.normal(size=4000) > 0).astype(int)
    y[:3], y[3:8] = 2, 3
    X_new = rng.normal(size=(2000, 6))
    truth = (X_new[:, 0] > 0).astype(int)
    model = HistGradientBoostingClassifier(max_iter=200, early_stopping=False, random_state=0).fit(X, y)
    probabilities = model.predict_proba(X_new)
    assert np.isfinite(model.decision_function(X_new)).all()
    assert log_loss(truth, probabilities, labels=model.classes_) < 0.4
    assert probabilities[:, 2:].mean() < 0.05


@pytest.mark.parametrize("y", [np.zeros(60), np.ones(60)])
def test_a_constant_target_is_predicted(y: Any) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    np.testing.assert_array_equal(HistGradientBoostingClassifier(**FEW).fit(X, y).predict(X), y)
    np.testing.assert_allclose(HistGradientBoostingRegressor(**FEW).fit(X, y).predict(X), y, atol=1e-12)


def test_separable_data_stay_bounded() -> None:
    X = np.linspace(-1, 1, 400)[:, None]
    model = HistGradientBoostingClassifier(max_iter=500, learning_rate=1.0, early_stopping=False).fit(X, X[:, 0] > 0)
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    assert model.score(X, X[:, 0] > 0) == 1.0


@pytest.mark.parametrize("huge", [1e6, 1e12])
def test_huge_weights_stay_bounded(huge: float) -> None:
    weights = np.ones(len(Y_CANCER))
    weights[:3] = huge
    model = HistGradientBoostingClassifier(max_iter=50).fit(X_CANCER, Y_CANCER, sample_weight=weights)
    probabilities = model.predict_proba(X_CANCER)
    assert np.isfinite(probabilities).all()
    assert (model.predict(X_CANCER[:3]) == Y_CANCER[:3]).all()
    values = HistGradientBoostingRegressor(max_iter=50).fit(X_VALUES, Y_VALUES, sample_weight=weights[: len(Y_VALUES)])
    assert values.predict(X_VALUES).min() > -100
    assert values.predict(X_VALUES).max() < 500


def test_targets_must_lie_where_the_loss_is_defined() -> None:
    for loss in ("poisson", "tweedie", "gamma"):
        with pytest.raises(DataError, match=f"loss='{loss}' requires"):
            HistGradientBoostingRegressor(loss).fit(X_VALUES, Y_VALUES - 100)
    with pytest.raises(ParameterError, match="goes with loss='quantile'"):
        HistGradientBoostingRegressor("quantile").fit(X_VALUES, Y_VALUES)


def test_a_validation_set_turns_early_stopping_on() -> None:
    half = len(X_CANCER) // 2
    model = HistGradientBoostingClassifier(max_iter=200, random_state=0)
    model.fit(X_CANCER[:half], Y_CANCER[:half], X_val=X_CANCER[half:], y_val=Y_CANCER[half:])
    assert model.do_early_stopping_
    assert model.n_iter_ < 200
    assert len(model.validation_score_) == model.n_iter_ + 1
    rows = {"X_val": X_CANCER[half:], "y_val": Y_CANCER[half:]}
    with pytest.raises(DataError, match="X_val and y_val are passed to fit while at the same time early_stopping is"):
        HistGradientBoostingClassifier(early_stopping=False).fit(X_CANCER[:half], Y_CANCER[:half], **rows)
    for name, other in (("X_val", "y_val"), ("y_val", "X_val")):
        with pytest.raises(DataError, match=f"{name} is provided, but {other} was not provided"):
            HistGradientBoostingClassifier().fit(X_CANCER[:half], Y_CANCER[:half], **{name: rows[name]})
    with pytest.raises(DataError, match="sample_weight_val is provided, but X_val was not provided"):
        HistGradientBoostingClassifier().fit(X_CANCER[:half], Y_CANCER[:half], sample_weight_val=np.ones(3))


def test_the_rows_held_out_are_those_of_scikit_learn() -> None:
    params = {"early_stopping": True, "validation_fraction": 0.2, "max_iter": 1, "random_state": 3}
    mine = HistGradientBoostingClassifier(**params).fit(X_CANCER, Y_CANCER)
    theirs = PeerClassifier(**params).fit(X_CANCER, Y_CANCER)
    assert mine.validation_score_[0] == pytest.approx(theirs.validation_score_[0], rel=1e-12)
    assert mine.train_score_[0] == pytest.approx(theirs.train_score_[0], rel=1e-12)


@pytest.mark.parametrize("cls", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
def test_an_explicit_number_of_bins_limits_the_levels_of_categories(cls: Any) -> None:
    levels = np.arange(300) % 60
    frame = pd.DataFrame({"x": np.arange(300.0), "town": pd.Categorical([f"t{k}" for k in levels])})
    sentence = (
        r"^Categorical feature 'town' is expected to have a cardinality <= 59 but actually has a cardinality of 60"
    )
    with pytest.raises(DataError, match=sentence):
        cls(max_bins=59, **FEW).fit(frame, levels % 2)
    table = np.column_stack([frame["x"], levels])
    with pytest.raises(DataError, match=r"^Categorical feature at index 1 is expected .* <= 2 but .* of 60"):
        cls(max_bins=2, categorical_features=[1], **FEW).fit(table, levels % 2)
    # Missing values are no level, and the default is no limit.
    cls(max_bins=60, categorical_features=[1], **FEW).fit(np.vstack([table, [0.0, np.nan]]), [*(levels % 2), 0])
    many = np.column_stack([np.zeros(6000), np.arange(6000) % 300])
    model = cls(categorical_features=[1], **FEW).fit(many, many[:, 1] % 2)
    assert model.score(many, many[:, 1] % 2) > 0.9


def test_a_date_before_a_category_does_not_shift_its_name() -> None:
    days = pd.Series(pd.date_range("2020-01-01", periods=90, freq="9D"))
    frame = pd.DataFrame({"day": days, "town": pd.Categorical([f"t{k % 5}" for k in range(90)])})
    with pytest.raises(DataError, match=r"^Categorical feature 'town' is expected"):
        HistGradientBoostingRegressor(max_bins=4, **FEW).fit(frame, np.arange(90.0))
