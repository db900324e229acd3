"""A process that runs cases: it reads a seed and numbers and writes what came of each, a line of JSON."""

from __future__ import annotations

import faulthandler
import functools
import json
import os
import resource
import sys
import time

__all__ = ["serve"]

#: More than any case needs; a size that is believed before it is checked would need more.
MOST_MEMORY = 12 << 30


def serve() -> None:
    """Run cases until the input ends; a line has number, kind, estimator, result, seconds so far, detail and notes."""
    faulthandler.enable()
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # whose shadow takes all addresses
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a case prints is not for the reader of the answers
    from fuzz.cases import BAD, label_case, run_case

    _remember_signatures()
    answers.write(json.dumps(time.process_time()) + "\n")
    answers.flush()
    for line in sys.stdin:
        seed, numbers = json.loads(line)
        for number in numbers:
            outcome = run_case(seed, number)
            _, kind, name = label_case(seed, number)
            detail, notes = (outcome.detail, outcome.notes) if outcome.result in BAD else ("", [])
            answers.write(json.dumps([number, kind, name, outcome.result, time.process_time(), detail, notes]) + "\n")
            answers.flush()


def _remember_signatures() -> None:
    """Names of parameters are read from signatures once a class: a tenth of the time of a small case otherwise."""
    from sklearn.base import BaseEstimator

    read = BaseEstimator._get_param_names.__func__
    BaseEstimator._get_param_names = classmethod(functools.cache(read))


if __name__ == "__main__":
    serve()
