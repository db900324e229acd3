"""Which rows a member of an ensemble sees: the user's words turned into a plan that the engine draws from.

A plan holds no sample. The engine draws the sample of a member from (seed, number of the member), so that it can be
drawn again wherever it is needed: out-of-bag, on another machine, long after the fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.data.columns import read_objects
from committee.data.dataset import ClassTarget, Dataset
from committee.data.weights import count_as_rows, read_sample_weight
from committee.exceptions import CommitteeError, DataError, ParameterError, warn_caller
from committee.typing import FloatArray, IndexArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["SamplePlan", "plan_samples", "read_groups"]

_FEW_ROWS = 10
_MOST_DRAWS = 2**32 - 1  # the engine counts them in 32 bits


@dataclass(frozen=True)
class SamplePlan:
    """How the rows of each member are drawn.

    Attributes
    ----------
    n_rows : int
        Rows of the table.
    n_draws : int
        Rows (or groups) that a member draws; 0: it sees every row once.
    replace : bool
        Whether a row may be drawn again.
    whole_groups : bool
        Whether the strata are groups that are drawn as a whole.
    strata : ndarray of shape (n_rows,) or None
        Number of the class or group of each row.
    stratum_draws : tuple of int
        Rows drawn from each class; empty where ``n_draws`` counts.
    weights : ndarray of shape (n_rows,) or None
        With replacement, what the chance of a row is proportional to. Rows of weight zero are never drawn.
    """

    n_rows: int
    n_draws: int = 0
    replace: bool = True
    whole_groups: bool = False
    strata: IndexArray | None = None
    stratum_draws: tuple[int, ...] = ()
    weights: FloatArray | None = None

    @property
    def draws_all(self) -> bool:
        """Whether every member sees every row once, so that nothing is out of bag."""
        return self.n_draws == 0 and not self.stratum_draws

    @property
    def total_draws(self) -> int:
        """Rows in the sample of a member; for whole groups, on average."""
        if self.draws_all:
            return self.n_rows
        if self.stratum_draws:
            return sum(self.stratum_draws)
        if self.whole_groups and self.strata is not None:
            return max(1, self.n_draws * self.n_rows // (int(self.strata.max()) + 1))
        return self.n_draws

    @property
    def uses_weights(self) -> bool:
        """Whether the weights are in the chances already; otherwise each member must be given them."""
        return self.weights is not None and self.replace and not self.whole_groups

    def fill(self, sampling: Any) -> Any:
        """Fill an engine's RowSampling from this plan, and return it."""
        sampling.replace = self.replace
        sampling.n_draws = self.n_draws
        sampling.whole_groups = self.whole_groups
        sampling.stratum_draws = list(self.stratum_draws)
        if self.strata is not None:
            sampling.strata = self.strata
        if self.weights is not None:
            sampling.weights = self.weights
        return sampling


def plan_samples(
    name: str,
    dataset: Dataset,
    *,
    bootstrap: bool | str,
    max_samples: float | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> SamplePlan:
    """Turn the parameters of an ensemble into a plan.

    Parameters
    ----------
    name : str
        The ensemble's, for the sentences.
    dataset : Dataset
        What is drawn from; its weights (sample weights times class weights) become chances.
    bootstrap : bool or {"balanced", "stratified", "group"}
        With replacement or without; as many rows of each class as the smallest one has; of each class as many as it
        has; or whole groups.
    max_samples : int, float or None
        Rows (or groups) to draw: a number, a fraction, or all of them.
    sample_weight : array-like or None
        As ``fit`` got it: how many rows there are to draw, in the unit that the weights share.
    groups : array-like of shape (n_rows,) or None
        Needed by ``bootstrap="group"`` and by nothing else.

    Returns
    -------
    SamplePlan
    """
    kind = bootstrap if isinstance(bootstrap, str) else ""
    if (groups is not None) != (kind == "group"):
        got = "got none" if groups is None else f"bootstrap is {bootstrap!r}"
        raise DataError(f"{name} needs groups, passed to fit, for bootstrap='group' and only for it; {got}.")
    n_rows, weights = dataset.n_rows, dataset.weights
    units = _count_units(sample_weight, n_rows)
    if kind == "group":
        strata = read_groups(groups, n_rows)
        present = strata if weights is None else strata[weights > 0.0]
        n_draws = _count_draws(name, max_samples, len(np.unique(present)), replace=True)
        return SamplePlan(n_rows, n_draws, whole_groups=True, strata=strata, weights=weights)
    chances = dataset.count_weights()
    if kind:
        strata, of_each = _find_classes(name, dataset, units)
        draws = _share_draws(name, kind, max_samples, of_each)
        return SamplePlan(n_rows, strata=strata, stratum_draws=draws, weights=chances)
    if not bootstrap:
        available = n_rows if weights is None else int(np.count_nonzero(weights))
        n_draws = _count_draws(name, max_samples, available, replace=False)
        return SamplePlan(n_rows, 0 if n_draws == available else n_draws, replace=False, weights=weights)
    n_draws = _count_draws(name, max_samples, round(units.sum()), replace=True)
    return SamplePlan(n_rows, n_draws, weights=chances)


def read_groups(groups: ArrayLike | None, n_rows: int) -> IndexArray:
    """The number of each row's group, from labels of any one kind.

    Examples
    --------
    >>> read_groups(["b", "a", "b"], 3)
    array([1, 0, 1], dtype=uint32)
    """
    try:
        labels = np.asarray(groups)
    except ValueError:
        labels = np.empty((0, 0))
    if labels.shape != (n_rows,):
        raise DataError(f"groups must have one entry for each of the {n_rows} rows; got shape {labels.shape}.")
    if labels.dtype.kind == "O":
        try:
            column = read_objects(labels.tolist(), "")
        except CommitteeError:
            raise DataError("groups must be all text or all numbers.") from None
        if column.elements is not None:
            raise DataError("groups must be all text or all numbers; got lists.")
        labels = column.as_numbers() if column.codes is None else column.codes
        missing = bool((labels < 0).any()) if column.codes is not None else bool(np.isnan(labels).any())
    else:
        missing = labels.dtype.kind == "f" and bool(np.isnan(labels).any())
    if missing:
        raise DataError("groups contains a missing value; every row must be in a group.")
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.uint32)


def _count_units(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """As how many rows each row counts."""
    return np.ones(n_rows) if sample_weight is None else count_as_rows(read_sample_weight(sample_weight, n_rows))


def _count_draws(name: str, max_samples: float | None, available: int, *, replace: bool) -> int:
    if max_samples is None:
        return available
    if isinstance(max_samples, int | np.integer):
        n_draws = int(max_samples)
    else:
        n_draws = max(1, int(min(float(max_samples) * available, _MOST_DRAWS + 1.0)))
        if n_draws < max(_FEW_ROWS, available ** (1 / 3)) and n_draws < available:
            warn_caller(
                f"The fraction max_samples={max_samples} of {available} gives only {n_draws} to draw. Pass a whole "
                "number if this is meant.",
                UserWarning,
            )
    if n_draws > _MOST_DRAWS:
        raise ParameterError(
            f"The 'max_samples' parameter of {name} must draw at most {_MOST_DRAWS} rows; {show_value(max_samples)} of "
            f"{available} is more."
        )
    if not replace and n_draws > available:
        raise ParameterError(
            f"The 'max_samples' parameter of {name} must be at most the {available} there are to draw without "
            f"replacement; got {show_value(max_samples)}."
        )
    return n_draws


def _find_classes(name: str, dataset: Dataset, units: FloatArray) -> tuple[IndexArray, FloatArray]:
    """The class of each row (combined over several outputs), and how many rows each has."""
    target = dataset.target
    if not isinstance(target, ClassTarget):
        raise ParameterError(f"{name} predicts numbers, so that there are no classes to balance or to stratify by.")
    combined: Any = target.labels[:, 0]
    if target.n_outputs > 1:
        combined = np.unique(target.labels, axis=0, return_inverse=True)[1].reshape(-1)
    strata: IndexArray = np.ascontiguousarray(combined, dtype=np.uint32)
    present = units if dataset.weights is None else np.where(dataset.weights > 0.0, units, 0.0)
    return strata, np.bincount(strata, weights=present).astype(np.float64)


def _share_draws(name: str, kind: str, max_samples: float | None, of_each: FloatArray) -> tuple[int, ...]:
    """Rows to draw from each class."""
    present = of_each > 0.0
    if kind == "balanced":
        smallest = max(1, round(of_each[present].min()))
        total = _count_draws(name, max_samples, smallest * int(present.sum()), replace=True)
        draws = np.where(present, max(1, total // int(present.sum())), 0)
    else:
        total = _count_draws(name, max_samples, round(of_each.sum()), replace=True)
        quotas = of_each * (total / of_each.sum())
        draws = np.floor(quotas)
        # What rounding down has left goes to the largest remainders, the first of equals.
        left = total - int(draws.sum())
        draws[np.argsort(draws - quotas, kind="stable")[:left]] += 1
        draws = np.where(present, np.maximum(draws, 1), 0)
    return tuple(int(k) for k in draws)
