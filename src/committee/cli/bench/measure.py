"""Benchmark timing: every library in its own process, in turns, with the same threads and the same data.

A *job* is one function call in a child process. The function sets up its data, then times a call with `time_calls` or
`time_fit` and returns an outcome, a plain dictionary:

    seconds     wall-clock seconds of each run
    cpu         processor seconds of each run, over all threads of the process
    score       test score of the model (optional)
    memory_mb   growth of the peak memory of the process during the first run (optional)
    bytes       size of the output (optional)
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from committee.cli.bench.machine import list_cores, occupy_core

# Not available on Windows, where memory is not measured.
_resource: Any = importlib.import_module("resource") if importlib.util.find_spec("resource") else None

__all__ = ["Job", "Outcome", "is_disturbed", "run_in_child", "run_in_turns", "run_jobs", "time_calls", "time_fit"]

Outcome = dict[str, Any]
#: Minimum duration of a loop of calls that is timed as one, well above the resolution of the clock.
LOOP_SECONDS = 0.02
#: A run longer than LONG_RUN or a process longer than LONG_PROCESS is not repeated: its relative noise is small.
LONG_RUN, LONG_PROCESS = 4.0, 15.0
#: Ratio of wall-clock to processor seconds of a run on one thread above which the core was shared.
DISTURBED = 1.1


@dataclass(frozen=True)
class Job:
    """A function of a module (`"module:function"`) with its arguments and the conditions of its run."""

    function: str
    options: dict[str, Any] = field(default_factory=dict)
    threads: int = 1
    hog: bool = False  # another process keeps the last core busy


# --- in the child ------------------------------------------------------------------------------------------------


def time_calls(call: Callable[[], object], repeats: int) -> Outcome:
    """Time a call without side effects; short calls are timed in loops.

    Parameters
    ----------
    call : callable
        Without arguments.
    repeats : int
        Number of runs, unless one takes long.

    Returns
    -------
    dict
        ``seconds`` and ``cpu`` per call of each run.
    """
    call()
    loops = 1
    while (seconds := _time_loop(call, loops)[0]) < LOOP_SECONDS and loops < 1 << 20:
        loops *= max(2, min(10, int(LOOP_SECONDS / max(seconds, 1e-9))))
    runs = [_time_loop(call, loops)]
    while len(runs) < repeats and runs[-1][0] < LONG_RUN:
        runs.append(_time_loop(call, loops))
    return {"seconds": [wall / loops for wall, _ in runs], "cpu": [cpu / loops for _, cpu in runs]}


def _time_loop(call: Callable[[], object], loops: int) -> tuple[float, float]:
    collects = gc.isenabled()
    gc.disable()
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(loops):
            call()
        return time.perf_counter() - wall, time.process_time() - cpu
    finally:
        if collects:
            gc.enable()


def time_fit(fit: Callable[[], Any], repeats: int) -> tuple[Any, Outcome]:
    """Time a fit.

    Parameters
    ----------
    fit : callable
        Without arguments.
    repeats : int
        Number of runs, unless one takes long.

    Returns
    -------
    tuple of object and dict
        The last fitted object; ``seconds`` and ``cpu`` of each run and, on Linux, ``memory_mb``.
    """
    gc.collect()
    before = _restart_peak()
    runs: list[tuple[float, float]] = []
    made, growth = None, None
    while not runs or (len(runs) < repeats and runs[-1][0] < LONG_RUN):
        made = None
        wall, cpu = time.perf_counter(), time.process_time()
        made = fit()
        runs.append((time.perf_counter() - wall, time.process_time() - cpu))
        if len(runs) == 1 and before is not None:
            # Later runs reuse memory that the first one allocated, so only the first peak is meaningful.
            growth = (_resource.getrusage(_resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    outcome: Outcome = {"seconds": [r[0] for r in runs], "cpu": [r[1] for r in runs]}
    return made, outcome if growth is None else outcome | {"memory_mb": growth}


def _restart_peak() -> int | None:
    """Reset the peak memory to the resident size; returns it in kilobytes, None if that is not supported."""
    clear = Path("/proc/self/clear_refs")
    if _resource is None or not clear.exists():
        return None
    # Making the data may have used more memory than the fit will; writing 5 resets the peak.
    clear.write_text("5")
    return int(_resource.getrusage(_resource.RUSAGE_SELF).ru_maxrss)


def run_jobs(jobs: list[dict[str, Any]]) -> list[Outcome]:
    """Run jobs in the child process.

    Parameters
    ----------
    jobs : list of dict
        Jobs as dictionaries.

    Returns
    -------
    list of dict
        Their outcomes.
    """
    outcomes = []
    for job in jobs:
        module, _, name = job["function"].partition(":")
        outcomes.append(getattr(importlib.import_module(module), name)(**job["options"]))
    return outcomes


# --- in the parent -----------------------------------------------------------------------------------------------


def run_in_child(jobs: list[Job], cores: list[int] | None = None) -> list[Outcome]:
    """Run jobs with the same conditions one after the other in a new process.

    Parameters
    ----------
    jobs : list of Job
        The jobs.
    cores : list of int, optional
        Cores to use; by default the first ones.

    Returns
    -------
    list of dict
        Their outcomes.
    """
    conditions = {(job.threads, job.hog) for job in jobs}
    if len(conditions) != 1:
        raise ValueError("jobs that share a process must have the same conditions")
    ((threads, hog),) = conditions
    cores = cores or list_cores()[: max(threads, 1)]
    # Libraries that use OpenMP read the number of threads when they are loaded.
    env = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    with tempfile.TemporaryDirectory() as folder, occupy_core(cores[-1]) if hog else nullcontext():
        jobs_file, outcomes_file = Path(folder) / "jobs.json", Path(folder) / "outcomes.json"
        jobs_file.write_text(json.dumps([asdict(job) for job in jobs]))
        files = [str(jobs_file), str(outcomes_file)]
        command = [sys.executable, "-m", "committee.cli.bench.child", *files, json.dumps(cores)]
        done = subprocess.run(command, cwd=_find_home(jobs[0]), env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{[job.function for job in jobs]} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        outcomes: list[Outcome] = json.loads(outcomes_file.read_text())
    return outcomes


def _find_home(job: Job) -> Path | None:
    """The folder of a job's package, the working directory of the child, so that it can import the package."""
    spec = importlib.util.find_spec(job.function.partition(".")[0])
    return None if spec is None or spec.origin is None else Path(spec.origin).resolve().parents[1]


def run_in_turns(
    jobs: list[Job], rounds: int, batched: bool = False, on_jobs_end: Callable[[int, str], None] | None = None
) -> list[Outcome]:
    """Run jobs in several rounds.

    Parameters
    ----------
    jobs : list of Job
        The jobs; those of one case are adjacent, so that contenders take turns.
    rounds : int
        Number of processes of each job, unless the first takes long.
    batched : bool, default=False
        Run jobs with the same conditions in one process: quick, but times are not meaningful.
    on_jobs_end : callable, optional
        Called after each process with the number of finished jobs and the names of their contenders; by default this
        is written to the error stream.

    Returns
    -------
    list of dict
        One outcome per job, in order, over all rounds.
    """
    n_done = 0
    found: list[list[Outcome]] = [[] for _ in jobs]
    long: set[int] = set()
    for turn in range(rounds):
        for group in _group_jobs(jobs) if batched else [[k] for k in range(len(jobs)) if k not in long]:
            began = time.perf_counter()
            for k, outcome in zip(group, run_in_child([jobs[k] for k in group]), strict=True):
                found[k].append(outcome)
            if time.perf_counter() - began > LONG_PROCESS:
                long.update(group)
            names = ", ".join(sorted({jobs[k].options.get("contender", jobs[k].function) for k in group}))
            n_done += len(group)
            if on_jobs_end is None:
                sys.stderr.write(f"round {turn + 1} of {rounds}, job {group[-1] + 1} of {len(jobs)}: {names}\n")
            else:
                on_jobs_end(n_done, names)
    return [merge_outcomes(outcomes) for outcomes in found]


def _group_jobs(jobs: list[Job]) -> list[list[int]]:
    groups: dict[tuple[int, bool], list[int]] = {}
    for k, job in enumerate(jobs):
        groups.setdefault((job.threads, job.hog), []).append(k)
    return list(groups.values())


def merge_outcomes(outcomes: list[Outcome]) -> Outcome:
    """Merge the outcomes of several rounds: all times, the minimum of memory, the last of other values.

    Parameters
    ----------
    outcomes : list of dict
        One per round.

    Returns
    -------
    dict
        With the ``best`` and the ``median`` of the seconds.
    """
    merged = {**outcomes[-1]}
    for key in ("seconds", "cpu"):
        merged[key] = [value for outcome in outcomes for value in outcome.get(key, [])]
    if "memory_mb" in merged:
        merged["memory_mb"] = min(outcome["memory_mb"] for outcome in outcomes)
    if merged["seconds"]:
        merged["best"], merged["median"] = min(merged["seconds"]), median(merged["seconds"])
        merged["best_cpu"] = min(merged["cpu"]) if merged["cpu"] else None
    return merged


def is_disturbed(outcome: Outcome) -> bool:
    """Whether even the best run shared its core; meaningful for runs on one thread only.

    Parameters
    ----------
    outcome : dict
        A merged outcome.

    Returns
    -------
    bool
    """
    cpu = outcome.get("best_cpu")
    return cpu is not None and bool(outcome["best"] > DISTURBED * cpu > 0.0)
