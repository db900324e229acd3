"""`predict_log_proba` of classifiers."""

from __future__ import annotations

from typing import Any, Protocol

from committee.losses import apply_log

__all__ = ["LogProbabilitiesMixin"]


class _HasProbabilities(Protocol):
    """A classifier, as `LogProbabilitiesMixin` needs it."""

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class."""


class LogProbabilitiesMixin:
    """The logarithms of what `predict_proba` returns."""

    def predict_log_proba(self: _HasProbabilities, X: Any) -> Any:
        """Logarithm of `predict_proba`; minus infinity where a class is impossible.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict, as `predict_proba` takes them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of such arrays
            As `predict_proba`.
        """
        found = self.predict_proba(X)
        return [apply_log(output) for output in found] if isinstance(found, list) else apply_log(found)
