"""Counts of the calls and bytes between the driver and its hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.engines.hosts.reduction import PackedSums

__all__ = ["Traffic", "measure_payload"]


@dataclass
class Traffic:
    """Calls and bytes since a group of hosts was made.

    Attributes
    ----------
    rounds : int
        Round trips: calls of a group that waited for its hosts.
    calls : int
        Calls of single hosts.
    sent, received : int
        Bytes of arrays and pickles; a number counts as 8 bytes, the engine's own envelope is left out.
    lost : int
        Hosts that were lost.
    made : int
        States of blocks that were made, the first time or again.
    """

    rounds: int = 0
    calls: int = 0
    sent: int = 0
    received: int = 0
    lost: int = 0
    made: int = 0


def measure_payload(value: Any) -> int:
    """Bytes of the arrays, texts and numbers in nested containers.

    Examples
    --------
    >>> measure_payload((np.zeros(3), b"ab", [1, None]))
    34
    """
    if isinstance(value, np.ndarray | PackedSums):
        return int(value.nbytes)
    if isinstance(value, bytes | str | bytearray):
        return len(value)
    if isinstance(value, tuple | list):
        return sum(measure_payload(one) for one in value)
    if isinstance(value, dict):
        return sum(8 + measure_payload(one) for one in value.values())
    return 0 if value is None else 8
