"""Predictions from the scores of boosted trees: mixins for classes with their probabilities, and for values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.metrics import d2_pinball_score

from committee.base import ClassifierScoreMixin, RegressorScoreMixin, available_if
from committee.data.device_tables import is_on_device, put_beside
from committee.ensembles.boosting.joined_loss import choose_labels, split_probabilities
from committee.ensembles.staged_predictions import StagedPredictions
from committee.foreign_names import answer_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from committee.engines import Trees
    from committee.ensembles.boosting.objective import BoostingLoss
    from committee.typing import FloatArray, Task

__all__ = ["BoostedClassifierMixin", "BoostedRegressorMixin"]


def _has_one_target(model: Any) -> bool:
    return not isinstance(getattr(model, "classes_", None), list)


class _ScoreMixin:
    """What the mixins need of the `BaseBoosting` that they are mixed into."""

    _task: ClassVar[Task]
    _loss: BoostingLoss

    if TYPE_CHECKING:

        def fitted_trees(self) -> Trees: ...
        def _raw_predict(self, X: Any) -> FloatArray: ...
        def _predict_means(self, X: Any, two_classes: bool = False) -> FloatArray: ...
        def _scores_by_round(self, X: Any) -> Iterator[FloatArray]: ...


class BoostedClassifierMixin(ClassifierScoreMixin, MultiOutputMixin, _ScoreMixin, StagedPredictions):  # type: ignore[misc]
    """Classes by one score, if there are two of them, or by one score each; of one target or of several."""

    _task: ClassVar[Task] = "classify"

    classes_: Any
    n_classes_: Any

    def _staged_scores(self, X: Any) -> Iterator[FloatArray]:
        return self._scores_by_round(X)

    def _has_several(self) -> bool:
        return isinstance(self.classes_, list)

    def _decision(self, scores: FloatArray) -> Any:
        return _flatten(scores)

    def _proba(self, scores: FloatArray) -> Any:
        means = self._loss.find_means(scores)
        if self._has_several():
            return split_probabilities(means, self.n_classes_)
        return np.concatenate((1.0 - means, means), axis=1) if self.n_classes_ == 2 else means

    def _decode(self, scores: FloatArray) -> NDArray[Any]:
        if self._has_several():
            labels = choose_labels(scores, self.n_classes_)
            return np.stack([own.take(labels[:, k]) for k, own in enumerate(self.classes_)], axis=1)
        best = (scores[:, 0] > 0.0).astype(np.intp) if self.n_classes_ == 2 else scores.argmax(axis=1)
        classes = put_beside(self.classes_) if is_on_device(scores) else self.classes_
        chosen: NDArray[Any] = classes.take(best)
        return chosen

    @available_if(_has_one_target)
    def decision_function(self, X: Any) -> FloatArray:
        """Scores: the log-odds of the second class, or one score for each of several classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Models of several targets have probabilities only, as forests.
        """
        return _flatten(self._raw_predict(X))

    @available_if(_has_one_target)
    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """`decision_function` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray, as `decision_function` gives it
        """
        return super().staged_decision_function(X)

    @answer_arguments
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``. With several targets a list of such arrays.
        """
        self.fitted_trees()
        if self._has_several():
            return split_probabilities(self._predict_means(X), self.n_classes_)
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
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._decode(self._raw_predict(X))

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class BoostedRegressorMixin(RegressorScoreMixin, MultiOutputMixin, _ScoreMixin):  # type: ignore[misc]
    """Values, one score for each output."""

    _task: ClassVar[Task] = "regress"

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

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
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
        self.fitted_trees()
        if not self._loss.levels:
            return float(super().score(X, y, sample_weight))
        quantiles = zip(self._loss.levels, self._predict_means(X).T, strict=True)
        scores = [d2_pinball_score(y, q, sample_weight=sample_weight, alpha=level) for level, q in quantiles]
        return float(np.mean(scores))

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
        return (_flatten(self._loss.find_means(scores)) for scores in self._scores_by_round(X))


def _flatten(scores: FloatArray) -> FloatArray:
    return scores[:, 0] if scores.shape[1] == 1 else scores
