"""The metrics of a search: scorers by name, applied to predictions where these suffice, and to models otherwise."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import accuracy_score, get_scorer, make_scorer

from committee.constraints import show_value
from committee.exceptions import CommitteeError, DataError, ParameterError, ParameterTypeError
from committee.foreign_names import check_scorer
from committee.scoring import KnownPredictions, KnownProbabilities, KnownValues
from committee.scoring.direct import find_class_metric, find_value_metric
from committee.search.growth import find_last_step
from committee.value_checks import accepts_arguments, is_real

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from committee.typing import AnyArray, EstimatorLike, FloatArray

    ScorerFunction: TypeAlias = Callable[..., float]

__all__ = ["SearchMetrics"]

_METRIC_SCORER = type(make_scorer(accuracy_score))
"""Scorers that are made of a metric: they need predictions only, never the rows or the model."""


class SearchMetrics:
    """The metrics of a search, the first or the named one of which decides.

    Parameters
    ----------
    estimator : estimator
        Whose own `score` is used where ``scoring`` is None.
    scoring : str, callable, list, tuple, dict or None
        As in scikit-learn's searches.
    refit : bool, str or callable
        With several metrics, the name of the one that decides.

    Attributes
    ----------
    scorers : dict
        The scorers by name; that of a single metric is "score".
    main : str
        The metric that decides.
    needs_model : bool
        Whether a scorer needs the fitted model and the rows.
    """

    def __init__(self, estimator: EstimatorLike, scoring: Any, refit: Any) -> None:
        self.scorers = _list_scorers(estimator, scoring)
        self.needs_model = not all(isinstance(scorer, _METRIC_SCORER) for scorer in self.scorers.values())
        self.is_multiple = list(self.scorers) != ["score"]
        self._names = _list_names(scoring)
        self.main = "score"
        if self.is_multiple:
            if not isinstance(refit, str) or refit not in self.scorers:
                raise ParameterError(
                    "With several metrics 'refit' must be the name of the one that decides "
                    f"({', '.join(self.scorers)}); got {show_value(refit)}."
                )
            self.main = refit

    @property
    def decisive(self) -> ScorerFunction:
        """The scorer that decides."""
        return self.scorers[self.main]

    def score_all(
        self,
        model: EstimatorLike,
        X: Any,
        y: AnyArray,
        weights: FloatArray | None,
        own: Mapping[str, AnyArray] | None = None,
    ) -> dict[str, float]:
        """Scores of a fitted model, or of known predictions, by every metric.

        Scorers that take further arguments of rows, the queries of a ranking, get them in ``own``.
        """
        return {name: apply_scorer(scorer, model, X, y, weights, own) for name, scorer in self.scorers.items()}

    def score_known(
        self, classes: AnyArray | None, predictions: FloatArray, y: AnyArray, weights: FloatArray | None
    ) -> dict[str, float]:
        """Scores of class probabilities (of values where ``classes`` is None), of shape (n_rows, width).

        They are those of scikit-learn's scorers, to the last bit; common metrics are computed without their checks.
        """
        known = KnownValues(predictions) if classes is None else KnownProbabilities(classes, predictions)
        found: dict[str, float] = {}
        for name, scorer in self.scorers.items():
            score = self._score_directly(self._names.get(name), classes, predictions, y, weights)
            found[name] = apply_scorer(scorer, known, None, y, weights) if score is None else score
        return found

    def _score_directly(
        self,
        metric: str | None,
        classes: AnyArray | None,
        predictions: FloatArray,
        y: AnyArray,
        weights: FloatArray | None,
    ) -> float | None:
        if metric is None or y.ndim != 1:
            return None
        if classes is None:
            of_values = find_value_metric(metric)
            return None if of_values is None else of_values(y.astype(np.float64)[:, None], predictions, weights)
        of_classes = find_class_metric(metric, classes)
        if of_classes is None or predictions.shape[1] != len(classes):
            return None
        labels = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        return of_classes(labels, predictions, weights) if np.array_equal(classes[labels], y) else None


def apply_scorer(
    scorer: ScorerFunction,
    model: EstimatorLike,
    X: Any,
    y: AnyArray,
    weights: FloatArray | None,
    own: Mapping[str, AnyArray] | None = None,
) -> float:
    """One score; weights are passed where rows have them, further arguments where the scorer names them."""
    rows = model.rows if isinstance(model, KnownPredictions) else X
    given: dict[str, Any] = {}
    if own and not isinstance(scorer, _METRIC_SCORER):
        named = inspect.signature(scorer).parameters
        given = {name: value for name, value in own.items() if name in named}
    if weights is not None:
        given["sample_weight"] = weights
    try:
        return _read_score(scorer(model, rows, y, **given))
    except CommitteeError:
        raise
    except (AttributeError, TypeError, ValueError) as error:
        if weights is not None and isinstance(error, TypeError) and "sample_weight" in str(error):
            raise DataError(
                "Rows have weights, and the metric takes none: choose another 'scoring', or fit without sample_weight."
            ) from error
        # What a function of the user raises is theirs.
        if not isinstance(scorer, _METRIC_SCORER):
            raise
        raise DataError(f"The metric cannot score such predictions: {str(error).rstrip('.')}.") from error


def _read_score(found: object) -> float:
    if not is_real(found):
        raise ParameterError(f"A scorer must return a number; it gave {show_value(found)}.")
    return float(cast("float", found))


def _list_scorers(estimator: EstimatorLike, scoring: Any) -> dict[str, ScorerFunction]:
    if scoring is None:
        return {"score": _find_own_scorer(estimator)}
    if isinstance(scoring, str) or callable(scoring):
        return {"score": _read_scorer(scoring)}
    if isinstance(scoring, dict) and scoring and all(isinstance(one, str) or callable(one) for one in scoring.values()):
        return {str(name): _read_scorer(one) for name, one in scoring.items()}
    if isinstance(scoring, list | tuple | set) and scoring and all(isinstance(one, str) for one in scoring):
        return {str(name): _read_scorer(name) for name in scoring}
    raise ParameterError(
        "The 'scoring' parameter must be the name of a scorer, a callable, a list of names, a dict of these or None; "
        f"got {show_value(scoring)}."
    )


def _list_names(scoring: Any) -> dict[str, str]:
    """The names of scikit-learn's scorers by the names of the metrics, where they have one."""
    if isinstance(scoring, str):
        return {"score": scoring}
    if isinstance(scoring, dict):
        return {str(name): one for name, one in scoring.items() if isinstance(one, str)}
    return {str(name): str(name) for name in scoring} if isinstance(scoring, list | tuple | set) else {}


def _read_scorer(scoring: Any) -> ScorerFunction:
    if callable(scoring):
        if not accepts_arguments(scoring, 3):
            raise ParameterTypeError(
                "The 'scoring' parameter must be a function of an estimator, X and y, or the name of a scorer; got "
                f"{show_value(scoring)}, which does not take three arguments."
            )
        found: ScorerFunction = scoring
        return found
    check_scorer(scoring, "scoring", "None, a scorer or ")
    named: ScorerFunction = get_scorer(scoring)
    return named


def _find_own_scorer(estimator: EstimatorLike) -> ScorerFunction:
    """The estimator's `score`: accuracy or R² unless it has one of its own."""
    simple = not isinstance(getattr(find_last_step(estimator)[1], "alpha", 0.0), list | tuple | np.ndarray)
    if is_classifier(estimator):
        return _read_scorer("accuracy")
    if is_regressor(estimator) and simple:
        return _read_scorer("r2")
    return _score_by_model


def _score_by_model(
    model: Any, X: Any, y: AnyArray, sample_weight: FloatArray | None = None, qid: AnyArray | None = None
) -> float:
    given = {"sample_weight": sample_weight, "qid": qid}
    return float(model.score(X, y, **{name: value for name, value in given.items() if value is not None}))
