"""AutoGluon as a contender of the quality benchmark, with a stand-in for its predictor."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from benchmarks import quality_jobs
from benchmarks.quality_autogluon import DEFAULTS, KEPT, TARGET, AutoGluonModel
from benchmarks.quality_jobs import evaluate, make_model
from committee import CommitteeClassifier

pd = pytest.importorskip("pandas")


class StandIn:
    """Answers with the frequencies or the mean of the target; keeps what it was given."""

    made: list[StandIn]

    def __init__(self, **given: Any) -> None:
        self.given, self.folder = given, Path(given["path"])
        self.made.append(self)

    def fit(self, table: Any, **given: Any) -> None:
        self.asked, self.dtypes = given, table.dtypes
        self.y = table[TARGET]
        (self.folder / "model").write_text("fitted")

    def predict(self, table: Any) -> Any:
        return pd.Series(self.y.mean(), index=table.index)

    def predict_proba(self, table: Any) -> Any:
        shares = self.y.value_counts(normalize=True).sort_index(ascending=False)
        return pd.DataFrame([shares] * len(table), index=table.index)

    def leaderboard(self, silent: bool) -> Any:
        assert silent
        assert (self.folder / "model").exists()
        return pd.DataFrame([dict.fromkeys(KEPT, 1.0) | {"model": "mean", "can_infer": True}])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[StandIn]:
    module: Any = ModuleType("autogluon.tabular")
    module.TabularPredictor, StandIn.made = StandIn, []
    monkeypatch.setitem(sys.modules, "autogluon", ModuleType("autogluon"))
    monkeypatch.setitem(sys.modules, "autogluon.tabular", module)
    return StandIn.made


def give_split(monkeypatch: pytest.MonkeyPatch, y: Any) -> None:
    """The benchmark reads this target, with a column of categories, three quarters of it for training."""
    table = pd.DataFrame({"color": pd.Categorical(["red", "blue"] * (len(y) // 2))})
    cut = len(y) * 3 // 4
    split = (table[:cut], table[cut:], y[:cut], y[cut:])
    monkeypatch.setattr(quality_jobs, "read_split", lambda *_: split)


@pytest.mark.parametrize(
    ("y", "name", "problem", "metric"),
    [
        (np.array([0, 0, 0, 1] * 4), "sonar", "binary", "log_loss"),
        (np.array([0, 0, 1, 2] * 4), "vowel", "multiclass", "log_loss"),
        (np.array([0.0, 0, 0, 1] * 4), "boston", "regression", "root_mean_squared_error"),
    ],
)
def test_a_fit_gets_cores_metric_and_categories(
    made: list[StandIn], monkeypatch: pytest.MonkeyPatch, y: Any, name: str, problem: str, metric: str
) -> None:
    give_split(monkeypatch, y)
    found = evaluate("AutoGluon time_limit=40", name, 0, 8000, 2, False)
    (model,) = made
    assert (model.given["problem_type"], model.given["eval_metric"]) == (problem, metric)
    assert model.asked == {"presets": "best_quality", "time_limit": 40, "num_cpus": 2, "num_gpus": 0}
    assert isinstance(model.dtypes["color"], pd.CategoricalDtype)
    assert found["board"] == [{**dict.fromkeys(KEPT, 1.0), "model": "mean"}]
    assert "estimate" not in found
    assert not model.folder.exists()
    # Class 0 is the most frequent, though the stand-in names it last.
    shares = np.bincount(y.astype(int)) / len(y)
    expected = -(shares * np.log(shares)).sum() if problem != "regression" else np.sqrt(0.1875)
    assert found["loss"] == pytest.approx(expected)


@pytest.mark.usefixtures("made")
def test_words_replace_the_defaults() -> None:
    assert make_model("AutoGluon", True, None, 2).params == DEFAULTS
    model = make_model("AutoGluon presets=medium_quality verbosity=2", False, None, 3)
    assert isinstance(model, AutoGluonModel)
    assert model.params == {"presets": "medium_quality", "time_limit": 600, "verbosity": 2}
    assert (model.threads, model.classify) == (3, False)


def test_presets_of_this_library_are_given_as_words() -> None:
    model = make_model("committee preset=best time_budget=120", True, None, 2)
    assert isinstance(model, CommitteeClassifier)
    assert (model.preset, model.time_budget, model.n_jobs) == ("best", 120, 2)
