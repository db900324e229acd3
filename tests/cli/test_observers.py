"""Observers of a fit: which events they receive, and how often."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import brier_score_loss

from committee.cli.cross_validation import CrossValidationRun
from committee.cli.errors import CommandError
from committee.cli.fit import fit_problem
from committee.cli.fit_observer import FitObserver, FitObserverGroup
from committee.cli.model_setup import ModelSetup
from committee.cli.plan import Plan
from committee.cli.problem import Roles, define_problem
from committee.cli.report.fold_observer import measure_brier
from committee.cli.table import read_source


class Recorder(FitObserver):
    """Records all events."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.folds: list[NDArray[np.intp]] = []
        self.scores: list[str] = []

    def on_start(self) -> None:
        self.events.append("start")

    def on_fit_end(self) -> None:
        self.events.append("fit")

    def on_fold_end(self, model: Any, test: NDArray[np.intp]) -> None:
        assert hasattr(model, "classes_")
        self.events.append("fold")
        self.folds.append(test)

    def on_score(self, text: str) -> None:
        self.scores.append(text)


@pytest.mark.parametrize("settings", [{}, {"max_depth": 2}], ids=["search", "fixed"])
def test_events_of_a_cross_validation(settings: dict[str, Any]) -> None:
    problem = define_problem(read_source("iris", "utf-8"), Roles(), "auto")
    plan = Plan("tree", settings, folds=3, seed=0, jobs=1)
    one, other = Recorder(), Recorder()
    results = fit_problem(problem, plan, FitObserverGroup([one, other]))
    assert one.events == other.events
    assert one.events[0] == "start"
    assert one.events.count("start") == 1
    assert one.events.count("fit") == CrossValidationRun(ModelSetup(problem, plan)).n_fits
    assert sorted(np.concatenate(one.folds).tolist()) == list(range(problem.n_rows))
    assert len(one.folds) == len(one.scores) == 3
    assert one.scores[-1] == f"accuracy {results.comparisons['accuracy'].model.mean:.4f}"


def test_events_of_automl() -> None:
    problem = define_problem(read_source("iris", "utf-8"), Roles(), "auto")
    plan = Plan("committee", {"n_members": 1, "portfolio": ["linear"]}, folds=3, seed=0, jobs=1)
    recorder = Recorder()
    results = fit_problem(problem, plan, recorder)
    assert recorder.events == ["start", "fit"]
    assert results.leaderboard is not None


def test_a_plan_that_is_not_valid_does_not_start() -> None:
    problem = define_problem(read_source("iris", "utf-8"), Roles(), "auto")
    recorder = Recorder()
    with pytest.raises(CommandError, match="no parameter 'depth'"):
        fit_problem(problem, Plan("tree", {"depth": 2}, folds=3, seed=0, jobs=1), recorder)
    assert recorder.events == []


def test_the_brier_score_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for n_classes in (2, 3):
        probabilities = rng.dirichlet(np.ones(n_classes), size=50)
        codes = rng.integers(0, n_classes, size=50)
        ours = measure_brier(probabilities, np.eye(n_classes)[codes])
        if n_classes == 2:
            assert ours == pytest.approx(brier_score_loss(codes, probabilities[:, 1]))
        else:  # the sum over the classes
            assert ours == pytest.approx(((probabilities - np.eye(3)[codes]) ** 2).sum(axis=1).mean())
    # A class without a column had probability zero: here, of the sum over three classes.
    assert measure_brier(np.array([[0.5, 0.25, 0.25]]), np.zeros((1, 3))) == 1.0 + 0.375
