"""Importance of features judged by rows that the trees did not see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Bunch

from committee.base import resolve_jobs
from committee.data.intake import take_in_rows
from committee.data.memory import check_room_for
from committee.data.targets import encode_classes, encode_values, read_target
from committee.data.weights import read_sample_weight
from committee.engines import get_engine
from committee.exceptions import DataError, NotFittedError

if TYPE_CHECKING:
    from committee.ensembles.forest.base import BaseForest
    from committee.typing import FloatArray

__all__ = ["debias_importances", "permute_features"]


def permute_features(forest: BaseForest, X: Any, y: Any, sample_weight: Any, n_repeats: Any) -> Bunch:
    """Permutation importance [Breiman2001]: see `BaseForest.oob_permutation_importance`."""
    if not isinstance(n_repeats, int | np.integer) or isinstance(n_repeats, bool) or n_repeats < 1:
        raise DataError(f"n_repeats must be an int >= 1; got {n_repeats!r}.")
    importances = _judge(forest, X, y, sample_weight, int(n_repeats))
    return Bunch(
        importances=importances,
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
    )


def debias_importances(forest: BaseForest, X: Any, y: Any, sample_weight: Any) -> FloatArray:
    """MDI-oob [Li2019]: see `BaseForest.oob_impurity_importance`."""
    return _judge(forest, X, y, sample_weight, 0)[:, 0]


def _judge(forest: BaseForest, X: Any, y: Any, sample_weight: Any, n_repeats: int) -> FloatArray:
    state = vars(forest)
    samples, schema = state["_samples"], state["_schema"]
    if samples.draws_all:
        raise NotFittedError("No row is out of bag, since every tree saw all of them. Fit with bootstrap=True.")
    name, engine = type(forest).__name__, get_engine()
    rows = take_in_rows(forest, X, schema)
    if rows.shape[0] != samples.n_rows:
        raise DataError(
            f"{name} was fitted on {samples.n_rows} rows, and which of them are out of bag is known by their place; "
            f"got {rows.shape[0]} rows. Pass the rows of the fit."
        )
    if not isinstance(rows, np.ndarray):
        check_room_for(rows.shape[0], rows.shape[1], rows.dtype.itemsize)
        rows = rows.toarray()
    labels, n_classes, values = _encode_target(forest, y, samples.n_rows)
    weights = None if sample_weight is None else read_sample_weight(sample_weight, samples.n_rows)
    plan = engine.ForestPlan()
    plan.sampling = samples.fill(engine.RowSampling())
    jobs = resolve_jobs(forest.n_jobs)
    return engine.judge_features(
        state["_trees"], rows, labels, n_classes, values, weights, plan, state["_seed"], n_repeats, jobs
    )


def _encode_target(forest: BaseForest, y: Any, n_rows: int) -> tuple[Any, list[int], Any]:
    """The target in the engine's form, with the classes of the fit."""
    array = read_target(y, n_rows, type(forest).__name__, multi_output=True)
    classes = getattr(forest, "classes_", None)
    if classes is None:
        return None, [], encode_values(array).values
    target = encode_classes(array, type(forest).__name__)
    known = [classes] if forest.n_outputs_ == 1 else classes
    if len(known) != target.n_outputs or not all(map(np.array_equal, known, target.classes)):
        raise DataError("y has other classes than the forest was fitted on. Pass the target of the fit.")
    return target.labels, target.n_classes, None
