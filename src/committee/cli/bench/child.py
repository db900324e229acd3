"""The process that a library runs in: ``python -m committee.cli.bench.child JOBS OUTCOMES CORES``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    jobs_file, outcomes_file, cores = sys.argv[1:]
    # Before any import, so that every library detects only these cores.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(json.loads(cores)))
    from committee.cli.bench.measure import run_jobs

    Path(outcomes_file).write_text(json.dumps(run_jobs(json.loads(Path(jobs_file).read_text()))))
