"""Presets: how much is fitted, from a quick model to the most accurate one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["PRESETS", "Preset", "find_preset"]

_FEW_ROWS = 1000
"""Rows up to which the fast preset fits more of what is cheap on small tables."""
_MANY_ROWS, _N_REPEATS = 2000, 3
"""Rows below which the best preset divides the table so often into folds for all members, not for a network alone: a
mean of more models varies less, and there is time for it."""
_WIDE_COLUMNS, _WIDE_CELLS = 100, 500_000
"""Columns and cells from which less is fitted to more than two classes: each round of boosting grows a tree a class."""
_DRAWN: dict[str, Any] = {"max_features": 0.5, "colsample_bytree": 0.2}
"""Of boosting there: histograms are made of the columns of a tree alone."""


@dataclass(frozen=True)
class Preset:
    """What a preset fits.

    Attributes
    ----------
    names : tuple of str or None
        Models of the portfolio that are fitted if they suit the table; None for all.
    left_out : tuple of str
        Models of the portfolio that are fitted only if the user names them.
    n_folds : int
        Number of folds, unless the user gives some.
    n_fitted : int or None
        In how many of these folds members are fitted; None for all. The rows of the others are training rows of every
        fit and have no out-of-fold predictions: fewer fits, each on more rows than with fewer folds.
    n_class_fitted : int or None
        The same for more than two classes, each of which has trees of its own; None for `n_fitted`.
    n_repeats : int
        How often the rows are divided into folds, each time in another order; once if there are groups.
    network_repeats : int
        The same for a network of the portfolio, whose means gain most; not with a time budget, see `fills_budget`.
    rounds : tuple of int or None
        The stages of boosting; None for those of the portfolio.
    n_trees : int or None
        Trees of forests; None for the number of the portfolio.
    min_gain : float or None
        Relative decrease of the loss that a stage of boosting must bring for another one to follow; None for the usual.
    boosting : dict
        Parameters of boosting in place of those of the portfolio.
    linear_steps : int or None
        The maximum number of steps of logistic regression; None for the number of the member.
    has_single_linear : bool
        Whether the linear member of two classes or of values is fitted once: predictions without a fold follow from it.
    n_landmarks : int or None
        The most landmarks of the kernel for two classes; None for the number of the member.
    n_wide : int or None
        Columns from which boosting has fewer bins and forests of values draw fewer features; None for boosting alone,
        with the number of the portfolio.
    keeps_shallow : bool
        Whether shallow boosting is fitted to the values as well if it is fitted to their logarithms.
    has_slow : bool
        Whether networks, a large kernel, boosting with random thresholds, of symmetric trees and by code of logarithms,
        and members of pairs of columns are fitted.
    has_stack : bool
        Whether there is a second layer.
    fills_budget : bool
        Whether members are fitted in further divisions into folds while a time budget lasts.
    """

    names: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()
    n_folds: int = 5
    n_fitted: int | None = None
    n_class_fitted: int | None = None
    n_repeats: int = 1
    network_repeats: int = 1
    rounds: tuple[int, ...] | None = None
    min_gain: float | None = None
    n_trees: int | None = None
    boosting: dict[str, Any] = field(default_factory=dict)
    linear_steps: int | None = None
    has_single_linear: bool = False
    n_landmarks: int | None = None
    n_wide: int | None = None
    keeps_shallow: bool = False
    has_slow: bool = False
    has_stack: bool = False
    fills_budget: bool = False


#: By name; ``"balanced"`` is the default.
PRESETS = {
    # Few small trees of a large rate: the mean over folds makes up for most of what a single model would lose.
    "fast": Preset(
        ("boosting", "linear of words", "extra trees", "linear", "shallow boosting of logs"),
        n_folds=4,
        n_fitted=2,
        n_class_fitted=2,
        rounds=(30, 60, 120),
        min_gain=0.01,
        n_trees=50,
        boosting={"learning_rate": 0.2, "max_leaf_nodes": 16},
        linear_steps=12,
        has_single_linear=True,
        n_wide=40,
    ),
    "balanced": Preset(),
    "best": Preset(
        n_folds=10,
        network_repeats=_N_REPEATS,
        n_trees=500,
        keeps_shallow=True,
        has_slow=True,
        has_stack=True,
        fills_budget=True,
    ),
}


def find_preset(name: str, n_rows: int, n_columns: int = 0, n_classes: int = 0) -> Preset:
    """The preset of a name for a table of so many rows.

    On few rows the fast one fits the kernel, and all folds of two classes or of values; the best one repeats its folds.
    On wide tables of several classes boosting looks at fewer columns, and the balanced one boosts in two of its folds.

    Parameters
    ----------
    name : str
        The parameter `preset`.
    n_rows : int
        Rows of the table.
    n_columns : int, default=0
        Columns of a dense table.
    n_classes : int, default=0
        Number of classes; 0 for values.

    Examples
    --------
    >>> find_preset("fast", 500).n_fitted, find_preset("fast", 5000).n_fitted
    (None, 2)
    >>> find_preset("best", 500).n_repeats, find_preset("best", 5000).n_repeats
    (3, 1)
    >>> find_preset("balanced", 5000, 784, 10).n_class_fitted
    2
    """
    preset = PRESETS[name]
    is_wide = n_columns >= _WIDE_COLUMNS and n_rows * n_columns >= _WIDE_CELLS
    if is_wide and n_classes > 2 and name != "best":
        preset = replace(preset, boosting={**preset.boosting, **_DRAWN})
        if name == "balanced":
            preset = replace(preset, n_class_fitted=2, left_out=("boosting by code",), n_trees=75, linear_steps=20)
    if name == "best" and n_rows < _MANY_ROWS:
        return replace(preset, n_repeats=_N_REPEATS)
    if name != "fast" or n_rows > _FEW_ROWS:
        return preset
    return replace(preset, names=(*(preset.names or ()), "kernel"), n_fitted=None, linear_steps=40, n_landmarks=300)
