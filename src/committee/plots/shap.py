"""Plots of SHAP values: a swarm of points for each feature, or a waterfall of one row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import DataError, ParameterError
from committee.inspection.resampling import check_count
from committee.inspection.shap import ShapValues, shap_values
from committee.plots.display import Display
from committee.plots.style import COLORS, GREY, INK, choose_map, shorten, shorten_all, tidy_axes

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.patches import Rectangle
    from numpy.typing import NDArray

    from committee.typing import FloatArray, FloatMatrix

__all__ = ["ShapSummaryDisplay", "ShapWaterfallDisplay"]

_SWARM_CELLS = 100
"""Bins along a swarm; points of one bin are stacked."""


def _choose_output(values: ShapValues, output: int | str | None) -> ShapValues:
    """The values of one output, by number or name."""
    if values.values.ndim - values.base_values.ndim > 1:
        raise DataError("These are interaction values; plots show those of single features (interactions=False).")
    if values.base_values.ndim == 1:
        if output is not None:
            raise ParameterError(f"These values have one output, so 'output' must be None; got output={output!r}.")
        return values
    names = values.output_names or []
    if output in names:
        return values.of_output(names.index(output))
    if isinstance(output, int | np.integer) and 0 <= output < len(names):
        return values.of_output(int(output))
    raise ParameterError(
        f"The 'output' argument must be the name or number of one of the {len(names)} outputs ({', '.join(names[:8])}"
        f"{', ...' if len(names) > 8 else ''}); got {output!r}."
    )


@dataclass
class ShapSummaryDisplay(Display):
    """A swarm of points for each feature: the SHAP value of each row, coloured by the value of the feature.

    Features with the largest mean absolute value are on top. Missing values are grey.

    Parameters
    ----------
    shap : ShapValues
        Values of one output.
    max_features : int
        Maximum number of swarms; the number of omitted features is shown below.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    swarms_ : list of matplotlib collections
        One for each feature shown, from the top.
    shown_ : ndarray of int
        Indices of these features.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import RandomForestRegressor
    >>> from committee.plots import ShapSummaryDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> shown = ShapSummaryDisplay.from_estimator(forest, X, max_features=5)
    >>> len(shown.swarms_)
    5
    """

    shap: ShapValues
    max_features: int = 15

    swarms_: list[PathCollection] = field(init=False, repr=False, default_factory=list)
    shown_: NDArray[np.intp] = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        output: int | str | None = None,
        background: FloatMatrix | pd.DataFrame | None = None,
        max_features: int = 15,
        ax: Axes | None = None,
    ) -> Self:
        """Explain rows, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            Must consist of trees of this library.
        X : table
            Rows to explain.
        output : str or int, optional
            Name or number of the class or output, if there are several.
        background : table, optional
            As in `committee.inspection.shap_values`.
        max_features : int, default=15
            Maximum number of swarms.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ShapSummaryDisplay
        """
        found = shap_values(estimator, X, background=background)
        return cls.from_values(found, output=output, max_features=max_features, ax=ax)

    @classmethod
    def from_values(
        cls, values: ShapValues, *, output: int | str | None = None, max_features: int = 15, ax: Axes | None = None
    ) -> Self:
        """Draw computed values.

        Parameters
        ----------
        values : ShapValues
            From `committee.inspection.shap_values`.
        output, max_features, ax
            As in `from_estimator`.

        Returns
        -------
        ShapSummaryDisplay
        """
        max_features = check_count("max_features", max_features, 1)
        return cls(_choose_output(values, output), max_features).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        values = self.shap.values
        order = np.argsort(-np.abs(values).mean(axis=0), kind="stable")
        self.shown_ = order[: self.max_features]
        n_swarms = len(self.shown_)
        axes = self._open(ax, (6.8, 1.4 + 0.36 * n_swarms))
        axes.axvline(0.0, color=INK, linewidth=0.8, zorder=1)
        low, high = float(values[:, self.shown_].min()), float(values[:, self.shown_].max())
        self.swarms_ = []
        area = float(np.clip(4000.0 / max(len(values), 1), 4.0, 16.0))
        for position, feature in enumerate(self.shown_):
            own = values[:, feature]
            heights = position + 0.38 * _spread_swarm(own, low, high)
            self.swarms_.append(self._draw_swarm(axes, own, heights, self.shap.data[:, feature], area))
        names = shorten_all([self.shap.feature_names[k] for k in self.shown_])
        axes.set_yticks(np.arange(n_swarms), names)
        axes.set_ylim(n_swarms - 0.4, -0.6)
        outputs = self.shap.output_names
        of = f" for {shorten(outputs[0], 20)}" if outputs else ""
        left_out = values.shape[1] - n_swarms
        note = f"\n{left_out} features of smaller values are not shown" if left_out else ""
        axes.set_xlabel(f"Shapley value{of}{note}")
        tidy_axes(axes, grid="x")
        bar = self.figure_.colorbar(self.swarms_[0], ax=axes, label="value of the feature", aspect=40, pad=0.02)
        bar.set_ticks([0.0, 1.0], labels=["low", "high"])

    @staticmethod
    def _draw_swarm(
        axes: Axes, values: FloatArray, heights: FloatArray, data: FloatMatrix, area: float
    ) -> PathCollection:
        missing = np.isnan(data)
        if missing.any():
            axes.scatter(values[missing], heights[missing], s=area, c=GREY, linewidths=0, rasterized=True)
        ranks = _rank_values(data[~missing])
        style: dict[str, Any] = {"vmin": 0.0, "vmax": 1.0, "linewidths": 0, "rasterized": True, "zorder": 2}
        return axes.scatter(values[~missing], heights[~missing], s=area, c=ranks, cmap=choose_map(), **style)


def _rank_values(data: FloatMatrix) -> FloatArray:
    """Ranks scaled to [0, 1], so that outliers do not determine the colours."""
    distinct, ranks = np.unique(data, return_inverse=True)
    return ranks / max(len(distinct) - 1, 1)


def _spread_swarm(values: FloatArray, low: float, high: float) -> FloatArray:
    """Heights in [-1, 1]: points of about the same value are stacked, the first in the middle."""
    width = (high - low) / _SWARM_CELLS or 1.0
    cells = np.floor((values - low) / width).astype(np.intp)
    order = np.argsort(cells, kind="stable")
    heights = np.zeros(len(values))
    starts = np.flatnonzero(np.r_[True, np.diff(cells[order]) != 0]) if len(values) else np.array([], dtype=np.intp)
    for start, stop in zip(starts, np.r_[starts[1:], len(values)], strict=True):
        k = np.arange(stop - start)
        heights[order[start:stop]] = (k + 1) // 2 * np.where(k % 2, 1.0, -1.0)
    tallest = float(np.abs(heights).max()) if len(heights) else 0.0
    return heights / max(tallest, 6.0)


@dataclass
class ShapWaterfallDisplay(Display):
    """The SHAP values of one row from the base value to the prediction, the largest on top.

    Parameters
    ----------
    shap : ShapValues
        Values of one output.
    row : int
        Number of the row.
    max_features : int
        Maximum number of bars; all other features are one more bar.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    bars_ : list of matplotlib patches
        From the top.
    steps_ : ndarray
        SHAP values of the bars.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import RandomForestRegressor
    >>> from committee.plots import ShapWaterfallDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> shown = ShapWaterfallDisplay.from_estimator(forest, X, row=3)
    >>> bool(np.isclose(shown.shap.base_values[3] + shown.steps_.sum(), forest.predict(X.iloc[3:4])[0]))
    True
    """

    shap: ShapValues
    row: int = 0
    max_features: int = 9

    bars_: list[Rectangle] = field(init=False, repr=False, default_factory=list)
    steps_: FloatArray = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        row: int = 0,
        output: int | str | None = None,
        background: FloatMatrix | pd.DataFrame | None = None,
        max_features: int = 9,
        ax: Axes | None = None,
    ) -> Self:
        """Explain one row, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            Must consist of trees of this library.
        X : table
            Rows.
        row : int, default=0
            Number of the row to explain.
        output : str or int, optional
            Name or number of the class or output, if there are several.
        background : table, optional
            As in `committee.inspection.shap_values`.
        max_features : int, default=9
            Maximum number of bars.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ShapWaterfallDisplay
        """
        found = shap_values(estimator, X, background=background)
        return cls.from_values(found, row=row, output=output, max_features=max_features, ax=ax)

    @classmethod
    def from_values(
        cls,
        values: ShapValues,
        *,
        row: int = 0,
        output: int | str | None = None,
        max_features: int = 9,
        ax: Axes | None = None,
    ) -> Self:
        """Draw computed values.

        Parameters
        ----------
        values : ShapValues
            From `committee.inspection.shap_values`.
        row, output, max_features, ax
            As in `from_estimator`.

        Returns
        -------
        ShapWaterfallDisplay
        """
        if not -len(values) <= row < len(values):
            raise ParameterError(
                f"The 'row' argument must be the number of one of the {len(values)} rows; got {row!r}."
            )
        max_features = check_count("max_features", max_features, 1)
        return cls(_choose_output(values, output), row, max_features).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        names = self._list_steps()
        base = float(self.shap.base_values[self.row])
        n_bars = len(names)
        axes = self._open(ax, (6.8, 1.5 + 0.38 * n_bars))
        # The largest is on top, so the sum starts at the bottom.
        ends = base + np.cumsum(self.steps_[::-1])[::-1]
        starts = ends - self.steps_
        gap = 0.012 * float(np.ptp([*ends, *starts])) or 0.01
        self.bars_ = []
        for position, (start, step) in enumerate(zip(starts, self.steps_, strict=True)):
            style: dict[str, Any] = {"color": COLORS[1], "hatch": "///", "edgecolor": "white"}
            if step >= 0.0:
                style = {"color": COLORS[3]}
            self.bars_ += list(axes.barh(position, step, left=start, height=0.66, **style))
            outward = max(start, start + step) + gap
            axes.text(outward, position, f"{step:+.3g}".replace("-", "−"), va="center", ha="left", fontsize="small")
            if position:
                axes.vlines(start + step, position - 1.33, position - 0.33, color=GREY, linewidth=0.8, linestyle=":")
        axes.axvline(base, color=GREY, linewidth=0.8, linestyle="--", zorder=0)
        axes.set_yticks(np.arange(n_bars), names)
        axes.set_ylim(n_bars - 0.4, -0.6)
        axes.use_sticky_edges = False
        axes.margins(x=0.1)
        outputs = self.shap.output_names
        of = f" of {shorten(outputs[0], 20)}" if outputs else ""
        axes.set_xlabel(f"prediction{of}: {base + self.steps_.sum():.4g} (base value: {base:.4g})")
        tidy_axes(axes, grid="x")

    def _list_steps(self) -> list[str]:
        """Set the SHAP values of the bars; returns their names with the values of the features."""
        own = self.shap.values[self.row]
        order = np.argsort(-np.abs(own), kind="stable")
        kept = order if len(order) <= self.max_features + 1 else order[: self.max_features]
        self.steps_ = own[kept]
        data = self.shap.data if self.shap.display_data is None else self.shap.display_data
        short = shorten_all([self.shap.feature_names[k] for k in kept], 26)
        names = [f"{name} = {_write_value(data[self.row, k])}" for name, k in zip(short, kept, strict=True)]
        if len(kept) < len(order):
            self.steps_ = np.append(self.steps_, own[order[len(kept) :]].sum())
            names.append(f"{len(order) - len(kept)} other features")
        return names


def _write_value(value: object) -> str:
    if isinstance(value, str):
        return shorten(value, 12)
    number = float(value) if isinstance(value, int | float | np.number) else None
    if number is None:
        return shorten(value, 12)
    return "missing" if np.isnan(number) else f"{number:.4g}"
