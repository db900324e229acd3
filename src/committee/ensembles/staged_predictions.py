"""Answers of a boosted classifier that follow from its scores alone, after all rounds or each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["StagedPredictions"]


class StagedPredictions:
    """A subclass has `predict_proba`, scores after each round, and what becomes of scores."""

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class."""
        raise NotImplementedError

    def _stage(self, X: Any) -> Iterator[FloatArray]:
        """Scores after each round."""
        raise NotImplementedError

    def _show(self, scores: FloatArray) -> FloatArray:
        """Scores as `decision_function` tells them."""
        raise NotImplementedError

    def _share(self, scores: FloatArray) -> FloatArray:
        """Probabilities of all classes."""
        raise NotImplementedError

    def _choose(self, scores: FloatArray) -> NDArray[Any]:
        """The class with the largest score, the first of equals."""
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

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
        return (self._show(scores) for scores in self._stage(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        return (self._choose(scores) for scores in self._stage(X))

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """`predict_proba` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
        """
        return (self._share(scores) for scores in self._stage(X))
