"""Several class targets at once: a loss for each, and their scores side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from committee.losses import LossFunction, LossTraits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["JoinedLoss", "choose_labels", "split_probabilities", "split_scores"]


@dataclass(frozen=True)
class JoinedLoss:
    """The sum of the log-losses of several class targets, of which some have more than two classes.

    Targets of two classes have one score, others one a class. (If all have two, `LossFunction` with as many scores
    is the same loss, and the engine computes it.)

    Attributes
    ----------
    losses : tuple of LossFunction
        One for each target.
    """

    is_custom: ClassVar[bool] = True
    has_values: ClassVar[bool] = True
    name: ClassVar[str] = "logistic"
    """The loss whose leaf values, bounded Newton steps, the engine uses."""
    parameter: ClassVar[float] = nan
    levels: ClassVar[tuple[float, ...]] = ()
    traits: ClassVar[LossTraits] = LossTraits("other")

    losses: tuple[LossFunction, ...]

    @property
    def n_scores(self) -> int:
        """Scores of a row."""
        return int(self._ends[-1])

    @cached_property
    def _ends(self) -> NDArray[np.intp]:
        return np.cumsum([loss.n_scores for loss in self.losses])

    def __getstate__(self) -> dict[str, object]:
        return {"losses": self.losses}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    def _split(self, scores: FloatArray) -> list[FloatArray]:
        return np.split(np.asfortranarray(scores), self._ends[:-1], axis=1)

    def _pair(self, y: NDArray[Any], scores: FloatArray) -> list[tuple[LossFunction, FloatArray, FloatArray]]:
        """Each loss with its target and its scores; targets are columns, or lie one after another."""
        labels = np.asarray(y, dtype=np.float64).ravel(order="F").reshape(len(self.losses), -1)
        return list(zip(self.losses, labels, self._split(scores), strict=True))

    def find_gradients(self, y: NDArray[Any], scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients and hessians by each score, both of shape (n_rows, n_scores)."""
        found = [loss.find_gradients(labels, own) for loss, labels, own in self._pair(y, scores)]
        return np.concatenate([g for g, _ in found], axis=1), np.concatenate([h for _, h in found], axis=1)

    def find_values(self, y: NDArray[Any], scores: FloatArray) -> FloatArray:
        """Loss of each row, summed over the targets."""
        values = [loss.find_values(labels, own) for loss, labels, own in self._pair(y, scores)]
        return np.asarray(np.sum(values, axis=0))

    def find_means(self, scores: FloatArray) -> FloatArray:
        """Probabilities: of the second class where there are two, else of each."""
        pairs = zip(self.losses, self._split(scores), strict=True)
        return np.concatenate([loss.find_means(own) for loss, own in pairs], axis=1)

    def find_baseline(self, y: NDArray[Any], weights: FloatArray | None) -> FloatArray:
        """Constant scores with the least loss, of shape (n_scores,)."""
        labels = np.asarray(y, dtype=np.float64).reshape(len(self.losses), -1)
        found = [loss.find_baseline(own, weights) for loss, own in zip(self.losses, labels, strict=True)]
        return np.concatenate(found)


def split_scores(scores: FloatArray, n_classes: Sequence[int]) -> list[FloatArray]:
    """The scores of each target: one column for two classes (or one), else a column for each.

    Examples
    --------
    >>> [own.shape for own in split_scores(np.zeros((5, 4)), [2, 3])]
    [(5, 1), (5, 3)]
    """
    ends = np.cumsum([1 if n <= 2 else n for n in n_classes])
    return np.split(scores, ends[:-1], axis=1)


def split_probabilities(means: FloatArray, n_classes: Sequence[int]) -> list[FloatArray]:
    """The probabilities of all classes of each target.

    Examples
    --------
    >>> split_probabilities(np.array([[0.25, 0.5, 0.5, 0.0]]), [2, 3])
    [array([[0.75, 0.25]]), array([[0.5, 0.5, 0. ]])]
    """
    parts = zip(split_scores(means, n_classes), n_classes, strict=True)
    return [
        np.ones_like(own) if n == 1 else np.concatenate((1.0 - own, own), axis=1) if n == 2 else own for own, n in parts
    ]


def choose_labels(scores: FloatArray, n_classes: Sequence[int]) -> NDArray[np.intp]:
    """The number of the class with the largest score, for each target, of shape (n_rows, n_targets).

    Examples
    --------
    >>> choose_labels(np.array([[0.5, 1.0, 3.0, 2.0]]), [2, 3])
    array([[1, 1]])
    """
    parts = zip(split_scores(scores, n_classes), n_classes, strict=True)
    labels = [
        np.zeros(len(own), np.intp) if n == 1 else (own[:, 0] > 0.0).astype(np.intp) if n == 2 else own.argmax(axis=1)
        for own, n in parts
    ]
    return np.stack(labels, axis=1)
