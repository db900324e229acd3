"""Defaults against defaults on public data: `python benchmarks/quality.py`; needs COMMITTEE_DATA.

Every contender fits the same three splits of every set (see `quality_jobs.py`), with the same threads, each in a child
process on cores of its own. An outcome is a line of the file that --out names: what is there already is not run again,
so that a run can be broken off, shared between machines by --sets, --splits and --models, and reported at any time
with --report. Classes are judged by log-loss and by errors, values by the root of the squared error; ranks are over
contenders within a set, by the mean over its splits. They are told among all that --models names and, within these,
among the members of each contest of `quality_jobs.py`; --report --models NAME ... ranks any others. Times may be
compared where --jobs-at-once times --threads is no more than the cores of a quiet machine.
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
    # Called as a script, Python looks for modules beside this file rather than beside its folder.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.machine import list_cores
from benchmarks.measure import Job, Outcome, run_in_child
from benchmarks.quality_jobs import CLASS_SETS, CONTENDERS, CONTESTS, MOST_ROWS, SPLITS, VALUE_SETS

OUT = Path(__file__).parent / "results" / "quality.jsonl.tmp"
#: What an outcome is found again by.
KEYS = ("contender", "name", "split", "most_rows", "threads", "develop")


def run_missing(wanted: list[dict[str, Any]], out: Path, at_once: int) -> None:
    """Run what the file does not hold yet, the largest sets first, and add a line for each."""
    held = {tuple(outcome[key] for key in KEYS) for outcome in read_outcomes(out)}
    missing = [options for options in wanted if tuple(options[key] for key in KEYS) not in held]
    # Those last that leave few cores idle at the end.
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
        told = f"{options['contender']} on {options['name']}, split {options['split']}"
        try:
            found = run_in_child([Job("benchmarks.quality_jobs:judge", options, options["threads"])], mine)[0]
        except RuntimeError as failure:
            return f"{told}: {failure}"
        finally:
            free.put(mine)
        with lock, out.open("a") as file:
            file.write(json.dumps({**options, **found}) + "\n")
        return f"{told}: {found['loss']:.4g}, {found['seconds']:.1f} s"

    with ThreadPoolExecutor(at_once) as pool:
        for number, done in enumerate(as_completed([pool.submit(run, options) for options in missing])):
            print(f"{number + 1} of {len(missing)}, {done.result()}", file=sys.stderr, flush=True)


def read_outcomes(out: Path) -> list[Outcome]:
    """The lines of a file of outcomes; a last one that was broken off does not count."""
    lines = out.read_text().splitlines() if out.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def rank(values: list[float]) -> list[float]:
    """Ranks from one for the least; equals share theirs.

    Examples
    --------
    >>> rank([0.2, 0.1, 0.2])
    [2.5, 1.0, 2.5]
    """
    from scipy.stats import rankdata

    return [float(r) for r in rankdata(values)]


def render(outcomes: list[Outcome], sets: list[str], splits: list[int], models: list[str]) -> str:
    """Losses and seconds of every set that all contenders have finished, mean ranks and total seconds."""
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
    """Mean ranks among all models, and among those of each contest that are all there and not all there are."""
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
    parser.add_argument("--splits", nargs="+", type=int, default=list(SPLITS), help="numbers of splits")
    parser.add_argument("--models", nargs="+", default=list(CONTENDERS), help="names of contenders")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="the most rows of a set")
    parser.add_argument("--threads", type=int, default=min(2, len(list_cores())), help="threads of a job")
    parser.add_argument("--jobs-at-once", type=int, default=1, help="jobs at the same time, each on its own cores")
    parser.add_argument("--develop", action="store_true", help="only rows that no test part of the contest holds")
    parser.add_argument("--out", type=Path, default=OUT, help="file of outcomes, added to")
    parser.add_argument("--report", action="store_true", help="run nothing, tell what the file holds")
    asked = parser.parse_args(words)
    if "COMMITTEE_DATA" not in os.environ and not asked.report:
        raise SystemExit("COMMITTEE_DATA must name the folder of the data sets")
    same = {"most_rows": asked.rows, "threads": asked.threads, "develop": asked.develop}
    wanted = [
        {"contender": model, "name": name, "split": split, **same}
        for name in asked.sets
        for split in asked.splits
        for model in asked.models
    ]
    if not asked.report:
        run_missing(wanted, asked.out, asked.jobs_at_once)
    kept = [one for one in read_outcomes(asked.out) if all(one[key] == value for key, value in same.items())]
    print(render(kept, asked.sets, asked.splits, asked.models))


if __name__ == "__main__":
    main()
