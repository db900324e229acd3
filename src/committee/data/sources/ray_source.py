"""Ray data sets as sources: each block of the data set is a block, read from the object store where it is needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from committee.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from committee.data.sources.protocol import PlainKind

__all__ = ["RaySource", "carry_references", "is_ray"]

_CARRIED = threading.local()


@contextmanager
def carry_references(references: list[Any]) -> Iterator[None]:
    """Pickles made or read inside the ``with`` block keep references to Ray's objects in this list, beside the pickle.

    Ray has to see the references that travel: one that is hidden in bytes has no owner where it arrives.
    """
    before = getattr(_CARRIED, "references", None)
    _CARRIED.references = references
    try:
        yield
    finally:
        _CARRIED.references = before


def is_ray(X: Any) -> bool:
    """Whether X is a data set of Ray."""
    return type(X).__module__.startswith("ray.data") and hasattr(X, "to_arrow_refs")


class RaySource:
    """The blocks of a Ray data set.

    Parameters
    ----------
    dataset : ray.data.Dataset
        Is materialized: its blocks are in the object store of the cluster, which computes a lost one again.
    """

    names: tuple[str, ...] | None
    row_counts: Sequence[int] | None = None

    def __init__(self, dataset: Any) -> None:
        whole = dataset.materialize()
        self.names = tuple(str(name) for name in whole.columns() or ())
        self._references = whole.to_arrow_refs()
        self.n_blocks = len(self._references)
        if not self.n_blocks:
            raise DataError("X gives no table; a source for fit must give at least one.")

    def load(self, block: int, columns: Sequence[str] | None = None) -> Any:
        """The rows of a block as a table of Arrow; columns are selected where it is."""
        import ray

        reference = self._references[block]
        if columns is None or tuple(columns) == self.names:
            return ray.get(reference)
        return ray.get(ray.remote(_select_columns).options(num_cpus=0).remote(reference, list(columns)))

    def name_block(self, block: int) -> str:
        """The number of the block."""
        return f"block {block} of the Ray data set"

    def find_plain_kind(self, column: str) -> PlainKind | None:
        """The blocks say it."""
        return None

    def find_version(self, block: int) -> Hashable:
        """Objects in the store never change."""
        return str(self._references[block].hex())

    def close(self) -> None:
        """The data set belongs to the caller."""

    def __getstate__(self) -> dict[str, Any]:
        carried = getattr(_CARRIED, "references", None)
        if carried is None:
            raise TypeError("A Ray data set can be sent to the workers of its Ray cluster only.")
        first = len(carried)
        carried.extend(self._references)
        return {"names": self.names, "n_blocks": self.n_blocks, "first": first}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.names, self.n_blocks, first = state["names"], state["n_blocks"], state["first"]
        self._references = _CARRIED.references[first : first + self.n_blocks]


def _select_columns(table: Any, columns: list[str]) -> Any:
    return table.select(columns)
