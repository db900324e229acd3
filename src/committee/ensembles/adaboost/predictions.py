"""Predictions of a boosted classifier after all rounds or after each; margins, error bounds, suspected labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d

from committee.base import ClassifierScoreMixin, available_if, resolve_jobs
from committee.constraints import show_value
from committee.engines.formula import ModelFormula, RowFunction, TableRow
from committee.engines.several_targets import join_tree_models, present_targets
from committee.engines.tree_model import TreeModel, replace_leaf_values
from committee.ensembles.adaboost.base import BaseAdaBoost
from committee.ensembles.adaboost.members import (
    BoostedMembers,
    BoostedTrees,
    leaf_values,
    sum_member_terms,
)
from committee.ensembles.member_formulas import open_members
from committee.ensembles.staged_predictions import StagedPredictions
from committee.exceptions import DataError, ParameterTypeError
from committee.inspection.margins import measure_margins, suspect_labels, weigh_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from committee.engines import Trees
    from committee.engines.formula import FormulaTerm
    from committee.ensembles.adaboost.algorithms import Algorithm
    from committee.typing import AnyArray, FloatArray, Task

__all__ = ["BaseAdaBoostClassifier", "make_decision_trees"]


def make_decision_trees(members: BoostedTrees, algorithm: Algorithm) -> Trees:
    """Trees whose leaves hold the term of `decision_function` of a member of weight 1."""
    values, width = leaf_values(members.trees), algorithm.width
    each = np.arange(len(values))
    if algorithm.combine == "scores":
        sums = algorithm.to_scores(values / values.sum(axis=1, keepdims=True))
    elif algorithm.combine == "values":
        offsets = np.asarray(members.trees.leaf_offsets, dtype=np.intp)
        columns = np.repeat(np.arange(len(members)) % width, offsets[1:] - offsets[:-1])
        sums = np.zeros((len(values), width))
        sums[each, columns] = values[:, 0]
    else:
        sums = np.zeros((len(values), algorithm.n_classes))
        sums[each, values.argmax(axis=1)] = 1.0
    terms = algorithm.to_output(sums, np.ones(1)).reshape(len(values), -1)
    return replace_leaf_values(members.trees, terms)


def _has_one_target(model: BaseAdaBoostClassifier) -> bool:
    if "_outputs" in model.__dict__:
        raise AttributeError(f"A {type(model).__name__} of several targets has no scores; use predict_proba.")
    return True


class BaseAdaBoostClassifier(ClassifierScoreMixin, StagedPredictions, BaseAdaBoost):
    """A classifier made of weighted members and the algorithm that combines them."""

    classes_: AnyArray
    n_classes_: int
    estimator_weights_: FloatArray
    estimator_errors_: FloatArray
    exponential_loss_: FloatArray
    _rule: Algorithm
    _task: ClassVar[Task] = "classify"

    def _sum_members(self, X: Any) -> FloatArray:
        """Weighted sum of the members' predictions."""
        rows, weights = self._read_rows(X), self.estimator_weights_
        return self._members.sum_rounds(self._rule, rows, weights, range(len(weights)), self.n_jobs)

    def _staged_sums(self, X: Any) -> Iterator[tuple[FloatArray, FloatArray]]:
        """The sums after each round, and the weights of the members so far."""
        rows, weights, jobs = self._read_rows(X), self.estimator_weights_, resolve_jobs(self.n_jobs)
        sums: FloatArray | float = 0.0
        for t in range(len(weights)):
            sums = sums + self._members.sum_rounds(self._rule, rows, weights, range(t, t + 1), jobs)
            yield sums, weights[: t + 1]

    def _raw_decision(self, X: Any) -> FloatArray:
        """f, a column for each class."""
        sums = self._sum_members(X)
        return self._rule.to_decision(sums, self.estimator_weights_)

    def _staged_scores(self, X: Any) -> Iterator[FloatArray]:
        """F after each round."""
        return (self._rule.to_decision(sums, weights) for sums, weights in self._staged_sums(X))

    def _decode(self, scores: FloatArray) -> AnyArray:
        best = scores[:, 1] > scores[:, 0] if self.n_classes_ == 2 else scores.argmax(axis=1)
        classes: AnyArray = self.classes_.take(best)
        return classes

    def _proba(self, scores: FloatArray) -> FloatArray:
        return self._rule.to_proba(scores)

    # Predictions.

    def predict(self, X: Any) -> AnyArray:
        """Class of each row: the one with the largest f, the first of equals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        if "_outputs" in self.__dict__:
            return self._stack_predictions(X)
        sums = self._sum_members(X)
        # The largest sum of votes or scores is the largest f; computing f would add to the cost of a single row.
        is_sum = self._rule.combine != "values"
        return self._decode(sums if is_sum else self._rule.to_decision(sums, self.estimator_weights_))

    @available_if(_has_one_target)
    def decision_function(self, X: Any) -> FloatArray:
        """Score of the second of two classes, positive where it is predicted; otherwise a column for each class.

        With ``algorithm="samme"`` it is scikit-learn's: a member counts 1 for the class that it predicts and
        -1 / (K - 1) for the others, and the score is the mean weighted by ``estimator_weights_``; for two classes the
        difference of both scores, between -2 and 2. With the other algorithms it is the additive model f itself, for
        two classes half the log-odds of the second.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        sums = self._sum_members(X)
        return self._rule.to_output(sums, self.estimator_weights_)

    @available_if(_has_one_target)
    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """`decision_function` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray, as `decision_function` gives it
        """
        return (self._rule.to_output(sums, weights) for sums, weights in self._staged_sums(X))

    def predict_proba(self, X: Any) -> Any:
        """Probabilities whose log-odds f estimates: softmax(f / (K - 1)), for two classes 1 / (1 + exp(-2 f)).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of them, one for each target
            Columns in the order of ``classes_``. Boosting drives them towards 0 and 1 as rounds go by.
        """
        if "_outputs" in self.__dict__:
            return [output.predict_proba(X) for output in self._outputs]
        return self._proba(self._raw_decision(X))

    def staged_predict(self, X: Any) -> Iterator[AnyArray]:
        """`predict` after each round; the ensemble of a target that ended early stays as it is.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        if "_outputs" in self.__dict__:
            return self._stage_predictions(X)
        return super().staged_predict(X)

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """`predict_proba` after each round; the ensemble of a target that ended early stays as it is.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples, n_classes), or a list of them, one for each target
        """
        if "_outputs" in self.__dict__:
            return self._stage_outputs("staged_predict_proba", X)
        return super().staged_predict_proba(X)

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
        true, weights = None, None
        for predictions in self.staged_predict(X):
            if true is not None:
                yield float(np.average(predictions == true, weights=weights))
                continue
            # scikit-learn checks the classes and weights, which are those of all rounds.
            yield float(accuracy_score(y, predictions, sample_weight=sample_weight))
            if predictions.ndim == 1:
                true = column_or_1d(y)
                weights = None if sample_weight is None else column_or_1d(sample_weight)

    # Margins and bounds.

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
                f"No bound of the training error is known for {self.n_classes_} classes whose members are combined by "
                "scores or values; there is one for two classes, and for votes (algorithm='samme')."
            )
        return bound

    def margins(self, X: Any, y: Any) -> FloatArray:
        r"""Margin of each row: f of its class less the largest other one, scaled to [-1, 1] where members vote.

        For two classes and votes this is :math:`y f(x) / \sum_t |\alpha_t|` [Schapire1998]_; a row is classified
        correctly if it is positive. Where members are combined by scores it is divided by the number of members.

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
        decision, labels = self._raw_decision(X), self._encode_classes(y)
        return measure_margins(decision, labels, self._rule.max_difference(self.estimator_weights_))

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
        labels, weights = self._encode_classes(y), self.estimator_weights_
        for t, decision in enumerate(self._staged_scores(X)):
            yield measure_margins(decision, labels, self._rule.max_difference(weights[: t + 1]))

    def boosting_weights(self, X: Any, y: Any) -> FloatArray:
        """Weight of each row in a further round, proportional to exp(-f_y / (K - 1)); their sum is 1.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, usually those of the training.
        y : array-like of shape (n_samples,)
            Their recorded classes.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return weigh_rows(self._raw_decision(X), self._encode_classes(y))

    def suspected_labels(self, X: Any, y: Any, n_suspects: int = 10) -> NDArray[np.intp]:
        """Rows whose labels may be wrong: those with the largest boosting weight, heaviest first.

        Boosting puts weight on rows that it cannot classify correctly; many mislabelled rows are among them
        [Dietterich2000]_. The weight of a row after all rounds is proportional to exp(-f_y / (K - 1)), so that it is
        known for rows outside the training set too.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, usually those of the training.
        y : array-like of shape (n_samples,)
            Their recorded classes.
        n_suspects : int, default=10
            How many rows to list.

        Returns
        -------
        ndarray of shape (n_suspects,)
            Numbers of rows.
        """
        return suspect_labels(self._raw_decision(X), self._encode_classes(y), n_suspects)

    def _encode_classes(self, y: Any) -> NDArray[np.intp]:
        try:
            given = np.asarray(y)
        except ValueError:
            raise DataError("y must be a list of classes; it holds lists of several lengths.") from None
        if given.ndim != 1:
            raise DataError(f"y must have one axis; its shape is {given.shape}.")
        unknown = ~np.isin(given, self.classes_)
        if unknown.any():
            raise DataError(f"y holds {show_value(given[unknown][0])}, which is none of the classes of the training.")
        return np.asarray(np.searchsorted(self.classes_, given), dtype=np.intp)

    # Inspection.

    def to_tree_model(self) -> TreeModel:
        """The fitted trees and how they are combined, for importance, partial dependence and Shapley values."""
        if "_outputs" in self.__dict__:
            return join_tree_models([output.to_tree_model() for output in self._outputs])
        members, algorithm = self._fitted_members(), self._rule
        if isinstance(members, BoostedMembers):
            raise ParameterTypeError(
                f"Only a {type(self).__name__} of this library's trees can be inspected as trees; its members are of "
                f"class {type(members.estimators[0]).__name__}."
            )
        weights = np.repeat(algorithm.term_weights(self.estimator_weights_), algorithm.width)
        link, scale = algorithm.link
        trees = make_decision_trees(members, algorithm)
        scale *= algorithm.output_scale(self.estimator_weights_)
        return TreeModel(trees, self._schema, "sum", tree_weights=weights, link=link, link_scale=scale)

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted estimator computes for a row, by default of its own table; exports are written from it."""
        if "_outputs" in self.__dict__:
            return present_targets(self._outputs, row, self._schema.n_features)
        members, rule, weights = self._fitted_members(), self._rule, self.estimator_weights_
        schema = self._schema
        if isinstance(members, BoostedMembers):
            opened = open_members(self, members.estimators, row)
            row, schema = opened.row, opened.schema
            sums = sum_member_terms(self, opened.members, rule, weights, members.classes)
        else:
            row = TableRow(schema.n_features) if row is None else row
            sums = members.sum_term(row, rule, weights)
        decision = rule.decision_term(sums, weights)
        # As in `predict`.
        label = RowFunction("argmax", decision if rule.combine == "values" else sums)
        output = rule.output_term(sums, decision, weights)
        return ModelFormula(row, schema, label, (self.classes_,), rule.proba_term(decision), output)

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean of the members' importances, weighted by the absolute weights of the members; mean over the targets."""
        if "_outputs" in self.__dict__:
            return self._average_outputs()
        self._fitted_members()
        return self._average_importances(np.abs(np.repeat(self.estimator_weights_, self._rule.width)))
