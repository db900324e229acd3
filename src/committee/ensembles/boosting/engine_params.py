"""From the parameters of `GradientBoosting*` to those of the engine."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from committee.ensembles.boosting.objective import count_present, count_repeated
from committee.exceptions import ParameterError
from committee.learners.tree_params import count_samples

if TYPE_CHECKING:
    from committee.data import Dataset
    from committee.engines import BoostingParams
    from committee.ensembles.boosting.settings import BoostingSettings

__all__ = ["MOST_LEAVES", "set_engine_params"]

#: The engine counts leaves in 32 bits, and no table has so many rows.
MOST_LEAVES = 2**32 - 1
_SYMMETRIC = ("symmetric", "mixed")
"""The policies of growth with symmetric trees."""


def set_engine_params(
    model: Any, settings: BoostingSettings, params: BoostingParams, dataset: Dataset, whole: Dataset
) -> None:
    """Set the parameters of the engine from those of a `GradientBoosting*`.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
        The estimator.
    settings : BoostingSettings
        Its parameters with the values that "auto" stands for.
    params : BoostingParams
        The engine's parameters, which are changed.
    dataset : Dataset
        The training set.
    whole : Dataset
        All rows, of which the training set may be a part: they decide how trees grow.
    """
    _check_vectors(model, dataset)
    growth = settings.find_growth(whole)
    if model.splitter == "random" and growth in _SYMMETRIC:
        raise ParameterError(f"growth={growth!r} draws no thresholds; set 'growth' to 'leaf' or 'level'.")
    if model.early_stopping == "oob" and growth == "mixed":
        raise ParameterError(
            "growth='mixed' has no rows out of bag; set 'growth' to 'leaf', or 'early_stopping' to True."
        )
    _set_node_limits(model, settings, params, dataset)
    params.learning_rate = settings.find_rate(dataset)
    params.subsample = float(settings.subsample)
    params.vector_leaves = model.multi_strategy == "multi_output_tree"
    params.level_wise = growth == "level"
    params.symmetric = growth == "symmetric"
    params.mixed = growth == "mixed"
    params.mixed_depth = min(settings.find_symmetric_depth(model), params.max_depth)
    params.random_thresholds = model.splitter == "random"
    params.reg_lambda = float(settings.reg_lambda)
    params.reg_alpha = float(model.reg_alpha)
    params.colsample_tree = float(model.colsample_bytree)
    params.colsample_level = float(model.colsample_bylevel)
    n_drawn = min(settings.find_features(dataset), dataset.n_features)
    params.colsample_node = float(model.colsample_bynode) * n_drawn / dataset.n_features
    if model.boosting == "goss":
        params.goss_top, params.goss_other = float(model.top_rate), float(model.other_rate)


def _check_vectors(model: Any, dataset: Dataset) -> None:
    """Refuse what trees with vector leaves do not support."""
    if model.multi_strategy != "multi_output_tree":
        return
    if model.growth in _SYMMETRIC:
        raise ParameterError(
            "multi_strategy='multi_output_tree' grows no symmetric trees; set 'growth' to 'leaf' or 'level'."
        )
    if model.splitter == "random":
        raise ParameterError("multi_strategy='multi_output_tree' draws no thresholds; set 'splitter' to 'best'.")
    if model.monotonic_cst is not None:
        raise ParameterError("multi_strategy='multi_output_tree' knows no monotone constraints; leave them out.")
    if dataset.weights is not None and float(model.min_weight_fraction_leaf) > 0.0:
        raise ParameterError(
            "multi_strategy='multi_output_tree' counts rows, not weights: 'min_weight_fraction_leaf' must be 0 "
            "where rows have weights."
        )


def _set_node_limits(model: Any, settings: BoostingSettings, params: BoostingParams, dataset: Dataset) -> None:
    """Limits of the size of a tree and of its nodes."""
    n_rows, subsample = count_present(dataset), float(settings.subsample)
    min_leaf = count_samples(settings.find_min_samples_leaf(dataset), n_rows)
    min_weight = float(model.min_weight_fraction_leaf)
    if dataset.weights is None:
        min_leaf = max(min_leaf, ceil(min_weight * subsample * n_rows))
    else:
        params.min_weight_leaf = min_weight * subsample
    params.max_leaf_nodes = 0 if settings.max_leaf_nodes is None else min(int(settings.max_leaf_nodes), MOST_LEAVES)
    if settings.max_depth is not None:
        params.max_depth = min(int(settings.max_depth), params.max_depth)
    params.min_samples_split = count_samples(model.min_samples_split, n_rows)
    params.min_samples_leaf = min_leaf
    params.min_child_weight = float(settings.min_child_weight)
    # For squared error, a decrease of impurity is twice the decrease of the objective over the weight of all rows.
    min_gain = float(model.min_impurity_decrease) * subsample * count_repeated(dataset) / 2.0
    params.gamma = float(model.gamma) + min_gain
    params.ccp_alpha = float(model.ccp_alpha)
