"""Who watches a cross-validation: how each model does on rows that it has not seen, member by member and shuffled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.errors import CommandError
from committee.cli.metrics import Metric, choose_metrics
from committee.cli.report.model_queries import answer_stages, find_trees, shuffle_columns
from committee.inspection.importance import permutation_importance
from committee.typing import FloatArray

if TYPE_CHECKING:
    from committee.cli.cross_validation import Plan, Rows
    from committee.cli.problem import Problem

__all__ = ["Curve", "Witness"]

# Rows of each fold that curves and shuffles are measured on; more would sharpen nothing that can be seen.
_STAGED_ROWS = 500
_SHUFFLED_ROWS = 1000
_SHUFFLES = 2
# Of a model that was fitted once, where no folds tell how much the shuffles matter.
_WHOLE_SHUFFLES = 3
# Rows that a model which is not made of our trees is asked about at a time, shared by all shuffled columns.
_ASKED_ROWS = 20_000
_FEWEST_ROWS = 20


def _score_squares(model: Any, rows: Any, y: Any) -> float:
    """Minus the squared error of all probabilities; a class that the model does not know counts in full."""
    shares = model.predict_proba(rows)
    hit = y[:, None] == model.classes_[None, :]
    return -float(((shares - hit) ** 2).sum(axis=1).mean() + 1.0 - hit.any(axis=1).mean())


@dataclass(frozen=True)
class Curve:
    """A score after so many members, on rows that were held out.

    Parameters
    ----------
    numbers : ndarray of int of shape (n_stages,)
        Members.
    scores : ndarray of shape (n_folds, n_stages)
        The score of each fold.
    """

    numbers: NDArray[np.intp]
    scores: FloatArray


@dataclass
class Witness:
    """What became known of the models of the folds while they were there.

    Parameters
    ----------
    problem : Problem
        What they learn.
    plan : Plan
        How; its metric is what they are judged by.
    """

    problem: Problem
    plan: Plan
    metric: Metric = field(init=False)
    judge: Metric = field(init=False)
    shuffles: list[FloatArray] = field(init=False, default_factory=list)
    why_no_shuffles: str = field(init=False, default="")
    held_out: bool = field(init=False, default=True)
    _stages: list[tuple[list[int], list[float]]] = field(init=False, default_factory=list)
    _n_heard: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.metric = self.judge = choose_metrics(self.plan.metric, self.problem.task)[0]

    def _choose_judge(self, model: Any) -> None:
        """Shares tell of a feature long before the likeliest class changes; who asked for a metric gets it."""
        if self.plan.metric is None and hasattr(model, "predict_proba"):
            self.judge = Metric("Brier score", -1, _score_squares, "brier")

    def __call__(self, model: Any, test: Rows) -> None:
        """Hear the model of a fold.

        Parameters
        ----------
        model : estimator
            Fitted without the rows of the fold.
        test : ndarray of int
            These rows.
        """
        self._hear_stages(model, test)
        self._hear_shuffles(model, test)
        self._n_heard += 1

    def hear_whole(self, model: Any) -> None:
        """Hear the model of all rows, where there were no folds.

        Parameters
        ----------
        model : estimator
            Fitted on all rows.
        """
        if self._n_heard == 0:
            self.held_out = False
            for _ in range(_WHOLE_SHUFFLES):
                self._hear_shuffles(model, np.arange(self.problem.n_rows))
                self._n_heard += 1

    def draw_curve(self) -> Curve | None:
        """The scores after so many members; a committee that stopped early stays as it was."""
        if not self._stages:
            return None
        numbers = np.unique(np.concatenate([np.asarray(told, dtype=np.intp) for told, _ in self._stages]))
        scores = [np.asarray(scores)[np.searchsorted(told, numbers, side="right") - 1] for told, scores in self._stages]
        return Curve(numbers, np.array(scores))

    def _draw(self, test: Rows, most: int) -> Rows:
        if len(test) <= most:
            return test
        rng = np.random.default_rng([self.plan.seed, self._n_heard])
        return np.sort(rng.choice(test, most, replace=False))

    def _hear_stages(self, model: Any, test: Rows) -> None:
        rows = self._draw(test, _STAGED_ROWS)
        y, places = self.problem.y[rows], np.arange(len(rows))
        try:
            told = [
                (number, self.metric.score(replies, places, y))
                for number, replies in answer_stages(model, self.problem.features.take(rows))
            ]
        except CommandError:
            return  # these rows do not define the metric; those of other folds may
        if told:
            self._stages.append(([number for number, _ in told], [score for _, score in told]))

    def _hear_shuffles(self, model: Any, test: Rows) -> None:
        if self.why_no_shuffles:
            return
        n_features, trees = len(self.problem.columns), find_trees(model) is not None
        most = _SHUFFLED_ROWS if trees else _ASKED_ROWS // (n_features + 1)
        if most < _FEWEST_ROWS:
            self.why_no_shuffles = f"shuffling each of {n_features:,} columns would take too long"
            return
        self._choose_judge(model)
        rows = self._draw(test, min(most, _SHUFFLED_ROWS))
        try:
            self.shuffles.append(self._shuffle(model, rows, trees))
        except (CommandError, ValueError) as error:
            self.why_no_shuffles = f"{self.judge.name} could not be computed on a sample of rows ({error})"
            self.shuffles.clear()

    def _shuffle(self, model: Any, rows: Rows, trees: bool) -> FloatArray:
        """What the score loses by each shuffle, of shape (n_features, n_shuffles)."""
        table, y, seed = self.problem.features.take(rows), self.problem.y[rows], self.plan.seed + self._n_heard
        if trees:
            return permutation_importance(
                model,
                table,
                y,
                scoring=self.judge.scorer,
                n_repeats=_SHUFFLES,
                random_state=seed,
                n_jobs=self.plan.jobs,
            ).importances
        places, judge = np.arange(len(rows)), self.judge
        scores = [judge.sign * judge.score(told, places, y) for told in shuffle_columns(model, table, seed)]
        return scores[0] - np.array(scores[1:])[:, None]
