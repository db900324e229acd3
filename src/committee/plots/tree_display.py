"""A fitted tree with the distribution of classes or values in each node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.learners.export import TreeCaption
from committee.plots.display import Display
from committee.plots.style import ACCENT, GREY, HATCHES, INK, add_legend, choose_colors, name_classes, shorten
from committee.plots.tree import fit_text, lay_out

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.text import Text

    from committee.plots.tree import TreeLayout
    from committee.typing import FloatArray

__all__ = ["TreeDisplay"]

_HALF_WIDTH, _HEIGHT = 0.40, 0.42
"""Size of the inset axes of a node, in boxes and levels."""
_N_BINS = 16


@dataclass
class TreeDisplay(Display):
    """A tree whose nodes show the distribution of their rows; rows that meet the condition of a node go left.

    Parameters
    ----------
    caption : TreeCaption
        The tree, and the text of its nodes.
    max_depth : int or None
        Deepest level to draw; dots mark nodes whose children are hidden.
    distributions : dict from int to ndarray
        For each node the class weights, or the counts of a histogram of its values.
    edges : ndarray or None
        Edges of the histograms; None for classes.
    class_names : list of str or None
        None for values.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    node_axes_ : dict from int to matplotlib axes
        Axes of the distribution of each node.
    texts_ : dict from int to matplotlib text
        Text of each node.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import DecisionTreeClassifier
    >>> from committee.plots import TreeDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> shown = TreeDisplay.from_estimator(tree, class_names=["setosa", "versicolor", "virginica"])
    >>> len(shown.node_axes_), shown.distributions[0].tolist()
    (5, [50.0, 50.0, 50.0])
    """

    caption: TreeCaption
    max_depth: int | None
    distributions: dict[int, FloatArray]
    edges: FloatArray | None = None
    class_names: list[str] | None = None

    node_axes_: dict[int, Axes] = field(init=False, repr=False, default_factory=dict)
    texts_: dict[int, Text] = field(init=False, repr=False, default_factory=dict)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        max_depth: int | None = 4,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        precision: int = 2,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a fitted tree.

        Parameters
        ----------
        estimator : fitted tree
            Of this library, for one output.
        X, y : table and array-like, optional
            Rows to show. By default a classification tree shows its training rows; a regression tree needs rows, since
            it stores only means.
        max_depth : int or None, default=4
            Deepest level to draw.
        feature_names : sequence of str, optional
            Names of the features; the names seen in fit by default.
        class_names : sequence of str, optional
            In the order of ``classes_``.
        precision : int, default=2
            Digits after the point.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        TreeDisplay
        """
        if not hasattr(estimator, "tree_"):
            raise ParameterTypeError(
                f"The 'estimator' argument must be a fitted tree; got {type(estimator).__name__}. Members of an "
                "ensemble are in its estimators_."
            )
        if (X is None) != (y is None):
            raise ParameterError("'X' and 'y' come together.")
        caption = TreeCaption("TreeDisplay", estimator, feature_names, None, {"precision": precision})
        if caption.tree.n_outputs > 1:
            raise DataError(f"TreeDisplay shows trees of one output; this one has {caption.tree.n_outputs}.")
        edges = names = None
        if caption.is_classifier:
            names = name_classes(np.asarray(estimator.classes_), class_names)
        elif X is None:
            raise ParameterError("The distributions of a regression tree need rows: pass X and y.")
        if X is None:
            weights = caption.tree.value[:, 0, :] * caption.tree.weighted_n_node_samples[:, None]
            found = dict(enumerate(np.asarray(weights, dtype=np.float64)))
        else:
            found, edges = _count_rows_by_node(estimator, X, np.asarray(y), names is not None)
        return cls(caption, max_depth, found, edges, names).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        layout = lay_out(self.caption, self.max_depth, show_hidden=False)
        columns, levels = max(layout.x.values()) + 1.0, max(layout.depth.values()) + 1
        axes = self._open(ax, (float(np.clip(1.75 * columns, 5.0, 22.0)), float(np.clip(1.75 * levels, 3.5, 14.0))))
        axes.set_axis_off()
        axes.set_xlim(-0.5, columns - 0.5)
        axes.set_ylim(0.45 - levels, 0.55)
        self.node_axes_, self.texts_ = {}, {}
        for node in layout.nodes:
            self._draw_branches(axes, layout, node)
            self._draw_node(axes, layout, node)
        if self.class_names is not None:
            self._draw_legend(axes)
        fit_text(axes, list(self.texts_.values()), columns, largest=10.0)

    def _draw_branches(self, axes: Axes, layout: TreeLayout, node: int) -> None:
        for child, label, side in zip(layout.children.get(node, ()), ("yes", "no"), ("right", "left"), strict=False):
            x, y = (layout.x[node], layout.x[child]), (-layout.depth[node] - 0.36, 0.46 - layout.depth[child])
            axes.plot(x, y, color=GREY, linewidth=1.0, zorder=1)
            if node == 0:
                axes.text(sum(x) / 2.0, sum(y) / 2.0, f" {label} ", ha=side, va="bottom", color=INK, fontsize="small")

    def _draw_node(self, axes: Axes, layout: TreeLayout, node: int) -> None:
        x, y = layout.x[node], -float(layout.depth[node])
        inner = axes.inset_axes((x - _HALF_WIDTH, y, 2 * _HALF_WIDTH, _HEIGHT), transform=axes.transData)
        counts = self.distributions[node]
        if self.edges is None:
            self._draw_proportions(inner, counts)
        else:
            width = float(self.edges[1] - self.edges[0])
            inner.bar(self.edges[:-1], counts, width=width, align="edge", color=ACCENT)
            mean = float(self.caption.tree.value[node].ravel()[0])
            inner.axvline(mean, color=INK, linewidth=1.2, linestyle="--")
            inner.set_xlim(self.edges[0], self.edges[-1])
        inner.set_xticks([])
        inner.set_yticks([])
        inner.spines[["top", "right", "left"]].set_visible(False)
        self.node_axes_[node] = inner
        self.texts_[node] = axes.text(
            x, y - 0.04, "\n".join(self._write(layout, node)), ha="center", va="top", linespacing=1.2, zorder=3
        )

    def _draw_proportions(self, inner: Axes, counts: FloatArray) -> None:
        total = float(counts.sum())
        proportions = counts / total if total > 0.0 else counts
        bars = inner.bar(np.arange(len(counts)), proportions, color=choose_colors(len(counts)), width=0.85)
        for k, bar in enumerate(bars):
            bar.set(hatch=HATCHES[k % len(HATCHES)], edgecolor=INK, linewidth=0.4)
        inner.set_ylim(0.0, 1.0)
        inner.set_xlim(-0.6, len(counts) - 0.4)

    def _write(self, layout: TreeLayout, node: int) -> list[str]:
        caption = self.caption
        rows = f"n = {caption.tree.n_node_samples[node]:,}"
        if not caption.is_leaf(node):
            name = shorten(caption.name_feature(int(caption.tree.feature[node])), 20)
            test = caption.write_test(node, name, at_most="≤", element="∈")
            lines = [shorten(test, 34) + " ?", rows]
            return lines if node in layout.children else [*lines, "…"]
        if self.class_names is None:
            return [f"{caption.write_value(node)}", rows]
        winner = int(np.argmax(caption.tree.value[node][0]))
        return [self.class_names[winner], rows]

    def _draw_legend(self, axes: Axes) -> None:
        names = self.class_names or []
        if len(names) > 20:
            return
        for k, (name, color) in enumerate(zip(names, choose_colors(len(names)), strict=True)):
            axes.bar([np.nan], [np.nan], color=color, hatch=HATCHES[k % len(HATCHES)], edgecolor=INK, label=name)
        add_legend(axes, len(names), loc="upper left", bbox_to_anchor=(0.0, 1.0))


def _count_rows_by_node(
    estimator: Any, X: Any, y: Any, classifies: bool
) -> tuple[dict[int, FloatArray], FloatArray | None]:
    """Distributions of the rows in each node, and the edges of histograms."""
    paths = estimator.decision_path(X).tocsc()
    if y.shape != (paths.shape[0],):
        raise DataError(f"y must have a value for each of the {paths.shape[0]} rows of X; got shape {y.shape}.")
    edges = None
    if not classifies:
        edges = np.histogram_bin_edges(y.astype(np.float64), _N_BINS)
    classes = np.asarray(estimator.classes_) if classifies else None
    found = {}
    for node in range(paths.shape[1]):
        own = y[paths.indices[paths.indptr[node] : paths.indptr[node + 1]]]
        if classes is not None:
            found[node] = np.array([float((own == label).sum()) for label in classes])
        else:
            assert edges is not None
            found[node] = np.histogram(own, edges)[0].astype(np.float64)
    return found, edges
