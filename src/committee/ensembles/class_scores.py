"""How strange a class looks in a row, from the probabilities of all classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["SET_METHODS", "SetMethod", "score_classes", "score_own_classes"]

SetMethod: TypeAlias = Literal["lac", "aps"]

SET_METHODS: tuple[SetMethod, ...] = ("lac", "aps")
"""In the order in which models keep the scores of halves of their members."""


def score_classes(probabilities: FloatArray, method: SetMethod) -> FloatArray:
    """How strange each class looks in each row, of shape (n_rows, n_classes).

    ``"lac"``: one minus its probability [Sadinle2019]. ``"aps"``: the sum of the probabilities of all more
    probable classes, and half of that of the equally probable ones, its own included [Romano2020]; the random number
    that the paper multiplies its own probability by has its mean here, so that a row has the same set every time.

    Examples
    --------
    >>> score_classes(np.array([[0.5, 0.25, 0.25]]), "lac")
    array([[0.5 , 0.75, 0.75]])
    >>> score_classes(np.array([[0.5, 0.25, 0.25]]), "aps")
    array([[0.25, 0.75, 0.75]])
    """
    rows, n_classes = probabilities.shape
    columns = [score_own_classes(probabilities, np.full(rows, k, np.int32), method) for k in range(n_classes)]
    return np.column_stack(columns)


def score_own_classes(probabilities: FloatArray, labels: NDArray[np.int32], method: SetMethod) -> FloatArray:
    """`score_classes` of each row's own class only, of shape (n_rows,).

    Examples
    --------
    >>> score_own_classes(np.array([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]), np.array([0, 2], np.int32), "aps")
    array([0.25, 0.75])
    """
    own = np.take_along_axis(probabilities, labels[:, None], axis=1)
    if method == "lac":
        return 1.0 - own[:, 0]
    larger = np.where(probabilities > own, probabilities, 0.0).sum(axis=1)
    tied = np.where(probabilities == own, probabilities, 0.0).sum(axis=1)
    scores: FloatArray = larger + 0.5 * tied
    return scores
