"""Proximities of rows in a forest, scaled to two dimensions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.rows import count_rows, select_rows
from committee.exceptions import DataError
from committee.inspection.proximity import measure_proximity, scale_proximity
from committee.inspection.resampling import check_count
from committee.plots.display import Display
from committee.plots.plane import draw_points, size_points
from committee.plots.style import add_legend, choose_map, name_classes, tidy_axes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["ProximityDisplay"]


@dataclass
class ProximityDisplay(Display):
    """Rows in two dimensions; squared distances approximate 1 - proximity (classical scaling).

    Parameters
    ----------
    points : ndarray of shape (n_rows, 2)
        Coordinates.
    shares : ndarray of shape (2,)
        Share of the variance that each axis explains.
    target : ndarray of shape (n_rows,) or None
        Class indices, or values.
    class_names : list of str or None
        None for values.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    points_ : list of matplotlib collections
        The rows, one collection per class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.plots import ProximityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> shown = ProximityDisplay.from_estimator(forest, X, y)
    >>> shown.points.shape, len(shown.points_)
    ((150, 2), 3)
    """

    points: FloatArray
    shares: FloatArray
    target: NDArray[Any] | None = None
    class_names: list[str] | None = None

    points_: list[PathCollection] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        max_rows: int = 1000,
        class_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute the proximities of rows, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            A forest, or any other with `apply`.
        X : table
            Rows; proximities of training rows are biased.
        y : array-like, optional
            Their classes or values, as colours.
        max_rows : int, default=1000
            Maximum number of rows to show, spread evenly over X.
        class_names : sequence of str, optional
            In the order of ``classes_``.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ProximityDisplay
        """
        max_rows = check_count("max_rows", max_rows, 3)
        n_rows = count_rows(X)
        target = None if y is None else np.asarray(y)
        if target is not None and target.shape != (n_rows,):
            raise DataError(f"y must have a value for each of the {n_rows} rows of X; got shape {target.shape}.")
        if n_rows > max_rows:
            chosen = np.linspace(0, n_rows - 1, max_rows).astype(np.intp)
            X = select_rows(X if hasattr(X, "shape") else np.asarray(X), chosen)
            target = None if target is None else target[chosen]
        points, shares = scale_proximity(measure_proximity(estimator, X))
        classes = getattr(estimator, "classes_", None)
        names = None
        if classes is not None and target is not None:
            names = name_classes(np.asarray(classes), class_names)
            target = np.searchsorted(np.asarray(classes), target)
        return cls(points, shares, target, names).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        axes = self._open(ax, (5.8, 4.8))
        areas = size_points(None, len(self.points))
        if self.target is None or self.class_names is not None:
            self.points_ = draw_points(axes, self.points, self.target, self.class_names or [], areas, alpha=0.8)
            if self.class_names is not None:
                add_legend(axes, len(self.class_names))
        else:
            style: dict[str, Any] = {"cmap": choose_map(), "edgecolors": "white", "linewidths": 0.4}
            x, y = self.points.T
            self.points_ = [axes.scatter(x, y, s=areas, c=self.target, **style)]
            self.figure_.colorbar(self.points_[0], ax=axes, label="target")
        for axis, number, share in ((axes.xaxis, 1, self.shares[0]), (axes.yaxis, 2, self.shares[1])):
            axis.set_label_text(f"coordinate {number} ({share:.0%} of the spread)")
        # Distances must be comparable in all directions, so both axes have the same scale.
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title("Proximity of rows")
        tidy_axes(axes)
