"""Small tasks of practice, compared with other libraries: `python benchmarks/practice.py`; --quick is a smoke test.

Ordered classes, sets of classes with a promised coverage, leaves that follow drifted rows, a threshold tuned for F1,
and the distillation of an automatic committee. The tables are drawn by a script; with the folder COMMITTEE_DATA the
grades of wines are a second table of ordered classes, and each wine once a third one. mord, MAPIE and crepes are left
out where they are not installed.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.machine import list_cores
from benchmarks.measure import Job
from benchmarks.practice_jobs import (
    CREPES,
    DISTILLED,
    LIGHTGBM,
    LIGHTGBM_CLASSES,
    LIGHTGBM_ROUNDED,
    MAPIE,
    MORD,
    OURS_ANEW,
    OURS_CLASSES,
    OURS_FOLDS,
    OURS_SPREAD,
    SKLEARN,
)
from benchmarks.report import OURS, Case, Claim, ProcessorReport
from benchmarks.suite import leave_out, list_options, run_suite

LEVELS, WINES, WINES_ONCE = (
    "ordered classes, drawn",
    "ordered classes, wine quality",
    "ordered classes, wine quality, each wine once",
)
SETS, DRIFT, THRESHOLD, STUDENT = (
    "sets of classes: fit, calibrate, predict",
    "leaves refitted on drifted rows",
    "threshold of best F1",
    "distillation: predict, one row",
)
#: Modules of the peers that may be missing.
MODULES = {MORD: "mord", MAPIE: "mapie", CREPES: "crepes"}


@dataclass(frozen=True)
class Sizes:
    """Rows, rounds and trees of the tasks, and numbers of repetitions."""

    n_rows: int = 10_000
    rounds: int = 100
    n_trees: int = 100
    n_distilled: int = 1_000
    repeats: int = 3


QUICK = Sizes(n_rows=1_200, rounds=3, n_trees=20, n_distilled=150, repeats=1)


def list_cases(sizes: Sizes, threads: int) -> list[Case]:
    """All tasks; peers that are not installed are left out."""

    def case(title: str, function: str, who: tuple[str, ...], **own: Any) -> Case:
        options = {"n_rows": sizes.n_rows, "repeats": sizes.repeats, "threads": threads, **own}
        present = [c for c in who if c not in MODULES or find_spec(MODULES[c]) is not None]
        name = f"benchmarks.practice_jobs:{function}"
        return Case(title, {c: Job(name, {"contender": c, **options}, threads) for c in present})

    levels = (OURS, OURS_SPREAD, OURS_CLASSES, LIGHTGBM_CLASSES, LIGHTGBM_ROUNDED, MORD)
    rounds, trees = {"rounds": sizes.rounds}, {"n_trees": sizes.n_trees}
    cases = [case(LEVELS, "fit_levels", levels, table="drawn", **rounds)]
    if os.environ.get("COMMITTEE_DATA"):
        cases.append(case(WINES, "fit_levels", levels, table="wine_quality", **rounds))
        cases.append(case(WINES_ONCE, "fit_levels", levels, table="wine_quality_once", **rounds))
    return [
        *cases,
        case(SETS, "predict_sets", (OURS, SKLEARN, MAPIE, CREPES), **trees),
        case(DRIFT, "refit_drifted", (OURS, OURS_ANEW, LIGHTGBM), **rounds),
        case(THRESHOLD, "tune_threshold", (OURS, OURS_FOLDS, SKLEARN), **trees),
        case(STUDENT, "time_one_row", (OURS, DISTILLED), n_rows=sizes.n_distilled),
    ]


def compare_best(case: str, peers: tuple[str, ...]) -> Any:
    """How many times our time the fastest of these peers takes."""
    return lambda outcomes: min(outcomes[case][c]["best"] for c in peers) / outcomes[case][OURS]["best"]


def subtract(case: str, peers: tuple[str, ...], measure: str) -> Any:
    """Our measure less the largest of these peers."""
    return lambda outcomes: (
        outcomes[case][OURS]["measures"][measure] - max(outcomes[case][c]["measures"][measure] for c in peers)
    )


def list_claims(cases: list[Case]) -> list[Claim]:
    """In each task no peer is faster, at an equal score."""
    plain = (LIGHTGBM_CLASSES, LIGHTGBM_ROUNDED)
    claims = []
    for case in (c for c in cases if c.name in (LEVELS, WINES, WINES_ONCE)):
        claims += [
            Claim(f"{case.name}, fit, times faster than LightGBM's classes", compare_best(case.name, plain[:1]), 1.0),
            Claim(f"{case.name}, fit, times faster than LightGBM's values", compare_best(case.name, plain[1:])),
            Claim(f"{case.name}, QWK less LightGBM's better one", subtract(case.name, plain, "QWK"), -0.01, unit=""),
            Claim(
                f"{case.name}, log-loss less that of LightGBM's classes",
                subtract(case.name, plain[:1], "log-loss"),
                0.0,
                at_least=False,
                unit="",
            ),
        ]
    peers = tuple(next(c for c in cases if c.name == SETS).jobs)[1:]

    def find_coverage(outcomes: Any) -> float:
        return float(outcomes[SETS][OURS]["measures"]["coverage"])

    def find_speed(outcomes: Any) -> float:
        return float(outcomes[STUDENT][OURS]["best"] / outcomes[STUDENT][DISTILLED]["best"])

    def find_loss(outcomes: Any) -> float:
        measures = [outcomes[STUDENT][c]["measures"]["accuracy"] for c in (OURS, DISTILLED)]
        return float(measures[0] - measures[1])

    size = "classes in a set"
    return [
        *claims,
        Claim(f"{SETS}, times faster than the fastest peer", compare_best(SETS, peers), 1.0),
        Claim("sets of classes, coverage for alpha = 0.1", find_coverage, 0.89, unit=""),
        Claim(f"sets of classes, {size} less the largest", subtract(SETS, peers, size), 0.0, at_least=False, unit=""),
        Claim(f"{DRIFT}, times faster than LightGBM", compare_best(DRIFT, (LIGHTGBM,)), 1.0),
        Claim(f"{DRIFT}, R² less LightGBM's", subtract(DRIFT, (LIGHTGBM,), "R²"), -0.01, unit=""),
        Claim(f"{THRESHOLD}, times faster than scikit-learn", compare_best(THRESHOLD, (SKLEARN,)), 1.0),
        Claim(f"{THRESHOLD}, F1 less scikit-learn's", subtract(THRESHOLD, (SKLEARN,), "F1"), -0.02, unit=""),
        Claim("distilled, one row, times faster than its committee", find_speed, 1.0),
        Claim("accuracy of the committee less that of its student", find_loss, unit=""),
    ]


class PracticeReport(ProcessorReport):
    """The page of small tasks, with the measures of each."""

    notes = (
        "Ordered classes: the score is the quadratically weighted kappa (QWK). Ours has two rounds, a tree each, for",
        "every round of plain classes, which has a tree for each class; with a spread by row a round has two trees.",
        "Of the wines, 18 % are a repetition of another row, often on the other side of the split: models that learn",
        "rows by heart gain by it, and lose where each wine is there once. Rounded values are a regression on the",
        "numbers of the levels; mord is a linear model of cumulative logits (LogisticAT) on standardised columns.",
        "Sets: the score is minus their mean size; peers hold out a fifth of the rows, the library calibrates out of",
        "bag. `scikit-learn` is a split-conformal set of a few lines around its forest. Drift: a model of old rows",
        "takes in a fourth as many new ones, half of the old leaf values stays; R² before is that of the old model.",
        "Threshold: out of bag, beside five folds. Distillation: the score is minus the log-loss, the ratio is to the",
        "whole committee, and the seconds of the fit of the student are those of `distill`, which fits the committee",
        "once more.",
    )

    def render(self) -> str:
        """The report as Markdown."""
        lines = ["", "| what | who | measures |", "|---|---|---|"]
        for case in self.cases:
            for contender in case.jobs:
                measures = self.outcomes[case.name][contender]["measures"]
                told = ", ".join(f"{name} {found:.4g}" for name, found in measures.items())
                lines.append(f"| {case.name} | {contender} | {told} |")
        return super().render() + "\n".join(lines) + "\n"


def main(words: list[str] | None = None) -> None:
    parser = list_options(__doc__)
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="leave out a contender")
    arguments = parser.parse_args(words)
    cases = list_cases(QUICK if arguments.quick else Sizes(), min(2, len(list_cores())))
    leave_out(cases, arguments.without)
    run_suite("practice", arguments, cases, list_claims(cases), 1, PracticeReport)


if __name__ == "__main__":
    main()
