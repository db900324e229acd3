"""`to_c`: a fitted model as a C99 file and its header."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import committee
from committee.engines.formula import present_formula, refuse_formula
from committee.exceptions import ParameterError
from committee.io.c_code.literals import make_identifier, write_double, write_text
from committee.io.c_code.runtime import list_runtime
from committee.io.c_code.statements import FormulaWriter

if TYPE_CHECKING:
    from committee.engines.formula import ModelFormula
    from committee.typing import AnyArray

__all__ = ["CSource", "to_c"]

#: Without contraction of products and sums, whose last bits would depend on the processor.
_HEAD = """\
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
"""


@dataclass(frozen=True)
class CSource:
    """A model in C.

    Attributes
    ----------
    name : str
        What the names of all functions begin with.
    code, header : str
        The contents of ``name.c`` and ``name.h``.
    formula : ModelFormula
        What it was written from.

    Examples
    --------
    >>> from committee import DecisionTreeClassifier
    >>> from committee.io import to_c
    >>> source = to_c(DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"]), name="tree")
    >>> source.name, "void tree_predict(" in source.code, "void tree_predict(" in source.header
    ('tree', True, True)
    """

    name: str
    code: str
    header: str
    formula: ModelFormula


def to_c(model: Any, path: str | os.PathLike[str] | None = None, *, name: str | None = None) -> CSource:
    """A fitted model as a C99 file without dependency or allocation, and its header.

    A row is an array of doubles: NaN is a missing value, a category is the number of its level, which
    ``name_code`` or ``name_code_of_number`` finds. The functions are called ``name_predict``, ``name_predict_proba``
    and ``name_decision_function`` (``name_score_samples`` for an isolation forest), and with ``_rows`` at the end for
    many rows. A classifier predicts the number of a class; ``name_class_name`` gives its label.

    The results have the bits of the model's own predictions for the same doubles. Linear models of scikit-learn in a
    stack are the exception: they agree to rounding. What Python refuses, C does not check: infinite values and
    unknown codes.

    Parameters
    ----------
    model : fitted estimator
        Trees, forests, boosting, AdaBoost, bagging, isolation forests; voting, stacking and weighted ensembles of
        these.
    path : str or path-like, optional
        Where to write the code, with the ending ``.c``; the header is written beside it.
    name : str, optional
        What the names of the functions begin with; by default that of the file, or ``model``.

    Returns
    -------
    CSource

    Examples
    --------
    >>> from committee import DecisionTreeClassifier
    >>> from committee.io import to_c
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> source = to_c(tree, name="tree")
    >>> [line for line in source.header.splitlines() if line.startswith("void tree_predict(")]
    ['void tree_predict(const double *row, int *classes);']
    """
    formula = present_formula(model)
    if formula.schema.inputs is not None:
        raise refuse_formula(model, "was fitted on dates, times, lists or text")
    stem = "model" if path is None else Path(path).stem
    own = make_identifier(stem) if name is None else name
    if own != make_identifier(own):
        raise ParameterError(f"The 'name' argument must be a name in C; got {name!r}. Try {make_identifier(own)!r}.")
    source = CSource(own, _write_code(own, stem, formula), _write_header(own, type(model).__name__, formula), formula)
    if path is not None:
        if Path(path).suffix != ".c":
            raise ParameterError(f"The 'path' argument must end in .c; got {os.fspath(path)!r}.")
        Path(path).write_text(source.code, encoding="ascii")
        Path(path).with_suffix(".h").write_text(source.header, encoding="ascii")
    return source


def _write_code(name: str, stem: str, formula: ModelFormula) -> str:
    writer = FormulaWriter()
    functions = []
    for method, term in formula.results.items():
        kind = "int" if method == "predict" and formula.classes else "double"
        functions.append(writer.write_function(f"{name}_{method}", term, kind))
        functions.append(_write_rows(f"{name}_{method}", formula.row.width, term.width, kind))
    parts = [
        f"/* Written by committee {committee.__version__}. */\n" + _HEAD + f'#include "{stem}.h"\n',
        *list_runtime(writer.runtime),
        *writer.definitions,
        *functions,
        *_write_names(name, formula),
    ]
    return "\n".join(parts)


def _write_rows(name: str, n_columns: int, width: int, kind: str) -> str:
    return (
        f"void {name}_rows(const double *rows, size_t n_rows, {kind} *out) {{\n"
        f"  size_t i;\n"
        f"  for (i = 0; i < n_rows; ++i) {name}(rows + i * {n_columns}, out + i * {width});\n}}\n"
    )


def _write_names(name: str, formula: ModelFormula) -> list[str]:
    """The functions that find labels of classes and codes of categories."""
    parts = []
    if formula.classes:
        sizes = [len(own) for own in formula.classes]
        texts = [write_text(str(label)) for own in formula.classes for label in own.tolist()]
        listed = ",\n".join(f"    {text}" for text in texts)
        starts = ", ".join(str(sum(sizes[:k])) for k in range(len(sizes)))
        parts.append(
            f"const char *{name}_class_name(int output, int index) {{\n"
            f"  static const char *const names[] = {{\n{listed}}};\n"
            f"  static const int starts[] = {{{starts}}};\n"
            "  return names[starts[output] + index];\n}\n"
        )
    categories = list(enumerate(formula.schema.categories))
    unknown = "-1.0" if formula.schema.unseen == "error" else "NAN"
    texts_of = {k: own for k, own in categories if own is not None and own.dtype.kind not in "biuf"}
    numbers_of = {k: own for k, own in categories if own is not None and own.dtype.kind in "biuf"}
    if texts_of:
        parts.append(_write_text_codes(name, texts_of, unknown))
    if numbers_of:
        parts.append(_write_number_codes(name, numbers_of, unknown))
    return parts


def _write_text_codes(name: str, levels: dict[int, AnyArray], unknown: str) -> str:
    cases = []
    for column, own in levels.items():
        listed = ",\n".join(f"      {write_text(str(level))}" for level in own.tolist()) or '      ""'
        cases.append(
            f"  if (column == {column}) {{\n    static const char *const levels[] = {{\n{listed}}};\n"
            f"    for (k = 0; k < {len(own)}; ++k)\n      if (strcmp(levels[k], level) == 0) return k;\n  }}\n"
        )
    head = f"double {name}_code(int column, const char *level) {{\n  int k;\n"
    return head + "".join(cases) + f"  return {unknown};\n}}\n"


def _write_number_codes(name: str, levels: dict[int, AnyArray], unknown: str) -> str:
    cases = []
    for column, own in levels.items():
        listed = ", ".join(write_double(float(level)) for level in own.tolist()) or "0.0"
        cases.append(
            f"  if (column == {column}) {{\n    static const double levels[] = {{{listed}}};\n"
            f"    for (k = 0; k < {len(own)}; ++k)\n      if (levels[k] == level) return k;\n  }}\n"
        )
    head = f"double {name}_code_of_number(int column, double level) {{\n  int k;\n"
    return head + "".join(cases) + f"  return {unknown};\n}}\n"


def _write_header(name: str, kind: str, formula: ModelFormula) -> str:
    guard, schema = f"{name.upper()}_H", formula.schema
    lines = [
        f"/* {kind}, written by committee {committee.__version__}.",
        " *",
        f" * A row has {schema.n_features} columns of doubles; NaN is a missing value.",
    ]
    if schema.has_categories:
        lines.append(" * A category is the number of its level, which the functions below find.")
        then = "a missing value" if schema.unseen == "missing" else "-1, for which there is no prediction"
        lines.append(f" * A level that the model has not seen is {then}.")
    if not formula.is_exact:
        lines.append(" * Predictions agree with those of the model to rounding; the order of some sums is not known.")
    lines += [" */", f"#ifndef {guard}", f"#define {guard}", "#include <stddef.h>", ""]
    lines.append(f"#define {name.upper()}_N_COLUMNS {schema.n_features}")
    for method, term in formula.results.items():
        lines.append(f"#define {name.upper()}_N_{method.upper()} {term.width}")
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for method, term in formula.results.items():
        classes = method == "predict" and bool(formula.classes)
        kind, out = ("int", "classes") if classes else ("double", "values")
        each = f"{term.width} number{'' if term.width == 1 else 's'} a row"
        lines.append(f"/* {each}{_describe(method, formula)}. */")
        lines.append(f"void {name}_{method}(const double *row, {kind} *{out});")
        lines.append(f"void {name}_{method}_rows(const double *rows, size_t n_rows, {kind} *{out});")
    if formula.classes:
        lines.append(f"const char *{name}_class_name(int output, int index);")
    kinds = {own.dtype.kind in "biuf" for own in schema.categories if own is not None}
    if False in kinds:
        lines.append(f"double {name}_code(int column, const char *level);")
    if True in kinds:
        lines.append(f"double {name}_code_of_number(int column, double level);")
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "#endif", ""]
    return "\n".join(lines)


def _describe(method: str, formula: ModelFormula) -> str:
    if method == "predict" and formula.classes:
        return ": the class of each output, counted from zero"
    if method == "predict_proba":
        return ": the classes of all outputs side by side"
    return ""
