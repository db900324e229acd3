"""Output files: their paths are checked first, and they are written atomically."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from committee.cli.errors import USAGE, CommandError

__all__ = ["check_output_path", "choose_report_path", "make_write_error", "show_size", "write_model"]


def check_output_path(name: str, *inputs: str | Path | None) -> Path:
    """Check that a file can be written, before the work that makes it.

    Parameters
    ----------
    name : str
        Its path.
    *inputs : str, pathlib.Path or None
        Other files of the same call, which it must not overwrite.

    Returns
    -------
    pathlib.Path
        The path.
    """
    path = Path(name)
    if path.is_dir():
        raise CommandError(f"'{name}' is a folder; nothing can be written there.", "Name a file in it.", USAGE)
    if not path.parent.is_dir():
        raise CommandError(f"There is no folder '{path.parent}' to write '{path.name}' in.", "Make it first.", USAGE)
    for other in inputs:
        if other is not None and path.resolve() == Path(other).resolve():
            raise CommandError(
                f"'{name}' is named twice in this call; writing would destroy it.", "Choose another path.", USAGE
            )
    return path


def choose_report_path(
    requested: str | None, disabled: bool, model: Path | None, *inputs: str | Path | None
) -> Path | None:
    """The path of the report: the requested one, else beside the model.

    Parameters
    ----------
    requested : str or None
        Value of ``--report``.
    disabled : bool
        Value of ``--no-report``.
    model : pathlib.Path or None
        Path of the model file.
    *inputs : str, pathlib.Path or None
        Other files of the same call, which it must not overwrite.

    Returns
    -------
    pathlib.Path or None
        None for no report.
    """
    if disabled and requested is not None:
        raise CommandError("--report and --no-report contradict each other.", "Leave one of them out.", USAGE)
    if requested is not None:
        return check_output_path(requested, model, *inputs)
    return None if disabled or model is None else model.with_suffix(".report.html")


def make_write_error(path: Path, error: OSError) -> CommandError:
    """The error for a file that could not be written.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    error : OSError
        The cause.

    Returns
    -------
    CommandError
        To be raised.
    """
    reason = error.strerror or " ".join(str(error).split()).rstrip(".")
    return CommandError(f"'{path}' could not be written: {reason}.", "Choose another path with -o.")


def write_model(model: Any, path: Path) -> int:
    """Save a model.

    Parameters
    ----------
    model : estimator
        Fitted.
    path : pathlib.Path
        The file.

    Returns
    -------
    int
        Bytes of the file.
    """
    from committee.io.model_file import save

    try:
        save(model, path)
    except OSError as error:
        raise make_write_error(path, error) from error
    return path.stat().st_size


def show_size(n_bytes: int) -> str:
    """Format a number of bytes.

    Parameters
    ----------
    n_bytes : int
        Number of bytes.

    Returns
    -------
    str
        For instance ``"12.3 kB"``.
    """
    size, unit = float(n_bytes), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
