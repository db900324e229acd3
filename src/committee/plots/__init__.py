"""Pictures; the only room that imports matplotlib, and only when something is drawn."""

from committee.plots.tree import plot_tree

__all__ = ["plot_tree"]
