"""Members of a boosted ensemble: how each is fitted on the weights of its round, and how they are asked together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from sklearn.base import clone

from committee.base import resolve_jobs, seed_estimator
from committee.data.rows import count_rows, densify_blocks
from committee.data.sampling import plan_samples
from committee.engines import get_engine
from committee.learners.tree_base import BaseTree
from committee.learners.tree_params import TreeSettings, count_features

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.data import Dataset, Schema
    from committee.typing import FloatArray, IndexArray

__all__ = [
    "BoostedMembers",
    "BoostedTrees",
    "Resampling",
    "can_share_bins",
    "choose_table",
    "is_plain_stump",
    "number_votes",
    "plan_resampling",
    "replace_leaves",
    "spread_shares",
]


def can_share_bins(estimator: Any, task: str) -> bool:
    """Whether members are trees of this library for the task, fitted as the library fits them."""
    return isinstance(estimator, BaseTree) and estimator._task == task and type(estimator).fit is BaseTree.fit


def is_plain_stump(estimator: BaseTree) -> bool:
    """Whether a tree of classes asks one question without further conditions, as the stump trainer does."""
    told = TreeSettings.of(estimator, **estimator._fixed)
    free = TreeSettings(told.owner, told.criterion)
    ignored = {"max_depth", "exact", "random_state", "shuffle_ties", "n_jobs"}
    return (
        told.max_depth == 1
        and getattr(estimator, "class_weight", None) is None
        and all(getattr(told, name) == getattr(free, name) for name in told.__slots__ if name not in ignored)
    )


def choose_table(X: Any, dataset: Dataset) -> Any:
    """The table as members of other libraries read it: numbers as such, categories as they came."""
    if dataset.schema.has_categories:
        return X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    return dataset.X if isinstance(dataset.X, np.ndarray) else dataset.X.tocsr()


@dataclass(frozen=True)
class Resampling:
    """A sample of the rows for each round, with replacement, the chance of a row proportional to its weight."""

    seed: int
    n_draws: int

    def draw_counts(self, weights: FloatArray, member: int) -> IndexArray:
        """How often each row is in the sample of a round."""
        engine = get_engine()
        sampling = engine.RowSampling()
        sampling.replace, sampling.n_draws = True, self.n_draws
        sampling.weights = weights
        return engine.draw_rows(sampling, self.seed, member, len(weights))


def plan_resampling(owner: str, dataset: Dataset, sample_weight: Any, seed: int) -> Resampling:
    """As many draws as there are rows; weights that are whole multiples of the smallest one count as so many rows."""
    return Resampling(seed, plan_samples(owner, dataset, bootstrap=True, sample_weight=sample_weight).n_draws)


# --- fitted members ----------------------------------------------------------------------------------------------


class BoostedTrees(Sequence[BaseTree]):
    """Trees in one arena; each is made an estimator of its own when it is looked at.

    Parameters
    ----------
    estimator : BaseTree
        With the parameters that all members have.
    trees : Trees
        All of them.
    importances : ndarray of shape (n_members, n_features)
        Decrease of impurity by each feature in each tree.
    schema : Schema
        The columns of the table.
    named : dict
        Fitted attributes about the target.
    seed : int
        The ensemble's.
    """

    def __init__(
        self, estimator: BaseTree, trees: Any, importances: FloatArray, schema: Schema, named: dict[str, Any], seed: int
    ) -> None:
        self.estimator, self.trees, self.importances = estimator, trees, importances
        self.schema, self.named, self.seed = schema, named, seed
        self._scored: Any = None

    def __len__(self) -> int:
        return int(self.trees.n_trees)

    @overload
    def __getitem__(self, index: int) -> BaseTree: ...
    @overload
    def __getitem__(self, index: slice) -> list[BaseTree]: ...
    def __getitem__(self, index: int | slice) -> BaseTree | list[BaseTree]:
        numbers = range(len(self))[index]
        return [self._view(k) for k in numbers] if isinstance(numbers, range) else self._view(numbers)

    def __repr__(self) -> str:
        return f"<{len(self)} members: {type(self.estimator).__name__}>"

    def _view(self, member: int) -> BaseTree:
        wanted = TreeSettings.of(self.estimator, **self.estimator._fixed).max_features
        settled = {**self.named, "max_features_": count_features(wanted, self.schema.n_features)}
        seeded = seed_estimator(clone(self.estimator), self.seed, member)
        tree = self.trees.select(member, member + 1)
        return seeded.hold_tree(tree, self.importances[member], self.schema, settled)  # type: ignore[no-any-return]

    def cut(self, n_members: int) -> BoostedTrees:
        """The first so many members."""
        trees, importances = self.trees.select(0, n_members), self.importances[:n_members]
        return BoostedTrees(self.estimator, trees, importances, self.schema, self.named, self.seed)

    def vote(self, rows: Any, weights: FloatArray, n_classes: int, span: range, n_jobs: int | None) -> FloatArray:
        """For each row and class the weight of the members of a span that vote for it."""
        return self._predict(self.trees, rows, "vote", weights, span, n_jobs)

    def score(
        self,
        rows: Any,
        weights: FloatArray,
        to_scores: Callable[[FloatArray], FloatArray],
        span: range,
        n_jobs: int | None,
    ) -> FloatArray:
        """The weighted sum of the scores that members of a span make of their probabilities."""
        if self._scored is None:
            self._scored = score_leaves(self.trees, to_scores)
        return self._predict(self._scored, rows, "sum", weights, span, n_jobs)

    def tell_values(
        self, rows: Any, weights: FloatArray, columns: IndexArray, span: range, n_jobs: int | None
    ) -> FloatArray:
        """What members of a span predict, times their weights, summed up in the column that each one belongs to."""
        width = int(columns.max()) + 1
        return self._predict(self.trees, rows, "sum", weights, span, n_jobs, slots=columns, out_width=width)

    @staticmethod
    def _predict(
        trees: Any, rows: Any, how: str, weights: FloatArray, span: range, n_jobs: int | None, **more: Any
    ) -> FloatArray:
        jobs = 1 if rows.shape[0] == 1 else resolve_jobs(n_jobs)
        options = {"tree_weights": weights, "first": span.start, "last": span.stop, "n_jobs": jobs, **more}
        if isinstance(rows, np.ndarray):
            return trees.predict(rows, how, **options)  # type: ignore[no-any-return]
        return np.concatenate([trees.predict(block, how, **options) for _, block in densify_blocks(rows)])

    def weigh_importances(self, weights: FloatArray) -> FloatArray:
        """Mean of the members' importances, each normalised, by weight."""
        sums = self.importances.sum(axis=1, keepdims=True)
        own = np.divide(self.importances, sums, out=np.zeros_like(self.importances), where=sums > 0.0)
        return np.asarray((weights[:, None] * own).sum(axis=0) / weights.sum())


def score_leaves(trees: Any, to_scores: Callable[[FloatArray], FloatArray]) -> Any:
    """Trees of class weights as trees of scores."""

    def score(values: FloatArray) -> FloatArray:
        return to_scores(values / values.sum(axis=1, keepdims=True))

    return replace_leaves(trees, score, keep_weights=False)


def replace_leaves(trees: Any, replace: Callable[[FloatArray], FloatArray], *, keep_weights: bool) -> Any:
    """Trees of the same splits whose leaves hold other values; questions about features need their training weights."""
    state = dict(trees.__getstate__())
    values = np.asarray(state["values"], dtype=np.float64)
    weights = np.asarray(state["leaf_weights"])
    if keep_weights and not len(weights) and len(state["outputs"]):
        # The arena leaves out what it can derive: the weight of a leaf is the sum over its classes.
        weights = values.sum(axis=1)
    state["values"] = np.ascontiguousarray(replace(values))
    state["outputs"] = []
    state["leaf_weights"] = weights if keep_weights else weights[:0]
    for name in ("leaf_samples", "node_impurity"):
        state[name] = state[name][:0]
    return get_engine().Trees.from_arrays(state)


class BoostedMembers:
    """Fitted estimators of any kind.

    Parameters
    ----------
    estimators : list
        In the order of the rounds.
    classes : ndarray
        The classes that they name, sorted.
    """

    def __init__(self, estimators: list[Any], classes: NDArray[Any]) -> None:
        self.estimators, self.classes = estimators, classes

    def __len__(self) -> int:
        return len(self.estimators)

    def cut(self, n_members: int) -> BoostedMembers:
        """The first so many members."""
        return BoostedMembers(self.estimators[:n_members], self.classes)

    def vote(self, rows: Any, weights: FloatArray, n_classes: int, span: range, n_jobs: int | None) -> FloatArray:
        """For each row and class the weight of the members of a span that vote for it."""
        sums, each = np.zeros((count_rows(rows), n_classes)), np.arange(count_rows(rows))
        for t in span:
            sums[each, number_votes(self.estimators[t], rows, self.classes)] += weights[t]
        return sums

    def score(
        self,
        rows: Any,
        weights: FloatArray,
        to_scores: Callable[[FloatArray], FloatArray],
        span: range,
        n_jobs: int | None,
    ) -> FloatArray:
        """The weighted sum of the scores that members of a span make of their probabilities."""
        sums = np.zeros((count_rows(rows), len(self.classes)))
        for t in span:
            sums += weights[t] * to_scores(spread_shares(self.estimators[t], rows, self.classes))
        return sums

    def tell_values(
        self, rows: Any, weights: FloatArray, columns: IndexArray, span: range, n_jobs: int | None
    ) -> FloatArray:
        """What members of a span predict, times their weights, summed up in the column that each one belongs to."""
        sums = np.zeros((count_rows(rows), int(columns.max()) + 1))
        for t in span:
            sums[:, columns[t]] += weights[t] * np.asarray(self.estimators[t].predict(rows), np.float64).reshape(-1)
        return sums

    def weigh_importances(self, weights: FloatArray) -> FloatArray:
        """Mean of the members' importances by weight."""
        for member in self.estimators:
            if not hasattr(member, "feature_importances_"):
                raise AttributeError(f"{type(member).__name__} has no feature_importances_.")
        own = np.stack([member.feature_importances_ for member in self.estimators])
        return np.asarray((weights[:, None] * own).sum(axis=0) / weights.sum())


def number_votes(member: Any, rows: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Number of the class that a member predicts for each row."""
    return np.asarray(np.searchsorted(classes, np.asarray(member.predict(rows))), dtype=np.intp)


def spread_shares(member: Any, rows: Any, classes: NDArray[Any]) -> FloatArray:
    """Probabilities of a member, in the columns of all classes though it may have met only some."""
    shares = np.asarray(member.predict_proba(rows), dtype=np.float64)
    if shares.shape[1] == len(classes):
        return shares
    spread = np.zeros((len(shares), len(classes)))
    spread[:, np.searchsorted(classes, member.classes_)] = shares
    return spread


# --- members on their way ----------------------------------------------------------------------------------------
