"""Draw a fitted tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from committee.learners.export import NodeStyle, TreeCaption

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from matplotlib.axes import Axes
    from matplotlib.text import Annotation, Text

_GAP = 0.12
"""Gap between neighbouring boxes, as a share of their width."""
_LARGEST_FONT = 12.0
_EDGE_COLOR = "#606060"

__all__ = ["TreeLayout", "fit_text", "lay_out", "plot_tree"]


@dataclass
class TreeLayout:
    """Position of each shown node: `x` in boxes from the left, `depth` in levels from the root."""

    nodes: list[int]
    children: dict[int, tuple[int, int]]
    x: dict[int, float]
    depth: dict[int, int]
    hidden: set[int]


def lay_out(caption: TreeCaption, max_depth: int | None, *, show_hidden: bool = True) -> TreeLayout:
    """Lay out nodes by [ReingoldTilford1981]: subtrees as close as their outlines allow, parents in the middle.

    With `show_hidden` the nodes just below the deepest level have a position as well, for a mark that they are hidden.
    """
    tree = caption.tree
    depth: dict[int, int] = {0: 0}
    children: dict[int, tuple[int, int]] = {}
    hidden: set[int] = set()
    nodes: list[int] = []
    level = [0]
    while level:
        nodes += level
        below: list[int] = []
        for node in level:
            if max_depth is not None and depth[node] > max_depth:
                hidden.add(node)
            elif not caption.is_leaf(node) and (show_hidden or depth[node] != max_depth):
                pair = (int(tree.children_left[node]), int(tree.children_right[node]))
                children[node] = pair
                below += pair
                depth.update(dict.fromkeys(pair, depth[node] + 1))
        level = below
    # Outlines: for each level below a node, the leftmost and rightmost position relative to it.
    outline: dict[int, tuple[list[float], list[float]]] = {}
    half: dict[int, float] = {}
    for node in reversed(nodes):
        if node not in children:
            outline[node] = ([0.0], [0.0])
            continue
        left, right = (outline.pop(child) for child in children[node])
        shared = zip(left[1], right[0], strict=False)
        half[node] = max(most - least + 1.0 for most, least in shared) / 2.0
        outline[node] = (
            [0.0, *_merge(left[0], right[0], -half[node], half[node])],
            [0.0, *_merge(right[1], left[1], half[node], -half[node])],
        )
    x = {0: -min(outline[0][0])}
    for node in nodes:
        if node in children:
            left_child, right_child = children[node]
            x[left_child], x[right_child] = x[node] - half[node], x[node] + half[node]
    return TreeLayout(nodes, children, x, depth, hidden)


def _merge(near: list[float], far: list[float], shift_near: float, shift_far: float) -> list[float]:
    """Outline of two subtrees: that of the nearer one, then that of the other where it is deeper."""
    return [position + shift_near for position in near] + [position + shift_far for position in far[len(near) :]]


def _choose_text_color(fill: str) -> str:
    """Black or white, by the relative luminance of the fill (ITU-R BT.709)."""
    red, green, blue = (int(fill[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45 else "white"


def _fit_font(ax: Axes, boxes: list[Annotation], columns: float, levels: int) -> float:
    """Shrink the font until the widest and the tallest box fit into their cells of the grid; returns the size."""
    space = ax.get_window_extent()
    sizes = [box.get_window_extent() for box in boxes]
    width, height = max(size.width for size in sizes), max(size.height for size in sizes)
    scale = min(space.width / (columns * width * (1.0 + _GAP)), space.height / (levels * height * 1.35), 1.0)
    for box in boxes:
        box.set_fontsize(_LARGEST_FONT * scale)
    return float(_LARGEST_FONT * scale)


def fit_text(ax: Axes, texts: list[Text], columns: float, largest: float) -> float:
    """Shrink the font until the widest text fits into its column of the grid; returns the size."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.canvas.draw()
    space = ax.get_window_extent().width / columns
    for text in texts:
        text.set_fontsize(largest)
    widest = max(text.get_window_extent().width for text in texts)
    size = largest * min(1.0, space / (widest * (1.0 + _GAP / 2)))
    for text in texts:
        text.set_fontsize(size)
    return float(size)


def plot_tree(
    decision_tree: Any,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | bool | None = None,
    ax: Axes | None = None,
    fontsize: float | None = None,
    **style: Unpack[NodeStyle],
) -> list[Annotation]:
    """Draw a fitted tree.

    Parameters
    ----------
    decision_tree : fitted tree
        The tree to draw.
    max_depth : int, optional
        Deepest level to draw.
    feature_names : sequence of str, optional
        Names of the features; the names seen in fit by default.
    class_names : sequence of str or bool, optional
        Names of the classes, in the order of ``classes_``; True shows class indices.
    ax : matplotlib axes, optional
        Where to draw; the current axes by default.
    fontsize : float, optional
        Size of the text; the largest that fits by default.
    **style : optional
        Contents of the boxes, as in `export_graphviz`: ``label``, ``filled``, ``rounded``, ``impurity``, ``node_ids``,
        ``proportion``, ``precision``.

    Returns
    -------
    list of matplotlib.text.Annotation
        The boxes, root first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import DecisionTreeClassifier, plot_tree
    >>> tree = DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True))
    >>> boxes = plot_tree(tree, filled=True)  # doctest: +SKIP
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot_tree needs matplotlib; install committee[plot].") from error
    caption = TreeCaption("plot_tree", decision_tree, feature_names, class_names, style)
    layout = lay_out(caption, max_depth)
    ax = plt.gca() if ax is None else ax
    ax.clear()
    ax.set_axis_off()
    columns, levels = max(layout.x.values()) + 1.0, max(layout.depth.values()) + 1
    ax.set_xlim(-0.5, columns - 0.5)
    ax.set_ylim(levels - 0.5, -0.5)
    boxes = _draw_nodes(ax, caption, layout, _LARGEST_FONT if fontsize is None else fontsize)
    if fontsize is None:
        fontsize = _fit_font(ax, boxes, columns, levels)
    _label_branches(ax, layout, fontsize)
    return boxes


def _draw_nodes(ax: Axes, caption: TreeCaption, layout: TreeLayout, fontsize: float) -> list[Annotation]:
    boxes = []
    filled, shape = caption.style.get("filled"), "round" if caption.style.get("rounded") else "square"
    for node in layout.nodes:
        if node in layout.hidden:
            text, fill = "(...)", "#c0c0c0"
        else:
            text = "\n".join(caption.write_lines(node, at_most="≤", element="∈"))
            fill = caption.choose_color(node) if filled else "#ffffff"
        position = (layout.x[node], layout.depth[node])
        boxes.append(
            ax.annotate(
                text,
                xy=position,
                ha="center",
                va="center",
                fontsize=fontsize,
                color=_choose_text_color(fill),
                linespacing=1.25,
                zorder=2,
                bbox={
                    "boxstyle": f"{shape},pad=0.4",
                    "facecolor": fill,
                    "edgecolor": _EDGE_COLOR,
                },
            )
        )
        for child in layout.children.get(node, ()):
            ax.plot(
                (position[0], layout.x[child]),
                (position[1], layout.depth[child]),
                color=_EDGE_COLOR,
                linewidth=1.0,
                zorder=1,
            )
    return boxes


def _label_branches(ax: Axes, layout: TreeLayout, fontsize: float) -> None:
    """Write True and False beside the branches of the root."""
    if 0 not in layout.children:
        return
    for child, label, align in zip(layout.children[0], ("True", "False"), ("right", "left"), strict=True):
        middle = (layout.x[0] + layout.x[child]) / 2.0
        ax.text(middle, 0.5, f" {label} ", ha=align, va="center", fontsize=fontsize, color=_EDGE_COLOR, zorder=2)
