"""Presets: how much is fitted, from a quick model to the most accurate one."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PRESETS", "Preset"]


@dataclass(frozen=True)
class Preset:
    """What a preset fits.

    Attributes
    ----------
    names : tuple of str or None
        Models of the portfolio that are fitted if they suit the table; None for all.
    n_folds : int
        Number of folds, unless the user gives some.
    max_rounds : int or None
        The maximum number of boosting rounds; None for the bounds of the portfolio.
    n_trees : int or None
        Trees of forests; None for the number of the portfolio.
    learning_rate : float or None
        Of boosting; None for the rates of the portfolio.
    linear_steps : int or None
        The maximum number of steps of logistic regression; None for the number of the member.
    keeps_shallow : bool
        Whether shallow boosting is fitted to the values as well if it is fitted to their logarithms.
    """

    names: tuple[str, ...] | None = None
    n_folds: int = 5
    max_rounds: int | None = None
    n_trees: int | None = None
    learning_rate: float | None = None
    linear_steps: int | None = None
    keeps_shallow: bool = False


_FAST = ("boosting", "linear of words", "extra trees", "linear", "shallow boosting of logs")

#: By name; ``"balanced"`` is the default.
PRESETS = {
    "fast": Preset(_FAST, n_folds=3, max_rounds=240, n_trees=100, learning_rate=0.1, linear_steps=40),
    "balanced": Preset(),
    "best": Preset(n_folds=10, n_trees=500, keeps_shallow=True),
}
