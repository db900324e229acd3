"""The verbs of an engine. The compiled core is the CPU engine itself: a module can satisfy a protocol.

Arrays go in as NumPy arrays that :mod:`committee.data` has checked; an engine trusts them. ``n_jobs`` is the number
that :func:`committee.base.resolve_jobs` gives, 0 to decide by the work.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from committee.typing import FloatArray, FloatMatrix, IndexArray

__all__ = ["BinnedColumns", "Engine", "GrownTrees", "SortedColumns"]


class BinnedColumns(Protocol):
    """A table in bytes: at most 255 bins a column, the last code for missing. Immutable and shared."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def n_cols(self) -> int:
        """The number of columns."""
        ...


class SortedColumns(Protocol):
    """The order of the rows by each column, for exact splits. Immutable and shared."""

    @property
    def order(self) -> Any:
        """For each column the rows in ascending order of its values, missing ones last."""
        ...


class GrownTrees(Protocol):
    """One or many trees in one arena."""

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        ...

    @property
    def n_features(self) -> int:
        """The number of columns that rows to predict must have."""
        ...

    def predict(self, X: FloatMatrix, /, *args: Any, **options: Any) -> Any:
        """The combined values of the leaves that each row falls into, of shape (n_rows, width)."""
        ...

    def answer_boosted(self, X: FloatMatrix, /, *args: Any, **options: Any) -> Any:
        """Scores of boosted trees, or predictions by the inverse link of a loss, of shape (n_rows, n_scores)."""
        ...

    def apply(self, X: FloatMatrix, /, *args: Any, **options: Any) -> Any:
        """The leaf of each row in each tree, of shape (n_rows, n_trees)."""
        ...

    def label(self, X: FloatMatrix, /, *args: Any, **options: Any) -> Any:
        """The class of the leaf of each row, of shape (n_rows, n_outputs); for one tree."""
        ...


class Engine(Protocol):
    """What a learner asks of an engine.

    The order of a fit: columns are binned (and sorted, for exact splits) once for each data set, then trees are
    grown from that as often as the ensemble wants, each with weights of its own.
    """

    GrowParams: Any
    RowSampling: Any
    ForestPlan: Any
    Trees: Any
    PermutationStudy: Any
    #: Boosting on words: the table of documents with its verbs, the weights of their labels, a stump.
    WordTable: Any
    LabelWeights: Any
    WordStump: Any
    Boosting: Any
    BoostingParams: Any
    StumpTrainer: Any

    def grow_tree(
        self,
        data: Any,
        presort: Any,
        labels: IndexArray | None,
        n_classes: list[int],
        values: FloatArray | None,
        weights: FloatArray | None,
        params: Any,
    ) -> tuple[Any, NDArray[Any]]:
        """A tree, and the importance of each feature in it."""
        ...

    def grow_forest(
        self,
        data: Any,
        presort: Any,
        labels: IndexArray | None,
        n_classes: list[int],
        values: FloatArray | None,
        weights: FloatArray | None,
        params: Any,
        plan: Any,
        progress: Any = None,
    ) -> tuple[Any, FloatArray]:
        """The trees that the plan numbers, one a thread, and their importances, of shape (n_trees, n_features)."""
        ...

    def draw_rows(self, sampling: Any, seed: int, member: int, n_rows: int) -> IndexArray:
        """How often each row is in the sample of a member."""
        ...

    def draw_member_features(self, sampling: Any, seed: int, member: int, n_features: int) -> Any:
        """Numbers of the features of a member, ascending."""
        ...

    def add_out_of_bag(
        self, trees: Any, x: FloatMatrix, plan: Any, seed: int, n_jobs: int, sums: FloatArray, n_votes: IndexArray
    ) -> None:
        """Add what trees say of rows that their samples do not hold, in place and in tree order."""
        ...

    def judge_features(
        self,
        trees: Any,
        x: FloatMatrix,
        labels: IndexArray | None,
        n_classes: list[int],
        values: FloatArray | None,
        weights: FloatArray | None,
        plan: Any,
        seed: int,
        n_repeats: int,
        n_jobs: int,
    ) -> FloatArray:
        """Importance of each feature by out-of-bag rows, of shape (n_features, n_repeats); see oob_importance.hpp."""
        ...

    def explain_rows(
        self,
        trees: Any,
        X: FloatMatrix,
        combine: str,
        tree_weights: FloatArray | None,
        slots: IndexArray | None,
        out_width: int,
        pairs: bool,
        n_jobs: int,
    ) -> tuple[FloatArray, FloatArray]:
        """Path-dependent Shapley values (row, feature, column), or of pairs, and the base of each column."""
        ...

    def explain_against(
        self,
        trees: Any,
        X: FloatMatrix,
        background: FloatMatrix,
        weights: FloatArray | None,
        combine: str,
        tree_weights: FloatArray | None,
        slots: IndexArray | None,
        out_width: int,
        n_jobs: int,
    ) -> tuple[FloatArray, FloatArray]:
        """Interventional Shapley values against the rows of a background, and the base of each column."""
        ...

    def average_by_weight(
        self,
        trees: Any,
        features: IndexArray,
        points: FloatArray,
        combine: str,
        tree_weights: FloatArray | None,
        slots: IndexArray | None,
        out_width: int,
        n_jobs: int,
    ) -> FloatArray:
        """The sum of the trees at points in the space of some features, averaged over the others by weight."""
        ...

    def average_by_rows(
        self,
        trees: Any,
        X: FloatMatrix,
        weights: FloatArray | None,
        features: IndexArray,
        points: FloatArray,
        combine: str,
        tree_weights: FloatArray | None,
        slots: IndexArray | None,
        out_width: int,
        individual: bool,
        n_jobs: int,
    ) -> FloatArray:
        """The sum of the trees for rows with some features replaced by those of each point, or its mean over rows."""
        ...

    def find_pruning_path(
        self,
        data: Any,
        presort: Any,
        labels: IndexArray | None,
        n_classes: list[int],
        values: FloatArray | None,
        weights: FloatArray | None,
        params: Any,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """The effective alphas of minimal cost-complexity pruning, and the impurity that is left at each."""
        ...

    def concatenate_trees(self, trees: Any) -> Any:
        """The trees of several arenas in one, in order."""
        ...
