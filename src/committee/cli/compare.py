"""The work behind ``committee compare``: several estimators on the same folds, and whether they differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape
from scipy import stats

from committee.cli.catalog import find_class
from committee.cli.cross_validation import Plan, Study
from committee.cli.errors import USAGE, CommandError
from committee.cli.show import make_table, show_head

if TYPE_CHECKING:
    from rich.console import Console

    from committee.cli.problem import Problem

__all__ = ["Contest", "PairedTest", "adjust_holm", "compare_parts", "plan_contest", "show_results", "write_results"]


#: What is compared if nobody says: one of each family, quick to fit.
USUAL = ("random-forest", "extra-trees", "hist-gradient-boosting", "decision-tree")


@dataclass(frozen=True)
class PairedTest:
    """A mean over the parts of a repeated cross-validation, and how far it may be from zero by chance.

    Parameters
    ----------
    mean : float
        Over all parts.
    error : float
        Its standard error, corrected for the rows that training parts share.
    p_value : float
        Two-sided.
    """

    mean: float
    error: float
    p_value: float


def compare_parts(scores: NDArray[np.float64], folds: int) -> PairedTest:
    r"""The corrected resampled t-test [Nadeau2003].

    Training parts overlap, so that scores of different parts are not independent and their variance over J parts,
    divided by J, is too small. With the share of rows for testing over that for training,

    .. math:: t = \bar d \Big/ \sqrt{\Big(\frac1J + \frac{n_2}{n_1}\Big) s_d^2}

    follows nearly Student's distribution with J - 1 degrees of freedom; for k folds n₂/n₁ = 1/(k - 1).

    Parameters
    ----------
    scores : ndarray of shape (n_parts,)
        Differences between two estimators, one a part; or scores of one, for their standard error.
    folds : int
        Parts of one cross-validation.

    Returns
    -------
    PairedTest
        Without spread, the p-value is 1 if the mean is zero and 0 otherwise.
    """
    mean = float(scores.mean())
    error = float(np.sqrt((1 / len(scores) + 1 / (folds - 1)) * scores.var(ddof=1)))
    if error == 0.0:
        return PairedTest(mean, error, float(mean == 0.0))
    return PairedTest(mean, error, float(2 * stats.t.sf(abs(mean) / error, len(scores) - 1)))


def adjust_holm(p_values: Sequence[float]) -> list[float]:
    """P-values of several comparisons made at once [Holm1979].

    The i-th smallest of m is multiplied by m - i + 1; none becomes smaller than one before it, or larger than 1.

    Parameters
    ----------
    p_values : sequence of float
        One a comparison.

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


class Contest:
    """Several studies of one problem.

    Parameters
    ----------
    studies : list of Study
        The first one is what the others are compared with.
    repeats : int
        Cross-validations, each with folds of its own.
    """

    def __init__(self, studies: list[Study], repeats: int) -> None:
        self.studies = studies
        self.repeats = repeats
        self.folds = studies[0].plan.folds
        self.metric = studies[0].metrics[0]
        self.names = [study.name for study in studies]

    @property
    def n_fits(self) -> int:
        """Models that will be fitted."""
        return self.repeats * self.folds * sum(study.n_fits_a_part for study in self.studies)

    def run(self, advance: Callable[[], None], tell: Callable[[str], None] | None = None) -> NDArray[np.float64]:
        """Fit everything.

        Parameters
        ----------
        advance : callable
            Called after each fitted model.
        tell : callable, optional
            Called with the mean scores so far, in words.

        Returns
        -------
        ndarray of shape (n_studies, n_parts)
            Scores on the rows held out; a column is one part, the same for all.
        """
        first = self.studies[0]
        everything = np.arange(first.problem.n_rows)
        scores: list[list[float]] = []
        for repeat in range(self.repeats):
            for train, test in first.split(everything, self.folds, first.plan.seed + repeat):
                scores.append([study.score(study.learn(train, advance), test) for study in self.studies])
                if tell is not None:
                    tell(" ".join(f"{mean:.4f}" for mean in np.mean(scores, axis=0)))
        return np.array(scores).T


def plan_contest(
    problem: Problem, names: Sequence[str], settings: Mapping[str, Any], plan: Plan, repeats: int
) -> Contest:
    """Prepare to compare estimators.

    Parameters
    ----------
    problem : Problem
        What to learn.
    names : sequence of str
        The estimators; those of ``USUAL`` if there is none.
    settings : mapping of str to object
        Parameters: of all of them, or of the one whose name and a dot go before.
    plan : Plan
        How, for each of them; its estimator and settings do not matter.
    repeats : int
        Cross-validations.

    Returns
    -------
    Contest
        Ready to run.
    """
    classes = [find_class(name, problem.task) for name in names or USUAL]
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
    return Contest([Study(problem, one) for one in plans], repeats)


def _judge(contest: Contest, scores: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Mean and standard error of each estimator, and how it differs from the first."""
    tests = [compare_parts(row - scores[0], contest.folds) for row in scores[1:]]
    adjusted = adjust_holm([test.p_value for test in tests])
    judged: list[dict[str, Any]] = []
    for k, (study, row) in enumerate(zip(contest.studies, scores, strict=True)):
        alone = compare_parts(row, contest.folds)
        entry: dict[str, Any] = {
            "estimator": study.name,
            "parameters": dict(study.plan.settings),
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
        judged.append(entry)
    return judged


def write_results(contest: Contest, scores: NDArray[np.float64]) -> str:
    """What was found as one JSON document.

    Parameters
    ----------
    contest : Contest
        What was compared.
    scores : ndarray of shape (n_studies, n_parts)
        As its run found them.

    Returns
    -------
    str
        JSON.
    """
    problem = contest.studies[0].problem
    document = {
        "table": problem.source,
        "rows": problem.n_rows,
        "target": problem.target,
        "task": problem.task,
        "metric": contest.metric.name,
        "greater_is_better": contest.metric.sign > 0,
        "folds": contest.folds,
        "repeats": contest.repeats,
        "results": _judge(contest, scores),
        "notices": [*problem.notices, *contest.studies[0].notices],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, default=str)


def show_results(console: Console, contest: Contest, scores: NDArray[np.float64]) -> None:
    """Print what was found.

    Parameters
    ----------
    console : rich.console.Console
        Where to.
    contest : Contest
        What was compared.
    scores : ndarray of shape (n_studies, n_parts)
        As its run found them.
    """
    problem, metric = contest.studies[0].problem, contest.metric
    better = "higher" if metric.sign > 0 else "lower"
    show_head(console, problem)
    console.print(f"{metric.name} ({better} is better), {contest.repeats} times {contest.folds} folds\n")
    table = make_table("estimator", ">mean", ">std. error", ">difference", ">p-value")
    for entry in _judge(contest, scores):
        cells = [f"{entry['mean']:.4f}", f"{entry['standard_error']:.4f}"]
        difference = entry["difference"]
        cells += (
            ["-", "-"]
            if difference is None
            else [f"{difference['mean']:+.4f}", _write_p(difference["p_value_adjusted"])]
        )
        table.add_row(entry["estimator"], *cells)
    console.print(table)
    several = len(contest.studies) > 2
    console.print(
        "\nDifference from the first. Standard errors and p-values are those of the corrected paired t-test "
        "(Nadeau and Bengio 2003)" + (", the latter adjusted for several comparisons (Holm 1979)." if several else ".")
    )
    for notice in [*problem.notices, *contest.studies[0].notices]:
        console.print(f"[yellow]Note:[/] {escape(notice)}")


def _write_p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"
