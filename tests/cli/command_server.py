"""Runs the command in forks of one process, so that the libraries it needs are imported once and not by each run.

Reads requests from its standard input, a line of JSON each: arguments, folder, and the files that become the standard
output and error of the command. Answers with the exit code on a line.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import sys
import traceback
import warnings
from typing import Any

from committee import cli

# Beside the modules of the command, which import the rest: what some commands import in their functions.
NEEDED = (
    "committee.io.certificates",
    "narwhals._arrow.dataframe",
    "pyarrow.csv",
    "pyarrow.feather",
    "pyarrow.json",
    "pyarrow.parquet",
    "rich.progress",
    "sklearn.datasets",
)


def import_all() -> None:
    for module in pkgutil.walk_packages(cli.__path__, "committee.cli."):
        importlib.import_module(module.name)
    for name in NEEDED:
        importlib.import_module(name)
    # A page of help imports what reads the options and draws the tables.
    sys.argv = ["committee", "fit", "--help"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        cli.main()


def become_command(request: dict[str, Any]) -> None:
    """In the fork: streams, folder and arguments of a fresh process, then the command itself."""
    os.chdir(request["folder"])
    streams = (os.devnull, os.O_RDONLY), (request["out"], os.O_WRONLY), (request["err"], os.O_WRONLY)
    for number, (path, flags) in enumerate(streams):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = ["committee", *request["arguments"]]
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    # As at the end of a process, except that a fork need not free one by one what all forks share.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def serve() -> None:
    import_all()
    gc.freeze()  # the collector of a fork leaves alone what all forks share
    requests, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    while line := requests.readline():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the threads of the libraries are idle
            child = os.fork()
        if child == 0:
            become_command(json.loads(line))
        answers.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        answers.flush()


if __name__ == "__main__":
    serve()
