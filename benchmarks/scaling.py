"""Fits by 1, 2, 4, 8 and 16 threads, beside the other libraries: `python -m benchmarks.scaling`.

Gradient boosting of 100,000 and of 1,000,000 rows and 28 columns with 31 and 255 leaves, and forests of 100,000 rows.
Every library has a process of its own for each model, which begins with a fit that is not timed; the best of some fits
counts. Predictions are probabilities of 100,000 rows. The score is the area under the ROC curve on 20,000 other rows.
Larger tables are left to the libraries whose fits take seconds; ``--most-rows 100000`` leaves them out. The page is
written to ``results/scaling_<processor>.md``.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.machine import list_cores, measure_load, show_machine
from benchmarks.report import OURS, RESULTS
from committee.cli.bench.contenders import PEERS, make_boosting, make_forest
from committee.cli.bench.tables import make_problem

THREADS = (1, 2, 4, 8, 16)
TEST_ROWS = 20_000
ROOT = Path(__file__).resolve().parents[1]
BOOSTERS = (OURS, "LightGBM", "LightGBM quantised", "XGBoost", "scikit-learn")
FORESTS = (OURS, "scikit-learn")


@dataclass(frozen=True)
class Work:
    """A model and the rows that it is fitted to."""

    family: str  # "boosting", or a class of scikit-learn
    rows: int
    trees: int
    leaves: int = 0
    repeats: int = 1

    @property
    def title(self) -> str:
        """For the head of its table."""
        what = (
            f"boosting, {self.trees} rounds of {self.leaves} leaves"
            if self.leaves
            else f"{self.family}, {self.trees} trees"
        )
        return f"{what}, {self.rows:,} rows"


WORKS = (
    Work("boosting", 100_000, 30, 31, 2),
    Work("boosting", 100_000, 30, 255, 2),
    Work("boosting", 1_000_000, 10, 31),
    Work("boosting", 1_000_000, 10, 255),
    Work("RandomForestClassifier", 100_000, 8),
    Work("ExtraTreesClassifier", 100_000, 8),
)
MANY_ROWS, PREDICTED_ROWS = 500_000, 100_000
Outcome = dict[str, float]  # "fit" and "predict" in seconds, "score"


def time_best(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The least seconds of some calls, and what the last one returned."""
    best, returned = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        returned = call()
        best = min(best, time.perf_counter() - start)
    return float(best), returned


def run_job(folder: Path, work: Work, contender: str, threads: int) -> Outcome:
    """Fit, predict and score with a number of threads."""
    from sklearn.metrics import roc_auc_score
    from threadpoolctl import threadpool_limits

    table = {name: np.load(folder / f"{work.rows}_{name}.npy") for name in ("X", "y", "X_test", "y_test")}

    def fit() -> Any:
        if work.leaves:
            model = make_boosting(contender, work.trees, work.leaves, threads)
        else:
            model = make_forest(contender, work.family, {"n_estimators": work.trees}, threads)
        return model.fit(table["X"], table["y"])

    with threadpool_limits(threads):
        seconds, fitted = time_best(fit, work.repeats)
        predicting, _ = time_best(lambda: fitted.predict_proba(table["X"][:PREDICTED_ROWS]), 2)
        score = roc_auc_score(table["y_test"], fitted.predict_proba(table["X_test"])[:, 1])
    return {"fit": seconds, "predict": predicting, "score": float(score)}


def list_contenders_of(work: Work) -> list[str]:
    """The libraries that are installed and fit the model."""
    named = BOOSTERS[: 4 if work.rows > MANY_ROWS else 5] if work.leaves else FORESTS
    return [who for who in named if find_spec(PEERS[who.removesuffix(" quantised")]) is not None]


def time_work(folder: Path, work: Work, contender: str, threads: tuple[int, ...]) -> list[Outcome]:
    """A library with every number of threads."""
    job = json.dumps([str(folder), asdict(work), contender, threads])
    command = [sys.executable, "-m", "benchmarks.scaling", "--job", job]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise RuntimeError(f"{contender}, {work.title}: {done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()[-len(threads) :]]


def write_tables(folder: Path, rows: int) -> None:
    """The rows of a work, for the processes of its jobs."""
    problem = make_problem("binary", rows, TEST_ROWS)
    for name in ("X", "y", "X_test", "y_test"):
        np.save(folder / f"{rows}_{name}.npy", getattr(problem, name))


def show_work(work: Work, threads: tuple[int, ...], found: dict[str, list[Outcome]]) -> list[str]:
    """Two tables in one: seconds, and how many times ours they are."""
    head = ["", *(f"{n} thread{'s' * (n > 1)}" for n in threads), f"{threads[-1]} against {threads[0]}", "score"]
    lines = [f"## {work.title}", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for what in ("fit", "predict"):
        for contender, outcomes in found.items():
            cells = [f"{what}, {contender}"]
            for outcome, ours in zip(outcomes, found[OURS], strict=True):
                ratio = "" if contender == OURS else f" ({outcome[what] / ours[what]:.2f} x)"
                cells.append(f"{outcome[what]:.3f} s{ratio}")
            cells += [f"{outcomes[0][what] / outcomes[-1][what]:.1f} x", f"{outcomes[0]['score']:.4f}"]
            lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def write_page(threads: tuple[int, ...], works: tuple[Work, ...]) -> Path:
    """Time everything and write the page, which is complete as far as it has come after each model."""
    load = measure_load()
    processor = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    path = RESULTS / f"scaling_{processor}.md"
    lines = [f"# Threads, {processor}", "", f"{show_machine()}."]
    lines += [f"Others used {load:.0%} of the machine before the start.", ""]
    lines += ["In brackets: how many times our seconds. The score does not depend on the threads.", ""]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in sorted({work.rows for work in works}):
            write_tables(folder, rows)
        for work in works:
            found = {who: time_work(folder, work, who, threads) for who in list_contenders_of(work)}
            shown = show_work(work, threads, found)
            print("\n".join(shown), flush=True)
            lines += shown
            path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return path


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--threads", type=int, nargs="+", help="numbers of threads; by default those that there are cores for"
    )
    parser.add_argument("--most-rows", type=int, default=1_000_000, help="leave out larger tables")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        folder, work, contender, numbers = json.loads(options.job)
        run_job(Path(folder), Work(**work), contender, numbers[-1])  # imports, pages of memory and threads
        for n in numbers:
            print(json.dumps(run_job(Path(folder), Work(**work), contender, n)), flush=True)
        return
    cores = len(list_cores())
    threads = tuple(options.threads or (n for n in THREADS if n <= cores))
    works = tuple(work for work in WORKS if work.rows <= options.most_rows)
    print(f"written: {write_page(threads, works)}")


if __name__ == "__main__":
    main()
