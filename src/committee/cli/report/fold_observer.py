"""Measure the models of a cross-validation on their test rows: scores by members and rows, permutation importance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.errors import CommandError
from committee.cli.fit_observer import FitObserver
from committee.cli.metrics import ScoringMetric, choose_metrics
from committee.cli.report.model_queries import find_trees, predict_stages, shuffle_columns
from committee.cli.report.row_curve import RowCurve, RowCurveMeter, RowScore, fit_smaller_committees
from committee.inspection.importance import permutation_importance
from committee.typing import FloatArray

if TYPE_CHECKING:
    from committee.cli.model_setup import RowIndices
    from committee.cli.plan import Plan
    from committee.cli.problem import LearningProblem
    from committee.cli.results import Leaderboard

__all__ = ["FoldObserver", "StageCurve", "measure_brier", "score_brier"]

# Rows of each fold for staged scores and permutations; more would not change what is visible.
_STAGED_ROWS = 500
_SHUFFLED_ROWS = 1000
_SHUFFLES = 2
# Repetitions for a model that was fitted once, without folds.
_FULL_MODEL_REPEATS = 3
# Rows in one call of predict for models that do not consist of our trees, over all shuffled columns.
_BATCH_ROWS = 20_000
_FEWEST_ROWS = 20


def measure_brier(probabilities: FloatArray, occurred: NDArray[Any]) -> float:
    """The Brier score; a row whose class has no column had probability zero for it.

    Two classes: the mean squared error of the probability of one of them. More classes: the sum over the classes, as in
    scikit-learn's `brier_score_loss`.
    """
    unknown = 1.0 - occurred.sum(axis=1)
    total = float((((probabilities - occurred) ** 2).sum(axis=1) + unknown).mean())
    return total / 2.0 if probabilities.shape[1] == 2 else total


def score_brier(model: Any, X: Any, y: Any) -> float:
    """The negative Brier score; a class that is unknown to the model has probability zero."""
    return -measure_brier(model.predict_proba(X), y[:, None] == model.classes_[None, :])


def _make_automl_curve(points: tuple[RowScore, ...], board: Leaderboard) -> RowCurve | None:
    """Scores in the direction of the metric."""
    if len(points) < 2:
        return None
    how = (
        "Committees of the models with weight were fitted to random parts of the rows; each point is the nested "
        "out-of-fold score on the rows of its part."
    )
    signed = tuple(RowScore(one.n_rows, board.sign * one.score, one.error) for one in points)
    before, last = signed[-2:]
    return RowCurve(signed, board.metric, how, (last.score - before.score, float(np.hypot(before.error, last.error))))


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
    shuffled_rows: str = field(init=False, default="on held-out rows")
    _row_meter: RowCurveMeter = field(init=False)
    _row_curve: RowCurve | None = field(init=False, default=None)
    _stages: list[tuple[list[int], list[float]]] = field(init=False, default_factory=list)
    _n_measured: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        problem = self.problem
        metrics = choose_metrics(self.plan.metric, problem.task, problem.levels, weighted=problem.weights is not None)
        self.metric = metrics[0]
        # Shuffled predictions are known without a model.
        self.shuffle_metric = next((metric for metric in metrics if not metric.needs_model), metrics[0])
        self._row_meter = RowCurveMeter(self.problem, self.metric, self.plan.seed)

    def _choose_shuffle_metric(self, model: Any) -> None:
        """The requested metric, else the Brier score, which is more sensitive than the accuracy."""
        if self.plan.metric is None and hasattr(model, "predict_proba"):
            self.shuffle_metric = ScoringMetric("Brier score", -1, score_brier, "brier")

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
        self._row_meter.measure(model, test)
        self._n_measured += 1

    def measure_full_model(self, model: Any, board: Leaderboard | None = None) -> None:
        """Measure the model of all rows, if there were no folds.

        An AutoML ensemble is fitted again to parts of the rows; the largest part leaves rows to shuffle columns on.

        Parameters
        ----------
        model : estimator
            Fitted on all rows.
        board : Leaderboard, optional
            Of an AutoML ensemble.
        """
        if self._n_measured:
            return
        rows = np.arange(self.problem.n_rows)
        self.shuffled_rows = "on training rows (the model was fitted once, on all)"
        if board is not None:
            points, part, rest = fit_smaller_committees(self.problem, model, board.seconds, self.plan.seed)
            self._row_curve = _make_automl_curve(points, board)
            if part is not None:
                model, rows = part, rest
                n_fitted = self.problem.n_rows - len(rest)
                self.shuffled_rows = f"on rows that a committee fitted to the other {n_fitted:,} rows has not seen"
        for _ in range(_FULL_MODEL_REPEATS):
            self._measure_shuffles(model, rows)
            self._n_measured += 1

    def average_importances(self) -> dict[str, float] | None:
        """Mean permutation importance of each feature so far; None if there is none."""
        if not self.shuffles:
            return None
        means = np.concatenate(self.shuffles, axis=1).mean(axis=1).tolist()
        return dict(zip(self.problem.features.column_names, means, strict=True))

    def make_row_curve(self) -> RowCurve | None:
        """Scores by number of training rows; None if they could not be measured."""
        return self._row_curve if self._row_curve is not None else self._row_meter.make_curve()

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
