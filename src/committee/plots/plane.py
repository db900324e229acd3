"""The plane of two features: the rows as points, and a grid of rows to predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from committee.data.rows import count_rows, select_rows
from committee.exceptions import DataError, ParameterError
from committee.plots.style import INK, choose_colors, choose_marker, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from numpy.typing import NDArray

    from committee.typing import FloatArray

    # A column, by index or name.
    Feature: TypeAlias = int | str | np.integer[Any]

__all__ = ["Plane", "draw_points", "read_plane", "size_points"]

_MARGIN = 0.06
"""Margin around the points, as a share of their range."""
_POINT_AREA = 26.0


@dataclass(frozen=True)
class Plane:
    """Two features of a table.

    Attributes
    ----------
    table : array or frame
        The rows in the form that a model accepts.
    columns : tuple of two int
        Indices of the features, horizontal and vertical.
    names : tuple of two str
        Their names.
    points : ndarray of shape (n_rows, 2)
        Their values; NaN if missing.
    """

    table: Any
    columns: tuple[int, int]
    names: tuple[str, str]
    points: FloatArray

    def make_axes(self, resolution: int) -> tuple[FloatArray, FloatArray]:
        """Grid values along both axes, with a margin around the points."""
        low, high = np.nanmin(self.points, axis=0), np.nanmax(self.points, axis=0)
        margin = np.where(high > low, (high - low) * _MARGIN, 0.5)
        across, up = (np.linspace(a - m, b + m, resolution) for a, b, m in zip(low, high, margin, strict=True))
        return across, up

    def make_rows(self, across: FloatArray, up: FloatArray) -> Any:
        """Rows at all points of a grid, in rows from below; other features have their typical values."""
        xx, yy = (part.ravel() for part in np.meshgrid(across, up))
        chosen = dict(zip(self.columns, (xx, yy), strict=True))
        if hasattr(self.table, "iloc"):
            # Copies of a row keep the types of the columns.
            rows = self.table.iloc[np.zeros(len(xx), dtype=np.intp)].reset_index(drop=True)
            for column in range(rows.shape[1]):
                if column in chosen:
                    rows.isetitem(column, chosen[column])
                else:
                    rows.isetitem(column, _repeat_typical(self.table.iloc[:, column], rows.iloc[:, column]))
            return rows
        table = np.asarray(self.table, dtype=np.float64)
        typical = np.array([_find_median(column) for column in table.T])
        rows = np.tile(typical, (len(xx), 1))
        for column, values in chosen.items():
            rows[:, column] = values
        return rows


def _find_median(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else float("nan")


def _repeat_typical(column: pd.Series, like: pd.Series) -> pd.Series | FloatArray:
    """The median of a numeric column, else its most frequent value, repeated to the length of another column."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "fiu":
        return np.full(len(like), _find_median(column.to_numpy(dtype=np.float64)))
    most = column.mode(dropna=True)
    repeated = like.copy()
    if len(most):
        repeated.loc[:] = most.iloc[0]
    return repeated


def read_plane(X: Any, features: Sequence[Feature] | None) -> Plane:
    """The plane of two features, by index or name; by default those of a table with two columns."""
    if hasattr(X, "to_pandas") and not hasattr(X, "iloc"):
        X = X.to_pandas()  # keeps the column names, which models check
    frame = hasattr(X, "iloc")
    table: Any = X if frame else np.asarray(X)
    if table.ndim != 2 or not count_rows(table):
        raise DataError("X must be a table with at least one row.")
    names = [str(name) for name in table.columns] if frame else [f"Feature {k}" for k in range(table.shape[1])]
    if features is None:
        if len(names) != 2:
            raise ParameterError(
                f"X has {len(names)} columns; choose the two to show by the 'features' argument, e.g. features=(0, 1). "
                "The others are set to their median, or most frequent value."
            )
        features = (0, 1)
    if isinstance(features, str) or len(features) != 2:
        raise ParameterError(f"The 'features' argument must be two names or numbers of columns; got {features!r}.")
    columns = [_find_plane_column(feature, names) for feature in features]
    if columns[0] == columns[1]:
        raise ParameterError(f"The 'features' argument must be two different columns; got {features!r} twice.")
    points = np.stack([_read_axis_values(table, column, names[column]) for column in columns], axis=1)
    return Plane(table, (columns[0], columns[1]), (names[columns[0]], names[columns[1]]), points)


def _find_plane_column(feature: Feature, names: list[str]) -> int:
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, int | np.integer) and 0 <= feature < len(names):
        return int(feature)
    raise ParameterError(
        f"A feature must be the name or number (0 to {len(names) - 1}) of a column of X; got {feature!r}."
    )


def _read_axis_values(X: Any, column: int, name: str) -> FloatArray:
    values = select_rows(X, None, np.array([column]))
    try:
        numbers = np.asarray(values, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise DataError(f"Column {name!r} cannot be an axis: it does not hold numbers.") from None
    if np.isnan(numbers).all():
        raise DataError(f"Column {name!r} has no value that is not missing.")
    return numbers


def size_points(weights: FloatArray | None, n_points: int) -> FloatArray:
    """Areas proportional to weights; rows of mean weight have the default area."""
    if weights is None:
        return np.full(n_points, _POINT_AREA)
    return np.asarray(_POINT_AREA * weights * n_points / weights.sum())


def draw_points(
    ax: Axes,
    points: FloatArray,
    labels: NDArray[Any] | None,
    names: Sequence[str],
    areas: FloatArray,
    **options: Any,
) -> list[PathCollection]:
    """Points with the colour and marker of their class, one collection per class; without labels all alike."""
    shown = ~np.isnan(points).any(axis=1)
    options = {"edgecolors": INK, "linewidths": 0.5, "zorder": 3, **options}
    if labels is None:
        x, y = points[shown].T
        return [ax.scatter(x, y, s=areas[shown], c="#FFFFFF", **options)]
    drawn = []
    for k, (name, color) in enumerate(zip(names, choose_colors(len(names)), strict=True)):
        own = shown & (labels == k)
        x, y = points[own].T
        drawn.append(ax.scatter(x, y, s=areas[own], c=color, marker=choose_marker(k), label=shorten(name), **options))
    return drawn
