"""Naive Bayes on binary features.

Features are taken as independent within a class, so that log P(c | x) = log P(c) + Σ_j log P(x_j | c) + const.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, issparse

from committee.constraints import show_value
from committee.data import ClassTarget
from committee.data.checks import note_columns
from committee.data.intake import take_in, take_in_rows
from committee.data.opening import opens_table
from committee.data.targets import encode_classes, read_target
from committee.data.weights import read_sample_weight
from committee.engines.formula import Arithmetic, ConstantTerm, LinearTerm, refuse_formula
from committee.engines.row_products import multiply_rows
from committee.exceptions import DataError, ParameterError, warn_caller
from committee.learners.bayes_predictions import BaseNaiveBayes, ClassPrior, FitPrior, encode_known, sum_by_code
from committee.losses import apply_expm1, apply_log
from committee.params import ArrayLike, Interval
from committee.value_checks import read_doubles

if TYPE_CHECKING:
    from typing import Self

    import numpy.typing as npt
    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from committee.data import Schema
    from committee.engines.formula import FormulaTerm
    from committee.typing import FloatArray, FloatMatrix, SparseMatrix

__all__ = ["BernoulliNB"]


_SMALLEST_ALPHA = 1e-10
_LARGEST_ALPHA = 1e300  # twice that is a double still

Smoothing: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, None)] | Annotated[Any, ArrayLike("of one number >= 0 for each feature")],
    "Additive smoothing: what is added to the weight of each of the two values of a feature in each class (Laplace "
    "smoothing at 1). With 0, a value that never occurred in a class is impossible there.",
]
ForceAlpha: TypeAlias = Annotated[
    bool,
    "Whether ``alpha`` is taken as it is. False raises it to 1e-10 where it is smaller.",
]
Binarize: TypeAlias = Annotated[
    float | None,
    "Threshold above which a value counts as present. None: X consists of zeros and ones already.",
]


class BernoulliNB(BaseNaiveBayes):
    """Naive Bayes for binary features, such as the presence of words.

    With N_c the weight of class c and N_cj the weight of its rows in which feature j is present, smoothed by alpha
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

    alpha: Smoothing
    force_alpha: ForceAlpha
    binarize: Binarize
    fit_prior: FitPrior
    class_prior: ClassPrior

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
        self._store_params(locals())

    @opens_table
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Count the features in each class.

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
        target = dataset.target
        assert isinstance(target, ClassTarget)
        counts = self._count(dataset.X, target.labels[:, 0].astype(np.intp), target.n_classes[0], sample_weight)
        self._set_fitted(dataset.schema, target.classes[0], *counts)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Add the counts of more rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like of shape (n_classes,), optional
            All classes of this and later calls; needed by the first call.

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
        labels = encode_known(y, known, rows.shape[0], name)
        counts = self._count(rows, labels, len(known), sample_weight)
        if not first:
            counts = (counts[0] + self.class_count_, counts[1] + self.feature_count_)
        self._set_fitted(schema, known, *counts)
        return self

    def _read_classes(self, classes: npt.ArrayLike | None, first: bool) -> NDArray[Any]:
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
        self, X: Any, labels: NDArray[np.intp], n_classes: int, sample_weight: npt.ArrayLike | None
    ) -> tuple[FloatArray, FloatArray]:
        """Weight of each class, and of each feature in each class."""
        n_rows = X.shape[0]
        weights = np.ones(n_rows) if sample_weight is None else read_sample_weight(sample_weight, n_rows)
        # One row a class, one column a row of X: its product with X sums the rows of each class.
        members = csr_matrix((weights, (labels, np.arange(n_rows))), shape=(n_classes, n_rows))
        present = self._find_present(X)
        in_class = members @ present
        dense = in_class.toarray() if issparse(in_class) else np.asarray(in_class)
        return sum_by_code(labels, weights, n_classes), dense.astype(np.float64, copy=False)

    def _find_present(self, X: Any) -> Any:
        """The table as zeros and ones."""
        if self.binarize is None:
            values = X.data if issparse(X) else X
            if values.size and not 0.0 <= values.min() <= values.max() <= 1.0:
                raise DataError(
                    f"With binarize=None, {type(self).__name__} takes a table of zeros and ones, and X holds "
                    f"{show_value(values.min())} to {show_value(values.max())}. Set 'binarize' to the threshold above "
                    "which a feature is present."
                )
            return X
        threshold = float(self.binarize)
        if not issparse(X):
            return np.greater(np.asarray(X, dtype=np.float64), threshold).astype(np.float64)
        if threshold < 0:
            raise ParameterError(
                f"The 'binarize' parameter of {type(self).__name__} must be >= 0 for a sparse X, whose zeros would all "
                f"be present otherwise; got {self.binarize}."
            )
        present = X.astype(np.float64)
        present.data = (present.data > threshold).astype(np.float64)
        return present

    def _set_fitted(
        self, schema: Schema, classes: NDArray[Any], class_count: FloatArray, feature_count: FloatArray
    ) -> None:
        """Replace the fitted attributes at once, after the parameters were checked against the data."""
        alpha = self._resolve_alpha(schema.n_features)
        prior = self._resolve_prior(class_count)
        with np.errstate(divide="ignore"):
            whole = apply_log(class_count[:, None] + 2.0 * alpha)
            # Nothing is known of a class without rows, unless it is smoothed: it has none of the features.
            log_prob = apply_log(feature_count + alpha) - np.where(np.isneginf(whole), 0.0, whole)
        self._replace_fitted(
            {
                "classes_": classes,
                "class_count_": class_count,
                "feature_count_": feature_count,
                "class_log_prior_": prior,
                "feature_log_prob_": log_prob,
                "_schema": schema,
            }
        )
        note_columns(self, schema)

    def _resolve_alpha(self, n_features: int) -> float | FloatArray:
        if isinstance(self.alpha, int | float | np.number):
            alpha = np.asarray(float(self.alpha))
        else:
            subject = f"The 'alpha' parameter of {type(self).__name__}"
            alpha = read_doubles(self.alpha, subject, "a float >= 0 or one such number for each feature")
            if alpha.shape != (n_features,) or not (alpha >= 0).all():
                raise ParameterError(
                    f"The 'alpha' parameter of {type(self).__name__} must be a float >= 0 or one such number for each "
                    f"of the {n_features} features; got {show_value(self.alpha)}."
                )
        if alpha.max() > _LARGEST_ALPHA:
            raise ParameterError(
                f"The 'alpha' parameter of {type(self).__name__} must be at most {_LARGEST_ALPHA:.0e}; got "
                f"{show_value(self.alpha)}."
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
            subject = f"The 'class_prior' parameter of {type(self).__name__}"
            prior = read_doubles(self.class_prior, subject, "one number >= 0 for each class, or None")
            if prior.shape != (n_classes,) or not (prior >= 0).all():
                raise ParameterError(
                    f"The 'class_prior' parameter of {type(self).__name__} must be one number >= 0 for each of the "
                    f"{n_classes} classes, or None; got {show_value(self.class_prior)}."
                )
        elif self.fit_prior:
            prior = class_count / class_count.sum()
        else:
            prior = np.full(n_classes, 1.0 / n_classes)
        with np.errstate(divide="ignore"):  # a class that has not occurred yet is impossible
            return apply_log(prior)

    def _joint_term(self, row: FormulaTerm) -> FormulaTerm:
        present = row
        if self.binarize is not None:
            present = Arithmetic(">", row, ConstantTerm(np.array([float(self.binarize)])))
        with np.errstate(divide="ignore"):
            log_absent = np.log(-np.expm1(np.minimum(self.feature_log_prob_, 0.0)))
        if not (np.isfinite(self.feature_log_prob_).all() and np.isfinite(log_absent).all()):
            raise refuse_formula(self, "has features that are always or never in some class (alpha=0)")
        if not np.isfinite(self.class_log_prior_).all():
            raise refuse_formula(self, "has classes of probability zero")
        return LinearTerm(present, self.feature_log_prob_ - log_absent, self.class_log_prior_ + log_absent.sum(axis=1))

    def _joint_log_proba(self, rows: FloatMatrix | SparseMatrix) -> FloatArray:
        present = self._find_present(rows)
        log_prob = self.feature_log_prob_
        with np.errstate(divide="ignore"):
            log_absent = apply_log(-apply_expm1(np.minimum(log_prob, 0.0)))
        never, always = np.isneginf(log_prob), np.isneginf(log_absent)
        finite = np.where(never, 0.0, log_prob), np.where(always, 0.0, log_absent)
        # Products with zero and one are exact, and a sparse matrix adds them in the order of the columns.
        joint = multiply_rows(csr_matrix(present), finite[0] - finite[1]) + (
            self.class_log_prior_ + finite[1].sum(axis=1)
        )
        if never.any() or always.any():
            # Features that a row has and its class never has, or lacks and its class always has.
            impossible = present @ (never.astype(np.float64) - always).T + always.sum(axis=1)
            joint[impossible > 0] = -np.inf
            # A class without rows and without smoothing, even where a prior is given.
            joint[:, (self.class_count_ == 0) & never.any(axis=1)] = -np.inf
        result: FloatArray = joint
        return result

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        # Whether values are above zero is little information in most tables.
        tags.classifier_tags.poor_score = True
        return tags
