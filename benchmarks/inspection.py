"""Model inspection, compared with other libraries: `python benchmarks/inspection.py`; --quick is a smoke test."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.machine import list_cores
from benchmarks.measure import Job
from benchmarks.report import OURS, Case, Claim, ratio
from benchmarks.suite import list_options, run_suite

SKLEARN, LIGHTGBM, XGBOOST = "scikit-learn", "LightGBM", "XGBoost"
#: Names of the cases; both methods are compared with scikit-learn's brute force.
SHAP, TRAVERSAL, BRUTE, PERMUTATION = (
    "Shapley values",
    "partial dependence, traversal",
    "partial dependence, brute force",
    "permutation importance",
)


@dataclass(frozen=True)
class Sizes:
    """Sizes of the data sets and models, and numbers of repetitions."""

    n_rows: int = 20_000
    n_test: int = 5_000
    shap_trees: int = 500
    n_leaves: int = 31
    n_trees: int = 100
    depend_rows: int = 1_000
    repeats: int = 1
    rounds: int = 1


QUICK = Sizes(600, 100, 10, 7, 5, 50, repeats=1, rounds=1)


def list_cases(sizes: Sizes, threads: int) -> list[Case]:
    """All cases."""

    def case(title: str, function: str, who: dict[str, dict[str, Any]], n_test: int, **own: Any) -> Case:
        options = {"n_rows": sizes.n_rows, "n_test": n_test, "repeats": sizes.repeats, "threads": threads, **own}
        jobs = {
            c: Job(f"benchmarks.inspection_jobs:{function}", {"contender": c, **options, **more}, threads)
            for c, more in who.items()
        }
        return Case(title, jobs)

    trees = {"n_trees": sizes.n_trees}
    brute = {"method": "brute"}
    return [
        case(
            SHAP,
            "explain",
            {OURS: {}, LIGHTGBM: {}, XGBOOST: {}},
            sizes.n_test,
            n_trees=sizes.shap_trees,
            n_leaves=sizes.n_leaves,
        ),
        case(TRAVERSAL, "depend", {OURS: {"method": "traversal"}, SKLEARN: brute}, sizes.depend_rows, **trees),
        case(BRUTE, "depend", {OURS: brute, SKLEARN: brute}, sizes.depend_rows, **trees),
        case(PERMUTATION, "permute", {OURS: {}, SKLEARN: {}}, sizes.n_test, **trees),
    ]


def list_claims() -> list[Claim]:
    """The claims about model inspection."""
    return [
        Claim("Shapley values, times faster than LightGBM", ratio(SHAP, LIGHTGBM), 5.0),
        Claim("Shapley values, times faster than XGBoost", ratio(SHAP, XGBOOST), 5.0),
        Claim("partial dependence by traversal, times faster than brute force", ratio(TRAVERSAL, SKLEARN), 20.0),
        Claim("partial dependence by brute force, times faster", ratio(BRUTE, SKLEARN)),
        Claim("permutation importance, times faster", ratio(PERMUTATION, SKLEARN), 10.0),
    ]


def main(words: list[str] | None = None) -> None:
    arguments = list_options(__doc__).parse_args(words)
    sizes = QUICK if arguments.quick else Sizes()
    run_suite("inspection", arguments, list_cases(sizes, min(2, len(list_cores()))), list_claims(), sizes.rounds)


if __name__ == "__main__":
    main()
