"""What survival models share: their event times, their curves and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.survival_targets import SurvivalTarget
from committee.exceptions import DataError
from committee.losses import apply_exp
from committee.scoring.survival import concordance_index

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.utils import Tags

    from committee.data import Dataset
    from committee.typing import FloatArray

__all__ = ["SurvivalMixin", "count_events", "find_event_times", "read_curve_times", "require_survival"]


def require_survival(dataset: Dataset) -> SurvivalTarget:
    """The target of a data set of censored times."""
    assert isinstance(dataset.target, SurvivalTarget)
    return dataset.target


def count_events(dataset: Dataset, estimator_name: str) -> tuple[FloatArray, FloatArray]:
    """The distinct times of observed events among rows of positive weight, ascending, and the events at each.

    Parameters
    ----------
    dataset : Dataset
        With a survival target.
    estimator_name : str
        For the sentence, if there is no event.
    """
    return find_event_times(require_survival(dataset), dataset.count_weights(), estimator_name)


def find_event_times(
    target: SurvivalTarget, weights: FloatArray | None, estimator_name: str
) -> tuple[FloatArray, FloatArray]:
    """The same of a target and the weights of its rows.

    Parameters
    ----------
    target : SurvivalTarget
        Of all rows.
    weights : ndarray of shape (n_rows,) or None
        As how many rows each row counts.
    estimator_name : str
        For the sentence, if there is no event.
    """
    happened = target.event if weights is None else target.event & (weights > 0.0)
    times, index = np.unique(target.time[happened], return_inverse=True)
    if len(times) == 0:
        raise DataError(f"All rows of y are censored; {estimator_name} needs at least one observed event.")
    counts = np.bincount(index, weights=None if weights is None else weights[happened]).astype(np.float64)
    return times, counts


def read_curve_times(times: ArrayLike | None, known: FloatArray) -> FloatArray:
    """The times at which a curve is asked for: some, or all event times.

    Parameters
    ----------
    times : array-like of shape (n_times,) or None
        As the user gave them.
    known : ndarray of shape (n_event_times,)
        The event times of the model.
    """
    if times is None:
        return known
    at = np.asarray(times, dtype=np.float64)
    if at.ndim != 1 or len(at) == 0 or not np.isfinite(at).all() or (np.diff(at) < 0.0).any():
        raise DataError("times must be a list of finite numbers in ascending order.")
    return at


class SurvivalMixin:
    """The target, the curves and the score of a survival model, which finds hazards and survival at given times."""

    event_times_: FloatArray

    def _find_hazards(self, X: Any, times: ArrayLike | None) -> FloatArray:
        raise NotImplementedError

    def _find_survival(self, X: Any, times: ArrayLike | None) -> FloatArray:
        return apply_exp(-self._find_hazards(X, times))

    def predict_survival_function(self, X: Any, times: ArrayLike | None = None) -> FloatArray:
        """Probability of each row to survive some times.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        times : array-like of shape (n_times,), optional
            Times in ascending order; ``event_times_`` by default.

        Returns
        -------
        ndarray of shape (n_samples, n_times)
        """
        return self._find_survival(X, times)

    def predict_cumulative_hazard_function(self, X: Any, times: ArrayLike | None = None) -> FloatArray:
        """Cumulative hazard of each row at some times.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        times : array-like of shape (n_times,), optional
            Times in ascending order; ``event_times_`` by default.

        Returns
        -------
        ndarray of shape (n_samples, n_times)
        """
        return self._find_hazards(X, times)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Harrell's concordance of the predicted risks, see `committee.scoring.concordance_index`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        y : structured array, or frame or array of two columns (event, time), of shape (n_samples,)
            Their survival target.
        sample_weight : array-like of shape (n_samples,), optional
            A pair counts as often as the product of its weights.

        Returns
        -------
        float
        """
        model: Any = self
        return concordance_index(y, model.predict(X), sample_weight)

    def __sklearn_tags__(self) -> Tags:
        parent: Any = super()
        tags: Tags = parent.__sklearn_tags__()
        # A plain y is times, which are not negative.
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags
