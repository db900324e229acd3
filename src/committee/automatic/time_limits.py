"""What a time budget leaves of a member: rounds of boosting, trees of a forest, or the member as a whole.

The time of a member is measured on a part of it, since it depends on the table and the machine: on a few rounds or
trees, or on a sample of the rows.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from committee.automatic.kernel_member import KernelMember

if TYPE_CHECKING:
    from committee.automatic.portfolio import PortfolioEntry
    from committee.ensembles.combining.training_set import TrainingSet

__all__ = [
    "PILOT_ROUNDS",
    "afford_epochs",
    "afford_trees",
    "find_first_layer_deadline",
    "find_member_deadline",
    "has_time",
    "limit_rounds",
]

PILOT_ROUNDS = 4
"""Rounds of boosting that are timed."""
_PILOT_TREES = 4
_MIN_TREES = 10
_LEAST_PARTS = {"stages": 0.5, "oob": 0.1}
"""Of the least time of the members before, what boosting and a forest need to begin; boosting comes before all forests
and takes far longer."""
_MIN_EPOCHS = 6
"""Of a network; with fewer it is left out."""
_SAMPLED_ROWS, _LEAST_STEP, _FEW_ROWS = 5000, 4, 4000
"""Members that are fitted as a whole are timed on some 5,000 rows, at most every fourth; not on tables of few rows."""
_SHARE, _SECOND_LAYER_SHARE = 0.5, 0.25
"""Part of the remaining time that a member may take while others follow, and that is kept for a second layer."""
_MIN_GROWTH = 1.25
"""Rounds of a further stage, in those that are there, below which it is left out."""


def find_member_deadline(deadline: float | None, now: float, *, is_last: bool) -> float | None:
    """When boosting or a forest that begins now must end.

    Examples
    --------
    >>> find_member_deadline(20.0, 10.0, is_last=False), find_member_deadline(20.0, 10.0, is_last=True)
    (15.0, 20.0)
    """
    if deadline is None or is_last:
        return deadline
    return now + _SHARE * max(0.0, deadline - now)


def find_first_layer_deadline(deadline: float | None, now: float) -> float | None:
    """When the members below a second layer must end.

    Examples
    --------
    >>> find_first_layer_deadline(20.0, 0.0)
    15.0
    """
    return None if deadline is None else deadline - _SECOND_LAYER_SHARE * max(0.0, deadline - now)


def limit_rounds(wanted: int, done: int, seconds: float, left: float, *, is_first: bool) -> int:
    """Rounds of the next stage that end in time, after so many in so many seconds; as many as done for no stage.

    Examples
    --------
    >>> limit_rounds(60, 30, 3.0, 10.0, is_first=False), limit_rounds(60, 30, 3.0, 2.0, is_first=False)
    (60, 50)
    >>> limit_rounds(60, 30, 3.0, 0.1, is_first=False), limit_rounds(30, 4, 3.0, 0.1, is_first=True)
    (30, 5)
    """
    affordable = min(wanted, done + int(done * max(0.0, left) / max(seconds, 1e-9)))
    if is_first:
        return max(affordable, done + 1)
    return affordable if affordable >= min(wanted, _MIN_GROWTH * done) else done


def afford_trees(estimator: Any, training: TrainingSet, params: dict[str, object], n_fits: int, deadline: float) -> int:
    """Trees of a forest that is fitted so often and ends in time, at least ten; at most those that it has.

    Parameters
    ----------
    estimator : forest
        Not fitted.
    training : TrainingSet
        The table and its target.
    params : dict
        Further arguments of `fit`.
    n_fits : int
        How often it is fitted.
    deadline : float
        By the clock of `time.perf_counter`.
    """
    training.bin_table([estimator], estimator.n_jobs)
    wanted = int(estimator.n_estimators)
    begun = time.perf_counter()
    training.fit_member(clone(estimator).set_params(n_estimators=min(wanted, _PILOT_TREES)), None, params)
    now = time.perf_counter()
    affordable = _PILOT_TREES * max(0.0, deadline - now) / (n_fits * max(now - begun, 1e-9))
    return min(wanted, max(_MIN_TREES, int(affordable)))


def _time_epochs(estimator: Any, training: TrainingSet, params: dict[str, object]) -> tuple[float, float]:
    """Seconds of an epoch of a network, and of the rest of its fit: encoding a wide table takes as long as many."""
    clock = [time.perf_counter()]
    for n_epochs in (1, 3):
        training.fit_member(clone(estimator).set_params(n_epochs=n_epochs), None, params)
        clock.append(time.perf_counter())
    first, second = np.diff(clock)
    epoch = max((second - first) / 2, 1e-9)
    return epoch, max(0.0, first - epoch)


def afford_epochs(
    estimator: Any, training: TrainingSet, params: dict[str, object], n_fits: int, n_jobs: int, deadline: float
) -> int:
    """The epochs of a network that ends in time, at least one; at most those that it has.

    Parameters
    ----------
    estimator : network
        Not fitted.
    training : TrainingSet
        The table and its target.
    params : dict
        Further arguments of `fit`.
    n_fits : int
        How often it is fitted.
    n_jobs : int
        How many fits run at once.
    deadline : float
        By the clock of `time.perf_counter`.
    """
    epoch, rest = _time_epochs(estimator, training, params)
    share = (deadline - time.perf_counter()) / -(-n_fits // n_jobs)
    return min(int(estimator.n_epochs), max(1, int((share - rest) / epoch)))


def has_time(
    entry: PortfolioEntry,
    estimator: Any,
    training: TrainingSet,
    params: dict[str, object],
    n_fits: int,
    spent: list[float],
    deadline: float,
) -> bool:
    """Whether a member is expected to end in time.

    Boosting and forests are cut to the time that is left, and need a part of the least time of the members before;
    networks need time for some epochs. A kernel that is fitted in each fold is timed by one fit. The others are timed
    by a fit on a sample of the rows; on few rows, and for members of other libraries, they are expected to take the
    least time of the members before.

    Parameters
    ----------
    entry : PortfolioEntry
        The member.
    estimator : estimator
        Not fitted.
    training : TrainingSet
        The table and its target.
    params : dict
        Further arguments of `fit`.
    n_fits : int
        How many fits follow one another.
    spent : list of float
        Seconds of the members before, the prior's first.
    deadline : float
        By the clock of `time.perf_counter`.
    """
    now, least = time.perf_counter(), min(spent[1:], default=0.0)
    if entry.source in _LEAST_PARTS:
        return now + _LEAST_PARTS[entry.source] * least <= deadline
    in_folds = n_fits > 1 or entry.source == "bags"
    if isinstance(estimator, KernelMember) and in_folds and now <= deadline:
        # A sample has fewer landmarks.
        training.fit_member(clone(estimator), None, params)
        after = time.perf_counter()
        return after + n_fits * (after - now) <= deadline
    if entry.source == "bags" and now <= deadline:
        epoch, rest = _time_epochs(estimator, training, params)
        return time.perf_counter() + n_fits * (rest + _MIN_EPOCHS * epoch) <= deadline
    if now > deadline or entry.estimator is not None or training.n_rows < _FEW_ROWS:
        return now + least <= deadline
    step = max(_LEAST_STEP, training.n_rows // _SAMPLED_ROWS)
    training.fit_member(clone(estimator), np.arange(0, training.n_rows, step), params)
    seconds = time.perf_counter() - now
    return now + (1 + n_fits * step) * seconds <= deadline
