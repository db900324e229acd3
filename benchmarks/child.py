"""The process that a contender runs in: `python -m benchmarks.child JOBS OUTCOMES CORES`, called by measure.py."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    asked, answered, cores = sys.argv[1:]
    # Before anything is imported, so that every library counts these cores and no others.
    os.sched_setaffinity(0, set(json.loads(cores)))
    from benchmarks.measure import run_jobs

    Path(answered).write_text(json.dumps(run_jobs(json.loads(Path(asked).read_text()))))
