"""Sample weights of boosting: by round, and the rows with the largest weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.plots.display import Display, PanelDisplay
from committee.plots.plane import draw_points, read_plane, size_points
from committee.plots.predictions import number_target
from committee.plots.style import COLORS, INK, add_legend, name_classes, shorten, shorten_all, tidy_axes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.container import BarContainer
    from numpy.typing import NDArray

    from committee.plots.display import PanelAxes
    from committee.plots.plane import Feature
    from committee.typing import BoolArray, FloatArray

__all__ = ["HeaviestRowsDisplay", "RowWeightsDisplay"]


@dataclass
class RowWeightsDisplay(PanelDisplay):
    """The rows in the plane of two features at some rounds; the area of a point is proportional to its weight.

    Parameters
    ----------
    rounds : list of int
        Numbers of the rounds, one panel each.
    weights : ndarray of shape (n_panels, n_rows)
        Sample weights of the members of these rounds.
    points : ndarray of shape (n_rows, 2)
        The rows.
    target : ndarray of shape (n_rows,)
        Class indices of the rows.
    class_names : list of str
        Names of the classes.
    feature_names : tuple of two str
        Labels of the axes.
    n_columns : int
        Panels per row.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes
        Of the panels.
    points_ : list of list of matplotlib collections
        The rows of each panel, one collection per class.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import AdaBoostClassifier
    >>> from committee.plots import RowWeightsDisplay
    >>> X, y = make_moons(100, noise=0.3, random_state=0)
    >>> model = AdaBoostClassifier(n_estimators=20, keep_sample_weights=True).fit(X, y)
    >>> shown = RowWeightsDisplay.from_estimator(model, X, y, rounds=(1, 20))
    >>> bool((shown.weights[0] == 1 / 100).all()), bool(shown.weights[1].max() > 0.02)
    (True, True)
    """

    rounds: list[int]
    weights: FloatArray
    points: FloatArray
    target: NDArray[Any]
    class_names: list[str]
    feature_names: tuple[str, str]
    n_columns: int = 4

    points_: list[list[PathCollection]] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        rounds: Sequence[int] = (1, 2, 5, 20),
        features: Sequence[Feature] | None = None,
        class_names: Sequence[str] | None = None,
        n_columns: int = 4,
        ax: PanelAxes = None,
    ) -> Self:
        """Draw the sample weights of a boosted model.

        Parameters
        ----------
        estimator : fitted classifier
            Boosted with ``keep_sample_weights=True``.
        X, y : table and array-like
            As they were passed to `fit`.
        rounds : sequence of int
            Numbers of rounds; those after the last round are ignored.
        features : pair of int or str, optional
            The columns to show if there are more than two.
        class_names : sequence of str, optional
            In the order of ``classes_``.
        n_columns : int, default=4
            Panels per row.
        ax : matplotlib axes or sequence of them, optional
            Where to draw; a new figure by default.

        Returns
        -------
        RowWeightsDisplay
        """
        trace = getattr(estimator, "sample_weights_trace_", None)
        if trace is None:
            raise ParameterError(
                f"This {type(estimator).__name__} kept no weights; fit one with keep_sample_weights=True."
            )
        plane = read_plane(X, features)
        if trace.shape[1] != len(plane.points):
            raise DataError(f"X must be the {trace.shape[1]} rows of the fit; it has {len(plane.points)}.")
        chosen = [int(number) for number in rounds if 1 <= number <= len(trace)]
        if not chosen:
            raise ParameterError(
                f"The 'rounds' argument must hold numbers from 1 to {len(trace)}, the last round; got {list(rounds)!r}."
            )
        names = name_classes(np.asarray(estimator.classes_), class_names)
        target = number_target(estimator, y, len(plane.points))
        assert target is not None
        weights = trace[np.array(chosen) - 1]
        return cls(chosen, weights, plane.points, target, names, plane.names, n_columns).plot(ax=ax)

    def _draw(self, ax: PanelAxes) -> None:
        axes = self._open_panels(ax, len(self.rounds), self.n_columns, (3.0, 3.0), share=True)
        self.points_ = []
        for k, (one, number, weights) in enumerate(zip(axes, self.rounds, self.weights, strict=True)):
            areas = size_points(weights, len(weights))
            self.points_.append(draw_points(one, self.points, self.target, self.class_names, areas, alpha=0.75))
            one.set_title(f"round {number}")
            one.set_xlabel(shorten(self.feature_names[0]))
            one.set_ylabel(shorten(self.feature_names[1]))
            tidy_axes(one)
            if k == 0:
                add_legend(one, len(self.class_names))
        if ax is None:
            self._label_outer()
        # Markers of the legend have a fixed size; that of a heavy row would cover the plot.
        legend = axes[0].get_legend()
        for handle in legend.legend_handles:
            handle.set_sizes([30.0])


@dataclass
class HeaviestRowsDisplay(Display):
    """The rows with the largest weights in the next round of boosting; their labels may be wrong.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,)
        Normalized weights of all rows.
    rows : ndarray of int
        Indices of the rows with the largest weights, the largest first.
    row_names : list of str
        Their names.
    marked : ndarray of bool of shape (n_rows,) or None
        Rows to hatch, such as those with labels known to be wrong.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    bars_ : matplotlib bars
        One for each row shown.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> from committee.plots import HeaviestRowsDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> wrong = np.arange(0, 569, 50)
    >>> y[wrong] = 1 - y[wrong]
    >>> model = AdaBoostClassifier(n_estimators=50).fit(X, y)
    >>> shown = HeaviestRowsDisplay.from_estimator(model, X, y, marked=np.isin(np.arange(569), wrong))
    >>> bool(np.isin(shown.rows, wrong).mean() > 10 * np.mean(np.isin(np.arange(569), wrong)))
    True
    """

    weights: FloatArray
    rows: NDArray[np.intp]
    row_names: list[str]
    marked: NDArray[np.bool_] | None = None

    bars_: BarContainer | None = field(init=False, repr=False, default=None)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_rows: int = 15,
        row_names: Sequence[str] | None = None,
        marked: Sequence[bool] | BoolArray | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute the weights of rows, and draw.

        Parameters
        ----------
        estimator : fitted classifier
            `AdaBoostClassifier` or `ArcingClassifier`: the weight of a row is proportional to exp(-f_y / (K - 1)) with
            the additive model f (`boosting_weights`).
        X, y : table and array-like
            Rows, usually those of the fit, and their recorded classes.
        n_rows : int, default=15
            Number of rows to show.
        row_names : sequence of str, optional
            Names of all rows; by default their index and class.
        marked : array-like of bool, optional
            Rows to hatch.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        HeaviestRowsDisplay
        """
        if not hasattr(estimator, "suspected_labels"):
            raise ParameterTypeError(
                f"The 'estimator' argument must be a boosted classifier with sample weights, such as "
                f"AdaBoostClassifier; got {type(estimator).__name__}."
            )
        weights = np.asarray(estimator.boosting_weights(X, y))
        rows = np.argsort(-weights, kind="stable")[:n_rows]
        names = row_names
        if names is None:
            names = [f"row {k} ({label})" for k, label in enumerate(np.asarray(y).tolist())]
        if len(names) != len(weights) or (marked is not None and len(marked) != len(weights)):
            raise DataError(f"'row_names' and 'marked' must have an entry for each of the {len(weights)} rows.")
        flags = None if marked is None else np.asarray(marked, dtype=bool)
        return cls(weights, rows, shorten_all([names[k] for k in rows]), flags).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        n_rows = len(self.rows)
        axes = self._open(ax, (6.0, 1.2 + 0.26 * n_rows))
        self.bars_ = axes.barh(np.arange(n_rows), self.weights[self.rows], color=COLORS[1], height=0.7)
        if self.marked is not None:
            for bar, row in zip(self.bars_, self.rows, strict=True):
                if self.marked[row]:
                    bar.set(facecolor=COLORS[0], hatch="//", edgecolor=INK)
            axes.barh([0], [0], color=COLORS[0], hatch="//", edgecolor=INK, label="marked")
        axes.axvline(1.0 / len(self.weights), color=INK, linestyle=":", label="equal weights, 1/n")
        axes.set_yticks(np.arange(n_rows), self.row_names)
        axes.invert_yaxis()
        axes.set_xlabel("share of the weight")
        axes.set_title("Heaviest rows")
        axes.legend(fontsize="small", loc="lower right")
        tidy_axes(axes, grid="x")
