"""The trees of a boosted model, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.learners.tree import DecisionTreeRegressor
from committee.learners.tree_params import count_features

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import DTypeLike, NDArray

    from committee.data.dataset import Schema
    from committee.engines import Trees

__all__ = ["BoostedTreeTable"]


class BoostedTreeTable:
    """Trees by round and by score; each is made a regression tree when it is indexed.

    The leaf values of a tree are added to a score; the learning rate is in them. With the initial scores all trees sum
    to `decision_function` or, before the inverse link, to `predict`. Impurities are not kept.

    Parameters
    ----------
    trees : Trees
        The arena.
    schema : Schema
        The columns that they were grown on.
    n_rounds : int
        Rounds; the trees of a round are next to one another.
    params : sequence of dict
        Parameters of the trees from round ``first_round`` on, in the order of rounds.
    """

    def __init__(self, trees: Trees, schema: Schema, n_rounds: int, params: Sequence[dict[str, Any]] = ()) -> None:
        self._trees, self._schema, self._params = trees, schema, params
        self._numbers = np.arange(trees.n_trees).reshape(n_rounds, trees.n_trees // max(1, n_rounds))

    @property
    def shape(self) -> tuple[int, ...]:
        """Rounds, and trees of a round."""
        return self._numbers.shape

    @property
    def ndim(self) -> int:
        """Two."""
        return self._numbers.ndim

    @property
    def size(self) -> int:
        """Number of trees."""
        return self._numbers.size

    @property
    def flat(self) -> Iterator[DecisionTreeRegressor]:
        """All trees, one after another."""
        return (self._view_one(int(number)) for number in self._numbers.flat)

    def ravel(self) -> NDArray[Any]:
        """All trees in a row."""
        return self._view(self._numbers.ravel())

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self._view(numbers) for numbers in self._numbers)

    def __getitem__(self, index: int | slice | tuple[int | slice, ...]) -> DecisionTreeRegressor | NDArray[Any]:
        numbers = self._numbers[index]
        return self._view_one(int(numbers)) if np.ndim(numbers) == 0 else self._view(numbers)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return self._view(self._numbers)

    def __repr__(self) -> str:
        return f"<{self.shape[0]} rounds of {self.shape[1]} trees>"

    def _view(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        trees = np.empty(numbers.shape, dtype=object)
        for position, number in np.ndenumerate(numbers):
            trees[position] = self._view_one(int(number))
        return trees

    def _view_one(self, number: int) -> DecisionTreeRegressor:
        unknown = np.full(self._schema.n_features, np.nan)
        tree = self._trees.select(number, number + 1).without_impurities()  # these have no meaning in boosting
        estimator = DecisionTreeRegressor(**self._find_params(number // self.shape[1]))
        n_drawn = count_features(estimator.max_features, self._schema.n_features)
        attributes = {"n_outputs_": self._trees.width, "max_features_": n_drawn}
        return estimator.hold_tree(tree, unknown, self._schema, attributes)

    def _find_params(self, n_round: int) -> dict[str, Any]:
        """Parameters of the trees of a round."""
        began = [params for params in self._params if params["first_round"] <= n_round]
        return {name: value for name, value in began[-1].items() if name != "first_round"} if began else {}
