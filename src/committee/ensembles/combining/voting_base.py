"""Base of the voting ensembles: parameters, fitting the members and their weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np

from committee.data import ClassTarget
from committee.data.passing import read_table
from committee.engines.formula import (
    Arithmetic,
    ConstantTerm,
    ModelFormula,
    add_weighted,
    find_largest,
    vote_largest,
)
from committee.ensembles.combining.convex_weights import fit_convex_weights_log_loss, fit_convex_weights_squared_error
from committee.ensembles.combining.member_predictions import predict_member
from committee.ensembles.combining.metrics import target_matrix
from committee.ensembles.combining.named_ensemble import NamedEnsemble, PredictionTransformerMixin
from committee.ensembles.combining.out_of_fold import (
    MemberFit,
    find_predicted_rows,
    fit_members,
    predict_out_of_fold,
)
from committee.ensembles.member_formulas import open_members, predict_term
from committee.exceptions import DataError, ParameterError
from committee.params import ArrayLike, CrossValidation
from committee.value_checks import read_doubles

if TYPE_CHECKING:
    import numpy.typing as npt
    from numpy.typing import NDArray

    from committee.data import ValueTarget
    from committee.engines.formula import FormulaTerm
    from committee.ensembles.combining.member_predictions import Classes
    from committee.ensembles.combining.training_set import TrainingSet
    from committee.typing import EstimatorLike, FloatArray

__all__ = ["BaseVoting", "ClassVoteWeights", "Prefit", "ValueVoteWeights"]

_LARGEST_WEIGHT = 1e100  # products with predictions are finite


_WEIGHTS = (
    "Weights of the members, one for each, also for dropped ones; none is negative. None: all are equal. "
    "``'least_squares'``: the convex weights (non-negative, with sum one) with the least squared error of out-of-fold "
    "predictions."
)
ClassVoteWeights: TypeAlias = Annotated[
    Literal["learned", "least_squares", "log_loss"] | Annotated[Any, ArrayLike("of numbers >= 0")] | None,
    _WEIGHTS + " ``'log_loss'``: those with the least log-loss. ``'learned'``: log-loss for soft voting, least squares "
    "for hard.",
]
ValueVoteWeights: TypeAlias = Annotated[
    Literal["learned", "least_squares"] | Annotated[Any, ArrayLike("of numbers >= 0")] | None,
    _WEIGHTS + " ``'learned'``: the same.",
]
Prefit: TypeAlias = Annotated[
    bool,
    "Whether the members are fitted already and are used as they are. `fit` then only stores the classes, and fits "
    "the weights if it has to: pass it rows that the members were not fitted on.",
]


class BaseVoting(PredictionTransformerMixin, NamedEnsemble):
    """Base class of the voting classifier and regressor."""

    weights: str | npt.ArrayLike | None
    prefit: Prefit
    cv: CrossValidation

    weights_: FloatArray

    accepts_blocks: ClassVar[bool] = True

    def _predict_method(self) -> str:
        """The method that members predict by."""
        return "predict"

    # Fitting.

    def _fit_voting(
        self,
        X: Any,
        target: ClassTarget | ValueTarget,
        sample_weight: npt.ArrayLike | None,
        groups: npt.ArrayLike | None,
        params: dict[str, object],
    ) -> None:
        pairs, weights = self._list_to_fit(), self._read_weights()
        training = self._make_training_set(X, target, sample_weight, groups)
        if groups is not None and not isinstance(weights, str):
            self._check_groups_are_used()
        members = self._fit_members(pairs, target, training, params, out_of_fold=isinstance(weights, str))
        if isinstance(weights, str):
            weights = self._fit_weights(weights, members, target, training.weights)
        elif weights is None:
            weights = np.ones(len(members))
        self._set_fitted([one.fitted for one in members], X, {**self._target_attributes(target), "weights_": weights})

    def _is_prefit(self) -> bool:
        return bool(self.prefit)

    def _fit_members(
        self,
        pairs: list[tuple[str, EstimatorLike]],
        target: ClassTarget | ValueTarget,
        training: TrainingSet,
        params: dict[str, object],
        *,
        out_of_fold: bool,
    ) -> list[MemberFit]:
        """The fitted members, with predictions of rows that they were not fitted on if weights are fitted to them."""
        method = self._predict_method()
        if self.prefit:
            members = [MemberFit(name, member, method, fitted=member) for name, member in pairs]
            classes = target.classes if isinstance(target, ClassTarget) else None
            for one in members if out_of_fold else []:
                one.predictions = predict_member(one.fitted, training.X, method, classes)
            return members
        routed, seed = self._route_fit(pairs, training.weights, params), self._resolve_seed()
        made = [self._make_member(member, k, seed, target) for k, (_, member) in enumerate(pairs)]
        members = [
            MemberFit(name, self._add_probabilities(member, training), method, own)
            for (name, _), member, own in zip(pairs, made, routed, strict=True)
        ]
        if out_of_fold:
            folds, classes = self._plan_folds(training), self._member_classes(target)
            predict_out_of_fold(
                training, members, folds, classes, n_jobs=self.n_jobs, verbose=int(self.verbose), owner=self
            )
        else:
            fit_members(training, members, self.n_jobs, int(self.verbose), self)
        return members

    def _add_probabilities(self, member: EstimatorLike, training: TrainingSet) -> EstimatorLike:
        """The member, calibrated if it has no probabilities and needs them."""
        return member

    def _check_groups_are_used(self) -> None:
        if not any(getattr(member, "bootstrap", None) == "group" for _, member in self._list_active()):
            raise DataError(
                f"{type(self).__name__} was given groups, which only learned weights and members with "
                "bootstrap='group' have a use for."
            )

    def _fit_weights(
        self,
        how: str,
        members: list[MemberFit],
        target: ClassTarget | ValueTarget,
        sample_weight: FloatArray | None,
    ) -> FloatArray:
        known = find_predicted_rows(members)
        if sample_weight is not None:
            known &= sample_weight > 0.0
        if not known.any():
            raise DataError("No row has an out-of-fold prediction from every member; use other folds.")
        n_classes = target.n_classes if isinstance(target, ClassTarget) else []
        predictions = [self._to_columns(one.predictions[known], n_classes) for one in members]
        weights = None if sample_weight is None else sample_weight[known]
        if how == "learned":
            how = "log_loss" if self._predict_method() == "predict_proba" else "least_squares"
        fit = fit_convex_weights_log_loss if how == "log_loss" else fit_convex_weights_squared_error
        return fit(predictions, target_matrix(target)[known], weights)

    def _to_columns(self, predictions: FloatArray, n_classes: list[int]) -> FloatArray:
        """Predictions as the columns that are averaged."""
        return predictions

    def _read_weights(self) -> FloatArray | str | None:
        """The weights of the members that are not dropped, or how they are to be fitted."""
        if self.weights is None or isinstance(self.weights, str):
            return self.weights
        name = type(self).__name__
        subject = f"The 'weights' parameter of {name}"
        weights = read_doubles(self.weights, subject, "one number >= 0 for each estimator, or None")
        if weights.shape != (len(self.estimators),):
            raise ParameterError(
                f"Number of `estimators` and weights must be equal; got {weights.size} weights, "
                f"{len(self.estimators)} estimators."
            )
        kept = weights[[not isinstance(member, str) for _, member in self.estimators]]
        if not (kept >= 0.0).all() or not 0.0 < kept.max() <= _LARGEST_WEIGHT:
            raise ParameterError(
                f"The 'weights' parameter of {name} must hold finite numbers >= 0 that are not all zero, and at most "
                f"{_LARGEST_WEIGHT:.0e}; "
                f"got {self.weights!r}."
            )
        return kept

    # Predictions.

    def _predict_members(self, X: Any) -> list[FloatArray]:
        """Predictions of each member."""
        self._check_fitted()
        X, classes = read_table(X, getattr(self, "feature_names_in_", None)), self._fitted_member_classes()
        return [predict_member(member, X, self._predict_method(), classes) for member in self.estimators_]

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted ensemble computes for a row, by default of its own table; exports are written from it."""
        self._check_fitted()
        opened, classes = open_members(self, self.estimators_, row), self._fitted_member_classes()
        method = self._predict_method()
        terms = [predict_term(self, member, method, classes) for member in opened.members]
        if classes is not None and method == "predict":
            terms = [vote_largest(term, [len(c) for c in classes]) for term in terms]
        total = add_weighted(self.weights_, terms)
        mean = Arithmetic("/", total, ConstantTerm(np.array([self.weights_.sum()])))
        if classes is None:
            return ModelFormula(opened.row, opened.schema, mean)
        known: list[NDArray[Any]] = self.__dict__["_classes"]
        label = find_largest(mean, [len(c) for c in known])
        soft = mean if method == "predict_proba" else None
        return ModelFormula(opened.row, opened.schema, label, tuple(known), soft)

    def _fitted_member_classes(self) -> Classes:
        """The classes as the members were fitted with them: indices, unless the members were fitted by the user."""
        classes: Classes = self.__dict__.get("_classes")
        return classes if self.prefit or classes is None else [np.arange(len(c)) for c in classes]

    def _name_columns(self, suffixes: list[str]) -> NDArray[Any]:
        self._check_fitted()
        names = [name for name, member in self._list_pairs() if not isinstance(member, str)]
        owner = type(self).__name__.lower()
        return np.asarray([f"{owner}_{name}{suffix}" for name in names for suffix in suffixes], dtype=object)
