"""What a committee computes for a row: the formulas of its members over its own table, and their weighted mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from committee.automatic.baseline_members import BaselineMember, NeighbourMember
from committee.automatic.combination import LEAST_SHARPENED
from committee.automatic.stacked_member import StackedMember
from committee.engines.formula import (
    Arithmetic,
    ConstantTerm,
    JoinedTerms,
    ModelFormula,
    RecodedRow,
    RowFunction,
    TableRow,
    TakenColumns,
    add_weighted,
    refuse_formula,
)
from committee.engines.several_targets import present_targets
from committee.ensembles.member_formulas import predict_term, present_member
from committee.learners.prepared_predictor import PredictorMixin

if TYPE_CHECKING:
    from committee.automatic.views import TextReader
    from committee.data import Schema
    from committee.engines.formula import FormulaTerm
    from committee.typing import AnyArray, FloatArray, Task

__all__ = ["CommitteeFormulaMixin"]


class CommitteeFormulaMixin(PredictorMixin):
    """Committees that say what they compute, for exports and prepared predictors."""

    _task: ClassVar[Task]
    _schema: Schema
    _texts: TextReader
    estimators_: list[Any]
    weights_: FloatArray
    power_: float
    classes_: AnyArray

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted committee computes for a row, by default of its own table; exports are written from it."""
        self._check_fitted()
        if self._texts.places:
            raise refuse_formula(self, "was fitted on texts")
        if self._has_several():
            return present_targets(self._outputs, row, self._schema.n_features)
        row = TableRow(self._schema.n_features) if row is None else row
        classes = [np.arange(len(self.classes_))] if self._task == "classify" else None
        method = "predict" if classes is None else "predict_proba"
        terms = [predict_term(self, self._open_member(member, row), method, classes) for member in self.estimators_]
        mean = add_weighted(self.weights_, terms)
        if classes is None:
            return ModelFormula(row, self._schema, mean)
        if self.power_ != 1.0:
            least, power = (ConstantTerm(np.array([value])) for value in (LEAST_SHARPENED, self.power_))
            logs = RowFunction("log", Arithmetic("max", mean, least), is_exact=False)
            mean = RowFunction("softmax", Arithmetic("*", power, logs), is_exact=False)
        return ModelFormula(row, self._schema, RowFunction("argmax", mean), (self.classes_,), mean)

    def _check_fitted(self) -> None:
        raise NotImplementedError

    if TYPE_CHECKING:
        _outputs: list[Any]

        def _has_several(self) -> bool: ...

    def _open_member(self, member: Any, row: FormulaTerm) -> ModelFormula:
        if isinstance(member, NeighbourMember):
            raise refuse_formula(self, "has the member 'neighbours' (the parameter 'portfolio' can leave it out)")
        if isinstance(member, BaselineMember):
            return member.to_formula(row)
        known = self._schema.categories
        if isinstance(member, StackedMember):
            row, member = self._widen_row(member, row), member.model
            known += (None,) * (row.width - len(known))
        own = present_member(member, None).schema
        if own.n_features != row.width:
            raise refuse_formula(self, f"has a member with {own.n_features} columns instead of {row.width}")
        tables = [
            None if whole is None or levels is None else _number_codes(len(whole), levels)
            for whole, levels in zip(known, own.categories, strict=True)
        ]
        changed = any(table is not None for table in tables)
        return present_member(member, RecodedRow(row, tuple(tables)) if changed else row)

    def _widen_row(self, member: StackedMember, row: FormulaTerm) -> FormulaTerm:
        """The row followed by the predictions of the models of the first layer."""
        method = "predict" if member.classes is None else "predict_proba"
        terms = [predict_term(self, self._open_member(base, row), method, member.classes) for base in member.bases]
        return JoinedTerms((row, *(TakenColumns(t, (1,)) if t.width == 2 else t for t in terms)))


def _number_codes(n_codes: int, levels: AnyArray) -> FloatArray:
    """For each code of the committee its number among the levels of a member, which are such codes."""
    known = {float(level): float(number) for number, level in enumerate(levels.tolist())}
    return np.array([known.get(float(code), np.nan) for code in range(n_codes)])
