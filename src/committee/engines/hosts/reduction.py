"""What becomes of the answers of several blocks."""

from __future__ import annotations

from functools import reduce as fold
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.engines.hosts.protocol import Reduction

__all__ = ["reduce_answers"]


def reduce_answers(answers: Sequence[Any], how: Reduction) -> Any:
    """Put the answers of blocks together; a host does it for its blocks, the driver for the hosts.

    Parameters
    ----------
    answers : sequence
        By block, in the order of the blocks.
    how : {"sum", "max", "list"}
        "sum" adds tuples of integer arrays (or integers) elementwise, "max" takes the elementwise maximum of tuples of
        arrays, "list" is the answers as they are.

    Examples
    --------
    >>> reduce_answers([(1, 2), (10, 20)], "sum")
    (11, 22)
    """
    if how == "list":
        return list(answers)
    join = np.maximum if how == "max" else np.add
    return fold(lambda one, other: tuple(_join(join, a, b) for a, b in zip(one, other, strict=True)), answers)


def _join(join: np.ufunc, one: Any, other: Any) -> Any:
    joined = join(one, other)
    return joined if isinstance(one, np.ndarray) else joined.item()
