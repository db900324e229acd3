"""Fits by 1, 2, 4, 8 and 16 threads, beside the other libraries: `python -m benchmarks.scaling`.

Gradient boosting of 100,000 and of 1,000,000 rows and 28 columns with 31 and 255 leaves, forests with scikit-learn's
100 trees and with 8, AdaBoost with stumps, Shapley values of boosted trees, and, where COMMITTEE_DATA names the folder
of their files, covertype and California housing. Every library has a process of its own for each model, which begins
with a fit that is not timed; the best of some fits counts. Predictions are of 100,000 rows, Shapley values of 5,000.
The score is of other rows: the area under the ROC curve of two classes, the accuracy of more, R² of values.
A section says how much arithmetic as many processes do side by side, which is what threads could gain at best; all
cores of the machine predict for hessboost and CatBoost, whatever the number of threads of their models.
Larger tables are left to the libraries whose fits take seconds; ``--most-rows 100000`` leaves them out. The page is
written to ``results/scaling_<processor>.md``; with ``--only`` the other sections of the page stay as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.machine import list_cores, measure_cores, measure_load, name_processor, show_machine
from benchmarks.report import OURS, RESULTS
from benchmarks.scaling_jobs import ADABOOST, SHAPLEY, Outcome, Work, run_jobs, write_table

THREADS = (1, 2, 4, 8, 16)
ROOT = Path(__file__).resolve().parents[1]
NOTE = "In brackets: how many times our seconds. The score does not depend on the threads."
FOREST, EXTRA = "RandomForestClassifier", "ExtraTreesClassifier"
WORKS = (
    Work("boosting", 100_000, 30, 31, 2),
    Work("boosting", 100_000, 30, 255, 2),
    Work("boosting", 1_000_000, 10, 31, 2),
    Work("boosting", 1_000_000, 10, 255, 2),
    Work("boosting", 100_000, 10, 31, 2, "covertype"),
    Work("boosting", 16_512, 100, 31, 10, "california_housing"),
    Work(FOREST, 100_000, 8, repeats=2),
    Work(FOREST, 100_000, 100),
    Work(EXTRA, 100_000, 8, repeats=2),
    Work(EXTRA, 100_000, 100, repeats=2),
    Work(FOREST, 100_000, 100, table="covertype"),
    Work(ADABOOST, 100_000, 200),
    Work(SHAPLEY, 20_000, 200, 31, table="ranks"),
)


def time_work(folder: Path, work: Work, contender: str, threads: tuple[int, ...]) -> list[Outcome]:
    """A library with every number of threads, in a process of its own."""
    job = json.dumps([str(folder), asdict(work), contender, threads])
    command = [sys.executable, "-m", "benchmarks.scaling", "--job", job]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise RuntimeError(f"{contender}, {work.title}: {done.stderr[-2000:]}")
    outcomes: list[Outcome] = json.loads(done.stdout.splitlines()[-1])
    return outcomes


def show_work(work: Work, threads: tuple[int, ...], found: dict[str, list[Outcome]], remark: str) -> str:
    """A section: seconds of every library, and how many times ours they are."""
    head = ["", *(f"{n} thread{'s' * (n > 1)}" for n in threads), f"{threads[-1]} against {threads[0]}", "score"]
    lines = [f"## {work.title}", "", remark, "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for what in work.measured:
        for contender, outcomes in found.items():
            cells = [f"{what}, {contender}"]
            for outcome, ours in zip(outcomes, found[OURS], strict=True):
                ratio = "" if contender == OURS else f" ({outcome[what] / ours[what]:.2f} x)"
                cells.append(f"{outcome[what]:.3f} s{ratio}")
            gain = f"{outcomes[0][what] / outcomes[-1][what]:.1f} x" if work.uses_threads(contender) else "no threads"
            lines.append("| " + " | ".join([*cells, gain, f"{outcomes[0]['score']:.4f}"]) + " |")
    return "\n".join(lines)


def read_sections(page: str) -> dict[str, str]:
    """The sections of a page by their titles."""
    sections = page.split("\n## ")[1:]
    return {section.splitlines()[0]: f"## {section.rstrip()}" for section in sections}


def join_page(head: str, sections: dict[str, str]) -> str:
    """A page with its sections in the order of WORKS, those of other models last."""
    titles = [work.title for work in WORKS]
    ordered = sorted(sections, key=lambda title: titles.index(title) if title in titles else len(titles))
    return "\n\n".join([head, *(sections[title] for title in ordered)]) + "\n"


def write_page(threads: tuple[int, ...], works: list[Work], path: Path, anew: bool) -> None:
    """Time everything and write the page, which is complete as far as it has come after each model."""
    machine = f"{show_machine()}."
    load = measure_load()
    remark = f"Measured on {datetime.now(UTC):%Y-%m-%d}; others used {load:.0%} of the machine before the start."
    remark += f" {measure_cores(threads)}"
    title = path.stem.replace("scaling_", "# Threads, ")
    head, sections = "\n\n".join([title, machine, NOTE]), {}
    if path.exists() and not anew:
        page = path.read_text(encoding="utf-8")
        head, sections = page.split("\n## ")[0].rstrip(), read_sections(page)
        if machine not in head:
            remark += f" The machine: {machine}"
    with tempfile.TemporaryDirectory() as name:
        for work in works:
            write_table(Path(name), work)
            found = {who: time_work(Path(name), work, who, threads) for who in work.list_contenders()}
            sections[work.title] = show_work(work, threads, found, remark)
            print(sections[work.title], end="\n\n", flush=True)
            path.write_text(join_page(head, sections), encoding="utf-8")


def choose_works(words: list[str], most_rows: int) -> list[Work]:
    """The models whose title contains one of the words; without words all for which there is a table."""
    small = [work for work in WORKS if work.rows <= most_rows]
    chosen = [work for work in small if not words or any(word.lower() in work.title.lower() for word in words)]
    if not chosen:
        raise SystemExit(f"no title contains {' or '.join(words)}: " + "; ".join(work.title for work in small))
    if os.environ.get("COMMITTEE_DATA"):
        return chosen
    for work in chosen:
        if work.is_public:
            print(f"COMMITTEE_DATA is not set, left out: {work.title}", file=sys.stderr)
    return [work for work in chosen if not work.is_public]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--threads", type=int, nargs="+", help="numbers of threads; by default those that there are cores for"
    )
    parser.add_argument("--most-rows", type=int, default=1_000_000, help="leave out larger tables")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="models whose title contains WORD")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        folder, work, contender, numbers = json.loads(options.job)
        print(json.dumps(run_jobs(Path(folder), Work(**work), contender, numbers)))
        return
    cores = len(list_cores())
    threads = tuple(options.threads or (n for n in THREADS if n <= cores))
    works = choose_works(options.only, options.most_rows)
    path = RESULTS / f"scaling_{name_processor()}.md"
    write_page(threads, works, path, anew=not options.only)
    print(f"written: {path}")


if __name__ == "__main__":
    main()
