"""The work behind ``committee fit -e``: cross-validate an estimator, then fit it to all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from committee.cli.depth_search import DepthSearch
from committee.cli.fit_observer import FitObserver
from committee.cli.model_setup import INNER_FOLDS, ModelSetup, RowIndices, fit_baseline
from committee.cli.problem import LearningProblem
from committee.cli.results import Comparison, DepthCandidate, FitResults, describe_texts

__all__ = ["CrossValidationRun", "rank_importances"]

# Classes (None for values) and predictions of the model of one fold.
_FoldPredictions: TypeAlias = tuple[NDArray[Any] | None, NDArray[Any]]


class _TargetScores:
    """Scores and predictions of the models of the folds, for one target."""

    def __init__(self, setup: ModelSetup) -> None:
        self.setup = setup
        self._scores: dict[str, tuple[list[float], list[float]]] = {one.name: ([], []) for one in setup.metrics}
        self._parts: list[tuple[RowIndices, _FoldPredictions]] = []

    def add_fold(self, model: Any, rows: Any, train: RowIndices, test: RowIndices) -> None:
        """Score the model of a fold, and a naive guess, on its test rows."""
        setup, y = self.setup, self.setup.problem.y[test]
        baseline = fit_baseline(setup.problem, train)
        for metric in setup.metrics:
            weights = setup.take_weights(test)
            self._scores[metric.name][0].append(metric.score(model, rows, y, weights))
            self._scores[metric.name][1].append(metric.score(baseline, np.zeros((len(test), 1)), y, weights))
        self._parts.append((test, _predict_fold(model, rows)))

    @property
    def mean(self) -> float:
        """Mean over the folds of the first metric."""
        return float(np.mean(self._scores[self.setup.metrics[0].name][0]))

    def summarize(
        self, model: Any, params: dict[str, Any], candidates: tuple[DepthCandidate, ...], notices: tuple[str, ...]
    ) -> FitResults:
        """The results, with the model of all rows."""
        setup, problem = self.setup, self.setup.problem
        return FitResults(
            estimator=setup.name,
            params=dict(setup.plan.settings) | params,
            comparisons={name: Comparison.of_folds(tuple(m), tuple(b)) for name, (m, b) in self._scores.items()},
            model=model,
            predictions=_join_folds(self._parts, problem.n_rows),
            notices=notices,
            candidates=candidates,
            importances=rank_importances(model, problem),
            n_leaves=int(model.get_n_leaves()) if hasattr(model, "get_n_leaves") else None,
            depth=int(model.get_depth()) if hasattr(model, "get_depth") else None,
        )


class CrossValidationRun:
    """The cross-validation of one estimator on one problem, or on those of several targets that are fitted together.

    Parameters
    ----------
    setup : ModelSetup
        The estimator and the problem.
    *others : ModelSetup
        Those of the other targets.
    """

    def __init__(self, setup: ModelSetup, *others: ModelSetup) -> None:
        self.setup = setup
        self._setups = (setup, *others)
        self._search = DepthSearch(setup, *others)

    @property
    def n_fits(self) -> int:
        """Number of models that :meth:`run` fits."""
        folds = self.setup.plan.folds
        return folds * self.n_fits_per_fold + self._search.count_fits(folds) + 1

    @property
    def n_fits_per_fold(self) -> int:
        """Number of models that :meth:`fit_fold` fits."""
        return self._search.count_fits(INNER_FOLDS) + 1

    def run(self, observer: FitObserver | None = None) -> FitResults:
        """Score the estimator on each fold, then fit it to all rows.

        Parameters
        ----------
        observer : FitObserver, optional
            Notified of fitted models and scored folds.

        Returns
        -------
        FitResults
            Scores, the chosen size and the importances.
        """
        observer = observer or FitObserver()
        (found,) = self.run_targets(observer, [observer])
        return found

    def run_targets(self, observer: FitObserver, of_targets: Sequence[FitObserver]) -> list[FitResults]:
        """Do what :meth:`run` does for each target, with models that are fitted to all of them.

        Parameters
        ----------
        observer : FitObserver
            Notified of fitted models and scores.
        of_targets : sequence of FitObserver
            One for each target, notified of scored folds; models are those of its target.

        Returns
        -------
        list of FitResults
            One for each target; the models are views of one model if there are several.
        """
        setup, found = self.setup, [_TargetScores(one) for one in self._setups]
        everything = np.arange(setup.problem.n_rows)
        for train, test in setup.split_rows(everything, setup.plan.folds, setup.plan.seed):
            params, _ = self._search.run(train, INNER_FOLDS, observer)
            model, rows = setup.fit_model(train, observer, params), setup.take_rows(test)
            for one, own in zip(found, of_targets, strict=True):
                view = one.setup.view_model(model)
                one.add_fold(view, rows, train, test)
                own.on_fold_end(view, test)
            observer.on_score(f"{setup.metrics[0].name} {np.mean([one.mean for one in found]):.4f}")
        params, candidates = self._search.run(everything, setup.plan.folds, observer)
        model = setup.fit_model(everything, observer, params)
        texts = describe_texts(model)
        return [
            one.summarize(one.setup.view_model(model), params, candidates, (*one.setup.notices, *texts))
            for one in found
        ]

    def fit_fold(self, train: RowIndices, observer: FitObserver) -> Any:
        """Choose the size of the model inside the training rows, and fit it to them.

        Parameters
        ----------
        train : ndarray of int
            Indices of the training rows.
        observer : FitObserver
            Notified of each fitted model.

        Returns
        -------
        estimator
            Fitted.
        """
        params, _ = self._search.run(train, INNER_FOLDS, observer)
        return self.setup.fit_model(train, observer, params)


def rank_importances(model: Any, problem: LearningProblem) -> dict[str, float]:
    """Feature importances of a model, the most important first.

    Parameters
    ----------
    model : estimator
        Fitted.
    problem : LearningProblem
        What it was fitted on.

    Returns
    -------
    dict of str to float
        Empty if the model has no ``feature_importances_``.
    """
    values = getattr(model, "feature_importances_", ())
    ranked = sorted(zip(problem.features.column_names, map(float, values), strict=False), key=lambda item: -item[1])
    return dict(ranked)


def _predict_fold(model: Any, rows: pa.Table) -> _FoldPredictions:
    if hasattr(model, "predict_proba"):
        return model.classes_, model.predict_proba(rows)
    return None, model.predict(rows)


def _join_folds(parts: list[tuple[RowIndices, _FoldPredictions]], n_rows: int) -> NDArray[Any]:
    """Predictions for all rows; a class that is not in a fold's training rows has probability zero there."""
    if parts[0][1][0] is None:
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        return np.concatenate([predicted for _, (_, predicted) in parts])[order]
    every = np.unique(np.concatenate([classes for _, (classes, _) in parts if classes is not None]))
    probabilities = np.zeros((n_rows, len(every)))
    for rows, (classes, predicted) in parts:
        assert classes is not None
        probabilities[np.ix_(rows, np.searchsorted(every, classes))] = predicted
    return probabilities
