"""Define a learning problem from a table: features, target, groups, weights and task."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from committee.cli.errors import USAGE, CommandError, suggest
from committee.cli.table import Source
from committee.cli.task_targets import choose_task, order_classes, read_censored_times, read_event_column, read_ranks
from committee.cli.tasks import CLASS_TASKS, TaskKind
from committee.cli.text_dates import read_text_dates
from committee.data.word_encoding import is_free_text

# An integer target with more distinct values than this is a regression target, unless --task is given.
MAX_INTEGER_CLASSES = 20


@dataclass(frozen=True)
class ColumnSummary:
    """Description of one feature.

    Parameters
    ----------
    name : str
        Its name.
    kind : str
        "number", "boolean", "category" or "date".
    n_missing : int
        Rows without a value.
    n_distinct : int
        Distinct values, without missing ones.
    is_calendar : bool
        Whether a date is a day or a timestamp rather than a time of day or a duration.
    """

    name: str
    kind: str
    n_missing: int
    n_distinct: int
    is_calendar: bool = False


@dataclass(frozen=True)
class Roles:
    """Roles of the columns of a table; all others are features.

    Parameters
    ----------
    target : str or None
        The column to predict; None for the target of a bundled table.
    groups : str or None
        Column of groups.
    weights : str or None
        Column of sample weights.
    drop : sequence of str
        Columns to ignore.
    query : str or None
        Column of queries, of a ranking.
    event : str or None
        Column of events, of censored times.
    levels : sequence of str
        Ordered levels of the target.
    """

    target: str | None = None
    groups: str | None = None
    weights: str | None = None
    drop: Sequence[str] = ()
    query: str | None = None
    event: str | None = None
    levels: Sequence[str] = ()


@dataclass(frozen=True)
class LearningProblem:
    """Features and target of a table.

    Parameters
    ----------
    source : str
        Name of the table.
    features : pyarrow.Table
        The features, in order.
    columns : tuple of ColumnSummary
        Descriptions of the features.
    target : str
        Name of the target.
    y : ndarray of shape (n_rows,)
        Its values; of a ranking relevances and queries, of censored times events and times, as structured arrays.
    task : str
        The kind of prediction.
    notices : tuple of str
        Sentences about ignored rows and columns.
    groups : ndarray of shape (n_rows,) or None
        Group number of each row.
    weights : ndarray of shape (n_rows,) or None
        Sample weights.
    levels : tuple
        Classes of an ordinal target, the lowest first.
    together : ndarray of shape (n_rows, n_targets) or None
        All targets of a fit of several; None for a fit of one.
    position : int
        The number of this target among them.
    """

    source: str
    features: pa.Table
    columns: tuple[ColumnSummary, ...]
    target: str
    y: NDArray[Any]
    task: TaskKind
    notices: tuple[str, ...]
    groups: NDArray[np.intp] | None = None
    weights: NDArray[np.float64] | None = None
    levels: tuple[Any, ...] = ()
    together: NDArray[Any] | None = None
    position: int = 0

    @property
    def n_rows(self) -> int:
        """Rows with a known target."""
        return len(self.y)

    @property
    def has_classes(self) -> bool:
        """Whether the target is a class."""
        return self.task in CLASS_TASKS

    @property
    def values(self) -> NDArray[Any]:
        """The target column alone: classes, values, relevances or times."""
        return get_values(self.y)

    def make_fit_target(self, rows: NDArray[np.intp] | slice = slice(None)) -> tuple[NDArray[Any], dict[str, Any]]:
        """The target of some rows as `fit` takes it, with those fitted together, and its further arguments.

        Parameters
        ----------
        rows : ndarray of int or slice
            By default all.

        Returns
        -------
        tuple of ndarray and dict
        """
        if self.together is not None:
            return self.together[rows], {}
        y = self.y[rows]
        return (y["relevance"], {"qid": y["query"]}) if self.task == "rank" else (y, {})

    def count_classes(self) -> dict[str, int]:
        """Rows of each class, most frequent first."""
        labels, counts = np.unique(self.y, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {str(labels[i]): int(counts[i]) for i in order}


def define_problem(source: Source, roles: Roles, task: str) -> LearningProblem:
    """Choose columns, read the target and decide the task.

    Parameters
    ----------
    source : Source
        The table.
    roles : Roles
        Roles of its columns.
    task : str
        "auto" or a task.

    Returns
    -------
    LearningProblem
    """
    task = choose_task(task, roles.query, roles.event, roles.levels)
    table, target = source.table, roles.target or source.target
    if target is None:
        names = table.column_names
        raise CommandError(
            "The column to predict is not named.",
            f"Add --target with one of: {', '.join(names[:12])}{', …' if len(names) > 12 else ''}.",
            USAGE,
        )
    _check_roles(source, target, roles)
    notices: list[str] = []
    table = keep_known_targets(table, target, notices)
    y, decided, levels = _read_task_target(table, target, roles, task)
    groups = None if roles.groups is None else _read_groups(table.column(roles.groups), roles.groups)
    if decided == "rank":
        groups = y["query"].astype(np.intp)  # folds have whole queries
    weights = None if roles.weights is None else _read_weight_column(table.column(roles.weights), roles.weights)
    others = {target, *roles.drop} | ({roles.groups, roles.weights, roles.query, roles.event} - {None})
    features, columns = _choose_features(table.drop_columns(sorted(map(str, others))), notices)
    if not columns:
        raise CommandError(
            f"Except for the target '{target}', no column of '{source.name}' can be used.",
            " ".join(notices) or "A table needs at least one other column.",
        )
    said = tuple(notices)
    return LearningProblem(source.name, features, columns, target, y, decided, said, groups, weights, levels)


def _read_task_target(
    table: pa.Table, target: str, roles: Roles, task: str
) -> tuple[NDArray[Any], TaskKind, tuple[Any, ...]]:
    """The target as an array, its task, and the levels of an ordinal one."""
    column = table.column(target)
    if task == "rank":
        assert roles.query is not None
        return read_ranks(column, target, table.column(roles.query), roles.query), "rank", ()
    if task == "survival":
        events = None if roles.event is None else read_event_column(table.column(roles.event), roles.event)
        return read_censored_times(column, target, events), "survival", ()
    if task == "ordinal":
        y, _ = read_target_column(column, target, "classification")
        return y, "ordinal", order_classes(column, y, target, roles.levels)
    if task == "distribution":
        return read_target_column(column, target, "regression")[0], "distribution", ()
    return *read_target_column(column, target, task), ()


def get_values(y: NDArray[Any]) -> NDArray[Any]:
    """Of a structured target the relevances or times, of any other the target itself.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        The target of a problem.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    names = y.dtype.names
    return y if names is None else y["relevance" if "relevance" in names else "time"]


def _check_roles(source: Source, target: str, roles: Roles) -> None:
    names = source.table.column_names
    given = {"--groups": roles.groups, "--weights": roles.weights, "--query": roles.query, "--event": roles.event}
    if roles.query is not None and roles.groups is not None:
        raise CommandError("The folds of a ranking have whole queries.", "Leave out --groups.", USAGE)
    for name in (target, *roles.drop, *(name for name in given.values() if name is not None)):
        if name not in names:
            several = {one.strip() for one in name.split(",")} <= set(names)
            hint = "Name one column here; fit and tune take several targets." if several else suggest(name, names)
            raise CommandError(f"'{source.name}' has no column '{name}'.", hint, USAGE)
    if target in roles.drop:
        raise CommandError(f"The target '{target}' cannot be dropped.", "Choose another --target.", USAGE)
    for option, column in given.items():
        if column == target:
            raise CommandError(f"{option} cannot be the target '{target}'.", f"Choose another {option}.", USAGE)


def _read_groups(column: pa.ChunkedArray, name: str) -> NDArray[np.intp]:
    if column.null_count:
        raise CommandError(
            f"The --groups column '{name}' is missing in {column.null_count} rows.", "Every row needs a group."
        )
    codes = column.combine_chunks().dictionary_encode()
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    if len(codes.dictionary) < 2:
        raise CommandError(f"All rows are of one group by '{name}'.", "Choose other --groups; two are needed.")
    numbers: NDArray[np.intp] = codes.indices.to_numpy(zero_copy_only=False).astype(np.intp)
    return numbers


def _read_weight_column(column: pa.ChunkedArray, name: str) -> NDArray[np.float64]:
    if name_kind(column.type) not in ("number", "boolean") or pa.types.is_dictionary(column.type):
        raise CommandError(f"The --weights column '{name}' holds no numbers.", "Weights are numbers, 0 or more.")
    weights: NDArray[np.float64] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise CommandError(
            f"The --weights column '{name}' has a missing, negative or infinite value.",
            "Weights are numbers, 0 or more.",
        )
    if not weights.any():
        raise CommandError(f"All weights in '{name}' are zero.", "Choose other --weights.")
    return weights


def keep_known_targets(table: pa.Table, target: str, notices: list[str]) -> pa.Table:
    """The rows that have a target; a notice says how many have none.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    target : str
        One of its columns.
    notices : list of str
        A sentence is added if rows are left out.

    Returns
    -------
    pyarrow.Table
    """
    known = table.column(target).is_valid()
    if pa.types.is_floating(table.schema.field(target).type):
        known = pc.and_(known, pc.fill_null(pc.invert(pc.is_nan(table.column(target))), False))
    n_unknown = table.num_rows - pc.sum(known).as_py()
    if n_unknown == table.num_rows:
        raise CommandError(f"The target '{target}' is missing in every row.", "Choose another --target.")
    if n_unknown:
        notices.append(f"{n_unknown} of {table.num_rows} rows were left out: their target is missing.")
        table = table.filter(known)
    return table


def read_target_column(column: pa.ChunkedArray, name: str, task: str) -> tuple[NDArray[Any], TaskKind]:
    """The target as an array, and the task that it is for."""
    kind = name_kind(column.type)
    if kind is None or kind == "date":
        raise CommandError(
            f"The target '{name}' has the type {column.type}, which cannot be predicted.",
            "A target must hold numbers, booleans or text.",
        )
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
        kind = name_kind(column.type)
    n_distinct = pc.count_distinct(column).as_py()
    if n_distinct < 2:
        raise CommandError(
            f"The target '{name}' has the same value in every row: {column[0].as_py()!r}.", "Choose another --target."
        )
    if task == "auto":
        whole = pa.types.is_integer(column.type)
        task = (
            "regression" if kind == "number" and not (whole and n_distinct <= MAX_INTEGER_CLASSES) else "classification"
        )
    if task == "classification":
        if pa.types.is_floating(column.type) and n_distinct > MAX_INTEGER_CLASSES:
            raise CommandError(
                f"The target '{name}' is numeric with {n_distinct} distinct values, not a class.",
                "Use --task regression.",
                USAGE,
            )
        return np.asarray(column.to_pylist()), "classification"
    if kind != "number":
        raise CommandError(
            f"The target '{name}' holds no numbers: {column[0].as_py()!r}, for instance.",
            "Write it as numbers, or use --task classification.",
            USAGE,
        )
    y = column.cast(pa.float64()).to_numpy()
    if not np.isfinite(y).all():
        raise CommandError(f"The target '{name}' holds an infinite value.", "Correct or remove that row.")
    return y, "regression"


def _choose_features(table: pa.Table, notices: list[str]) -> tuple[pa.Table, tuple[ColumnSummary, ...]]:
    chosen: dict[str, pa.ChunkedArray] = {}
    described: list[ColumnSummary] = []
    for name in table.column_names:
        column = table.column(name)
        kind, is_calendar = name_kind(column.type), is_calendar_type(column.type)
        if kind is None and not pa.types.is_null(column.type):
            notices.append(f"Column '{name}' is left out: its type {column.type} is not supported.")
            continue
        if kind == "category" and (dates := read_text_dates(column)) is not None:
            column, kind, is_calendar = dates, "date", True
        if kind != "date":
            column = write_numbers(column)
        n_missing = column.null_count
        if pa.types.is_floating(column.type):
            n_missing += pc.sum(pc.is_nan(column)).as_py() or 0
        if n_missing == table.num_rows:
            notices.append(f"Column '{name}' is left out: it is missing in every row.")
            continue
        assert kind is not None
        distinct = column.unique().drop_null()
        n_distinct = len(distinct)
        if kind == "category" and n_distinct == table.num_rows and not _holds_free_text(distinct):
            notices.append(f"Column '{name}' is different in every row; --drop '{name}' if it is an identifier.")
        chosen[name] = column
        described.append(ColumnSummary(name, kind, n_missing, n_distinct, is_calendar))
    return pa.table(chosen).combine_chunks(), tuple(described)


def _holds_free_text(distinct: pa.Array) -> bool:
    """Whether distinct values, one for each row, are texts of several words and no identifiers."""
    return bool(pa.types.is_string(distinct.type)) and is_free_text(distinct.to_pylist(), len(distinct))


def write_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert dates, times and decimals to float64; other columns are not changed.

    A date or a time becomes seconds (since 1970, since midnight, or of a duration) whatever its unit, so that a chart,
    or a model that was fitted on seconds, gets the same numbers from every file format.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        As read.

    Returns
    -------
    pyarrow.ChunkedArray
        Numbers in place of dates, times and decimals.
    """
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return column.cast(pa.float64())
    if name_kind(kind) != "date":
        return column
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s"))
    elif pa.types.is_time(kind):
        column = column.cast(pa.time64("us" if kind.bit_width == 32 else kind.unit))
    per_second = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
    return pc.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), per_second)


def name_kind(kind: pa.DataType) -> str | None:
    """The kind of a column by its type; None if it is not supported.

    Parameters
    ----------
    kind : pyarrow.DataType
        Type of the column.

    Returns
    -------
    str or None
        "number", "boolean", "category" or "date".
    """
    types = pa.types
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "category"
    if types.is_dictionary(kind):
        return "category" if name_kind(kind.value_type) in ("category", "number", "boolean") else None
    if types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind) or types.is_duration(kind):
        return "date"
    return None


def is_calendar_type(kind: pa.DataType) -> bool:
    """Whether a column of a type holds days or timestamps.

    Parameters
    ----------
    kind : pyarrow.DataType
        Type of the column.

    Returns
    -------
    bool
        False for times of day and durations.
    """
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))
