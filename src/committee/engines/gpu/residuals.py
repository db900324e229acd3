"""Gradients of squared error that are kept from round to round, in steps of a unit that trees change them by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from committee.engines.gpu.grower import TreeGrower

__all__ = ["KeptResiduals"]

_MOST_BITS = 30


class KeptResiduals:
    """When the gradients are made anew: at the start, and where they have outgrown their unit or shrunk in it.

    Parameters
    ----------
    grower : TreeGrower
        Has the gradients, and the bound of their sizes.
    total_weight : int
        Weight of all rows.
    """

    def __init__(self, grower: TreeGrower, total_weight: int) -> None:
        self._grower = grower
        row_bits = (total_weight - 1).bit_length()
        # A tree may double what is at the bound, which is noticed before the next one: one bit for that.
        self._n_bits = min(_MOST_BITS, 62 - (row_bits + 1) - row_bits)
        self._current = False

    def forget(self) -> None:
        """The scores were changed by others than trees."""
        self._current = False

    def prepare(self) -> None:
        """Make sure that the gradients are those of the scores."""
        bits = self._n_bits
        if self._current and self._grower.read_bound() > 1 << bits:
            bound = self._grower.find_largest_kept()
            self._grower.write_bound(bound)
            self._current = 1 << (bits - 3) <= bound <= 3 << (bits - 2)
        if not self._current:
            self._start()

    def _start(self) -> None:
        power = math.frexp(self._grower.find_largest_residual())[1]
        scale = self._n_bits - 1 - power
        self._grower.keep_residuals(math.ldexp(1.0, scale), math.ldexp(1.0, -scale))
        self._grower.write_bound(self._grower.find_largest_kept())
        self._current = True
