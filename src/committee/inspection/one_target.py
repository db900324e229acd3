"""A model of several targets, looked at as a model of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from committee.base import available_if
from committee.engines.several_targets import list_target_columns, select_target_columns
from committee.engines.tree_model import present_trees
from committee.exceptions import ParameterError, ParameterTypeError
from committee.inspection.resampling import check_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from sklearn.utils import Tags

    from committee.engines.tree_model import TreeModel
    from committee.typing import AnyArray, EstimatorLike, FloatArray

__all__ = ["OneTarget", "count_targets"]

#: What a view has of its model.
_SHARED = frozenset({"n_features_in_", "feature_names_in_", "_schema", "accepts_infinity", "accepts_missing", "n_jobs"})


def count_targets(model: Any) -> int:
    """How many targets a fitted model predicts.

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> count_targets(DecisionTreeRegressor().fit([[0.0], [1.0]], [[0.0, 5.0], [1.0, 4.0]]))
    2
    """
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list):
        return len(classes)
    if classes is not None or hasattr(model, "predict_survival_function"):
        return 1
    return int(getattr(model, "n_outputs_", 1))


def _has(method: str) -> Callable[[Any], bool]:
    return lambda view: hasattr(view._get_source(), method)


class OneTarget:
    """A fitted model of several targets as a model of one, for tools that take one target.

    It predicts the target, with its probabilities, and presents the trees of its columns. AdaBoost and automatic
    committees have an ensemble for each target, which answers alone.

    Parameters
    ----------
    model : fitted estimator
        Of several targets.
    target : int
        The number of the target.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import RandomForestClassifier
    >>> from committee.inspection import OneTarget, partial_dependence
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> labels = np.column_stack([X[:, 0] > 0, X[:, 1] > 0])
    >>> view = OneTarget(RandomForestClassifier(10, random_state=0).fit(X, labels), 1)
    >>> view.predict_proba(X).shape, bool((view.predict(X) == labels[:, 1]).mean() > 0.95)
    ((200, 2), True)
    >>> average = partial_dependence(view, X, 1, grid_resolution=3)["average"][0]
    >>> bool(average[0] < 0.2 < 0.8 < average[2])
    True
    """

    def __init__(self, model: EstimatorLike, target: int) -> None:
        if isinstance(model, type) or not hasattr(model, "predict"):
            raise ParameterTypeError("The 'model' argument must be a fitted estimator with the method predict.")
        self.model: Any = model
        self.target = check_count("target", target, 0)
        if hasattr(model, "n_features_in_") and self.target >= count_targets(model):
            raise ParameterError(f"{type(model).__name__} has {count_targets(model)} targets; there is no {target}.")

    def __repr__(self) -> str:
        return f"OneTarget({self.model!r}, {self.target})"

    def __getattr__(self, name: str) -> Any:
        if name in _SHARED:
            return getattr(self.model, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_tags__(self) -> Tags:
        return self.model.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self.model, "n_features_in_")

    def __sklearn_clone__(self) -> OneTarget:
        return OneTarget(clone(self.model), self.target)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the model.

        Parameters
        ----------
        deep : bool, default=True
            Also those of estimators among them.

        Returns
        -------
        dict
        """
        params: dict[str, Any] = self.model.get_params(deep=deep)
        return params

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the model to all targets.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As for the model.
        y : array-like of shape (n_samples, n_targets)
            All targets.
        **params
            Further arguments of the model's `fit`.

        Returns
        -------
        self
        """
        self.model.fit(X, y, **params)
        return self

    def _get_own(self) -> Any:
        """The ensemble of this target; None if the targets share their members."""
        outputs = vars(self.model).get("_outputs") if hasattr(self.model, "__dict__") else None
        return None if outputs is None else outputs[self.target]

    def _get_source(self) -> Any:
        own = self._get_own()
        return self.model if own is None else own

    @property
    def shares_members(self) -> bool:
        """Whether the members of the model are of all targets together."""
        return self._get_own() is None

    @property
    def classes_(self) -> AnyArray:
        """Classes of the target."""
        classes: AnyArray = self.model.classes_[self.target]
        return classes

    @property
    def feature_importances_(self) -> FloatArray:
        """Those of the model: of this target where it has an ensemble of its own, otherwise of all together."""
        importances: FloatArray = self._get_source().feature_importances_
        return importances

    def predict(self, X: Any) -> AnyArray:
        """Classes or values of the target.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        own = self._get_own()
        return np.asarray(own.predict(X)) if own is not None else self._take(self.model.predict(X))

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class of the target.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        own = self._get_own()
        return np.asarray(own.predict_proba(X) if own is not None else self.model.predict_proba(X)[self.target])

    @available_if(_has("staged_predict"))
    def staged_predict(self, X: Any) -> Iterator[AnyArray]:
        """`predict` after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        own = self._get_own()
        stages: Iterator[AnyArray] = self._get_source().staged_predict(X)
        return map(self._take, stages) if own is None else stages

    @available_if(_has("staged_predict_proba"))
    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """`predict_proba` after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
        """
        own, stages = self._get_own(), self._get_source().staged_predict_proba(X)
        return (np.asarray(shares if own is not None else shares[self.target]) for shares in stages)

    def _take(self, predicted: AnyArray) -> AnyArray:
        own = np.asarray(predicted)[:, self.target]
        return own.astype(self.classes_.dtype) if hasattr(self.model, "classes_") else own

    def to_tree_model(self) -> TreeModel:
        """The fitted trees and how they are combined, for importance, partial dependence and Shapley values."""
        own = self._get_own()
        if own is not None:
            return present_trees(own)
        found = present_trees(self.model)
        classes = getattr(self.model, "classes_", None)
        columns = list_target_columns(classes, found.width, count_targets(self.model))[self.target]
        return select_target_columns(found, columns)
