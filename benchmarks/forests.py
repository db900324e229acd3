"""Forests, compared with other libraries: `python benchmarks/forests.py`; --quick is a smoke test."""

from __future__ import annotations

import os
import shutil
import subprocess
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
from benchmarks.suite import leave_out, list_options, run_suite

SKLEARN = "scikit-learn"
PAIR = (OURS, SKLEARN)
RANGER = "ranger"
ALL = (OURS, SKLEARN, "LightGBM", "XGBoost")
CLASSES, VALUES, EXTRA = "RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier"
EXTRA_VALUES = "ExtraTreesRegressor"
#: Names of the cases that the claims refer to.
FULL, EXTRA_FIT, COVERTYPE, HOUSING = "fit, full trees", "fit, extra-trees", "fit, covertype", "fit with OOB, housing"
LARGE, IRIS = "fit, one million rows", "iris: fit"
HOUSING_EXTRA, HOUSING_DRAWN = "fit, extra-trees, housing", "fit, extra-trees, a third of the columns, housing"
FOREST_DRAWN = "fit, a third of the columns, housing"
BATCH, ONE_ROW, STORED = "predict, a batch", "predict, one row", "pickle and back"


@dataclass(frozen=True)
class Sizes:
    """Sizes of the data sets and models, and numbers of repetitions."""

    n_rows: int = 100_000
    n_test: int = 50_000
    n_trees: int = 100
    housing_rows: int = 20_640
    housing_trees: int = 200
    housing_test: int = 4_640
    large_rows: int = 1_000_000
    large_trees: int = 4
    repeats: int = 2
    rounds: int = 1


QUICK = Sizes(1_000, 500, 6, 1_000, 30, 300, 3_000, 2, repeats=1, rounds=1)


def find_ranger() -> str | None:
    """Why R's ranger cannot be run on this machine; None if it can."""
    if shutil.which("Rscript") is None:
        return "Rscript was not found"
    done = subprocess.run(["Rscript", "--vanilla", "-e", "library(ranger)"], check=False, capture_output=True)
    return "the R package ranger is not installed" if done.returncode else None


def list_cases(sizes: Sizes, threads: int, ranger: bool) -> list[Case]:
    """All cases."""
    ranger_too = (RANGER,) if ranger else ()

    def case(title: str, function: str, who: tuple[str, ...], name: str, problem: tuple[Any, ...], **own: Any) -> Case:
        kind, n_rows, n_test = problem
        rows = own.pop("n_rows", None)
        options: dict[str, Any] = {"name": name, "params": {"n_estimators": sizes.n_trees, **own}, "threads": threads}
        options |= {"problem": {"kind": kind, "n_rows": n_rows, "n_test": n_test}, "repeats": sizes.repeats}
        if rows is not None:
            options["n_rows"] = rows
        return Case(
            title,
            {c: Job(f"benchmarks.forest_jobs:{function}", {"contender": c, **options}, threads) for c in who},
        )

    binary = ("binary", sizes.n_rows, sizes.n_test)
    large = ("binary", sizes.large_rows, sizes.n_test)
    cases = [
        case(FULL, "fit_forest", (*ALL, *ranger_too), CLASSES, binary),
        case(EXTRA_FIT, "fit_forest", PAIR, EXTRA, binary),
        case(LARGE, "fit_forest", (OURS,), CLASSES, large, n_estimators=sizes.large_trees),
        case(IRIS, "fit_forest", PAIR, CLASSES, ("iris", 150, 150)),
        case(BATCH, "predict_forest", PAIR, CLASSES, binary),
        case(ONE_ROW, "predict_forest", PAIR, CLASSES, binary, n_rows=1),
        case(STORED, "pickle_forest", PAIR, CLASSES, binary),
    ]
    if os.environ.get("COMMITTEE_DATA"):
        covertype, housing = ("covertype", sizes.n_rows, sizes.n_test), ("california_housing", sizes.housing_rows, 0)
        cases.append(case(COVERTYPE, "fit_forest", (*PAIR, *ranger_too), CLASSES, covertype))
        more = {"n_estimators": sizes.housing_trees, "oob_score": True}
        cases.append(case(HOUSING, "fit_forest", (*PAIR, *ranger_too), VALUES, housing, **more))
        n_test = min(sizes.housing_test, sizes.housing_rows // 4)
        parted = ("california_housing", sizes.housing_rows - n_test, n_test)
        for title, name, share in (
            (HOUSING_EXTRA, EXTRA_VALUES, 1.0),
            (HOUSING_DRAWN, EXTRA_VALUES, 0.34),
            (FOREST_DRAWN, VALUES, 0.34),
        ):
            cases.append(case(title, "fit_forest", PAIR, name, parted, max_features=share))
    return cases


def list_claims(cases: list[Case]) -> list[Claim]:
    """The claims about forests."""
    wanted = [(FULL, 15.0), (EXTRA_FIT, 8.0), (COVERTYPE, 10.0), (HOUSING, 8.0), (IRIS, 40.0), (BATCH, 5.0)]
    wanted += [(HOUSING_EXTRA, 5.0), (HOUSING_DRAWN, 5.0), (FOREST_DRAWN, 3.0)]
    names = {case.name for case in cases}
    claims = [
        Claim(f"{name}, times faster", ratio(name, SKLEARN), limit)
        for name, limit in [*wanted, (ONE_ROW, 200.0)]
        if name in names
    ]
    claims.append(Claim("saved forest, scikit-learn's bytes over ours", ratio(STORED, SKLEARN, "bytes"), 5.0))
    memory = Claim(
        "one million rows, growth of the peak memory over the table",
        lambda outcomes: outcomes[LARGE][OURS]["memory_mb"] / outcomes[LARGE][OURS]["table_mb"],
        3.0,
        at_least=False,
    )
    return [*claims, memory]


def main(words: list[str] | None = None) -> None:
    parser = list_options(__doc__)
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="a library to leave out")
    arguments = parser.parse_args(words)
    sizes = QUICK if arguments.quick else Sizes()
    why_not = find_ranger()
    if why_not is not None:
        print(f"ranger is left out: {why_not}", file=sys.stderr)
    cases = list_cases(sizes, min(2, len(list_cores())), ranger=why_not is None)
    leave_out(cases, arguments.without)
    run_suite("forests", arguments, cases, list_claims(cases), sizes.rounds)


if __name__ == "__main__":
    main()
