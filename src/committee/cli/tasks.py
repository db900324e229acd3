"""The tasks of the command: what is predicted, by which estimator, and against which naive guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["CLASS_TASKS", "COLUMN_TASKS", "TASKS", "TaskKind", "TaskTraits"]

TaskKind = Literal["classification", "regression", "rank", "survival", "ordinal", "distribution"]

#: Tasks whose target is a class.
CLASS_TASKS: frozenset[str] = frozenset({"classification", "ordinal"})


@dataclass(frozen=True)
class TaskTraits:
    """What the pages and sentences of the command say about a task.

    Parameters
    ----------
    estimator : str
        The ``--estimator`` that is fitted if none is named.
    naive : str
        The naive guess, in the words of a sentence.
    has_errors : bool
        Whether a prediction has the unit of the target, so that it has an error.
    """

    estimator: str
    naive: str
    has_errors: bool = True


TASKS: dict[TaskKind, TaskTraits] = {
    "classification": TaskTraits("committee", "the most frequent class"),
    "regression": TaskTraits("committee", "the mean"),
    "rank": TaskTraits("gradient-boosting", "any order of the rows of a query", has_errors=False),
    "survival": TaskTraits("gradient-boosting", "one survival curve for all rows, that", has_errors=False),
    "ordinal": TaskTraits("gradient-boosting", "the most frequent level"),
    "distribution": TaskTraits("gradient-boosting", "the distribution"),
}
#: The tasks that need more than a target column, by the option that names it.
COLUMN_TASKS: dict[str, TaskKind] = {"--query": "rank", "--event": "survival", "--levels": "ordinal"}
