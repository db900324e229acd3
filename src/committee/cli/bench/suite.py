"""The cases of ``committee bench``: fits and predictions of every installed library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.cli.bench.contenders import list_contenders, make_adaboost, make_boosting, make_forest
from committee.cli.bench.machine import describe_machine, measure_load
from committee.cli.bench.measure import Job, Outcome, run_in_turns, time_calls, time_fit
from committee.cli.bench.report import OURS, Case, Report, show_seconds
from committee.cli.bench.tables import make_problem
from committee.cli.errors import USAGE, CommandError
from committee.cli.show import make_text_table

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Sizes",
    "fit_model",
    "list_cases",
    "measure_cases",
    "predict_model",
    "show_bench_report",
    "write_bench_report",
]

_HERE = "committee.cli.bench.suite"
_WARM_UP_ROWS = 200


@dataclass(frozen=True)
class Sizes:
    """Sizes of the benchmark.

    Parameters
    ----------
    n_rows, n_test : int
        Training and test rows, of 28 columns.
    n_trees, rounds : int
        Trees of forests, and rounds of boosting.
    repeats, turns : int
        Runs in a process, and processes of each contender.
    """

    n_rows: int = 20_000
    n_test: int = 20_000
    n_trees: int = 100
    rounds: int = 100
    repeats: int = 2
    turns: int = 1


QUICK = Sizes(800, 400, 5, 5, repeats=1)


def make_model(contender: str, family: str, size: int, threads: int) -> Any:
    """One of the models that are compared.

    Parameters
    ----------
    contender : str
        The library.
    family : {"forest", "extra-trees", "adaboost", "boosting"}
        The kind of model.
    size : int
        Number of trees, stumps or rounds.
    threads : int
        Number of threads.

    Returns
    -------
    estimator
        Not fitted.
    """
    if family == "adaboost":
        return make_adaboost(contender, size, threads)
    if family == "boosting":
        return make_boosting(contender, size, 31, threads)
    name = {"forest": "RandomForestClassifier", "extra-trees": "ExtraTreesClassifier"}[family]
    return make_forest(contender, name, {"n_estimators": size}, threads)


def fit_model(contender: str, family: str, size: int, rows: tuple[int, int], repeats: int, threads: int) -> Outcome:
    """A job: time the fit of a model, and score it.

    Parameters
    ----------
    contender, family, size, threads
        As for :func:`make_model`.
    rows : tuple of int
        Training and test rows.
    repeats : int
        Number of runs.

    Returns
    -------
    dict
        The outcome.
    """
    found, few = make_problem("binary", *rows), make_problem("binary", _WARM_UP_ROWS, 1)
    # Import the library before the timed runs.
    make_model(contender, family, 2, threads).fit(few.X, few.y)
    model, outcome = time_fit(lambda: make_model(contender, family, size, threads).fit(found.X, found.y), repeats)
    return {**outcome, "score": float(np.mean(model.predict(found.X_test) == found.y_test))}


def predict_model(
    contender: str, family: str, size: int, rows: tuple[int, int], first: int | None, repeats: int, threads: int
) -> Outcome:
    """A job: time predictions of a model for the first rows of a table, all of them if ``first`` is None.

    Parameters
    ----------
    contender, family, size, threads
        As for :func:`make_model`.
    rows : tuple of int
        Training and test rows.
    first : int or None
        Number of rows to predict; None for all test rows.
    repeats : int
        Number of runs.

    Returns
    -------
    dict
        The outcome.
    """
    found = make_problem("binary", *rows)
    model = make_model(contender, family, size, threads).fit(found.X, found.y)
    rows_to_predict = found.X_test[:first]
    if first == 1 and contender != "CatBoost" and "n_jobs" in model.get_params():
        # Starting a thread costs more than predicting a row, so one thread is best for every library.
        model.set_params(n_jobs=1)
    score = float(np.mean(model.predict(found.X_test) == found.y_test))
    return {**time_calls(lambda: model.predict(rows_to_predict), repeats), "score": score}


def list_cases(sizes: Sizes, threads: int, contenders: Sequence[str]) -> list[Case]:
    """The cases of the benchmark.

    Parameters
    ----------
    sizes : Sizes
        Sizes of the benchmark.
    threads : int
        Threads of every library.
    contenders : sequence of str
        The libraries.

    Returns
    -------
    list of Case
        Each with the contenders that have such a model.
    """
    able = {
        "forest": ("committee", "scikit-learn", "LightGBM", "XGBoost"),
        "extra-trees": ("committee", "scikit-learn"),
        "adaboost": ("committee", "scikit-learn"),
        "boosting": ("committee", "scikit-learn", "LightGBM", "XGBoost", "CatBoost"),
    }

    def case(title: str, family: str, function: str, **own: Any) -> Case:
        size = sizes.rounds if family == "boosting" else sizes.n_trees
        options = {"family": family, "size": size, "rows": (sizes.n_rows, sizes.n_test), "repeats": sizes.repeats}
        who = [name for name in contenders if name in able[family]]
        jobs = {
            c: Job(f"{_HERE}:{function}", {"contender": c, "threads": threads, **options, **own}, threads) for c in who
        }
        return Case(title, jobs)

    cases = [case(f"{family}, fit", family, "fit_model") for family in able]
    for family in ("forest", "boosting"):
        cases.append(case(f"{family}, predict {sizes.n_test:,} rows", family, "predict_model", first=None))
        cases.append(case(f"{family}, predict one row", family, "predict_model", first=1))
    return cases


def measure_cases(
    words: Sequence[str], sizes: Sizes, threads: int, quick: bool, on_job_end: Callable[[int, int, str], None]
) -> Report:
    """Run all cases, or those whose name contains one of the words.

    Parameters
    ----------
    words : sequence of str
        Words in the names; empty for all cases.
    sizes : Sizes
        Sizes of the benchmark.
    threads : int
        Threads of every library.
    quick : bool
        Whether it is a smoke test.
    on_job_end : callable
        Called with the number of finished jobs, the number of all jobs, and the contender of the last one.

    Returns
    -------
    Report
        The outcomes.
    """
    cases = list_cases(sizes, threads, list_contenders())
    chosen = [one for one in cases if not words or any(word in one.name for word in words)]
    if not chosen:
        raise CommandError(
            f"No case has '{words[0]}' in its name.", f"Known: {'; '.join(one.name for one in cases)}.", USAGE
        )
    load = measure_load(0.2 if quick else 1.0)
    jobs = [job for one in chosen for job in one.jobs.values()]

    def on_jobs_end(done: int, contender: str) -> None:
        on_job_end(done, sizes.turns * len(jobs), contender)

    found = iter(run_in_turns(jobs, sizes.turns, batched=quick, on_jobs_end=on_jobs_end))
    outcomes = {one.name: {contender: next(found) for contender in one.jobs} for one in chosen}
    return Report("bench", describe_machine(), load, quick, chosen, outcomes, ())


def show_bench_report(console: Console, report: Report) -> None:
    """Print the times as a table.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    report : Report
        The outcomes.
    """
    known = [f"{name} {value}" for name, value in report.machine.items() if value not in ("absent", "unknown")]
    console.print(", ".join(known))
    console.print()
    table = make_text_table("", "library", ">best time", ">over ours", ">accuracy")
    for case in report.cases:
        ours = report.outcomes[case.name][OURS]["best"]
        for k, contender in enumerate(case.jobs):
            outcome = report.outcomes[case.name][contender]
            table.add_row(
                "" if k else case.name,
                f"[bold]{contender}[/]" if contender == OURS else contender,
                show_seconds(outcome["best"]),
                f"{outcome['best'] / ours:.2f}",
                f"{outcome['score']:.4f}",
            )
    console.print(table)
    if report.quick:
        console.print("\nA quick run on tiny data: times are not meaningful.")


def write_bench_report(report: Report, folder: Path) -> list[Path]:
    """Write the page, the data and the plot.

    Parameters
    ----------
    report : Report
        The outcomes.
    folder : pathlib.Path
        The folder; created if it does not exist.

    Returns
    -------
    list of pathlib.Path
        The files.
    """
    from committee.plots.bench import plot_benchmark

    page = report.write(folder)
    plot = folder / f"{report.suite}.svg"
    seconds = {
        case: {contender: float(outcome["best"]) for contender, outcome in outcomes.items()}
        for case, outcomes in report.outcomes.items()
    }
    plot_benchmark(seconds, OURS).savefig(plot, bbox_inches="tight")
    return [page, page.with_suffix(".json"), plot]
