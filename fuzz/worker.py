"""A process that runs cases: it reads their seeds and numbers and writes what came of them, a line of JSON each."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys

__all__ = ["serve"]

#: More than any case needs; a size that is believed before it is checked would need more.
MOST_MEMORY = 12 << 30


def serve() -> None:
    """Run cases until the input ends."""
    faulthandler.enable()
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # whose shadow takes all addresses
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a case prints is not for the reader of the answers
    from fuzz.cases import run_case

    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        seed, number = json.loads(line)
        outcome = run_case(seed, number)
        answers.write(json.dumps([outcome.result, outcome.detail, outcome.notes]) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
