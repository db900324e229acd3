"""The second layer of committees: its features, who has one, model files, exports and time budgets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from committee import CommitteeClassifier, CommitteeRegressor, load, save
from committee.automatic import portfolio_fits, stacked_member
from committee.automatic.presets import PRESETS
from committee.automatic.stacked_member import StackedMember, make_stack
from committee.ensembles.combining.out_of_fold import MemberFit
from committee.ensembles.combining.training_set import TrainingSet

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
X[:, 3] = RNG.integers(0, 3, 300)
VALUES = 5.0 + X[:, 0] * X[:, 1] + (X[:, 3] == 1) + 0.1 * RNG.normal(size=300)
CLASSES = np.digitize(VALUES, np.quantile(VALUES, [0.3, 0.7]))
NAMES = ["stacked boosting", "stacked extra trees"]
FEW = ("extra trees", "linear", "boosting")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best preset with few models, in few folds, on few rows."""
    preset = replace(PRESETS["best"], names=FEW, n_folds=3, n_trees=20, rounds=(30,), has_slow=False)
    monkeypatch.setattr("committee.automatic.base.find_preset", lambda *table: preset)
    monkeypatch.setattr(stacked_member, "_MIN_ROWS", 300)
    monkeypatch.setattr(portfolio_fits, "_MIN_PARALLEL_ROWS", 100)


def fit(classify: bool, y: Any = None, **params: Any) -> Any:
    kind = CommitteeClassifier if classify else CommitteeRegressor
    y = (CLASSES if classify else VALUES) if y is None else y
    return kind(preset="best", categorical_features=[3], random_state=1, **params).fit(X, y)


def list_names(model: Any) -> list[str]:
    return sorted(row["name"] for row in model.leaderboard_ if "stacked" in row["name"])


@pytest.mark.parametrize("classify", [True, False])
def test_a_second_layer(classify: bool, small: None, tmp_path: Path) -> None:
    model, predict = fit(classify, n_jobs=1), "predict_proba" if classify else "predict"
    assert list_names(model) == NAMES
    stacked = [one for one in model.estimators_ if isinstance(one, StackedMember)]
    assert stacked
    wanted = getattr(model, predict)(X)
    np.testing.assert_array_equal(getattr(fit(classify, n_jobs=2), predict)(X), wanted)
    np.testing.assert_array_equal(getattr(model, predict)(X[17:18])[0], wanted[17])
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(getattr(load(tmp_path / "model"), predict)(X), wanted)
    np.testing.assert_allclose(getattr(model.predictor(), predict)(X), wanted, rtol=0, atol=1e-10)


def test_two_classes_have_one_column_of_each_base(small: None) -> None:
    model = fit(True, y=CLASSES > 0)
    member = next(one for one in model.estimators_ if isinstance(one, StackedMember))
    assert len(member.bases) == len(FEW)
    assert member._widen(X).shape == (300, 4 + len(FEW))
    np.testing.assert_array_equal(member.predict(X), member.predict_proba(X).argmax(axis=1))
    np.testing.assert_allclose(model.predictor().predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-10)


def test_models_that_are_named_or_counted_have_none(small: None) -> None:
    assert not list_names(fit(False, portfolio=["linear", "extra trees"]))
    assert not list_names(fit(False, n_members=2))


def test_a_budget_that_is_spent(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not list_names(fit(False, time_budget=1e-9))
    assert list_names(fit(False, time_budget=1e9)) == NAMES


def test_only_the_best_preset_has_one() -> None:
    assert [name for name, preset in PRESETS.items() if preset.has_stack] == ["best"]


def test_tables_without_a_second_layer() -> None:
    def make(n_rows: int, names: tuple[str, ...], table: Any = None, last: float = 0.5) -> Any:
        predictions = np.full((n_rows, 1), 0.5)
        predictions[-1] = last
        members = [MemberFit(name, None, predictions=predictions) for name in names]
        table = np.zeros((n_rows, 2)) if table is None else table
        return make_stack(members, TrainingSet(table, np.zeros(n_rows)))

    both = ("boosting", "boosting", "linear", "prior", "neighbours", "linear of words")
    assert make(2000, both).training.X.shape == (2000, 4)
    assert make(1999, both) is None
    assert make(2000, ("boosting", "prior")) is None
    assert make(2000, both, csr_matrix((2000, 2))) is None
    assert make(2000, both, last=np.nan) is None
