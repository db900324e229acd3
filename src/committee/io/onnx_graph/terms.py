"""Terms of a formula as nodes of an ONNX graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from committee.io.onnx_graph.trees import MISSING_CODE, find_category_columns, list_tree_attributes

if TYPE_CHECKING:
    from committee.engines.formula import FormulaTerm
    from committee.typing import AnyArray

__all__ = ["GraphWriter"]

_OPERATIONS = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "max": "Max", "min": "Min"}
_COMPARISONS = {"==": "Equal", ">": "Greater"}
_EACH = {"exp": "Exp", "log": "Log", "sigmoid": "Sigmoid", "round": "Round"}


class GraphWriter:
    """Nodes one after the other, and the constants that they use; a term that is used twice is written once."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._names: dict[int, str] = {}
        self._made: list[FormulaTerm] = []  # ids stay those of living terms

    def add(self, kind: str, inputs: list[str], name: str | None = None, **attributes: Any) -> str:
        """A node with one result; the name of the result."""
        return self.add_several(kind, inputs, 1, name, **attributes)[0]

    def add_several(
        self, kind: str, inputs: list[str], n_results: int, name: str | None = None, **attributes: Any
    ) -> list[str]:
        """A node with several results; their names."""
        first = name or f"{kind.lower()}_{len(self.nodes)}"
        made = [first, *(f"{first}_{k}" for k in range(1, n_results))]
        self.nodes.append(self._onnx.helper.make_node(kind, inputs, made, **attributes))
        return made

    def keep(self, values: AnyArray) -> str:
        """A constant; its name."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def write(self, terms: list[FormulaTerm]) -> None:
        """Write terms, each after those that it is computed from."""
        for term in terms:
            if id(term) not in self._names:
                self._made.append(term)
                self._names[id(term)] = self._write(term)

    def name(self, term: FormulaTerm) -> str:
        """The name of the result of a term that was written."""
        return self._names[id(term)]

    def cast(self, source: str, kind: str) -> str:
        """Another type of number: ``DOUBLE`` or ``INT64``."""
        return self.add("Cast", [source], to=getattr(self._onnx.TensorProto, kind))

    def _write(self, term: FormulaTerm) -> str:
        inputs = [self.name(other) for other in term.inputs]
        if isinstance(term, TableRow):
            return "X"
        if isinstance(term, ConstantTerm):
            return self.keep(np.asarray(term.values, dtype=np.float64)[None, :])
        if isinstance(term, Arithmetic):
            if term.operation in _COMPARISONS:
                return self.cast(self.add(_COMPARISONS[term.operation], inputs), "DOUBLE")
            return self.add(_OPERATIONS[term.operation], inputs)
        if isinstance(term, TreeTerm):
            return self._write_trees(term, inputs[0])
        if isinstance(term, RowFunction):
            return self._write_function(term, inputs[0])
        if isinstance(term, TakenColumns):
            return self.add("Gather", [inputs[0], self.keep(np.array(term.columns, dtype=np.int64))], axis=1)
        if isinstance(term, JoinedTerms):
            pairs = zip(term.parts, inputs, strict=True)
            widened = [name if _reads_row(part) else self.repeat(name) for part, name in pairs]
            return self.add("Concat", widened, axis=1)
        return self._write_special(term, inputs)

    def write_result(self, term: FormulaTerm) -> str:
        """Write a term that is a result of the model; its name, with a row for each row of the table."""
        self.write(order_terms([term]))
        return self.name(term) if _reads_row(term) else self.repeat(self.name(term))

    def repeat(self, constant: str) -> str:
        """A constant for every row."""
        rows = self.add("Slice", [self.add("Shape", ["X"]), self.keep(np.array([0])), self.keep(np.array([1]))])
        return self.add("Expand", [constant, self.add("Concat", [rows, self.keep(np.array([1]))], axis=0)])

    def _write_trees(self, term: TreeTerm, source: str) -> str:
        columns = find_category_columns(term)
        if len(columns):
            by_code = np.zeros((1, term.source.width), dtype=bool)
            by_code[0, columns] = True
            gaps = self.add("And", [self.add("IsNaN", [source]), self.keep(by_code)])
            source = self.add("Where", [gaps, self.keep(np.array([[MISSING_CODE]])), source])
        attributes = list_tree_attributes(self._onnx, term)
        sums = self.add("TreeEnsemble", [source], domain="ai.onnx.ml", **attributes)
        return sums if term.combine != "mean" else self.add("Div", [sums, self.keep(np.array([[term.divisor]]))])

    def _write_function(self, term: RowFunction, source: str) -> str:
        if term.name in _EACH:
            return self.add(_EACH[term.name], [source])
        if term.name in ("missing", "known"):
            gaps = self.add("IsNaN", [source])
            if term.name == "missing":
                return self.cast(gaps, "DOUBLE")
            return self.add("Where", [gaps, self.keep(np.array([[0.0]])), source])
        if term.name == "exp2":
            return self.add("Pow", [self.keep(np.array([[2.0]])), source])
        if term.name == "softplus":
            return self._write_softplus(source)
        if term.name == "softmax":
            return self.add("Softmax", [source], axis=1)
        if term.name == "argmax":
            return self.cast(self.add("ArgMax", [source], axis=1, keepdims=1), "DOUBLE")
        if term.name == "sum":
            return self.add("ReduceSum", [source, self.keep(np.array([1]))], keepdims=1)
        return self._sort(source, term.source.width)[0]

    def _write_softplus(self, source: str) -> str:
        """ln(1 + e^x), as the engine has it: the operator of that name is for single precision in onnxruntime."""
        one = self.keep(np.array([[1.0]]))
        small = self.add("Exp", [self.add("Neg", [self.add("Abs", [source])])])
        above = self.add("Add", [one, small])
        lost = self.add("Sub", [small, self.add("Sub", [above, one])])
        log = self.add("Add", [self.add("Log", [above]), self.add("Div", [lost, above])])
        return self.add("Add", [log, self.add("Relu", [source])])

    def _sort(self, source: str, width: int) -> list[str]:
        """Ascending numbers, and the places where they stood."""
        size = self.keep(np.array([width]))
        return self.add_several("TopK", [source, size], 2, axis=1, largest=0, sorted=1)

    def _write_special(self, term: FormulaTerm, inputs: list[str]) -> str:
        source = inputs[0]
        if isinstance(term, RecodedRow):
            return self._write_recoded(term, source)
        if isinstance(term, OneHotTerm):
            return self.cast(self.add("Equal", [source, self.keep(np.arange(float(term.size))[None, :])]), "DOUBLE")
        if isinstance(term, LookupTerm):
            last = self.keep(np.array([[float(len(term.table) - 1)]]))
            place = self.add("Squeeze", [self._find_place(source, last), self.keep(np.array([1]))])
            return self.add("Gather", [self.keep(np.ascontiguousarray(term.table)), place])
        if isinstance(term, PositiveElse):
            positive = self.add("Greater", [source, self.keep(np.array([[0.0]]))])
            return self.add("Where", [positive, *inputs[1:]])
        if isinstance(term, Curve):
            return self._write_curve(term, source)
        if isinstance(term, WeightedMedian):
            return self._write_median(term, source)
        assert isinstance(term, LinearTerm)
        product = self.add("MatMul", [source, self.keep(np.ascontiguousarray(term.coefficients.T))])
        return self.add("Add", [product, self.keep(term.intercepts[None, :])])

    def _write_recoded(self, term: RecodedRow, source: str) -> str:
        parts = []
        for column, table in enumerate(term.tables):
            own = self.add("Gather", [source, self.keep(np.array([column]))], axis=1)
            if table is not None:
                place = self._find_place(own, self.keep(np.array([[float(len(table))]])))
                own = self.add("Gather", [self.keep(np.append(table, np.nan)), place])
            parts.append(own)
        return self.add("Concat", parts, axis=1)

    def _find_place(self, number: str, last: str) -> str:
        """A number that is at least zero and less than another, as a whole one; otherwise the other."""
        above = self.add("GreaterOrEqual", [number, self.keep(np.array([[0.0]]))])
        known = self.add("And", [above, self.add("Less", [number, last])])
        return self.cast(self.add("Where", [known, number, last]), "INT64")

    def _write_curve(self, term: Curve, source: str) -> str:
        places, heights = term.places, term.heights
        if len(places) == 1:
            level = self.add("Mul", [source, self.keep(np.array([[0.0]]))])
            return self.add("Add", [level, self.keep(heights[None, :])])
        passed = self.cast(self.add("GreaterOrEqual", [source, self.keep(places[None, :-1])]), "INT64")
        count = self.add("ReduceSum", [passed, self.keep(np.array([1]))], keepdims=1)
        left = self.add("Max", [self.add("Sub", [count, self.keep(np.array([[1]]))]), self.keep(np.array([[0]]))])
        with np.errstate(divide="ignore", invalid="ignore"):
            rises = np.nan_to_num(np.diff(heights) / np.diff(places), posinf=0.0, neginf=0.0)
        start, low, rise = (self.add("Gather", [self.keep(part), left]) for part in (places[:-1], heights[:-1], rises))
        between = self.add("Add", [self.add("Mul", [rise, self.add("Sub", [source, start])]), low])
        beyond = self.add("GreaterOrEqual", [source, self.keep(places[None, -1:])])
        upper = self.add("Where", [beyond, self.keep(heights[None, -1:]), between])
        before = self.add("Less", [source, self.keep(places[None, :1])])
        return self.add("Where", [before, self.keep(heights[None, :1]), upper])

    def _write_median(self, term: WeightedMedian, source: str) -> str:
        width = term.source.width
        values, order = self._sort(source, width)
        weights = self.add("Gather", [self.keep(np.asarray(term.weights, dtype=np.float64)), order])
        below = self.add("CumSum", [weights, self.keep(np.array(1))])
        total = self.add("Gather", [below, self.keep(np.array([width - 1]))], axis=1)
        reached = self.add("GreaterOrEqual", [below, self.add("Mul", [self.keep(np.array([[term.share]])), total])])
        first = self.add("ArgMax", [self.cast(reached, "INT64")], axis=1, keepdims=1)
        return self.add("GatherElements", [values, first], axis=1)


def _reads_row(term: FormulaTerm) -> bool:
    """Whether a term is computed from the row, rather than from constants alone."""
    return any(isinstance(one, TableRow) for one in order_terms([term]))
