"""Decision trees, compared with scikit-learn: `python benchmarks/trees.py`; --quick is a smoke test."""

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
from benchmarks.report import OURS, Case, Claim, ratio, slow_down, value
from benchmarks.suite import list_options, run_suite

SKLEARN = "scikit-learn"
CLASSIFIER, REGRESSOR = "DecisionTreeClassifier", "DecisionTreeRegressor"
BOOSTERS = ("LightGBM", "scikit-learn's histogram boosting")
#: Names of the cases that the claims refer to.
FIT, BATCH, ONE_ROW, STORED = "fit", "predict, a batch", "predict, one row", "pickle and back"
QUIET_FIT, HOGGED_FIT = "fit, two threads", "fit, two threads, a foreign process on one core"
IRIS_FIT, IRIS_PREDICT, IRIS_ROW = "iris: fit", "iris: predict 150 rows", "iris: predict one row"
IMPORT, WEIGHT = "import after sklearn.base", "size of the package"


@dataclass(frozen=True)
class Sizes:
    """Sizes of the data sets and models, and numbers of repetitions."""

    n_rows: int = 100_000
    n_test: int = 100_000
    bin_rows: int = 1_000_000
    wide: tuple[int, int] = (2_000, 5_000)
    sparse: tuple[int, int] = (20_000, 1_000)
    boost_rounds: int = 10
    repeats: int = 3
    rounds: int = 1


QUICK = Sizes(1_000, 500, 2_000, (100, 200), (300, 50), boost_rounds=1, repeats=1, rounds=1)


def pair(function: str, threads: int = 1, ours: dict[str, Any] | None = None, **options: Any) -> dict[str, Job]:
    """The same job for committee and scikit-learn; `ours` are parameters that only committee has."""
    jobs = {}
    for contender in (OURS, SKLEARN):
        own = dict(options)
        if "params" in own and contender == OURS:
            own["params"] = {**own["params"], **(ours or {})}
        jobs[contender] = Job(f"benchmarks.tree_jobs:{function}", {"contender": contender, **own}, threads)
    return jobs


def list_fits(sizes: Sizes) -> list[Case]:
    """Fits of one tree with one thread."""
    rows = f"{sizes.n_rows:,} x 28"

    def fit(
        what: str, name: str, kind: str, params: dict[str, Any], shape: tuple[int, int] | None = None, **own: Any
    ) -> Case:
        n_rows, n_columns = shape or (sizes.n_rows, 28)
        n_test = sizes.n_test if shape is None else n_rows
        problem = {"kind": kind, "n_rows": n_rows, "n_test": n_test, "n_columns": n_columns}
        shared = {"name": name, "params": params, "problem": problem, "repeats": sizes.repeats}
        return Case(what, pair("fit_tree", ours=own, **shared))

    wide, sparse = (f"{n:,} x {m:,}" for n, m in (sizes.wide, sizes.sparse))
    return [
        fit(f"{FIT} {rows}, two classes", CLASSIFIER, "binary", {}),
        fit(f"{FIT} {rows}, two classes, exact", CLASSIFIER, "binary", {}, exact=True),
        fit(f"{FIT} {rows}, two classes, depth 8", CLASSIFIER, "binary", {"max_depth": 8}),
        fit(f"{FIT} {rows}, two classes, best first to 255 leaves", CLASSIFIER, "binary", {"max_leaf_nodes": 255}),
        fit(f"{FIT} {rows}, two classes, entropy", CLASSIFIER, "binary", {"criterion": "entropy"}),
        fit(f"{FIT} {rows}, two classes, 5 features a node", CLASSIFIER, "binary", {"max_features": 5}),
        fit(f"{FIT} {rows}, two classes, extra tree", "ExtraTreeClassifier", "binary", {}),
        fit(f"{FIT} {rows}, seven classes", CLASSIFIER, "classes", {}),
        fit(f"{FIT} {rows}, values", REGRESSOR, "values", {}),
        fit(f"{FIT} {rows}, values, exact", REGRESSOR, "values", {}, exact=True),
        fit(f"{FIT} {rows}, values, extra tree", "ExtraTreeRegressor", "values", {}),
        fit(f"{FIT} {wide}, two classes", CLASSIFIER, "wide", {}, sizes.wide),
        fit(f"{FIT} {sparse}, two classes, sparse", CLASSIFIER, "sparse", {}, sizes.sparse),
    ]


def list_predictions(sizes: Sizes) -> list[Case]:
    """Prediction and pickling of a fully grown tree."""
    problem = {"kind": "binary", "n_rows": sizes.n_rows, "n_test": sizes.n_test}
    shared = {"name": CLASSIFIER, "params": {}, "problem": problem, "repeats": sizes.repeats}
    shallow = {**shared, "params": {"max_depth": 5}}
    values = {**shared, "name": REGRESSOR, "problem": {**problem, "kind": "values"}}
    return [
        Case(BATCH, pair("predict_tree", **shared)),
        Case(f"{BATCH}, probabilities", pair("predict_tree", method="predict_proba", **shared)),
        Case(f"{BATCH}, depth 5", pair("predict_tree", **shallow)),
        Case(f"{BATCH}, values", pair("predict_tree", **values)),
        Case(ONE_ROW, pair("predict_tree", n_rows=1, **shared)),
        Case(f"{ONE_ROW}, values", pair("predict_tree", n_rows=1, **values)),
        Case(STORED, pair("pickle_tree", **shared)),
    ]


def list_tiny(sizes: Sizes) -> list[Case]:
    """Iris, where the overhead of a call dominates."""
    repeats = 3 * sizes.repeats
    problem = {"kind": "iris", "n_rows": 150, "n_test": 150}
    predict = {"name": CLASSIFIER, "params": {}, "problem": problem, "repeats": repeats}
    return [
        Case(IRIS_FIT, pair("fit_tiny", name=CLASSIFIER, repeats=repeats)),
        Case(f"{IRIS_FIT}, extra tree", pair("fit_tiny", name="ExtraTreeClassifier", repeats=repeats)),
        Case(f"{IRIS_FIT}, values", pair("fit_tiny", name=REGRESSOR, repeats=repeats)),
        Case(IRIS_PREDICT, pair("predict_tree", **predict)),
        Case(IRIS_ROW, pair("predict_tree", n_rows=1, **predict)),
    ]


def list_threads(sizes: Sizes) -> list[Case]:
    """Binning, and fits with two threads with and without another busy process; needs two cores."""
    threads = min(2, len(list_cores()))
    bins = {
        contender: Job(
            "benchmarks.tree_jobs:bin_table",
            {"contender": contender, "n_rows": sizes.bin_rows, "repeats": sizes.repeats, "threads": threads},
            threads,
        )
        for contender in (OURS, "LightGBM", SKLEARN)
    }
    cases = [Case(f"bin {sizes.bin_rows:,} x 28", bins)]
    if threads < 2:
        return cases
    problem = {"kind": "binary", "n_rows": sizes.n_rows, "n_test": 100}
    for name, hog in ((QUIET_FIT, False), (HOGGED_FIT, True)):
        jobs = {}
        for contender in (OURS, *BOOSTERS):
            options = {"contender": contender, "problem": problem, "threads": threads}
            options |= {"n_rounds": sizes.boost_rounds, "repeats": sizes.repeats}
            jobs[contender] = Job("benchmarks.tree_jobs:fit_beside_others", options, threads, hog)
        cases.append(Case(name, jobs))
    return cases


def list_burden(sizes: Sizes, wheel: str | None) -> list[Case]:
    """Import time and size of the library."""
    size = Job("benchmarks.tree_jobs:measure_package_size", {"contender": OURS, "wheel": wheel})
    return [
        Case(IMPORT, pair("import_library", repeats=sizes.repeats, compiled=sizes is not QUICK)),
        Case(WEIGHT + (", wheel" if wheel else ", files zipped"), {OURS: size}),
    ]


def list_claims(cases: list[Case]) -> list[Claim]:
    """The claims about decision trees."""
    full = next(case.name for case in cases if case.name.startswith(FIT))
    weight = next(case.name for case in cases if case.name.startswith(WEIGHT))
    claims = [
        Claim("fully grown tree, fit, times faster than scikit-learn", ratio(full, SKLEARN), 5),
        Claim("batch prediction, times faster", ratio(BATCH, SKLEARN), 3),
        Claim("one row, times faster", ratio(ONE_ROW, SKLEARN), 10),
        Claim("pickled tree, scikit-learn's bytes over ours", ratio(STORED, SKLEARN, "bytes"), 4),
        Claim("iris, fit, times faster", ratio(IRIS_FIT, SKLEARN), 1),
        Claim("iris, predict, times faster", ratio(IRIS_PREDICT, SKLEARN), 1),
        Claim("import over sklearn.base", value(IMPORT, OURS, "best"), 0.1, at_least=False, unit="s"),
        Claim("package", value(weight, OURS, "bytes", 1e6), 5, at_least=False, unit="MB"),
    ]
    if any(case.name == HOGGED_FIT for case in cases):
        claims.append(
            Claim("slow-down by a foreign process", slow_down(QUIET_FIT, HOGGED_FIT, OURS), 2.5, at_least=False)
        )
        for booster in BOOSTERS:
            claims.append(Claim(f"slow-down of {booster} beside it", slow_down(QUIET_FIT, HOGGED_FIT, booster)))
    return claims


def main(words: list[str] | None = None) -> None:
    parser = list_options(__doc__)
    parser.add_argument("--wheel", metavar="FILE", help="report the size of this wheel instead of the package's files")
    arguments = parser.parse_args(words)
    sizes = QUICK if arguments.quick else Sizes()
    cases = list_fits(sizes) + list_predictions(sizes) + list_tiny(sizes) + list_threads(sizes)
    cases += list_burden(sizes, arguments.wheel)
    run_suite("trees", arguments, cases, list_claims(cases), sizes.rounds)


if __name__ == "__main__":
    main()
