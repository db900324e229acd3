"""The work behind ``committee tune``: a search over the parameters of one estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape

from committee.cli.errors import USAGE, CommandError
from committee.cli.model_setup import ModelSetup
from committee.cli.plan import Plan
from committee.cli.progress import watch_fits
from committee.cli.several_targets import show_problems
from committee.cli.show import make_text_table, show_omitted
from committee.exceptions import ParameterError
from committee.inspection.one_target import OneTarget
from committee.search import HalvingSearch, RandomSearch, SearchReport, TPESearch, default_space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from rich.console import Console

    from committee.cli.metrics import ScoringMetric
    from committee.cli.problem import LearningProblem
    from committee.typing import FloatArray

__all__ = [
    "METHODS",
    "MeanOfTargets",
    "TunedPlan",
    "TuningOptions",
    "show_candidates",
    "tune_and_show",
    "tune_problem",
    "write_candidates",
]

METHODS: dict[str, Any] = {"tpe": TPESearch, "halving": HalvingSearch, "random": RandomSearch}
_DEFAULT_METRICS = {
    "classification": "log-loss",
    "regression": "rmse",
    "ordinal": "log-loss",
    "distribution": "crps",
    "rank": "ndcg",
    "survival": "concordance",
}
_MOST_SHOWN = 8
_DIGITS = 4
# What follows from the number of rounds being chosen by the search, and is of no interest in a table.
_NOT_SHOWN = frozenset({"early_stopping", "defaults"})


@dataclass(frozen=True)
class TuningOptions:
    """The options of a search.

    Parameters
    ----------
    method : str
        One of `METHODS`.
    budget : float
        Seconds.
    candidates : int or None
        The most candidates; None: as many as there is time for.
    out_of_bag : bool
        Whether out-of-bag predictions take the place of folds.
    """

    method: str
    budget: float
    candidates: int | None
    out_of_bag: bool


@dataclass(frozen=True)
class TunedPlan:
    """What a search found.

    Parameters
    ----------
    plan : Plan
        The options of a fit with the parameters of the winner.
    search : RandomSearch, HalvingSearch or TPESearch
        After its fit.
    metric : ScoringMetric
        The metric that decided.
    n_targets : int
        Targets of the fit; of several the metric is the mean over them.
    """

    plan: Plan
    search: Any
    metric: ScoringMetric
    n_targets: int = 1


@dataclass(frozen=True)
class MeanOfTargets:
    """A scorer of a model of several targets: the mean of a metric over them.

    Parameters
    ----------
    metrics : tuple of ScoringMetric
        The metric, for each target.
    """

    metrics: tuple[ScoringMetric, ...]

    def __call__(self, model: Any, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> float:
        """The mean; larger is better."""
        scores = []
        for k, metric in enumerate(self.metrics):
            view = OneTarget(model, k)
            own = y[:, k].astype(view.classes_.dtype) if hasattr(model, "classes_") else y[:, k]
            scores.append(metric.sign * metric.score(view, X, own, sample_weight))
        return float(np.mean(scores))


def tune_problem(
    problem: LearningProblem, plan: Plan, wanted: TuningOptions, others: Sequence[LearningProblem] = ()
) -> TunedPlan:
    """Search the parameters of an estimator on all rows of a problem.

    Parameters
    ----------
    problem : LearningProblem
        Features and target.
    plan : Plan
        The estimator, and parameters that stay as they are.
    wanted : TuningOptions
        Method and budget.
    others : sequence of LearningProblem
        Those of further targets that are fitted together; the metric is the mean over the targets.

    Returns
    -------
    TunedPlan
    """
    plan = replace(plan, metric=plan.metric or _DEFAULT_METRICS[problem.task])
    setup = ModelSetup(problem, plan)
    try:
        space = default_space(setup.template)
    except ParameterError as error:
        raise CommandError(str(error), "Choose another --estimator.", USAGE) from error
    space = {name: values for name, values in space.items() if name not in plan.settings}
    rows, metric = np.arange(problem.n_rows), setup.metrics[0]
    y, given = problem.make_fit_target()
    scoring: Any = metric.scorer if problem.levels else metric.library or metric.scorer
    if others:
        scoring = MeanOfTargets((metric, *(ModelSetup(one, plan).metrics[0] for one in others)))
    if problem.weights is not None:
        given["sample_weight"] = problem.weights
    with watch_fits("tuning", None) as display:
        on_progress = display.open("tuning", max(1, round(wanted.budget)))

        def report(one: SearchReport) -> None:
            note = f"{one.n_candidates} candidates, {metric.name} {_write_score(metric, one.best_score)}"
            on_progress(min(round(one.seconds), max(1, round(wanted.budget))), note)

        search = METHODS[wanted.method](
            setup.template,
            space,
            n_candidates=wanted.candidates,
            scoring=scoring,
            cv="oob" if wanted.out_of_bag else list(setup.split_rows(rows, plan.folds, plan.seed)),
            refit=False,
            budget=wanted.budget,
            callbacks=[report],
            random_state=plan.seed,
            n_jobs=plan.jobs,
        )
        search.fit(problem.features, y, **given)
        display.close()
    return TunedPlan(replace(plan, settings={**plan.settings, **search.best_params_}), search, metric, 1 + len(others))


def tune_and_show(
    console: Console | None, problems: Sequence[LearningProblem], plan: Plan, wanted: TuningOptions
) -> TunedPlan:
    """Print a problem or those of several targets, search, and print the candidates.

    Parameters
    ----------
    console : rich.console.Console or None
        None: nothing is printed.
    problems : sequence of LearningProblem
        One for each target.
    plan, wanted
        As for `tune_problem`.

    Returns
    -------
    TunedPlan
    """
    if console is not None:
        show_problems(console, problems)
    tuned = tune_problem(problems[0], plan, wanted, problems[1:])
    if console is not None:
        show_candidates(console, tuned)
    return tuned


def show_candidates(console: Console, tuned: TunedPlan) -> None:
    """Print the best candidates and the estimator as given, and what the winner can be expected to score."""
    search, metric = tuned.search, tuned.metric
    found = search.cv_results_
    order = np.argsort(found["rank_test_score"], kind="stable")
    shown = [int(k) for k in order[:_MOST_SHOWN]]
    shown += [] if 0 in shown else [0]
    n_folds = "out-of-bag rows" if search.cv == "oob" else f"{search.n_splits_} folds"
    count = f"{search.n_candidates_} candidate" + "s" * (search.n_candidates_ > 1)
    mean = "" if tuned.n_targets == 1 else f", mean of {tuned.n_targets} targets"
    console.print(f"\n{count} in {search.search_time_:.0f} s, {metric.name} by {n_folds}{mean}:")
    table = make_text_table("", f">{metric.name}", ">members", "parameters")
    for k in shown:
        members = found["n_members"][k]
        cells = "as given" if k == 0 else _write_params(found["params"][k])
        mark = "*" if k == search.best_index_ else ""
        score = _write_score(metric, found["mean_test_score"][k])
        table.add_row(mark, score, "" if np.ma.is_masked(members) else str(members), escape(cells))
    console.print(table)
    show_omitted(console, len(order), len(shown))
    if np.isfinite(search.honest_score_):
        ends = sorted(metric.sign * end for end in search.honest_interval_)
        console.print(
            f"* the winner. The best score of {count} is too good: on new rows expect "
            f"{_write_score(metric, search.honest_score_)} (95 %: {ends[0]:.{_DIGITS}g} to {ends[1]:.{_DIGITS}g})."
        )


def write_candidates(tuned: TunedPlan) -> dict[str, Any]:
    """The search for a JSON document."""
    search, metric, found = tuned.search, tuned.metric, tuned.search.cv_results_
    return {
        "metric": metric.name,
        "seconds": search.search_time_,
        "winner": search.best_index_,
        "expected_score": _read_number(metric.sign * search.honest_score_),
        "expected_interval": sorted(_read_number(metric.sign * end) or 0.0 for end in search.honest_interval_),
        "candidates": [
            {"parameters": _list_plain(params), "score": _read_number(metric.sign * score)}
            for params, score in zip(found["params"], found["mean_test_score"], strict=True)
        ],
    }


def _write_score(metric: ScoringMetric, score: float) -> str:
    return f"{metric.sign * score:.{_DIGITS}g}"


def _write_params(params: dict[str, Any]) -> str:
    plain = _list_plain(params)
    return ", ".join(f"{n}={v:.2g}" if isinstance(v, float) else f"{n}={v}" for n, v in plain.items())


def _list_plain(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name not in _NOT_SHOWN}


def _read_number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
