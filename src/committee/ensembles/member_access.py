"""Access to the members of a fitted ensemble by number, as in scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from committee.ensembles.fit_callbacks import FitCallbacksMixin

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MemberAccessMixin"]


class _FittedEnsemble(Protocol):
    @property
    def estimators_(self) -> Any: ...


class MemberAccessMixin(FitCallbacksMixin):
    """``len(ensemble)``, ``ensemble[i]`` and iteration over the fitted members, ``estimators_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import AdaBoostClassifier
    >>> ensemble = AdaBoostClassifier(n_estimators=3).fit(*load_iris(return_X_y=True))
    >>> len(ensemble), ensemble[0].get_depth(), [tree.get_n_leaves() for tree in ensemble]
    (3, 1, [2, 2, 2])
    """

    def __len__(self: _FittedEnsemble) -> int:
        return len(self.estimators_)

    def __getitem__(self: _FittedEnsemble, index: int | slice) -> Any:
        return self.estimators_[index]

    def __iter__(self: _FittedEnsemble) -> Iterator[Any]:
        return iter(self.estimators_)

    def __bool__(self) -> bool:
        # Without it, `if estimator:` would ask for the number of members and fail before fit.
        return True
