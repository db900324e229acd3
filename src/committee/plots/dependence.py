"""Partial dependence on one or two features: lines, heat maps, and geographic maps."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, radians
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.data.inputs import DATE_KINDS
from committee.data.rows import count_rows, select_rows
from committee.exceptions import ParameterError
from committee.inspection.dependence import partial_dependence
from committee.inspection.model_access import find_features, make_response
from committee.plots.display import PanelDisplay
from committee.plots.style import ACCENT, GREY, choose_map, shorten, shorten_all, tidy_axes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis, XAxis, YAxis
    from matplotlib.collections import QuadMesh
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

    from committee.inspection.model_access import Response
    from committee.plots.display import PanelAxes
    from committee.plots.plane import Feature
    from committee.plots.predictions import ClassLabel
    from committee.typing import BoolArray, FloatArray

__all__ = [
    "DependencePanel",
    "PartialDependenceDisplay",
    "choose_output",
    "find_positions",
    "mark_deciles",
    "name_ticks",
    "read_observed",
    "show_dates_on",
]

_LATITUDES, _LONGITUDES = {"latitude", "lat"}, {"longitude", "lon", "long", "lng"}
_MOST_TICKS = 12
_MOST_LINED_CATEGORIES = 4
_MOST_DATES = 6
_DAY = 86_400.0


@dataclass
class DependencePanel:
    """One panel of a `PartialDependenceDisplay`.

    Attributes
    ----------
    feature_names : list of one or two str
        The features.
    grid : list of ndarray
        Grid values of each: numbers, dates, or categories.
    average : ndarray of shape (n_points,) or (n_points, n_points)
        The partial dependence.
    individual : ndarray of shape (n_curves, n_points) or None
        Curves of single rows.
    observed : list of ndarray
        Values of the features in the rows, for the decile marks along the axes; days, if they are dates.
    """

    feature_names: list[str]
    grid: list[NDArray[Any]]
    average: FloatArray
    individual: FloatArray | None
    observed: list[FloatArray]

    @property
    def is_map(self) -> bool:
        """Whether the two features are longitude and latitude."""
        names = [name.strip().lower() for name in self.feature_names]
        return len(names) == 2 and bool(
            (names[0] in _LONGITUDES and names[1] in _LATITUDES) or (names[0] in _LATITUDES and names[1] in _LONGITUDES)
        )


@dataclass
class PartialDependenceDisplay(PanelDisplay):
    """Partial dependence, a panel for each feature (a line) or pair of features (a heat map).

    Thin grey lines are rows, the thick one is their mean; marks along the axis are the deciles of the rows, since the
    dependence is not reliable where there are no rows. Longitude and latitude are drawn as a map with about equal
    scales; locations without rows are white.

    Parameters
    ----------
    panels : list of DependencePanel
        The panels.
    response : str
        Label of the prediction.
    n_columns : int
        Panels per row.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes
        Of the panels.
    lines_ : list
        The line of the mean of each panel; None in heat maps.
    images_ : list
        The heat map of each panel; None where there is a line.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import RandomForestRegressor
    >>> from committee.plots import PartialDependenceDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> shown = PartialDependenceDisplay.from_estimator(forest, X, ["bmi", ("bmi", "s5")], grid_resolution=20)
    >>> [panel.average.shape for panel in shown.panels]
    [(20,), (20, 20)]
    """

    panels: list[DependencePanel]
    response: str = "prediction"
    n_columns: int = 3

    lines_: list[Line2D | None] = field(init=False, repr=False, default_factory=list)
    images_: list[QuadMesh | None] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        features: Feature | tuple[Feature, Feature] | Sequence[Feature | Sequence[Feature]],
        *,
        kind: Literal["average", "both"] = "both",
        target: ClassLabel | None = None,
        max_curves: int = 60,
        grid_resolution: int = 50,
        percentiles: tuple[float, float] = (0.05, 0.95),
        response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
        n_columns: int = 3,
        ax: PanelAxes = None,
    ) -> Self:
        """Compute the partial dependence, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            Of any library.
        X : array-like or data frame
            Rows to average over.
        features : list of int, str or pairs of them, or a single one of these
            One panel each.
        kind : {"both", "average"}
            Whether curves of single rows are drawn as well.
        target : class label or int, optional
            The class if there are more than two, or the number of the output if there are several.
        max_curves : int, default=60
            Maximum number of curves, of rows spread over X; the mean is over all rows.
        grid_resolution, percentiles, response_method
            As in `committee.inspection.partial_dependence`.
        n_columns : int, default=3
            Panels per row.
        ax : matplotlib axes or sequence of them, optional
            Where to draw; a new figure by default.

        Returns
        -------
        PartialDependenceDisplay
        """
        if kind not in ("average", "both"):
            raise ParameterError(f"The 'kind' argument must be 'average' or 'both'; got {kind!r}.")
        listed = [features] if isinstance(features, str | int | np.integer | tuple) else list(features)
        reader = make_response(estimator, X, response_method=response_method)
        output, label = choose_output(estimator, target, response_method)
        few = spread_rows(X, max_curves)
        panels = []
        for feature in listed:
            own = [feature] if isinstance(feature, str | int | np.integer) else list(feature)
            if len(own) > 2:
                raise ParameterError(f"A panel shows one or two features; got {own!r}.")
            numbers = _order_map(find_features(reader, own), reader.names)
            found = partial_dependence(
                estimator,
                X,
                numbers,
                grid_resolution=grid_resolution,
                percentiles=percentiles,
                response_method=response_method,
            )
            curves = None
            if kind == "both" and len(own) == 1:
                at = {numbers[0]: found["grid_values"][0]}
                rows = partial_dependence(
                    estimator, few, numbers, kind="individual", custom_values=at, response_method=response_method
                )
                curves = _pick(rows["individual"], output)
            names = [reader.names[k] for k in numbers]
            observed = [read_observed(reader, k) for k in numbers]
            panels.append(
                DependencePanel(names, found["grid_values"], _pick(found["average"], output), curves, observed)
            )
        return cls(panels, label, n_columns).plot(ax=ax)

    def _draw(self, ax: PanelAxes) -> None:
        size = (5.6, 4.4) if len(self.panels) == 1 else (3.7, 3.2)
        axes = self._open_panels(ax, len(self.panels), self.n_columns, size)
        self.lines_, self.images_ = [], []
        for one, panel in zip(axes, self.panels, strict=True):
            if len(panel.feature_names) == 1:
                self.lines_.append(self._draw_line(one, panel))
                self.images_.append(None)
            else:
                self.lines_.append(None)
                self.images_.append(self._draw_heat(one, panel))
        self._level_lines(axes)

    def _level_lines(self, axes: NDArray[Any]) -> None:
        """Use one scale for all lines, so that their effects can be compared."""
        lined = [one for one, line in zip(axes, self.lines_, strict=True) if line is not None]
        if len(lined) > 1:
            ends = np.array([one.get_ylim() for one in lined])
            for one in lined:
                one.set_ylim(ends[:, 0].min(), ends[:, 1].max())

    def _draw_line(self, axes: Axes, panel: DependencePanel) -> Line2D:
        positions, names = find_positions(panel.grid[0])
        style: dict[str, Any] = {"drawstyle": "default"} if names is None else {"linestyle": "none", "marker": "o"}
        if panel.individual is not None:
            faint: dict[str, Any] = {"color": GREY, "linewidth": 0.6, "alpha": 0.5, "zorder": 1}
            if names is not None:
                # Categories have no order, which lines between many of them would suggest.
                faint |= {"marker": ".", "linewidth": 0.3 if len(names) <= _MOST_LINED_CATEGORIES else 0.0}
            axes.plot(positions, panel.individual.T, **faint)
        (line,) = axes.plot(positions, panel.average, color=ACCENT, linewidth=2.4, zorder=3, **style)
        if panel.grid[0].dtype.kind == "M":
            show_dates_on(axes.xaxis)
        if names is None:
            mark_deciles(axes, panel.observed[0])
        else:
            name_ticks(axes.xaxis, positions, names)
        axes.set_xlabel(shorten(panel.feature_names[0]))
        axes.set_ylabel(self.response)
        tidy_axes(axes, grid="y")
        return line

    def _draw_heat(self, axes: Axes, panel: DependencePanel) -> QuadMesh:
        (across, names_across), (up, names_up) = find_positions(panel.grid[0]), find_positions(panel.grid[1])
        surface = np.where(_find_populated(panel, across, up), panel.average, np.nan) if panel.is_map else panel.average
        image = axes.pcolormesh(across, up, surface.T, cmap=choose_map(), shading="nearest", rasterized=True)
        if (
            not panel.is_map
            and names_across is None
            and names_up is None
            and min(panel.average.shape) > 2
            and np.ptp(panel.average) > 0
        ):
            lines = axes.contour(across, up, panel.average.T, levels=6, colors="white", linewidths=0.7)
            axes.clabel(lines, fontsize=7, fmt=lambda value: f"{value:.3g}")
        for axis, grid in zip((axes.xaxis, axes.yaxis), panel.grid, strict=True):
            if grid.dtype.kind == "M":
                show_dates_on(axis)
        if names_across is not None:
            name_ticks(axes.xaxis, across, names_across)
        if names_up is not None:
            name_ticks(axes.yaxis, up, names_up)
        axes.set_xlabel(shorten(panel.feature_names[0]))
        axes.set_ylabel(shorten(panel.feature_names[1]))
        if panel.is_map:
            axes.set_aspect(1.0 / cos(radians(float(np.mean(up)))))
        elif names_across is None and names_up is None:
            mark_deciles(axes, panel.observed[0])
            mark_deciles(axes, panel.observed[1], upright=True)
        self.figure_.colorbar(image, ax=axes, label=self.response)
        return image


def choose_output(estimator: Any, target: ClassLabel | None, response_method: str) -> tuple[int, str]:
    """Number and label of the output to show."""
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return (0 if target is None else int(target)), "prediction"
    names = np.asarray(classes).tolist()
    raw = response_method == "decision_function" or not hasattr(estimator, "predict_proba")
    what = "score of {}" if raw else "probability of {}"
    if len(names) == 2:
        if target is not None and target != names[1]:
            raise ParameterError(f"Of two classes the second one, {names[1]!r}, is shown; got target={target!r}.")
        return 0, what.format(shorten(names[1], 18))
    if target not in names:
        raise ParameterError(
            f"The 'target' argument must be one of the {len(names)} classes ({', '.join(map(repr, names[:8]))}"
            f"{', ...' if len(names) > 8 else ''}); got {target!r}."
        )
    return names.index(target), what.format(shorten(target, 18))


def spread_rows(X: Any, most: int) -> Any:
    """At most this many rows, spread evenly over the table."""
    n_rows = count_rows(X)
    if n_rows <= most:
        return X
    table = X if hasattr(X, "shape") else np.asarray(X)
    return select_rows(table, np.linspace(0, n_rows - 1, most).astype(np.intp))


def mark_deciles(axes: Axes, values: FloatArray, *, upright: bool = False) -> None:
    """Draw marks at the deciles of values along an axis."""
    known = values[np.isfinite(values)]
    deciles = np.unique(np.quantile(known, np.linspace(0.1, 0.9, 9)))
    low, high = axes.get_ylim() if upright else axes.get_xlim()
    transform = axes.get_yaxis_transform() if upright else axes.get_xaxis_transform()
    draw = axes.hlines if upright else axes.vlines
    draw(deciles[(deciles >= low) & (deciles <= high)], 0.0, 0.035, transform=transform, color="black", linewidth=1.0)


def _pick(found: FloatArray, output: int) -> FloatArray:
    if output >= len(found):
        raise ParameterError(f"There are {len(found)} outputs, numbered from 0; got {output}.")
    own: FloatArray = found[output]
    return own


def _order_map(numbers: list[int], names: list[str]) -> list[int]:
    """Put longitude, the horizontal axis, before latitude."""
    if len(numbers) == 2 and names[numbers[0]].strip().lower() in _LATITUDES:
        other = names[numbers[1]].strip().lower()
        return numbers[::-1] if other in _LONGITUDES else numbers
    return numbers


def _find_populated(panel: DependencePanel, across: FloatArray, up: FloatArray) -> BoolArray:
    """Cells of the grid with a row in them or in a neighbouring cell."""
    known = np.isfinite(panel.observed[0]) & np.isfinite(panel.observed[1])
    columns, rows = (
        np.clip(np.searchsorted((axis[1:] + axis[:-1]) / 2.0, values[known]), 0, len(axis) - 1)
        for axis, values in zip((across, up), panel.observed, strict=True)
    )
    near = np.zeros((len(across) + 2, len(up) + 2), dtype=bool)
    for right in range(3):
        for above in range(3):
            near[columns + right, rows + above] = True
    return near[1:-1, 1:-1]


def find_positions(grid: NDArray[np.generic]) -> tuple[FloatArray, list[str] | None]:
    """Positions of grid values along an axis, days for dates, and the names of categories."""
    if grid.dtype.kind == "M":
        return grid.astype("M8[us]").astype(np.int64) / (_DAY * 1e6), None
    if grid.dtype.kind in "fiu":
        return grid.astype(np.float64), None
    return np.arange(len(grid), dtype=np.float64), shorten_all(grid.tolist(), 14)


def read_observed(reader: Response, feature: int) -> FloatArray:
    """The values of a feature at their positions along an axis."""
    values = reader.column(feature)
    return values / _DAY if reader.kind(feature) in DATE_KINDS else values


def show_dates_on(axis: Axis) -> None:
    """Label the days along an axis with dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(maxticks=_MOST_DATES)  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def name_ticks(axis: XAxis | YAxis, positions: FloatArray, names: Sequence[str]) -> None:
    """Label ticks with the names of categories; if there are many, only some of them."""
    step = -(-len(names) // _MOST_TICKS)
    axis.set_ticks(positions[::step], list(names)[::step])
    if axis.axis_name == "x" and sum(map(len, names)) > 24:
        axis.set_tick_params(rotation=45)
        for label in axis.get_ticklabels():
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")
