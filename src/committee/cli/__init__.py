"""The ``committee`` command, the only package that writes to a terminal."""

import sys

# Installed by `pip install 'committee[cli]'`; without them the command prints an error.
_NEEDED = ("typer", "rich", "pyarrow")


def main() -> None:
    """Run the command line and exit with its code (0 success, 1 bad data, 2 bad usage)."""
    try:
        from committee.cli.call import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _NEEDED:
            raise
        sys.stderr.write(
            f"Error: the committee command needs {error.name}, which is not installed.\n"
            "Hint: run pip install 'committee[cli]'\n"
        )
        sys.exit(2)
    sys.exit(run())
