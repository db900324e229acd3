"""What all pictures share: where they are drawn. matplotlib is imported when the first one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import ParameterError, ParameterTypeError

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["Display", "PanelDisplay"]


class Display:
    """A picture with one pair of axes.

    A display holds what it shows; `plot` draws it, on axes that are passed or on a figure of its own, and returns the
    display itself. After that ``ax_`` and ``figure_`` are there to be changed further.
    """

    ax_: Axes
    figure_: Figure

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
        """
        self._draw(ax)
        return self

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def _open(self, ax: Any, size: tuple[float, float] = (6.4, 4.4)) -> Any:
        """Axes to draw on: those that were passed, or a figure of a size in inches."""
        plt = load_pyplot(type(self).__name__)
        if ax is None:
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_ = check_axes(type(self).__name__, ax)
        figure = self.ax_.get_figure(root=True)
        assert figure is not None
        self.figure_ = figure
        return self.ax_


class PanelDisplay(Display):
    """A picture with several axes: ``axes_`` has them in the order of the panels, ``ax_`` is the first one.

    `ax` may be a single one, in whose place the panels are put, or as many as there are panels.
    """

    axes_: NDArray[Any]
    _n_columns: int

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or sequence of them, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
        """
        return super().plot(ax=ax)

    def _open_panels(
        self, ax: Any, n_panels: int, n_columns: int, size: tuple[float, float], *, share: bool = False
    ) -> NDArray[Any]:
        """Axes in rows of so many columns, each of a size in inches."""
        name = type(self).__name__
        plt = load_pyplot(name)
        n_rows = -(-n_panels // max(1, n_columns))
        n_columns = -(-n_panels // n_rows)  # four panels in rows of three are better two and two
        linked = {"sharex": share, "sharey": share, "squeeze": False}
        if ax is None:
            _, grid = plt.subplots(
                n_rows, n_columns, figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained", **linked
            )
            axes = grid.ravel()
        elif isinstance(ax, list | tuple | np.ndarray):
            axes = np.array([check_axes(name, one) for one in np.asarray(ax, dtype=object).ravel()], dtype=object)
            if len(axes) != n_panels:
                raise ParameterError(
                    f"{name} has {n_panels} panels; 'ax' must be one axes or as many; got {len(axes)}."
                )
        else:
            outer = check_axes(name, ax)
            outer.set_axis_off()
            place = outer.get_subplotspec()
            if place is None:
                raise ParameterError(f"The 'ax' of {name} must be part of a grid of subplots, or a list of axes.")
            grid = place.subgridspec(n_rows, n_columns)
            parent: Any = outer.get_figure(root=False)
            cells = [grid[k // n_columns, k % n_columns] for k in range(n_panels)]
            axes = np.array([parent.add_subplot(cell) for cell in cells], dtype=object)
        for spare in axes[n_panels:]:
            spare.remove()
        self.axes_ = axes[:n_panels]
        self.ax_ = self.axes_[0]
        figure = self.ax_.get_figure(root=True)
        assert figure is not None
        self.figure_ = figure
        self._n_columns = n_columns
        return self.axes_

    def _label_outer(self) -> None:
        """Labels at the left and the lower ends only; a panel with none below it is a lower end."""
        for k, one in enumerate(self.axes_):
            is_low, is_left = k + self._n_columns >= len(self.axes_), k % self._n_columns == 0
            one.tick_params(labelbottom=is_low, labelleft=is_left)
            one.set_xlabel(one.get_xlabel() if is_low else "")
            one.set_ylabel(one.get_ylabel() if is_left else "")


def load_pyplot(who: str) -> Any:
    """pyplot, or a sentence that says what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{who} needs matplotlib; install committee[plot].") from error
    return plt


def check_axes(who: str, ax: Any) -> Any:
    """The axes themselves, if they are some."""
    from matplotlib.axes import Axes as AnyAxes

    if not isinstance(ax, AnyAxes):
        raise ParameterTypeError(
            f"The 'ax' argument of {who} must be axes of matplotlib or None; got {type(ax).__name__}."
        )
    return ax
