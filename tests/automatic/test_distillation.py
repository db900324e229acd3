"""Distillation: an ordinary estimator comes out, and its scores are those of rows that nobody was fitted on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification, make_regression

from committee import CommitteeClassifier, CommitteeRegressor, load, save
from committee.automatic.students import DistillationData, Student
from committee.exceptions import DataError, ParameterError

PORTFOLIO = ["linear", "extra trees"]


def make_table(n_rows: int = 400) -> tuple[Any, Any]:
    X, y = make_classification(n_rows, 8, n_informative=5, n_classes=3, random_state=0)
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)])
    table["kind"] = pd.Categorical(np.where(X[:, 0] > 0, "big", "small"))
    return table, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("student", ["boosting", "forest"])
def test_the_student_is_an_ordinary_classifier(student: str, tmp_path: Path) -> None:
    X, y = make_table()
    model = CommitteeClassifier(portfolio=PORTFOLIO, random_state=0).fit(X, y)
    before = model.predict_proba(X)
    small = model.distill(X, y, student=student, max_leaf_nodes=12)
    assert (
        type(small).__name__ == {"boosting": "GradientBoostingClassifier", "forest": "RandomForestClassifier"}[student]
    )
    assert small.max_leaf_nodes == 12
    assert small.classes_.tolist() == ["a", "b", "c"]
    assert small.predict_proba(X).shape == (400, 3)
    assert small.score(X, y) > 0.8
    assert list(small.distillation_) == ["committee", "student", "loss", "error", "n_rows"]
    assert small.distillation_["n_rows"] == 80
    assert small.distillation_["loss"] == small.distillation_["committee"] - small.distillation_["student"]
    # The committee itself is unchanged.
    np.testing.assert_array_equal(model.predict_proba(X), before)
    save(small, tmp_path / "small.model")
    again = load(tmp_path / "small.model")
    assert again.distillation_ == small.distillation_
    np.testing.assert_array_equal(again.predict_proba(X), small.predict_proba(X))
    assert not hasattr(small.fit(X, y), "distillation_")


def test_the_student_of_values() -> None:
    X, y = make_regression(300, 5, noise=20.0, random_state=0)
    model = CommitteeRegressor(portfolio=PORTFOLIO, metric="r2", random_state=0).fit(X, y)
    small = model.distill(X, y, n_refits=2)
    assert type(small).__name__ == "GradientBoostingRegressor"
    assert small.distillation_["n_rows"] == 120
    assert 0.5 < small.distillation_["student"] < small.distillation_["committee"] < 1.0


def test_scores_on_noise_are_at_chance() -> None:
    # A student of out-of-fold predictions learns the targets of other folds; its score must not gain by that.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    model = CommitteeClassifier(portfolio=["extra trees"], random_state=0).fit(X, y)
    small = model.distill(X, y, n_refits=5)
    assert small.distillation_["n_rows"] == 300
    assert small.distillation_["student"] < -np.log(2) + 0.01


def test_equal_seeds_give_equal_students() -> None:
    X, y = make_table(200)
    model = CommitteeClassifier(portfolio=PORTFOLIO, random_state=3).fit(X, y, groups=np.arange(200) // 2)
    first, second = (model.distill(X, y, groups=np.arange(200) // 2, n_estimators=20) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    assert first.distillation_ == second.distillation_


def test_shares_of_classes_become_weights_of_copies() -> None:
    teacher = np.array([[0.5, 0.5], [1.0, 0.0], [np.nan, np.nan]])
    data = DistillationData(
        None, np.array(["b", "a", "b"]), teacher, np.array([2.0, 1.0, 3.0]), np.array(["a", "b"]), 0.5
    )
    rows, labels, weights = data.repeat_rows()
    assert rows.tolist() == [0, 0, 1, 2]
    assert labels.tolist() == ["a", "b", "a", "b"]
    assert weights is not None
    assert weights.tolist() == [0.5, 1.5, 1.0, 3.0]


def test_the_loss_is_the_cross_entropy_with_the_shares() -> None:
    X, y = make_classification(200, 4, random_state=0)
    teacher = np.random.default_rng(0).dirichlet([3.0, 2.0], 200)
    data = DistillationData(X, y, teacher, None, np.array([0, 1]), 0.0)
    fitted = Student("boosting", True, {"n_estimators": 1, "random_state": 0, "max_depth": 1}).fit(data, 0)
    assert fitted._baseline[0] == pytest.approx(np.log(teacher[:, 1].sum() / teacher[:, 0].sum()))


def test_refusals() -> None:
    X, y = make_table(120)
    with pytest.raises(Exception, match="not fitted"):
        CommitteeClassifier().distill(X, y)
    model = CommitteeClassifier(portfolio=["linear"], random_state=0).fit(X, y)
    with pytest.raises(DataError, match="needs the rows of the fit, 120"):
        model.distill(X.iloc[::-1], y[::-1])
    with pytest.raises(DataError, match="needs the rows of the fit"):
        model.distill(X[:100], y[:100])
    with pytest.raises(ParameterError, match="student must be one of"):
        model.distill(X, y, student="linear")
    with pytest.raises(ParameterError, match="n_refits must be an int >= 1"):
        model.distill(X, y, n_refits=0)
    with pytest.raises(ParameterError, match="at most the number of folds, 5"):
        model.distill(X, y, n_refits=6)
    with pytest.raises(ParameterError, match="leave early_stopping out"):
        model.distill(X, y, early_stopping=True)


def test_a_student_reads_text() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=200)
    words = np.array([["see", "you", "at", "home"], ["win", "a", "free", "prize"]])
    X = pd.DataFrame({"text": [" ".join(rng.choice(words[k], 6)) for k in y], "x": rng.normal(size=200)})
    model = CommitteeClassifier(portfolio=["linear", "boosting"], random_state=0).fit(X, y)
    small = model.distill(X, y)
    assert small._schema.inputs.kinds == ("text", "number")
    assert small.score(X, y) > 0.95
    assert small.distillation_["student"] > -0.3
