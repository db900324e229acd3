"""The work behind ``committee compare``: several estimators on the same folds, with a significance test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape
from scipy import stats

from committee.cli.catalog import find_class
from committee.cli.cross_validation import CrossValidationRun
from committee.cli.errors import USAGE, CommandError
from committee.cli.fit_observer import FitObserver
from committee.cli.model_setup import ModelSetup
from committee.cli.plan import Plan
from committee.cli.show import make_text_table, show_head
from committee.typing import FloatArray

if TYPE_CHECKING:
    from rich.console import Console

    from committee.cli.problem import LearningProblem

__all__ = [
    "EstimatorComparison",
    "PairedTest",
    "adjust_holm",
    "compute_t_test",
    "plan_comparison",
    "show_comparison",
    "write_comparison",
]


#: Compared by default: one of each family, quick to fit.
DEFAULT_ESTIMATORS = ("random-forest", "extra-trees", "hist-gradient-boosting", "decision-tree")


@dataclass(frozen=True)
class PairedTest:
    """The mean over the folds of a repeated cross-validation, with a test against zero.

    Parameters
    ----------
    mean : float
        Over all folds of all repetitions.
    error : float
        Its standard error, corrected for the rows that training sets share.
    p_value : float
        Two-sided.
    """

    mean: float
    error: float
    p_value: float


def compute_t_test(scores: FloatArray, folds: int) -> PairedTest:
    r"""The corrected resampled t-test [Nadeau2003].

    Training sets overlap, so the scores of different folds are not independent, and their variance over J folds
    divided by J is too small. With n₁ training and n₂ test rows,

    .. math:: t = \bar d \Big/ \sqrt{\Big(\frac1J + \frac{n_2}{n_1}\Big) s_d^2}

    follows approximately Student's t-distribution with J - 1 degrees of freedom; for k folds n₂/n₁ = 1/(k - 1).

    Parameters
    ----------
    scores : ndarray of shape (n_scores,)
        Differences between two estimators, one per fold; or scores of one estimator, for their standard error.
    folds : int
        Number of folds of one cross-validation.

    Returns
    -------
    PairedTest
        If all scores are equal, the p-value is 1 if they are zero and 0 otherwise.
    """
    mean = float(scores.mean())
    error = float(np.sqrt((1 / len(scores) + 1 / (folds - 1)) * scores.var(ddof=1)))
    if error == 0.0:
        return PairedTest(mean, error, float(mean == 0.0))
    return PairedTest(mean, error, float(2 * stats.t.sf(abs(mean) / error, len(scores) - 1)))


def adjust_holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for multiple comparisons [Holm1979].

    The i-th smallest of m p-values is multiplied by m - i + 1; the results are kept in order and at most 1.

    Parameters
    ----------
    p_values : sequence of float
        One per comparison.

    Returns
    -------
    list of float
        In the same order.
    """
    adjusted, least = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(np.argsort(p_values, kind="stable").tolist()):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = least
    return adjusted


class EstimatorComparison:
    """A repeated cross-validation of several estimators on one problem.

    Parameters
    ----------
    setups : list of ModelSetup
        The estimators; the others are compared with the first.
    repeats : int
        Number of repetitions, each with its own folds.
    """

    def __init__(self, setups: list[ModelSetup], repeats: int) -> None:
        self.setups = setups
        self.repeats = repeats
        self.folds = setups[0].plan.folds
        self.metric = setups[0].metrics[0]
        self.names = [setup.name for setup in setups]
        self._validations = [CrossValidationRun(setup) for setup in setups]

    @property
    def n_fits(self) -> int:
        """Number of models that :meth:`run` fits."""
        return self.repeats * self.folds * sum(one.n_fits_per_fold for one in self._validations)

    def run(self, observer: FitObserver) -> FloatArray:
        """Fit and score all estimators on all folds.

        Parameters
        ----------
        observer : FitObserver
            Notified of each fitted model and of the mean scores so far.

        Returns
        -------
        ndarray of shape (n_estimators, n_scores)
            Scores on the test rows; a column is one fold, the same for all estimators.
        """
        first = self.setups[0]
        everything = np.arange(first.problem.n_rows)
        scores: list[list[float]] = []
        for repeat in range(self.repeats):
            for train, test in first.split_rows(everything, self.folds, first.plan.seed + repeat):
                models = ((one.setup, one.fit_fold(train, observer)) for one in self._validations)
                scores.append([setup.score_model(model, test) for setup, model in models])
                observer.on_score(" ".join(f"{mean:.4f}" for mean in np.mean(scores, axis=0)))
        return np.array(scores).T


def plan_comparison(
    problem: LearningProblem, names: Sequence[str], settings: Mapping[str, Any], plan: Plan, repeats: int
) -> EstimatorComparison:
    """Prepare a comparison of estimators.

    Parameters
    ----------
    problem : LearningProblem
        Features and target.
    names : sequence of str
        The estimators; ``DEFAULT_ESTIMATORS`` if empty.
    settings : mapping of str to object
        Parameters of all estimators, or with the prefix ``name.`` of one.
    plan : Plan
        The options of each fit; its estimator and settings are ignored.
    repeats : int
        Number of repetitions.

    Returns
    -------
    EstimatorComparison
        Ready to run.
    """
    classes = [find_class(name, problem.task) for name in names or DEFAULT_ESTIMATORS]
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise CommandError(
            "There must be at least two estimators, each named once.", "Repeat --estimator with another name.", USAGE
        )
    own: dict[str, dict[str, Any]] = {name: {} for name in classes}
    for key, value in settings.items():
        owner, dot, name = key.rpartition(".")
        if dot and find_class(owner, problem.task) not in own:
            raise CommandError(f"'{owner}' of --set {key} is not compared.", "Add it as an --estimator.", USAGE)
        for chosen in [find_class(owner, problem.task)] if dot else classes:
            own[chosen][name] = value
    plans = [Plan(name, own[name], plan.folds, plan.seed, plan.jobs, plan.metric) for name in classes]
    return EstimatorComparison([ModelSetup(problem, one) for one in plans], repeats)


def _summarize_scores(comparison: EstimatorComparison, scores: FloatArray) -> list[dict[str, Any]]:
    """Mean and standard error of each estimator, and its difference from the first."""
    tests = [compute_t_test(row - scores[0], comparison.folds) for row in scores[1:]]
    adjusted = adjust_holm([test.p_value for test in tests])
    summary: list[dict[str, Any]] = []
    for k, (setup, row) in enumerate(zip(comparison.setups, scores, strict=True)):
        alone = compute_t_test(row, comparison.folds)
        entry: dict[str, Any] = {
            "estimator": setup.name,
            "parameters": dict(setup.plan.settings),
            "mean": alone.mean,
            "standard_error": alone.error,
            "difference": None,
            "scores": row.tolist(),
        }
        if k:
            test = tests[k - 1]
            entry["difference"] = {
                "mean": test.mean,
                "standard_error": test.error,
                "p_value": test.p_value,
                "p_value_adjusted": adjusted[k - 1],
            }
        summary.append(entry)
    return summary


def write_comparison(comparison: EstimatorComparison, scores: FloatArray) -> str:
    """The results as one JSON document.

    Parameters
    ----------
    comparison : EstimatorComparison
        The estimators.
    scores : ndarray of shape (n_estimators, n_scores)
        From :meth:`EstimatorComparison.run`.

    Returns
    -------
    str
        JSON.
    """
    problem = comparison.setups[0].problem
    document = {
        "table": problem.source,
        "rows": problem.n_rows,
        "target": problem.target,
        "task": problem.task,
        "metric": comparison.metric.name,
        "greater_is_better": comparison.metric.sign > 0,
        "folds": comparison.folds,
        "repeats": comparison.repeats,
        "results": _summarize_scores(comparison, scores),
        "notices": [*problem.notices, *comparison.setups[0].notices],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, default=str)


def show_comparison(console: Console, comparison: EstimatorComparison, scores: FloatArray) -> None:
    """Print the results.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    comparison : EstimatorComparison
        The estimators.
    scores : ndarray of shape (n_estimators, n_scores)
        From :meth:`EstimatorComparison.run`.
    """
    problem, metric = comparison.setups[0].problem, comparison.metric
    better = "higher" if metric.sign > 0 else "lower"
    show_head(console, problem)
    console.print(f"{metric.name} ({better} is better), {comparison.repeats} times {comparison.folds} folds\n")
    table = make_text_table("estimator", ">mean", ">std. error", ">difference", ">p-value")
    for entry in _summarize_scores(comparison, scores):
        cells = [f"{entry['mean']:.4f}", f"{entry['standard_error']:.4f}"]
        difference = entry["difference"]
        cells += (
            ["-", "-"]
            if difference is None
            else [f"{difference['mean']:+.4f}", _write_p(difference["p_value_adjusted"])]
        )
        table.add_row(entry["estimator"], *cells)
    console.print(table)
    several = len(comparison.setups) > 2
    console.print(
        "\nDifference from the first estimator. Standard errors and p-values of the corrected paired t-test "
        "(Nadeau and Bengio 2003)" + (", p-values adjusted for multiple comparisons (Holm 1979)." if several else ".")
    )
    for notice in [*problem.notices, *comparison.setups[0].notices]:
        console.print(f"[yellow]Note:[/] {escape(notice)}")


def _write_p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"
