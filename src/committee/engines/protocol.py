"""The interface of an engine. The compiled core is the CPU engine itself: a module can satisfy a protocol.

Arrays are passed as NumPy arrays that :mod:`committee.data` has checked; an engine trusts them. ``n_jobs`` is the
number that :func:`committee.base.resolve_jobs` returns, 0 to decide by the amount of work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.typing import FloatArray, FloatMatrix, IndexArray

if TYPE_CHECKING:
    from committee import _core

__all__ = ["Engine"]


class Engine(Protocol):
    """What a learner needs of an engine.

    The order of a fit: columns are binned (and sorted, for exact splits) once per data set. Trees are then grown from
    the bins as often as the ensemble needs, each with its own weights.
    """

    @property
    def GrowParams(self) -> type[_core.GrowParams]:
        """Parameters of a tree."""
        ...

    @property
    def RowSampling(self) -> type[_core.RowSampling]:
        """How the rows and features of a member are sampled."""
        ...

    @property
    def ForestPlan(self) -> type[_core.ForestPlan]:
        """Which trees of a forest to grow, and from which samples."""
        ...

    @property
    def IsolationPlan(self) -> type[_core.IsolationPlan]:
        """Which trees of an isolation forest to grow, and from which samples."""
        ...

    @property
    def Trees(self) -> type[_core.Trees]:
        """Trees in one arena."""
        ...

    @property
    def PermutationStudy(self) -> type[_core.PermutationStudy]:
        """Predictions with one feature permuted."""
        ...

    @property
    def WordTable(self) -> type[_core.WordTable]:
        """The documents of a text, by word."""
        ...

    @property
    def LabelWeights(self) -> type[_core.LabelWeights]:
        """The weight of each pair of document and label."""
        ...

    @property
    def WordStump(self) -> type[_core.WordStump]:
        """A stump on the presence of a word."""
        ...

    def make_rank_loss(
        self,
        name: str,
        rows: IndexArray,
        offsets: NDArray[np.uint64],
        labels: FloatArray,
        gains: FloatArray,
        weights: FloatArray,
        sigmoid: float,
        truncation_level: int,
        normalize: bool,
    ) -> _core.GroupLoss:
        """The ranking loss of the rows of queries."""
        ...

    def make_distribution_loss(self, name: str, target: FloatArray, weights: FloatArray) -> _core.GroupLoss:
        """The loss of a distribution with two scores a row."""
        ...

    @property
    def LogisticLevels(self) -> type[_core.LogisticLevels]:
        """Rows of ordered levels behind a score with logistic noise."""
        ...

    @property
    def AdditiveBoosting(self) -> type[_core.AdditiveBoosting]:
        """The state of an additive model between cycles."""
        ...

    @property
    def AdditiveParams(self) -> type[_core.AdditiveParams]:
        """Parameters of additive models."""
        ...

    @property
    def Boosting(self) -> type[_core.Boosting]:
        """The state of gradient boosting between rounds."""
        ...

    @property
    def BoostingParams(self) -> type[_core.BoostingParams]:
        """Parameters of gradient boosting."""
        ...

    @property
    def StumpTrainer(self) -> type[_core.StumpTrainer]:
        """The state of boosted stumps between rounds."""
        ...

    def grow_tree(
        self,
        data: _core.BinnedMatrix,
        presort: _core.Presort | None,
        labels: IndexArray | None,
        n_classes: Sequence[int],
        values: FloatArray | None,
        weights: FloatArray | None,
        params: _core.GrowParams,
    ) -> tuple[_core.Trees, FloatArray]:
        """A tree, and the importance of each feature in it."""
        ...

    def grow_forest(
        self,
        data: _core.BinnedMatrix,
        presort: _core.Presort | None,
        labels: IndexArray | None,
        n_classes: Sequence[int],
        values: FloatArray | None,
        weights: FloatArray | None,
        params: _core.GrowParams,
        plan: _core.ForestPlan,
        progress: Callable[[int], object] | None = None,
    ) -> tuple[_core.Trees, FloatArray]:
        """The trees of the plan, one per thread, and their importances, of shape (n_trees, n_features)."""
        ...

    def draw_rows(self, sampling: _core.RowSampling, seed: int, member: int, n_rows: int) -> IndexArray:
        """How often each row is in the sample of a member."""
        ...

    def draw_member_features(self, sampling: _core.RowSampling, seed: int, member: int, n_features: int) -> list[int]:
        """Indices of the features of a member, ascending."""
        ...

    def find_tree_seed(self, seed: int, tree: int) -> int:
        """The seed under which tree 0 has the random numbers that a tree of a forest has under the forest's seed."""
        ...

    def find_staged_medians(self, values: FloatArray, weights: FloatArray, share: float, n_jobs: int = 0) -> FloatArray:
        """Weighted medians of the first members, for each number of them, (n_members, n_rows)."""
        ...

    def sum_comparable_pairs(
        self,
        event: NDArray[np.uint8],
        time: FloatArray,
        score: FloatArray,
        event_part: FloatArray,
        later_part: FloatArray,
    ) -> tuple[float, float, float, float]:
        """Sums over comparable pairs of censored times: concordant, discordant, of equal score; pairs of equal time."""
        ...

    def add_out_of_bag(
        self,
        trees: _core.Trees,
        x: FloatMatrix,
        plan: _core.ForestPlan,
        seed: int,
        n_jobs: int,
        sums: FloatArray,
        n_votes: IndexArray,
    ) -> None:
        """Add the predictions of trees for rows outside their samples, in place and in tree order."""
        ...

    def grow_isolation_forest(
        self,
        x: FloatMatrix,
        n_levels: IndexArray,
        plan: _core.IsolationPlan,
        seed: int,
        n_jobs: int,
        progress: Callable[[int], object] | None = None,
    ) -> _core.Trees:
        """The trees of the plan; the value of a leaf is its depth plus the average path length of its rows."""
        ...

    def grow_isolation_forest_csc(
        self,
        data: FloatMatrix,
        indices: NDArray[np.int32] | NDArray[np.int64],
        indptr: NDArray[np.int32] | NDArray[np.int64],
        shape: tuple[int, int],
        n_levels: IndexArray,
        plan: _core.IsolationPlan,
        seed: int,
        n_jobs: int,
        progress: Callable[[int], object] | None = None,
    ) -> _core.Trees:
        """The same for a table in compressed sparse columns."""
        ...

    def draw_isolation_rows(self, sampling: _core.RowSampling, seed: int, tree: int, n_rows: int) -> IndexArray:
        """Rows in the sample of a tree of an isolation forest, ascending, as often as they occur."""
        ...

    def average_path_length(self, n_rows: float) -> float:
        """Mean path length of an unsuccessful search in a binary search tree of n rows."""
        ...

    def permute_features(
        self,
        trees: _core.Trees,
        x: FloatMatrix,
        labels: IndexArray | None,
        n_classes: Sequence[int],
        values: FloatArray | None,
        weights: FloatArray | None,
        plan: _core.ForestPlan,
        seed: int,
        n_repeats: int,
        n_jobs: int,
        columns: IndexArray | None = None,
    ) -> FloatArray:
        """Permutation importance of each feature on out-of-bag rows, of shape (n_features, n_repeats).

        With the column that each feature comes from, the features of a column are permuted together, and the first
        rows of the result are those of the columns.
        """
        ...

    def explain_rows(
        self,
        trees: _core.Trees,
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
        trees: _core.Trees,
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
        trees: _core.Trees,
        features: IndexArray,
        points: FloatArray,
        combine: str,
        tree_weights: FloatArray | None,
        slots: IndexArray | None,
        out_width: int,
        n_jobs: int,
    ) -> FloatArray:
        """Partial dependence at points in the space of some features, by the training weights of the nodes."""
        ...

    def average_by_rows(
        self,
        trees: _core.Trees,
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
        """Predictions for rows with some features replaced by each point, per row or averaged over rows."""
        ...

    def find_pruning_path(
        self,
        data: _core.BinnedMatrix,
        presort: _core.Presort | None,
        labels: IndexArray | None,
        n_classes: Sequence[int],
        values: FloatArray | None,
        weights: FloatArray | None,
        params: _core.GrowParams,
    ) -> tuple[FloatArray, FloatArray]:
        """The effective alphas of minimal cost-complexity pruning, and the total leaf impurity at each."""
        ...

    def concatenate_trees(self, parts: Sequence[_core.Trees], n_jobs: int = 1) -> _core.Trees:
        """The trees of several arenas in one, in order."""
        ...
