"""Ensembles that predict a weighted mean of their members, with weights fitted to out-of-fold predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np

from committee.base import ClassifierScoreMixin, RegressorScoreMixin
from committee.data.opening import opens_table
from committee.data.passing import read_table
from committee.engines.formula import Arithmetic, ConstantTerm, ModelFormula, add_weighted, find_largest
from committee.ensembles.combining.member_predictions import (
    decode_classes,
    predict_member,
    split_by_output,
    sum_weighted,
)
from committee.ensembles.combining.metrics import target_matrix
from committee.ensembles.combining.named_ensemble import NamedEnsemble
from committee.ensembles.combining.out_of_fold import check_oob_groups, find_predicted_rows, predict_out_of_fold
from committee.ensembles.member_formulas import open_members, predict_term
from committee.exceptions import DataError
from committee.params import CrossValidation

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from committee.data import ClassTarget, ValueTarget
    from committee.engines.formula import FormulaTerm
    from committee.ensembles.combining.member_predictions import OutputClasses
    from committee.ensembles.combining.out_of_fold import MemberFit
    from committee.ensembles.combining.training_set import TrainingSet
    from committee.typing import FloatArray

__all__ = ["OutOfFoldPredictions", "WeightedProbabilities", "WeightedValues", "WeightsCv", "WeightsRefit"]

WeightsCv: TypeAlias = Annotated[
    CrossValidation | Literal["oob"],
    "Source of the predictions that the weights are fitted to. Folds: a number (None is five; stratified for "
    "classes, groups kept together where `fit` is given groups), a splitter of scikit-learn, or pairs of training and "
    "test rows; rows that are in no test fold do not count. ``'oob'``: bags and forests of this library use their "
    "out-of-bag predictions, the other members five folds.",
]
WeightsRefit: TypeAlias = Annotated[
    bool,
    "Whether the members are fitted on all rows once the weights are known. False: the models of the folds are kept, "
    "and the mean of their predictions is the member's prediction.",
]


@dataclass(frozen=True)
class OutOfFoldPredictions:
    """What the weights are fitted to.

    Attributes
    ----------
    names : list of str
        Of the members.
    predictions : list of ndarray of shape (n_rows, width)
        Out-of-fold predictions of each member: class probabilities or values.
    target : ClassTarget or ValueTarget
        The target of all rows.
    rows : ndarray of int
        Numbers of the predicted rows.
    y_true : ndarray of shape (n_rows, width)
        Their target, in the columns of the predictions.
    weights : ndarray of shape (n_rows,) or None
        Their weights.
    """

    names: list[str]
    predictions: list[FloatArray]
    target: ClassTarget | ValueTarget
    rows: NDArray[np.intp]
    y_true: FloatArray
    weights: FloatArray | None


class WeightedEnsemble(NamedEnsemble):
    """Named members with weights; a subclass fits the weights (`_fit_weights`)."""

    cv: WeightsCv
    refit: WeightsRefit

    weights_: FloatArray
    _method: str

    @opens_table
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        **fit_params: object,
    ) -> Self:
        """Fit the members and their weights.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or list of texts
            Passed to the members unchanged.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; every member must support them.
        groups : array-like of shape (n_samples,), optional
            Groups of rows: folds keep them together, and members that sample groups get them.
        **fit_params
            Further arguments of the members' `fit`, if metadata routing is enabled and they request them.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_fit_params(fit_params)
        pairs, X = self._list_to_fit(), read_table(X)
        target = self._read_target(X, y)
        training = self._make_training_set(X, target, sample_weight, groups)
        routed, seed = self._route_fit(pairs, training.weights, fit_params), self._resolve_seed()
        method = "predict_proba" if self._task == "classify" else "predict"
        members = self._make_member_fits(pairs, routed, seed, target, method)
        folds, classes = self._plan_folds(training), self._member_classes(target)
        if self._uses_oob():
            check_oob_groups(members, groups, type(self).__name__)
        predict_out_of_fold(
            training,
            members,
            folds,
            classes,
            refit=bool(self.refit),
            out_of_bag=self._uses_oob(),
            n_jobs=self.n_jobs,
            verbose=int(self.verbose),
            owner=self,
        )
        fitted = self._fit_weights(_gather_predictions(members, training, target), seed)
        estimators = [one.to_estimator(classes) for one in members]
        self._set_fitted(estimators, X, {**self._target_attributes(target), **fitted, "_method": method})
        return self

    def _fit_weights(self, out_of_fold: OutOfFoldPredictions, seed: int | None) -> dict[str, Any]:
        """Fitted attributes, ``weights_`` among them."""
        raise NotImplementedError

    def _average(self, X: Any) -> FloatArray:
        """The weighted mean; members of weight zero do not predict."""
        self._check_fitted()
        X, known = read_table(X, getattr(self, "feature_names_in_", None)), self.__dict__.get("_classes")
        classes = None if known is None else [np.arange(len(c)) for c in known]
        used = np.flatnonzero(self.weights_ > 0.0)
        predictions = (predict_member(self.estimators_[k], X, self._method, classes) for k in used)
        return sum_weighted(self.weights_[used], predictions)

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted ensemble computes for a row, by default of its own table; exports are written from it."""
        self._check_fitted()
        known: OutputClasses | None = self.__dict__.get("_classes")
        classes = None if known is None else [np.arange(len(c)) for c in known]
        used = np.flatnonzero(self.weights_ > 0.0)
        opened = open_members(self, [self.estimators_[k] for k in used], row)
        terms = [predict_term(self, member, self._method, classes) for member in opened.members]
        mean = add_weighted(self.weights_[used], terms)
        if known is None:
            return ModelFormula(opened.row, opened.schema, mean)
        label = find_largest(mean, [len(c) for c in known])
        shares = Arithmetic("min", mean, ConstantTerm(np.ones(1)))
        return ModelFormula(opened.row, opened.schema, label, tuple(known), shares)


def _gather_predictions(
    members: list[MemberFit], training: TrainingSet, target: ClassTarget | ValueTarget
) -> OutOfFoldPredictions:
    """The predictions for the rows that every member has predicted and that have weight."""
    known = find_predicted_rows(members)
    if training.weights is not None:
        known &= training.weights > 0.0
    if not known.any():
        raise DataError("No row has an out-of-fold prediction from every member; use other folds or larger bags.")
    rows = np.flatnonzero(known)
    return OutOfFoldPredictions(
        names=[one.name for one in members],
        predictions=[one.predictions[rows] for one in members],
        target=target,
        rows=rows,
        y_true=target_matrix(target)[rows],
        weights=None if training.weights is None else training.weights[rows],
    )


class WeightedProbabilities(ClassifierScoreMixin, WeightedEnsemble):
    """A weighted mean of probabilities."""

    _task = "classify"

    classes_: NDArray[Any] | list[NDArray[Any]]
    _classes: OutputClasses

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row: the one with the largest probability, the first of equals.

        Parameters
        ----------
        X : table
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return decode_classes(split_by_output(self._average(X), self._classes), self._classes)

    def predict_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """Weighted mean of the members' probabilities.

        Parameters
        ----------
        X : table
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of them, one for each of several outputs
            Columns in the order of ``classes_``.
        """
        # Weights add up to one within rounding.
        outputs = split_by_output(np.minimum(self._average(X), 1.0), self._classes)
        return outputs[0] if self.n_outputs_ == 1 else outputs


class WeightedValues(RegressorScoreMixin, WeightedEnsemble):
    """A weighted mean of values."""

    _task = "regress"

    def predict(self, X: Any) -> FloatArray:
        """Weighted mean of the members' predictions.

        Parameters
        ----------
        X : table
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        values = self._average(X)
        return values[:, 0] if self.n_outputs_ == 1 else values
