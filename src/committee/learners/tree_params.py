"""The engine's parameters of a tree, from those of an estimator: fractions become counts, names become numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import ceil, log2, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.base import resolve_jobs
from committee.constraints import show_value
from committee.data import ClassTarget, Dataset, Schema, ValueTarget
from committee.data.inputs import DATE_KINDS
from committee.data.weights import find_unit
from committee.engines import get_engine
from committee.exceptions import DataError, ParameterError, ParameterTypeError
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
from committee.value_checks import is_real

if TYPE_CHECKING:
    from committee.engines import GrowParams
    from committee.typing import FloatArray

__all__ = ["TreeSettings", "count_features", "count_samples", "make_grow_params", "name_criterion"]

_ENGINE_NAMES = {"log_loss": "entropy"}
"""Criteria that are another name for one of the engine's."""


@dataclass(slots=True)
class TreeSettings:
    """The settings of one tree: the parameters of a tree estimator, or those that an ensemble has for its trees.

    The values were checked by `committee.constraints.validate_params`; defaults are scikit-learn's.
    """

    owner: str  # class of the estimator, for messages
    criterion: str
    splitter: Splitter = "best"
    max_depth: MaxDepth = None
    min_samples_split: MinSamplesSplit = 2
    min_samples_leaf: MinSamplesLeaf = 1
    min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0
    max_features: MaxFeatures = None
    random_state: RandomState = 0
    shuffle_ties: bool = True  # equal splits: one of them by the seed, rather than that of the lowest feature
    max_leaf_nodes: MaxLeafNodes = None
    min_impurity_decrease: MinImpurityDecrease = 0.0
    ccp_alpha: CcpAlpha = 0.0
    monotonic_cst: MonotonicCst = None
    exact: Exact = False
    interaction_cst: InteractionCst = None
    n_jobs: NJobs = None

    @classmethod
    def of(cls, estimator: object, **fixed: Any) -> TreeSettings:
        """The settings from an estimator's parameters of the same names, and some that are fixed."""
        params = vars(estimator)
        settings = {name: params[name] for name in cls.__slots__ if name in params}
        return cls(type(estimator).__name__, **settings, **fixed)


def make_grow_params(
    settings: TreeSettings,
    dataset: Dataset,
    weights: FloatArray | None,
    seed: int,
    tree: int = 0,
    row_weight: float | None = None,
    n_present: int | None = None,
) -> GrowParams:
    """The engine's parameters, from the settings of a tree and the data that it is grown on.

    Settings that depend on the data are checked here: the target of the Poisson criterion and of monotonic
    constraints, and the features that constraints name.

    Parameters
    ----------
    settings : TreeSettings
        The settings of the tree.
    dataset : Dataset
        The training set.
    weights : ndarray of shape (n_rows,) or None
        Row weights of this tree; fractions refer to them, and rows of weight zero count as absent.
    seed, tree : int
        Seed of the ensemble and number of the tree in it.
    row_weight : float, optional
        The weight that counts as one row, where these are not the weights of the data set.
    n_present : int, optional
        Rows with a weight, where the weights are not in this process.

    Returns
    -------
    GrowParams
    """
    n_rows = n_present
    if n_rows is None:
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
    if row_weight is not None:
        params.row_weight = row_weight
    elif weights is not None:
        params.row_weight = dataset.row_weight if weights is dataset.weights else find_unit(weights)
    n_features = dataset.n_features
    params.max_features = min(count_features(settings.max_features, n_features), n_features)
    if settings.max_leaf_nodes is not None:
        # There are no more leaves than rows; the bound keeps any int within the engine's range.
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


def name_criterion(criterion: object) -> str:
    """The engine's name of a criterion."""
    if not isinstance(criterion, str):  # a changed model file has anything in its place
        raise ParameterError(f"The 'criterion' parameter of a tree must be a string; got {show_value(criterion)}.")
    return _ENGINE_NAMES.get(criterion, criterion)


def count_features(max_features: MaxFeatures, n_features: int) -> int:
    """Features to draw at each node, from a number, a fraction, ``"sqrt"``, ``"log2"`` or None for all."""
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        return max(1, int(sqrt(n_features) if max_features == "sqrt" else log2(n_features)))
    if isinstance(max_features, (int, np.integer)):
        return int(max_features)
    if not is_real(max_features):
        raise ParameterTypeError(f"max_features must be a number, a name or None; got {show_value(max_features)}.")
    return max(1, int(max_features * n_features))


def count_samples(min_samples: float, n_rows: int) -> int:
    """A number of rows, from a number or a fraction; at most one more than there are."""
    rows = int(min_samples) if isinstance(min_samples, (int, np.integer)) else ceil(min_samples * n_rows)
    return min(rows, n_rows + 1)


def _check_poisson_target(values: FloatArray, weights: FloatArray | None) -> None:
    if values.min() < 0.0:
        raise DataError("Some value(s) of y are negative which is not allowed for Poisson regression.")
    totals = values.sum(axis=0) if weights is None else weights @ values
    if not np.all(totals > 0.0):
        raise DataError("Sum of y is not strictly positive which is necessary for Poisson regression.")


def _read_monotonic(settings: TreeSettings, dataset: Dataset) -> list[int]:
    """One of -1, 0, 1 for each feature; for two classes the constraint is on the probability of the second one."""
    target, schema = dataset.target, dataset.schema
    if target is not None and target.n_outputs > 1:
        raise DataError("Monotonicity constraints are not supported with multiple outputs.")
    if isinstance(target, ClassTarget) and target.n_classes[0] > 2:
        raise DataError("Monotonicity constraints are not supported with multiclass classification.")
    if isinstance(target, ClassTarget) and target.n_classes[0] < 2:
        raise DataError("Monotonicity constraints need two classes, and y has one.")
    given = settings.monotonic_cst
    if isinstance(given, Mapping):
        names = schema.input_names or ()
        unknown = [name for name in given if name not in names]
        if unknown:
            raise _parameter_error(
                settings, "monotonic_cst", f"name features that X has; {unknown[0]!r} is not one of them"
            )
        given = [given.get(name, 0) for name in names]
    signs = np.asarray(given)
    if signs.shape != (schema.n_inputs,):
        raise DataError(f"monotonic_cst has shape {signs.shape} but the input data X has {schema.n_inputs} features.")
    if not np.isin(signs, (-1, 0, 1)).all():
        raise _parameter_error(settings, "monotonic_cst", f"hold only -1, 0 or 1; got {show_value(given)}")
    kinds = ("number",) * schema.n_inputs if schema.inputs is None else schema.inputs.kinds
    for column in np.flatnonzero(signs).tolist():
        named = schema.name_input(column)
        if schema.are_categories[column]:
            raise _parameter_error(
                settings,
                "monotonic_cst",
                f"leave categories free (0); {named} is a category",
                "Categorical features cannot have monotonic constraints. ",
            )
        if kinds[column] in DATE_KINDS:
            raise _parameter_error(settings, "monotonic_cst", f"leave dates free (0); {named} holds dates")
        if kinds[column] == "text":
            raise _parameter_error(settings, "monotonic_cst", f"leave text free (0); {named} holds text")
    constraints: list[int] = (signs if schema.inputs is None else signs[schema.inputs.owners]).astype(int).tolist()
    return constraints


def _group_interactions(settings: TreeSettings, schema: Schema) -> list[list[int]]:
    """Groups of features that may occur together on a path; features in no given group form one more."""
    given: Any = settings.interaction_cst
    n_features = schema.n_inputs
    if isinstance(given, str):
        size = 2 if given == "pairwise" and n_features > 1 else 1
        return _expand_groups([list(group) for group in combinations(range(n_features), size)], schema)
    groups = []
    if not np.iterable(given):
        raise _parameter_error(settings, "interaction_cst", f"hold groups of features; got {show_value(given)}")
    for group in given:
        members = [_find_feature(settings, schema, name) for name in _iterate_group(settings, group)]
        groups.append(sorted(set(members)))
    left_over = sorted(set(range(n_features)).difference(*groups))
    return _expand_groups([*groups, left_over] if left_over else groups, schema)


def _expand_groups(groups: list[list[int]], schema: Schema) -> list[list[int]]:
    """Groups of features from groups of columns of the user's table."""
    return [[feature for column in group for feature in schema.list_features(column)] for group in groups]


def _iterate_group(settings: TreeSettings, group: Any) -> list[Any]:
    if isinstance(group, (str, bytes)) or not hasattr(group, "__iter__"):
        raise _parameter_error(
            settings,
            "interaction_cst",
            f"hold groups of features; {group!r} is not a group",
            "Interaction constraints must be a sequence of tuples or lists. ",
        )
    return list(group)


def _find_feature(settings: TreeSettings, schema: Schema, name: Any) -> int:
    if isinstance(name, str) and schema.input_names is not None and name in schema.input_names:
        return schema.input_names.index(name)
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < schema.n_inputs:
        return int(name)
    raise _parameter_error(
        settings,
        "interaction_cst",
        f"hold features of X, which has {schema.n_inputs}; {name!r} is not one of them",
        "Interaction constraints must consist of integer indices in [0, n_features - 1] = "
        f"[0, {schema.n_inputs - 1}], specifying the position of features, or of names of columns. ",
    )


def _parameter_error(settings: TreeSettings, name: str, must: str, start: str = "") -> ParameterError:
    """The sentence about a parameter, after one that scikit-learn has for the same event."""
    return ParameterError(f"{start}The {name!r} parameter of {settings.owner} must {must}.")
