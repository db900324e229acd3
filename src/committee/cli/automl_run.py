"""The work behind ``committee fit`` without an ``--estimator``: one fit of the committee that tests itself."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from committee.automatic.portfolio import choose_entries
from committee.cli.cross_validation import Study, learn_nothing
from committee.cli.errors import CommandError
from committee.cli.metrics import Metric
from committee.cli.problem import Problem
from committee.cli.results import Comparison, Estimate, Findings, Leaderboard, Standing

__all__ = ["assemble"]

# Blocks of the jackknife that standard errors come from.
_N_BLOCKS = 20
_OWN_GOALS = {"classification": "log-loss", "regression": "root mean squared error"}


def assemble(study: Study) -> Findings:
    """Fit the automatic committee to all rows; its members answer for rows that they have not seen.

    Parameters
    ----------
    study : Study
        Of a committee.

    Returns
    -------
    Findings
        With a leaderboard, and every metric computed from answers by members and weights that have not seen the row.
    """
    started = time.perf_counter()
    model = study.learn(np.arange(study.problem.n_rows), lambda: None)
    seconds = time.perf_counter() - started
    answers = model.oof_decision_function_ if hasattr(model, "classes_") else model.oof_prediction_
    settings = dict(study.plan.settings)
    if model.time_budget is not None:
        settings.setdefault("time_budget", model.time_budget)
    return Findings(
        estimator=study.name,
        params=settings,
        comparisons=_compare(study, model, answers),
        model=model,
        answers=answers,
        notices=study.notices,
        leaderboard=_read_leaderboard(study, model, seconds),
    )


def _read_leaderboard(study: Study, model: Any, seconds: float) -> Leaderboard:
    if model.metric is None:
        name, sign = _OWN_GOALS[study.problem.task], -1
    elif study.metrics[0].library == model.metric:
        name, sign = study.metrics[0].name, study.metrics[0].sign
    else:
        name, sign = str(model.metric), 1
    standings = tuple(
        Standing(row["name"], Estimate(sign * row["score"], row["error"]), row["weight"], row["seconds"])
        for row in model.leaderboard_
    )
    wanted = choose_entries(model.portfolio, model.n_members, study.problem.n_rows)
    fitted = {standing.name for standing in standings}
    return Leaderboard(
        metric=name,
        sign=sign,
        committee=Estimate(sign * model.score_estimate_, model.score_error_),
        standings=standings,
        left_out=tuple(entry.name for entry in wanted if entry.name not in fitted),
        seconds=seconds,
    )


class _Told(BaseEstimator):  # type: ignore[misc]
    """Answers that were given before, as a model whose rows are their numbers."""

    def __init__(self, answers: NDArray[Any] | None = None, classes: NDArray[Any] | None = None) -> None:
        self.answers = answers
        self.classes = classes

    def __sklearn_is_fitted__(self) -> bool:
        return self.answers is not None


class _ToldClasses(ClassifierMixin, _Told):  # type: ignore[misc]
    @property
    def classes_(self) -> Any:
        return self.classes

    def predict_proba(self, rows: NDArray[np.intp]) -> Any:
        assert self.answers is not None
        return self.answers[rows]

    def predict(self, rows: NDArray[np.intp]) -> Any:
        assert self.classes is not None
        return self.classes[self.predict_proba(rows).argmax(axis=1)]


class _ToldValues(RegressorMixin, _Told):  # type: ignore[misc]
    def predict(self, rows: NDArray[np.intp]) -> Any:
        assert self.answers is not None
        return self.answers[rows]


def _compare(study: Study, model: Any, answers: NDArray[Any]) -> dict[str, Comparison]:
    """Every metric of the committee and of a naive guess, on the rows that have an answer."""
    problem = study.problem
    rows = np.flatnonzero(np.isfinite(answers if answers.ndim == 1 else answers[:, 0]))
    blocks = _draw_blocks(problem, rows, study.plan.seed)
    # It looks at no feature and learns no more than one number a class: all rows may teach it.
    naive, blank = learn_nothing(problem, rows), np.zeros((len(answers), 1))
    if answers.ndim == 1:
        told: Any = _ToldValues(answers)
        guess: Any = _ToldValues(naive.predict(blank))
    else:
        told = _ToldClasses(answers, model.classes_)
        guess = _ToldClasses(naive.predict_proba(blank), naive.classes_)
    return {metric.name: _compare_by(metric, problem, told, guess, rows, blocks) for metric in study.metrics}


def _compare_by(
    metric: Metric, problem: Problem, told: Any, guess: Any, rows: NDArray[np.intp], blocks: NDArray[np.intp]
) -> Comparison:
    def score(model: Any, some: NDArray[np.intp]) -> float:
        weights = None if problem.weights is None else problem.weights[some]
        return metric.score(model, some, problem.y[some], weights)

    kept = [rows[blocks != b] for b in range(int(blocks.max()) + 1)]
    scores = np.array([[score(model, some) for model in (told, guess)] for some in (rows, *kept)])
    columns = (scores[:, 0], scores[:, 1], scores[:, 0] - scores[:, 1])
    return Comparison(*(Estimate.of_blocks(float(one[0]), one[1:]) for one in columns))


def _draw_blocks(problem: Problem, rows: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """The block of each row: of every class about as many rows in each, groups whole."""
    rng = np.random.default_rng(seed)
    if problem.groups is not None:
        names, members = np.unique(problem.groups[rows], return_inverse=True)
        return (rng.permutation(len(names)) % _N_BLOCKS)[members]
    if len(rows) < 2:
        raise CommandError("There are too few rows to test anything on.", "Bring more rows.")
    blocks = np.empty(len(rows), dtype=np.intp)
    order = rng.permutation(len(rows))
    if problem.task == "classification":
        order = order[np.argsort(problem.y[rows][order], kind="stable")]
    blocks[order] = np.arange(len(rows)) % min(_N_BLOCKS, len(rows))
    return blocks
