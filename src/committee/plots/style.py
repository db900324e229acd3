"""The style of all plots: colours that are safe for colour-blind readers, and a second cue for black and white.

The colours are those of Okabe and Ito. Neighbours in the list differ in lightness, so that they are distinct in
greyscale; classes also differ by marker, lines by dashes and bars by hatches.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.typing import LineStyleType
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = [
    "ACCENT",
    "COLORS",
    "GREY",
    "HATCHES",
    "INK",
    "LineStyle",
    "add_legend",
    "choose_colors",
    "choose_lines",
    "choose_map",
    "choose_marker",
    "name_classes",
    "shorten",
    "shorten_all",
    "tidy_axes",
    "tint",
]

COLORS = ("#E69F00", "#0072B2", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#505050", "#F0E442")
"""Colours of classes and groups: orange, blue, green, vermilion, sky, purple, grey, yellow."""
INK = "#202020"
GREY = "#8A8A8A"
ACCENT = "#0072B2"
_LINE_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#505050")
_DASHES: tuple[LineStyleType, ...] = ("-", (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.4)), (0, (8, 2, 2, 2)))
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "p", "h", "*")
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo")
_LONGEST_NAME = 30


@dataclass(frozen=True)
class LineStyle:
    """Colour, dashes and marker of a line."""

    color: str
    linestyle: LineStyleType
    marker: str


def choose_lines(n_lines: int) -> list[LineStyle]:
    """Styles of lines; colours and dashes repeat in cycles of different length."""
    styles = zip(cycle(_LINE_COLORS), cycle(_DASHES), cycle(_MARKERS), strict=False)
    return [LineStyle(*style) for style in islice(styles, n_lines)]


def choose_colors(n_classes: int) -> list[str]:
    """Colours of classes; a colour repeats only with another marker."""
    return list(islice(cycle(COLORS), n_classes))


def choose_marker(number: int) -> str:
    """The marker of a class."""
    return _MARKERS[number % len(_MARKERS)]


def tint(color: str, share: float) -> FloatArray:
    """Mix a colour with white; a share of 0 is white."""
    rgb = np.array([int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5)])
    return 1.0 - share * (1.0 - rgb)


def choose_map(kind: str = "sequential") -> Colormap:
    """A colour map: perceptually uniform (sequential), or with white in the middle (diverging)."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    if kind == "diverging":
        ends = [COLORS[3], "#FFFFFF", COLORS[1]]
        return LinearSegmentedColormap.from_list("committee_diverging", ends)
    return colormaps["cividis"]


def shorten(name: object, longest: int = _LONGEST_NAME) -> str:
    """Shorten a name in the middle, since names of columns often differ at their ends."""
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    head = (longest - 1) // 2
    return f"{text[:head]}…{text[len(text) - (longest - 1 - head) :]}"


def shorten_all(names: Sequence[object], longest: int = _LONGEST_NAME) -> list[str]:
    """Shorten names; those that become equal get a number."""
    short = [shorten(name, longest) for name in names]
    twice = {name for name in short if short.count(name) > 1}
    return [f"{name} [{k}]" if name in twice else name for k, name in enumerate(short)]


def name_classes(classes: NDArray[Any], class_names: Sequence[str] | None) -> list[str]:
    """Names of classes for a legend."""
    if class_names is None:
        return [shorten(name) for name in classes.tolist()]
    if len(class_names) != len(classes):
        raise ParameterError(
            f"The 'class_names' argument must name each of the {len(classes)} classes; got {len(class_names)} names."
        )
    return [shorten(name) for name in class_names]


def tidy_axes(ax: Axes, *, grid: Literal["both", "x", "y"] | None = None) -> None:
    """Hide the upper and the right spine, and draw a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(axis=grid, color="#D8D8D8", linewidth=0.6)


def add_legend(ax: Axes, n_entries: int, **options: Any) -> None:
    """Add a legend: inside the axes if it is short, else beside them in columns."""
    if n_entries <= 8:
        options = {"loc": "best", "framealpha": 0.85, **options}
    else:
        columns = 1 + (n_entries - 1) // 14
        options = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "ncols": columns, **options}
    ax.legend(fontsize="small", **options)
