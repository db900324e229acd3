"""Naive Bayes: on binary features, all of them, and on the one feature that errs least.

Both take features as independent within a class, so that log P(c | x) = log P(c) + Σ_j log P(x_j | c) + const.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError

from committee.base import CommitteeEstimator, resolve_jobs
from committee.constraints import show_value
from committee.data.intake import note_columns, take_in, take_in_rows
from committee.data.targets import encode_classes, read_target
from committee.data.weights import count_as_rows, read_sample_weight
from committee.exceptions import DataError, ParameterError, warn_caller
from committee.params import (
    ArrayLike,
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

    from committee.data import Dataset, Schema
    from committee.typing import BoolArray, FloatArray

__all__ = ["BernoulliNB", "SingleFeatureNB"]

_SMALLEST_ALPHA = 1e-10
_MISSING_BIN = 255
"""The last code of a byte, as in binning.hpp."""
_MISSING_CODE = np.uint32(0xFFFFFFFF)

Smoothing: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, None)] | Annotated[Any, ArrayLike("of one number >= 0 for each feature")],
    "What is added to the weight of each of the two values of a feature in each class (Laplace's smoothing at 1); "
    "0 adds nothing, and a value that never occurred in a class is then impossible there.",
]
ForceAlpha: TypeAlias = Annotated[
    bool,
    "Whether ``alpha`` is taken as it is. False raises it to 1e-10 where it is smaller.",
]
Binarize: TypeAlias = Annotated[
    float | None,
    "Values above it count as present. None: X holds zeros and ones already.",
]
FitPrior: TypeAlias = Annotated[
    bool,
    "Whether the prior of a class is its share of the weight; False: all classes have the same prior.",
]
ClassPrior: TypeAlias = Annotated[
    Annotated[Any, ArrayLike("of one probability for each class")] | None,
    "Priors of the classes, in place of those that the data give.",
]
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


def _encode_known(y: Any, classes: NDArray[Any], n_rows: int, name: str) -> NDArray[np.intp]:
    """Number of each row's class among classes that were given before."""
    target = encode_classes(read_target(y, n_rows, name, multi_output=False), name)
    found = target.classes[0]
    known = {label: k for k, label in enumerate(classes.tolist())}
    strangers = [label for label in found.tolist() if label not in known]
    if strangers:
        raise DataError(f"The target label(s) {strangers} in y do not exist in the initial classes {classes.tolist()}.")
    renumber = np.array([known[label] for label in found.tolist()], dtype=np.intp)
    return renumber[target.labels[:, 0]]


class _BayesAnswers(ClassifierMixin, CommitteeEstimator):  # type: ignore[misc]
    """From the joint log-probability of rows and classes to answers."""

    _schema: Schema
    classes_: NDArray[Any]
    class_log_prior_: FloatArray

    def __sklearn_is_fitted__(self) -> bool:
        return "_schema" in self.__dict__

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )

    def _join(self, rows: Any) -> FloatArray:
        """Joint log-probability of rows that were taken in."""
        raise NotImplementedError

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of P(c) P(x | c), not normalised.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        self._check_fitted()
        return self._join(take_in_rows(self, X, self._schema))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row: the most probable one, the first of equals.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        joint = self.predict_joint_log_proba(X)
        return self.classes_.take(joint.argmax(axis=1))  # type: ignore[no-any-return]

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``. A row that is impossible in every class has the priors.
        """
        joint = self.predict_joint_log_proba(X)
        impossible = np.isneginf(joint).all(axis=1)
        if impossible.any():
            joint[impossible] = self.class_log_prior_
        normalised: FloatArray = joint - logsumexp(joint, axis=1, keepdims=True)
        return normalised

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X))


class BernoulliNB(_BayesAnswers):
    """Naive Bayes for binary features, such as the presence of words.

    With N_c the weight of class c and N_cj the part of it in which feature j is present, smoothed by alpha
    [ManningRaghavanSchuetze2008, ch. 13]:

    θ_cj = (N_cj + α) / (N_c + 2α),
    log P(c, x) = log P(c) + Σ_j x_j log θ_cj + (1 - x_j) log(1 - θ_cj).

    The sum is one product of matrices: Σ_j log(1 - θ_cj) belongs to the class, and only features that are present
    add log θ_cj - log(1 - θ_cj). Results equal scikit-learn's. Weights are counts: unlike in the rest of the library
    a common factor of theirs matters, since alpha is added to them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_count_ : ndarray of shape (n_classes,)
        N_c.
    feature_count_ : ndarray of shape (n_classes, n_features)
        N_cj.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithm of each class's prior.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log θ_cj.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from committee import BernoulliNB
    >>> texts = ["free money now", "meeting at noon", "money for free", "noon meeting now"]
    >>> words = CountVectorizer(binary=True).fit(texts)
    >>> model = BernoulliNB().fit(words.transform(texts), ["spam", "ham", "spam", "ham"])
    >>> model.predict(words.transform(["free meeting money"])).tolist()
    ['spam']
    """

    accepts_missing = False
    accepts_categories = False
    bins_columns = False

    feature_count_: FloatArray
    class_count_: FloatArray
    feature_log_prob_: FloatArray

    def __init__(
        self,
        *,
        alpha: Smoothing = 1.0,
        force_alpha: ForceAlpha = True,
        binarize: Binarize = 0.0,
        fit_prior: FitPrior = True,
        class_prior: ClassPrior = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features; see ``binarize``.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self
        """
        self._validate_params()
        dataset = take_in(self, X, y, task="classify", multi_output=False)
        target: Any = dataset.target
        counts = self._count(dataset.X, target.labels[:, 0].astype(np.intp), target.n_classes[0], sample_weight)
        self._settle(dataset.schema, target.classes[0], *counts)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add the counts of more rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like of shape (n_classes,), optional
            All classes that will ever come; needed by the first call.

        Returns
        -------
        self
        """
        self._validate_params()
        name, first = type(self).__name__, not self.__sklearn_is_fitted__()
        known = self._read_classes(classes, first)
        if first:
            dataset = take_in(self, X, task="none")
            rows, schema = dataset.X, dataset.schema
        else:
            rows, schema = take_in_rows(self, X, self._schema), self._schema
        labels = _encode_known(y, known, rows.shape[0], name)
        counts = self._count(rows, labels, len(known), sample_weight)
        if not first:
            counts = (counts[0] + self.class_count_, counts[1] + self.feature_count_)
        self._settle(schema, known, *counts)
        return self

    def _read_classes(self, classes: Any, first: bool) -> NDArray[Any]:
        if classes is None:
            if first:
                raise DataError("classes must be passed on the first call to partial_fit.")
            return self.classes_
        array = np.asarray(classes)
        name = type(self).__name__
        given = encode_classes(read_target(array, len(array), name, multi_output=False), name).classes[0]
        if not first and not np.array_equal(given, self.classes_):
            raise DataError(
                f"classes={show_value(classes)} is not the same as on last call to partial_fit, was: "
                f"{self.classes_.tolist()}"
            )
        return given

    def _count(
        self, X: Any, labels: NDArray[np.intp], n_classes: int, sample_weight: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Weight of each class, and of each feature in each class."""
        n_rows = X.shape[0]
        weights = np.ones(n_rows) if sample_weight is None else read_sample_weight(sample_weight, n_rows)
        # One row a class, one column a row of X: its product with X sums the rows of each class.
        members = csr_matrix((weights, (labels, np.arange(n_rows))), shape=(n_classes, n_rows))
        present = self._find_present(X)
        in_class = members @ present
        dense = in_class.toarray() if issparse(in_class) else np.asarray(in_class)
        return _sum_cells(labels, weights, n_classes), dense.astype(np.float64, copy=False)

    def _find_present(self, X: Any) -> Any:
        """The table in zeros and ones."""
        if self.binarize is None:
            return X
        threshold = float(self.binarize)
        if not issparse(X):
            return np.greater(X, threshold).astype(np.float64)
        if threshold < 0:
            raise ParameterError(
                f"The 'binarize' parameter of {type(self).__name__} must be >= 0 for a sparse X, whose zeros would all "
                f"be present otherwise; got {self.binarize}."
            )
        present = X.astype(np.float64)
        present.data = (X.data > threshold).astype(np.float64)
        return present

    def _settle(
        self, schema: Schema, classes: NDArray[Any], class_count: FloatArray, feature_count: FloatArray
    ) -> None:
        """From counts to logarithms; nothing is kept if a parameter does not fit the data."""
        alpha = self._resolve_alpha(schema.n_features)
        prior = self._resolve_prior(class_count)
        with np.errstate(divide="ignore"):
            whole = np.log(class_count[:, None] + 2.0 * alpha)
            log_prob = np.log(feature_count + alpha) - whole
        self.__dict__.update(
            classes_=classes,
            class_count_=class_count,
            feature_count_=feature_count,
            class_log_prior_=prior,
            feature_log_prob_=log_prob,
            _schema=schema,
        )
        note_columns(self, schema)

    def _resolve_alpha(self, n_features: int) -> float | FloatArray:
        if isinstance(self.alpha, int | float | np.number):
            alpha = np.asarray(float(self.alpha))
        else:
            alpha = np.asarray(self.alpha, dtype=np.float64)
            if alpha.shape != (n_features,) or not (alpha >= 0).all():
                raise ParameterError(
                    f"The 'alpha' parameter of {type(self).__name__} must be a float >= 0 or one such number for each "
                    f"of the {n_features} features; got {show_value(self.alpha)}."
                )
        if alpha.min() < _SMALLEST_ALPHA and not self.force_alpha:
            warn_caller(
                f"alpha too small will result in numeric errors, setting alpha = {_SMALLEST_ALPHA:.1e}. Use "
                "`force_alpha=True` to keep alpha unchanged.",
                UserWarning,
            )
            alpha = np.maximum(alpha, _SMALLEST_ALPHA)
        return alpha

    def _resolve_prior(self, class_count: FloatArray) -> FloatArray:
        n_classes = len(class_count)
        if self.class_prior is not None:
            prior = np.asarray(self.class_prior, dtype=np.float64)
            if prior.shape != (n_classes,) or not (prior >= 0).all():
                raise ParameterError(
                    f"The 'class_prior' parameter of {type(self).__name__} must be one number >= 0 for each of the "
                    f"{n_classes} classes, or None; got {show_value(self.class_prior)}."
                )
        elif self.fit_prior:
            prior = class_count / class_count.sum()
        else:
            prior = np.full(n_classes, 1.0 / n_classes)
        with np.errstate(divide="ignore"):  # a class that has not come yet is impossible
            return np.log(prior)

    def _join(self, rows: Any) -> FloatArray:
        present = self._find_present(rows)
        log_prob = self.feature_log_prob_
        with np.errstate(divide="ignore"):
            log_absent = np.log(-np.expm1(np.minimum(log_prob, 0.0)))
        never, always = np.isneginf(log_prob), np.isneginf(log_absent)
        finite = np.where(never, 0.0, log_prob), np.where(always, 0.0, log_absent)
        joint = present @ (finite[0] - finite[1]).T + (self.class_log_prior_ + finite[1].sum(axis=1))
        if never.any() or always.any():
            # How often a row has what its class never has, or lacks what it always has.
            broken = present @ (never.astype(np.float64) - always).T + always.sum(axis=1)
            joint[broken > 0] = -np.inf
        result: FloatArray = joint
        return result

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        # Whether a value is above zero says little of most tables.
        tags.classifier_tags.poor_score = True
        return tags


class SingleFeatureNB(_BayesAnswers):
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
        class_count = _sum_cells(labels, counts, target.n_classes[0])
        prior = class_count / class_count.sum() if self.fit_prior else np.full(len(class_count), 1 / len(class_count))
        tables = [
            _sum_cells(codes * len(prior) + labels, counts, n_values * len(prior)).reshape(n_values, -1)
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


def _sum_cells(cells: NDArray[np.intp], weights: FloatArray, n_cells: int) -> FloatArray:
    return np.bincount(cells, weights, n_cells).astype(np.float64, copy=False)


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
