"""`to_onnx`: a fitted model as an ONNX graph in double precision."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.engines.formula import TakenColumns, present_formula, refuse_formula
from committee.io.onnx_graph.terms import GraphWriter

if TYPE_CHECKING:
    from committee.engines.formula import FormulaTerm, ModelFormula
    from committee.typing import AnyArray

__all__ = ["to_onnx"]

_OPSET, _ML_OPSET, _IR_VERSION = 21, 5, 10


def to_onnx(model: Any, path: str | os.PathLike[str] | None = None) -> Any:
    """A fitted model as an ONNX graph, for instance for ``onnxruntime``.

    The graph takes ``X``, doubles of shape (n_rows, n_features): NaN is a missing value, and a category is the number
    of its level in ``model._schema.categories`` (NaN for a level that the model has not met). A classifier returns
    ``label`` and ``probabilities``, with several outputs ``label_0``, ``probabilities_0`` and so on; a regressor
    returns ``value``, an isolation forest ``label`` and ``scores``. The numbers are doubles and differ from those of
    the model by rounding only.

    Parameters
    ----------
    model : fitted estimator
        As for `to_c`: trees, forests, bags, boosting, AdaBoost, isolation forests, naive Bayes, voting, stacking,
        committees and the like; the page on deployment lists them.
    path : str or path-like, optional
        Where to write it.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.io import to_onnx
    >>> forest = RandomForestClassifier(10, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> graph = to_onnx(forest).graph  # doctest: +SKIP
    >>> [output.name for output in graph.output]  # doctest: +SKIP
    ['label', 'probabilities']
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx; run pip install 'committee[onnx]'.") from error

    formula = present_formula(model)
    if formula.schema.inputs is not None:
        raise refuse_formula(model, "was fitted on dates, times, lists or text")
    writer = GraphWriter(onnx)
    outputs = _write_classes(onnx, writer, formula) if formula.classes else _write_values(onnx, writer, formula)
    rows = onnx.helper.make_tensor_value_info("X", onnx.TensorProto.DOUBLE, [None, formula.row.width])
    made = onnx.helper.make_model(
        onnx.helper.make_graph(writer.nodes, type(model).__name__, [rows], outputs, writer.constants),
        opset_imports=[onnx.helper.make_opsetid("", _OPSET), onnx.helper.make_opsetid("ai.onnx.ml", _ML_OPSET)],
        ir_version=_IR_VERSION,
        producer_name="committee",
    )
    onnx.checker.check_model(made)
    if path is not None:
        onnx.save(made, os.fspath(path))
    return made


def _write_values(onnx: Any, writer: GraphWriter, formula: ModelFormula) -> list[Any]:
    width, double = formula.value.width, onnx.TensorProto.DOUBLE
    inform = onnx.helper.make_tensor_value_info
    if formula.decision is not None:
        label = writer.cast(_squeeze(writer, writer.write_result(formula.value)), "INT64")
        writer.add("Identity", [label], "label")
        writer.add("Identity", [_squeeze(writer, writer.write_result(formula.decision))], "scores")
        return [inform("label", onnx.TensorProto.INT64, [None]), inform("scores", double, [None])]
    name = writer.write_result(formula.value)
    writer.add("Identity", [_squeeze(writer, name) if width == 1 else name], "value")
    return [inform("value", double, [None] if width == 1 else [None, width])]


def _squeeze(writer: GraphWriter, name: str) -> str:
    return writer.add("Squeeze", [name, writer.keep(np.array([1]))])


def _write_classes(onnx: Any, writer: GraphWriter, formula: ModelFormula) -> list[Any]:
    outputs, first = [], 0
    for number, classes in enumerate(formula.classes):
        single = len(formula.classes) == 1
        ending = "" if single else f"_{number}"
        label = formula.value if single else TakenColumns(formula.value, (number,))
        outputs.append(_write_label(onnx, writer, label, classes, f"label{ending}"))
        if formula.probabilities is not None:
            span = tuple(range(first, first + len(classes)))
            shares = formula.probabilities if single else TakenColumns(formula.probabilities, span)
            writer.add("Identity", [writer.write_result(shares)], f"probabilities{ending}")
            kind = onnx.TensorProto.DOUBLE
            outputs.append(onnx.helper.make_tensor_value_info(f"probabilities{ending}", kind, [None, len(classes)]))
        first += len(classes)
    return outputs


def _write_label(onnx: Any, writer: GraphWriter, term: FormulaTerm, classes: AnyArray, name: str) -> Any:
    """The label of the class that a term gives the index of."""
    index = writer.cast(_squeeze(writer, writer.write_result(term)), "INT64")
    numbers = classes.dtype.kind in "iub"
    labels = classes.astype(np.int64) if numbers else np.array([str(one) for one in classes.tolist()], dtype=object)
    writer.add("Gather", [writer.keep(labels), index], name)
    kind = onnx.TensorProto.INT64 if numbers else onnx.TensorProto.STRING
    return onnx.helper.make_tensor_value_info(name, kind, [None])
