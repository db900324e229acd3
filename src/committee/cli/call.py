"""The call of a command: errors are printed as one sentence and one hint, with an exit code."""

import functools
import sys
from typing import Any

import typer
import typer.main
from rich.markup import escape

from committee.cli import certificate_commands, study_commands, tune_command  # noqa: F401  they add their commands
from committee.cli.app import app
from committee.cli.errors import DATA, USAGE, CommandError, shorten_names
from committee.cli.show import make_console

# The base class of Typer's usage errors; this is the only public way to it in every version.
_UsageError: Any = typer.BadParameter.__bases__[0]
_INTERRUPTED = 130


@functools.cache
def _make_command() -> Any:
    """The commands with their options, read from the signatures once a process."""
    return typer.main.get_command(app)


def run() -> int:
    """Parse the command line and run the command.

    Returns
    -------
    int
        Exit code: 0 success, 1 bad data, 2 bad usage, 130 interrupted.
    """
    try:
        code = _make_command()(prog_name="committee", standalone_mode=False)
        if code == _INTERRUPTED:  # some versions of Typer catch the interrupt themselves
            return _print_error("Interrupted.", "", _INTERRUPTED)
        return code if isinstance(code, int) else 0
    except typer.Exit as done:
        return done.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return _print_error("Interrupted.", "", _INTERRUPTED)
    except BrokenPipeError:
        # The reader has closed the pipe (`committee fit | head`); prevent a flush at exit.
        sys.stdout = None
        return 0
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        if isinstance(error, _UsageError) and not error.format_message():
            return USAGE  # `committee` without arguments: the help has been printed
        return _print_error(*_explain_error(error))


def _explain_error(error: Exception) -> tuple[str, str, int]:
    if isinstance(error, CommandError):
        return error.sentence, error.hint, error.code
    if isinstance(error, _UsageError):
        return _write_sentence(error.format_message()), f"See {_name_command()} --help.", USAGE
    from committee.exceptions import CommitteeError, ModelFileError, ParameterError, ParameterTypeError

    if isinstance(error, (ParameterError, ParameterTypeError)):
        return _write_sentence(str(error)), f"See {_name_command()} --help, or the manual of the estimator.", USAGE
    if isinstance(error, ModelFileError):
        return _write_sentence(str(error)), "A model file is written by committee fit -o, or committee.save.", DATA
    if isinstance(error, CommitteeError):
        return _write_sentence(str(error)), "Correct the table, or --drop the column.", DATA
    if isinstance(error, OSError):
        name = "" if error.filename is None else f"'{error.filename}': "
        return f"{name}{error.strerror or error}.", "Check the paths of this call.", USAGE
    if isinstance(error, MemoryError):
        return "The table does not fit in memory.", "Use fewer rows or columns.", DATA
    return f"Unexpected {type(error).__name__}: {error}", "Add --debug for the traceback; please report it.", DATA


def _name_command() -> str:
    known = {one.name or one.callback.__name__ for one in app.registered_commands if one.callback}
    return " ".join(["committee", *(word for word in sys.argv[1:2] if word in known)])


def _write_sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _print_error(sentence: str, hint: str, code: int) -> int:
    console = make_console(stderr=True)
    console.print(f"[bold red]Error:[/] {escape(shorten_names(sentence))}", soft_wrap=True)
    if hint:
        console.print(f"[bold]Hint:[/] {escape(shorten_names(hint))}", soft_wrap=True)
    return code
