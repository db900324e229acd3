"""The threshold of a binary classifier, tuned on predictions of rows that it did not learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags

from committee.base import CommitteeEstimator, not_fitted_error
from committee.constraints import show_value
from committee.data.folds import plan_folds
from committee.data.rows import select_rows
from committee.data.weights import read_sample_weight
from committee.ensembles.combining.member_predictions import read_oob_predictions
from committee.ensembles.combining.out_of_fold import has_oob_predictions
from committee.exceptions import DataError, ParameterError
from committee.params import Interval
from committee.scoring import KnownClasses
from committee.search.metrics import SearchMetrics, apply_scorer
from committee.search.params import SearchCv, SearchedEstimator, SearchScoring

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from committee.typing import AnyArray, FloatArray

__all__ = ["TunedThreshold"]

ThresholdCount: TypeAlias = Annotated[
    int, Interval(2, None), "The most thresholds that are tried: quantiles of the predicted probabilities."
]


class TunedThreshold(ClassifierMixin, MetaEstimatorMixin, CommitteeEstimator):  # type: ignore[misc]
    """A binary classifier with the threshold that has the best score on rows outside of its training rows.

    The rows are those of folds, as in scikit-learn's `TunedThresholdClassifierCV`, or, with ``cv="oob"``, the
    out-of-bag rows of a bag or forest of this library, which is then fitted only once.

    Attributes
    ----------
    estimator_ : estimator
        Fitted on all rows.
    best_threshold_ : float
        The second class is predicted from this probability on.
    best_score_ : float
        Its score.
    classes_ : ndarray
        The two classes.
    cv_results_ : dict
        ``thresholds`` and ``scores`` of all that were tried.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from committee import RandomForestClassifier
    >>> from committee.search import TunedThreshold
    >>> X, y = make_classification(600, weights=[0.9], random_state=0)
    >>> model = TunedThreshold(RandomForestClassifier(random_state=0), scoring="balanced_accuracy", cv="oob").fit(X, y)
    >>> model.best_threshold_ < 0.5
    True
    """

    def __init__(
        self,
        estimator: SearchedEstimator,
        *,
        scoring: SearchScoring = "balanced_accuracy",
        thresholds: ThresholdCount = 100,
        cv: SearchCv = None,
    ) -> None:
        self._store_params(locals())

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit the classifier and choose the threshold.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to learn from.
        y : array-like of shape (n_samples,)
            Their classes, two of them.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, in fits and in scores.
        groups : array-like of shape (n_samples,), optional
            Groups that folds keep together.

        Returns
        -------
        self
        """
        self._validate_params()
        if not hasattr(self.estimator, "predict_proba"):
            raise ParameterError(
                "TunedThreshold needs a classifier that predicts probabilities ('predict_proba'); got "
                f"{show_value(self.estimator)}."
            )
        labels = np.asarray(y)
        classes = np.unique(labels)
        if len(classes) != 2:
            raise DataError(f"TunedThreshold is for two classes; y has {len(classes)}.")
        weights = None if sample_weight is None else read_sample_weight(sample_weight, len(labels))
        given = {} if weights is None else {"sample_weight": weights}
        model, shares = self._predict_outside(X, labels, weights, groups, given)
        rows = np.flatnonzero(np.isfinite(shares) & (True if weights is None else weights > 0.0))
        metrics = SearchMetrics(self.estimator, self.scoring, True)
        tried = self._list_thresholds(shares[rows])
        own = None if weights is None else weights[rows]
        scores = np.array(
            [
                apply_scorer(
                    metrics.decisive,
                    KnownClasses(classes, classes[(shares[rows] >= threshold).astype(np.intp)]),
                    None,
                    labels[rows],
                    own,
                )
                for threshold in tried
            ]
        )
        best = int(np.argmax(scores))
        self._replace_fitted(
            {
                "estimator_": model,
                "classes_": classes,
                "best_threshold_": float(tried[best]),
                "best_score_": float(scores[best]),
                "cv_results_": {"thresholds": tried, "scores": scores},
            }
        )
        return self

    def _predict_outside(
        self, X: Any, y: AnyArray, weights: FloatArray | None, groups: ArrayLike | None, given: dict[str, Any]
    ) -> tuple[Any, FloatArray]:
        """The fitted classifier, and the probability of the second class of rows outside; NaN where there is none."""
        if isinstance(self.cv, str):
            if not has_oob_predictions(self.estimator):
                raise ParameterError(
                    "cv='oob' of TunedThreshold needs a bag or a forest of this library that leaves rows out; "
                    f"got {type(self.estimator).__name__}. Set 'cv' to a number of folds."
                )
            model: Any = clone(self.estimator)
            if not getattr(model, "oob_score", False):
                model.set_params(oob_score=True)
            model.fit(X, y, **given)
            return model, read_oob_predictions(model, len(y))[:, 1]
        shares = np.full(len(y), np.nan)
        for train, test in plan_folds(self.cv, X, y, groups, True, weights):
            fold = clone(self.estimator)
            own = {name: value[train] for name, value in given.items()}
            fold.fit(select_rows(X, train), y[train], **own)
            shares[test] = fold.predict_proba(select_rows(X, test))[:, 1]
        return clone(self.estimator).fit(X, y, **given), shares

    def _list_thresholds(self, shares: FloatArray) -> FloatArray:
        """Probabilities half-way between neighbouring ones, or quantiles of these, and one half."""
        distinct = np.unique(shares)
        between = (distinct[1:] + distinct[:-1]) / 2.0
        if len(between) > self.thresholds:
            between = np.quantile(between, np.linspace(0.0, 1.0, self.thresholds), method="nearest")
        # The usual threshold comes first: another one must be better.
        return np.concatenate([[0.5], between[between != 0.5]])

    def _get_fitted(self) -> Any:
        if "estimator_" not in self.__dict__:
            raise not_fitted_error(self)
        return self.estimator_

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities, which the threshold does not change."""
        found: FloatArray = self._get_fitted().predict_proba(X)
        return found

    def predict(self, X: Any) -> AnyArray:
        """The second class where its probability reaches the threshold, the first elsewhere."""
        shares = self.predict_proba(X)[:, 1]
        found: AnyArray = self.classes_[(shares >= self.best_threshold_).astype(np.intp)]
        return found

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self._get_fitted().n_features_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in self.__dict__

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags
