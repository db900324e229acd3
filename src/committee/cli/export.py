"""The work behind ``committee export``: a model file as C, as a Python module or as ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from committee.cli.errors import USAGE, CommandError
from committee.cli.model_rows import load_model
from committee.cli.output import check_output_path, make_write_error

__all__ = ["EXPORT_EXAMPLES", "export_model"]

EXPORT_EXAMPLES = """[bold]Examples[/]

  committee export houses.committee -o houses.c         C99, and houses.h

  committee export houses.committee -o houses.py --python

  committee export houses.committee -o houses.onnx
"""


def export_model(name: str, output: str, trusted: Sequence[str], *, python: bool) -> list[Path]:
    """Write a model in the form that the ending of the output names.

    Parameters
    ----------
    name : str
        The model file.
    output : str
        The path to write; it ends in ``.c``, ``.py`` or ``.onnx``.
    trusted : sequence of str
        Types of other libraries that may be loaded.
    python : bool
        Whether a Python module is wanted, so that the ending must be ``.py``.

    Returns
    -------
    list of Path
        The files that were written.
    """
    ending = Path(output).suffix
    if ending not in (".c", ".py", ".onnx") or (python and ending != ".py"):
        wanted = "in .py with --python" if python else "in .c, .py or .onnx"
        raise CommandError(
            f"The output '{output}' must end {wanted}; it ends in {ending or 'nothing'!r}.",
            "The ending says what is written.",
            USAGE,
        )
    path = check_output_path(output, name)
    model = load_model(name, trusted)
    try:
        return _write(model, path)
    except OSError as error:
        raise make_write_error(path, error) from error
    except ImportError as error:
        raise CommandError(str(error), "", USAGE) from error


def _write(model: object, path: Path) -> list[Path]:
    from committee.io import build_python_module, to_c, to_onnx

    if path.suffix == ".c":
        to_c(model, path)
        return [path, path.with_suffix(".h")]
    if path.suffix == ".py":
        return build_python_module(model, path)
    to_onnx(model, path)
    return [path]
