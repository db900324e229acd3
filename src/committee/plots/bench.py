"""A bar chart of benchmark times."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

__all__ = ["plot_benchmark"]

_COLORS = ("#1f5a8a", "#e08a2c", "#6aa84f", "#b5517a", "#7f6bb2", "#808080")
_BAR = 0.32
"""Height of a bar in inches."""


def plot_benchmark(seconds: Mapping[str, Mapping[str, float]], ours: str) -> Figure:
    """Bars of the ratios of all contenders' times to ours, on a logarithmic axis.

    Parameters
    ----------
    seconds : mapping of str to mapping of str to float
        For each case the time of each contender.
    ours : str
        The reference contender; it must be in every case.

    Returns
    -------
    matplotlib.figure.Figure
        To be saved; no window is opened.

    Examples
    --------
    >>> figure = plot_benchmark({"fit": {"a": 1.0, "b": 4.0}}, "a")
    >>> [float(bar.get_width()) for bar in figure.axes[0].patches]
    [1.0, 4.0]
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    names = list(dict.fromkeys(name for times in seconds.values() for name in times))
    colors = {name: _COLORS[k % len(_COLORS)] for k, name in enumerate(names)}
    n_bars = sum(len(times) for times in seconds.values())
    figure = Figure(figsize=(8.0, _BAR * (n_bars + len(seconds)) + 1.2))
    axes = figure.subplots()
    position, ticks = 0.0, []
    for times in seconds.values():
        first = position
        for name, value in times.items():
            ratio = value / times[ours]
            axes.barh(position, ratio, height=0.86, color=colors[name])
            axes.text(ratio * 1.04, position, f"{ratio:.3g}", va="center", fontsize=8)
            position += 1.0
        ticks.append((first + position - 1.0) / 2.0)
        position += 0.8
    axes.set_xscale("log")
    axes.set_yticks(ticks, list(seconds))
    axes.invert_yaxis()
    axes.axvline(1.0, color="#404040", linewidth=0.8)
    axes.set_xlabel(f"time over that of {ours} (logarithmic; shorter is faster)")
    axes.spines[["top", "right"]].set_visible(False)
    handles = [Patch(color=colors[name], label=name) for name in names]
    axes.legend(handles=handles, loc="lower right", fontsize=8, frameon=False)
    return figure
