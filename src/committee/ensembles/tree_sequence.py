"""The members of an ensemble of trees as a sequence of fitted trees, made from one arena on access."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, overload
from weakref import WeakKeyDictionary, WeakValueDictionary

from sklearn.base import clone

from committee.base import seed_estimator
from committee.learners.tree_base import BaseTree
from committee.learners.tree_params import count_features

if TYPE_CHECKING:
    from committee.data import Schema
    from committee.engines import Trees
    from committee.learners.tree_importances import MemberImportances
    from committee.typing import FloatArray

__all__ = ["TreeSequence", "find_views", "keep_views"]


class _Views(NamedTuple):
    """The members of an ensemble that are in use as objects, by number, and the arena that they come from."""

    trees: Trees
    members: WeakValueDictionary[int, BaseTree]


# Weak, so that a member is one object as long as someone holds it, and takes no memory afterwards. Not in the ensembles
# themselves, whose attributes are copied, pickled and saved.
_VIEWS: WeakKeyDictionary[object, _Views] = WeakKeyDictionary()


def find_views(ensemble: object, trees: Trees) -> WeakValueDictionary[int, BaseTree]:
    """The members of an ensemble that are in use as objects, by number.

    Parameters
    ----------
    ensemble : estimator
        Its fitted members are in `trees`.
    trees : Trees
        The arena; objects made from an earlier one are forgotten.
    """
    known = _VIEWS.get(ensemble)
    if known is None or known.trees is not trees:
        known = _VIEWS[ensemble] = _Views(trees, WeakValueDictionary())
    return known.members


def keep_views(ensemble: object, kept: Trees | None, trees: Trees) -> None:
    """Tell that an ensemble has been fitted, so that members that a warm start keeps stay the same objects.

    Parameters
    ----------
    ensemble : estimator
        What was fitted.
    kept : Trees or None
        The arena of the members that were kept, if any.
    trees : Trees
        The new arena, which begins with them.
    """
    known = _VIEWS.pop(ensemble, None)
    if known is not None and known.trees is kept:
        _VIEWS[ensemble] = _Views(trees, known.members)


class TreeSequence(Sequence[BaseTree]):
    """Trees in one arena; an element is built when it is accessed and shares the memory of the arena.

    Parameters
    ----------
    estimator : BaseTree
        A tree with the parameters that all members have; not fitted.
    trees : Trees
        The arena with all members.
    importances : ndarray or CSR array of shape (n_members, n_features)
        Decrease of impurity by each feature in each tree.
    schema : Schema
        The columns of the training table.
    named : dict
        Fitted attributes about the target, from `committee.learners.training_arrays.target_attributes`.
    views : WeakValueDictionary, optional
        Members that are in use as objects, from `find_views`; those of the sequence itself by default.
    """

    _views: WeakValueDictionary[int, BaseTree] | None = None

    def __init__(
        self,
        estimator: BaseTree,
        trees: Trees,
        importances: MemberImportances,
        schema: Schema,
        named: dict[str, object],
        views: WeakValueDictionary[int, BaseTree] | None = None,
    ) -> None:
        self.estimator, self.trees, self.importances = estimator, trees, importances
        self.schema, self.named = schema, named
        if views is not None:
            self._views = views

    def __len__(self) -> int:
        return int(self.trees.n_trees)

    @overload
    def __getitem__(self, index: int) -> BaseTree: ...
    @overload
    def __getitem__(self, index: slice) -> list[BaseTree]: ...
    def __getitem__(self, index: int | slice) -> BaseTree | list[BaseTree]:
        numbers = range(len(self))[index]
        return [self._find(k) for k in numbers] if isinstance(numbers, range) else self._find(numbers)

    def __repr__(self) -> str:
        return f"<{len(self)} members: {type(self.estimator).__name__}>"

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_views"}

    def _find(self, member: int) -> BaseTree:
        """One member: the object that is in use, or else a new one."""
        views = find_views(self, self.trees) if self._views is None else self._views
        found = views.get(member)
        return views.setdefault(member, self._view(member)) if found is None else found

    @abstractmethod
    def _view(self, member: int) -> BaseTree:
        """One member as a fitted tree."""

    def _fill(
        self, tree: Trees, importances: FloatArray, schema: Schema, *, member: int, seed: int | None = None
    ) -> BaseTree:
        """A clone of the estimator that holds a given tree; with a seed, its ``random_state`` is the member's own."""
        estimator = clone(self.estimator)
        if seed is not None:
            estimator = seed_estimator(estimator, seed, member)
        max_features = count_features(estimator.tree_settings().max_features, schema.n_features)
        fitted: BaseTree = estimator.hold_tree(tree, importances, schema, {**self.named, "max_features_": max_features})
        return fitted
