"""The order of the levels of an ordinal target: by the user's list, by an ordered category, or sorted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.dataset import ClassTarget
from committee.ensembles.boosting.ordinal_link import choose_levels
from committee.ensembles.boosting.ordinal_loss import BoundOrdinalLoss
from committee.ensembles.boosting.scorer import BoostingScorer
from committee.exceptions import DataError, ParameterError
from committee.scoring import KnownProbabilities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.data.dataset import ValueTarget
    from committee.ensembles.boosting.booster import Booster
    from committee.ensembles.boosting.objective import BoostingLoss
    from committee.params import BoostingScoring
    from committee.typing import FloatArray

__all__ = ["OrdinalScorer", "order_levels", "read_category_order"]


def read_category_order(y: Any) -> list[Any] | None:
    """The levels of an ordered category of pandas or an Enum of Polars; None for any other target.

    Examples
    --------
    >>> import pandas as pd
    >>> read_category_order(pd.Categorical(["low", "high"], ["low", "mid", "high"], ordered=True))
    ['low', 'mid', 'high']
    """
    dtype = getattr(y, "dtype", None)
    categories = getattr(dtype, "categories", None)
    if categories is None or not (getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum"):
        return None
    return list(categories.tolist() if hasattr(categories, "tolist") else categories)


def order_levels(dataset: Dataset, levels: Any) -> Dataset:
    """The data set with the classes in the order of the levels; some of these may have no row.

    Parameters
    ----------
    dataset : Dataset
        With one class target.
    levels : array-like
        All levels, the lowest first.
    """
    target, listed = dataset.target, list(levels.tolist() if hasattr(levels, "tolist") else levels)
    assert isinstance(target, ClassTarget)
    try:
        places = {level: k for k, level in enumerate(listed)}
    except TypeError:
        raise ParameterError(f"'levels' must list classes, the lowest first; got {listed!r}.") from None
    if len(places) < max(2, len(listed)):
        raise ParameterError(f"'levels' must list at least two different classes, each once; got {listed!r}.")
    classes = target.classes[0]
    unknown = [label for label in classes.tolist() if label not in places]
    if unknown:
        raise DataError(
            f"y has the class {unknown[0]!r}, which is not among the levels {listed!r}. Ensembles pass the numbers of "
            "the sorted classes to their members: encode the levels as ascending numbers there, without 'levels'."
        )
    numbers = np.array([places[label] for label in classes.tolist()], dtype=np.uint32)
    ordered: NDArray[Any] = np.array(listed, dtype=object if classes.dtype == object else None)
    if ordered.dtype.kind in "iufb" and classes.dtype.kind in "iufb":
        ordered = ordered.astype(np.result_type(ordered, classes) if ordered.dtype.kind == "f" else classes.dtype)
    labels = np.ascontiguousarray(numbers[target.labels])
    return replace(dataset, target=replace(target, labels=labels, classes=[ordered]))


class OrdinalScorer(BoostingScorer):
    """Scores with the probabilities that the thresholds of the training rows give.

    Parameters
    ----------
    scoring, loss, parameter
        As for `BoostingScorer`.
    predicted_by : {"probability", "absolute_error", "squared_error"}
        How levels are predicted.
    """

    def __init__(
        self, scoring: BoostingScoring, loss: BoostingLoss, parameter: str = "scoring", predicted_by: str = ""
    ) -> None:
        super().__init__(scoring, loss, parameter)
        self._by = predicted_by

    def score_others(
        self,
        booster: Booster,
        target: ClassTarget | ValueTarget,
        scores: FloatArray,
        weights: FloatArray | None,
    ) -> float:
        """Score of rows that a model in training has given scores, of shape (n_rows, n_scores)."""
        if self.is_loss:
            return super().score_others(booster, target, scores, weights)
        bound: object = booster.objective.bound
        assert isinstance(target, ClassTarget)
        assert isinstance(bound, BoundOrdinalLoss)
        shares = bound.make_link(np.asarray(booster.state.scores)).find_probabilities(scores)
        classes = target.classes[0]
        chosen = classes.take(choose_levels(shares, self._by))
        # Metrics of probabilities read their columns in the order of the sorted classes.
        order = np.argsort(classes, kind="stable")
        known = KnownProbabilities(classes[order], shares[:, order], chosen)
        return self._scorer.score_known(known, classes.take(target.labels[:, 0]), weights)
