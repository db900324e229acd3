"""A data set in the engine's form: what the engine's verbs that grow trees take as their first arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from committee.data import ClassTarget, ValueTarget

if TYPE_CHECKING:
    from committee.data import Dataset
    from committee.engines import Presort
    from committee.engines.gpu import DeviceBins
    from committee.typing import FloatArray, IndexArray

__all__ = ["TrainingArrays", "make_training_arrays", "target_attributes"]


class TrainingArrays(NamedTuple):
    """The arguments in the order of the engine's verbs: ``engine.grow_tree(*arrays, weights, params)``.

    Attributes
    ----------
    bins : BinnedMatrix or DeviceBins
        The binned table.
    presort : Presort or None
        The order of the rows by each column, for exact splits.
    labels : ndarray of shape (n_rows, n_outputs) or None
        Class numbers; None for regression.
    n_classes : list of int
        Number of classes of each output; empty for regression.
    values : ndarray of shape (n_rows, n_outputs) or None
        The target of regression; None for classes.
    """

    bins: Any
    presort: Presort | None
    labels: IndexArray | None
    n_classes: list[int]
    values: FloatArray | None


def make_training_arrays(
    dataset: Dataset, max_bins: int, *, exact: bool, n_jobs: int, bins: DeviceBins | None = None
) -> TrainingArrays:
    """Bin (and for exact splits sort) the columns of a data set, and encode its target for the engine.

    Bins and order are made once for each data set, which keeps them.

    Parameters
    ----------
    dataset : Dataset
        From `committee.data.intake.take_in`.
    max_bins : int
        The most bins of a numeric column.
    exact : bool
        Whether splits are found on the values rather than on the bins.
    n_jobs : int
        The engine's number of threads, as `committee.base.resolve_jobs` gives it.
    bins : DeviceBins or None, default=None
        The binned table, if another engine has made it already (`committee.engines.choice.bin_for_gpu`).

    Returns
    -------
    TrainingArrays
    """
    if exact and bins is None:
        dataset.bin_sorted(max_bins, n_jobs)
    table = dataset.binned(max_bins, n_jobs) if bins is None else bins
    presort = dataset.presorted(n_jobs) if exact else None
    target = dataset.target
    if isinstance(target, ClassTarget):
        return TrainingArrays(table, presort, target.labels, target.n_classes, None)
    assert isinstance(target, ValueTarget)
    return TrainingArrays(table, presort, None, [], target.values)


def target_attributes(target: ClassTarget | ValueTarget | None) -> dict[str, Any]:
    """Fitted attributes about the target: ``n_outputs_`` and, for classes, ``classes_`` and ``n_classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> target_attributes(ValueTarget(np.zeros((5, 2)), one_dimensional=False))
    {'n_outputs_': 2}
    """
    assert target is not None
    if isinstance(target, ValueTarget):
        return {"n_outputs_": target.n_outputs}
    if target.n_outputs == 1:
        return {"classes_": target.classes[0], "n_classes_": target.n_classes[0], "n_outputs_": 1}
    n_classes = np.array(target.n_classes, dtype=np.intp)
    return {"classes_": target.classes, "n_classes_": n_classes, "n_outputs_": target.n_outputs}
