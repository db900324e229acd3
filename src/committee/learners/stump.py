"""The decision stump of the lectures: one question, chosen for the smallest weighted error."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np

from committee.learners.tree_base import ClassTree
from committee.params import CategoricalFeatures, ClassWeight, Exact, MaxBins, NJobs, Unseen

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.utils import Tags

__all__ = ["DecisionStumpClassifier"]

StumpCriterion: TypeAlias = Annotated[
    Literal["error", "gini"],
    "What the question must lower: the weighted share of wrong answers, or the Gini index.",
]


class DecisionStumpClassifier(ClassTree):
    """A single question: h(x) = b sign(x_j - theta) with the smallest weighted error.

    Feature j, threshold theta and sign b are chosen together so that the weight of the wrongly answered training
    rows is smallest; of equally good questions the one on the first feature, and there the lowest threshold, is
    taken. With more than two classes each side answers with its heaviest class. If no question is better than none,
    the stump answers the same everywhere: its threshold is then minus infinity.

    Attributes
    ----------
    feature_ : int
        The feature j that is asked about.
    threshold_ : float
        theta; NaN if the feature is a category, whose levels that go left are in ``tree_.left_categories[0]``.
    polarity_ : int
        b: 1 if the answer beyond the threshold is a later class than the one before it (for two classes: is
        ``classes_[1]``), -1 if an earlier one, 0 if both sides answer alike.
    left_class_, right_class_ : object
        Answers up to the threshold and beyond it.
    error_ : float
        Weighted share of wrong answers in training.
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

    # Nothing is drawn, so that the seed has no effect; fixed, it is not taken from NumPy's generator.
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
        n_jobs: NJobs = None,
    ) -> None:
        self._store_params(locals())

    def _answers(self) -> NDArray[np.intp]:
        """Class number that each side answers with, of shape (2, n_outputs): up to the threshold, beyond it."""
        self._fitted_trees()
        winners = self.tree_.value.argmax(axis=2)
        # A root alone is a question that everything answers with "beyond".
        return winners[1:] if len(winners) == 3 else np.repeat(winners, 2, axis=0)

    def _name_answer(self, side: int) -> Any:
        numbers = self._answers()[side]
        if self.n_outputs_ == 1:
            return self.classes_[numbers[0]]
        return np.array([classes[k] for classes, k in zip(self.classes_, numbers, strict=True)])

    @property
    def feature_(self) -> int:
        """The feature that is asked about; 0 where the stump answers the same everywhere."""
        self._fitted_trees()
        return max(0, int(self.tree_.feature[0]))

    @property
    def threshold_(self) -> float:
        """Rows with a value at or below it are on the left."""
        self._fitted_trees()
        return float(self.tree_.threshold[0]) if self.tree_.node_count > 1 else -np.inf

    @property
    def polarity_(self) -> Any:
        """The sign b; an array with several outputs."""
        left, right = self._answers()
        signs = np.sign(right - left)
        if self.tree_.node_count == 1:
            signs = np.where(right > 0, 1, -1)
        return int(signs[0]) if self.n_outputs_ == 1 else signs

    @property
    def left_class_(self) -> Any:
        """Answer up to the threshold; an array with several outputs."""
        return self._name_answer(0)

    @property
    def right_class_(self) -> Any:
        """Answer beyond the threshold; an array with several outputs."""
        return self._name_answer(1)

    @property
    def error_(self) -> float:
        """Weighted share of wrong answers in training, averaged over the outputs."""
        self._fitted_trees()
        leaves = self.tree_.class_weights[self.tree_.children_left < 0]
        stops = np.cumsum(self.tree_.n_classes)[:-1]
        wrong = [part.sum() - part.max(axis=1).sum() for part in np.split(leaves, stops, axis=1)]
        return float(np.mean(wrong) / self.tree_.weighted_n_node_samples[0])

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        # One question cannot tell three classes apart.
        tags.classifier_tags.poor_score = True
        return tags
