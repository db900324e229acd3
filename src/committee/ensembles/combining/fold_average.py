"""The models of the folds as one member: their mean answer, instead of one more fit on all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from committee.ensembles.combining.member_predictions import Classes, predict_member

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from committee.typing import FloatArray

__all__ = ["FoldAverage"]


def _models_have(method: str) -> Callable[[Any], bool]:
    return lambda average: hasattr(average.models[0], method)


class FoldAverage(BaseEstimator):  # type: ignore[misc]
    """Fitted models, one from each fold, that answer with their mean; a class is that of the largest mean share.

    Parameters
    ----------
    models : list of fitted estimators
        From the folds.
    classes : list of ndarray, or None
        The classes of each output as the models know them.
    """

    def __init__(self, models: list[Any], classes: Classes) -> None:
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
    def classes_(self) -> Any:
        """All classes, also those that some model has not met."""
        if self.classes is None:
            raise AttributeError("Values have no classes.")
        return self.classes[0] if len(self.classes) == 1 else self.classes

    @available_if(_models_have("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """Mean of the models' probabilities."""
        shares = self._average(X, "predict_proba")
        parts = np.split(shares, np.cumsum([len(c) for c in self.classes or []])[:-1], axis=1)
        return parts[0] if len(parts) == 1 else parts

    @available_if(_models_have("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Mean of the models' decisions."""
        decisions = self._average(X, "decision_function")
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest mean share or of most votes, or the mean value."""
        if self.classes is None or is_regressor(self.models[0]):
            values = self._average(X, "predict")
            return values[:, 0] if values.shape[1] == 1 else values
        if hasattr(self, "predict_proba"):
            said = self.predict_proba(X)
            parts = said if isinstance(said, list) else [said]
        else:
            votes = [predict_member(model, X, "predict", self.classes).astype(np.intp) for model in self.models]
            parts = [np.mean([np.eye(len(c))[v[:, k]] for v in votes], axis=0) for k, c in enumerate(self.classes)]
        chosen = [c.take(part.argmax(axis=1)) for c, part in zip(self.classes, parts, strict=True)]
        return chosen[0] if len(chosen) == 1 else np.stack(chosen, axis=1)

    def _average(self, X: Any, method: str) -> FloatArray:
        total: Any = 0.0
        for model in self.models:
            total = total + predict_member(model, X, method, self.classes)
        return np.asarray(total / len(self.models))
