"""What a boosted classifier tells once it is fitted: answers after all rounds or each, margins, bounds, suspicions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.utils import get_tags

from committee.base import CommitteeEstimator
from committee.data.intake import take_in_rows
from committee.engines.tree_model import TreeModel
from committee.ensembles.adaboost.members import BoostedMembers, BoostedTrees, replace_leaves
from committee.ensembles.staged_predictions import StagedPredictions
from committee.exceptions import DataError, ParameterTypeError
from committee.inspection.margins import measure_margins, suspect_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from committee.data import Schema
    from committee.ensembles.adaboost.algorithms import Rule, Step
    from committee.typing import FloatArray

__all__ = ["AdditivePredictions", "Log", "Validation"]


@dataclass
class Log:
    """What happened in each round, and whether there can be no other."""

    errors: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    traces: list[FloatArray] = field(default_factory=list)
    ended: bool = False

    def __len__(self) -> int:
        return len(self.errors)

    def note(self, step: Step) -> None:
        """Take a round in; losses are those of all members together."""
        self.errors.append(step.error)
        self.weights.append(step.weight)
        self.losses.append(step.loss * (self.losses[-1] if self.losses else 1.0))
        self.ended = step.factors is None

    def cut(self, n_rounds: int) -> None:
        """Forget the rounds after so many."""
        for rounds in (self.errors, self.weights, self.losses, self.traces):
            del rounds[n_rounds:]


def sum_up(
    members: BoostedTrees | BoostedMembers, rule: Rule, rows: Any, weights: FloatArray, span: range, n_jobs: int | None
) -> FloatArray:
    """What members of a span of rounds sum up to, of shape (n_rows, n_classes); one column if these are values."""
    if rule.combine == "values":
        width = rule.width
        columns = np.arange(len(weights) * width, dtype=np.uint32) % np.uint32(width)
        own = range(span.start * width, span.stop * width)
        return members.tell_values(rows, np.repeat(weights, width), columns, own, n_jobs)
    if rule.combine == "votes":
        return members.vote(rows, weights, rule.n_classes, span, n_jobs)
    return members.score(rows, weights, rule.score_shares, span, n_jobs)


def sum_leaves(members: BoostedTrees, rule: Rule) -> Any:
    """Trees whose leaves hold what a member of weight 1 adds to f there; for two classes to that of the second."""
    width = rule.width
    offsets = np.asarray(members.trees.leaf_offsets, dtype=np.intp)
    columns = np.repeat(np.arange(len(members)) % width, offsets[1:] - offsets[:-1])

    def find_terms(values: FloatArray) -> FloatArray:
        each = np.arange(len(values))
        if rule.combine == "scores":
            sums = rule.score_shares(values / values.sum(axis=1, keepdims=True))
        else:
            sums = np.zeros((len(values), width if rule.combine == "values" else rule.n_classes))
            if rule.combine == "values":
                sums[each, columns] = values[:, 0]
            else:
                sums[each, values.argmax(axis=1)] = 1.0
        terms = rule.to_decision(sums, np.ones(1))
        return terms[:, 1:] if rule.n_classes == 2 else terms

    return replace_leaves(members.trees, find_terms, keep_weights=True)


class Validation:
    """Rows that are put aside, and how well the members together do on them.

    Parameters
    ----------
    rows : array, CSR matrix or frame
        As members read them.
    labels : ndarray
        Numbers of their classes.
    rule : Rule
        The algorithm.
    patience : int
        Rounds without a better score before it is enough.
    tol : float
        How much better is better.
    """

    def __init__(self, rows: Any, labels: NDArray[Any], rule: Rule, patience: int, tol: float) -> None:
        self._rows, self._labels, self._rule = rows, labels, rule
        self._patience, self._tol = patience, tol
        self._sums: Any = 0.0
        self._best = -np.inf
        self.scores: list[float] = []
        self.n_best = 0

    def look(self, member: BoostedTrees | BoostedMembers, weights: FloatArray) -> bool:
        """Take in the vote of the last member; whether the score has stopped rising."""
        self._sums = self._sums + sum_up(member, self._rule, self._rows, weights[-1:], range(1), None)
        decision = self._rule.to_decision(self._sums, weights)
        self.scores.append(float(accuracy_score(self._labels, decision.argmax(axis=1))))
        if not self.n_best or self.scores[-1] > self._best + self._tol:
            self._best, self.n_best = self.scores[-1], len(self.scores)
        return len(self.scores) - self.n_best >= self._patience


class AdditivePredictions(ClassifierMixin, StagedPredictions, CommitteeEstimator):  # type: ignore[misc]
    """A classifier whose fitted state is members with weights, and the rule that makes answers of their sums."""

    estimator: Any
    n_jobs: Any

    classes_: NDArray[Any]
    n_classes_: int
    n_features_in_: int
    estimator_weights_: FloatArray
    estimator_errors_: FloatArray
    exponential_loss_: FloatArray
    _members: BoostedTrees | BoostedMembers
    _rule: Rule
    _ended: bool
    _schema: Schema

    def _choose_member(self) -> Any:
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return "_members" in self.__dict__

    def _fitted_members(self) -> BoostedTrees | BoostedMembers:
        members = self.__dict__.get("_members")
        if members is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )
        return members  # type: ignore[no-any-return]

    def _read_rows(self, X: Any) -> Any:
        """Rows as the members read them."""
        members = self._fitted_members()
        rows = take_in_rows(self, X, self._schema)
        return X if isinstance(members, BoostedMembers) and self._schema.has_categories else rows

    def _decide(self, X: Any) -> FloatArray:
        """f, one column a class."""
        rows, weights = self._read_rows(X), self.estimator_weights_
        sums = sum_up(self._members, self._rule, rows, weights, range(len(weights)), self.n_jobs)
        return self._rule.to_decision(sums, weights)

    def _stage(self, X: Any) -> Iterator[FloatArray]:
        """F after each round."""
        rows, weights = self._read_rows(X), self.estimator_weights_
        sums: Any = 0.0
        for t in range(len(weights)):
            sums = sums + sum_up(self._members, self._rule, rows, weights, range(t, t + 1), self.n_jobs)
            yield self._rule.to_decision(sums, weights[: t + 1])

    def _choose(self, scores: FloatArray) -> NDArray[Any]:
        if self.n_classes_ == 2:
            return self.classes_.take(scores[:, 1] > scores[:, 0])
        return self.classes_.take(scores.argmax(axis=1))  # type: ignore[no-any-return]

    def _show(self, scores: FloatArray) -> FloatArray:
        return scores[:, 1] if self.n_classes_ == 2 else scores

    def _share(self, scores: FloatArray) -> FloatArray:
        return self._rule.to_proba(scores)

    # Answers.

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row: the one with the largest weighted vote, the first of equals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if self.__dict__.get("_rule") is None or self._rule.combine == "values":
            return self._choose(self._decide(X))
        # The largest sum is the largest f: a single row is to cost no more than it must.
        rows, weights = self._read_rows(X), self.estimator_weights_
        return self._choose(sum_up(self._members, self._rule, rows, weights, range(len(weights)), self.n_jobs))

    def decision_function(self, X: Any) -> FloatArray:
        """The additive model f: for two classes half the log-odds of the second; otherwise a column a class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            scikit-learn divides its f by the sum of the weights; `margins` does so here.
        """
        return self._show(self._decide(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities whose log-odds f estimates: softmax(f / (K - 1)), for two classes 1 / (1 + exp(-2 f)).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``. Boosting drives them towards 0 and 1 as rounds go by.
        """
        decision = self._decide(X)
        return self._share(decision)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Accuracy after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Yields
        ------
        float
        """
        for answers in self.staged_predict(X):
            yield float(accuracy_score(y, answers, sample_weight=sample_weight))

    # Theory.

    def training_error_bound(self) -> FloatArray:
        r"""Bound of the training error after each round.

        For votes the product of :math:`(1-\varepsilon_t) e^{-\alpha_t/2} + \varepsilon_t e^{\alpha_t/2}` (alpha as in
        ``"samme"``), which for two classes and no shrinkage is :math:`\prod_t 2\sqrt{\varepsilon_t(1-\varepsilon_t)}`;
        otherwise, for two classes, the exponential loss [FreundSchapire1997]_.

        Returns
        -------
        ndarray of shape (n_members,)
        """
        self._fitted_members()
        bound = self._rule.bound_error(self.estimator_errors_, self.estimator_weights_, self.exponential_loss_)
        if bound is None:
            raise DataError(
                f"No bound of the training error is known for {self.n_classes_} classes whose members have scores or "
                "values; there is one for two classes, and for votes (algorithm='samme')."
            )
        return bound

    def margins(self, X: Any, y: Any) -> FloatArray:
        r"""Margin of each row: f of its class less the largest other one, scaled to [-1, 1] where members vote.

        For two classes and votes this is :math:`y f(x) / \sum_t |\alpha_t|` [Schapire1998]_; a row is answered rightly
        if it is positive. Where members vote with scores it is divided by the number of members.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return measure_margins(self._decide(X), self._number_classes(y), self._rule.span(self.estimator_weights_))

    def staged_margins(self, X: Any, y: Any) -> Iterator[FloatArray]:
        """`margins` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        labels = self._number_classes(y)
        for t, decision in enumerate(self._stage(X)):
            yield measure_margins(decision, labels, self._rule.span(self.estimator_weights_[: t + 1]))

    def suspected_labels(self, X: Any, y: Any, n_suspects: int = 10) -> NDArray[np.intp]:
        """Rows whose labels may be wrong: those that boosting gives the most weight, heaviest first.

        Boosting chases rows that it cannot answer rightly, among which mislabelled ones are many [Dietterich2000]_. The
        weight of a row after all rounds is in proportion to exp(-f_y / (K - 1)), so that any rows can be asked about.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, usually those of the training.
        y : array-like of shape (n_samples,)
            Their classes as they are recorded.
        n_suspects : int, default=10
            How many rows to list.

        Returns
        -------
        ndarray of shape (n_suspects,)
            Numbers of rows.
        """
        return suspect_labels(self._decide(X), self._number_classes(y), n_suspects)

    def _number_classes(self, y: Any) -> NDArray[np.intp]:
        given = np.asarray(y)
        if given.ndim != 1:
            raise DataError(f"y must have one axis; its shape is {given.shape}.")
        unknown = ~np.isin(given, self.classes_)
        if unknown.any():
            raise DataError(f"y holds {given[unknown][0]!r}, which is none of the classes of the training.")
        return np.asarray(np.searchsorted(self.classes_, given), dtype=np.intp)

    # Looking inside.

    def to_tree_model(self) -> TreeModel:
        """The fitted trees and how they are combined, for importance, partial dependence and Shapley values."""
        members, rule = self._fitted_members(), self._rule
        if isinstance(members, BoostedMembers):
            raise ParameterTypeError(
                f"Questions about trees can be put to a {type(self).__name__} of this library's trees; its members are "
                f"of class {type(members.estimators[0]).__name__}."
            )
        weights = np.repeat(rule.weigh_terms(self.estimator_weights_), rule.width)
        link, scale = rule.link
        trees = sum_leaves(members, rule)
        return TreeModel(trees, self._schema, "sum", tree_weights=weights, link=link, link_scale=scale)

    @property
    def estimators_(self) -> Sequence[Any]:
        """The fitted members; trees that share bins are made estimators of their own when they are looked at."""
        members = self._fitted_members()
        return members if isinstance(members, BoostedTrees) else members.estimators

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean of the members' importances, by vote."""
        members = self._fitted_members()
        return members.weigh_importances(np.abs(np.repeat(self.estimator_weights_, self._rule.width)))

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        own = get_tags(self._choose_member()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = own.sparse, own.allow_nan
        tags.input_tags.categorical = own.categorical
        return tags
