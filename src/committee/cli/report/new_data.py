"""The report of a model on a new table: its score there, its predictions, and drift against the training table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import committee
from committee.cli.automl_run import compare_predictions
from committee.cli.certificates import read_targets
from committee.cli.errors import USAGE, CommandError
from committee.cli.metrics import choose_metrics
from committee.cli.model_rows import ModelRows, load_model, name_model, read_categories
from committee.cli.options import set_jobs
from committee.cli.problem import name_kind
from committee.cli.report.beside_column import BesideColumn, find_beside
from committee.cli.report.class_pages import describe_classes, has_class_pages
from committee.cli.report.curves_section import describe_curves
from committee.cli.report.drift.distances import ColumnDrift, compare_feature, compare_outcome, rank_drifts
from committee.cli.report.drift.drift_section import describe_drift
from committee.cli.report.drift.new_importances import describe_new_importances, measure_new_importances
from committee.cli.report.drift.new_scores import describe_new_cards, describe_new_scores, summarize_new_data
from committee.cli.report.drift.target_summaries import read_target_summaries
from committee.cli.report.drift.training_summary import LevelSummary, TrainingSummary
from committee.cli.report.errors_section import describe_confusion, describe_largest_errors
from committee.cli.report.markup import Section
from committee.cli.report.order_section import describe_order
from committee.cli.report.page import render_page, write_page
from committee.cli.report.scored_rows import ScoredRows
from committee.cli.report.summary import render_summary
from committee.cli.report.target_sections import compare_targets, name_sections
from committee.cli.several_targets import choose_targets
from committee.cli.stream import open_stream
from committee.cli.text_format import TextReading
from committee.inspection.one_target import OneTarget
from committee.io.description import describe_file
from committee.scoring import wrap_predictions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from committee.cli.results import Comparison
    from committee.cli.stream import TableStream
    from committee.typing import FloatArray

__all__ = ["NewDataFindings", "write_model_report"]


@dataclass(frozen=True)
class NewDataFindings:
    """What a report on new data found.

    Parameters
    ----------
    n_bytes : int
        Size of the page.
    n_rows : int
        Rows of the new table.
    sentences : tuple of str
        The summary.
    target : str or None
        The target whose values the predictions were scored against; None without one.
    scores : dict of str to Comparison
        By metric; empty without a target. The baseline is the naive guess of the training table.
    training : TrainingSummary or None
        The training table, as the model file describes it; None if it does not.
    drifts : tuple of ColumnDrift
        The columns, the largest drift first; empty without a summary of the training table.
    others : tuple of NewDataFindings
        What was found of the further targets of a model of several.
    """

    n_bytes: int
    n_rows: int
    sentences: tuple[str, ...]
    target: str | None
    scores: dict[str, Comparison]
    training: TrainingSummary | None
    drifts: tuple[ColumnDrift, ...]
    others: tuple[NewDataFindings, ...] = ()

    @property
    def drifted(self) -> tuple[ColumnDrift, ...]:
        """The columns that have drifted."""
        return tuple(one for one in self.drifts if one.level != "none")


def write_model_report(
    model: str,
    table: str,
    target: str | None,
    place: Path,
    *,
    metric: str | None = None,
    reading: TextReading | None = None,
    trusted: Sequence[str] = (),
    seed: int = 0,
    jobs: int | None = None,
) -> NewDataFindings:
    """Write the report of a model on a new table.

    Parameters
    ----------
    model : str
        Path of the model file. Drift is measured if ``committee fit`` has written it.
    table : str
        Path or name of the table.
    target : str or None
        The column with the true values; None for that of the fit, if the table has it. Of a model of several targets,
        the targets to report on; None for all.
    place : pathlib.Path
        The page.
    metric : str or None
        As for ``committee fit``.
    reading : TextReading, optional
        Encoding and header of a text table.
    trusted : sequence of str
        Types of other libraries in the model file that may be loaded.
    seed : int
        Of samples.
    jobs : int or None
        Number of threads.

    Returns
    -------
    NewDataFindings
    """
    reading = reading or TextReading()
    fitted, notes = set_jobs(load_model(model, trusted), jobs), describe_file(model).notes
    names, seeing = read_targets(model, fitted), partial(open_stream, table, reading.encoding, reading.header)
    summaries = read_target_summaries(notes, max(len(names), 1))
    if not names:
        column = _choose_target(target, seeing(), summaries[0])
        parts = [_measure_target(fitted, seeing(), column, summaries[0], notes, metric, seed)]
    else:
        chosen = choose_targets(target, names)
        found = seeing().schema.names
        parts = [
            _measure_target(
                OneTarget(fitted, k),
                seeing(),
                names[k] if target is not None or names[k] in found else None,
                summaries[k],
                {},
                metric,
                seed,
                names[k],
            )
            for k in chosen
        ]
    title = f"{Path(model).name} on {parts[0].source}"
    lead, sections = _join_parts(parts, model, [names[k] for k in chosen] if names else [])
    page = render_page(title, lead, sections, f"Written by committee {committee.__version__}.")
    n_bytes = write_page(page, place)
    first, *others = (part.list_findings(n_bytes) for part in parts)
    return replace(first, others=tuple(others))


@dataclass(frozen=True)
class _MeasuredTarget:
    """What was measured of one target on the new table."""

    model: Any
    source: str
    name: str | None
    n_rows: int
    sentences: tuple[str, ...]
    column: str | None
    scored: ScoredRows | None
    scores: dict[str, Comparison]
    training: TrainingSummary | None
    drifts: list[ColumnDrift]
    outcomes: list[ColumnDrift]
    losses: dict[str, float]

    def list_findings(self, n_bytes: int) -> NewDataFindings:
        """Without the sections of the page."""
        known = self.n_rows, self.sentences, self.column, self.scores, self.training, tuple(self.drifts)
        return NewDataFindings(n_bytes, *known)

    def describe_score(self) -> list[Section]:
        """The scores, if there are any."""
        if self.scored is None:
            return []
        return [describe_new_scores(self.scores, self.training, len(self.scored.truth))]

    def describe_errors(self) -> list[Section]:
        """The errors and what matters, if the target is known."""
        if self.scored is None:
            return []
        ranked = [name for name, loss in self.losses.items() if loss > 0.0] or _rank_columns(self.model, self.training)
        more = [describe_new_importances(self.losses, self.scored)] if self.losses else []
        return [*_describe_errors(self.scored, ranked), *more]


def _measure_target(
    model: Any,
    stream: TableStream,
    column: str | None,
    training: TrainingSummary | None,
    notes: Mapping[str, Any],
    metric: str | None,
    seed: int,
    name: str | None = None,
) -> _MeasuredTarget:
    beside = find_beside(notes, training)
    if beside is not None and beside.column is not None and beside.column not in stream.schema.names:
        column, beside = None, None  # the target alone cannot be scored
    data = _read_new_table(model, stream, column, beside)
    calendar = frozenset(one.name for one in training.features if one.is_calendar) if training else frozenset()
    scored = None if column is None else _score_rows(data, column, calendar, f"rows of {stream.name}", seed)
    if beside is not None and scored is not None:
        scored = beside.join(scored, data.beside)
    scores = {} if scored is None else _compare_with_guess(scored, training, metric, seed)
    drifts, outcomes = _measure_drift(data, training, scored, "" if name is None else f" of {name}")
    is_same = training is not None and data.n_rows == training.n_rows and all(one.is_same for one in drifts)
    sentences = summarize_new_data(stream.name, data.n_rows, training, scores, drifts, model, is_same=is_same)
    losses = {} if scored is None else measure_new_importances(model, scored, seed)
    own = (stream.name, name, data.n_rows, sentences, column, scored, scores, training, drifts, outcomes, losses)
    return _MeasuredTarget(model, *own)


def _join_parts(parts: Sequence[_MeasuredTarget], model: str, names: Sequence[str]) -> tuple[str, list[Section]]:
    """The lead and the sections of the page: for several targets those of each, and the drift of the columns once."""
    first = parts[0]
    outcomes = [outcome for part in parts for outcome in part.outcomes]
    drift = describe_drift(first.drifts, outcomes, first.training)
    leads = [
        render_summary(part.sentences)
        + describe_new_cards(model, part.source, part.n_rows, part.scores, part.drifts, part.model)
        for part in parts
    ]
    if not names:
        return leads[0], [*first.describe_score(), drift, *first.describe_errors()]
    sections = []
    for number, (part, name, lead) in enumerate(zip(parts, names, leads, strict=True), start=1):
        own = [Section("summary", "Summary", lead), *part.describe_score(), *part.describe_errors()]
        sections += name_sections(own, name, number)
    return compare_targets(names, [part.scores for part in parts]), [*sections, drift]


@dataclass(frozen=True)
class _NewTable:
    """The new table with the predictions of the model."""

    model: Any
    features: pa.Table
    target: pa.ChunkedArray | None
    predicted: NDArray[Any]
    probabilities: FloatArray | None
    beside: pa.ChunkedArray | None = None

    @property
    def n_rows(self) -> int:
        return len(self.predicted)


def _choose_target(target: str | None, stream: TableStream, training: TrainingSummary | None) -> str | None:
    if target is not None:
        return target
    known = [stream.target, None if training is None else training.target]
    return next((name for name in known if name is not None and name in stream.schema.names), None)


def _read_new_table(
    model: Any, stream: TableStream, column: str | None, beside: BesideColumn | None = None
) -> _NewTable:
    extra = [name for name in (column, None if beside is None else beside.column) if name is not None]
    rows = ModelRows(model, stream, extra)
    parts, targets, others, predictions, probabilities = [], [], [], [], []
    for chunk, part in rows.read():
        parts.append(part if isinstance(part, pa.Table) else chunk.select(rows.names))
        predictions.append(np.asarray(model.predict(part)))
        if hasattr(model, "predict_proba"):
            probabilities.append(model.predict_proba(part))
        if column is not None:
            targets.append(chunk.column(column))
        if beside is not None and beside.column is not None:
            others.append(chunk.column(beside.column))
    if not parts or not sum(len(one) for one in predictions):
        raise CommandError(f"'{stream.name}' has no rows.", "Bring a table with rows.")
    predicted = np.concatenate(predictions)
    if predicted.ndim > 1:
        raise CommandError("The model has several outputs.", "Reports are for models of one target.", USAGE)
    target = None if column is None else pa.chunked_array([part for one in targets for part in one.chunks])
    given = np.concatenate(probabilities) if probabilities else None
    other = pa.chunked_array([part for one in others for part in one.chunks]) if others else None
    return _NewTable(model, pa.concat_tables(parts, promote_options="permissive"), target, predicted, given, other)


def _score_rows(data: _NewTable, column: str, calendar: frozenset[str], where: str, seed: int) -> ScoredRows:
    """The rows whose true value is known."""
    assert data.target is not None
    values = data.target
    known = values.is_valid()
    if pa.types.is_floating(values.type):
        known = pc.and_(known, pc.fill_null(pc.is_finite(values), False))
    rows = np.flatnonzero(known.to_numpy())
    if not len(rows):
        raise CommandError(f"The target '{column}' is missing in every row.", "Choose another --target.")
    truth = _read_truth(data.model, values.take(pa.array(rows)), column)
    predicted, probabilities, classes = data.predicted[rows], data.probabilities, None
    if hasattr(data.model, "classes_"):
        classes = np.unique(np.concatenate([data.model.classes_, truth]))
        if probabilities is not None:
            # A class that the model has never seen has probability zero.
            wide = np.zeros((len(rows), len(classes)))
            wide[:, np.searchsorted(classes, data.model.classes_)] = probabilities[rows]
            probabilities = wide
    return ScoredRows(
        target=column,
        estimator=name_model(data.model),
        truth=truth,
        predicted=predicted,
        probabilities=None if classes is None else probabilities,
        classes=classes,
        features=data.features,
        numbers=rows,
        calendar=calendar,
        where=where,
        seed=seed,
    )


def _read_truth(model: Any, values: pa.ChunkedArray, column: str) -> NDArray[Any]:
    """True classes or values in the type that the model predicts."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    wrong = CommandError(
        f"The target '{column}' is not what the model was fitted on: {values.type}.", "Choose another --target."
    )
    classes = getattr(model, "classes_", None)
    try:
        if classes is None:
            if name_kind(values.type) not in ("number", "category", "boolean"):
                raise wrong
            return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False))
        labels = values.to_pylist()
        if classes.dtype.kind in "OU":
            return np.asarray([str(one) for one in labels], dtype=classes.dtype if classes.dtype.kind == "O" else None)
        if classes.dtype.kind == "b":
            return np.asarray([str(one).strip().lower() in ("true", "1", "1.0") for one in labels])
        return np.asarray([float(one) for one in labels]).astype(classes.dtype)
    except (ValueError, pa.ArrowException) as error:
        raise wrong from error


def _compare_with_guess(
    scored: ScoredRows, training: TrainingSummary | None, metric: str | None, seed: int
) -> dict[str, Comparison]:
    """Scores of the model, and of the naive guess of the training table (of the new one if that is not known)."""
    n_rows = len(scored.truth)
    if scored.classes is None:
        mean = training.baseline if training is not None and training.baseline is not None else scored.truth.mean()
        known, naive = wrap_predictions(None, scored.predicted), wrap_predictions(None, np.full(n_rows, mean))
    else:
        known = wrap_predictions(scored.classes, scored.predicted, scored.probabilities)
        shares = np.bincount(scored.codes, minlength=len(scored.labels)) / n_rows
        if training is not None and isinstance(training.outcome, LevelSummary):
            shares = np.array([training.outcome.shares.get(name, 0.0) for name in scored.labels])
        naive = wrap_predictions(scored.classes, None, np.tile(shares / shares.sum(), (n_rows, 1)))
    found: dict[str, Comparison] = {}
    y = scored.truth if scored.outcome is None else scored.outcome
    for one in choose_metrics(metric, scored.task):
        if one.needs_model:
            continue  # predictions alone are known here
        try:
            found |= compare_predictions([one], y, (known, naive), seed)
        except CommandError:
            if metric is not None and not found:
                raise
            # The metric is not defined for these rows, for instance R² of a single value.
    return found


def _measure_drift(
    data: _NewTable, training: TrainingSummary | None, scored: ScoredRows | None, of_target: str = ""
) -> tuple[list[ColumnDrift], list[ColumnDrift]]:
    """Drift of the features, and of the predictions and the target."""
    if training is None:
        return [], []
    names = data.features.column_names
    levels = dict(zip(names, read_categories(data.model), strict=False))
    features = [one for one in training.features if one.name in names]
    drifts = [
        compare_feature(one, data.features.column(one.name), training.n_rows, len(features), levels.get(one.name))
        for one in features
    ]
    outcomes = []
    if training.predictions is not None:
        predicted = pa.chunked_array([pa.array(data.predicted.tolist())])
        outcomes.append(compare_outcome(f"predictions{of_target}", training.predictions, predicted, training.n_rows))
    if training.outcome is not None and scored is not None:
        truth = pa.chunked_array([pa.array(scored.truth.tolist())])
        outcomes.append(compare_outcome(f"true {scored.target}", training.outcome, truth, training.n_rows))
    return rank_drifts(drifts), outcomes


def _rank_columns(model: Any, training: TrainingSummary | None) -> list[str]:
    """Columns by importance, if it is known."""
    if training is not None and any(one.importance for one in training.features):
        known = sorted(training.features, key=lambda one: -(one.importance or 0.0))
        return [one.name for one in known if one.importance]
    names, values = getattr(model, "feature_names_in_", ()), getattr(model, "feature_importances_", ())
    ranked = sorted(zip(map(str, names), values, strict=False), key=lambda pair: -pair[1])
    return [name for name, value in ranked if value > 0.0]


def _describe_errors(scored: ScoredRows, ranked: list[str]) -> list[Any]:
    if scored.outcome is not None:
        return [describe_order(scored.outcome, scored.predicted, scored.where)]
    sections = [describe_curves(scored)]
    if scored.classes is not None:
        sections.append(describe_confusion(scored))
    sections.append(describe_largest_errors(scored, ranked))
    if has_class_pages(scored):
        sections.append(describe_classes(scored, []))
    return sections
