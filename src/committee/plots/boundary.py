"""Decision boundaries: predictions of a model over the plane of two features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from sklearn.base import is_classifier

from committee.exceptions import ParameterError
from committee.inspection.resampling import check_count
from committee.plots.display import Display, PanelDisplay
from committee.plots.plane import Plane, draw_points, read_plane, size_points
from committee.plots.predictions import ResponseMethod, find_weight_trace, number_target, predict_rounds, predict_rows
from committee.plots.style import INK, add_legend, choose_colors, choose_map, name_classes, shorten, tint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.contour import QuadContourSet
    from matplotlib.image import AxesImage
    from numpy.typing import ArrayLike, NDArray

    from committee.plots.display import PanelAxes
    from committee.plots.plane import Feature
    from committee.typing import FloatArray

__all__ = ["DecisionBoundaryDisplay", "DecisionBoundaryGridDisplay"]

_FAINTEST, _DEEPEST = 0.12, 0.55
"""Opacity of the colour at the lowest and the highest confidence."""


@dataclass
class DecisionBoundaryDisplay(Display):
    """Predictions of a model over a plane, with decision boundaries as lines and rows as points.

    The colour is that of the predicted class, darker for a higher confidence; the lines are where the class changes.
    Predicted numbers have a colour bar.

    Parameters
    ----------
    across, up : ndarray
        Values of the two features along the axes.
    answers : ndarray of shape (len(up), len(across)) or (len(up), len(across), n_classes)
        Predicted values, or a score of each class.
    feature_names : tuple of two str
        Labels of the axes.
    class_names : list of str or None
        None for numbers.
    points : ndarray of shape (n_rows, 2) or None
        Rows to show.
    target : ndarray of shape (n_rows,) or None
        Class indices or values of the rows.
    weights : ndarray of shape (n_rows,) or None
        Areas of the points are proportional to it.
    title : str or None
        Title of the plot.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    surface_ : matplotlib image
        The predictions.
    boundary_ : list of matplotlib contours
        Where the class changes, one for each class (one in all for two).
    points_ : list of matplotlib collections
        The rows, one for each class.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import RandomForestClassifier
    >>> from committee.plots import DecisionBoundaryDisplay
    >>> X, y = make_moons(200, noise=0.3, random_state=0)
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> shown = DecisionBoundaryDisplay.from_estimator(forest, X, y, grid_resolution=50)
    >>> shown.answers.shape
    (50, 50, 2)
    """

    across: FloatArray
    up: FloatArray
    answers: FloatArray
    feature_names: tuple[str, str]
    class_names: list[str] | None = None
    points: FloatArray | None = None
    target: NDArray[Any] | None = None
    weights: FloatArray | None = None
    title: str | None = None

    surface_: AxesImage | None = field(init=False, repr=False, default=None)
    boundary_: list[QuadContourSet] = field(init=False, repr=False, default_factory=list)
    points_: list[PathCollection] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[Feature] | None = None,
        sample_weight: ArrayLike | None = None,
        response_method: ResponseMethod = "auto",
        grid_resolution: int = 200,
        class_names: Sequence[str] | None = None,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Predict a grid of points, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            Of any library.
        X : array-like or data frame
            Rows to show; their range is that of the plot.
        y : array-like, optional
            Their classes or values.
        features : pair of int or str, optional
            The columns to show if there are more than two. All others are set to their median, or most frequent value.
        sample_weight : array-like, optional
            Areas of the points are proportional to it.
        response_method : {"auto", "predict_proba", "decision_function", "predict"}
            Method of classifiers; "auto" takes the first that exists.
        grid_resolution : int, default=200
            Points along each axis.
        class_names : sequence of str, optional
            In the order of ``classes_``.
        title : str, optional
            By default the name of the estimator's class.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        plane = read_plane(X, features)
        across, up = plane.make_axes(check_count("grid_resolution", grid_resolution, 2))
        predictions = predict_rows(estimator, plane.make_rows(across, up), response_method)
        fields = _make_fields(estimator, plane, (across, up, predictions), y, class_names)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        title = type(estimator).__name__ if title is None else title
        return cls(**fields, weights=weights, title=title).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        legend : bool, default=True
            Whether to draw the legend or the colour bar.

        Returns
        -------
        self
        """
        axes = self._open(ax, (5.6, 4.4))
        if self.class_names is None:
            self._draw_values(axes, legend)
        else:
            self._draw_classes(axes, self.class_names, legend)
        axes.set_xlim(self.across[0], self.across[-1])
        axes.set_ylim(self.up[0], self.up[-1])
        axes.set_xlabel(shorten(self.feature_names[0]))
        axes.set_ylabel(shorten(self.feature_names[1]))
        if self.title:
            axes.set_title(self.title)
        return self

    @property
    def _extent(self) -> tuple[float, float, float, float]:
        # The points of the grid are the centres of the pixels.
        ends = []
        for axis in (self.across, self.up):
            half = (axis[1] - axis[0]) / 2.0
            ends += [float(axis[0] - half), float(axis[-1] + half)]
        return ends[0], ends[1], ends[2], ends[3]

    def _draw_values(self, axes: Axes, legend: bool) -> None:
        known = [self.answers.ravel()] + ([] if self.target is None else [np.asarray(self.target, dtype=np.float64)])
        low, high = (float(f(np.concatenate(known))) for f in (np.nanmin, np.nanmax))
        colors: dict[str, Any] = {"cmap": choose_map(), "vmin": low, "vmax": high}
        self.surface_ = axes.imshow(self.answers, origin="lower", extent=self._extent, aspect="auto", **colors)
        if self.points is not None:
            areas = size_points(self.weights, len(self.points))
            shown = ~np.isnan(self.points).any(axis=1)
            style = {} if self.target is None else {"c": np.asarray(self.target)[shown], **colors}
            x, y = self.points[shown].T
            drawn = axes.scatter(x, y, s=areas[shown], edgecolors="white", linewidths=0.6, **style)
            self.points_ = [drawn]
        if legend:
            self.figure_.colorbar(self.surface_, ax=axes, label="prediction")

    def _draw_classes(self, axes: Axes, names: list[str], legend: bool) -> None:
        colors = choose_colors(len(names))
        winner = self.answers.argmax(axis=2)
        strength = _FAINTEST + (_DEEPEST - _FAINTEST) * _measure_confidence(self.answers)
        solid = np.array([tint(color, 1.0) for color in colors])[winner]
        image = 1.0 - strength[..., None] * (1.0 - solid)
        self.surface_ = axes.imshow(image, origin="lower", extent=self._extent, aspect="auto", interpolation="nearest")
        self.boundary_ = []
        for k in range(1 if len(names) == 2 else len(names)):
            lead = self.answers[..., k] - np.delete(self.answers, k, axis=2).max(axis=2) if len(names) > 1 else None
            if lead is None or not (lead.min() < 0.0 < lead.max()):
                continue
            self.boundary_.append(axes.contour(self.across, self.up, lead, levels=[0.0], colors=INK, linewidths=1.2))
        if self.points is not None:
            areas = size_points(self.weights, len(self.points))
            self.points_ = draw_points(axes, self.points, self.target, names, areas)
            if legend and self.target is not None:
                add_legend(axes, len(names))


@dataclass
class DecisionBoundaryGridDisplay(PanelDisplay):
    """The decision boundaries of several models, or of one model after several rounds, on the same plane.

    Parameters
    ----------
    displays : list of DecisionBoundaryDisplay
        One panel each.
    n_columns : int
        Panels per row.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes
        Of the panels.
    ax_, figure_
        The first axes, and the figure.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import AdaBoostClassifier
    >>> from committee.plots import DecisionBoundaryGridDisplay
    >>> X, y = make_moons(100, noise=0.3, random_state=0)
    >>> model = AdaBoostClassifier(n_estimators=20, keep_sample_weights=True).fit(X, y)
    >>> shown = DecisionBoundaryGridDisplay.from_rounds(model, X, y, rounds=(1, 3, 20), grid_resolution=40)
    >>> [ax.get_title() for ax in shown.axes_]
    ['after 1 round', 'after 3 rounds', 'after 20 rounds']
    """

    displays: list[DecisionBoundaryDisplay]
    n_columns: int = 3

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any] | Sequence[Any],
        X: Any,
        y: Any = None,
        *,
        features: Sequence[Feature] | None = None,
        response_method: ResponseMethod = "auto",
        grid_resolution: int = 200,
        class_names: Sequence[str] | None = None,
        n_columns: int = 3,
        ax: PanelAxes = None,
    ) -> Self:
        """Draw fitted models side by side.

        Parameters
        ----------
        estimators : dict or sequence of fitted estimators
            The panels; keys of a dict are their titles.
        X, y, features, response_method, grid_resolution, class_names
            As in `DecisionBoundaryDisplay.from_estimator`.
        n_columns : int, default=3
            Panels per row.
        ax : matplotlib axes or sequence of them, optional
            Where to draw; a new figure by default.

        Returns
        -------
        DecisionBoundaryGridDisplay
        """
        named = dict(estimators) if hasattr(estimators, "items") else None
        models = list(estimators) if named is None else list(named.values())
        if not models:
            raise ParameterError("The 'estimators' argument must hold at least one fitted estimator.")
        titles = [type(model).__name__ for model in models] if named is None else list(named)
        plane = read_plane(X, features)
        across, up = plane.make_axes(check_count("grid_resolution", grid_resolution, 2))
        rows = plane.make_rows(across, up)
        displays = []
        for title, model in zip(titles, models, strict=True):
            predictions = predict_rows(model, rows, response_method)
            fields = _make_fields(model, plane, (across, up, predictions), y, class_names)
            displays.append(DecisionBoundaryDisplay(**fields, title=str(title)))
        return cls(displays, n_columns).plot(ax=ax)

    @classmethod
    def from_rounds(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        rounds: Sequence[int] = (1, 2, 3, 5, 10, 50),
        features: Sequence[Feature] | None = None,
        grid_resolution: int = 200,
        class_names: Sequence[str] | None = None,
        n_columns: int = 3,
        ax: PanelAxes = None,
    ) -> Self:
        """Draw a boosted model after some of its rounds.

        Parameters
        ----------
        estimator : fitted estimator
            With ``staged_predict_proba``, ``staged_decision_function`` or ``staged_predict``. If it was fitted with
            ``keep_sample_weights=True`` on X, areas of points are the weights of the round's last member.
        X, y, features, grid_resolution, class_names
            As in `DecisionBoundaryDisplay.from_estimator`.
        rounds : sequence of int
            Numbers of rounds; those after the last round are ignored.
        n_columns : int, default=3
            Panels per row.
        ax : matplotlib axes or sequence of them, optional
            Where to draw; a new figure by default.

        Returns
        -------
        DecisionBoundaryGridDisplay
        """
        displays = cls.collect_rounds(
            estimator, X, y, rounds=rounds, features=features, grid_resolution=grid_resolution, class_names=class_names
        )
        return cls(displays, n_columns).plot(ax=ax)

    @staticmethod
    def collect_rounds(
        estimator: Any,
        X: Any,
        y: Any,
        *,
        rounds: Sequence[int],
        features: Sequence[Feature] | None = None,
        grid_resolution: int = 200,
        class_names: Sequence[str] | None = None,
    ) -> list[DecisionBoundaryDisplay]:
        """The panels of `from_rounds`, not yet drawn.

        Parameters
        ----------
        estimator, X, y, rounds, features, grid_resolution, class_names
            As in `from_rounds`.

        Returns
        -------
        list of DecisionBoundaryDisplay
        """
        plane = read_plane(X, features)
        across, up = plane.make_axes(check_count("grid_resolution", grid_resolution, 2))
        trace = find_weight_trace(estimator, len(plane.points))
        displays = []
        for number, predictions in predict_rounds(estimator, plane.make_rows(across, up), rounds):
            weights = None if trace is None else np.asarray(trace[number - 1], dtype=np.float64)
            fields = _make_fields(estimator, plane, (across, up, predictions), y, class_names)
            title = f"after {number} round{'s' if number > 1 else ''}"
            displays.append(DecisionBoundaryDisplay(**fields, weights=weights, title=title))
        return displays

    def _draw(self, ax: PanelAxes) -> None:
        axes = self._open_panels(ax, len(self.displays), self.n_columns, (3.3, 3.0), share=True)
        for k, (one, shown) in enumerate(zip(axes, self.displays, strict=True)):
            shown.plot(ax=one, legend=k == 0)
        if ax is None:
            self._label_outer()


class _BoundaryFields(TypedDict):
    """Fields of a `DecisionBoundaryDisplay` that depend on the plane and the predictions."""

    across: FloatArray
    up: FloatArray
    answers: FloatArray
    feature_names: tuple[str, str]
    class_names: list[str] | None
    points: FloatArray
    target: NDArray[Any] | None


def _make_fields(
    estimator: Any,
    plane: Plane,
    grid: tuple[FloatArray, FloatArray, FloatArray],
    y: Any,
    class_names: Sequence[str] | None,
) -> _BoundaryFields:
    across, up, predictions = grid
    names = name_classes(np.asarray(estimator.classes_), class_names) if is_classifier(estimator) else None
    shape = (len(up), len(across)) if names is None else (len(up), len(across), len(names))
    return {
        "across": across,
        "up": up,
        "answers": predictions.reshape(shape),
        "feature_names": plane.names,
        "class_names": names,
        "points": plane.points,
        "target": number_target(estimator, y, len(plane.points)),
    }


def _measure_confidence(scores: FloatArray) -> FloatArray:
    """From 0, where the two largest scores are equal, to 1, where their difference is largest."""
    if scores.shape[2] == 1:
        return np.ones(scores.shape[:2])
    best = np.sort(scores, axis=2)
    lead = best[..., -1] - best[..., -2]
    # Probabilities have an absolute scale; other scores are scaled by the largest difference.
    are_probabilities = scores.min() >= 0.0 and np.allclose(scores.sum(axis=2), 1.0)
    return np.asarray(lead if are_probabilities else lead / max(float(lead.max()), 1e-300))
