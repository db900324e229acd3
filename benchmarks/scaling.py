"""Fits by 1, 2, 4, 8 and 16 threads, beside the other libraries: `python -m benchmarks.scaling`.

Gradient boosting of 100,000 and of 1,000,000 rows and 28 columns with 31 and 255 leaves, and forests of 100,000 rows.
Each fit runs in a process of its own, with as many OpenMP threads as it is to use; the best of some fits counts. The
score is the area under the ROC curve on 20,000 other rows. The page is written to ``results/scaling_<processor>.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

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
BOOSTERS = (OURS, "LightGBM", "LightGBM quantised", "XGBoost", "scikit-learn")
FORESTS = (OURS, "scikit-learn")


@dataclass(frozen=True)
class Work:
    """A model and the rows that it is fitted to."""

    family: str  # "boosting", or a class of scikit-learn
    rows: int
    trees: int
    leaves: int = 0
    repeats: int = 2

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
    Work("boosting", 100_000, 50, 31, 3),
    Work("boosting", 100_000, 50, 255, 3),
    Work("boosting", 1_000_000, 20, 31),
    Work("boosting", 1_000_000, 20, 255),
    Work("RandomForestClassifier", 100_000, 16),
    Work("ExtraTreesClassifier", 100_000, 16),
)


def run_job(folder: Path, work: Work, contender: str, threads: int) -> dict[str, float]:
    """Fit some times: the best seconds, and the score."""
    from sklearn.metrics import roc_auc_score

    table = {name: np.load(folder / f"{work.rows}_{name}.npy") for name in ("X", "y", "X_test", "y_test")}
    best, fitted = np.inf, None
    # Slow contenders are not fitted again: the page would take most of an hour.
    for done in range(work.repeats):
        if done > 0 and best > 4.0:
            break
        if work.leaves:
            model = make_boosting(contender, work.trees, work.leaves, threads)
        else:
            model = make_forest(contender, work.family, {"n_estimators": work.trees}, threads)
        start = time.perf_counter()
        fitted = model.fit(table["X"], table["y"])
        best = min(best, time.perf_counter() - start)
    assert fitted is not None
    score = roc_auc_score(table["y_test"], fitted.predict_proba(table["X_test"])[:, 1])
    return {"seconds": float(best), "score": float(score)}


def time_work(folder: Path, work: Work, threads: tuple[int, ...]) -> Iterator[tuple[str, int, dict[str, float]]]:
    """Every contender that is installed, with every number of threads."""
    for contender in BOOSTERS if work.leaves else FORESTS:
        if find_spec(PEERS[contender.removesuffix(" quantised")]) is None:
            continue
        for n in threads:
            job = json.dumps([str(folder), asdict(work), contender, n])
            environment = {**os.environ, "OMP_NUM_THREADS": str(n)}
            command = [sys.executable, "-m", "benchmarks.scaling", "--job", job]
            done = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                cwd=Path(__file__).resolve().parents[1],
            )
            if done.returncode != 0:
                raise RuntimeError(f"{contender}, {n} threads, {work.title}: {done.stderr[-2000:]}")
            yield contender, n, json.loads(done.stdout.splitlines()[-1])


def write_tables(folder: Path, rows: int) -> None:
    """The rows of a work, for the processes of its jobs."""
    problem = make_problem("binary", rows, TEST_ROWS)
    for name in ("X", "y", "X_test", "y_test"):
        np.save(folder / f"{rows}_{name}.npy", getattr(problem, name))


def show_work(work: Work, threads: tuple[int, ...], found: dict[tuple[str, int], dict[str, float]]) -> list[str]:
    """A table: seconds, and how many times ours they are."""
    head = ["who", *(f"{n} thread{'s' * (n > 1)}" for n in threads), f"{threads[-1]} against {threads[0]}", "score"]
    lines = [f"## {work.title}", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for contender in dict.fromkeys(who for who, _ in found):
        cells = [contender]
        for n in threads:
            seconds, ours = found[contender, n]["seconds"], found[OURS, n]["seconds"]
            cells.append(f"{seconds:.3f} s" + ("" if contender == OURS else f" ({seconds / ours:.2f} x)"))
        gain = found[contender, threads[0]]["seconds"] / found[contender, threads[-1]]["seconds"]
        lines.append(
            "| " + " | ".join([*cells, f"{gain:.1f} x", f"{found[contender, threads[0]]['score']:.4f}"]) + " |"
        )
    return [*lines, ""]


def write_page(threads: tuple[int, ...], works: tuple[Work, ...]) -> Path:
    """Time everything and write the page."""
    load = measure_load()
    processor = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    lines = [
        f"# Threads, {processor}",
        "",
        f"{show_machine()}.",
        f"Others used {load:.0%} of the machine before the start.",
        "",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in sorted({work.rows for work in works}):
            write_tables(folder, rows)
        for work in works:
            found: dict[tuple[str, int], dict[str, float]] = {}
            for contender, n, outcome in time_work(folder, work, threads):
                found[contender, n] = outcome
                print(
                    f"{work.title}: {contender}, {n} threads: {outcome['seconds']:.3f} s, {outcome['score']:.4f}",
                    flush=True,
                )
            lines += show_work(work, threads, found)
    lines.append("In brackets: how many times our seconds. The score does not depend on the threads.")
    path = RESULTS / f"scaling_{processor}.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
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
        folder, work, contender, threads = json.loads(options.job)
        print(json.dumps(run_job(Path(folder), Work(**work), contender, threads)))
        return
    cores = len(list_cores())
    threads = tuple(options.threads or (n for n in THREADS if n <= cores))
    works = tuple(work for work in WORKS if work.rows <= options.most_rows)
    print(f"written: {write_page(threads, works)}")


if __name__ == "__main__":
    main()
