"""Terms of a formula as statements in C: each fills an array of its own on the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from committee.io.c_code.literals import write_array, write_double
from committee.io.c_code.trees import write_arena, write_tree_sum

if TYPE_CHECKING:
    from committee.engines.formula import FormulaTerm
    from committee.typing import FloatArray

__all__ = ["FormulaWriter"]

#: Functions of one number.
_EACH = {
    "exp": "exponential({0})",
    "exp2": "power_of_two({0})",
    "log": "natural_log({0})",
    "sigmoid": "1.0 / (1.0 + exponential(-({0})))",
    "softplus": "log_one_plus_exp({0})",
    "round": "round_half_even({0})",
    "missing": "{0} != {0} ? 1.0 : 0.0",
    "known": "{0} != {0} ? 0.0 : {0}",
}
_NEEDS = {"sigmoid": ("exp",), "missing": (), "known": ()}


class FormulaWriter:
    """Writes the functions of a model; what several of them use is written once."""

    def __init__(self) -> None:
        self.runtime: set[str] = set()
        self.definitions: list[str] = []
        self._arenas: dict[int, int] = {}
        self._sums: dict[int, str] = {}
        self._n_arrays = 0
        self._kept: list[object] = []  # ids stay those of living objects

    def write_function(self, name: str, result: FormulaTerm, kind: str) -> str:
        """The function ``name(x, out)`` that computes a term; kind: ``double``, or ``int`` for indices."""
        names: dict[int, str] = {}
        declared, statements = [], []
        for number, term in enumerate(order_terms([result])):
            if isinstance(term, TableRow):
                names[id(term)] = "x"
                continue
            if isinstance(term, ConstantTerm):
                names[id(term)] = self._write_constants(term.values)
                continue
            own = names[id(term)] = f"t{number}"
            declared.append(f"{own}[{term.width}]")
            statements += self._write_term(term, own, names)
        lines = ["  size_t k;", *(f"  double {one};" for one in declared)]
        lines += [f"  {statement}" for statement in statements]
        source = names[id(result)]
        lines.append(f"  for (k = 0; k < {result.width}; ++k) out[k] = ({kind}){source}[k];")
        if not declared and source != "x":
            lines.insert(0, "  (void)x;")
            lines[0], lines[1] = lines[1], lines[0]
        return f"void {name}(const double *x, {kind} *out) {{\n" + "\n".join(lines) + "\n}\n"

    def _write_constants(self, values: FloatArray) -> str:
        self._n_arrays += 1
        name = f"constants_{self._n_arrays}"
        self.definitions.append(write_array(name, np.asarray(values, dtype=np.float64)))
        return name

    def _need(self, *names: str) -> None:
        self.runtime.update(names)

    def _write_term(self, term: FormulaTerm, own: str, names: dict[int, str]) -> list[str]:
        inputs = [names[id(other)] for other in term.inputs]
        if isinstance(term, TreeTerm):
            return [f"{self._name_sum(term)}({inputs[0]}, {own});"]
        if isinstance(term, RowFunction):
            return self._write_row_function(term, own, inputs[0])
        if isinstance(term, Arithmetic):
            left, right = (
                f"{name}[{'0' if part.width == 1 else 'k'}]" for name, part in zip(inputs, term.inputs, strict=True)
            )
            result = f"{left} {term.operation} {right}"
            if term.operation in ("max", "min"):
                result = f"{left} {'>' if term.operation == 'max' else '<'} {right} ? {left} : {right}"
            elif term.operation in ("==", ">"):
                result = f"{left} {term.operation} {right} ? 1.0 : 0.0"
            return [f"for (k = 0; k < {term.width}; ++k) {own}[k] = {result};"]
        if isinstance(term, JoinedTerms | TakenColumns):
            return self._write_copies(term, own, inputs)
        return self._write_special(term, own, inputs)

    def _write_copies(self, term: JoinedTerms | TakenColumns, own: str, inputs: list[str]) -> list[str]:
        if isinstance(term, TakenColumns):
            first = term.columns[0] if term.columns else 0
            if term.columns == tuple(range(first, first + len(term.columns))):
                return [f"for (k = 0; k < {term.width}; ++k) {own}[k] = {inputs[0]}[k + {first}];"]
            return [f"{own}[{k}] = {inputs[0]}[{column}];" for k, column in enumerate(term.columns)]
        lines, first = [], 0
        for name, part in zip(inputs, term.parts, strict=True):
            lines.append(f"for (k = 0; k < {part.width}; ++k) {own}[k + {first}] = {name}[k];")
            first += part.width
        return lines

    def _write_row_function(self, term: RowFunction, own: str, source: str) -> list[str]:
        size = term.source.width
        if term.name in _EACH:
            self._need(*_NEEDS.get(term.name, (term.name,)))
            return [f"for (k = 0; k < {size}; ++k) {own}[k] = {_EACH[term.name].format(f'{source}[k]')};"]
        self._need(term.name)
        if term.name == "softmax":
            return [f"softmax({source}, {own}, {size});"] if size > 1 else [f"{own}[0] = 1.0;"]
        if term.name == "argmax":
            return [f"{own}[0] = (double)find_largest({source}, {size});"]
        if term.name == "sum":
            return [f"{own}[0] = sum_row({source}, {size});"]
        lines = [f"for (k = 0; k < {size}; ++k) {own}[k] = {source}[k];"]
        return [*lines, f"{{ double weights[{size}] = {{0}}; sort_pairs({own}, weights, {size}); }}"]

    def _write_special(self, term: FormulaTerm, own: str, inputs: list[str]) -> list[str]:
        if isinstance(term, RecodedRow):
            lines = []
            for k, table in enumerate(term.tables):
                call = f"{inputs[0]}[{k}]"
                if table is not None:
                    self._need("recode")
                    call = f"recode({call}, {self._write_constants(table)}, {len(table)})"
                lines.append(f"{own}[{k}] = {call};")
            return lines
        if isinstance(term, OneHotTerm):
            return [f"for (k = 0; k < {term.size}; ++k) {own}[k] = (double)k == {inputs[0]}[0] ? 1.0 : 0.0;"]
        if isinstance(term, LookupTerm):
            self._need("place")
            last, rows = len(term.table) - 1, self._write_constants(np.ravel(term.table))
            return [
                "{",
                f"  const double *from = {rows} + {term.width} * find_place({inputs[0]}[0], {last});",
                f"  for (k = 0; k < {term.width}; ++k) {own}[k] = from[k];",
                "}",
            ]
        if isinstance(term, PositiveElse):
            number, then, otherwise = inputs
            return [f"for (k = 0; k < {term.width}; ++k) {own}[k] = {number}[0] > 0.0 ? {then}[k] : {otherwise}[k];"]
        if isinstance(term, Curve):
            self._need("curve")
            places, heights = self._write_constants(term.places), self._write_constants(term.heights)
            return [f"{own}[0] = interpolate({inputs[0]}[0], {places}, {heights}, {len(term.places)});"]
        if isinstance(term, WeightedMedian):
            return self._write_median(term, own, inputs[0])
        if isinstance(term, LinearTerm):
            return self._write_linear(term, own, inputs[0])
        raise NotImplementedError(type(term).__name__)

    def _write_median(self, term: WeightedMedian, own: str, source: str) -> list[str]:
        self._need("median")
        size, weights = term.source.width, self._write_constants(term.weights)
        return [
            "{",
            f"  double values[{size}], weights[{size}];",
            f"  for (k = 0; k < {size}; ++k) {{ values[k] = {source}[k]; weights[k] = {weights}[k]; }}",
            f"  {own}[0] = weighted_median(values, weights, {size}, {write_double(term.share)});",
            "}",
        ]

    def _write_linear(self, term: LinearTerm, own: str, source: str) -> list[str]:
        size, name = term.source.width, self._write_constants(term.coefficients.ravel())
        starts = self._write_constants(term.intercepts)
        return [
            f"for (k = 0; k < {term.width}; ++k) {{",
            "  size_t c;",
            f"  {own}[k] = 0.0;",
            f"  for (c = 0; c < {size}; ++c) {own}[k] += {source}[c] * {name}[k * {size} + c];",
            f"  {own}[k] += {starts}[k];",
            "}",
        ]

    def _name_sum(self, term: TreeTerm) -> str:
        """The name of the function of a sum of trees, which is written if it is new."""
        if id(term) in self._sums:
            return self._sums[id(term)]
        self._kept += [term, term.trees]
        if id(term.trees) not in self._arenas:
            arena = self._arenas[id(term.trees)] = len(self._arenas)
            code, needed = write_arena(arena, term.trees, term.inputs[0].width)
            self.definitions.append(code)
            self._need(*needed)
        name = self._sums[id(term)] = f"sum_trees_{len(self._sums)}"
        self.definitions.append(write_tree_sum(name, self._arenas[id(term.trees)], term))
        return name
