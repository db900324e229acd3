"""The process that a contender runs in: ``python -m committee.cli.bench.child JOBS OUTCOMES CORES``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    asked, answered, cores = sys.argv[1:]
    # Before anything is imported, so that every library counts these cores and no others.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(json.loads(cores)))
    from committee.cli.bench.measure import run_jobs

    Path(answered).write_text(json.dumps(run_jobs(json.loads(Path(asked).read_text()))))
