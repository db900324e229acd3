"""Output files: their paths are checked first, and they are written atomically."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from committee.cli.errors import USAGE, CommandError

__all__ = ["LONGEST_NAME", "check_output_path", "is_same_file", "make_write_error", "show_size", "write_model"]

# Bytes in the name of an output file. Systems allow 255, and the draft of a file has a longer name than the file.
LONGEST_NAME = 200


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
    n_bytes = len(os.fsencode(path.name))
    if n_bytes > LONGEST_NAME:
        raise CommandError(
            f"The name '{path.name}' has {n_bytes} bytes; at most {LONGEST_NAME} are allowed.",
            "Choose a shorter one.",
            USAGE,
        )
    if path.is_dir():
        raise CommandError(f"'{name}' is a folder; nothing can be written there.", "Name a file in it.", USAGE)
    if not path.parent.is_dir():
        raise CommandError(f"There is no folder '{path.parent}' to write '{path.name}' in.", "Make it first.", USAGE)
    if is_same_file(path, *inputs):
        raise CommandError(
            f"'{name}' is named twice in this call; writing would destroy it.", "Choose another path.", USAGE
        )
    return path


def is_same_file(path: Path, *others: str | Path | None) -> bool:
    """Whether a path is that of another file, under whatever name.

    Parameters
    ----------
    path : pathlib.Path
        A file that need not exist.
    *others : str, pathlib.Path or None
        Other files.

    Returns
    -------
    bool
    """
    for other in (Path(one) for one in others if one is not None):
        if path.resolve() == other.resolve() or (path.exists() and other.exists() and os.path.samefile(path, other)):
            return True
    return False


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


def write_model(model: Any, path: Path, notes: Mapping[str, Any] | None = None) -> int:
    """Save a model.

    Parameters
    ----------
    model : estimator
        Fitted.
    path : pathlib.Path
        The file.
    notes : mapping of str to object, optional
        Kept beside the model, as :meth:`committee.cli.report.TrainingSummary.write_notes` writes them.

    Returns
    -------
    int
        Bytes of the file.
    """
    from committee.io.model_file import save

    try:
        save(model, path, notes=notes)
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
