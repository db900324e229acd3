"""How the scores of boosted trees become answers: classes with their probabilities, or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.metrics import d2_pinball_score

from committee.data.dataset import ValueTarget
from committee.ensembles.boosting.base import BaseBoosting
from committee.ensembles.staged_predictions import StagedPredictions
from committee.exceptions import DataError, ParameterError
from committee.foreign_names import answer_arguments
from committee.losses import LossFunction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from committee.data import ClassTarget, Dataset
    from committee.typing import FloatArray

__all__ = ["BoostedClasses", "BoostedValues"]


class BoostedClasses(ClassifierMixin, StagedPredictions, BaseBoosting):  # type: ignore[misc]
    """One score for two classes, one for each of more."""

    _task = "classify"
    _many_outputs = False

    classes_: NDArray[Any]
    n_classes_: int

    def _target_attributes(self, target: ClassTarget) -> dict[str, Any]:
        return {"classes_": target.classes[0], "n_classes_": target.n_classes[0], "n_outputs_": 1}

    def _stage(self, X: Any) -> Iterator[FloatArray]:
        return self._stage_scores(X)

    def _show(self, scores: FloatArray) -> FloatArray:
        return _flatten(scores)

    def _share(self, scores: FloatArray) -> FloatArray:
        means: FloatArray = self._loss.find_means(scores)
        return np.concatenate((1.0 - means, means), axis=1) if self.n_classes_ == 2 else means

    def _choose(self, scores: FloatArray) -> NDArray[Any]:
        best = (scores[:, 0] > 0.0).astype(np.intp) if self.n_classes_ == 2 else scores.argmax(axis=1)
        return self.classes_.take(best)

    def decision_function(self, X: Any) -> FloatArray:
        """Scores: the log of the odds of the second class, or one score for each of several classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._show(self._raw_predict(X))

    @answer_arguments
    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        self._fitted_trees()
        return self._predict_means(X, two_classes=self.n_classes_ == 2)

    @answer_arguments
    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row: the most probable one, the first of equals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._choose(self._raw_predict(X))


class BoostedValues(RegressorMixin, MultiOutputMixin, BaseBoosting):  # type: ignore[misc]
    """One score for each output."""

    _task = "regress"
    _many_outputs = True

    def _target_attributes(self, target: ValueTarget) -> dict[str, Any]:
        return {"n_outputs_": target.n_outputs}

    def _name_loss(self, name: str, parameter: Any, dataset: Dataset) -> LossFunction:
        """The loss of that name, whose target must lie where it is defined."""
        target = dataset.target
        assert isinstance(target, ValueTarget)
        if isinstance(parameter, Sequence | np.ndarray):
            return self._name_quantiles(name, parameter, target)
        values = target.values if dataset.weights is None else target.values[dataset.weights > 0.0]
        if name in ("poisson", "tweedie") and ((values < 0.0).any() or not (values.sum(axis=0) > 0.0).all()):
            raise DataError(f"loss='{name}' requires non-negative y and sum(y) > 0.")
        if name == "gamma" and (values <= 0.0).any():
            raise DataError("loss='gamma' requires strictly positive y.")
        if name == "huber" and target.n_outputs > 1:
            raise DataError("loss='huber' takes one output; where it turns linear would differ between several.")
        return LossFunction(name, nan if parameter is None else float(parameter), target.n_outputs)

    def _name_quantiles(self, name: str, given: Any, target: ValueTarget) -> LossFunction:
        """Several levels of one target, learnt together."""
        levels = tuple(float(level) for level in given)
        if name != "quantile":
            raise ParameterError(f"Several levels go with loss='quantile' only; got loss={name!r}.")
        if not levels or list(levels) != sorted(set(levels)) or not 0.0 < levels[0] <= levels[-1] < 1.0:
            raise ParameterError(f"Levels of quantiles must lie between 0 and 1 and ascend; got {list(levels)}.")
        if target.n_outputs > 1:
            raise DataError(f"Several levels of quantiles are of one output; y has {target.n_outputs}.")
        return LossFunction(name, nan, len(levels), levels)

    @answer_arguments
    def predict(self, X: Any) -> FloatArray:
        """Value of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            With several levels of quantiles a column for each, in ascending order.
        """
        return _flatten(self._predict_means(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions; with several levels of quantiles the mean of their D², R² with the pinball loss.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their true values.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.

        Returns
        -------
        float
        """
        self._fitted_trees()
        if not self._loss.levels:
            return float(super().score(X, y, sample_weight))
        of_each = zip(self._loss.levels, self._predict_means(X).T, strict=True)
        shares = [d2_pinball_score(y, q, sample_weight=sample_weight, alpha=level) for level, q in of_each]
        return float(np.mean(shares))

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Values after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray, as `predict` gives it
        """
        return (_flatten(self._loss.find_means(scores)) for scores in self._stage_scores(X))


def _flatten(scores: FloatArray) -> FloatArray:
    return scores[:, 0] if scores.shape[1] == 1 else scores
