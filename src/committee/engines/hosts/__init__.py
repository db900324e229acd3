"""Hosts: where the blocks of a table are held, and how one call reaches all of them.

A fit over blocks of rows talks to a `HostGroup` only. Whether its blocks are in this process, in other processes or on
other machines changes nothing in the fit: all that is added up is integers, whose sum does not depend on the grouping.
"""

from __future__ import annotations

from committee.engines.hosts.local import LocalHosts
from committee.engines.hosts.protocol import BlockState, Command, HostGroup, Reduction
from committee.engines.hosts.reduction import reduce_answers

__all__ = ["BlockState", "Command", "HostGroup", "LocalHosts", "Reduction", "reduce_answers"]
