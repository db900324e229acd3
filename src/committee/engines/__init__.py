"""Engines: the implementations of the operations over rows. They share one interface, the `Engine` protocol.

Types of the engine's objects are importable from here for annotations only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from committee import _core
from committee.engines.protocol import Engine

if TYPE_CHECKING:
    from committee._core import AdditiveParams as AdditiveParams
    from committee._core import BinMapper as BinMapper
    from committee._core import BinnedMatrix as BinnedMatrix
    from committee._core import Boosting as Boosting
    from committee._core import BoostingParams as BoostingParams
    from committee._core import ForestPlan as ForestPlan
    from committee._core import GroupLoss as GroupLoss
    from committee._core import GrowParams as GrowParams
    from committee._core import LabelWeights as LabelWeights
    from committee._core import Loss as Loss
    from committee._core import PermutationStudy as PermutationStudy
    from committee._core import Presort as Presort
    from committee._core import RowSampling as RowSampling
    from committee._core import StumpTrainer as StumpTrainer
    from committee._core import Trees as Trees
    from committee._core import WordStump as WordStump
    from committee._core import WordTable as WordTable

__all__ = ["Engine", "get_engine"]


def get_engine() -> Engine:
    """The engine that grows and predicts trees: the compiled core, on the CPU."""
    return _core
