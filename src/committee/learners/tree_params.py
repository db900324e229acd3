"""Parameters of a tree in the engine's terms: shares become counts, names become numbers. The one place for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import ceil, log2, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.base import resolve_jobs
from committee.data import ClassTarget, Dataset, Schema, ValueTarget
from committee.engines import get_engine
from committee.exceptions import DataError, ParameterError
from committee.params import (
    CcpAlpha,
    Exact,
    InteractionCst,
    MaxDepth,
    MaxFeatures,
    MaxLeafNodes,
    MinImpurityDecrease,
    MinSamplesLeaf,
    MinSamplesSplit,
    MinWeightFractionLeaf,
    MonotonicCst,
    NJobs,
    RandomState,
    Splitter,
)

if TYPE_CHECKING:
    from committee.engines import GrowParams
    from committee.typing import FloatArray

__all__ = ["TreeSettings", "count_features", "count_samples", "make_grow_params", "name_criterion"]

_ENGINE_NAMES = {"log_loss": "entropy"}
"""Criteria that are another name for one of the engine's."""


@dataclass(slots=True)
class TreeSettings:
    """All that one tree is told, whoever is told it: a tree its own parameters, an ensemble those of its members.

    The values have passed `committee.params.validate_params`; what is not told has scikit-learn's default.
    """

    owner: str  # whose parameters these are, for sentences
    criterion: str
    splitter: Splitter = "best"
    max_depth: MaxDepth = None
    min_samples_split: MinSamplesSplit = 2
    min_samples_leaf: MinSamplesLeaf = 1
    min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0
    max_features: MaxFeatures = None
    random_state: RandomState = 0
    shuffle_ties: bool = True  # equal splits: any of them by the seed, rather than that of the lowest feature
    max_leaf_nodes: MaxLeafNodes = None
    min_impurity_decrease: MinImpurityDecrease = 0.0
    ccp_alpha: CcpAlpha = 0.0
    monotonic_cst: MonotonicCst = None
    exact: Exact = False
    interaction_cst: InteractionCst = None
    n_jobs: NJobs = None

    @classmethod
    def of(cls, estimator: object, **fixed: Any) -> TreeSettings:
        """The settings that an estimator's parameters of the same names say, and some that are fixed."""
        given = vars(estimator)
        told = {name: given[name] for name in cls.__slots__ if name in given}
        return cls(type(estimator).__name__, **told, **fixed)


def make_grow_params(
    settings: TreeSettings, dataset: Dataset, weights: FloatArray | None, seed: int, tree: int = 0
) -> GrowParams:
    """Turn the settings of a tree into the engine's parameters.

    What depends on the data is checked here: the target of the Poisson criterion and of monotonic constraints, and
    the features that constraints name.

    Parameters
    ----------
    settings : TreeSettings
        What the tree is told.
    dataset : Dataset
        What it is to be grown on.
    weights : ndarray of shape (n_rows,) or None
        Row weights of this tree; the shares refer to them, and rows of weight zero count as absent.
    seed, tree : int
        Seed of the ensemble and number of the tree in it.

    Returns
    -------
    The engine's GrowParams.
    """
    n_rows = dataset.n_rows if weights is None else int(np.count_nonzero(weights))
    params: GrowParams = get_engine().GrowParams()
    params.criterion = name_criterion(settings.criterion)
    params.random_splits = settings.splitter == "random"
    params.exact = bool(settings.exact)
    params.shuffle_ties = settings.shuffle_ties
    if settings.max_depth is not None:
        params.max_depth = min(int(settings.max_depth), params.max_depth)
    leaf = count_samples(settings.min_samples_leaf, n_rows)
    params.min_samples_leaf = leaf
    params.min_samples_split = max(2, 2 * leaf, count_samples(settings.min_samples_split, n_rows))
    if settings.min_weight_fraction_leaf > 0.0:
        total = n_rows if weights is None else float(weights.sum())
        params.min_weight_leaf = float(settings.min_weight_fraction_leaf) * total
    n_features = dataset.n_features
    params.max_features = min(count_features(settings.max_features, n_features), n_features)
    if settings.max_leaf_nodes is not None:
        # More leaves than rows cannot be; the bound keeps any int within the engine's.
        params.max_leaf_nodes = max(2, min(int(settings.max_leaf_nodes), n_rows))
    params.min_impurity_decrease = float(settings.min_impurity_decrease)
    params.ccp_alpha = float(settings.ccp_alpha)
    params.seed, params.tree = seed, tree
    params.n_jobs = resolve_jobs(settings.n_jobs)
    if settings.monotonic_cst is not None:
        params.monotonic = _read_monotonic(settings, dataset)
    if settings.interaction_cst is not None:
        params.interaction_groups = _group_interactions(settings, dataset.schema)
    if settings.criterion == "poisson" and isinstance(dataset.target, ValueTarget):
        _check_poisson_target(dataset.target.values, weights)
    return params


def name_criterion(criterion: str) -> str:
    """The engine's name of a criterion."""
    return _ENGINE_NAMES.get(criterion, criterion)


def count_features(wanted: Any, n_features: int) -> int:
    """Features to draw at each node, from a number, a share, ``"sqrt"``, ``"log2"`` or None for all."""
    if wanted is None:
        return n_features
    if isinstance(wanted, str):
        return max(1, int(sqrt(n_features) if wanted == "sqrt" else log2(n_features)))
    if isinstance(wanted, (int, np.integer)):
        return int(wanted)
    return max(1, int(wanted * n_features))


def count_samples(wanted: float, n_rows: int) -> int:
    """A number of rows, from one or from a share of them; more than there are is as good as one more."""
    rows = int(wanted) if isinstance(wanted, (int, np.integer)) else ceil(wanted * n_rows)
    return min(rows, n_rows + 1)


# Names of an earlier version, for families of ensembles that still use them.
set_up_growth = make_grow_params
count_rows = count_samples


def _check_poisson_target(values: FloatArray, weights: FloatArray | None) -> None:
    if values.min() < 0.0:
        raise DataError("Some value(s) of y are negative which is not allowed for Poisson regression.")
    totals = values.sum(axis=0) if weights is None else weights @ values
    if not np.all(totals > 0.0):
        raise DataError("Sum of y is not positive which is necessary for Poisson regression.")


def _read_monotonic(settings: TreeSettings, dataset: Dataset) -> list[int]:
    """One of -1, 0, 1 for each feature; for two classes it is the second one's probability that is bound."""
    target, schema = dataset.target, dataset.schema
    if target is not None and target.n_outputs > 1:
        raise DataError("Monotonicity constraints are not supported with multiple outputs.")
    if isinstance(target, ClassTarget) and target.n_classes[0] > 2:
        raise DataError("Monotonicity constraints are not supported with multiclass classification.")
    given = settings.monotonic_cst
    if isinstance(given, Mapping):
        names = schema.feature_names or ()
        unknown = [name for name in given if name not in names]
        if unknown:
            raise _refuse(settings, "monotonic_cst", f"name features that X has; {unknown[0]!r} is not one of them")
        given = [given.get(name, 0) for name in names]
    signs = np.asarray(given)
    if signs.shape != (schema.n_features,):
        raise DataError(f"monotonic_cst has shape {signs.shape} but the input data X has {schema.n_features} features.")
    if not np.isin(signs, (-1, 0, 1)).all():
        raise _refuse(settings, "monotonic_cst", f"hold only -1, 0 or 1; got {np.unique(signs)}")
    held: list[int] = signs.astype(int).tolist()
    for feature in np.flatnonzero(dataset.n_levels):
        if held[feature] != 0:
            raise _refuse(
                settings,
                "monotonic_cst",
                f"leave categories free (0); {schema.name_column(int(feature))} is a category",
            )
    return held


def _group_interactions(settings: TreeSettings, schema: Schema) -> list[list[int]]:
    """Groups of features that may meet on a path; features in none of those given form one more."""
    given: Any = settings.interaction_cst
    n_features = schema.n_features
    if isinstance(given, str):
        size = 2 if given == "pairwise" and n_features > 1 else 1
        return [list(group) for group in combinations(range(n_features), size)]
    groups = []
    for group in given:
        members = [_find_feature(settings, schema, name) for name in _iterate_group(settings, group)]
        groups.append(sorted(set(members)))
    left_over = sorted(set(range(n_features)).difference(*groups))
    return [*groups, left_over] if left_over else groups


def _iterate_group(settings: TreeSettings, group: Any) -> list[Any]:
    if isinstance(group, (str, bytes)) or not hasattr(group, "__iter__"):
        raise _refuse(settings, "interaction_cst", f"hold groups of features; {group!r} is not a group")
    return list(group)


def _find_feature(settings: TreeSettings, schema: Schema, name: Any) -> int:
    if isinstance(name, str) and schema.feature_names is not None and name in schema.feature_names:
        return schema.feature_names.index(name)
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < schema.n_features:
        return int(name)
    raise _refuse(
        settings, "interaction_cst", f"hold features of X, which has {schema.n_features}; {name!r} is not one of them"
    )


def _refuse(settings: TreeSettings, name: str, must: str) -> ParameterError:
    return ParameterError(f"The {name!r} parameter of {settings.owner} must {must}.")
