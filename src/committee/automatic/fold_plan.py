"""The folds of a committee, where the user gives none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.data.folds import plan_folds
from committee.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from committee.automatic.presets import Preset
    from committee.data.folds import Folds
    from committee.ensembles.combining.training_set import TrainingSet

__all__ = ["divide_groups", "divide_rows"]


def divide_groups(training: TrainingSet, kept: NDArray[np.intp], preset: Preset) -> Folds:
    """Folds that keep groups together.

    Parameters
    ----------
    training : TrainingSet
        With groups.
    kept : ndarray of int
        Rows of positive weight.
    preset : Preset
        How many folds there are.
    """
    n_groups = len(np.unique(np.asarray(training.groups)[kept]))
    if n_groups < 2:
        raise DataError("All rows are of one group; two are needed, to learn from one and test on the other.")
    n_folds = min(preset.n_folds, n_groups)
    return plan_folds(n_folds, training.X, training.y, training.groups, False, training.weights)[: preset.n_fitted]


def divide_rows(
    y: NDArray[np.generic], kept: NDArray[np.intp], preset: Preset, repeats: Iterable[int], seed: int, *, classify: bool
) -> Folds:
    """Folds of rows in random order, anew for each repeat.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Target of all rows.
    kept : ndarray of int
        Rows of positive weight.
    preset : Preset
        How many folds there are.
    repeats : iterable of int
        Numbers of the orders; one of them where every row is a fold, since they are the same in any order.
    seed : int
        Of the orders.
    classify : bool
        Whether the target has classes, which are spread over the folds.

    Examples
    --------
    >>> from committee.automatic.presets import Preset
    >>> folds = divide_rows(np.zeros(4), np.arange(4), Preset(n_folds=2), [0, 1], seed=0, classify=False)
    >>> [test.tolist() for _, test in folds]
    [[1, 2], [0, 3], [2, 3], [0, 1]]
    """
    n_folds = min(preset.n_folds, len(kept))
    n_fitted = preset.n_fitted
    if preset.n_class_fitted is not None and classify and len(np.unique(y[kept])) > 2:
        n_fitted = preset.n_class_fitted
    tests: list[NDArray[np.intp]] = []
    for repeat in repeats if n_folds < len(kept) else [0]:
        order = np.random.default_rng([seed, repeat]).permutation(kept)
        if classify:
            # A class is in as many folds as it has rows, and in the training rows of all folds but one at least.
            order = order[np.argsort(y[order], kind="stable")]
        tests += [np.sort(order[k::n_folds]) for k in range(n_folds)][:n_fitted]
    return [(_leave_out(kept, test, len(y)), test) for test in tests]


def _leave_out(kept: NDArray[np.intp], test: NDArray[np.intp], n_rows: int) -> NDArray[np.intp]:
    """The rows that are kept and not tested, ascending as they are."""
    is_other = np.ones(n_rows, dtype=bool)
    is_other[test] = False
    return kept[is_other[kept]]
