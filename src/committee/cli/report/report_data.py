"""The data of a report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from committee.cli.metrics import ScoringMetric
from committee.cli.report.scored_rows import ScoredRows

if TYPE_CHECKING:
    from committee.cli.plan import Plan
    from committee.cli.problem import LearningProblem
    from committee.cli.report.fold_observer import FoldObserver
    from committee.cli.results import FitResults

__all__ = ["ReportData"]


@dataclass(frozen=True)
class ReportData:
    """Results of a fit, with out-of-fold predictions and measurements.

    Parameters
    ----------
    results : FitResults
        The results of the fit.
    observer : FoldObserver
        The observer of the fit.
    """

    results: FitResults
    observer: FoldObserver

    @property
    def problem(self) -> LearningProblem:
        """Features and target."""
        return self.observer.problem

    @property
    def plan(self) -> Plan:
        """The options of the fit."""
        return self.observer.plan

    @property
    def metric(self) -> ScoringMetric:
        """The first metric."""
        return self.observer.metric

    @cached_property
    def scored(self) -> ScoredRows:
        """The rows that have an out-of-fold prediction, with it."""
        problem, predictions = self.problem, self.results.predictions
        classes = np.unique(problem.y) if problem.has_classes else None
        rows = np.arange(len(predictions))
        if predictions.dtype.kind == "f":
            rows = np.flatnonzero(np.isfinite(predictions if predictions.ndim == 1 else predictions[:, 0]))
        probabilities = None
        predicted = predictions[rows]
        if classes is None:
            predicted = np.asarray(predicted, dtype=np.float64)
        elif predictions.ndim > 1:
            probabilities = np.asarray(predicted, dtype=np.float64)
            predicted = classes.take(probabilities.argmax(axis=1))
        return ScoredRows(
            target=problem.target,
            estimator=self.results.estimator,
            truth=problem.values[rows],
            predicted=predicted,
            probabilities=probabilities,
            classes=classes,
            features=problem.features,
            numbers=rows,
            calendar=frozenset(column.name for column in problem.columns if column.is_calendar),
            seed=self.plan.seed,
        )
