"""The report of a model on a new table: its score there, its predictions, and drift against the training table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import committee
from committee.cli.automl_run import compare_predictions
from committee.cli.errors import USAGE, CommandError
from committee.cli.metrics import choose_metrics
from committee.cli.model_rows import ModelRows, load_model, read_categories
from committee.cli.options import set_jobs
from committee.cli.problem import name_kind
from committee.cli.report.beside_column import BesideColumn, find_beside
from committee.cli.report.class_pages import describe_classes, has_class_pages
from committee.cli.report.curves_section import describe_curves
from committee.cli.report.drift.distances import ColumnDrift, compare_feature, compare_outcome, rank_drifts
from committee.cli.report.drift.drift_section import describe_drift
from committee.cli.report.drift.new_importances import describe_new_importances, measure_new_importances
from committee.cli.report.drift.new_scores import describe_new_cards, describe_new_scores, summarize_new_data
from committee.cli.report.drift.training_summary import LevelSummary, TrainingSummary, read_summary
from committee.cli.report.errors_section import describe_confusion, describe_largest_errors
from committee.cli.report.order_section import describe_order
from committee.cli.report.page import render_page, write_page
from committee.cli.report.scored_rows import ScoredRows
from committee.cli.report.summary import render_summary
from committee.cli.several_targets import refuse_several
from committee.cli.stream import open_stream
from committee.cli.text_format import TextReading
from committee.io.description import describe_file
from committee.scoring import wrap_predictions

if TYPE_CHECKING:
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
    """

    n_bytes: int
    n_rows: int
    sentences: tuple[str, ...]
    target: str | None
    scores: dict[str, Comparison]
    training: TrainingSummary | None
    drifts: tuple[ColumnDrift, ...]

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
        The column with the true values; None for that of the fit, if the table has it.
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
    fitted = set_jobs(load_model(model, trusted), jobs)
    refuse_several(fitted, "report")
    notes = describe_file(model).notes
    training = read_summary(notes)
    stream = open_stream(table, reading.encoding, reading.header)
    column = _choose_target(target, stream, training)
    beside = find_beside(notes, training)
    if beside is not None and beside.column is not None and beside.column not in stream.schema.names:
        column, beside = None, None  # the target alone cannot be scored
    data = _read_new_table(fitted, stream, column, beside)
    calendar = frozenset(one.name for one in training.features if one.is_calendar) if training else frozenset()
    scored = None if column is None else _score_rows(data, column, calendar, f"rows of {stream.name}", seed)
    if beside is not None and scored is not None:
        scored = beside.join(scored, data.beside)
    scores = {} if scored is None else _compare_with_guess(scored, training, metric, seed)
    drifts, outcomes = _measure_drift(data, training, scored)
    is_same = training is not None and data.n_rows == training.n_rows and all(one.is_same for one in drifts)
    sentences = summarize_new_data(stream.name, data.n_rows, training, scores, drifts, fitted, is_same=is_same)
    losses = {} if scored is None else measure_new_importances(fitted, scored, seed)
    ranked = [name for name, loss in losses.items() if loss > 0.0] or _rank_columns(fitted, training)
    sections = [
        *([] if scored is None else [describe_new_scores(scores, training, len(scored.truth))]),
        describe_drift(drifts, outcomes, training),
        *([] if scored is None else _describe_errors(scored, ranked)),
        *([] if scored is None or not losses else [describe_new_importances(losses, scored)]),
    ]
    title = f"{Path(model).name} on {stream.name}"
    lead = render_summary(sentences) + describe_new_cards(model, stream.name, data.n_rows, scores, drifts, fitted)
    page = render_page(title, lead, sections, f"Written by committee {committee.__version__}.")
    n_bytes = write_page(page, place)
    return NewDataFindings(n_bytes, data.n_rows, sentences, column, scores, training, tuple(drifts))


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
        estimator=type(data.model).__name__,
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
    data: _NewTable, training: TrainingSummary | None, scored: ScoredRows | None
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
        outcomes.append(compare_outcome("predictions", training.predictions, predicted, training.n_rows))
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
