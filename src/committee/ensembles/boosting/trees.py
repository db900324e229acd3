"""The trees of a boosted model, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.engines import get_engine
from committee.learners.tree import DecisionTreeRegressor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from committee.data.dataset import Schema

__all__ = ["BoostedTreeTable"]


class BoostedTreeTable:
    """Trees by round and by score, each made a tree of its own when it is looked at.

    What a tree says is its share in the scores, the learning rate included: with what the scores start from, all of
    them add up to `decision_function` or, before the inverse link, to `predict`. Impurities are not kept.

    Parameters
    ----------
    trees : Trees
        The arena.
    schema : Schema
        The columns that they were grown on.
    n_rounds : int
        Rounds; the trees of one lie side by side.
    """

    def __init__(self, trees: Any, schema: Schema, n_rounds: int) -> None:
        self._trees, self._schema = trees, schema
        self._numbers = np.arange(trees.n_trees).reshape(n_rounds, trees.n_trees // max(1, n_rounds))

    @property
    def shape(self) -> tuple[int, ...]:
        """Rounds, and trees of a round."""
        return self._numbers.shape

    def ravel(self) -> NDArray[Any]:
        """All trees in a row."""
        return self._view(self._numbers.ravel())

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self._view(numbers) for numbers in self._numbers)

    def __getitem__(self, index: Any) -> Any:
        numbers = self._numbers[index]
        return self._view_one(int(numbers)) if np.ndim(numbers) == 0 else self._view(numbers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self._view(self._numbers)

    def __repr__(self) -> str:
        return f"<{self.shape[0]} rounds of {self.shape[1]} trees>"

    def _view(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        trees = np.empty(numbers.shape, dtype=object)
        for place, number in np.ndenumerate(numbers):
            trees[place] = self._view_one(int(number))
        return trees

    def _view_one(self, number: int) -> DecisionTreeRegressor:
        state = dict(self._trees.select(number, number + 1).__getstate__())
        state["node_impurity"] = state["node_impurity"][:0]
        unknown = np.full(self._schema.n_features, np.nan)
        settled = {"n_outputs_": int(self._trees.width), "max_features_": self._schema.n_features}
        return DecisionTreeRegressor().hold_tree(get_engine().Trees.from_arrays(state), unknown, self._schema, settled)
