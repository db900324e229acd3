"""Samples of the trees of an isolation forest: how many rows and features each gets, and which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from committee.engines import get_engine
from committee.exceptions import ParameterError, warn_caller
from committee.typing import FloatArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.engines import RowSampling
    from committee.params import IsolationRows, TreeFeatures

__all__ = ["IsolationSamples", "plan_isolation"]

_AUTO_ROWS = 256
"""The size of a sample by default, which is the paper's: beyond it, detection does not improve [Liu2008]."""


@dataclass(frozen=True)
class IsolationSamples:
    """How the rows and features of each tree are drawn.

    Attributes
    ----------
    n_rows : int
        Rows of the table.
    n_draws : int
        Rows in the sample of a tree.
    replace : bool
        Whether a row may be drawn again.
    n_features : int
        Features of the table.
    n_drawn : int
        Features that are drawn for a tree; 0: it gets all of them.
    weights : ndarray of shape (n_rows,) or None
        Whole numbers: as how many rows each counts. Others: what the chance of a row is proportional to; rows are then
        drawn with replacement.
    """

    n_rows: int
    n_draws: int
    replace: bool
    n_features: int
    n_drawn: int = 0
    weights: FloatArray | None = None

    def to_engine(self) -> RowSampling:
        """The same in the engine's form."""
        sampling = get_engine().RowSampling()
        sampling.n_draws, sampling.replace, sampling.n_features = self.n_draws, self.replace, self.n_drawn
        if self.weights is not None:
            sampling.weights = self.weights
        return sampling

    def draw_rows(self, seed: int, tree: int) -> NDArray[np.int32]:
        """Rows in the sample of a tree, ascending, as often as they occur."""
        return get_engine().draw_isolation_rows(self.to_engine(), seed, tree, self.n_rows).astype(np.int32)

    def draw_features(self, seed: int, tree: int) -> NDArray[np.intp]:
        """Features of a tree, ascending."""
        if self.n_drawn == 0:
            return np.arange(self.n_features)
        drawn = get_engine().draw_member_features(self.to_engine(), seed, tree, self.n_features)
        return np.asarray(drawn, dtype=np.intp)


def plan_isolation(
    name: str, dataset: Dataset, max_samples: IsolationRows, max_features: TreeFeatures, *, bootstrap: bool
) -> IsolationSamples:
    """Turn the parameters of an isolation forest into a plan.

    Parameters
    ----------
    name : str
        The estimator's, for the sentences.
    dataset : Dataset
        The table and the weights of its rows.
    max_samples, max_features, bootstrap
        As the constructor got them.

    Returns
    -------
    IsolationSamples
    """
    weights, n_features = dataset.count_weights(), dataset.n_features
    n_draws = _count_rows(max_samples, round(dataset.n_counted))
    whole = isinstance(max_features, int | np.integer)
    n_drawn = int(max_features) if whole else max(1, int(max_features * n_features))
    if n_drawn > n_features:
        raise ParameterError(
            f"The 'max_features' parameter of {name} must be at most the {n_features} features of X; "
            f"got {max_features}."
        )
    n_drawn = 0 if n_drawn == n_features else n_drawn
    return IsolationSamples(dataset.n_rows, n_draws, bootstrap, n_features, n_drawn, weights)


def _count_rows(max_samples: IsolationRows, available: int) -> int:
    if isinstance(max_samples, str):
        return min(_AUTO_ROWS, available)
    if not isinstance(max_samples, int | np.integer):
        return max(1, int(max_samples * available))
    if max_samples > available:
        warn_caller(
            f"max_samples ({max_samples}) is greater than the total number of samples ({available}). max_samples will "
            "be set to n_samples for estimation.",
            UserWarning,
        )
    return min(int(max_samples), available)
