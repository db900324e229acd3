"""From a table to a file of bins, and from such a file to a data set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from committee.base import CommitteeEstimator
from committee.data.blocks.binned_file import write_binned_file
from committee.data.intake import take_in
from committee.data.opening import open_table
from committee.exceptions import DataError

__all__ = ["bin_table"]


def bin_table(
    X: Any,
    path: str | os.PathLike[str],
    columns: Sequence[str] = (),
    *,
    sample_weight: str | None = None,
    max_bins: int = 255,
    n_jobs: int = 0,
) -> int:
    """Bin a table into a file that many fits can read.

    Parameters
    ----------
    X : path, list of paths or tables, pyarrow.dataset.Dataset, iterator, iterable or callable
        A table in blocks, with names of columns.
    path : path
        The file; is written over.
    columns : sequence of str
        Columns that are no features and are kept beside the bins: targets.
    sample_weight : str, optional
        Column of weights, kept as well; bins are learnt with them.
    max_bins : int, default=255
        At most so many bins a column.
    n_jobs : int, default=0
        Threads; 0 decides by the amount of work.

    Returns
    -------
    int
        The size of the file.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "price": [5, 6, 7]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bin_table([frame], folder + "/t.bins", ["price"]) > 0
    True
    """
    named = list(dict.fromkeys([*columns, *([] if sample_weight is None else [sample_weight])]))
    opened, taken = open_named(X, named)
    weights = None if sample_weight is None else taken[sample_weight]
    data = take_in(CommitteeEstimator(), opened, None, weights, task="none")
    try:
        return write_binned_file(path, data.X, taken, data.count_weights(), max_bins=max_bins, n_jobs=n_jobs)
    finally:
        opened.source.close()


def open_named(X: Any, names: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """A table in blocks without some columns, and these as arrays."""
    source = [X] if hasattr(X, "columns") else X
    opened, first, second = open_table(source, *(names[:2] or (None,)))
    if len(names) > 2:
        raise DataError(f"A file of bins keeps at most two columns beside the features; got {len(names)}.")
    return opened, {name: np.asarray(values) for name, values in zip(names, (first, second), strict=False)}
