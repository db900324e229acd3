"""Methods of a boosted classifier that follow from its scores alone, after all rounds or after each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from committee.learners.log_probabilities import LogProbabilitiesMixin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["StagedPredictions"]


class StagedPredictions(LogProbabilitiesMixin):
    """The staged methods of a classifier that has scores after each round.

    A subclass has `predict_proba`, the scores after each round (`_staged_scores`), and how scores become the output of
    `decision_function`, probabilities and classes.
    """

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class."""
        raise NotImplementedError

    def _staged_scores(self, X: Any) -> Iterator[FloatArray]:
        """Scores after each round."""
        raise NotImplementedError

    def _decision(self, scores: FloatArray) -> Any:
        """Scores in the form that `decision_function` returns."""
        raise NotImplementedError

    def _proba(self, scores: FloatArray) -> Any:
        """Probabilities of all classes."""
        raise NotImplementedError

    def _decode(self, scores: FloatArray) -> NDArray[Any]:
        """The class with the largest score, the first of equals."""
        raise NotImplementedError

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """`decision_function` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray, as `decision_function` gives it
        """
        return (self._decision(scores) for scores in self._staged_scores(X))

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
        return (self._decode(scores) for scores in self._staged_scores(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """`predict_proba` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
        """
        return (self._proba(scores) for scores in self._staged_scores(X))
