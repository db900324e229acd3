"""Formulas of models computed for rows: every term is a function of the encoded table, made once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from committee.engines.formula import (
    Arithmetic,
    ConstantTerm,
    Curve,
    JoinedTerms,
    LinearTerm,
    LookupTerm,
    OneHotTerm,
    PositiveElse,
    RecodedRow,
    RowFunction,
    TableRow,
    TakenColumns,
    TreeTerm,
    WeightedMedian,
    order_terms,
)
from committee.losses import LossFunction, apply_exp2, apply_sigmoid, apply_softmax, apply_softplus

if TYPE_CHECKING:
    from collections.abc import Callable

    from committee.engines.formula import FormulaTerm
    from committee.typing import FloatArray, FloatMatrix

__all__ = ["FormulaFunction", "find_medians", "interpolate_steps"]

_Step: TypeAlias = "Callable[[list[FloatArray], int], FloatArray]"

_OPERATIONS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "==": lambda left, right: np.equal(left, right).astype(np.float64),
    ">": lambda left, right: np.greater(left, right).astype(np.float64),
}
_POISSON = LossFunction("poisson")


class FormulaFunction:
    """What computes a term for all rows of a table; threads may share it.

    Parameters
    ----------
    result : FormulaTerm
        The term.
    """

    def __init__(self, result: FormulaTerm) -> None:
        terms = order_terms([result])
        self._constants: list[FloatArray | None] = [
            term.values[None, :] if isinstance(term, ConstantTerm) else None for term in terms
        ]
        places = {id(term): place for place, term in enumerate(terms)}
        self._rows = next((k for k, term in enumerate(terms) if isinstance(term, TableRow)), None)
        self._centres = any(isinstance(term, RowFunction) and term.name == "known" for term in terms)
        self._steps: list[tuple[int, _Step]] = [
            (place, _make_step(term, [places[id(other)] for other in term.inputs]))
            for place, term in enumerate(terms)
            if not isinstance(term, ConstantTerm | TableRow)
        ]

    def __call__(self, rows: FloatMatrix, n_jobs: int) -> FloatArray:
        """The term for every row, of shape (n_rows, width)."""
        values: list[Any] = list(self._constants)
        if self._rows is not None:
            values[self._rows] = rows
        if self._centres:  # the difference of an extreme value from a mean may overflow, and is clipped
            with np.errstate(over="ignore", invalid="ignore"):
                self._compute(values, n_jobs)
        else:
            self._compute(values, n_jobs)
        result: FloatArray = values[-1]
        return result if len(result) == len(rows) else np.repeat(result, len(rows), axis=0)

    def _compute(self, values: list[Any], n_jobs: int) -> None:
        for place, step in self._steps:
            values[place] = step(values, n_jobs)


def _make_step(term: FormulaTerm, places: list[int]) -> _Step:
    if isinstance(term, TreeTerm):
        return _make_tree_step(term, places[0])
    if isinstance(term, Arithmetic):
        operation, (left, right) = _OPERATIONS[term.operation], places
        return lambda values, _: operation(values[left], values[right])
    if isinstance(term, RowFunction):
        function, source = _ROW_FUNCTIONS[term.name], places[0]
        return lambda values, _: function(values[source])
    if isinstance(term, TakenColumns):
        columns, source = list(term.columns), places[0]
        first = columns[0]
        if columns == list(range(first, first + len(columns))):
            return lambda values, _: values[source][:, first : first + len(columns)]
        return lambda values, _: values[source][:, columns]
    if isinstance(term, JoinedTerms):
        return lambda values, _: _join([values[place] for place in places])
    return _make_special_step(term, places)


def _make_tree_step(term: TreeTerm, source: int) -> _Step:
    trees, combine, weights, slots, width = term.trees, term.combine, term.tree_weights, term.slots, term.width
    return lambda values, n_jobs: trees.predict(values[source], combine, weights, slots, width, 0, None, n_jobs)


def _make_special_step(term: FormulaTerm, places: list[int]) -> _Step:
    source = places[0]
    if isinstance(term, RecodedRow):
        tables = term.tables
        return lambda values, _: _recode(values[source], tables)
    if isinstance(term, OneHotTerm):
        numbers = np.arange(float(term.size))
        return lambda values, _: (values[source] == numbers).astype(np.float64)
    if isinstance(term, LookupTerm):
        table = term.table
        return lambda values, _: _look_up(values[source], table)
    if isinstance(term, PositiveElse):
        number, then, otherwise = places
        return lambda values, _: np.where(values[number] > 0.0, values[then], values[otherwise])
    if isinstance(term, Curve):
        curve = term
        return lambda values, _: interpolate_steps(values[source], curve.places, curve.heights)
    if isinstance(term, WeightedMedian):
        median = term
        return lambda values, _: find_medians(values[source], median.weights, median.share)[:, None]
    assert isinstance(term, LinearTerm)
    coefficients, intercepts = term.coefficients.T, term.intercepts
    return lambda values, _: values[source] @ coefficients + intercepts


def _join(parts: list[FloatArray]) -> FloatArray:
    n_rows = max(len(part) for part in parts)
    return np.concatenate([part if len(part) == n_rows else np.repeat(part, n_rows, axis=0) for part in parts], axis=1)


def _recode(rows: FloatArray, tables: tuple[FloatArray | None, ...]) -> FloatArray:
    recoded = np.array(rows, dtype=np.float64)
    for column, table in enumerate(tables):
        if table is not None:
            codes = recoded[:, column]
            known = (codes >= 0.0) & (codes < len(table))
            recoded[:, column] = np.where(known, table[np.where(known, codes, 0.0).astype(np.intp)], np.nan)
    return recoded


def _look_up(numbers: FloatArray, table: FloatArray) -> FloatArray:
    last = len(table) - 1
    known = (numbers >= 0.0) & (numbers < last)
    return np.asarray(table[np.where(known, numbers, last).astype(np.intp)[:, 0]])


def _sigmoid_rows(values: FloatArray) -> FloatArray:
    return apply_sigmoid(np.ascontiguousarray(values))


_ROW_FUNCTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "exp": lambda values: _POISSON.find_means(values.reshape(-1, 1)).reshape(values.shape),
    "exp2": apply_exp2,
    "log": np.log,
    "sigmoid": _sigmoid_rows,
    "softplus": apply_softplus,
    "softmax": apply_softmax,
    "sort": lambda values: np.sort(values, axis=1),
    "sum": lambda values: np.ascontiguousarray(values).sum(axis=1, keepdims=True),
    "argmax": lambda values: values.argmax(axis=1)[:, None].astype(np.float64),
    "round": np.rint,
    "missing": lambda values: np.isnan(values).astype(np.float64),
    "known": lambda values: np.where(np.isnan(values), 0.0, values),
}


def interpolate_steps(values: FloatArray, places: FloatArray, heights: FloatArray) -> FloatArray:
    """Linear interpolation between ascending places, constant beyond the ends.

    Step by step: NumPy's own function multiplies and adds at once on some processors, which changes the last bit.
    """
    left = np.searchsorted(places, values, side="right") - 1
    start = np.clip(left, 0, max(len(places) - 2, 0))
    stop = np.minimum(start + 1, len(places) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = (heights[stop] - heights[start]) / (places[stop] - places[start])
    between = rise * (values - places[start]) + heights[start]
    last = np.where(left >= len(places) - 1, heights[-1], between)
    return np.where(left < 0, heights[0], last)


def find_medians(values: FloatArray, weights: FloatArray, share: float) -> FloatArray:
    """For each row the first value, in ascending order, with which the weights reach a share of their sum."""
    order = values.argsort(axis=1, kind="stable")
    below = weights[order].cumsum(axis=1)
    median = (below >= share * below[:, -1:]).argmax(axis=1)
    each = np.arange(len(values))
    return np.asarray(values[each, order[each, median]])
