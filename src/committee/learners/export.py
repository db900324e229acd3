"""A fitted tree as text: indented rules, or the dot language of Graphviz."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
from sklearn.utils.validation import check_is_fitted

from committee.constraints import show_value
from committee.exceptions import ParameterError, ParameterTypeError
from committee.learners.tree_view import TREE_LEAF

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO, Unpack

    from numpy.typing import NDArray

    from committee.data import Schema

Labels = Literal["all", "root", "none"]


class NodeStyle(TypedDict, total=False):
    """What a node's box shows, for every function that draws a tree."""

    label: Labels
    filled: bool
    impurity: bool
    node_ids: bool
    proportion: bool
    rounded: bool
    precision: int


_SHOWN_CATEGORIES = 8
_ELIDED = "(...)"


def _check_count(name: str, value: object, least: int, where: str, *, or_none: bool = False) -> None:
    if or_none and value is None:
        return
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        allowed = f"an int >= {least}{' or None' if or_none else ''}"
        raise ParameterError(f"The {name!r} parameter of {where} must be {allowed}; got {show_value(value)}.")


def _format_number(value: float, precision: int) -> str:
    rounded = round(float(value), precision)
    return str(int(rounded)) if precision == 0 else str(rounded)


def _choose_palette(n_colors: int) -> list[tuple[int, int, int]]:
    """Hues spread evenly over the circle from orange on, of one saturation and brightness."""
    hues = [(25 / 360 + k / n_colors) % 1.0 for k in range(n_colors)]
    colors = (colorsys.hsv_to_rgb(hue, 0.75, 0.9) for hue in hues)
    return [(int(255 * red), int(255 * green), int(255 * blue)) for red, green, blue in colors]


def _find_feature_names(estimator: Any) -> Sequence[str] | None:
    """The names of the features: of the training columns, and of what dates, lists and texts among them became."""
    schema: Schema | None = getattr(estimator, "_schema", None)
    if schema is not None and schema.inputs is not None:
        return schema.name_features("x[{}]")
    names: Sequence[str] | None = getattr(estimator, "feature_names_in_", None)
    return names


def _find_tree(estimator: Any, where: str) -> Any:
    """The nodes of a tree; an ensemble has several."""
    tree = getattr(estimator, "tree_", None)
    if tree is not None:
        return tree
    members = getattr(estimator, "estimators_", None)
    one = "estimators_[0, 0]" if len(getattr(members, "shape", ())) == 2 else "estimators_[0]"
    hint = "" if members is None else f" Pass one of its members, {one} for instance."
    raise ParameterTypeError(f"{where} shows a single tree; got {type(estimator).__name__}.{hint}")


@dataclass
class TreeCaption:
    """Text and colour of each node of a fitted tree, for every function that shows one.

    Parameters
    ----------
    where : str
        Name of the function that shows the tree, for messages.
    estimator : fitted tree
        One of this library's trees, or any estimator with scikit-learn's `tree_`.
    feature_names, class_names : sequence of str, optional
        Names instead of numbers; ``class_names=True`` shows the class by its number.
    style : NodeStyle
        What boxes show.
    """

    where: str
    estimator: Any
    feature_names: Sequence[str] | None = None
    class_names: Sequence[str] | bool | None = None
    style: NodeStyle = field(default_factory=NodeStyle)

    def __post_init__(self) -> None:
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise ParameterTypeError(f"{self.where} shows a fitted tree; got {show_value(self.estimator)}.")
        check_is_fitted(self.estimator)
        unknown = set(self.style) - set(NodeStyle.__annotations__)
        if unknown:
            raise ParameterTypeError(f"{self.where}() got an unexpected keyword argument {min(unknown)!r}.")
        self.precision = self.style.get("precision", 3)
        self.label = self.style.get("label", "all")
        _check_count("precision", self.precision, 0, self.where)
        if self.label not in ("all", "root", "none"):
            raise ParameterError(
                f"The 'label' parameter of {self.where} must be one of 'all', 'root', 'none'; got {self.label!r}."
            )
        self._read_names()
        one_class_list = self.is_classifier and self.tree.n_outputs == 1 and self.tree.n_classes[0] > 1
        self._colors = _choose_palette(int(self.tree.n_classes[0]) if one_class_list else 1)

    def _read_names(self) -> None:
        if self.feature_names is None:
            self.feature_names = _find_feature_names(self.estimator)
        if self.feature_names is not None:
            self.feature_names = [str(name) for name in self.feature_names]
        if self.class_names is False:
            self.class_names = None
        if not isinstance(self.class_names, (bool, type(None))):
            self.class_names = [str(name) for name in self.class_names]
        self.tree = _find_tree(self.estimator, self.where)
        self.is_classifier = hasattr(self.estimator, "classes_")
        self.left_categories = getattr(self.tree, "left_categories", {})
        names = self.feature_names
        if names is not None and len(names) != self.tree.n_features:
            raise ParameterError(f"feature_names must contain {self.tree.n_features} elements, got {len(names)}.")
        if self.is_classifier and self.tree.n_outputs == 1 and not isinstance(self.class_names, (bool, type(None))):
            n_classes, n_names = int(self.tree.n_classes[0]), len(self.class_names)
            if n_names != n_classes:
                raise ParameterError(
                    f"class_names must name each of the tree's {n_classes} classes; got {n_names} names."
                )

    def is_leaf(self, node: int) -> bool:
        """Whether the node has no children."""
        return bool(self.tree.children_left[node] == TREE_LEAF)

    def name_categories(self, node: int) -> list[str]:
        """Names of the categories that go left in a node."""
        codes = self.left_categories[node]
        names = self.estimator.category_names(int(self.tree.feature[node]))
        shown = [str(names[code]) for code in codes[:_SHOWN_CATEGORIES]]
        left_out = len(codes) - len(shown)
        return [*shown, f"and {left_out} more"] if left_out else shown

    def write_test(self, node: int, name: str, at_most: str = "<=", element: str = "in") -> str:
        """The condition of an inner node; rows that meet it go left."""
        if node in self.left_categories:
            return f"{name} {element} {{{', '.join(self.name_categories(node))}}}"
        return f"{name} {at_most} {_format_number(self.tree.threshold[node], self.precision)}"

    def write_value(self, node: int) -> str:
        """Class weights (or proportions), or the value of each output."""
        value = self.tree.value[node]
        if self.is_classifier and not self.style.get("proportion"):
            value = value * self.tree.weighted_n_node_samples[node]
        counted = self.is_classifier and not self.style.get("proportion")
        whole = counted and bool(np.all(np.abs(value - np.rint(value)) < 1e-9))
        rows = [
            "[" + ", ".join(str(round(v)) if whole else _format_number(v, self.precision) for v in row) + "]"
            for row in value
        ]
        if self.tree.n_outputs > 1:
            return "[" + "\n".join(rows) + "]"
        return rows[0] if self.is_classifier else rows[0][1:-1]

    def name_class(self, node: int) -> str:
        """Name of the class that the node predicts (one output)."""
        winner = int(np.argmax(self.tree.value[node][0]))
        if self.class_names is None or isinstance(self.class_names, bool):
            return f"y[{winner}]"
        return str(self.class_names[winner])

    def name_feature(self, feature: int) -> str:
        """Name of a feature in figures: `x[3]` where no name was given."""
        return f"x[{feature}]" if self.feature_names is None else str(self.feature_names[feature])

    def write_lines(self, node: int, at_most: str = "<=", element: str = "in") -> list[str]:
        """All lines of a node's box; a multi-output value takes several."""
        labelled = self.label == "all" or (self.label == "root" and node == 0)
        lines = [f"node #{node}" if labelled else str(node)] if self.style.get("node_ids") else []
        if not self.is_leaf(node):
            lines.append(self.write_test(node, self.name_feature(int(self.tree.feature[node])), at_most, element))

        def add(name: str, text: str) -> None:
            lines.extend((f"{name} = {text}" if labelled else text).split("\n"))

        # Trees of boosting have no impurities.
        if self.style.get("impurity", True) and hasattr(self.tree, "impurity"):
            add(str(self.estimator.criterion), _format_number(self.tree.impurity[node], self.precision))
        samples = self.tree.n_node_samples
        if self.style.get("proportion"):
            add("samples", f"{round(100.0 * samples[node] / samples[0], 1)}%")
        else:
            add("samples", str(int(samples[node])))
        add("value", self.write_value(node))
        if self.is_classifier and self.class_names is not None and self.tree.n_outputs == 1:
            add("class", self.name_class(node))
        return lines

    def choose_color(self, node: int) -> str:
        """Colour of the majority class, paler as its probability is smaller; for values and several outputs a ramp."""
        value = self.tree.value[node][0]
        if self.tree.n_outputs > 1:
            color, strength = self._colors[0], self._scale(-self.tree.impurity, node)
        elif self.is_classifier and len(self._colors) > 1:
            second, first = np.sort(value)[-2:]
            color = self._colors[int(np.argmax(value))]
            strength = (first - second) / (1.0 - second) if second < 1.0 else 0.0
        elif self.is_classifier:
            color, strength = self._colors[0], 1.0
        else:
            color, strength = self._colors[0], self._scale(self.tree.value[:, 0, 0], node)
        return "#" + "".join(f"{round(strength * part + (1.0 - strength) * 255):02x}" for part in color)

    @staticmethod
    def _scale(values: NDArray[np.float64], node: int) -> float:
        """A node's value on a scale from 0 to 1 over all nodes."""
        low, high = values.min(), values.max()
        return float((values[node] - low) / (high - low)) if high > low else 0.0


def _measure_height(caption: TreeCaption, node: int) -> int:
    """Levels of nodes below and including `node`."""
    nodes, height = [node], 0
    while nodes:
        height += 1
        inner = [n for n in nodes if not caption.is_leaf(n)]
        nodes = [int(child) for n in inner for child in (caption.tree.children_left[n], caption.tree.children_right[n])]
    return height


def export_text(
    decision_tree: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """Rules of a tree, indented, one line a branch.

    Parameters
    ----------
    decision_tree : fitted tree
        The tree to show.
    feature_names : sequence of str, optional
        Names of the features; the names seen in fit by default, else ``feature_0`` and so on.
    class_names : sequence of str, optional
        Names of the classes, in the order of ``classes_``.
    max_depth : int or None, default=10
        Deepest level that is shown.
    spacing : int, default=3
        Width of a level.
    decimals : int, default=2
        Digits after the point.
    show_weights : bool, default=False
        Whether leaves show the weight of each class.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import DecisionTreeClassifier, export_text
    >>> iris = load_iris()
    >>> tree = DecisionTreeClassifier(max_depth=1).fit(iris.data, iris.target)
    >>> print(export_text(tree, feature_names=iris.feature_names))
    |--- petal length (cm) <= 2.45
    |   |--- class: 0
    |--- petal length (cm) >  2.45
    |   |--- class: 1
    <BLANKLINE>
    """
    _check_count("max_depth", max_depth, 0, "export_text", or_none=True)
    _check_count("spacing", spacing, 1, "export_text")
    _check_count("decimals", decimals, 0, "export_text")
    caption = TreeCaption("export_text", decision_tree, feature_names, class_names, {"precision": decimals})
    names = caption.feature_names or [f"feature_{k}" for k in range(caption.tree.n_features)]
    lines = list(_write_rules(caption, list(names), max_depth, spacing, show_weights))
    return "\n".join(lines) + "\n"


def _write_rules(
    caption: TreeCaption, names: list[str], max_depth: int | None, spacing: int, show_weights: bool
) -> Iterator[str]:
    tree, decimals = caption.tree, caption.precision
    bar, dash = "|" + " " * spacing, "|" + "-" * spacing
    # A stack entry is a line to write, then the node below it (None: nothing below).
    stack: list[tuple[str, int | None, int]] = [("", 0, 0)]
    while stack:
        line, node, depth = stack.pop()
        if line:
            yield line
        if node is None:
            continue
        indent = f"{bar * depth}{dash} "
        if max_depth is not None and depth > max_depth and not caption.is_leaf(node):
            yield f"{indent}truncated branch of depth {_measure_height(caption, node)}"
        elif caption.is_leaf(node):
            yield indent + _write_leaf(caption, node, show_weights)
        else:
            feature = names[int(tree.feature[node])]
            if node in caption.left_categories:
                members = f"{{{', '.join(caption.name_categories(node))}}}"
                yes, no = f"{feature} in {members}", f"{feature} not in {members}"
            else:
                threshold = f"{tree.threshold[node]:.{decimals}f}"
                yes, no = f"{feature} <= {threshold}", f"{feature} >  {threshold}"
            stack.append((indent + no, int(tree.children_right[node]), depth + 1))
            stack.append((indent + yes, int(tree.children_left[node]), depth + 1))


def _write_leaf(caption: TreeCaption, node: int, show_weights: bool) -> str:
    tree, decimals = caption.tree, caption.precision
    value = tree.value[node]
    if not caption.is_classifier:
        return "value: [" + ", ".join(f"{v:.{decimals}f}" for v in value[:, 0]) + "]"
    winners = [int(np.argmax(row)) for row in value]
    classes = [caption.estimator.classes_] if tree.n_outputs == 1 else caption.estimator.classes_
    named = [str(c[w]) for c, w in zip(classes, winners, strict=True)]
    if tree.n_outputs == 1 and caption.class_names is not None and not isinstance(caption.class_names, bool):
        named = [str(caption.class_names[winners[0]])]
    label = named[0] if tree.n_outputs == 1 else "[" + ", ".join(named) + "]"
    if not show_weights:
        return f"class: {label}"
    weights = value[0] * tree.weighted_n_node_samples[node]
    return "weights: [" + ", ".join(f"{w:.{decimals}f}" for w in weights) + f"] class: {label}"


def export_graphviz(
    decision_tree: Any,
    out_file: str | Path | TextIO | None = None,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | bool | None = None,
    leaves_parallel: bool = False,
    rotate: bool = False,
    special_characters: bool = False,
    fontname: str = "helvetica",
    **style: Unpack[NodeStyle],
) -> str | None:
    """A tree in Graphviz's dot language.

    Parameters
    ----------
    decision_tree : fitted tree
        The tree to show.
    out_file : str, path or text file, optional
        Where to write; the text is returned if None.
    max_depth : int, optional
        Deepest level that is shown.
    feature_names : sequence of str, optional
        Names of the features; the names seen in fit by default.
    class_names : sequence of str or bool, optional
        Names of the classes, in the order of ``classes_``; True shows numbers.
    leaves_parallel : bool, default=False
        Whether all leaves stand on one line.
    rotate : bool, default=False
        Whether the tree grows to the right.
    special_characters : bool, default=False
        Whether signs such as ≤ are used.
    fontname : str, default="helvetica"
        Font of the text.
    **style : optional
        What boxes show: ``label`` ("all", "root" or "none": where the names of the figures are written), ``filled``,
        ``rounded``, ``impurity``, ``node_ids``, ``proportion`` (fractions instead of counts), ``precision`` (digits
        after the point, 3 by default).

    Returns
    -------
    str or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import DecisionTreeClassifier, export_graphviz
    >>> tree = DecisionTreeClassifier(max_depth=1).fit(*load_iris(return_X_y=True))
    >>> export_graphviz(tree).splitlines()[0]
    'digraph Tree {'
    """
    _check_count("max_depth", max_depth, 0, "export_graphviz", or_none=True)
    caption = TreeCaption("export_graphviz", decision_tree, feature_names, class_names, style)
    filled, rounded = style.get("filled", False), style.get("rounded", False)
    words = ", ".join(word for word, wanted in (("filled", filled), ("rounded", rounded)) if wanted)
    box_style = f', style="{words}", color="black"' if words else ""
    lines = ["digraph Tree {", f'node [shape=box{box_style}, fontname="{fontname}"] ;']
    if leaves_parallel:
        lines.append("graph [ranksep=equally, splines=polyline] ;")
    lines.append(f'edge [fontname="{fontname}"] ;')
    if rotate:
        lines.append("rankdir=LR ;")
    painter = _DotPainter(caption, filled=filled, html=special_characters, tilt=-45 if rotate else 45)
    lines += painter.draw(max_depth)
    if leaves_parallel:
        lines += painter.draw_ranks()
    text = "\n".join([*lines, "}"])
    if out_file is None:
        return text
    if isinstance(out_file, (str, Path)):
        Path(out_file).write_text(text, encoding="utf-8")
    else:
        out_file.write(text)
    return None


class _DotPainter:
    """Writes nodes and edges, and keeps the depth of each node."""

    def __init__(self, caption: TreeCaption, *, filled: bool, html: bool, tilt: int) -> None:
        self.caption, self.filled, self.html, self.tilt = caption, filled, html, tilt
        self.ranks: dict[int | Literal["leaves"], list[int]] = {}

    def draw(self, max_depth: int | None) -> Iterator[str]:
        tree = self.caption.tree
        stack: list[tuple[int, int | None, int]] = [(0, None, 0)]
        while stack:
            node, parent, depth = stack.pop()
            hidden = max_depth is not None and depth > max_depth
            leaf = self.caption.is_leaf(node)
            self.ranks.setdefault("leaves" if leaf or hidden else depth, []).append(node)
            yield self._draw_hidden(node) if hidden else self._draw_node(node)
            if parent is not None:
                yield self._draw_edge(parent, node)
            if not leaf and not hidden:
                stack.append((int(tree.children_right[node]), node, depth + 1))
                stack.append((int(tree.children_left[node]), node, depth + 1))

    def draw_ranks(self) -> list[str]:
        levels = sorted(key for key in self.ranks if key != "leaves")
        groups = [self.ranks[key] for key in levels] + [self.ranks.get("leaves", [])]
        return [f"{{rank=same ; {'; '.join(map(str, group))}}} ;" for group in groups if group]

    def _draw_hidden(self, node: int) -> str:
        color = ', fillcolor="#C0C0C0"' if self.filled else ""
        return f'{node} [label="{_ELIDED}"{color}] ;'

    def _draw_node(self, node: int) -> str:
        if self.html:
            lines = self.caption.write_lines(node, at_most="\0le;", element="\0isin;")
            escaped = (line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for line in lines)
            label = "<" + "<br/>".join(escaped).replace("\0", "&").replace("#", "&#35;") + ">"
        else:
            lines = self.caption.write_lines(node)
            label = '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'
        color = f', fillcolor="{self.caption.choose_color(node)}"' if self.filled else ""
        return f"{node} [label={label}{color}] ;"

    def _draw_edge(self, parent: int, node: int) -> str:
        if parent != 0:
            return f"{parent} -> {node} ;"
        left = node == self.caption.tree.children_left[0]
        angle, branch = (self.tilt, "True") if left else (-self.tilt, "False")
        return f'0 -> {node} [labeldistance=2.5, labelangle={angle}, headlabel="{branch}"] ;'
