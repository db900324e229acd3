"""Which features have columns on the device beside the records of the table.

Rows are partitioned by one feature of each node. Read from records this costs a sector of memory a row; a column is
read in one piece, or stays in the cache. As many features have columns as a limit of the memory of a fit leaves room
for: those that split most rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.engines.gpu.binning import count_bin_stride

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.typing import AnyArray, IndexArray

__all__ = ["MOST_TREES_LOOKED_AT", "chooses_again", "count_columns", "mark_columns", "rank_split_features"]

_LEAST_ROWS = 1 << 18
"""Rows of a table from which on columns pay: smaller ones stay in the cache as records."""
_MOST_BYTES = 2.5
"""Memory of a fit for each value of the table, scores not counted, that columns fill up to."""
_SHARE, _MOST_COLUMNS = 4, 64
"""One feature in so many has a column even beyond that, if there is memory, but no more of them than this."""
MOST_TREES_LOOKED_AT = 16
_NONE = 0xFFFFFFFF


def count_columns(n_rows: int, n_features: int, n_other: int, n_free: int) -> int:
    """Columns that a table has.

    Parameters
    ----------
    n_rows, n_features : int
        Its size.
    n_other : int
        Bytes of the fit beside the columns and the scores.
    n_free : int
        Bytes of the device that the fit leaves free.
    """
    if n_rows < _LEAST_ROWS:
        return 0
    stride = count_bin_stride(n_rows)
    within = (int(_MOST_BYTES * n_rows * n_features) - n_other) // stride
    wanted = min(n_features, max(within, min(_MOST_COLUMNS, n_features // _SHARE)))
    return max(0, min(wanted, n_free // stride))


def chooses_again(n_trees: int) -> bool:
    """Whether the columns are chosen after so many trees: after 1, 4, 16, 64 and so on."""
    return n_trees & (n_trees - 1) == 0 and n_trees.bit_length() % 2 == 1


def mark_columns(n_features: int, chosen: IndexArray | Sequence[int]) -> AnyArray:
    """The place of the column of each feature; 2^32 - 1 for those that have none."""
    places = np.full(n_features, _NONE, np.uint32)
    places[np.asarray(chosen, np.int64)] = np.arange(len(chosen))
    return places


def rank_split_features(trees: Sequence[AnyArray], n_features: int) -> IndexArray:
    """Features by the rows that their splits have, most first; without those that split none.

    Parameters
    ----------
    trees : sequence of ndarray
        Nodes of trees, as `layout.FINAL_NODE`: children come after their parents.
    n_features : int
        Number of features.
    """
    rows = np.zeros(n_features, np.int64)
    for tree in trees:
        within = np.where(tree["left"] < 0, tree["count"], 0).astype(np.int64)
        levels, level = [], np.arange(min(1, len(tree)))
        while len(level):
            split = level[tree["left"][level] >= 0]
            levels.append(split)
            level = np.concatenate([tree["left"][split], tree["left"][split] + 1])
        for split in reversed(levels):
            left = tree["left"][split]
            within[split] = within[left] + within[left + 1]
            np.add.at(rows, tree["feature"][split], within[split])
    order = np.argsort(-rows, kind="stable")
    return order[rows[order] > 0].astype(np.uint32)
