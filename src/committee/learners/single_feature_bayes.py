"""Naive Bayes on the one feature, in bins, that errs least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from scipy.sparse import issparse

from committee.base import resolve_jobs
from committee.data.intake import note_columns, take_in
from committee.data.weights import count_as_rows
from committee.learners.bayes_predictions import BayesAnswers, FitPrior, sum_cells
from committee.params import (
    CategoricalFeatures,
    ClassWeight,
    Interval,
    MaxBins,
    NJobs,
    Unseen,
)

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from committee.data import Dataset
    from committee.typing import BoolArray, FloatArray

__all__ = ["SingleFeatureNB"]

_MISSING_BIN = 255
"""The last code of a byte, as in binning.hpp."""
_MISSING_CODE = np.uint32(0xFFFFFFFF)
CellSmoothing: TypeAlias = Annotated[
    float,
    Interval(0.0, None, closed="neither"),
    "What is added to the number of rows in each cell of the table of values and classes; 1 is Laplace's smoothing.",
]
FewBins: TypeAlias = Annotated[
    MaxBins,
    "The most bins of a numeric feature, of about equal weight. A feature with no more distinct values than this is "
    "represented exactly.",
]


class SingleFeatureNB(BayesAnswers):
    """Naive Bayes on one feature: the one whose classifier has the smallest weighted error.

    A weak learner for boosting. A numeric feature is cut into at most ``max_bins`` bins of about equal weight, a
    category has its levels, and missing is one more value where it occurred. With N_c the weight of class c and
    N_cv the part of it with value v of the feature, of V values,

    P(v | c) = (N_cv + α) / (N_c + α V),  P(c | v) ∝ P(c) P(v | c),

    and the answer is the most probable class. Of all features the one with the least weight of wrong answers in
    training is kept, the first of equals. Bins rather than a normal density, because they follow any density and
    because the error of a feature is then read off its table of counts: O(n d) a fit, on bins that an ensemble's
    members share.

    Weights are scaled to sum to the number of rows before alpha is added (whole multiples of the smallest weight
    count as repeated rows), so that a common factor does not matter. Where no value of the feature is known (missing
    or unseen, and not so in training) the answer is the prior.

    Attributes
    ----------
    feature_ : int
        The feature that is asked about.
    error_ : float
        Weighted share of wrong answers in training.
    errors_ : ndarray of shape (n_features,)
        The same for every feature.
    thresholds_ : ndarray or None
        Where the bins of a numeric feature end: value x is in bin #{thresholds < x}. None for a category.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithm of each class's prior.
    value_log_prob_ : ndarray of shape (n_classes, n_values)
        log P(v | c) of the feature's bins or levels; the last column is that of missing values (0 if none occurred,
        which makes the answer the prior).
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import SingleFeatureNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SingleFeatureNB().fit(X, y)
    >>> model.feature_, round(model.score(X, y), 2)
    (3, 0.96)
    """

    feature_: int
    thresholds_: FloatArray | None
    value_log_prob_: FloatArray

    def __init__(
        self,
        *,
        alpha: CellSmoothing = 1.0,
        max_bins: FewBins = 16,
        fit_prior: FitPrior = True,
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        n_jobs: NJobs = None,
    ) -> None:
        self.alpha = alpha
        self.max_bins = max_bins
        self.fit_prior = fit_prior
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.unseen = unseen
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the feature and its table.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent.

        Returns
        -------
        self
        """
        self._validate_params()
        dataset = take_in(
            self,
            X,
            y,
            sample_weight,
            task="classify",
            class_weight=self.class_weight,
            categorical_features=self.categorical_features,
            unseen=self.unseen,
            multi_output=False,
        )
        return self.fit_dataset(dataset)

    def fit_dataset(
        self, dataset: Dataset, weights: FloatArray | None = None, *, seed: int | None = None, tree: int = 0
    ) -> Self:
        """Fit on data that were taken in before; ensembles share one data set, and its bins, so.

        Parameters
        ----------
        dataset : Dataset
            From `committee.data.intake.take_in`, with one output; class weights are in its weights already.
        weights : ndarray of shape (n_samples,), optional
            Row weights in place of the data set's own.
        seed, tree : int, optional
            As for trees; nothing is drawn here.

        Returns
        -------
        self
        """
        target: Any = dataset.target
        weights = dataset.weights if weights is None else weights
        counts = np.ones(dataset.n_rows) if weights is None else count_as_rows(weights)
        labels = target.labels[:, 0].astype(np.intp)
        class_count = sum_cells(labels, counts, target.n_classes[0])
        prior = class_count / class_count.sum() if self.fit_prior else np.full(len(class_count), 1 / len(class_count))
        tables = [
            sum_cells(codes * len(prior) + labels, counts, n_values * len(prior)).reshape(n_values, -1)
            for codes, n_values in (self._read_codes(dataset, j) for j in range(dataset.n_features))
        ]
        log_probs = [self._smooth(table, class_count) for table in tables]
        with np.errstate(divide="ignore"):
            log_prior = np.log(prior)
        right = [
            table[np.arange(len(table)), (log_prob + log_prior).argmax(axis=1)].sum()
            for table, log_prob in zip(tables, log_probs, strict=True)
        ]
        errors = 1.0 - np.array(right) / class_count.sum()
        best = int(errors.argmin())
        self._keep(dataset, counts > 0, log_prior, log_probs[best], errors)
        return self

    def _read_codes(self, dataset: Dataset, feature: int) -> tuple[NDArray[np.intp], int]:
        """The number of each row's value, the last one for missing, and how many values there are."""
        binned = dataset.binned(self.max_bins, resolve_jobs(self.n_jobs))
        wide = binned.wide_codes(feature)
        codes, missing = (wide, _MISSING_CODE) if len(wide) else (binned.columns[feature], _MISSING_BIN)
        known = codes != missing
        n_values = int(dataset.n_levels[feature]) or (int(codes[known].max()) + 1 if known.any() else 0)
        return np.where(known, codes, n_values).astype(np.intp), n_values + 1

    def _smooth(self, table: FloatArray, class_count: FloatArray) -> FloatArray:
        """Logarithm of P(v | c), of shape (n_values, n_classes); a value that never came says nothing."""
        seen = table.sum(axis=1) > 0
        alpha = float(self.alpha)
        log_prob = np.log(table + alpha) - np.log(class_count + alpha * seen.sum())
        log_prob[~seen] = 0.0
        return log_prob  # type: ignore[no-any-return]

    def _keep(
        self, dataset: Dataset, counted: BoolArray, log_prior: FloatArray, log_prob: FloatArray, errors: FloatArray
    ) -> None:
        """The fitted state, all at once."""
        target: Any = dataset.target
        best = int(errors.argmin())
        thresholds = None
        if dataset.schema.categories[best] is None:
            column = self._take_column(dataset.X, best)
            codes, _ = self._read_codes(dataset, best)
            thresholds = _find_thresholds(column[counted], codes[counted], len(log_prob) - 1)
        self.__dict__.update(
            classes_=target.classes[0],
            class_log_prior_=log_prior,
            value_log_prob_=log_prob.T,
            thresholds_=thresholds,
            feature_=best,
            errors_=errors,
            error_=float(errors[best]),
            _schema=dataset.schema,
        )
        note_columns(self, dataset.schema)

    def _take_column(self, X: Any, feature: int) -> FloatArray:
        column = X[:, [feature]].toarray()[:, 0] if issparse(X) else X[:, feature]
        return np.asarray(column, dtype=np.float64)

    def _join(self, rows: Any) -> FloatArray:
        column = self._take_column(rows, self.feature_)
        missing = self.value_log_prob_.shape[1] - 1
        if self.thresholds_ is None:
            values = np.where(np.isnan(column), missing, column).astype(np.intp)
        else:
            values = np.where(np.isnan(column), missing, np.searchsorted(self.thresholds_, column, side="left"))
        joint: FloatArray = self.class_log_prior_ + self.value_log_prob_.T[values]
        return joint

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def _find_thresholds(column: FloatArray, codes: NDArray[np.intp], n_bins: int) -> FloatArray:
    """Ends of the bins: the middle between the largest value up to a bin and the smallest one beyond it."""
    known = codes < n_bins
    high = np.full(n_bins, -np.inf)
    low = np.full(n_bins, np.inf)
    np.maximum.at(high, codes[known], column[known])
    np.minimum.at(low, codes[known], column[known])
    highest = np.maximum.accumulate(high)[:-1]
    lowest = np.minimum.accumulate(low[::-1])[::-1][1:]
    middle = 0.5 * highest + 0.5 * lowest
    # The middle of neighbouring floats may round up to the larger one, which must stay beyond; beyond the last value
    # there is nothing to tell apart.
    return np.where((middle < lowest) | np.isposinf(lowest), middle, highest)
