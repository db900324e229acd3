"""What voting on classes and on values share: parameters, teaching the members and weighing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from sklearn.base import TransformerMixin

from committee.ensembles.combining.convex_weights import blend_by_least_squares, blend_by_log_loss
from committee.ensembles.combining.member_predictions import predict_member
from committee.ensembles.combining.named_ensemble import NamedEnsemble
from committee.ensembles.combining.out_of_fold import (
    Candidate,
    answer_out_of_fold,
    find_covered,
    fit_members,
    plan_folds,
)
from committee.ensembles.combining.training_set import TrainingSet, read_table
from committee.ensembles.combining.weighted_ensemble import spell_out
from committee.exceptions import DataError, ParameterError
from committee.params import ArrayLike, CrossValidation

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["BaseVoting", "ClassWeights", "Prefit", "ValueWeights"]


_LEARNT = (
    "Weights of the members, one for each, also for dropped ones; none is negative. None: all are equal. "
    "``'least_squares'``: the weights (not negative, sum one) whose mean has the least squared error on out-of-fold "
    "answers."
)
ClassWeights: TypeAlias = Annotated[
    Literal["learned", "least_squares", "log_loss"] | Annotated[Any, ArrayLike("of numbers >= 0")] | None,
    _LEARNT + " ``'log_loss'``: those that make the true classes likeliest. ``'learned'``: log-loss for soft voting, "
    "least squares for hard.",
]
ValueWeights: TypeAlias = Annotated[
    Literal["learned", "least_squares"] | Annotated[Any, ArrayLike("of numbers >= 0")] | None,
    _LEARNT + " ``'learned'``: another name for it.",
]
Prefit: TypeAlias = Annotated[
    bool,
    "Whether the members are fitted already and are used as they are. `fit` then only notes the classes, and learns "
    "the weights if it is told to: give it rows that the members have not seen.",
]


class BaseVoting(TransformerMixin, NamedEnsemble):  # type: ignore[misc]
    """What voting on classes and on values share: teaching the members and weighing them."""

    weights: Any
    prefit: Prefit
    cv: CrossValidation

    weights_: FloatArray

    def _method(self) -> str:
        """How members are asked."""
        return "predict"

    def _train(self, X: Any, target: Any, sample_weight: Any, groups: Any, params: dict[str, Any]) -> Self:
        present = self._list_present()
        weights = self._read_weights()
        training = self._open_lesson(X, target, sample_weight, groups)
        if groups is not None and not isinstance(weights, str):
            self._refuse_groups()
        if self.prefit:
            candidates = [Candidate(name, member, self._method(), whole=member) for name, member in present]
            if isinstance(weights, str):
                for one in candidates:
                    one.answers = predict_member(one.whole, X, one.method, getattr(target, "classes", None))
        else:
            candidates = self._gather(present, target, training, params)
            if isinstance(weights, str):
                self._answer_folds(training, candidates, target)
            else:
                fit_members(training, candidates, self.n_jobs, int(self.verbose))
        if isinstance(weights, str):
            weights = self._learn_weights(weights, candidates, target, training.weights)
        elif weights is None:
            weights = np.ones(len(candidates))
        self._set_fitted([one.whole for one in candidates], X, {**self._target_attributes(target), "weights_": weights})
        return self

    def _gather(
        self, present: list[tuple[str, Any]], target: Any, training: TrainingSet, params: dict[str, Any]
    ) -> Any:
        """The members on their way to be fitted."""
        routed, seed = self._route_fit(present, training.weights, params), self._resolve_seed()
        return [
            Candidate(name, self._prepare(self._make_member(member, k, seed, target.n_outputs)), self._method(), own)
            for k, ((name, member), own) in enumerate(zip(present, routed, strict=True))
        ]

    def _prepare(self, member: Any) -> Any:
        return member

    def _refuse_groups(self) -> None:
        asks = [m for _, m in self._list_present() if getattr(m, "bootstrap", None) == "group"]
        if not asks:
            raise DataError(
                f"{type(self).__name__} was given groups, which only learned weights and members with "
                "bootstrap='group' have a use for."
            )

    def _answer_folds(self, training: TrainingSet, candidates: list[Candidate], target: Any) -> None:
        folds = plan_folds(self.cv, training.X, training.y, training.groups, self._task == "classify", training.weights)
        classes = self._number_classes(target)
        answer_out_of_fold(training, candidates, folds, classes, n_jobs=self.n_jobs, verbose=int(self.verbose))

    def _learn_weights(
        self, how: str, candidates: list[Candidate], target: Any, sample_weight: FloatArray | None
    ) -> FloatArray:
        covered = find_covered(candidates)
        if sample_weight is not None:
            covered &= sample_weight > 0.0
        answers = [self._spread_votes(one.answers[covered], target) for one in candidates]
        goal = spell_out(target)[covered]
        weights = None if sample_weight is None else sample_weight[covered]
        if how == "learned":
            how = "log_loss" if self._method() == "predict_proba" else "least_squares"
        return (blend_by_log_loss if how == "log_loss" else blend_by_least_squares)(answers, goal, weights)

    def _spread_votes(self, answers: FloatArray, target: Any) -> FloatArray:
        return answers

    def _read_weights(self) -> FloatArray | str | None:
        """The weights of the members that are not dropped, or how they are to be learnt."""
        if self.weights is None or isinstance(self.weights, str):
            return self.weights
        name, weights = type(self).__name__, np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (len(self.estimators),):
            raise ParameterError(
                f"Number of `estimators` and weights must be equal; got {len(self.weights)} weights, "
                f"{len(self.estimators)} estimators"
            )
        kept = weights[[not isinstance(member, str) for _, member in self.estimators]]
        if not np.isfinite(kept).all() or (kept < 0.0).any() or not kept.any():
            raise ParameterError(
                f"The 'weights' parameter of {name} must hold finite numbers >= 0 that are not all zero; "
                f"got {self.weights!r}."
            )
        return kept

    def _ask_all(self, X: Any) -> list[FloatArray]:
        """What each member says."""
        self._check_fitted()
        X, classes = read_table(X), self._member_classes()
        return [predict_member(member, X, self._method(), classes) for member in self.estimators_]

    def _member_classes(self) -> Any:
        classes = self.__dict__.get("_classes")
        return classes if self.prefit or classes is None else [np.arange(len(c)) for c in classes]

    def _name_outputs(self, suffixes: list[str]) -> NDArray[Any]:
        self._check_fitted()
        names = [name for name, member in self._list_pairs() if not isinstance(member, str)]
        owner = type(self).__name__.lower()
        return np.asarray([f"{owner}_{name}{suffix}" for name in names for suffix in suffixes], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
