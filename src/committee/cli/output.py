"""Files that a command writes: only where it was told to, and whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from committee.cli.errors import USAGE, CommandError

__all__ = ["check_place", "choose_report_place", "refuse_writing", "show_size", "write_model"]


def check_place(name: str, *needed: str | Path | None) -> Path:
    """Whether a file can be put somewhere, asked before the work that makes it.

    Parameters
    ----------
    name : str
        Its path.
    *needed : str, pathlib.Path or None
        Files of the same call, which it must not take the place of.

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
    for other in needed:
        if other is not None and path.resolve() == Path(other).resolve():
            raise CommandError(
                f"'{name}' is named twice in this call; writing would destroy it.", "Choose another place.", USAGE
            )
    return path


def choose_report_place(
    asked: str | None, refused: bool, model: Path | None, *needed: str | Path | None
) -> Path | None:
    """Where a report goes: where it was asked for, else beside the model.

    Parameters
    ----------
    asked : str or None
        Path of the report.
    refused : bool
        Whether none is wanted.
    model : pathlib.Path or None
        Path of the model file.
    *needed : str, pathlib.Path or None
        Files of the same call, which it must not take the place of.

    Returns
    -------
    pathlib.Path or None
        None if there is to be no report.
    """
    if refused and asked is not None:
        raise CommandError("--report and --no-report contradict each other.", "Leave one of them out.", USAGE)
    if asked is not None:
        return check_place(asked, model, *needed)
    return None if refused or model is None else model.with_suffix(".report.html")


def refuse_writing(path: Path, error: OSError) -> CommandError:
    """The sentence for a file that could not be written.

    Parameters
    ----------
    path : pathlib.Path
        Which one.
    error : OSError
        Why.

    Returns
    -------
    CommandError
        To be raised.
    """
    reason = error.strerror or " ".join(str(error).split()).rstrip(".")
    return CommandError(f"'{path}' could not be written: {reason}.", "Choose another place with -o.")


def write_model(model: Any, path: Path) -> int:
    """Save a model.

    Parameters
    ----------
    model : estimator
        Fitted.
    path : pathlib.Path
        Where to.

    Returns
    -------
    int
        Bytes of the file.
    """
    from committee.io.model_file import save

    try:
        save(model, path)
    except OSError as error:
        raise refuse_writing(path, error) from error
    return path.stat().st_size


def show_size(n_bytes: int) -> str:
    """Bytes as people read them.

    Parameters
    ----------
    n_bytes : int
        How many.

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
