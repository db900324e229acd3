"""Work on the blocks of a table, here or where the blocks are.

This package knows no cluster. A cluster that is in use says so by `use_block_map`, and one that a source belongs to is
found by a function that was registered with `register_cluster`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from committee.data.blocks.opened import OpenedSource
    from committee.data.sources import BlockSource

__all__ = [
    "BlockMap",
    "MappedTable",
    "enter_cluster",
    "map_blocks",
    "map_blocks_elsewhere",
    "register_cluster",
    "use_block_map",
]


class MappedTable(Protocol):
    """A table in blocks, such as a `BlockTable`."""

    @property
    def opened(self) -> OpenedSource:
        """The blocks."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        ...


BlockMap: TypeAlias = "Callable[[MappedTable, Callable[[Any, Any], Any], list[Any], Any], Iterable[Any] | None]"
"""Maps a function over items, each about one block, with what they share; None if it is to be done here."""

_MAP: ContextVar[BlockMap | None] = ContextVar("committee_block_map", default=None)
_FINDERS: list[Callable[[BlockSource], AbstractContextManager[Any]]] = []


@contextmanager
def use_block_map(block_map: BlockMap) -> Iterator[None]:
    """Work on blocks goes to a cluster inside the ``with`` block."""
    token = _MAP.set(block_map)
    try:
        yield
    finally:
        _MAP.reset(token)


def register_cluster(find: Callable[[BlockSource], AbstractContextManager[Any]]) -> None:
    """Register a function that gives the cluster of a source as a context manager."""
    _FINDERS.append(find)


@contextmanager
def enter_cluster(source: BlockSource | None) -> Iterator[None]:
    """The cluster that a source belongs to, if there is one, for the time of a fit."""
    found = _FINDERS[-1](source) if _FINDERS and source is not None else nullcontext()
    with found:
        yield


def map_blocks(X: MappedTable, function: Callable[[Any, Any], Any], items: list[Any], shared: Any) -> Iterable[Any]:
    """``function(item, shared)`` of each item, in order; the items are about one block each.

    Parameters
    ----------
    X : MappedTable
        The table whose blocks the function loads.
    function : callable
        A function of a module, which other processes can import.
    items : list
        One for each block, small.
    shared : object
        What all items share.

    Returns
    -------
    iterable
    """
    answers = map_blocks_elsewhere(X, function, items, shared)
    return (function(item, shared) for item in items) if answers is None else answers


def map_blocks_elsewhere(
    X: MappedTable, function: Callable[[Any, Any], Any], items: list[Any], shared: Any
) -> Iterable[Any] | None:
    """The same on a cluster; None if the blocks are to be loaded here."""
    block_map = _MAP.get()
    return None if block_map is None else block_map(X, function, items, shared)
