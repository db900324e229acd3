"""The student of a distillation: one model that learns from the out-of-fold predictions of others [Hinton2015].

Its target is a mixture of the true one and the out-of-fold prediction of the row. Classes come as weighted rows: a row
is repeated for each class, with the share of the class as its weight, so that the loss is the cross-entropy with
the shares and the student is an ordinary classifier. Out-of-fold predictions are used since those of a model for its
own training rows are overconfident.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from committee.automatic.portfolio import list_stages
from committee.automatic.stages import BoostingSchedule, measure_loss
from committee.data.rows import select_rows
from committee.ensembles.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from committee.ensembles.boosting.settings import FEATURE_SHARE
from committee.ensembles.combining.member_predictions import predict_member
from committee.ensembles.combining.training_set import TrainingSet
from committee.ensembles.forest.estimators import RandomForestClassifier, RandomForestRegressor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.ensembles.combining.member_predictions import Classes
    from committee.typing import FloatArray

__all__ = ["DistillationData", "Student"]

_MIN_SHARE = 5e-3
"""Share of a class below which a row is not repeated for it."""
_N_TREES = 50
"""Trees of a small forest."""


@dataclass(frozen=True)
class DistillationData:
    """The training rows of a student.

    Attributes
    ----------
    X : table
        As the user passed it.
    y : ndarray of shape (n_rows,)
        Classes or values.
    teacher : ndarray of shape (n_rows, width)
        Out-of-fold probabilities or values; NaN for rows without, which are taught by the true target alone.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.
    classes : ndarray or None
        The classes, sorted; None for values.
    truth : float
        Share of the true target in the mixture, in [0, 1].
    """

    X: Any
    y: NDArray[Any]
    teacher: FloatArray
    weights: FloatArray | None
    classes: NDArray[Any] | None
    truth: float

    def mix_targets(self) -> FloatArray:
        """The mixture of the true target and the out-of-fold predictions, of shape (n_rows, width)."""
        if self.classes is None:
            true = self.y[:, None].astype(np.float64)
        else:
            true = np.eye(len(self.classes))[np.searchsorted(self.classes, self.y)]
        known = np.isfinite(self.teacher).all(axis=1, keepdims=True)
        taught = np.where(known, self.teacher, true)
        return np.asarray(self.truth * true + (1.0 - self.truth) * taught)

    def repeat_rows(self) -> tuple[NDArray[np.intp], NDArray[Any], FloatArray | None]:
        """The row, the target and the weight of each copy; copies of a row follow one another."""
        mixed = self.mix_targets()
        if self.classes is None:
            return np.arange(len(self.y)), mixed[:, 0], self.weights
        shares = np.where(mixed < _MIN_SHARE, 0.0, mixed)
        rows, labels = np.nonzero(shares)
        weights = (shares / shares.sum(axis=1, keepdims=True))[rows, labels]
        return rows, self.classes[labels], weights if self.weights is None else weights * self.weights[rows]


class Student:
    """Boosting or a small forest, not fitted; the rounds of boosting are chosen unless they are given.

    Parameters
    ----------
    kind : {"boosting", "forest"}
        What it is.
    classify : bool
        Whether classes are predicted.
    params : dict
        Arguments of the constructor.

    Examples
    --------
    >>> Student("forest", True, {"max_depth": 4}).estimator.n_estimators
    50
    """

    def __init__(self, kind: str, classify: bool, params: dict[str, Any]) -> None:
        self.classify, self.chooses_rounds = classify, kind == "boosting" and "n_estimators" not in params
        if kind == "forest":
            forest = RandomForestClassifier if classify else RandomForestRegressor
            self.estimator: Any = forest(**{"n_estimators": _N_TREES, **params})
        else:
            boosting = GradientBoostingClassifier if classify else GradientBoostingRegressor
            # The copies of a row would be on both sides of a validation split.
            self.estimator = boosting(
                **{
                    "defaults": "tuned",
                    "growth": "leaf",
                    "max_features": FEATURE_SHARE,
                    **params,
                    "early_stopping": False,
                }
            )

    def fit_stages(
        self, data: DistillationData, X: Any, y: NDArray[Any], classes: Classes
    ) -> tuple[list[int], list[FloatArray]]:
        """Fit on the rows of `data` and predict others, after each stage of boosting.

        Parameters
        ----------
        data : DistillationData
            The training rows.
        X, y : table and ndarray
            The rows to predict; further stages follow as long as they reduce the loss on them.
        classes : list of ndarray or None
            The classes that predictions are for, in this order.

        Returns
        -------
        rounds : list of int
            Of each stage; zero for one that was not chosen.
        predictions : list of ndarray of shape (n_rows, width)
            After each stage.
        """
        rows, targets, weights = data.repeat_rows()
        method = "predict" if classes is None else "predict_proba"
        if not self.chooses_rounds:
            return [0], [predict_member(self._fit(self.estimator, data), X, method, classes)]
        schedule = BoostingSchedule(list_stages(len(rows), _count_columns(data.X), _count_scores(data)))
        model = clone(self.estimator).set_params(warm_start=True)
        training = TrainingSet(select_rows(data.X, rows), targets, weights)
        held_out = TrainingSet(X, y if classes is None else np.searchsorted(classes[0], y))
        params: dict[str, object] = {} if weights is None else {"sample_weight": weights}
        predictions: list[FloatArray] = []
        losses: list[float] = []
        for n_rounds in schedule.rounds:
            training.fit_member(model.set_params(n_estimators=n_rounds), None, params)
            predicted = predict_member(model, X, method, classes)
            predictions.append(predicted)
            losses.append(measure_loss(predicted, held_out, classes))
            if schedule.should_stop(losses):
                break
        return schedule.rounds[: len(predictions)], predictions

    def fit(self, data: DistillationData, n_rounds: int) -> Any:
        """The estimator, fitted on all rows; with that many rounds if it chooses them."""
        return self._fit(self.estimator.set_params(n_estimators=n_rounds) if n_rounds else self.estimator, data)

    def _fit(self, estimator: Any, data: DistillationData) -> Any:
        rows, targets, weights = data.repeat_rows()
        return clone(estimator).fit(select_rows(data.X, rows), targets, sample_weight=weights)


def _count_columns(X: Any) -> int:
    return int(np.shape(X)[1])


def _count_scores(data: DistillationData) -> int:
    return 0 if data.classes is None else len(data.classes)
