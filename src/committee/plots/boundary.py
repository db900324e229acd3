"""Where a model changes its mind: its answers over the plane of two features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from committee.exceptions import ParameterError
from committee.inspection.resampling import check_count
from committee.plots.display import Display, PanelDisplay
from committee.plots.plane import Plane, draw_points, read_plane, size_points
from committee.plots.predictions import Asked, ask, ask_rounds, find_trace, number_target
from committee.plots.style import INK, add_legend, choose_colors, choose_map, name_classes, shorten, tint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["DecisionBoundaryDisplay", "DecisionBoundaryGridDisplay"]

_FAINTEST, _DEEPEST = 0.12, 0.55
"""Strength of the colour where the model is at its least and at its most sure."""


@dataclass
class DecisionBoundaryDisplay(Display):
    """What a model answers at every point of a plane, its boundaries as lines, and the rows on top.

    The colour of a place is that of its class, deeper where the model is surer; the lines are where the class changes.
    Predicted numbers have a colour bar.

    Parameters
    ----------
    across, up : ndarray
        Values of the two features along the axes.
    answers : ndarray of shape (len(up), len(across)) or (len(up), len(across), n_classes)
        Numbers, or how sure the model is of each class.
    feature_names : tuple of two str
        What is written at the axes.
    class_names : list of str or None
        None for numbers.
    points : ndarray of shape (n_rows, 2) or None
        Rows to show.
    target : ndarray of shape (n_rows,) or None
        Numbers of their classes, or their values.
    weights : ndarray of shape (n_rows,) or None
        What the areas of the points are in proportion to.
    title : str or None
        Over the picture.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    surface_ : matplotlib image
        The answers.
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

    surface_: Any = field(init=False, repr=False, default=None)
    boundary_: list[Any] = field(init=False, repr=False, default_factory=list)
    points_: list[Any] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[Any] | None = None,
        sample_weight: Any = None,
        response_method: Asked = "auto",
        grid_resolution: int = 200,
        class_names: Sequence[str] | None = None,
        title: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Ask a fitted model about a grid of points, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            Of any library.
        X : array-like or data frame
            Rows that are shown and whose range the picture has.
        y : array-like, optional
            Their classes or values.
        features : pair of int or str, optional
            The columns to show if there are more than two. The model is asked with all others at their median, or most
            frequent value.
        sample_weight : array-like, optional
            Areas of the points are in proportion to it.
        response_method : {"auto", "predict_proba", "decision_function", "predict"}
            What classifiers are asked for; "auto" takes the first that there is.
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
        answers = ask(estimator, plane.make_rows(across, up), response_method)
        shown: Self = _assemble(cls, estimator, plane, (across, up, answers), y, sample_weight, class_names)
        shown.title = type(estimator).__name__ if title is None else title
        return shown.plot(ax=ax)

    def plot(self, *, ax: Any = None, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        legend : bool, default=True
            Whether classes are named, or the colour bar is drawn.

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
        # The points of the grid are the middles of the pixels.
        ends = []
        for axis in (self.across, self.up):
            half = (axis[1] - axis[0]) / 2.0
            ends += [float(axis[0] - half), float(axis[-1] + half)]
        return ends[0], ends[1], ends[2], ends[3]

    def _draw_values(self, axes: Any, legend: bool) -> None:
        known = [self.answers.ravel()] + ([] if self.target is None else [np.asarray(self.target, dtype=np.float64)])
        low, high = (float(f(np.concatenate(known))) for f in (np.nanmin, np.nanmax))
        look = {"cmap": choose_map(), "vmin": low, "vmax": high}
        self.surface_ = axes.imshow(self.answers, origin="lower", extent=self._extent, aspect="auto", **look)
        if self.points is not None:
            areas = size_points(self.weights, len(self.points))
            shown = ~np.isnan(self.points).any(axis=1)
            colored = {} if self.target is None else {"c": np.asarray(self.target)[shown], **look}
            drawn = axes.scatter(*self.points[shown].T, s=areas[shown], edgecolors="white", linewidths=0.6, **colored)
            self.points_ = [drawn]
        if legend:
            self.figure_.colorbar(self.surface_, ax=axes, label="prediction")

    def _draw_classes(self, axes: Any, names: list[str], legend: bool) -> None:
        colors = choose_colors(len(names))
        winner = self.answers.argmax(axis=2)
        sureness = _rate_sureness(self.answers)
        strength = _FAINTEST + (_DEEPEST - _FAINTEST) * sureness
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
    """The boundaries of several models side by side, or of one model round by round, on the same plane.

    Parameters
    ----------
    displays : list of DecisionBoundaryDisplay
        A panel each.
    n_columns : int
        Panels in a row.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes
        Of the panels.
    ax_, figure_
        The first of them, and the figure.

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
        features: Sequence[Any] | None = None,
        response_method: Asked = "auto",
        grid_resolution: int = 200,
        class_names: Sequence[str] | None = None,
        n_columns: int = 3,
        ax: Any = None,
    ) -> Self:
        """Draw fitted models side by side.

        Parameters
        ----------
        estimators : dict or sequence of fitted estimators
            The panels; names in a dict are their titles.
        X, y, features, response_method, grid_resolution, class_names
            As in `DecisionBoundaryDisplay.from_estimator`.
        n_columns : int, default=3
            Panels in a row.
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
            seen = (across, up, ask(model, rows, response_method))
            shown = _assemble(DecisionBoundaryDisplay, model, plane, seen, y, None, class_names)
            shown.title = str(title)
            displays.append(shown)
        return cls(displays, n_columns).plot(ax=ax)

    @classmethod
    def from_rounds(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        rounds: Sequence[int] = (1, 2, 3, 5, 10, 50),
        features: Sequence[Any] | None = None,
        grid_resolution: int = 200,
        class_names: Sequence[str] | None = None,
        n_columns: int = 3,
        ax: Any = None,
    ) -> Self:
        """Draw a boosted model as it was after some of its rounds.

        Parameters
        ----------
        estimator : fitted estimator
            With ``staged_predict_proba``, ``staged_decision_function`` or ``staged_predict``. If it kept its weights
            (``keep_sample_weights=True``) and X are the rows of the fit, areas of points are the weights that the last
            member of the round was fitted on.
        X, y, features, grid_resolution, class_names
            As in `DecisionBoundaryDisplay.from_estimator`.
        rounds : sequence of int
            Numbers of rounds; those beyond the last one are left out.
        n_columns : int, default=3
            Panels in a row.
        ax : matplotlib axes or sequence of them, optional
            Where to draw; a new figure by default.

        Returns
        -------
        DecisionBoundaryGridDisplay
        """
        told: Any = {"features": features, "grid_resolution": grid_resolution, "class_names": class_names}
        return cls(cls.collect_rounds(estimator, X, y, rounds=rounds, **told), n_columns).plot(ax=ax)

    @staticmethod
    def collect_rounds(
        estimator: Any,
        X: Any,
        y: Any,
        *,
        rounds: Sequence[int],
        features: Sequence[Any] | None = None,
        grid_resolution: int = 200,
        class_names: Sequence[str] | None = None,
    ) -> list[DecisionBoundaryDisplay]:
        """The panels of `from_rounds`, not yet drawn.

        Parameters
        ----------
        estimator, X, y, rounds, features, grid_resolution, class_names
            As there.

        Returns
        -------
        list of DecisionBoundaryDisplay
        """
        plane = read_plane(X, features)
        across, up = plane.make_axes(check_count("grid_resolution", grid_resolution, 2))
        trace = find_trace(estimator, len(plane.points))
        displays = []
        for number, answers in ask_rounds(estimator, plane.make_rows(across, up), rounds):
            weights = None if trace is None else trace[number - 1]
            seen = (across, up, answers)
            shown = _assemble(DecisionBoundaryDisplay, estimator, plane, seen, y, weights, class_names)
            shown.title = f"after {number} round{'s' if number > 1 else ''}"
            displays.append(shown)
        return displays

    def _draw(self, ax: Any) -> None:
        axes = self._open_panels(ax, len(self.displays), self.n_columns, (3.3, 3.0), share=True)
        for k, (one, shown) in enumerate(zip(axes, self.displays, strict=True)):
            shown.plot(ax=one, legend=k == 0)
        if ax is None:
            self._label_outer()


def _assemble(
    kind: Any,
    estimator: Any,
    plane: Plane,
    seen: tuple[FloatArray, FloatArray, FloatArray],
    y: Any,
    weights: Any,
    class_names: Sequence[str] | None,
) -> Any:
    """A display of answers over a plane; of type `kind`."""
    across, up, answers = seen
    names = name_classes(np.asarray(estimator.classes_), class_names) if is_classifier(estimator) else None
    shape = (len(up), len(across)) if names is None else (len(up), len(across), len(names))
    return kind(
        across,
        up,
        answers.reshape(shape),
        plane.names,
        names,
        plane.points,
        number_target(estimator, y, len(plane.points)),
        None if weights is None else np.asarray(weights, dtype=np.float64),
    )


def _rate_sureness(answers: FloatArray) -> FloatArray:
    """From 0, where two classes are level, to 1, where the lead of the first one is at its largest."""
    if answers.shape[2] == 1:
        return np.ones(answers.shape[:2])
    best = np.sort(answers, axis=2)
    lead = best[..., -1] - best[..., -2]
    # Probabilities say by themselves how sure they are; scores only in comparison with one another.
    are_shares = answers.min() >= 0.0 and np.allclose(answers.sum(axis=2), 1.0)
    return np.asarray(lead if are_shares else lead / max(float(lead.max()), 1e-300))
