"""A model in C as a Python module that needs neither this library nor any other: a shared library and its wrapper."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import committee
from committee.exceptions import CommitteeError, ParameterError
from committee.io.c_code.export import CSource, to_c

__all__ = ["build_python_module"]

_FLAGS = ("-std=c99", "-O2", "-shared", "-fPIC")


def build_python_module(model: Any, path: str | os.PathLike[str], *, compiler: str | None = None) -> list[Path]:
    """Compile a fitted model into a Python module without dependency.

    The module has the model's methods as functions, ``predict`` and, where the model has them, ``predict_proba``,
    ``decision_function`` and ``score_samples``. They take rows: dicts, lists, tuples, or a table with the buffer
    protocol such as a NumPy array of doubles; and return lists. Categories are given by their levels.

    Parameters
    ----------
    model : fitted estimator
        As for `to_c`.
    path : str or path-like
        Of the module, with the ending ``.py``; the shared library is written beside it.
    compiler : str, optional
        The C compiler; by default the environment variable ``CC``, or ``cc``.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> import runpy, tempfile
    >>> from pathlib import Path
    >>> from committee import DecisionTreeClassifier
    >>> from committee.io import build_python_module
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     module, library = build_python_module(tree, Path(folder) / "answer.py")
    ...     runpy.run_path(str(module))["predict"]([[1.0], [0.0]])
    ['yes', 'no']
    """
    module = Path(path)
    if module.suffix != ".py" or not module.stem.isidentifier():
        raise ParameterError(f"The 'path' argument must be the file of a Python module; got {os.fspath(path)!r}.")
    compiler = compiler or os.environ.get("CC") or "cc"
    if shutil.which(compiler) is None:
        raise ParameterError(f"No C compiler {compiler!r} was found; set the environment variable CC to one.")
    source = to_c(model, name=module.stem)
    library = module.with_name(f"_{module.stem}{'.dll' if sys.platform == 'win32' else '.so'}")
    with TemporaryDirectory() as folder:
        code = Path(folder, "model.c")
        code.write_text(source.code, encoding="ascii")
        Path(folder, "model.h").write_text(source.header, encoding="ascii")
        made = Path(folder, library.name)
        done = subprocess.run([compiler, *_FLAGS, "-o", str(made), str(code)], capture_output=True, text=True)
        if done.returncode:
            raise CommitteeError(f"{compiler} could not compile the model: {done.stderr.strip()[:500]}")
        # Moved at the end: a module that is in use keeps the library that it has opened.
        shutil.copyfile(made, library.with_suffix(".part"))
        os.replace(library.with_suffix(".part"), library)
    module.write_text(_write_module(source, library.name), encoding="utf-8")
    return [module, library]


def _write_module(source: CSource, library: str) -> str:
    formula = source.formula
    schema = formula.schema
    facts = {
        "LIBRARY": library,
        "NAME": source.name,
        "COLUMNS": schema.name_features("x{}"),
        "CATEGORIES": [None if own is None else own.tolist() for own in schema.categories],
        "UNSEEN": schema.unseen,
        "CLASSES": [own.tolist() for own in formula.classes],
        "WIDTHS": {method: term.width for method, term in formula.results.items()},
    }
    lines = [f'"""A model written by committee {committee.__version__}."""', ""]
    lines += [f"{name} = {value!r}" for name, value in facts.items()]
    template = files("committee.io.c_code").joinpath("module_template.txt").read_text(encoding="utf-8")
    functions = [
        f'\n\ndef {method}(rows):\n    """The {method} of each row."""\n    return _compute({method!r}, rows)'
        for method in formula.results
    ]
    return "\n".join(lines) + "\n" + template.rstrip() + "".join(functions) + "\n"
