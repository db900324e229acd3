"""The models of all folds as one member: the mean of their predictions, instead of one more fit on all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import get_tags

from committee.base import available_if
from committee.engines.formula import (
    Arithmetic,
    ConstantTerm,
    ModelFormula,
    add_weighted,
    find_largest,
    refuse_formula,
)
from committee.ensembles.combining.member_predictions import Classes, decode_classes, predict_member, split_by_output
from committee.ensembles.member_formulas import align_probabilities, open_members

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from committee.engines.formula import FormulaTerm
    from committee.typing import EstimatorLike, FloatArray

__all__ = ["FoldAverage"]


def _models_have(method: str) -> Callable[[FoldAverage], bool]:
    return lambda average: hasattr(average.models[0], method)


class FoldAverage(BaseEstimator):  # type: ignore[misc]
    """Fitted models, one per fold, whose predictions are averaged; a class is that of the largest mean probability.

    Parameters
    ----------
    models : list of fitted estimators
        One from each fold.
    classes : list of ndarray, or None
        The classes of each output, as the models were fitted with them.
    """

    def __init__(self, models: list[EstimatorLike], classes: Classes) -> None:
        self.models = models
        self.classes = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self.models[0])

    def __getattr__(self, name: str) -> Any:
        if name in ("n_features_in_", "feature_names_in_") and "models" in self.__dict__:
            return getattr(self.models[0], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def classes_(self) -> NDArray[Any] | list[NDArray[Any]]:
        """All classes, including those that are missing from the training rows of some fold."""
        if self.classes is None:
            raise AttributeError("Values have no classes.")
        return self.classes[0] if len(self.classes) == 1 else self.classes

    @available_if(_models_have("predict_proba"))
    def predict_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """Mean of the models' probabilities."""
        outputs = split_by_output(self._average(X, "predict_proba"), self.classes or [])
        return outputs[0] if len(outputs) == 1 else outputs

    @available_if(_models_have("decision_function"))
    def decision_function(self, X: Any) -> FloatArray:
        """Mean of the models' decision functions."""
        decisions = self._average(X, "decision_function")
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest mean probability or of most votes, or the mean value."""
        if self.classes is None or is_regressor(self.models[0]):
            values = self._average(X, "predict")
            return values[:, 0] if values.shape[1] == 1 else values
        if hasattr(self, "predict_proba"):
            probabilities = self.predict_proba(X)
            outputs = probabilities if isinstance(probabilities, list) else [probabilities]
        else:
            votes = [predict_member(model, X, "predict", self.classes).astype(np.intp) for model in self.models]
            outputs = [np.mean([np.eye(len(c))[v[:, k]] for v in votes], axis=0) for k, c in enumerate(self.classes)]
        return decode_classes(outputs, self.classes)

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the average computes for a row; exports are written from it."""
        opened = open_members(self, self.models, row)
        if self.classes is None or is_regressor(self.models[0]):
            return ModelFormula(opened.row, opened.schema, self._average_term([m.value for m in opened.members]))
        classes, sizes = self.classes, [len(c) for c in self.classes]
        if not hasattr(self, "predict_proba"):
            raise refuse_formula(self, "averages members without probabilities")
        mean = self._average_term([align_probabilities(self, member, classes) for member in opened.members])
        decisions = [member.decision for member in opened.members if member.decision is not None]
        decision = self._average_term(decisions) if len(decisions) == len(self.models) else None
        return ModelFormula(opened.row, opened.schema, find_largest(mean, sizes), tuple(classes), mean, decision)

    def _average_term(self, terms: Sequence[FormulaTerm]) -> FormulaTerm:
        """`_average`, as a term of a formula."""
        total = add_weighted(np.ones(len(terms)), terms)
        return Arithmetic("/", total, ConstantTerm(np.array([float(len(terms))])))

    def _average(self, X: Any, method: str) -> FloatArray:
        total = np.zeros(1)
        for model in self.models:
            total = total + predict_member(model, X, method, self.classes)
        return np.asarray(total / len(self.models))
