"""Distillation of an AutoML estimator to one model, and the score of both.

The out-of-fold predictions of the training rows were made by members that were fitted on all other rows. A student that
is fitted to them in folds would therefore learn from the targets of its test rows, and its score would be optimistic:
on wine_quality, a root mean squared error of 0.61 in folds and 0.72 on new rows, beside 0.64 and 0.67 of the estimator
that it learnt from. So the estimator is fitted again without the rows of a fold, a student learns from it, and both
predict the fold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import clone

from committee.automatic.combination import MemberCombiner
from committee.automatic.students import DistillationData, Student
from committee.base import CommitteeEstimator, not_fitted_error, resolve_seed
from committee.data import ClassTarget
from committee.data.rows import collect_table, select_rows
from committee.ensembles.combining.member_predictions import predict_member
from committee.ensembles.combining.out_of_fold import average_fold_predictions
from committee.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from committee.data.folds import Fold
    from committee.typing import FloatArray

__all__ = ["DistillationMixin"]

_KINDS = ("boosting", "forest")
_TRUTH = 0.5
_N_PARTS = 5
"""Parts of the scored rows: the rounds are chosen by all parts but the one that is scored."""


class DistillationMixin:
    """The method `distill` of the AutoML estimators."""

    def distill(
        self: Any,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        student: Literal["boosting", "forest"] = "boosting",
        n_refits: int = 1,
        **params: Any,
    ) -> Any:
        """One model that learns from the out-of-fold predictions: smaller and faster, at a loss that is measured.

        The target of the student is the mean of the true target and of the out-of-fold predictions of this estimator.
        For the scores in ``distillation_``, this estimator is fitted again without the rows of a fold, a student learns
        from it, and both predict these rows. That takes about the time of another fit. The number of boosting rounds is
        chosen on the same rows, for each part of them by the others.

        Parameters
        ----------
        X, y, sample_weight, groups : as in `fit`
            The training rows that this estimator was fitted on, in the same order.
        student : {"boosting", "forest"}, default="boosting"
            Gradient boosting, or a random forest of 50 trees.
        n_refits : int, default=1
            Number of folds that the scores are measured on, each at the cost of a fit; at most that of the folds.
        **params
            Parameters of the student, such as ``max_leaf_nodes`` or ``n_estimators``.

        Returns
        -------
        estimator
            A fitted `GradientBoostingClassifier`, `RandomForestClassifier`, or the regressor. Its attribute
            ``distillation_`` is a dict: ``committee`` and ``student``, the scores by the metric, larger for better, on
            rows that neither was fitted on; ``loss``, their difference; ``error``, the standard error of the student's
            score; ``n_rows``, how many rows were scored.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from committee import CommitteeClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = CommitteeClassifier(portfolio=["linear", "extra trees"], random_state=0).fit(X, y)
        >>> small = model.distill(X, y, student="forest")
        >>> type(small).__name__, small.distillation_["n_rows"]
        ('RandomForestClassifier', 114)
        >>> small.distillation_["committee"] > small.distillation_["student"] > -0.2
        True
        """
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self)
        self._check_single("distill")
        self._check_distillation(student, n_refits, params)
        X = collect_table(X)
        dataset = self._take_in(X, y, sample_weight, self.text_columns)
        target, seed = dataset.target, resolve_seed(self.random_state)
        training = self._make_training_set(dataset, target, dataset.X, groups)
        classify = isinstance(target, ClassTarget)
        labels: NDArray[Any] = target.classes[0][training.y] if classify else training.y
        combiner = MemberCombiner(target, training.weights, training.groups, self.metric, self.combine, seed)
        self._check_training_rows(training.n_rows, combiner)
        common = {
            "categorical_features": self.categorical_features,
            "text_columns": self.text_columns,
            "unseen": self.unseen,
            "n_jobs": self.n_jobs,
        }
        learner = Student(student, classify, {**common, "random_state": seed % (1 << 32), **params})
        folds = self._plan_folds(training, seed)
        if n_refits > len(folds):
            raise ParameterError(f"n_refits must be at most the number of folds, {len(folds)}; got {n_refits}.")
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        groups = None if groups is None else np.asarray(groups)
        checks = [
            _check_fold(self, learner, fold, X, labels, (weights, training.weights), groups)
            for fold in folds[:n_refits]
        ]
        tests = [fold[1] for fold in folds[:n_refits]]
        rounds, stages = _align_stages([(one[1], one[2]) for one in checks], tests, training.n_rows)
        teacher = average_fold_predictions(list(zip(tests, [one[0] for one in checks], strict=True)), training.n_rows)
        rows = np.unique(np.concatenate(tests))
        rows = rows if training.weights is None else rows[training.weights[rows] > 0.0]
        nested = _choose_rounds(stages, rows, combiner, seed)
        best = int(np.argmax([combiner.score(one, rows) for one in stages]))
        found = learner.fit(_make_data(self, X, labels, training.weights), rounds[best])
        theirs, own = combiner.estimate(teacher, rows), combiner.estimate(nested, rows)
        found.distillation_ = {
            "committee": theirs.score,
            "student": own.score,
            "loss": theirs.score - own.score,
            "error": own.error,
            "n_rows": len(rows),
        }
        return found

    def _check_distillation(self: Any, student: object, n_refits: Any, params: dict[str, Any]) -> None:
        owner = type(self).__name__
        if student not in _KINDS:
            raise ParameterError(f"student must be one of {_KINDS}; {owner}.distill got {student!r}.")
        if isinstance(n_refits, bool) or not isinstance(n_refits, int | np.integer) or n_refits < 1:
            raise ParameterError(f"n_refits must be an int >= 1; {owner}.distill got {n_refits!r}.")
        if "early_stopping" in params:
            raise ParameterError(
                f"{owner}.distill chooses the number of rounds itself: leave early_stopping out, or give n_estimators."
            )

    def _check_training_rows(self: Any, n_rows: int, combiner: MemberCombiner) -> None:
        """Refuse rows that the out-of-fold predictions are not of."""
        oof = _read_teacher(self)
        same = len(oof) == n_rows
        if same:
            known = np.flatnonzero(np.isfinite(oof).all(axis=1))
            same = bool(np.isclose(combiner.score(oof, known), self.score_estimate_, rtol=1e-6, atol=1e-9))
        if not same:
            raise DataError(
                f"{type(self).__name__}.distill needs the rows of the fit, {len(oof)} of them, in the same order and "
                "with the same targets and weights: the out-of-fold predictions are theirs. These rows are others."
            )


def _read_teacher(model: Any) -> FloatArray:
    """Out-of-fold predictions, of shape (n_rows, width)."""
    return np.asarray(model.oof_decision_function_ if hasattr(model, "classes_") else model.oof_prediction_[:, None])


def _make_data(model: Any, X: Any, labels: NDArray[Any], weights: FloatArray | None) -> DistillationData:
    return DistillationData(X, labels, _read_teacher(model), weights, getattr(model, "classes_", None), _TRUTH)


def _check_fold(
    model: CommitteeEstimator,
    learner: Student,
    fold: Fold,
    X: Any,
    labels: NDArray[Any],
    weights: tuple[FloatArray | None, FloatArray | None],
    groups: NDArray[Any] | None,
) -> tuple[FloatArray, list[int], list[FloatArray]]:
    """Predictions of a fold by the estimator without it; rounds and predictions of the stages of its student."""
    train, test = fold
    # The second are multiplied by class weights, which the fit does by itself.
    own_weights, counts = (None if some is None else some[train] for some in weights)
    again: Any = clone(model)
    again.fit(select_rows(X, train), labels[train], own_weights, groups=None if groups is None else groups[train])
    classes = [model.classes_] if learner.classify else None
    X_test = select_rows(X, test)
    predicted = predict_member(again, X_test, "predict_proba" if learner.classify else "predict", classes)
    data = _make_data(again, select_rows(X, train), labels[train], counts)
    return predicted, *learner.fit_stages(data, X_test, labels[test], classes)


def _align_stages(
    found: list[tuple[list[int], list[FloatArray]]], tests: list[NDArray[np.intp]], n_rows: int
) -> tuple[list[int], list[FloatArray]]:
    """The stages that all folds have, with predictions of all rows."""
    rounds = min((rounds for rounds, _ in found), key=len)
    stages = [
        average_fold_predictions([(test, own[k]) for test, (_, own) in zip(tests, found, strict=True)], n_rows)
        for k in range(len(rounds))
    ]
    return rounds, stages


def _choose_rounds(stages: list[FloatArray], rows: NDArray[np.intp], combiner: MemberCombiner, seed: int) -> FloatArray:
    """Predictions of each part of the rows by the stage that is best on the other parts."""
    if len(stages) == 1 or len(rows) < 2 * _N_PARTS:
        return stages[0] if len(stages) == 1 else stages[-1]
    nested = stages[0].copy()
    part = np.random.default_rng([seed, 2]).permutation(len(rows)) % _N_PARTS
    for k in range(_N_PARTS):
        others, own = rows[part != k], rows[part == k]
        best = int(np.argmax([combiner.score(one, others) for one in stages]))
        nested[own] = stages[best][own]
    return nested
