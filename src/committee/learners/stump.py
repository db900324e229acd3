"""The decision stump of the lectures: a single split, chosen for the smallest weighted error."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np

from committee.learners.tree_base import ClassTree
from committee.learners.tree_estimator import split_outputs
from committee.params import CategoricalFeatures, ClassWeight, Exact, MaxBins, NJobs, TextColumns, Unseen

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.utils import Tags

__all__ = ["DecisionStumpClassifier"]

StumpCriterion: TypeAlias = Annotated[
    Literal["error", "gini"],
    "What the split minimises: the weighted error rate, or the Gini index.",
]


class DecisionStumpClassifier(ClassTree):
    """A single split: h(x) = b sign(x_j - theta) with the smallest weighted error.

    Feature j, threshold theta and sign b are chosen together so that the weight of the misclassified training rows is
    smallest; of equally good splits the one on the first feature, and there the lowest threshold, is taken. With more
    than two classes each side predicts the class with the largest weight. If no split lowers the error, the
    prediction is the same everywhere: the threshold is then minus infinity.

    Attributes
    ----------
    feature_ : int
        The feature j that is split on.
    threshold_ : float
        theta; NaN if the feature is categorical; the categories that go left are then in ``tree_.left_categories[0]``.
    polarity_ : int
        b: 1 if the class predicted above the threshold comes later in ``classes_`` than that below it (of two classes:
        is ``classes_[1]``), -1 if earlier, 0 if both sides predict the same class.
    left_class_, right_class_ : object
        Classes predicted up to the threshold and above it.
    error_ : float
        Weighted training error.
    classes_ : ndarray
        The classes, sorted.
    tree_ : TreeView
        The stump as a tree of depth one.

    Examples
    --------
    Ten points on a line, as in the lectures:

    >>> from committee import DecisionStumpClassifier
    >>> X = [[x] for x in range(10)]
    >>> y = [1, 1, 1, -1, -1, -1, 1, 1, 1, -1]
    >>> stump = DecisionStumpClassifier().fit(X, y)
    >>> stump.threshold_, stump.polarity_, stump.error_
    (2.5, -1, 0.3)
    """

    # No random numbers are used; a fixed seed is not drawn from NumPy's global generator.
    _fixed = MappingProxyType({"max_depth": 1, "random_state": 0, "shuffle_ties": False})

    def __init__(
        self,
        *,
        criterion: StumpCriterion = "error",
        exact: Exact = True,
        max_bins: MaxBins = 255,
        class_weight: ClassWeight = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        n_jobs: NJobs = None,
    ) -> None:
        self._store_params(locals())

    def _class_numbers(self) -> NDArray[np.intp]:
        """Class number that each side predicts, of shape (2, n_outputs): up to the threshold, above it."""
        self.fitted_trees()
        winners = self.tree_.value.argmax(axis=2)
        # In a root alone all rows are above the threshold, minus infinity.
        return winners[1:] if len(winners) == 3 else np.repeat(winners, 2, axis=0)

    def _class_of_side(self, side: int) -> Any:
        numbers = self._class_numbers()[side]
        if self.n_outputs_ == 1:
            return self.classes_[numbers[0]]
        return np.array([classes[k] for classes, k in zip(self.classes_, numbers, strict=True)])

    @property
    def feature_(self) -> int:
        """The feature that is split on; 0 where there is no split."""
        self.fitted_trees()
        return max(0, int(self.tree_.feature[0]))

    @property
    def threshold_(self) -> float:
        """Rows with a value at or below it are on the left."""
        self.fitted_trees()
        return float(self.tree_.threshold[0]) if self.tree_.node_count > 1 else -np.inf

    @property
    def polarity_(self) -> int | NDArray[np.intp]:
        """The sign b; an array with several outputs."""
        left, right = self._class_numbers()
        signs = np.sign(right - left)
        if self.tree_.node_count == 1:
            signs = np.where(right > 0, 1, -1)
        return int(signs[0]) if self.n_outputs_ == 1 else signs

    @property
    def left_class_(self) -> Any:
        """Class predicted up to the threshold; an array with several outputs."""
        return self._class_of_side(0)

    @property
    def right_class_(self) -> Any:
        """Class predicted above the threshold; an array with several outputs."""
        return self._class_of_side(1)

    @property
    def error_(self) -> float:
        """Weighted training error, averaged over the outputs."""
        self.fitted_trees()
        leaves = self.tree_.class_weights[self.tree_.children_left < 0]
        outputs = split_outputs(leaves, self.tree_.n_classes)
        wrong = [output.sum() - output.max(axis=1).sum() for output in outputs]
        return float(np.mean(wrong) / self.tree_.weighted_n_node_samples[0])

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        # One split cannot separate three classes.
        tags.classifier_tags.poor_score = True
        return tags
