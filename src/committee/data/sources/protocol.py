"""The interface of a table in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["BlockSource", "PlainKind"]

PlainKind: TypeAlias = Literal["single", "double", "truth"]
"""What a column of plain numbers is stored as: float32, other numbers, or booleans."""


class BlockSource(Protocol):
    """Blocks of rows of one table, in order. A block has the same rows whenever it is loaded.

    Sources pickle small (paths, not rows), so that other processes can load blocks by themselves.

    Attributes
    ----------
    n_blocks : int
        The number of blocks; some of them may be empty.
    names : tuple of str or None
        Names of the columns, if they are known before a block is loaded.
    row_counts : sequence of int or None
        Rows of each block, if they are known before it is loaded.
    """

    n_blocks: int
    names: tuple[str, ...] | None
    row_counts: Sequence[int] | None

    def load(self, block: int, columns: Sequence[str] | None = None) -> Any:
        """The rows of a block as a table that `fit` reads; of the named columns at least, if any are named."""

    def name_block(self, block: int) -> str:
        """A block as a sentence calls it."""

    def find_plain_kind(self, column: str) -> PlainKind | None:
        """What a column holds in every block, if it is known to be plain numbers; None if it must be looked at."""

    def find_version(self, block: int) -> Hashable:
        """Something that changes if the block does; None if the source cannot say."""

    def close(self) -> None:
        """Remove temporary files; the source cannot be loaded afterwards."""
