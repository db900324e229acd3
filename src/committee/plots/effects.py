"""Accumulated local effects as lines, and Friedman's H statistic as a matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.exceptions import ParameterError
from committee.inspection.effects import Interactions, accumulated_local_effects, friedman_h
from committee.inspection.model_access import find_features, make_response
from committee.plots.dependence import (
    choose_output,
    find_positions,
    mark_deciles,
    name_ticks,
    read_observed,
    show_dates_on,
)
from committee.plots.display import Display, PanelDisplay
from committee.plots.style import ACCENT, INK, choose_map, shorten, shorten_all, tidy_axes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

    from committee.params import RandomState
    from committee.plots.display import PanelAxes
    from committee.plots.plane import Feature
    from committee.plots.predictions import ClassLabel
    from committee.typing import FloatArray

__all__ = ["InteractionDisplay", "LocalEffectsDisplay"]


@dataclass
class LocalEffectsDisplay(PanelDisplay):
    """Accumulated local effects, a panel for each feature, all on one scale.

    Parameters
    ----------
    feature_names : list of str
        The features, one panel each.
    grid : list of ndarray
        Grid values of each feature: bin edges, or categories.
    effects : list of ndarray
        The effect at each grid value; its mean over the rows is zero.
    observed : list of ndarray
        Values of the features in the rows, for the decile marks along the axes.
    response : str
        Label of the prediction.
    n_columns : int
        Panels per row.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes
        Of the panels.
    lines_ : list of matplotlib lines or bars
        The effect of each feature; bars for categories.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import RandomForestRegressor
    >>> from committee.plots import LocalEffectsDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> shown = LocalEffectsDisplay.from_estimator(forest, X, ["bmi", "s5"])
    >>> len(shown.lines_)
    2
    """

    feature_names: list[str]
    grid: list[NDArray[Any]]
    effects: list[FloatArray]
    observed: list[FloatArray]
    response: str = "prediction"
    n_columns: int = 3

    lines_: list[Line2D | BarContainer] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        features: Feature | Sequence[Feature],
        *,
        target: ClassLabel | None = None,
        grid_resolution: int = 40,
        response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
        n_columns: int = 3,
        ax: PanelAxes = None,
    ) -> Self:
        """Compute the effects, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            Of any library.
        X : array-like or data frame
            Rows to compute the effects on.
        features : int, str or list of them
            One panel each.
        target : class label or int, optional
            The class if there are more than two, or the number of the output if there are several.
        grid_resolution, response_method
            As in `committee.inspection.accumulated_local_effects`.
        n_columns : int, default=3
            Panels per row.
        ax : matplotlib axes or sequence of them, optional
            Where to draw; a new figure by default.

        Returns
        -------
        LocalEffectsDisplay
        """
        reader = make_response(estimator, X, response_method=response_method)
        numbers = find_features(reader, features)
        output, label = choose_output(estimator, target, response_method)
        grid, effects = [], []
        for number in numbers:
            found = accumulated_local_effects(
                estimator, X, number, grid_resolution=grid_resolution, response_method=response_method
            )
            if output >= len(found["average"]):
                raise ParameterError(f"There are {len(found['average'])} outputs, numbered from 0; got {output}.")
            grid.append(found["grid_values"][0])
            effects.append(found["average"][output])
        names, observed = [reader.names[k] for k in numbers], [read_observed(reader, k) for k in numbers]
        return cls(names, grid, effects, observed, label, n_columns).plot(ax=ax)

    def _draw(self, ax: PanelAxes) -> None:
        n_panels = len(self.feature_names)
        size = (5.6, 4.2) if n_panels == 1 else (3.6, 3.0)
        axes = self._open_panels(ax, n_panels, self.n_columns, size)
        self.lines_ = []
        low = min(float(effect.min()) for effect in self.effects)
        high = max(float(effect.max()) for effect in self.effects)
        margin = 0.08 * (high - low) or 0.5
        for one, name, grid, effect, values in zip(
            axes, self.feature_names, self.grid, self.effects, self.observed, strict=True
        ):
            one.axhline(0.0, color=INK, linewidth=0.8, linestyle=":")
            if grid.dtype.kind in "fiuM":
                (line,) = one.plot(find_positions(grid)[0], effect, color=ACCENT, linewidth=2.2)
                if grid.dtype.kind == "M":
                    show_dates_on(one.xaxis)
                mark_deciles(one, values)
                self.lines_.append(line)
            else:
                self.lines_.append(one.bar(np.arange(len(grid)), effect, color=ACCENT, width=0.7))
                name_ticks(one.xaxis, np.arange(len(grid), dtype=np.float64), shorten_all(grid.tolist(), 14))
            one.set_ylim(low - margin, high + margin)
            one.set_xlabel(shorten(name))
            one.set_ylabel(f"effect on {self.response}")
            tidy_axes(one, grid="y")


@dataclass
class InteractionDisplay(Display):
    """Friedman's H statistic: the share of the joint effect of two features that is due to their interaction.

    The diagonal has the interaction of each feature with all others together.

    Parameters
    ----------
    feature_names : list of str
        The features.
    table : ndarray of shape (n_features, n_features)
        H; symmetric.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    image_ : matplotlib image
        The table.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import RandomForestRegressor
    >>> from committee.plots import InteractionDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> forest = RandomForestRegressor(n_estimators=30, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    >>> shown = InteractionDisplay.from_estimator(forest, X, random_state=0)
    >>> bool(shown.table[0, 1] > shown.table[0, 2])
    True
    """

    feature_names: list[str]
    table: FloatArray

    image_: AxesImage | None = field(init=False, repr=False, default=None)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        features: Sequence[Feature] | None = None,
        *,
        target: ClassLabel | None = None,
        max_rows: int = 200,
        random_state: RandomState = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute H, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            Of any library.
        X : array-like or data frame
            Rows.
        features : sequence of int or str, optional
            Features to use; by default all.
        target : class label or int, optional
            The class if there are more than two, or the number of the output if there are several.
        max_rows : int, default=200
            Larger tables are sampled to this number of rows.
        random_state : int, RandomState, Generator or None
            Seed of the sampling.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        InteractionDisplay
        """
        output, _ = choose_output(estimator, target, "auto")
        found = friedman_h(estimator, X, features, max_rows=max_rows, random_state=random_state)
        return cls.from_interactions(found, output=output, ax=ax)

    @classmethod
    def from_interactions(cls, interactions: Interactions, *, output: int = 0, ax: Axes | None = None) -> Self:
        """Draw computed interactions.

        Parameters
        ----------
        interactions : Interactions
            From `committee.inspection.friedman_h`.
        output : int, default=0
            Number of the output, if there are several.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        InteractionDisplay
        """
        if not 0 <= output < len(interactions.total):
            raise ParameterError(f"There are {len(interactions.total)} outputs, numbered from 0; got {output!r}.")
        table = np.diag(interactions.total[output])
        position = {number: k for k, number in enumerate(interactions.features)}
        for (one, other), strength in zip(interactions.pairs, interactions.pairwise[output], strict=True):
            table[position[one], position[other]] = table[position[other], position[one]] = strength
        return cls(list(interactions.feature_names), table).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        n_features = len(self.feature_names)
        side = min(2.6 + 0.42 * n_features, 11.0)
        axes = self._open(ax, (side + 0.9, side))
        # H is seldom close to 1, so the scale ends at the largest value.
        most = max(np.ceil(10.0 * float(self.table.max())) / 10.0, 0.1)
        self.image_ = axes.imshow(self.table, cmap=choose_map(), vmin=0.0, vmax=most)
        names = shorten_all(self.feature_names, 22)
        small: dict[str, Any] = {"fontsize": "small"} if n_features > 12 else {}
        axes.set_xticks(np.arange(n_features), names, rotation=45, ha="right", rotation_mode="anchor", **small)
        axes.set_yticks(np.arange(n_features), names, **small)
        if n_features <= 15:
            for (row, column), strength in np.ndenumerate(self.table):
                color = "white" if strength < 0.6 * most else "black"
                axes.text(column, row, f"{strength:.2f}", ha="center", va="center", fontsize="x-small", color=color)
        self.figure_.colorbar(self.image_, ax=axes, label="H (diagonal: with all others)", shrink=0.85)
