"""Formulas of the members of an ensemble that read its table by themselves, over one row that all of them share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV

from committee.data import Schema
from committee.engines.formula import (
    ConstantTerm,
    JoinedTerms,
    LinearTerm,
    ModelFormula,
    RecodedRow,
    RowFunction,
    TableRow,
    TakenColumns,
    present_formula,
    present_scores,
    refuse_formula,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.engines.formula import FormulaTerm
    from committee.typing import AnyArray, FloatArray

__all__ = ["MemberFormulas", "align_probabilities", "index_labels", "open_members", "predict_term", "present_member"]

_LINEAR = (LogisticRegression, LinearRegression, Ridge, RidgeCV)


@dataclass(frozen=True)
class MemberFormulas:
    """The formulas of all members over one row.

    Attributes
    ----------
    row : FormulaTerm
        The row of the ensemble's table.
    schema : Schema
        Its columns; a category has the levels of all members.
    members : list of ModelFormula
        In the order of the members.
    """

    row: FormulaTerm
    schema: Schema
    members: list[ModelFormula]


def open_members(
    owner: object,
    members: Sequence[Any],
    row: FormulaTerm | None = None,
    columns: Sequence[AnyArray | None] | None = None,
) -> MemberFormulas:
    """The formulas of the members of an ensemble.

    Parameters
    ----------
    owner : estimator
        The ensemble, for its name in sentences and the number of its columns.
    members : list of fitted estimators
        Of this library, or linear models of scikit-learn.
    row : FormulaTerm, optional
        The row of the ensemble's table.
    columns : list of (ndarray or None), optional
        The columns of the table that each member reads; None: all.
    """
    columns = [None] * len(members) if columns is None else columns
    own = [present_member(member, None) for member in members]
    n_columns = row.width if row is not None else max(formula.schema.n_features for formula in own)
    if any(own is not None for own in columns):
        n_columns = int(owner.n_features_in_)  # type: ignore[attr-defined]
    places = [np.arange(n_columns) if chosen is None else np.asarray(chosen) for chosen in columns]
    for formula, place in zip(own, places, strict=True):
        if formula.schema.inputs is not None or formula.schema.n_features != len(place):
            raise refuse_formula(owner, "has members that were fitted on dates, times, lists or text")
    levels = [
        _merge_levels(
            owner, k, [f.schema.categories[list(p).index(k)] for f, p in zip(own, places, strict=True) if k in p]
        )
        for k in range(n_columns)
    ]
    names = next((f.schema.feature_names for f in own if len(f.schema.categories) == n_columns), None)
    first = own[0].schema
    schema = Schema(n_columns, names, tuple(levels), first.dtype, first.unseen)
    whole = TableRow(n_columns) if row is None else row
    made = [
        present_member(member, _read_row(whole, schema, formula.schema, place))
        for member, formula, place in zip(members, own, places, strict=True)
    ]
    return MemberFormulas(whole, schema, made)


def _merge_levels(owner: object, column: int, found: list[AnyArray | None]) -> AnyArray | None:
    """The levels of a category that any member knows, those of the first before the others."""
    known = [levels for levels in found if levels is not None]
    if not known:
        return None
    if len(known) < len(found):
        raise refuse_formula(owner, f"has members of which some read column {column} as categories and some as numbers")
    merged = list(dict.fromkeys(level for levels in known for level in levels.tolist()))
    return np.array(merged, dtype=known[0].dtype)


def _read_row(row: FormulaTerm, schema: Schema, own: Schema, place: AnyArray) -> FormulaTerm:
    """The row as a member reads it: its own columns, with its own codes of categories."""
    if len(place) < row.width:
        row = TakenColumns(row, tuple(place.tolist()))
    tables: list[FloatArray | None] = []
    for column, levels in zip(place.tolist(), own.categories, strict=True):
        whole = schema.categories[column]
        if levels is None or whole is None or np.array_equal(levels, whole):
            tables.append(None)
        else:
            codes = {level: float(code) for code, level in enumerate(levels.tolist())}
            tables.append(np.array([codes.get(level, np.nan) for level in whole.tolist()]))
    return row if all(table is None for table in tables) else RecodedRow(row, tuple(tables))


def present_member(member: Any, row: FormulaTerm | None) -> ModelFormula:
    """The formula of a member: an estimator of this library, or a linear model of scikit-learn."""
    return _present_linear(member, row) if type(member) in _LINEAR else present_formula(member, row)


def _present_linear(model: Any, row: FormulaTerm | None) -> ModelFormula:
    """A linear model of scikit-learn."""
    n_columns = int(model.n_features_in_)
    row = TableRow(n_columns) if row is None else row
    schema = Schema(n_columns, None, (None,) * n_columns, np.dtype(np.float64))
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    starts = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (len(weights),)).copy()
    scores = LinearTerm(row, weights, starts)
    if not isinstance(model, LogisticRegression):
        return ModelFormula(row, schema, scores)
    means = RowFunction("softmax" if len(weights) > 1 else "sigmoid", scores)
    return present_scores(row, schema, model.classes_, scores, means)


# --- predictions in the layout of the ensemble --------------------------------------------------------------------


def align_probabilities(owner: object, formula: ModelFormula, classes: Sequence[AnyArray]) -> FormulaTerm:
    """Probabilities of a member, or one for the class that it predicts, in the columns of the ensemble's classes."""
    if formula.probabilities is None:
        raise refuse_formula(owner, "averages probabilities of members that have none")
    parts, first = [], 0
    for known, wanted in zip(formula.classes, classes, strict=True):
        spots = {label: first + k for k, label in enumerate(known.tolist())}
        first += len(known)
        parts += [spots.get(label, -1) for label in wanted.tolist()]
    if parts == list(range(first)):
        return formula.probabilities
    if -1 not in parts:
        return TakenColumns(formula.probabilities, tuple(parts))
    padded = JoinedTerms((formula.probabilities, ConstantTerm(np.zeros(1))))
    return TakenColumns(padded, tuple(first if spot < 0 else spot for spot in parts))


def index_labels(formula: ModelFormula, classes: Sequence[AnyArray]) -> FormulaTerm:
    """The index, among the ensemble's classes, of the class that a member predicts; for each output."""
    tables: list[FloatArray | None] = []
    for known, wanted in zip(formula.classes, classes, strict=True):
        same = np.array_equal(known, wanted)
        tables.append(None if same else np.searchsorted(wanted, known).astype(np.float64))
    return formula.value if all(table is None for table in tables) else RecodedRow(formula.value, tuple(tables))


def predict_term(owner: object, formula: ModelFormula, method: str, classes: Sequence[AnyArray] | None) -> FormulaTerm:
    """What a member predicts by a method, as `predict_member` of the combining ensembles lays it out."""
    if classes is None or not formula.classes:
        return formula.value
    if method == "predict_proba":
        return align_probabilities(owner, formula, classes)
    if method == "decision_function":
        if formula.decision is None:
            raise refuse_formula(owner, "uses a decision function that cannot be written down")
        return formula.decision
    return index_labels(formula, classes)
