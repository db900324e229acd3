"""Automatic committees of several labels, class targets and numbers: to the bit the committees of single targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score

import committee
from committee import CommitteeClassifier, CommitteeRegressor, load, save
from committee.exceptions import DataError, ModelFileError, ParameterError, ParameterTypeError

FEW = ["linear", "extra trees", "boosting"]


def make_targets(n_rows: int = 200, seed: int = 0) -> tuple[Any, Any, Any]:
    """Four columns; three labels, and two targets of two and four classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    labels = (X[:, :3] + 0.5 * rng.normal(size=(n_rows, 3)) > 0.3).astype(int)
    size = np.array(["large", "small"])[(X[:, 3] + rng.normal(size=n_rows) > 0).astype(int)]
    colour = np.array(["blue", "green", "grey", "red"])[np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.0, 1.0])]
    return X, labels, np.stack([size, colour], axis=1)


# scikit-learn's scorers take most of the time of a fit, so one member suffices; a target of two classes is
# among the classes, too.
@pytest.mark.parametrize(
    ("which", "params"),
    [
        ("labels", {}),
        ("classes", {}),
        ("labels", {"class_weight": "balanced"}),
        ("classes", {"class_weight": "balanced"}),
        ("classes", {"metric": "roc_auc_ovr", "portfolio": FEW[:1]}),
    ],
    ids=str,
)
def test_each_target_has_its_own_committee(which: str, params: Any) -> None:
    X, labels, classes = make_targets()
    y = labels if which == "labels" else classes
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    make = CommitteeClassifier(**{"portfolio": FEW[:2], "random_state": 0, **params})
    model = clone(make).fit(X, y, sample_weight=weights)
    assert model.n_outputs_ == y.shape[1] == len(model.estimators_) == len(model.score_estimate_)
    assert [own.tolist() for own in model.classes_] == [np.unique(column).tolist() for column in y.T]
    found, shares = model.predict(X), model.predict_proba(X)
    assert found.shape == y.shape
    for k in range(y.shape[1]):
        single = clone(make).fit(X, y[:, k], sample_weight=weights)
        np.testing.assert_array_equal(shares[k], single.predict_proba(X))
        np.testing.assert_array_equal(found[:, k], single.predict(X))
        np.testing.assert_array_equal(model.oof_decision_function_[k], single.oof_decision_function_)
        assert (model.score_estimate_[k], model.score_error_[k]) == (single.score_estimate_, single.score_error_)
        own = [row for row in model.leaderboard_ if row["target"] == k]
        assert [row["name"] for row in own] == [row["name"] for row in single.leaderboard_]
    if which == "labels":
        assert model.score(X, y) == np.mean((found == y).all(axis=1)) > 0.4


def test_numbers(tmp_path: Path) -> None:
    X, _, _ = make_targets()
    # The second is positive with a long tail, so that its committee has a model of logarithms.
    y = np.stack([X[:, 0] + X[:, 1] ** 2, np.exp(2.0 * X[:, 2]), X[:, 3] * X[:, 0]], axis=1)
    names = ["linear", "shallow boosting of logs"]
    model = CommitteeRegressor(portfolio=["linear", "boosting"], random_state=0).fit(X, y)
    assert model.predict(X).shape == model.oof_prediction_.shape == (200, 3)
    assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)))
    for k in range(3):
        single = CommitteeRegressor(portfolio=["linear", "boosting"], random_state=0).fit(X, y[:, k])
        np.testing.assert_array_equal(model.predict(X)[:, k], single.predict(X))
        np.testing.assert_array_equal(model.predict_interval(X, 0.8)[:, :, k], single.predict_interval(X, 0.8))
    with pytest.raises(ParameterError, match="which needs a positive target"):
        CommitteeRegressor(portfolio=names, random_state=0).fit(X, y)
    skewed = CommitteeRegressor(n_members=6, preset="fast", random_state=0).fit(X, y)
    fitted = {(row["target"], row["name"]) for row in skewed.leaderboard_}
    assert (1, names[1]) in fitted
    assert (0, names[1]) not in fitted
    save(model, tmp_path / "numbers.committee")
    np.testing.assert_array_equal(load(tmp_path / "numbers.committee").predict(X), model.predict(X))


def test_threads_and_seeds() -> None:
    X, _, y = make_targets(1100)
    one, two = (
        CommitteeClassifier(portfolio=FEW, preset="fast", n_jobs=n, random_state=3).fit(X, y).predict_proba(X)
        for n in (1, 2)
    )
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)


def test_frames_texts_and_missing_values() -> None:
    rng = np.random.default_rng(0)
    words = np.array(["free prize now", "see you at lunch", "win cash for you", "home later today then"])
    kinds = rng.integers(0, 4, 160)
    table = pd.DataFrame(
        {
            "message": [f"{words[k]} {rng.integers(1000)}" for k in kinds],
            "level": pd.Categorical(np.array(["a", "b"])[rng.integers(0, 2, 160)]),
            "number": np.where(rng.random(160) < 0.1, np.nan, rng.normal(size=160)),
        }
    )
    y = pd.DataFrame({"spam": kinds % 2, "kind": words[kinds]})
    model = CommitteeClassifier(portfolio=["linear of words", "extra trees"], random_state=0).fit(table, y)
    assert [own.tolist() for own in model.classes_] == [[0, 1], sorted(words)]
    assert model.feature_names_in_.tolist() == list(table)
    found = model.predict(table)
    assert found.shape == (160, 2)
    assert (found[:, 1] == y["kind"]).mean() > 0.95
    assert (found[:, 0].astype(int) == y["spam"]).mean() > 0.95


def test_class_weights_are_those_of_each_target() -> None:
    X, _, y = make_targets()
    rules = [{"large": 5.0, "small": 1.0}, "balanced"]
    make = CommitteeClassifier(portfolio=["linear"], random_state=0)
    model = clone(make).set_params(class_weight=rules).fit(X, y)
    for k, rule in enumerate(rules):
        single = clone(make).set_params(class_weight=rule).fit(X, y[:, k])
        np.testing.assert_array_equal(model.predict_proba(X)[k], single.predict_proba(X))
    with pytest.raises(ParameterError, match="one entry for each of the 2 outputs; got 1"):
        clone(make).set_params(class_weight=rules[:1]).fit(X, y)
    with pytest.raises(ParameterError, match="must be a list with one dict for each of the 2 outputs"):
        clone(make).set_params(class_weight=rules[0]).fit(X, y)


def test_the_time_budget_is_shared() -> None:
    X, labels, _ = make_targets()
    model = CommitteeClassifier(time_budget=1e-3, random_state=0).fit(X, labels)
    # Each target gets the prior and the first model, whatever the budget.
    assert [row["target"] for row in model.leaderboard_] == [0, 0, 1, 1, 2, 2]
    assert {own.time_budget for own in model._outputs} == {1e-3}


def test_files_fits_and_formulas(tmp_path: Path) -> None:
    X, _, y = make_targets()
    model = CommitteeClassifier(portfolio=FEW, random_state=0).fit(X, y)
    for strip in (False, True):
        path = tmp_path / f"{strip}.committee"
        save(model, path, strip=strip)
        again = load(path)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert [own.tolist() for own in again.classes_] == [own.tolist() for own in model.classes_]
    np.testing.assert_array_equal(model.predictor().predict(X[:5]), model.predict(X[:5]))
    # A later fit of one target leaves nothing of the several ones, and the reverse.
    model.fit(X, y[:, 0])
    assert not hasattr(model, "n_outputs_")
    assert model.predict(X).shape == (200,)
    assert isinstance(model.score_estimate_, float)
    assert len(model.weights_) == len(model.estimators_)
    model.fit(X, y)
    assert not hasattr(model, "weights_")
    assert not hasattr(model, "score_trace_")
    model._outputs = model._outputs[:1]
    save(model, tmp_path / "damaged.committee")
    with pytest.raises(ModelFileError, match="several targets have an ensemble each"):
        load(tmp_path / "damaged.committee")


def test_certificates_and_cards(tmp_path: Path) -> None:
    X, _, y = make_targets()
    budget = CommitteeClassifier(portfolio=FEW[:2], time_budget=60.0)
    model = committee.certify(budget, X, y)
    found = committee.verify(model, X, y)
    assert found.identical, found
    assert not committee.verify(model, X, y[:, ::-1]).identical
    card = committee.model_card(model)
    assert list(card["scores"]) == ["out-of-fold score of target 0", "out-of-fold score of target 1"]


def test_errors_name_the_target() -> None:
    X, labels, _ = make_targets()
    values = labels.astype(float)
    values[3, 1] = np.nan
    with pytest.raises(DataError, match=r"Input y contains NaN.*\(Target 1\.\)"):
        CommitteeRegressor(portfolio=["linear"]).fit(X, values)
    with pytest.raises(DataError, match="inconsistent numbers of samples"):
        CommitteeClassifier(portfolio=["linear"]).fit(X, labels[:-1])
    model = CommitteeClassifier(portfolio=["linear"], random_state=0).fit(X, labels)
    with pytest.raises(ParameterTypeError, match="distill is for one target, and this model has 3"):
        model.distill(X, labels)
    single: Any = model.estimators_[1]
    assert single.distill(X, labels[:, 1]).predict(X).shape == (200,)
