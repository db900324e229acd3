"""The column beside the target of a new table: queries of a ranking, events of censored times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from committee.cli.task_targets import read_censored_times, read_event_column, read_ranks

if TYPE_CHECKING:
    from committee.cli.report.drift.training_summary import TrainingSummary
    from committee.cli.report.scored_rows import ScoredRows

__all__ = ["BesideColumn", "find_beside"]

_ROLES = {"rank": "query", "survival": "event"}


@dataclass(frozen=True)
class BesideColumn:
    """A column that a target needs beside it.

    Parameters
    ----------
    task : {"rank", "survival"}
        The task.
    column : str or None
        Its name; None for times that are all of events.
    """

    task: str
    column: str | None

    def join(self, scored: ScoredRows, values: pa.ChunkedArray | None) -> ScoredRows:
        """Scored rows with the whole target.

        Parameters
        ----------
        scored : ScoredRows
            With the relevances or times.
        values : pyarrow.ChunkedArray or None
            This column, of all rows of the table.

        Returns
        -------
        ScoredRows
        """
        truth = pa.chunked_array([pa.array(scored.truth)])
        if self.column is None or values is None:
            return replace(scored, outcome=read_censored_times(truth, scored.target, None))
        own = values.take(pa.array(scored.numbers))
        if self.task == "rank":
            return replace(scored, outcome=read_ranks(truth, scored.target, own, self.column))
        return replace(scored, outcome=read_censored_times(truth, scored.target, read_event_column(own, self.column)))


def find_beside(notes: Mapping[str, Any], training: TrainingSummary | None) -> BesideColumn | None:
    """The column beside the target, as the fit named it; None if the task needs none.

    Parameters
    ----------
    notes : mapping
        Of the model file.
    training : TrainingSummary or None
        The training table.

    Returns
    -------
    BesideColumn or None
    """
    role = None if training is None else _ROLES.get(training.task)
    fitted = notes.get("fit")
    if training is None or role is None or not isinstance(fitted, dict):
        return None
    name = fitted.get(role)
    return BesideColumn(training.task, name if isinstance(name, str) else None)
