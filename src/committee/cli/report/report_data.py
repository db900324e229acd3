"""All that a report is written from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.metrics import Metric
from committee.typing import FloatArray

if TYPE_CHECKING:
    from committee.cli.cross_validation import Plan
    from committee.cli.problem import Problem
    from committee.cli.report.fold_observer import Witness
    from committee.cli.results import Findings

__all__ = ["Evidence"]


@dataclass(frozen=True)
class Evidence:
    """What was found, and what models said of rows that they had not seen.

    Parameters
    ----------
    findings : Findings
        What came of the study.
    witness : Witness
        Who watched it.
    """

    findings: Findings
    witness: Witness

    @property
    def problem(self) -> Problem:
        """What was learnt."""
        return self.witness.problem

    @property
    def plan(self) -> Plan:
        """How."""
        return self.witness.plan

    @property
    def metric(self) -> Metric:
        """What models are judged by."""
        return self.witness.metric

    @cached_property
    def classes(self) -> NDArray[Any] | None:
        """All classes, sorted; None for a quantity."""
        return np.unique(self.problem.y) if self.problem.task == "classification" else None

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Rows that some model which had not seen them answered for."""
        answers = self.findings.answers
        if answers.dtype.kind != "f":
            return np.arange(len(answers))
        return np.flatnonzero(np.isfinite(answers if answers.ndim == 1 else answers[:, 0]))

    @cached_property
    def truth(self) -> NDArray[Any]:
        """The target of these rows."""
        return self.problem.y[self.rows]

    @cached_property
    def shares(self) -> FloatArray | None:
        """Probabilities of the classes for these rows, where the estimator gives any."""
        answers = self.findings.answers
        if self.classes is None or answers.ndim == 1:
            return None
        return np.asarray(answers[self.rows], dtype=np.float64)

    @cached_property
    def predicted(self) -> NDArray[Any]:
        """Class or value that was predicted for these rows."""
        if self.shares is None:
            said = self.findings.answers[self.rows]
            return np.asarray(said, dtype=np.float64) if self.classes is None else said
        assert self.classes is not None
        return np.asarray(self.classes.take(self.shares.argmax(axis=1)))
