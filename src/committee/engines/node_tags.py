"""The bits of the tags of nodes, as `Trees.nodes` has them: the feature of a split, and what kind of node it is."""

from __future__ import annotations

__all__ = ["CATEGORICAL", "FEATURE", "LEAF", "MISSING_LEFT"]

LEAF = 1 << 31
"""A leaf."""
CATEGORICAL = 1 << 30
"""A split by a set of levels."""
MISSING_LEFT = 1 << 29
"""Missing values go left."""
FEATURE = (1 << 28) - 1
"""The bits of the feature."""
