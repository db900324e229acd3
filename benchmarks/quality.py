"""Prediction quality with default settings on public data: `python benchmarks/quality.py`; needs COMMITTEE_DATA.

Every model is fitted on the same three splits of every data set (see `quality_jobs.py`), with the same number of
threads, each in a child process on its own cores. Each outcome is one line of the file --out. Outcomes that are already
in the file are not run again, so a run can be interrupted, distributed over machines with --sets, --splits and
--models, and reported at any time with --report. The metrics are log-loss and error rate for classification and the
root mean squared error for regression. Models are ranked within a data set by the mean over its splits, among all
models in --models and among the models of each comparison in `quality_jobs.py`; --report --models NAME ... ranks any
others. Times are comparable if --jobs-at-once times --threads is at most the number of cores of an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.machine import list_cores
from benchmarks.measure import Job, Outcome, run_in_child
from benchmarks.quality_jobs import CLASS_SETS, CONTENDERS, CONTESTS, MOST_ROWS, SPLITS, VALUE_SETS

OUT = Path(__file__).parent / "results" / "quality.jsonl.tmp"
#: The key of an outcome.
KEYS = ("contender", "name", "split", "most_rows", "threads", "develop")


def run_missing(wanted: list[dict[str, Any]], out: Path, at_once: int) -> None:
    """Run the jobs that are missing in the file, largest data sets first, and append a line for each."""
    held = {tuple(outcome[key] for key in KEYS) for outcome in read_outcomes(out)}
    missing = [options for options in wanted if tuple(options[key] for key in KEYS) not in held]
    # Small jobs run last, so that few cores are idle at the end.
    missing.sort(
        key=lambda options: -(Path(os.environ["COMMITTEE_DATA"]) / f"{options['name']}.parquet").stat().st_size
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    cores, free = list_cores(), SimpleQueue[list[int]]()
    for k in range(at_once):
        threads = missing[0]["threads"] if missing else 1
        free.put([cores[(k * threads + i) % len(cores)] for i in range(threads)])
    lock = threading.Lock()

    def run(options: dict[str, Any]) -> str:
        mine = free.get()
        label = f"{options['contender']} on {options['name']}, split {options['split']}"
        try:
            found = run_in_child([Job("benchmarks.quality_jobs:evaluate", options, options["threads"])], mine)[0]
        except RuntimeError as failure:
            return f"{label}: {failure}"
        finally:
            free.put(mine)
        with lock, out.open("a") as file:
            file.write(json.dumps({**options, **found}) + "\n")
        return f"{label}: {found['loss']:.4g}, {found['seconds']:.1f} s"

    with ThreadPoolExecutor(at_once) as pool:
        for number, done in enumerate(as_completed([pool.submit(run, options) for options in missing])):
            print(f"{number + 1} of {len(missing)}, {done.result()}", file=sys.stderr, flush=True)


def read_outcomes(out: Path) -> list[Outcome]:
    """The outcomes in a file; an incomplete last line is ignored."""
    lines = out.read_text().splitlines() if out.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def rank(values: list[float]) -> list[float]:
    """Ranks from one for the smallest value; ties get the mean rank.

    Examples
    --------
    >>> rank([0.2, 0.1, 0.2])
    [2.5, 1.0, 2.5]
    """
    from scipy.stats import rankdata

    return [float(r) for r in rankdata(values)]


def render(outcomes: list[Outcome], sets: list[str], splits: list[int], models: list[str]) -> str:
    """Losses and times of every data set that all models have finished, mean ranks and total times."""
    by_case: dict[tuple[str, str], dict[int, Outcome]] = {}
    for one in outcomes:
        by_case.setdefault((one["name"], one["contender"]), {})[one["split"]] = one
    whole = [name for name in sets if all(set(by_case.get((name, m), {})) >= set(splits) for m in models)]
    lines = ["| set | " + " | ".join(models) + " |", "|---" * (len(models) + 1) + "|"]
    losses: dict[str, list[list[float]]] = {"loss": [], "errors": []}
    totals = np.zeros(len(models))
    for name in whole:
        runs = [[by_case[name, m][split] for split in splits] for m in models]
        means = {key: [float(np.mean([run[key] for run in ours])) for ours in runs] for key in losses}
        seconds = [sum(run["seconds"] for run in ours) for ours in runs]
        cells = [f"{means['loss'][k]:.4g} / {means['errors'][k]:.4g} / {seconds[k]:.1f} s" for k in range(len(models))]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        totals += seconds
        for key, listed in losses.items():
            listed.append(means[key])
    if whole:
        lines += rank_contests({key: np.array(listed) for key, listed in losses.items()}, models)
    lines.append("| **seconds** | " + " | ".join(f"{total:.1f}" for total in totals) + " |")
    left = sorted(set(sets) - set(whole))
    return "\n".join([*lines, *([f"\nNot finished: {', '.join(left)}."] if left else [])])


def rank_contests(losses: dict[str, Any], models: list[str]) -> list[str]:
    """Mean ranks among all models, and among the models of each comparison that is a proper subset of them."""
    contests = [models, *(list(c) for c in CONTESTS if set(c) < set(models))]
    lines = []
    for contest in contests:
        places = [models.index(m) for m in contest]
        for key, listed in losses.items():
            ranks = dict(zip(contest, np.mean([rank(list(row[places])) for row in listed], axis=0), strict=True))
            cells = [f"{ranks[m]:.2f}" if m in ranks else "" for m in models]
            lines.append(f"| **mean rank of {len(contest)} by {key}** | " + " | ".join(cells) + " |")
    return lines


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=[*CLASS_SETS, *VALUE_SETS], help="names of data sets")
    parser.add_argument("--splits", nargs="+", type=int, default=list(SPLITS), help="indices of splits")
    parser.add_argument("--models", nargs="+", default=list(CONTENDERS), help="names of models")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="maximum number of rows of a data set")
    parser.add_argument("--threads", type=int, default=min(2, len(list_cores())), help="number of threads of a job")
    parser.add_argument("--jobs-at-once", type=int, default=1, help="number of parallel jobs, each on its own cores")
    parser.add_argument("--develop", action="store_true", help="use only rows that are in no test set")
    parser.add_argument("--out", type=Path, default=OUT, help="file to which outcomes are appended")
    parser.add_argument("--report", action="store_true", help="run nothing, report the outcomes in the file")
    arguments = parser.parse_args(words)
    if "COMMITTEE_DATA" not in os.environ and not arguments.report:
        raise SystemExit("COMMITTEE_DATA must name the folder of the data sets")
    same = {"most_rows": arguments.rows, "threads": arguments.threads, "develop": arguments.develop}
    wanted = [
        {"contender": model, "name": name, "split": split, **same}
        for name in arguments.sets
        for split in arguments.splits
        for model in arguments.models
    ]
    if not arguments.report:
        run_missing(wanted, arguments.out, arguments.jobs_at_once)
    kept = [one for one in read_outcomes(arguments.out) if all(one[key] == value for key, value in same.items())]
    print(render(kept, arguments.sets, arguments.splits, arguments.models))


if __name__ == "__main__":
    main()
