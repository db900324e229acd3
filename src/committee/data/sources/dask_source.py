"""Dask collections as sources: each partition is a block, computed where it is needed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from committee.data.sources.protocol import PlainKind

__all__ = ["DaskSource", "collect_dask", "is_dask", "is_dask_part"]


def is_dask(X: Any) -> bool:
    """Whether X is a Dask data frame or array, or a list of Dask futures or delayed tables."""
    if isinstance(X, list | tuple):
        return bool(X) and all(is_dask_part(item) for item in X)
    return hasattr(X, "__dask_graph__") and not is_dask_part(X)


def is_dask_part(item: Any) -> bool:
    """Whether an item of a list is a future or a delayed table of Dask."""
    kind = type(item)
    module = kind.__module__.partition(".")[0]
    return (module == "distributed" and kind.__name__ == "Future") or (module == "dask" and kind.__name__ == "Delayed")


def collect_dask(value: Any) -> Any:
    """A Dask series or array in memory, for targets and weights; anything else unchanged."""
    return value.compute() if hasattr(value, "__dask_graph__") and hasattr(value, "compute") else value


class DaskSource:
    """Partitions of a Dask data frame or array, or a list of futures or delayed tables.

    Parameters
    ----------
    collection : dask.dataframe.DataFrame, dask.array.Array, or list of Future or Delayed
        Stays where it is: a partition travels when it is loaded, and only the columns that are asked for.
    """

    names: tuple[str, ...] | None = None
    row_counts: Sequence[int] | None = None

    def __init__(self, collection: Any) -> None:
        self._kinds: dict[str, PlainKind] = {}
        if isinstance(collection, list | tuple):
            self._parts = list(collection)
        elif hasattr(collection, "columns"):
            self.names = tuple(str(name) for name in collection.columns)
            self._parts = list(collection.to_delayed())
            found = zip(self.names, collection.dtypes, strict=True)
            self._kinds = {name: kind for name, dtype in found if (kind := _find_kind(dtype)) is not None}
        else:
            if collection.ndim != 2:
                raise DataError(f"X is a Dask array of {collection.ndim} axes; a table has two.")
            whole = collection.rechunk({1: -1})
            self._parts = whole.to_delayed().ravel().tolist()
            lengths = whole.chunks[0]
            if all(length == length for length in lengths):  # NaN where a length is not known
                self.row_counts = [int(length) for length in lengths]
        self.n_blocks = len(self._parts)
        if not self.n_blocks:
            raise DataError("X gives no table; a source for fit must give at least one.")

    def load(self, block: int, columns: Sequence[str] | None = None) -> Any:
        """The rows of a partition; columns are selected where it is."""
        part = self._parts[block]
        wanted = None if columns is None or self.names is None else list(columns)
        if wanted is not None and tuple(wanted) == self.names:
            wanted = None
        return _compute(part, wanted)

    def name_block(self, block: int) -> str:
        """The number of the partition."""
        return f"partition {block} of the Dask collection"

    def find_plain_kind(self, column: str) -> PlainKind | None:
        """What the types of a data frame say."""
        return self._kinds.get(column)

    def find_client(self) -> Any:
        """The client of the cluster that the partitions are on, or None."""
        return _find_client()

    def find_version(self, block: int) -> Hashable:
        """The key of the partition, which stands for how it is computed."""
        return str(self._parts[block].key)

    def close(self) -> None:
        """The collection belongs to the caller."""


def _find_kind(dtype: Any) -> PlainKind | None:
    """What a column of plain numbers is stored as; None for anything else, nullable types among them."""
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf":
        return None
    return "truth" if dtype.kind == "b" else "single" if dtype == np.float32 else "double"


def _select(table: Any, columns: list[str] | None) -> Any:
    return table if columns is None else table[columns]


def _compute(part: Any, columns: list[str] | None) -> Any:
    """A partition in this process: by its cluster, or by Dask's own threads where there is none."""
    import dask

    client = _find_client()
    if type(part).__name__ == "Future":
        if client is None:
            raise DataTypeError("X holds futures of a Dask client that is closed.")
        if columns is None:
            return part.result()
        return client.submit(_select, part, columns, pure=False).result()
    lazy = part if columns is None else dask.delayed(_select)(part, columns)
    return lazy.compute(scheduler="threads") if client is None else client.compute(lazy).result()


def _find_client() -> Any:
    """The Dask client of this process, or of the worker that this runs on; None without a cluster."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None
