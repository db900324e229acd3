"""Naive Bayes on a single binned feature, the one with the smallest error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from committee.base import resolve_jobs
from committee.data import ClassTarget
from committee.data.checks import note_columns
from committee.data.intake import take_in
from committee.data.opening import opens_table
from committee.data.weights import count_as_rows
from committee.engines.formula import Arithmetic, ConstantTerm, LookupTerm, TakenColumns, find_bin, refuse_formula
from committee.learners.bayes_predictions import BaseNaiveBayes, FitPrior, sum_by_code
from committee.losses import apply_log
from committee.params import (
    CategoricalFeatures,
    ClassWeight,
    Interval,
    MaxBins,
    NJobs,
    TextColumns,
    Unseen,
)

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from committee.data import Dataset
    from committee.engines.formula import FormulaTerm
    from committee.typing import BoolArray, FloatArray, FloatMatrix, SparseMatrix

__all__ = ["SingleFeatureNB"]

_LARGEST_ALPHA = 1e300
"""Products of it with numbers of values are doubles; no larger one smooths more."""
_MISSING_BIN = 255
"""The code of missing values in a column of bytes, as in binning.hpp."""
_MISSING_CODE = np.uint32(0xFFFFFFFF)
CellSmoothing: TypeAlias = Annotated[
    float,
    Interval(0.0, None, closed="neither"),
    "Additive smoothing: what is added to the number of rows of each value in each class; 1 is Laplace smoothing.",
]
FewBins: TypeAlias = Annotated[
    MaxBins,
    "The most bins of a numeric feature, of about equal weight. A feature with no more distinct values than this is "
    "represented exactly.",
]


class SingleFeatureNB(BaseNaiveBayes):
    """Naive Bayes on one feature: the one whose classifier has the smallest weighted error.

    A weak learner for boosting. A numeric feature has at most ``max_bins`` bins of about equal weight as values, a
    categorical one its categories, and missing is one more value where it occurred. With N_c the weight of class c
    and N_cv the weight of its rows with value v of the feature, of V values,

    P(v | c) = (N_cv + α) / (N_c + α V),  P(c | v) ∝ P(c) P(v | c),

    and the prediction is the most probable class. Of all features the one with the smallest weighted training error
    is kept, the first of equals. Bins rather than a normal density, because they fit any density and because the
    error of a feature follows from its table of counts: O(n d) for a fit, on bins that an ensemble's members share.

    Weights are counted in the unit that they share before alpha is added, so that a common factor does not matter.
    Where no value of the feature is known (missing or unknown, and not so in training) the prediction is the prior.

    Attributes
    ----------
    feature_ : int
        The feature that is used.
    error_ : float
        Weighted training error.
    errors_ : ndarray of shape (n_features,)
        The same for every feature.
    thresholds_ : ndarray or None
        Upper ends of the bins of a numeric feature: value x is in bin #{thresholds < x}. None for a categorical one.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithm of each class's prior.
    value_log_prob_ : ndarray of shape (n_classes, n_values)
        log P(v | c) of the feature's bins or categories; the last column is that of missing values (0 if none occurred,
        so that the prediction is the prior).
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

    alpha: CellSmoothing
    max_bins: FewBins
    fit_prior: FitPrior
    class_weight: ClassWeight
    categorical_features: CategoricalFeatures
    unseen: Unseen
    text_columns: TextColumns = "auto"  # pickles of earlier versions lack it
    n_jobs: NJobs

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
        text_columns: TextColumns = "auto",
        n_jobs: NJobs = None,
    ) -> None:
        self._store_params(locals())

    @opens_table
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Find the feature with the smallest error.

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
            text_columns=self.text_columns,
            multi_output=False,
        )
        return self.fit_dataset(dataset)

    def fit_dataset(
        self, dataset: Dataset, weights: FloatArray | None = None, *, seed: int | None = None, tree: int = 0
    ) -> Self:
        """Fit on a data set that was read before; the members of an ensemble share its bins.

        Parameters
        ----------
        dataset : Dataset
            From `committee.data.intake.take_in`, with one output; class weights are part of its weights already.
        weights : ndarray of shape (n_samples,), optional
            Row weights in place of the data set's own.
        seed, tree : int, optional
            As for trees; no random numbers are used here.

        Returns
        -------
        self
        """
        target = dataset.target
        assert isinstance(target, ClassTarget)
        own = dataset.count_weights() if weights is None else count_as_rows(weights)
        counts = np.ones(dataset.n_rows) if own is None else own
        labels = target.labels[:, 0].astype(np.intp)
        class_count = sum_by_code(labels, counts, target.n_classes[0])
        prior = class_count / class_count.sum() if self.fit_prior else np.full(len(class_count), 1 / len(class_count))
        columns, column_of = _group_empty_columns(dataset)
        tables = [
            sum_by_code(codes * len(prior) + labels, counts, n_values * len(prior)).reshape(n_values, -1)
            for codes, n_values in (self._read_codes(dataset, int(j)) for j in columns)
        ]
        log_probs = [self._smooth(table, class_count) for table in tables]
        with np.errstate(divide="ignore"):
            log_prior = apply_log(prior)
        right = [
            table[np.arange(len(table)), (log_prob + log_prior).argmax(axis=1)].sum()
            for table, log_prob in zip(tables, log_probs, strict=True)
        ]
        errors = (1.0 - np.array(right) / class_count.sum())[column_of]
        best = int(errors.argmin())
        self._set_fitted(dataset, counts > 0, log_prior, log_probs[column_of[best]], errors)
        return self

    def _read_codes(self, dataset: Dataset, feature: int) -> tuple[NDArray[np.intp], int]:
        """The number of each row's value, the last one for missing, and how many values there are."""
        binned = dataset.binned(self.max_bins, resolve_jobs(self.n_jobs))
        wide = binned.wide_codes(feature)
        codes, missing = (wide, _MISSING_CODE) if len(wide) else (binned.column(feature), _MISSING_BIN)
        known = codes != missing
        n_values = int(dataset.n_levels[feature]) or (int(codes[known].max()) + 1 if known.any() else 0)
        return np.where(known, codes, n_values).astype(np.intp), n_values + 1

    def _smooth(self, table: FloatArray, class_count: FloatArray) -> FloatArray:
        """Logarithm of P(v | c), of shape (n_values, n_classes); zero for a value that never occurred."""
        occurred = table.sum(axis=1) > 0
        alpha = min(float(self.alpha), _LARGEST_ALPHA)
        log_prob = apply_log(table + alpha) - apply_log(class_count + alpha * occurred.sum())
        log_prob[~occurred] = 0.0
        return np.asarray(log_prob)

    def _set_fitted(
        self, dataset: Dataset, has_weight: BoolArray, log_prior: FloatArray, log_prob: FloatArray, errors: FloatArray
    ) -> None:
        """Replace the fitted attributes at once."""
        target = dataset.target
        assert isinstance(target, ClassTarget)
        best = int(errors.argmin())
        thresholds = None
        if dataset.schema.categories[best] is None:
            column = self._take_column(dataset.X, best)
            codes, _ = self._read_codes(dataset, best)
            thresholds = _find_thresholds(column[has_weight], codes[has_weight], len(log_prob) - 1)
        self._replace_fitted(
            {
                "classes_": target.classes[0],
                "class_log_prior_": log_prior,
                "value_log_prob_": log_prob.T,
                "thresholds_": thresholds,
                "feature_": best,
                "errors_": errors,
                "error_": float(errors[best]),
                "_schema": dataset.schema,
            }
        )
        note_columns(self, dataset.schema)

    def _take_column(self, X: FloatMatrix | SparseMatrix, feature: int) -> FloatArray:
        column = X[:, feature] if isinstance(X, np.ndarray) else X[:, [feature]].toarray()[:, 0]
        return np.asarray(column, dtype=np.float64)

    def _joint_term(self, row: FormulaTerm) -> FormulaTerm:
        if not np.isfinite(self.class_log_prior_).all():
            raise refuse_formula(self, "has classes of probability zero")
        value: FormulaTerm = TakenColumns(row, (self.feature_,))
        code = value if self.thresholds_ is None else find_bin(value, self.thresholds_)
        return Arithmetic("+", ConstantTerm(self.class_log_prior_), LookupTerm(code, self.value_log_prob_.T))

    def _joint_log_proba(self, rows: FloatMatrix | SparseMatrix) -> FloatArray:
        column = self._take_column(rows, self.feature_)
        missing = self.value_log_prob_.shape[1] - 1
        if self.thresholds_ is None:
            values = np.where(np.isnan(column), missing, column).astype(np.intp)
        else:
            values = np.where(np.isnan(column), missing, np.searchsorted(self.thresholds_, column, side="left"))
        with np.errstate(invalid="ignore"):  # the numbers of a file may be infinite
            joint: FloatArray = self.class_log_prior_ + self.value_log_prob_.T[values]
        return joint

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def _group_empty_columns(dataset: Dataset) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Columns that stand for all, and the place of each column's one among them.

    The empty columns of a sparse table are equal, and a very wide one has hardly any others.
    """
    X = dataset.X
    if isinstance(X, np.ndarray):
        every = np.arange(dataset.n_features)
        return every, every
    empty = (np.diff(X.indptr) == 0) & (dataset.n_levels == 0)
    stands = ~empty
    if empty.any():
        stands[int(empty.argmax())] = True
    columns = np.flatnonzero(stands)
    places = np.cumsum(stands) - 1
    return columns, np.where(empty, places[int(empty.argmax())], places)


def _find_thresholds(column: FloatArray, codes: NDArray[np.intp], n_bins: int) -> FloatArray:
    """Upper ends of the bins: the midpoint of the largest value up to a bin and the smallest one above it."""
    known = codes < n_bins
    high = np.full(n_bins, -np.inf)
    low = np.full(n_bins, np.inf)
    np.maximum.at(high, codes[known], column[known])
    np.minimum.at(low, codes[known], column[known])
    highest = np.maximum.accumulate(high)[:-1]
    lowest = np.minimum.accumulate(low[::-1])[::-1][1:]
    middle = 0.5 * highest + 0.5 * lowest
    # The midpoint of neighbouring floats may round up to the larger one, which must stay above; above the last value
    # any threshold will do.
    return np.where((middle < lowest) | np.isposinf(lowest), middle, highest)
