"""Measure the models of a cross-validation on their test rows: staged scores and permutation importance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.errors import CommandError
from committee.cli.fit_observer import FitObserver
from committee.cli.metrics import ScoringMetric, choose_metrics
from committee.cli.report.model_queries import find_trees, predict_stages, shuffle_columns
from committee.inspection.importance import permutation_importance
from committee.typing import FloatArray

if TYPE_CHECKING:
    from committee.cli.model_setup import Plan, RowIndices
    from committee.cli.problem import LearningProblem

__all__ = ["FoldObserver", "StageCurve"]

# Rows of each fold for staged scores and permutations; more would not change what is visible.
_STAGED_ROWS = 500
_SHUFFLED_ROWS = 1000
_SHUFFLES = 2
# Repetitions for a model that was fitted once, without folds.
_FULL_MODEL_REPEATS = 3
# Rows in one call of predict for models that do not consist of our trees, over all shuffled columns.
_BATCH_ROWS = 20_000
_FEWEST_ROWS = 20


def _score_brier(model: Any, X: Any, y: Any) -> float:
    """The negative Brier score; a class that is unknown to the model has probability zero."""
    probabilities = model.predict_proba(X)
    hit = y[:, None] == model.classes_[None, :]
    return -float(((probabilities - hit) ** 2).sum(axis=1).mean() + 1.0 - hit.any(axis=1).mean())


@dataclass(frozen=True)
class StageCurve:
    """Test scores by number of members.

    Parameters
    ----------
    numbers : ndarray of int of shape (n_stages,)
        Numbers of members.
    scores : ndarray of shape (n_folds, n_stages)
        The scores of each fold.
    """

    numbers: NDArray[np.intp]
    scores: FloatArray


@dataclass
class FoldObserver(FitObserver):
    """Measures the model of each fold while it is in memory.

    Parameters
    ----------
    problem : LearningProblem
        Features and target.
    plan : Plan
        The options of the fit.
    """

    problem: LearningProblem
    plan: Plan
    metric: ScoringMetric = field(init=False)
    shuffle_metric: ScoringMetric = field(init=False)
    shuffles: list[FloatArray] = field(init=False, default_factory=list)
    why_no_shuffles: str = field(init=False, default="")
    held_out: bool = field(init=False, default=True)
    _stages: list[tuple[list[int], list[float]]] = field(init=False, default_factory=list)
    _n_measured: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.metric = self.shuffle_metric = choose_metrics(self.plan.metric, self.problem.task)[0]

    def _choose_shuffle_metric(self, model: Any) -> None:
        """The requested metric, else the Brier score, which is more sensitive than the accuracy."""
        if self.plan.metric is None and hasattr(model, "predict_proba"):
            self.shuffle_metric = ScoringMetric("Brier score", -1, _score_brier, "brier")

    def on_fold_end(self, model: Any, test: RowIndices) -> None:
        """Measure the model of a fold on its test rows.

        Parameters
        ----------
        model : estimator
            Fitted without the rows of the fold.
        test : ndarray of int
            Indices of these rows.
        """
        self._measure_stages(model, test)
        self._measure_shuffles(model, test)
        self._n_measured += 1

    def measure_full_model(self, model: Any) -> None:
        """Measure the model of all rows, if there were no folds.

        Parameters
        ----------
        model : estimator
            Fitted on all rows.
        """
        if self._n_measured == 0:
            self.held_out = False
            for _ in range(_FULL_MODEL_REPEATS):
                self._measure_shuffles(model, np.arange(self.problem.n_rows))
                self._n_measured += 1

    def make_curve(self) -> StageCurve | None:
        """Test scores by number of members; after early stopping the last score is repeated."""
        if not self._stages:
            return None
        numbers = np.unique(np.concatenate([np.asarray(own, dtype=np.intp) for own, _ in self._stages]))
        scores = [np.asarray(scores)[np.searchsorted(own, numbers, side="right") - 1] for own, scores in self._stages]
        return StageCurve(numbers, np.array(scores))

    def _sample(self, test: RowIndices, most: int) -> RowIndices:
        if len(test) <= most:
            return test
        rng = np.random.default_rng([self.plan.seed, self._n_measured])
        return np.sort(rng.choice(test, most, replace=False))

    def _measure_stages(self, model: Any, test: RowIndices) -> None:
        rows = self._sample(test, _STAGED_ROWS)
        y = self.problem.y[rows]
        try:
            stages = [
                (number, self.metric.score(known, known.rows, y))
                for number, known in predict_stages(model, self.problem.features.take(rows))
            ]
        except CommandError:
            return  # the metric is not defined for these rows, but may be for those of other folds
        if stages:
            self._stages.append(([number for number, _ in stages], [score for _, score in stages]))

    def _measure_shuffles(self, model: Any, test: RowIndices) -> None:
        if self.why_no_shuffles:
            return
        n_features, trees = len(self.problem.columns), find_trees(model) is not None
        most = _SHUFFLED_ROWS if trees else _BATCH_ROWS // (n_features + 1)
        if most < _FEWEST_ROWS:
            self.why_no_shuffles = f"shuffling each of {n_features:,} columns would take too long"
            return
        self._choose_shuffle_metric(model)
        rows = self._sample(test, min(most, _SHUFFLED_ROWS))
        try:
            self.shuffles.append(self._shuffle(model, rows, trees))
        except (CommandError, ValueError) as error:
            self.why_no_shuffles = f"{self.shuffle_metric.name} could not be computed on a sample of rows ({error})"
            self.shuffles.clear()

    def _shuffle(self, model: Any, rows: RowIndices, trees: bool) -> FloatArray:
        """Loss of score by each permutation, of shape (n_features, n_shuffles)."""
        table, y, seed = self.problem.features.take(rows), self.problem.y[rows], self.plan.seed + self._n_measured
        if trees:
            return permutation_importance(
                model,
                table,
                y,
                scoring=self.shuffle_metric.scorer,
                n_repeats=_SHUFFLES,
                random_state=seed,
                n_jobs=self.plan.jobs,
            ).importances
        metric = self.shuffle_metric
        scores = [metric.sign * metric.score(known, known.rows, y) for known in shuffle_columns(model, table, seed)]
        return scores[0] - np.array(scores[1:])[:, None]
