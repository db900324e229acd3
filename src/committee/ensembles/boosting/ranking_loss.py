"""Losses of ranking: the rows of a query are to be put in the order of their relevance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from committee.engines import get_engine
from committee.ensembles.boosting.group_loss import GroupLoss
from committee.exceptions import DataError
from committee.losses import apply_exp2

if TYPE_CHECKING:
    from committee.engines import GroupLoss as BoundGroupLoss
    from committee.typing import FloatArray

__all__ = ["RankingLoss", "RankingLossName"]

RankingLossName: TypeAlias = Literal["lambdarank", "pairwise", "listwise"]


@dataclass(frozen=True)
class RankingLoss(GroupLoss):
    """A loss of queries; the target has two columns, the relevance of a row and the number of its query.

    Attributes
    ----------
    objective : {"lambdarank", "pairwise", "listwise"}
        LambdaMART [Burges2010], RankNet [Burges2005], or the cross entropy of the softmax of the scores with the
        shares of the gains 2^y - 1 [Cao2007, Bruch2019].
    sigmoid : float
        Steepness of the logistic loss of a pair.
    truncation_level : int
        Of pairs: each has a row among so many first ones by the scores; lambdarank's NDCG is that of the first ones.
    normalize : bool
        Whether pairs are divided by the distance of their scores, and the gradients of a query by a function of their
        sum, as LightGBM and XGBoost do.
    """

    objective: RankingLossName = "lambdarank"
    sigmoid: float = 1.0
    truncation_level: int = 30
    normalize: bool = True

    @property
    def is_differentiable(self) -> bool:
        """Not lambdarank's: NDCG jumps where rows change places."""
        return self.objective != "lambdarank"

    def bind(self, target: FloatArray, weights: FloatArray | None) -> BoundGroupLoss:
        """The loss of these rows; those of a query need not be adjacent."""
        present = np.arange(len(target)) if weights is None else np.flatnonzero(weights > 0.0)
        if not len(present):
            raise DataError("No row with a positive weight is left; a ranking needs some in every part of the data.")
        queries = target[present, 1]
        order = np.argsort(queries, kind="stable")
        starts = np.flatnonzero(np.concatenate(([True], np.diff(queries[order]) != 0.0)))
        rows, relevance = present[order], np.ascontiguousarray(target[:, 0])
        own = np.empty(0)
        if weights is not None:
            own = np.add.reduceat(weights[rows], starts) / np.diff(starts, append=len(rows))
        return get_engine().make_rank_loss(
            self.objective,
            rows.astype(np.uint32),
            np.append(starts, len(rows)).astype(np.uint64),
            relevance,
            apply_exp2(relevance) - 1.0,
            own,
            self.sigmoid,
            min(self.truncation_level, len(rows)),
            self.normalize,
        )
