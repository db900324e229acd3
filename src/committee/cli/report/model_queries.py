"""Questions to any model about Arrow tables: after so many members, with columns shuffled, with a column held fixed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from committee.data.intake import take_in_rows
from committee.engines.tree_model import TreeModel, present_trees
from committee.exceptions import ParameterTypeError
from committee.typing import FloatArray

__all__ = ["answer_stages", "ask_shares", "find_trees", "hold_fixed", "make_replies", "shuffle_columns"]

# Stages up to this one are all looked at, later ones in steps of a twelfth.
_EVERY_STAGE = 20
_STEP = 13 / 12


class _ValueReplies(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Answers that are known already, for scorers that want to ask a model; rows are given by number."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, rows: Any) -> Any:
        return self.answers[rows]


class _ClassReplies(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The same for classes."""

    def __init__(self, answers: Any, classes: Any) -> None:
        self.answers = answers
        self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, rows: Any) -> Any:
        return self.answers[rows]


class _ShareReplies(_ClassReplies):
    """The same for classes with probabilities."""

    def __init__(self, answers: Any, classes: Any, shares: Any) -> None:
        super().__init__(answers, classes)
        self.shares = shares

    def predict_proba(self, rows: Any) -> Any:
        return self.shares[rows]


def make_replies(answers: Any, classes: Any, shares: Any) -> Any:
    """What a scorer takes for a model, with answers that are known already.

    Parameters
    ----------
    answers : ndarray of shape (n_rows,)
        Classes or values.
    classes : ndarray or None
        All classes; None for values.
    shares : ndarray of shape (n_rows, n_classes), or None
        Probabilities, where there are any.

    Returns
    -------
    estimator
        Whose rows are numbers.
    """
    if classes is None:
        return _ValueReplies(answers)
    return _ClassReplies(answers, classes) if shares is None else _ShareReplies(answers, classes, shares)


def ask_shares(model: Any, table: pa.Table) -> FloatArray:
    """Probabilities of the classes, or values in one column; votes of a classifier without probabilities.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : pyarrow.Table
        Rows.

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
    """The trees of a model that is made of trees of this library and answers by them; None for all others.

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


def answer_stages(model: Any, table: pa.Table) -> Iterator[tuple[int, Any]]:
    """What a committee says after its first member, its second, and so on; nothing where that has no meaning.

    Boosters tell it themselves. For means over trees the later trees get the weight zero.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : pyarrow.Table
        Rows.

    Yields
    ------
    tuple of int and estimator
        How many members, and their replies.
    """
    if hasattr(model, "staged_predict"):
        yield from _thin_stages(_listen_stages(model, table))
        return
    trees = find_trees(model)
    if trees is not None and trees.combine == "mean" and trees.link == "identity" and trees.trees.n_trees > 1:
        yield from _average_stages(model, trees, table)


def _listen_stages(model: Any, table: pa.Table) -> Iterator[Any]:
    classes = getattr(model, "classes_", None)
    if hasattr(model, "staged_predict_proba"):
        for shares in model.staged_predict_proba(table):
            yield make_replies(model.classes_.take(np.asarray(shares).argmax(axis=1)), classes, np.asarray(shares))
    else:
        for answers in model.staged_predict(table):
            yield make_replies(np.asarray(answers), classes, None)


def _thin_stages(stages: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    shown, number, replies = 0, 0, None
    for number, replies in enumerate(stages, start=1):
        if number <= _EVERY_STAGE or number >= shown * _STEP:
            shown = number
            yield number, replies
    if number > shown:
        yield number, replies


def _average_stages(model: Any, trees: TreeModel, table: pa.Table) -> Iterator[tuple[int, Any]]:
    rows = take_in_rows(model, table, trees.schema)
    n_trees = int(trees.trees.n_trees)
    own = np.ones(n_trees) if trees.tree_weights is None else np.asarray(trees.tree_weights)
    classes = getattr(model, "classes_", None)
    numbers = [number for number, _ in _thin_stages(iter(range(n_trees)))]
    answers = ask_shares(model, table)
    if not np.allclose(trees.sum_trees(rows, 1), answers, atol=1e-9):
        return  # it does more than average (calibration, say): the curve would not be its own
    for number in numbers:
        first = replace(trees, tree_weights=np.where(np.arange(n_trees) < number, own, 0.0))
        shares = first.sum_trees(rows, 1)
        if classes is None:
            yield number, make_replies(shares[:, 0], None, None)
        else:
            yield number, make_replies(classes.take(shares.argmax(axis=1)), classes, shares)


def shuffle_columns(model: Any, table: pa.Table, seed: int) -> Iterator[Any]:
    """What a model says of rows, as they are and then with each column shuffled in turn.

    All tables go to the model as one, since many models take long to begin.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : pyarrow.Table
        Rows.
    seed : int
        Of the shuffles.

    Yields
    ------
    estimator
        Replies; the first are those to the rows as they are.
    """
    n_rows, rng = table.num_rows, np.random.default_rng(seed)
    versions = [table]
    for k, name in enumerate(table.column_names):
        shuffled = table.column(k).combine_chunks().take(pa.array(rng.permutation(n_rows)))
        versions.append(table.set_column(k, name, shuffled))
    classes = getattr(model, "classes_", None)
    together = pa.concat_tables(versions).combine_chunks()
    answers = np.asarray(model.predict(together))
    shares = np.asarray(model.predict_proba(together)) if hasattr(model, "predict_proba") else None
    for k in range(len(versions)):
        part = slice(k * n_rows, (k + 1) * n_rows)
        yield make_replies(answers[part], classes, None if shares is None else shares[part])


def hold_fixed(model: Any, table: pa.Table, column: int, source: pa.ChunkedArray, rows: Sequence[int]) -> FloatArray:
    """What a model says of all rows when a column has one value everywhere, for several values in turn.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : pyarrow.Table
        Rows.
    column : int
        Number of the column.
    source : pyarrow.ChunkedArray
        The column with all values that may be taken.
    rows : sequence of int
        Where in the source the values stand.

    Returns
    -------
    ndarray of shape (n_values, n_rows, n_outputs)
    """
    name, n_rows = table.column_names[column], table.num_rows
    values = source.combine_chunks() if isinstance(source, pa.ChunkedArray) else source
    versions = [table.set_column(column, name, values.take(pa.array(np.full(n_rows, row)))) for row in rows]
    answers = ask_shares(model, pa.concat_tables(versions).combine_chunks())
    return answers.reshape(len(rows), n_rows, -1)
