"""The data of a report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.metrics import ScoringMetric
from committee.typing import FloatArray

if TYPE_CHECKING:
    from committee.cli.model_setup import Plan
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
    def classes(self) -> NDArray[Any] | None:
        """All classes, sorted; None for regression."""
        return np.unique(self.problem.y) if self.problem.task == "classification" else None

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Indices of the rows with an out-of-fold prediction."""
        predictions = self.results.predictions
        if predictions.dtype.kind != "f":
            return np.arange(len(predictions))
        return np.flatnonzero(np.isfinite(predictions if predictions.ndim == 1 else predictions[:, 0]))

    @cached_property
    def truth(self) -> NDArray[Any]:
        """The target of these rows."""
        return self.problem.y[self.rows]

    @cached_property
    def probabilities(self) -> FloatArray | None:
        """Probabilities of the classes for these rows, if the estimator has them."""
        predictions = self.results.predictions
        if self.classes is None or predictions.ndim == 1:
            return None
        return np.asarray(predictions[self.rows], dtype=np.float64)

    @cached_property
    def predicted(self) -> NDArray[Any]:
        """Predicted class or value of these rows."""
        if self.probabilities is None:
            predicted = self.results.predictions[self.rows]
            return np.asarray(predicted, dtype=np.float64) if self.classes is None else predicted
        assert self.classes is not None
        return np.asarray(self.classes.take(self.probabilities.argmax(axis=1)))
