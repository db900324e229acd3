"""What the parameters of `GradientBoosting*` that are left at "auto" mean: tuned values, or those of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from committee.data.dataset import ClassTarget
from committee.ensembles.boosting.objective import count_present, count_repeated
from committee.learners.tree_params import count_features
from committee.losses import apply_exp, apply_log
from committee.value_checks import is_flag

if TYPE_CHECKING:
    from committee.data import Dataset
    from committee.params import MaxDepth, MaxFeatures, MaxLeafNodes

__all__ = ["FEATURE_SHARE", "LEAF_ROWS", "BoostingSettings", "list_tree_params", "resolve_settings"]

_SLOW, _FAST = 0.03, 0.1
"""Automatic learning rates for at most, and at least, the numbers of rows below."""
_RATE_ROWS = (1_000, 20_000)
FEATURE_SHARE, _TWO_CLASS_SHARE, _OTHER_SHARE = 0.5, 0.2, 0.3
"""Automatic fractions of the features: for at least the second number of rows, and for at most the first one, of two
classes and of other targets (``benchmarks/results/quality.md``)."""
_LEAST_FEATURES, _ROWS_PER_FEATURE = 4, 1_000
"""Features that are drawn at least, if half of them are as many; of two classes only one for so many rows."""
LEAF_ROWS, _ROWS_PER_LEAF_ROW = 5, 10
"""Rows that a tuned leaf must keep; in small tables a tenth of all."""
_SYMMETRIC_DEPTH = 6
"""Depth of tuned symmetric trees, and of those of mixed rounds, which have no limit of leaves: that of CatBoost."""
_MORE_ROUNDS = 1.25
"""Rounds of mixed growth on all rows, for each that rows held out have chosen for the others."""
_TREE_PARAMS = ("min_samples_split", "min_weight_fraction_leaf", "min_impurity_decrease", "ccp_alpha")
"""Parameters of a tree that are never automatic."""


@dataclass(frozen=True)
class BoostingSettings:
    """The parameters of a fit that may be left at "auto", resolved.

    Attributes
    ----------
    tuned : bool
        Whether "auto" has this library's values, rather than scikit-learn's.
    stops : bool
        Whether ``early_stopping="auto"`` chooses the number of rounds.
    refit : bool
        Whether a model whose rounds were chosen is fitted again on all rows, and without those after the best one.
    growth : str
        As in the constructor; "auto": by the number of rows.
    n_estimators, max_depth, max_leaf_nodes, subsample, reg_lambda, min_child_weight, tol
        As in the constructor.
    max_features : int, float, str or None
        As in the constructor; "auto": by the number of rows.
    learning_rate : float or None
        None: by the number of rows.
    min_samples_leaf : int, float or None
        None: by the number of rows.
    n_iter_no_change : int or None
        None: no early stopping.
    """

    tuned: bool
    stops: bool
    refit: bool
    growth: str
    n_estimators: int
    max_depth: MaxDepth
    max_leaf_nodes: MaxLeafNodes
    max_features: MaxFeatures | Literal["auto"]
    subsample: float
    reg_lambda: float
    min_child_weight: float
    tol: float
    learning_rate: float | None
    min_samples_leaf: float | None
    n_iter_no_change: int | None

    def find_rate(self, dataset: Dataset) -> float:
        """The learning rate; an automatic one is interpolated between two by the logarithm of the number of rows."""
        if self.learning_rate is not None:
            return self.learning_rate
        return _interpolate(_SLOW, _FAST, dataset)

    def find_growth(self, dataset: Dataset) -> str:
        """How trees grow on the rows of a data set."""
        return self.find_growth_of(count_repeated(dataset))

    def find_growth_of(self, n_rows: float) -> str:
        """How trees grow on so many rows; the automatic policy alternates on few."""
        if self.growth != "auto":
            return self.growth
        return "mixed" if n_rows < _RATE_ROWS[1] else "leaf"

    def find_symmetric_depth(self, model: Any) -> int:
        """Depth of the symmetric trees of mixed growth, within limits of depth and of leaves that were asked for."""
        depth = _SYMMETRIC_DEPTH if self.max_depth is None else int(self.max_depth)
        if _is(model.max_leaf_nodes, "auto") or self.max_leaf_nodes is None:
            return depth
        return min(depth, int(self.max_leaf_nodes).bit_length() - 1)

    def has_rows_out_of_bag(self, dataset: Dataset) -> bool:
        """Whether there are rows that a round learns nothing from."""
        return self.subsample < 1.0 and self.find_growth(dataset) != "mixed"

    def find_refit_rounds(self, best: int, dataset: Dataset) -> int:
        """Rounds of the fit on all rows, where so many were best for a part of them."""
        if not self.tuned or self.find_growth(dataset) != "mixed":
            return best
        return min(int(self.n_estimators), round(_MORE_ROUNDS * best))

    def find_features(self, dataset: Dataset) -> int:
        """The number of features of a node; automatic fractions are interpolated as learning rates are."""
        n_features, target = dataset.n_features, dataset.target
        if not _is(self.max_features, "auto"):
            return count_features(cast("MaxFeatures", self.max_features), n_features)
        half = count_features(FEATURE_SHARE, n_features)
        least = min(half, _LEAST_FEATURES)
        two_classes = isinstance(target, ClassTarget) and max(target.n_classes) <= 2
        if two_classes:
            least = min(least, int(count_repeated(dataset) // _ROWS_PER_FEATURE))
        share = _interpolate(_TWO_CLASS_SHARE if two_classes else _OTHER_SHARE, FEATURE_SHARE, dataset)
        return max(least, count_features(share, n_features))

    def find_min_samples_leaf(self, dataset: Dataset) -> float:
        """The fewest rows of a leaf, or the fraction of all rows."""
        if self.min_samples_leaf is not None:
            return self.min_samples_leaf
        return max(1, min(LEAF_ROWS, count_present(dataset) // _ROWS_PER_LEAF_ROW))


def _interpolate(few: float, many: float, dataset: Dataset) -> float:
    """Between two values of a parameter, by the logarithm of the number of rows."""
    low, high, own = apply_log(np.array([*_RATE_ROWS, max(1.0, count_repeated(dataset))], dtype=np.float64))
    position = np.clip((own - low) / (high - low), 0.0, 1.0)
    ratio = apply_log(np.asarray(many / few))
    return many if position == 1.0 else float(few * apply_exp(np.asarray(ratio * position)))


_TUNED: dict[str, Any] = {
    "n_estimators": 1000,
    "max_depth": None,
    "max_leaf_nodes": 31,
    "max_features": FEATURE_SHARE,
    "subsample": 0.8,
    "reg_lambda": 1.0,
    "min_child_weight": 1e-3,
    "tol": 0.0,
    "learning_rate": None,
    "min_samples_leaf": None,
    "refit": True,
}
_SCIKIT_LEARN: dict[str, Any] = {
    "n_estimators": 100,
    "max_depth": 3,
    "max_leaf_nodes": None,
    "max_features": None,
    "subsample": 1.0,
    "reg_lambda": 0.0,
    "min_child_weight": 0.0,
    "tol": 1e-4,
    "learning_rate": 0.1,
    "min_samples_leaf": 1,
    "n_iter_no_change": None,
    "refit": False,
}


def resolve_settings(model: Any) -> BoostingSettings:
    """The settings of a `GradientBoosting*`.

    The tuned values are used where the fit chooses the number of rounds, those of scikit-learn where it is given.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
        Its parameters are valid.

    Examples
    --------
    >>> from committee import GradientBoostingClassifier
    >>> resolve_settings(GradientBoostingClassifier()).max_leaf_nodes
    31
    >>> resolve_settings(GradientBoostingClassifier(n_estimators=100)).max_depth
    3
    """
    asked = is_flag(model.early_stopping, True) or _is(model.early_stopping, "oob")
    tuned = _is(model.n_estimators, "auto") or asked
    if not _is(model.defaults, "auto"):
        tuned = model.defaults == "tuned"
    values = dict(_TUNED if tuned else _SCIKIT_LEARN)
    if tuned or asked:
        values["n_iter_no_change"] = model.tuned_patience
    if model.boosting == "goss":
        values["subsample"] = 1.0
    if not _is(model.max_leaf_nodes, "auto"):
        values["max_depth"] = None  # so many leaves were asked for: no limit of ours keeps trees from having them
    if model.growth == "symmetric":
        values["max_leaf_nodes"] = None
        if tuned and _is(model.max_leaf_nodes, "auto"):
            values["max_depth"] = _SYMMETRIC_DEPTH
    growth = model.growth
    if growth == "auto" and not (tuned and _may_alternate(model)):
        growth = "leaf"
    if tuned and growth in ("auto", "leaf", "mixed") and model.features_by_rows:
        values["max_features"] = "auto"
    given = {name: getattr(model, name) for name in values}
    values |= {name: value for name, value in given.items() if not _is(value, "auto")}
    stops = _is(model.early_stopping, "auto") and values["n_iter_no_change"] is not None
    return BoostingSettings(tuned=tuned, stops=stops, growth=growth, **values)


def _may_alternate(model: Any) -> bool:
    """Whether nothing was asked for that mixed growth does not have, or that was not tuned with it."""
    plain = model.boosting == "plain" and model.splitter == "best" and model.multi_strategy == "one_output_per_tree"
    out_of_bag = model.early_stopping == "oob" or not _is(model.subsample, "auto")
    return plain and not out_of_bag


def list_tree_params(model: Any, settings: BoostingSettings, dataset: Dataset) -> dict[str, Any]:
    """The parameters of the trees of a fit, as those of a `DecisionTreeRegressor`."""
    resolved = {name: getattr(settings, name) for name in ("max_depth", "max_leaf_nodes", "max_features")}
    if _is(settings.max_features, "auto"):
        resolved["max_features"] = settings.find_features(dataset)
    own = {name: getattr(model, name) for name in _TREE_PARAMS}
    return {**own, **resolved, "min_samples_leaf": settings.find_min_samples_leaf(dataset)}


def _is(value: object, word: str) -> bool:
    """Whether a parameter is that word; arrays are not compared."""
    return isinstance(value, str) and value == word
