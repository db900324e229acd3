"""Shape tables of additive models: steps of numbers, bars of categories, heat maps of pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import ParameterError, ParameterTypeError
from committee.plots.dependence import name_ticks
from committee.plots.display import PanelDisplay
from committee.plots.style import ACCENT, INK, choose_map, shorten, shorten_all, tidy_axes, tint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis

    from committee.plots.display import PanelAxes
    from committee.plots.predictions import ClassLabel
    from committee.typing import FloatArray

__all__ = ["ShapeDisplay"]

_MOST_LABELS = 12


@dataclass
class ShapeDisplay(PanelDisplay):
    """Shape tables of an additive model, a panel for each term: what a term adds to the score.

    Bands and error bars are one standard deviation of the outer bags. A dot is the value of missing values.

    Parameters
    ----------
    shapes : list of TermShape
        The terms.
    score : int
        The score, for models of several classes.
    response : str
        Label of the score.
    n_columns : int
        Panels per row.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes
        Of the panels.
    artists_ : list
        The line, bars or heat map of each panel.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import ExplainableBoostingRegressor
    >>> from committee.plots import ShapeDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = ExplainableBoostingRegressor(outer_bags=2, interactions=1, random_state=0).fit(X, y)
    >>> shown = ShapeDisplay.from_estimator(model, ["bmi", "s5"])
    >>> len(shown.artists_)
    2
    """

    shapes: list[Any]
    score: int = 0
    response: str = "score"
    n_columns: int = 3

    artists_: list[Any] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        terms: Sequence[Any] | int | str | None = None,
        *,
        target: ClassLabel | None = None,
        n_columns: int = 3,
        ax: PanelAxes = None,
    ) -> Self:
        """Draw the tables of a fitted model.

        Parameters
        ----------
        estimator : ExplainableBoostingClassifier or ExplainableBoostingRegressor
            Fitted.
        terms : list of int, str or pairs of them, or one of these, optional
            As for its method `shape`. By default the six terms of the largest importance.
        target : class label, optional
            The class, if there are more than two.
        n_columns : int, default=3
            Panels per row.
        ax : matplotlib axes or sequence of them, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ShapeDisplay
        """
        if not hasattr(estimator, "term_importances_"):
            raise ParameterTypeError(
                f"ShapeDisplay draws the shape tables of ExplainableBoosting models; got {type(estimator).__name__}."
            )
        if terms is None:
            chosen = np.argsort(-estimator.term_importances_, kind="stable")[:6].tolist()
        else:
            chosen = [terms] if isinstance(terms, int | str) else list(terms)
        if not chosen:
            raise ParameterError("The 'terms' argument of ShapeDisplay must name a term; got none.")
        score, response = _choose_score(estimator, target)
        return cls([estimator.shape(term) for term in chosen], score, response, n_columns).plot(ax=ax)

    def _draw(self, ax: PanelAxes) -> None:
        n_panels = len(self.shapes)
        axes = self._open_panels(ax, n_panels, self.n_columns, (5.6, 4.2) if n_panels == 1 else (3.6, 3.0))
        self.artists_ = []
        for one, shape in zip(axes, self.shapes, strict=True):
            values, deviations = shape.values[self.score], shape.deviations[self.score]
            if len(shape.axes) == 2:
                self._draw_pair(one, shape, values)
                continue
            one.axhline(0.0, color=INK, linewidth=0.8, linestyle=":")
            if shape.axes[0].is_category:
                self._draw_levels(one, shape, values, deviations)
            else:
                self._draw_steps(one, shape, values, deviations)
            one.set_xlabel(shorten(shape.name))
            one.set_ylabel(f"adds to {self.response}")
            tidy_axes(one, grid="y")

    def _draw_steps(self, one: Axes, shape: Any, values: FloatArray, deviations: FloatArray) -> None:
        edges = _find_edges(shape.axes[0].thresholds)
        low, high = values[:-1] - deviations[:-1], values[:-1] + deviations[:-1]
        one.fill_between(
            edges, np.append(low, low[-1]), np.append(high, high[-1]), step="post", color=tint(ACCENT, 0.3)
        )
        self.artists_.append(one.stairs(values[:-1], edges, baseline=None, color=ACCENT, linewidth=2.0))
        if shape.weights[-1] > 0.0:
            place = edges[-1] + 0.06 * (edges[-1] - edges[0])
            one.errorbar([place], values[-1:], deviations[-1:], fmt="o", color=INK, markersize=4)

    def _draw_levels(self, one: Axes, shape: Any, values: FloatArray, deviations: FloatArray) -> None:
        labels = shape.axes[0].list_labels()
        n_cells = len(labels) if shape.weights[-1] > 0.0 else len(labels) - 1
        if n_cells > _MOST_LABELS:  # the heaviest levels
            shown = np.sort(np.argsort(-shape.weights[:n_cells], kind="stable")[:_MOST_LABELS])
        else:
            shown = np.arange(n_cells)
        places = np.arange(len(shown), dtype=np.float64)
        self.artists_.append(
            one.bar(places, values[shown], yerr=deviations[shown], color=ACCENT, ecolor=INK, width=0.7)
        )
        name_ticks(one.xaxis, places, shorten_all([labels[k] for k in shown.tolist()], 14))

    def _draw_pair(self, one: Axes, shape: Any, values: FloatArray) -> None:
        held = values[:-1, :-1]
        # The scale is symmetric, so that zero is white.
        most = float(np.abs(held).max(initial=0.0)) or 1.0
        sides = [
            np.arange(axis.n_cells + 1) - 0.5 if axis.is_category else _find_edges(axis.thresholds)
            for axis in shape.axes
        ]
        image = one.pcolormesh(
            sides[0], sides[1], held.T, cmap=choose_map("diverging"), vmin=-most, vmax=most, rasterized=True
        )
        sides_drawn: tuple[XAxis | YAxis, ...] = (one.xaxis, one.yaxis)
        for side, axis in zip(sides_drawn, shape.axes, strict=True):
            if axis.is_category and axis.n_cells <= _MOST_LABELS:
                name_ticks(side, np.arange(axis.n_cells, dtype=np.float64), shorten_all(axis.list_labels()[:-1], 14))
        one.set_xlabel(shorten(shape.names[0]))
        one.set_ylabel(shorten(shape.names[1]))
        self.figure_.colorbar(image, ax=one, label=f"adds to {self.response}")
        self.artists_.append(image)


def _find_edges(thresholds: FloatArray) -> FloatArray:
    """Ends of the cells of numbers; the outer ones, which have none, are as wide as their neighbours."""
    if len(thresholds) == 0:
        return np.array([0.0, 1.0])
    first = thresholds[1] - thresholds[0] if len(thresholds) > 1 else 1.0
    last = thresholds[-1] - thresholds[-2] if len(thresholds) > 1 else 1.0
    return np.concatenate([[thresholds[0] - first], thresholds, [thresholds[-1] + last]])


def _choose_score(estimator: Any, target: ClassLabel | None) -> tuple[int, str]:
    """The number of the score, and its label."""
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return 0, "prediction"
    labels = classes.tolist()
    if len(labels) <= 2:
        return 0, f"log-odds of {shorten(labels[-1])}"
    if target is None:
        raise ParameterError(f"The model has {len(labels)} classes; 'target' must be one of {labels}.")
    if target not in labels:
        raise ParameterError(f"The 'target' argument must be one of {labels}; got {target!r}.")
    return labels.index(target), f"score of {shorten(target)}"
