"""Predictions of any model for Arrow tables: by stage, with columns shuffled, or with a column held fixed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from committee.cli.task_metrics import KnownDistribution
from committee.data.intake import take_in_rows
from committee.engines.tree_model import TreeModel, present_trees
from committee.exceptions import ParameterTypeError
from committee.scoring import KnownPredictions, wrap_predictions
from committee.typing import FloatArray

__all__ = [
    "find_trees",
    "predict_outputs",
    "predict_stages",
    "predict_with_fixed_column",
    "predict_with_fixed_pair",
    "shuffle_columns",
]

_StageT = TypeVar("_StageT")

# All stages up to this one are used, later ones in steps of a twelfth.
_EVERY_STAGE = 20
_STEP = 13 / 12


def predict_outputs(model: Any, table: pa.Table) -> FloatArray:
    """Probabilities of the classes, or values in one column; 0 or 1 for a classifier without probabilities.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : pyarrow.Table
        The rows.

    Returns
    -------
    ndarray of shape (n_rows, n_classes) or (n_rows, 1)
    """
    classes = getattr(model, "classes_", None)
    if classes is None:
        return np.asarray(model.predict(table), dtype=np.float64)[:, None]
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(table), dtype=np.float64)
    votes: FloatArray = (np.asarray(model.predict(table))[:, None] == classes[None, :]).astype(np.float64)
    return votes


def find_trees(model: Any) -> TreeModel | None:
    """The trees of a model that consists of trees of this library; None for all others.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    TreeModel or None
    """
    try:
        found = present_trees(model)
    except ParameterTypeError:
        return None
    return None if found.link == "other" else found


def predict_stages(model: Any, table: pa.Table) -> Iterator[tuple[int, KnownPredictions]]:
    """Predictions of an ensemble with its first member, its first two members, and so on.

    Boosting has staged predictions. For means over trees, later trees get the weight zero. Other models have none.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : pyarrow.Table
        The rows.

    Yields
    ------
    tuple of int and KnownPredictions
        Number of members, and their predictions.
    """
    if hasattr(model, "staged_predict"):
        yield from _thin_stages(_iterate_stages(model, table))
        return
    trees = find_trees(model)
    if trees is not None and trees.combine == "mean" and trees.link == "identity" and trees.trees.n_trees > 1:
        yield from _average_stages(model, trees, table)


def _iterate_stages(model: Any, table: pa.Table) -> Iterator[KnownPredictions]:
    classes = getattr(model, "classes_", None)
    if hasattr(model, "staged_predict_distribution"):
        for distribution in model.staged_predict_distribution(table):
            yield KnownDistribution(distribution)
    elif hasattr(model, "staged_predict_proba"):
        for probabilities in model.staged_predict_proba(table):
            yield wrap_predictions(classes, None, np.asarray(probabilities))
    else:
        for predictions in model.staged_predict(table):
            yield wrap_predictions(classes, np.asarray(predictions))


def _thin_stages(stages: Iterator[_StageT]) -> Iterator[tuple[int, _StageT]]:
    """A subset of the stages with their numbers; always the last one."""
    shown, last = 0, None
    for number, stage in enumerate(stages, start=1):
        last = number, stage
        if number <= _EVERY_STAGE or number >= shown * _STEP:
            shown = number
            yield last
    if last is not None and last[0] > shown:
        yield last


def _average_stages(model: Any, trees: TreeModel, table: pa.Table) -> Iterator[tuple[int, KnownPredictions]]:
    rows = take_in_rows(model, table, trees.schema)
    n_trees = int(trees.trees.n_trees)
    own = np.ones(n_trees) if trees.tree_weights is None else np.asarray(trees.tree_weights)
    classes = getattr(model, "classes_", None)
    numbers = [number for number, _ in _thin_stages(iter(range(n_trees)))]
    predictions = predict_outputs(model, table)
    if not np.allclose(trees.sum_trees(rows, 1), predictions, atol=1e-9):
        return  # the model does more than average, for instance calibration
    for number in numbers:
        first = replace(trees, tree_weights=np.where(np.arange(n_trees) < number, own, 0.0))
        probabilities = first.sum_trees(rows, 1)
        if classes is None:
            yield number, wrap_predictions(None, probabilities[:, 0])
        else:
            yield number, wrap_predictions(classes, None, probabilities)


def shuffle_columns(model: Any, table: pa.Table, seed: int) -> Iterator[KnownPredictions]:
    """Predictions for the rows, and for the rows with each column shuffled in turn.

    All tables are predicted in one call, since calls of many models have a large overhead.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : pyarrow.Table
        The rows.
    seed : int
        Seed of the shuffles.

    Yields
    ------
    KnownPredictions
        The first are those for the rows without a shuffled column.
    """
    n_rows, rng = table.num_rows, np.random.default_rng(seed)
    versions = [table]
    for k, name in enumerate(table.column_names):
        shuffled = table.column(k).combine_chunks().take(pa.array(rng.permutation(n_rows)))
        versions.append(table.set_column(k, name, shuffled))
    classes = getattr(model, "classes_", None)
    together = pa.concat_tables(versions).combine_chunks()
    predictions = np.asarray(model.predict(together))
    probabilities = np.asarray(model.predict_proba(together)) if hasattr(model, "predict_proba") else None
    for k in range(len(versions)):
        part = slice(k * n_rows, (k + 1) * n_rows)
        yield wrap_predictions(classes, predictions[part], None if probabilities is None else probabilities[part])


def predict_with_fixed_column(
    model: Any, table: pa.Table, column: int, source: pa.ChunkedArray, rows: Sequence[int]
) -> FloatArray:
    """Predictions for all rows with a column set to one value, for several values in turn.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : pyarrow.Table
        The rows.
    column : int
        Number of the column.
    source : pyarrow.ChunkedArray
        The column to take values from.
    rows : sequence of int
        Row numbers of the values in the source.

    Returns
    -------
    ndarray of shape (n_values, n_rows, n_outputs)
    """
    name, n_rows = table.column_names[column], table.num_rows
    values = source.combine_chunks() if isinstance(source, pa.ChunkedArray) else source
    versions = [table.set_column(column, name, values.take(pa.array(np.full(n_rows, row)))) for row in rows]
    predictions = predict_outputs(model, pa.concat_tables(versions).combine_chunks())
    return predictions.reshape(len(rows), n_rows, -1)


def predict_with_fixed_pair(
    model: Any, table: pa.Table, columns: Sequence[tuple[int, pa.ChunkedArray]], rows: Sequence[Sequence[int]]
) -> FloatArray:
    """Mean predictions over all rows with two columns set to each pair of values.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : pyarrow.Table
        The rows.
    columns : sequence of two tuples of int and pyarrow.ChunkedArray
        Number of each column, and the column to take its values from.
    rows : sequence of two sequences of int
        Row numbers of the values in the sources.

    Returns
    -------
    ndarray of shape (n_first, n_second, n_outputs)
    """
    (first, source), (second, _) = columns
    values = source.combine_chunks() if isinstance(source, pa.ChunkedArray) else source
    name, n_rows = table.column_names[first], table.num_rows
    means = []
    for row in rows[0]:
        held = table.set_column(first, name, values.take(pa.array(np.full(n_rows, row))))
        means.append(predict_with_fixed_column(model, held, second, columns[1][1], rows[1]).mean(axis=1))
    return np.stack(means)
