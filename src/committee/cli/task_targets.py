"""Targets of rankings, of censored times and of ordered levels, from the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from committee.cli.errors import USAGE, CommandError
from committee.cli.tasks import COLUMN_TASKS

__all__ = ["choose_task", "order_classes", "read_censored_times", "read_event_column", "read_ranks"]

_TRUE, _FALSE = ("true", "yes", "t", "y", "1", "1.0"), ("false", "no", "f", "n", "0", "0.0")
# The engine's gains are 2^y - 1.
_MOST_RELEVANT = 31


def choose_task(task: str, query: str | None, event: str | None, levels: Sequence[str]) -> str:
    """The task that the options of further columns imply, checked against ``--task``.

    Parameters
    ----------
    task : str
        Value of ``--task``.
    query, event : str or None
        Values of ``--query`` and ``--event``.
    levels : sequence of str
        Value of ``--levels``.

    Returns
    -------
    str
        A task, or "auto".
    """
    given = {"--query": query, "--event": event, "--levels": levels or None}
    for option, value in given.items():
        implied = COLUMN_TASKS[option]
        if value is None:
            continue
        if task == "auto":
            task = implied
        elif task != implied:
            raise CommandError(
                f"{option} is for --task {implied}; the task is {task}.", f"Leave out {option} or --task.", USAGE
            )
    if task == "rank" and query is None:
        raise CommandError(
            "--task rank needs the query of each row.",
            "Name its column with --query; rows of the same query are put in order.",
            USAGE,
        )
    return task


def read_ranks(column: pa.ChunkedArray, name: str, queries: pa.ChunkedArray, query: str) -> NDArray[Any]:
    """Relevances and queries as a structured array.

    Parameters
    ----------
    column, queries : pyarrow.ChunkedArray
        The relevances, and the query of each row.
    name, query : str
        Names of these columns.

    Returns
    -------
    ndarray of shape (n_rows,)
        With the fields ``relevance`` and ``query``, a number for each query in the order of appearance.
    """
    relevance = _read_numbers(column, name, "relevances, whole numbers from 0 on")
    if len(relevance) and (relevance.min() < 0.0 or relevance.max() > _MOST_RELEVANT):
        raise CommandError(
            f"The target '{name}' of a ranking holds relevances from 0 to {_MOST_RELEVANT}; it has "
            f"{relevance.min():g} to {relevance.max():g}.",
            "Divide them into grades, for instance 0 to 4.",
        )
    if queries.null_count:
        raise CommandError(f"The --query column '{query}' is missing in {queries.null_count} rows.", "Complete it.")
    codes = queries.combine_chunks().dictionary_encode()
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    made = np.empty(len(relevance), dtype=[("relevance", "<f8"), ("query", "<i8")])
    made["relevance"], made["query"] = relevance, codes.indices.to_numpy(zero_copy_only=False)
    if int(made["query"].max()) < 1:
        raise CommandError(f"All rows are of one query by '{query}'.", "Choose another --query; two are needed.")
    return made


def read_censored_times(column: pa.ChunkedArray, name: str, event: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Censored times as a structured array.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The times.
    name : str
        Name of the column.
    event : ndarray of bool or None
        Whether the event of each row was observed; None: of all.

    Returns
    -------
    ndarray of shape (n_rows,)
        With the fields ``event`` and ``time``.
    """
    times = _read_numbers(column, name, "times, numbers from 0 on")
    if len(times) and times.min() < 0.0:
        raise CommandError(f"The times in '{name}' must not be negative; one is {times.min():g}.", "Correct that row.")
    made = np.empty(len(times), dtype=[("event", "?"), ("time", "<f8")])
    made["event"], made["time"] = True if event is None else event, times
    if not made["event"].any():
        raise CommandError("No row has an event: all times are censored.", "Check the --event column.")
    return made


def read_event_column(column: pa.ChunkedArray, name: str) -> NDArray[np.bool_]:
    """Whether the event of each row was observed: booleans, 1 and 0, or words such as yes and no.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The column.
    name : str
        Its name.

    Returns
    -------
    ndarray of bool of shape (n_rows,)
    """
    if column.null_count:
        raise CommandError(
            f"The --event column '{name}' is missing in {column.null_count} rows.",
            "Write 0 for rows that are censored.",
        )
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=bool)
    words = [str(value).strip().lower() for value in column.to_pylist()]
    strange = next((word for word in words if word not in _TRUE and word not in _FALSE), None)
    if strange is not None:
        raise CommandError(
            f"The --event column '{name}' must say whether the event was observed; got {strange!r}.",
            "Write 1 (or true, yes) for an event and 0 (or false, no) for a censored row.",
        )
    return np.array([word in _TRUE for word in words], dtype=bool)


def order_classes(column: pa.ChunkedArray, y: NDArray[Any], name: str, given: Sequence[str]) -> tuple[Any, ...]:
    """The levels of an ordinal target, the lowest first.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The target as read.
    y : ndarray of shape (n_rows,)
        Its classes.
    name : str
        Name of the column.
    given : sequence of str
        Value of ``--levels``; empty: the order of an ordered category, else that of numbers.

    Returns
    -------
    tuple
        Values of the type of y.
    """
    found = list(dict.fromkeys(np.unique(y).tolist()))
    if given:
        spelt = {str(one): one for one in found}
        levels = tuple(spelt.get(one, _read_level(one, y)) for one in given)
        unknown = [one for one in found if one not in levels]
        if unknown:
            raise CommandError(
                f"The target '{name}' has the level '{unknown[0]}', which is not in --levels.",
                f"Name all levels, the lowest first: --levels {','.join(map(str, found))}, in their order.",
                USAGE,
            )
        return levels
    if pa.types.is_dictionary(column.type) and column.type.ordered:
        chunk = column.combine_chunks()
        chunk = chunk.chunk(0) if isinstance(chunk, pa.ChunkedArray) else chunk
        known = chunk.dictionary.to_pylist()
        return tuple(one for one in known if one in set(found))
    if y.dtype.kind in "OU":
        raise CommandError(
            f"The levels of '{name}' are text, and their order is not known.",
            f"Name them, the lowest first: --levels {','.join(map(str, found[:8]))}, in their order.",
            USAGE,
        )
    return tuple(found)


def _read_level(text: str, y: NDArray[Any]) -> Any:
    """A level that no row has, in the type of the others."""
    if y.dtype.kind in "OU":
        return text
    try:
        return y.dtype.type(float(text)).item()
    except ValueError:
        raise CommandError(
            f"The level '{text}' of --levels is not a number.", "Write the levels as they are.", USAGE
        ) from None


def _read_numbers(column: pa.ChunkedArray, name: str, what: str) -> NDArray[np.float64]:
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise CommandError(
            f"The target '{name}' must hold {what}; its type is {kind}.", "Choose another --target.", USAGE
        )
    values: NDArray[np.float64] = pc.cast(column, pa.float64()).to_numpy()
    if not np.isfinite(values).all():
        raise CommandError(f"The target '{name}' holds an infinite value.", "Correct or remove that row.")
    return values
