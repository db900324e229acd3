"""Scores of an estimator or of known predictions; larger is better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring

from committee.constraints import show_value
from committee.exceptions import CommitteeError, DataError, ParameterTypeError
from committee.foreign_names import check_scorer
from committee.value_checks import accepts_arguments, is_real

if TYPE_CHECKING:
    from collections.abc import Callable

    from committee.scoring.known_predictions import KnownPredictions
    from committee.typing import AnyArray, EstimatorLike, FloatArray

    Scoring: TypeAlias = str | Callable[..., float] | None
    ScoreFunction: TypeAlias = Callable[[Any, Any], float]

__all__ = ["Scorer", "choose_score"]


class Scorer:
    """A scorer of scikit-learn, checked by name when it is made and resolved when it is first used.

    Parameters
    ----------
    scoring : str, callable or None
        Name of a scorer, a callable ``(estimator, X, y)``, or None for the estimator's own ``score``.
    parameter : str, default="scoring"
        Name of the parameter, for the error message.
    alternatives : str, default="None, a scorer or "
        What else the parameter takes, for the error message.

    Examples
    --------
    >>> from committee.scoring import KnownValues
    >>> known = KnownValues(np.array([1.0, 2.0, 3.0]))
    >>> Scorer("neg_mean_absolute_error").score_known(known, np.array([1.0, 2.0, 6.0]))
    -1.0
    """

    def __init__(
        self, scoring: Scoring, *, parameter: str = "scoring", alternatives: str = "None, a scorer or "
    ) -> None:
        if isinstance(scoring, str):
            check_scorer(scoring, parameter, alternatives)
        elif scoring is not None and not callable(scoring):
            raise ParameterTypeError(
                f"The {parameter!r} parameter must be {alternatives}the name of one; got {show_value(scoring)}."
            )
        elif callable(scoring) and not accepts_arguments(scoring, 3):
            raise ParameterTypeError(
                f"The {parameter!r} parameter must be a function of an estimator, X and y; got {show_value(scoring)}, "
                "which does not take three arguments."
            )
        self.scoring = scoring
        self._resolved: Callable[..., float] | None = None

    def score(self, estimator: EstimatorLike, X: Any, y: AnyArray, sample_weight: FloatArray | None = None) -> float:
        """Score of an estimator's predictions for X."""
        scorer = self._resolve(estimator)
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        try:
            found = scorer(estimator, X, y, **weighted)
            if not is_real(found):
                raise ParameterTypeError(f"A scorer must return a number; it gave {show_value(found)}.")
            return float(found)
        except CommitteeError:
            raise
        except (AttributeError, TypeError, ValueError) as error:
            # What a scorer of the user raises is theirs.
            if not isinstance(self.scoring, str | None):
                raise
            named = "score" if self.scoring is None else f"scorer {self.scoring!r}"
            said = str(error).rstrip(".")
            raise DataError(f"The {named} cannot score such predictions: {said}.") from error

    def score_known(self, known: KnownPredictions, y: AnyArray, sample_weight: FloatArray | None = None) -> float:
        """Score of known predictions for all their rows."""
        return self.score(known, known.rows, y, sample_weight)

    def _resolve(self, estimator: EstimatorLike) -> Callable[..., float]:
        if self._resolved is not None:
            return self._resolved
        try:
            scorer: Callable[..., float] = check_scoring(estimator, scoring=self.scoring)
        except TypeError as error:
            raise ParameterTypeError(f"The predictions cannot be scored: {str(error).rstrip('.')}.") from None
        if self.scoring is not None:  # the estimator's own `score` belongs to that estimator
            self._resolved = scorer
        return scorer


def choose_score(model: EstimatorLike, scoring: Scoring, y: AnyArray, weights: FloatArray | None) -> ScoreFunction:
    """A function of an estimator and its X that scores the predictions against y.

    Parameters
    ----------
    model : estimator
        A classifier is scored by accuracy, a regressor by R², unless ``scoring`` says otherwise.
    scoring : str, callable or None
        As in `Scorer`.
    y : ndarray
        The target.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows in the score.

    Examples
    --------
    >>> from committee import DecisionTreeClassifier
    >>> from committee.scoring import choose_score
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], np.array([0, 1, 1, 0])
    >>> stump = DecisionTreeClassifier(max_depth=1).fit(X, y)
    >>> choose_score(stump, None, y, None)(stump, X)
    0.75
    >>> choose_score(stump, "roc_auc", y, None)(stump, X)
    0.75
    """
    if not is_classifier(model) and y.dtype.kind not in "biuf" and scoring is None:
        raise DataError(f"y must hold numbers to be compared with predictions; its type is {y.dtype}.")
    # The scorers of scikit-learn check the labels in every call, which takes longer than predicting.
    if scoring is None and y.ndim == 1:
        return _make_accuracy(y, weights) if is_classifier(model) else _make_r2(y, weights)
    scorer = Scorer(scoring)
    return lambda estimator, X: scorer.score(estimator, X, y, weights)


def _make_accuracy(y: AnyArray, weights: FloatArray | None) -> ScoreFunction:
    return lambda estimator, X: float(np.average(estimator.predict(X) == y, weights=weights))


def _make_r2(y: AnyArray, weights: FloatArray | None) -> ScoreFunction:
    with np.errstate(over="ignore", invalid="ignore"):
        variance = float(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights))
    if not variance < np.inf:
        raise DataError("R² is of targets whose squares are numbers; scale the target, or choose another 'scoring'.")
    if variance == 0.0:
        raise DataError("R² needs a target that is not constant; choose another 'scoring'.")

    def score(estimator: EstimatorLike, X: Any) -> float:
        predicted = estimator.predict(X)
        with np.errstate(over="ignore"):  # predictions beyond all bounds have the score minus infinity
            return 1.0 - float(np.average((predicted - y) ** 2, weights=weights)) / variance

    return score
