"""Reductions: how the results of several blocks are combined, and how sums travel."""

from __future__ import annotations

from functools import reduce as fold
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from committee import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.engines.hosts.protocol import Reduction
    from committee.typing import AnyArray

__all__ = ["PackedSums", "pack_sums", "reduce_answers"]

_LEAST_PACKED = 512
"""Numbers below which an array travels as it is."""


class PackedSums(NamedTuple):
    """Whole numbers in as few bytes as they need.

    Attributes
    ----------
    data : ndarray of uint8
        As the engine packs them: 256 numbers at a time, none where all are zero.
    shape : tuple of int
        Of the array.
    """

    data: AnyArray
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return int(self.data.nbytes)


def pack_sums(answer: Any) -> Any:
    """An answer that is to be added to others, with its large arrays packed.

    Examples
    --------
    >>> packed, few = pack_sums((np.arange(1024), 3))
    >>> packed.nbytes, few
    (1796, 3)
    >>> bool(reduce_answers([(packed, few), (packed, few)], "sum")[0].sum() == 2 * np.arange(1024).sum())
    True
    """
    return tuple(_pack(value) for value in answer) if isinstance(answer, tuple) else answer


def _pack(value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype != np.int64 or value.size < _LEAST_PACKED:
        return value
    return PackedSums(_core.pack_words(np.ascontiguousarray(value).reshape(-1)), value.shape)


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
    if how == "sum":
        return tuple(_add(values) for values in zip(*answers, strict=True))
    return fold(lambda one, other: tuple(_join(np.maximum, a, b) for a, b in zip(one, other, strict=True)), answers)


def _add(values: tuple[Any, ...]) -> Any:
    """The sum of the values that several blocks or hosts gave."""
    packed = [value for value in values if isinstance(value, PackedSums)]
    if not packed:
        return values[0] if len(values) == 1 else _add_up(values)
    total = np.zeros(prod(packed[0].shape), dtype=np.int64)
    for value in values:
        if isinstance(value, PackedSums):
            _core.add_packed_words(value.data, total)
        else:
            total += value.reshape(-1)
    return total.reshape(packed[0].shape)


def _add_up(values: tuple[Any, ...]) -> Any:
    """The sum of two values or more; only one array is made, since the first may be a part of a state."""
    total = _join(np.add, values[0], values[1])
    for value in values[2:]:
        total = np.add(total, value, out=total) if isinstance(total, np.ndarray) else total + value
    return total


def _join(join: np.ufunc, one: Any, other: Any) -> Any:
    joined = join(one, other)
    return joined if isinstance(one, np.ndarray) else joined.item()
