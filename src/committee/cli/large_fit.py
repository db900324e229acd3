"""`committee fit` and `committee bin` on tables that do not fit in memory: they are read in blocks."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.markup import escape

from committee.cli.errors import USAGE, CommandError
from committee.cli.output import show_size, write_model
from committee.cli.problem import Roles, read_target_column
from committee.cli.show import make_console, show_files
from committee.cli.table import may_be_large
from committee.cli.tasks import TaskKind
from committee.data.blocks.opened import OpenedSource, load_block
from committee.data.estimates import FitEstimate, estimate_fit
from committee.data.memory import measure_available_memory
from committee.data.opening import open_table
from committee.data.sources.parquet import FILE_ENDINGS
from committee.data.spilling import memory_limit, read_bytes
from committee.exceptions import CommitteeError, DataError

if TYPE_CHECKING:
    from rich.console import Console

    from committee.cli.fit_places import FitPlaces
    from committee.cli.plan import Plan
    from committee.typing import AnyArray

__all__ = ["LargeFit", "LargeTable", "fit_large", "is_too_large", "write_bins"]

_SPREAD = 4.0
"""Bytes in memory for each byte of a file: columns are decoded, become float64, and folds copy them."""
_SHARE = 0.5
_HELD_OUT, _MOST_HELD_OUT = 0.1, 200_000
"""Share of the rows, and the most rows, that the score is computed on."""
_MOST_REPORTED = 20_000
"""Rows held out that the report is about: a page of more says the same, and takes minutes."""
_DEFAULT = {"classification": "HistGradientBoostingClassifier", "regression": "HistGradientBoostingRegressor"}


def is_too_large(table: str | None, memory: str | None) -> bool:
    """Whether a table is read in blocks: it is a Parquet or Arrow file or a folder of them that does not fit in memory.

    Parameters
    ----------
    table : str or None
        Path of the table.
    memory : str or None
        The memory that the user grants; None for half of what is available.
    """
    if table is None or not os.path.exists(table):
        return False
    path = Path(table)
    if path.is_dir():
        return True
    if path.suffix.lower() not in FILE_ENDINGS:
        return False
    available = measure_available_memory()
    granted = read_bytes(memory) if memory is not None else None if available is None else _SHARE * available
    return granted is not None and path.stat().st_size * _SPREAD > granted


# Tasks whose targets are not read in blocks.
_WHOLE_TABLES = frozenset({"rank", "survival", "ordinal", "distribution"})


@dataclass(frozen=True)
class LargeTable:
    """A table in blocks with its target and weights.

    Attributes
    ----------
    name : str
        Path of the table.
    opened : OpenedSource
        The features of the rows whose target is known.
    y : ndarray of shape (n_rows,)
        The target.
    weights : ndarray of shape (n_rows,) or None
        Sample weights.
    target : str
        Name of the target.
    task : "classification" or "regression"
        The kind of prediction.
    """

    name: str
    opened: OpenedSource
    y: AnyArray
    weights: AnyArray | None
    target: str
    task: TaskKind

    @classmethod
    def open(cls, name: str, roles: Roles, task: str) -> LargeTable:
        """Open a table and read its target."""
        if roles.target is None:
            raise CommandError(f"Which column of '{name}' is to be predicted?", "Name it: --target COL.", USAGE)
        if task in _WHOLE_TABLES or roles.query or roles.event or roles.levels:
            raise CommandError(
                f"--task {task if task != 'auto' else 'rank, survival and ordinal'} needs the whole table in memory.",
                "Raise --memory, or fit to a part of the rows.",
                USAGE,
            )
        if roles.groups is not None:
            raise CommandError("--groups needs the whole table in memory.", "Leave it out for such a table.", USAGE)
        try:
            opened, y, weights = open_table(Path(name), roles.target, roles.weights)
        except DataError as error:
            if "," not in roles.target:
                raise
            hint = "Raise --memory, fit to a part of the rows, or name one --target."
            raise CommandError(f"A table that is read in blocks takes one target. {error}", hint, USAGE) from error
        known = ~_find_missing(y)
        if not known.all():
            opened = opened.select_rows(np.flatnonzero(known))
            y, weights = y[known], None if weights is None else weights[known]
        unknown = [column for column in roles.drop if column not in (opened.names or ())]
        if unknown:
            raise CommandError(f"'{name}' has no column '{unknown[0]}' to drop.", "Correct --drop.", USAGE)
        kept = tuple(column for column in opened.names or () if column not in roles.drop)
        opened = replace(opened, names=kept, n_features=len(kept))
        read, kind = read_target_column(pa.chunked_array([pa.array(y)]), roles.target, task)
        return cls(name, opened, read, weights, roles.target, kind)


def _find_missing(y: AnyArray) -> AnyArray:
    if y.dtype.kind == "f":
        return np.isnan(y)
    return np.array([value is None for value in y.tolist()]) if y.dtype.kind == "O" else np.zeros(len(y), dtype=bool)


class LargeFit:
    """One fit on a large table, scored on rows that are held out of it.

    Parameters
    ----------
    table : LargeTable
        Features and target.
    plan : Plan
        The options.
    memory : str or None
        The memory that the user grants.
    """

    def __init__(self, table: LargeTable, plan: Plan, memory: str | None) -> None:
        from committee.cli.metrics import choose_metrics

        self.table, self.plan, self.memory = table, plan, memory
        self.metrics = choose_metrics(plan.metric, table.task)
        self.model = self._make_model()
        self.scores: dict[str, float] = {}
        self.seconds = 0.0
        self.reported: pa.Table | None = None

    def _make_model(self) -> Any:
        import committee
        from committee.cli.catalog import find_class
        from committee.cli.model_setup import AUTOML

        name = find_class(self.plan.estimator, self.table.task)
        self.replaced = name.startswith(AUTOML)
        model = getattr(committee, _DEFAULT[self.table.task] if self.replaced else name)()
        known = model.get_params()
        settings: Mapping[str, Any] = {"random_state": self.plan.seed, "n_jobs": self.plan.jobs}
        chosen = {name: value for name, value in settings.items() if name in known} | dict(self.plan.settings)
        try:
            return model.set_params(**chosen)
        except CommitteeError as error:
            raise CommandError(str(error), "Correct --set.", USAGE) from None

    def estimate(self) -> FitEstimate:
        """What the fit takes."""
        n_classes = len(set(self.table.y.tolist())) if self.table.task == "classification" else 2
        n_cores = os.cpu_count() or 1
        opened = self.table.opened
        scores = n_classes if n_classes > 2 else 1
        return estimate_fit(opened.n_rows, opened.n_features, self.model, n_scores=scores, n_cores=n_cores)

    def describe(self) -> list[str]:
        """What is about to be done, and what it takes."""
        table, opened = self.table, self.table.opened
        lines = [
            f"{table.name}: {opened.n_rows:,} rows, {opened.n_features} features, read in {opened.source.n_blocks} "
            "blocks: the table does not fit in memory.",
            f"{type(self.model).__name__} takes {self.estimate()}.",
        ]
        if self.replaced:
            lines.append("The automatic committee needs the whole table; boosting takes its place (see --estimator).")
        return lines

    def run(self) -> None:
        """Fit on the rows that are not held out, and score on the others."""
        table, started = self.table, time.perf_counter()
        held_out = self._hold_out()
        kept = np.flatnonzero(~held_out)
        rows = table.opened.select_rows(kept)
        weights = None if table.weights is None else table.weights[kept]
        with memory_limit(self.memory):
            self.model.fit(rows, table.y[kept], **({} if weights is None else {"sample_weight": weights}))
        self.seconds = time.perf_counter() - started
        out = np.flatnonzero(held_out)
        sample = read_held_out(table.opened, out)
        own = None if table.weights is None else table.weights[out]
        for metric in self.metrics:
            self.scores[metric.name] = metric.score(self.model, sample, table.y[out], own)
        self.reported = sample.append_column(table.target, pa.array(table.y[out]))[:_MOST_REPORTED]

    def write_report(self, path: Path) -> int:
        """Write the page about rows held out, as ``committee report`` does for a new table; the bytes written."""
        from committee.cli.report import write_model_report

        with tempfile.TemporaryDirectory(prefix="committee-") as folder:
            model = Path(folder) / f"{type(self.model).__name__}.committee"
            rows = Path(folder) / f"rows held out of {Path(self.table.name).stem}.parquet"
            write_model(self.model, model)
            pq.write_table(self.reported, rows)
            plan, target = self.plan, self.table.target
            found = write_model_report(
                str(model), str(rows), target, path, metric=plan.metric, seed=plan.seed, jobs=plan.jobs
            )
            return found.n_bytes

    def _hold_out(self) -> AnyArray:
        n_rows = self.table.opened.n_rows
        share = min(_HELD_OUT, _MOST_HELD_OUT / n_rows)
        held_out = np.random.default_rng(self.plan.seed).random(n_rows) < share
        if not held_out.any() or held_out.all():
            raise CommandError(f"{n_rows} rows are too few to hold some out.", "A table needs at least a few rows.")
        return held_out

    def write_json(self, path: str | None, page: str | None) -> str:
        """The result for programs."""
        needs = self.estimate()
        found = {
            "table": self.table.name,
            "rows": self.table.opened.n_rows,
            "target": self.table.target,
            "task": self.table.task,
            "estimator": type(self.model).__name__,
            "in_blocks": self.table.opened.source.n_blocks,
            "estimate": {"memory": needs.memory, "disk": needs.disk, "seconds": needs.seconds},
            "scores": self.scores,
            "seconds": self.seconds,
            "output": path,
            "report": page,
        }
        return json.dumps(found, indent=2)


def read_held_out(opened: OpenedSource, rows: AnyArray) -> pa.Table:
    """Some rows of a table of files, by ascending numbers among those that take part."""
    wanted = rows if opened.rows is None else opened.rows[rows]
    parts = []
    for block in range(opened.source.n_blocks):
        low, high = np.searchsorted(wanted, opened.offsets[block : block + 2])
        if low < high:
            table = load_block(opened.source, block, opened.names)
            parts.append(table.take(pa.array(wanted[low:high] - opened.offsets[block])))
    return pa.concat_tables(parts, promote_options="permissive").select(list(opened.names or ()))


@contextmanager
def explain_sizes() -> Iterator[None]:
    """Errors about the table or the memory as errors of the command."""
    try:
        yield
    except CommitteeError as error:
        raise CommandError(str(error), "See docs/big_data.md.") from None


def fit_large(
    name: str,
    roles: Roles,
    task: str,
    plan: Plan,
    places: FitPlaces,
    memory: str | None,
    *,
    as_json: bool,
) -> None:
    """Fit a model to a table in blocks, say what it takes, and write the model and a report on rows held out.

    Parameters
    ----------
    name : str
        Path of the table.
    roles : Roles
        Target, weights and columns to ignore.
    task : str
        "classification", "regression" or "auto".
    plan : Plan
        The options.
    places : FitPlaces
        Where the model and the report are written.
    memory : str or None
        The memory that the user grants.
    as_json : bool
        Whether the result is printed for programs.
    """
    console = make_console()
    with explain_sizes():
        run = LargeFit(LargeTable.open(name, roles, task), plan, memory)
        if not as_json:
            for line in run.describe():
                console.print(escape(line), soft_wrap=True)
        run.run()
    written, page = places.write(lambda path: write_model(run.model, path), run.write_report)
    if as_json:
        typer.echo(run.write_json(*(None if one is None else str(one.path) for one in (written, page))))
        return
    console.print(f"\nFitted in {run.seconds:.0f} seconds. On the rows held out (the model has not seen them):")
    for metric, score in run.scores.items():
        console.print(f"  {escape(metric)}: {score:.4f}")
    show_files(console, written, page)


def write_bins(
    console: Console, name: str, target: str | None, weights: str | None, path: Path, jobs: int | None
) -> None:
    """Bin a table into a file, and say what it takes.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    name : str
        Path of the table.
    target, weights : str or None
        Columns that are kept beside the bins.
    path : pathlib.Path
        The file.
    jobs : int or None
        Number of threads.
    """
    if not may_be_large(name):
        raise CommandError(f"'{name}' is no Parquet or Arrow file, and no folder.", "Write it as Parquet first.", USAGE)
    from committee.base import resolve_jobs
    from committee.data.binned_tables import bin_table

    with explain_sizes():
        columns = [] if target is None else [target]
        size = bin_table(Path(name), path, columns, sample_weight=weights, n_jobs=resolve_jobs(jobs))
    console.print(f"Bins written to [bold]{escape(str(path))}[/] ({show_size(size)})", soft_wrap=True)
