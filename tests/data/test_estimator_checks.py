"""scikit-learn's estimator checks on a small estimator that is nothing but the door."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from committee.base import CommitteeEstimator
from committee.data import ClassTarget, ValueTarget, note_columns, take_in, take_in_rows
from committee.params import MaxDepth


class DoorClassifier(ClassifierMixin, CommitteeEstimator):
    """scikit-learn's tree behind our door."""

    def __init__(self, max_depth: MaxDepth = None) -> None:
        self.max_depth = max_depth

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DoorClassifier":
        self._validate_params()
        data = take_in(self, X, y, sample_weight, task="classify")
        assert isinstance(data.target, ClassTarget)
        tree = DecisionTreeClassifier(max_depth=self.max_depth, random_state=0)
        self.tree_ = tree.fit(as_dense(data.X), data.target.labels, sample_weight=data.weights)
        self.target_, self.schema_ = data.target, data.schema
        note_columns(self, data.schema)
        self.classes_ = data.target.classes[0] if data.target.n_outputs == 1 else data.target.classes
        return self

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        labels = self.tree_.predict(as_dense(take_in_rows(self, X, self.schema_))).astype(int)
        return self.target_.decode(labels.reshape(len(labels), -1))

    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.tree_.predict_proba(as_dense(take_in_rows(self, X, self.schema_)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


class DoorRegressor(RegressorMixin, CommitteeEstimator):
    """scikit-learn's tree behind our door, without missing values, sparse matrices or several outputs."""

    accepts_missing = False
    accepts_sparse = False
    accepts_categories = False

    def __init__(self, max_depth: MaxDepth = None) -> None:
        self.max_depth = max_depth

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DoorRegressor":
        self._validate_params()
        data = take_in(self, X, y, sample_weight, task="regress", multi_output=False)
        assert isinstance(data.target, ValueTarget)
        tree = DecisionTreeRegressor(max_depth=self.max_depth, random_state=0)
        self.tree_ = tree.fit(data.X, data.target.values, sample_weight=data.weights)
        self.schema_ = data.schema
        note_columns(self, data.schema)
        return self

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.tree_.predict(take_in_rows(self, X, self.schema_))


def as_dense(X: Any) -> np.ndarray:
    return X.toarray() if hasattr(X, "toarray") else X


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([DoorClassifier(), DoorRegressor()])
def test_the_door_passes_scikit_learns_checks(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)
