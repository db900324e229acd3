"""How a fitted model computes its predictions, term by term: what exports to other languages are written from.

A term is a row of numbers that is computed from other terms. Terms are compared by identity: one that several others
use is computed once. The order of all sums is that of the model's own prediction, so that an export that follows it
step by step gives the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from committee.exceptions import ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from committee.data import Schema
    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = [
    "Arithmetic",
    "ConstantTerm",
    "Curve",
    "FormulaSource",
    "FormulaTerm",
    "JoinedTerms",
    "LinearTerm",
    "LookupTerm",
    "ModelFormula",
    "OneHotTerm",
    "PositiveElse",
    "RecodedRow",
    "RowFunction",
    "TableRow",
    "TakenColumns",
    "TreeTerm",
    "WeightedMedian",
    "add_weighted",
    "find_bin",
    "find_largest",
    "join_two_classes",
    "order_terms",
    "present_formula",
    "present_scores",
    "refuse_formula",
    "vote_largest",
]

FunctionName: TypeAlias = Literal[
    "exp", "exp2", "log", "sigmoid", "softplus", "softmax", "sort", "sum", "argmax", "round", "missing", "known"
]
"""``argmax`` is the column of the largest number, the first of equals; ``softmax``, ``exp``, ``sigmoid`` and
``softplus``, ln(1 + e^x), are those of the engine; ``sum`` adds as NumPy does along a row; ``round`` is to the nearest
whole number, half to even. ``missing`` is one for NaN and zero for a number, ``known`` the number and zero for NaN."""


class FormulaTerm(ABC):
    """A row of numbers."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many."""

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """The terms that it is computed from."""
        return ()


@dataclass(frozen=True, eq=False)
class TableRow(FormulaTerm):
    """A row of the table: numbers, NaN where one is missing, codes of categories."""

    n_columns: int

    @property
    def width(self) -> int:
        """Columns of the table."""
        return self.n_columns


@dataclass(frozen=True, eq=False)
class ConstantTerm(FormulaTerm):
    """The same numbers for every row of the table."""

    values: FloatArray

    @property
    def width(self) -> int:
        """Their number."""
        return len(self.values)


@dataclass(frozen=True, eq=False)
class TakenColumns(FormulaTerm):
    """Some columns of another term."""

    source: FormulaTerm
    columns: tuple[int, ...]

    @property
    def width(self) -> int:
        """Their number."""
        return len(self.columns)

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """The other term."""
        return (self.source,)


@dataclass(frozen=True, eq=False)
class JoinedTerms(FormulaTerm):
    """Terms side by side."""

    parts: tuple[FormulaTerm, ...]

    @property
    def width(self) -> int:
        """The sum of their widths."""
        return sum(part.width for part in self.parts)

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """The terms."""
        return self.parts


@dataclass(frozen=True, eq=False)
class RecodedRow(FormulaTerm):
    """A row whose categories have other codes: ``tables[column][code]``, NaN where there is none; None: unchanged."""

    source: FormulaTerm
    tables: tuple[FloatArray | None, ...]

    @property
    def width(self) -> int:
        """As before."""
        return self.source.width

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """The row."""
        return (self.source,)


@dataclass(frozen=True, eq=False)
class TreeTerm(FormulaTerm):
    """Trees combined as `Trees.predict` does; the attributes are its arguments."""

    source: FormulaTerm
    trees: Any
    combine: Literal["mean", "sum", "vote"]
    tree_weights: FloatArray | None = None
    slots: IndexArray | None = None
    n_columns: int | None = None

    @property
    def width(self) -> int:
        """Columns of the combination."""
        return int(self.trees.width) if self.n_columns is None else self.n_columns

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """The row that the trees are walked with."""
        return (self.source,)

    @property
    def divisor(self) -> float:
        """What a mean is divided by: the weights, added one by one as the engine does."""
        if self.combine != "mean":
            return 1.0
        weights = [1.0] * self.trees.n_trees if self.tree_weights is None else self.tree_weights.tolist()
        return float(reduce(lambda total, weight: total + weight, weights, 0.0))


@dataclass(frozen=True, eq=False)
class Arithmetic(FormulaTerm):
    """An operation on pairs of numbers; a term of one number goes with all of the other.

    A comparison is one where it holds and zero elsewhere, also for NaN.
    """

    operation: Literal["+", "-", "*", "/", "max", "min", "==", ">"]
    left: FormulaTerm
    right: FormulaTerm

    @property
    def width(self) -> int:
        """That of the wider term."""
        return max(self.left.width, self.right.width)

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """Both."""
        return (self.left, self.right)


@dataclass(frozen=True, eq=False)
class RowFunction(FormulaTerm):
    """A function of each number, or of all numbers of the row.

    ``is_exact``: whether the model computes it as the engine does, rather than by NumPy, whose last bits differ.
    """

    name: FunctionName
    source: FormulaTerm
    is_exact: bool = True

    @property
    def width(self) -> int:
        """One for a sum and a position, otherwise that of the source."""
        return 1 if self.name in ("sum", "argmax") else self.source.width

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """The source."""
        return (self.source,)


@dataclass(frozen=True, eq=False)
class OneHotTerm(FormulaTerm):
    """One in the column that a number names, zero elsewhere."""

    source: FormulaTerm
    size: int

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.size

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """The number."""
        return (self.source,)


@dataclass(frozen=True, eq=False)
class LookupTerm(FormulaTerm):
    """The row of a table that a whole number names; the last one for every other number, and for NaN."""

    source: FormulaTerm
    table: FloatArray

    @property
    def width(self) -> int:
        """Columns of the table."""
        return int(self.table.shape[1])

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """The number."""
        return (self.source,)


@dataclass(frozen=True, eq=False)
class Curve(FormulaTerm):
    """Linear interpolation of one number between ascending places, constant beyond the ends."""

    source: FormulaTerm
    places: FloatArray
    heights: FloatArray

    @property
    def width(self) -> int:
        """One."""
        return 1

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """The number."""
        return (self.source,)


@dataclass(frozen=True, eq=False)
class PositiveElse(FormulaTerm):
    """One term where a number is positive, another elsewhere."""

    number: FormulaTerm
    then: FormulaTerm
    otherwise: FormulaTerm

    @property
    def width(self) -> int:
        """That of both."""
        return self.then.width

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """All three."""
        return (self.number, self.then, self.otherwise)


@dataclass(frozen=True, eq=False)
class WeightedMedian(FormulaTerm):
    """The first number, in ascending order, with which the weights reach a share of their sum."""

    source: FormulaTerm
    weights: FloatArray
    share: float

    @property
    def width(self) -> int:
        """One."""
        return 1

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """The numbers."""
        return (self.source,)


@dataclass(frozen=True, eq=False)
class LinearTerm(FormulaTerm):
    """``source @ coefficients.T + intercepts``: of another library, whose order of summation is not known."""

    source: FormulaTerm
    coefficients: FloatArray
    intercepts: FloatArray

    @property
    def width(self) -> int:
        """One for each intercept."""
        return len(self.intercepts)

    @property
    def inputs(self) -> tuple[FormulaTerm, ...]:
        """The source."""
        return (self.source,)


@dataclass(frozen=True, eq=False)
class ModelFormula:
    """What a fitted model computes for one row.

    Attributes
    ----------
    row : FormulaTerm
        The row that everything is computed from.
    schema : Schema
        The columns of the row.
    value : FormulaTerm
        Indices of the classes, one for each output; or the predicted values.
    classes : tuple of ndarray
        The classes of each output; empty if values are predicted.
    probabilities : FormulaTerm, optional
        Of the classes of all outputs, side by side.
    decision : FormulaTerm, optional
        The decision function, a column or several; of an isolation forest, the score of the row.
    """

    row: FormulaTerm
    schema: Schema
    value: FormulaTerm
    classes: tuple[AnyArray, ...] = ()
    probabilities: FormulaTerm | None = None
    decision: FormulaTerm | None = None

    @property
    def results(self) -> dict[str, FormulaTerm]:
        """What is predicted, by the names of the methods of an estimator."""
        named = {
            "predict": self.value,
            "predict_proba": self.probabilities,
            "decision_function" if self.classes else "score_samples": self.decision,
        }
        return {name: term for name, term in named.items() if term is not None}

    @property
    def terms(self) -> list[FormulaTerm]:
        """All terms, each after those that it is computed from."""
        return order_terms(self.results.values())

    @property
    def is_exact(self) -> bool:
        """Whether the order of all sums is known, so that an export can give the same bits."""
        return all(not isinstance(term, LinearTerm) and getattr(term, "is_exact", True) for term in self.terms)


def order_terms(wanted: Iterable[FormulaTerm]) -> list[FormulaTerm]:
    """The wanted terms and all that they are computed from, each after those."""
    ordered: dict[int, FormulaTerm] = {}
    pending = list(wanted)[::-1]
    while pending:
        term = pending[-1]
        waiting = [other for other in term.inputs if id(other) not in ordered]
        if id(term) in ordered or not waiting:
            ordered.setdefault(id(pending.pop()), term)
        else:
            pending += waiting
    return list(ordered.values())


@runtime_checkable
class FormulaSource(Protocol):
    """An estimator that can say what it computes."""

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted estimator computes for a row; by default of its own table."""


def present_formula(model: Any, row: FormulaTerm | None = None) -> ModelFormula:
    """What a fitted estimator computes for a row; an error with a sentence if it cannot be written down.

    Examples
    --------
    >>> from committee import DecisionTreeClassifier
    >>> formula = present_formula(DecisionTreeClassifier().fit([[1], [2]], ["a", "b"]))
    >>> [type(term).__name__ for term in formula.terms]
    ['TableRow', 'TreeTerm', 'RowFunction']
    """
    if isinstance(model, type) or not isinstance(model, FormulaSource):
        raise refuse_formula(model, getattr(model, "export_hindrance", "is not made of trees of this library"))
    return model.to_formula(row)


def refuse_formula(model: Any, reason: str) -> ParameterTypeError:
    """The error to raise for a model that cannot be exported."""
    name = model.__name__ if isinstance(model, type) else type(model).__name__
    return ParameterTypeError(
        f"{'An' if name[:1] in 'AEIO' else 'A'} {name} that {reason} cannot be exported; trees, forests, bags, "
        "boosting, AdaBoost, isolation forests, naive Bayes, and voting, stacking and committees of these can."
    )


# --- frequent combinations ---------------------------------------------------------------------------------------


def join_two_classes(share: FormulaTerm) -> FormulaTerm:
    """Probabilities of both classes, from that of the second."""
    return JoinedTerms((Arithmetic("-", ConstantTerm(np.ones(1)), share), share))


def present_scores(
    row: FormulaTerm, schema: Schema, classes: AnyArray, scores: FormulaTerm, means: FormulaTerm
) -> ModelFormula:
    """A classifier with a score for each class, or one score, that of the second class being positive.

    Parameters
    ----------
    row, schema
        As in `ModelFormula`.
    classes : ndarray
        The classes.
    scores : FormulaTerm
        The decision function.
    means : FormulaTerm
        Probabilities of all classes; of the second one where there is one score.
    """
    if scores.width > 1 or len(classes) < 2:
        return ModelFormula(row, schema, RowFunction("argmax", scores), (classes,), means, scores)
    label = RowFunction("argmax", JoinedTerms((ConstantTerm(np.zeros(1)), scores)))
    return ModelFormula(row, schema, label, (classes,), join_two_classes(means), scores)


def add_weighted(weights: Iterable[float], parts: Sequence[FormulaTerm]) -> FormulaTerm:
    """``((0 + w1 p1) + w2 p2) + ...``."""
    total: FormulaTerm = ConstantTerm(np.zeros(1))
    for weight, part in zip(weights, parts, strict=True):
        total = Arithmetic("+", total, Arithmetic("*", ConstantTerm(np.array([float(weight)])), part))
    return total


def find_bin(value: FormulaTerm, thresholds: FloatArray) -> FormulaTerm:
    """How many ascending thresholds lie below a number; NaN if it is missing."""
    if not len(thresholds):
        return Arithmetic("*", value, ConstantTerm(np.zeros(1)))
    count = RowFunction("sum", Arithmetic(">", value, ConstantTerm(np.asarray(thresholds, dtype=np.float64))))
    return PositiveElse(RowFunction("missing", value), ConstantTerm(np.array([np.nan])), count)


def find_largest(source: FormulaTerm, sizes: Sequence[int]) -> FormulaTerm:
    """For each of several outputs, side by side, the column of its largest number, the first of equals."""
    firsts = np.cumsum([0, *sizes])
    outputs = [
        RowFunction("argmax", source if len(sizes) == 1 else TakenColumns(source, tuple(range(first, first + size))))
        for first, size in zip(firsts.tolist(), sizes, strict=False)
    ]
    return outputs[0] if len(outputs) == 1 else JoinedTerms(tuple(outputs))


def vote_largest(indices: FormulaTerm, sizes: Sequence[int]) -> FormulaTerm:
    """One in the column that an index names, zero elsewhere; for each of several outputs, side by side."""
    if len(sizes) == 1:
        return OneHotTerm(indices, sizes[0])
    return JoinedTerms(tuple(OneHotTerm(TakenColumns(indices, (k,)), size) for k, size in enumerate(sizes)))
