"""The ``committee`` command; the only room that talks to a terminal."""

import sys

# What `pip install 'committee[cli]'` brings; without it the command can only say so.
_NEEDED = ("typer", "rich", "pyarrow")


def main() -> None:
    """Run the command line and leave with its exit code (0 done, 1 bad data, 2 bad usage)."""
    try:
        from committee.cli.app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _NEEDED:
            raise
        sys.stderr.write(
            f"Error: the committee command needs {error.name}, which is not installed.\n"
            "Hint: run pip install 'committee[cli]'\n"
        )
        sys.exit(2)
    sys.exit(run())
