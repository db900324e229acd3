"""Choose the depth of a single tree by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.cli.errors import USAGE, CommandError
from committee.cli.fit_observer import FitObserver
from committee.cli.model_setup import ModelSetup, RowIndices
from committee.cli.results import DepthCandidate, ScoreEstimate

__all__ = ["DEPTHS", "DepthSearch"]

DEPTHS = (1, 2, 3, 4, 6, 8, 12, None)
# Parameters that limit the size of a tree; if the user sets one, there is no search.
_SIZE_PARAMETERS = frozenset({"max_depth", "max_leaf_nodes", "ccp_alpha"})
# Single trees only; the defaults of ensembles need no search.
_SEARCHED = ("DecisionTree", "ExtraTreeC", "ExtraTreeR")


class DepthSearch:
    """A search over ``max_depth``; estimators other than single trees are not searched.

    Parameters
    ----------
    setup : ModelSetup
        The estimator and the problem.
    *others : ModelSetup
        Those of the other targets of a fit of several; the score is the mean over the targets.
    """

    def __init__(self, setup: ModelSetup, *others: ModelSetup) -> None:
        self._setup, self._setups = setup, (setup, *others)
        self.is_active = setup.name.startswith(_SEARCHED) and not _SIZE_PARAMETERS & set(setup.plan.settings)

    def count_fits(self, folds: int) -> int:
        """Number of models that :meth:`run` fits."""
        return folds * len(DEPTHS) if self.is_active else 0

    def run(
        self, rows: RowIndices, folds: int, observer: FitObserver
    ) -> tuple[dict[str, Any], tuple[DepthCandidate, ...]]:
        """The smallest depth within one standard error of the best [Breiman1984, section 3.4.3].

        Parameters
        ----------
        rows : ndarray of int
            Indices of the rows to search on.
        folds : int
            Number of folds; reduced to the number of groups if that is smaller.
        observer : FitObserver
            Notified of each fitted model.

        Returns
        -------
        tuple of dict and tuple of DepthCandidate
            The chosen parameters, and the scores of all depths; both empty if nothing is searched.
        """
        if not self.is_active:
            return {}, ()
        setup, sign = self._setup, self._setup.metrics[0].sign
        groups = setup.problem.groups
        if groups is not None:
            n_groups = len(np.unique(groups[rows]))
            if n_groups < 2:
                raise CommandError(
                    "The training rows of a fold are of one group, so no depth can be chosen inside them.",
                    "Choose one with --set max_depth=3, for instance, or other --groups.",
                    USAGE,
                )
            folds = min(folds, n_groups)
        parts = list(setup.split_rows(rows, folds, setup.plan.seed))
        candidates = []
        for depth in DEPTHS:
            params = {"max_depth": depth}
            scores = [self._score(setup.fit_model(train, observer, params), test) for train, test in parts]
            candidates.append(DepthCandidate(depth, ScoreEstimate.of_folds(tuple(scores))))
        best = max((c.score for c in candidates), key=lambda score: sign * score.mean)
        chosen = next(c for c in candidates if sign * c.score.mean >= sign * best.mean - best.error)
        return {"max_depth": chosen.max_depth}, tuple(candidates)

    def _score(self, model: Any, test: RowIndices) -> float:
        return float(np.mean([setup.score_model(model, test) for setup in self._setups]))
