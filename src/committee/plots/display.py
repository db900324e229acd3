"""Base classes of displays: figures and axes. matplotlib is imported when something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from committee.exceptions import ParameterError, ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    PanelAxes: TypeAlias = Axes | Sequence[Axes] | NDArray[np.object_] | None

__all__ = ["Display", "PanelDisplay"]


class Display:
    """A plot with one axes.

    A display stores its data; `plot` draws them on the given axes or on a new figure, and returns the display. After
    that ``ax_`` and ``figure_`` can be changed further.
    """

    ax_: Axes
    figure_: Figure

    def plot(self, *, ax: Axes | None = None) -> Self:
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

    def _draw(self, ax: Axes | None) -> None:
        raise NotImplementedError

    def _open(self, ax: Axes | None, size: tuple[float, float] = (6.4, 4.4)) -> Axes:
        """The given axes, or those of a new figure of a size in inches."""
        plt = load_pyplot(type(self).__name__)
        if ax is None:
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_ = check_axes(type(self).__name__, ax)
        figure = self.ax_.get_figure(root=True)
        assert figure is not None
        self.figure_ = figure
        return self.ax_


class PanelDisplay(Display):
    """A plot with several axes: ``axes_`` has them in the order of the panels, ``ax_`` is the first one.

    `ax` may be a single axes, which the panels replace, or one axes for each panel.
    """

    axes_: NDArray[Any]
    _n_columns: int

    def plot(self, *, ax: PanelAxes = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or sequence of them, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
        """
        self._draw(ax)
        return self

    def _draw(self, ax: PanelAxes) -> None:
        raise NotImplementedError

    def _open_panels(
        self, ax: PanelAxes, n_panels: int, n_columns: int, size: tuple[float, float], *, share: bool = False
    ) -> NDArray[Any]:
        """Axes in rows of at most `n_columns`, each of a size in inches."""
        name = type(self).__name__
        plt = load_pyplot(name)
        n_rows = -(-n_panels // max(1, n_columns))
        n_columns = -(-n_panels // n_rows)  # four panels in rows of three become two rows of two
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
            subplot = outer.get_subplotspec()
            if subplot is None:
                raise ParameterError(f"The 'ax' of {name} must be part of a grid of subplots, or a list of axes.")
            grid = subplot.subgridspec(n_rows, n_columns)
            parent = outer.get_figure(root=False)
            assert parent is not None
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
        """Keep labels only at the left edge and below panels without another panel below."""
        for k, one in enumerate(self.axes_):
            is_low, is_left = k + self._n_columns >= len(self.axes_), k % self._n_columns == 0
            one.tick_params(labelbottom=is_low, labelleft=is_left)
            one.set_xlabel(one.get_xlabel() if is_low else "")
            one.set_ylabel(one.get_ylabel() if is_left else "")


def load_pyplot(name: str) -> ModuleType:
    """Import pyplot, or raise an error that says what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{name} needs matplotlib; install committee[plot].") from error
    return plt


def check_axes(name: str, ax: object) -> Axes:
    """Check that an object is an axes of matplotlib, and return it."""
    from matplotlib.axes import Axes as AnyAxes

    if not isinstance(ax, AnyAxes):
        raise ParameterTypeError(
            f"The 'ax' argument of {name} must be axes of matplotlib or None; got {type(ax).__name__}."
        )
    return ax
