"""Committees whose answer is a mean with weights, learnt from what members say about rows they have not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from committee.data import ClassTarget, ValueTarget
from committee.ensembles.combining.fold_average import FoldAverage
from committee.ensembles.combining.member_predictions import choose_method, predict_member
from committee.ensembles.combining.named_ensemble import NamedEnsemble
from committee.ensembles.combining.out_of_fold import (
    Candidate,
    answer_out_of_fold,
    check_bags,
    find_covered,
    plan_folds,
)
from committee.ensembles.combining.training_set import read_table
from committee.exceptions import DataError
from committee.params import CrossValidation

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["BlendCv", "BlendRefit", "Evidence", "WeightedProbabilities", "WeightedValues", "spell_out"]

BlendCv: TypeAlias = Annotated[
    CrossValidation | Literal["oob"],
    "Where the answers come from that the weights are learnt from. Folds: a number (None is five; stratified for "
    "classes, groups kept together where `fit` is given groups), a splitter of scikit-learn, or pairs of training and "
    "left-out rows; rows that no fold leaves out do not count. ``'oob'``: bags and forests of this library answer for "
    "rows out of their own bags, and the other members for five folds.",
]
BlendRefit: TypeAlias = Annotated[
    bool,
    "Whether the members are fitted on all rows once the weights are learnt. False: the models of the folds stay, and "
    "their mean is the member's answer.",
]


def spell_out(target: ClassTarget | ValueTarget) -> FloatArray:
    """The truth in the columns of the answers: ones for the classes that are right, or the values."""
    if isinstance(target, ValueTarget):
        return target.values
    return np.hstack([np.eye(n)[target.labels[:, k]] for k, n in enumerate(target.n_classes)])


class Evidence:
    """What the weights are learnt from.

    Parameters
    ----------
    names : list of str
        Of the members.
    answers : list of ndarray of shape (n_rows, width)
        What each said about rows that it had not seen: class shares or values.
    target : ClassTarget or ValueTarget
        The truth about all rows.
    rows : ndarray of int
        Numbers of the rows that the answers are about.
    weights : ndarray of shape (n_rows,) or None
        Weights of these rows.
    """

    def __init__(
        self, names: list[str], answers: list[FloatArray], target: Any, rows: NDArray[np.intp], weights: Any
    ) -> None:
        self.names, self.answers, self.target, self.rows, self.weights = names, answers, target, rows, weights
        self.goal = spell_out(target)[rows]


class WeightedRoster(NamedEnsemble):
    """A roster with weights; a subclass says how they are learnt."""

    cv: BlendCv
    refit: BlendRefit
    weights_: FloatArray

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any) -> Self:
        """Fit the members and learn their weights.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or list of texts
            What the members can read; it reaches them as it is.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; every member must take them.
        groups : array-like of shape (n_samples,), optional
            Groups of rows: folds keep them together, and members that draw groups get them.
        **fit_params
            What the members' `fit` is given besides, if metadata routing is on and they ask for it.

        Returns
        -------
        self
        """
        self._validate_params()
        name, present, table = type(self).__name__, self._list_present(), read_table(X)
        target = self._read_target(table, y)
        training = self._open_lesson(table, target, sample_weight, groups)
        routed, seed = self._route_fit(present, training.weights, fit_params), self._resolve_seed()
        asked = "predict_proba" if self._task == "classify" else "predict"
        candidates = []
        for number, ((own, member), params) in enumerate(zip(present, routed, strict=True)):
            fresh = self._make_member(member, number, seed, target.n_outputs)
            candidates.append(Candidate(own, fresh, choose_method(own, fresh, asked, name), params))
        folds = plan_folds(
            None if self.cv == "oob" else self.cv,
            table,
            training.y,
            groups,
            self._task == "classify",
            training.weights,
        )
        if self.cv == "oob":
            check_bags(candidates, groups, name)
        classes = self._number_classes(target)
        answer_out_of_fold(
            training,
            candidates,
            folds,
            classes,
            refit=bool(self.refit),
            out_of_bag=self.cv == "oob",
            n_jobs=self.n_jobs,
            verbose=int(self.verbose),
        )
        covered = find_covered(candidates)
        if training.weights is not None:
            covered &= training.weights > 0.0
        if not covered.any():
            raise DataError("No row has an out-of-fold answer from every member; use other folds or larger bags.")
        rows = np.flatnonzero(covered)
        weights = None if training.weights is None else training.weights[rows]
        evidence = Evidence([c.name for c in candidates], [c.answers[rows] for c in candidates], target, rows, weights)
        learnt = self._learn(evidence, seed)
        members = [FoldAverage(one.by_fold, classes) if one.whole is None else one.whole for one in candidates]
        self._set_fitted(members, table, {**self._target_attributes(target), **learnt, "_method": asked})
        return self

    def _learn(self, evidence: Evidence, seed: int | None) -> dict[str, Any]:
        """Fitted attributes, ``weights_`` among them."""
        raise NotImplementedError

    def _average(self, X: Any) -> FloatArray:
        """The weighted mean; members without weight are not asked."""
        self._check_fitted()
        X, classes = read_table(X), self.__dict__.get("_classes")
        numbers = None if classes is None else [np.arange(len(c)) for c in classes]
        total: Any = 0.0
        for weight, member in zip(self.weights_, self.estimators_, strict=True):
            if weight > 0.0:
                total = total + weight * predict_member(member, X, self._method, numbers)
        return np.asarray(total)


class WeightedProbabilities(ClassifierMixin, WeightedRoster):  # type: ignore[misc]
    """A weighted mean of probabilities."""

    _task = "classify"

    classes_: Any

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
        shares = self._part(self._average(X))
        chosen = [c.take(part.argmax(axis=1)) for c, part in zip(self._classes, shares, strict=True)]
        return chosen[0] if self.n_outputs_ == 1 else np.stack(chosen, axis=1)

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
        shares = self._part(self._average(X))
        return shares[0] if self.n_outputs_ == 1 else shares

    def _part(self, shares: FloatArray) -> list[FloatArray]:
        return np.split(shares, np.cumsum([len(c) for c in self._classes])[:-1], axis=1)


class WeightedValues(RegressorMixin, WeightedRoster):  # type: ignore[misc]
    """A weighted mean of values."""

    _task = "regress"

    def predict(self, X: Any) -> FloatArray:
        """Weighted mean of what the members say.

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
