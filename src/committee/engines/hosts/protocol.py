"""The interface between a fit and the hosts of its blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

__all__ = ["BlockState", "Command", "HostGroup", "JointState", "Reduction"]

Reduction: TypeAlias = Literal["sum", "max", "list", "together"]
"""What is made of the answers of all blocks: see `committee.engines.hosts.reduction.reduce_answers`. "together": one
host that has all of them gives one answer."""


class Command(NamedTuple):
    """A command that changes the state of all blocks, as the log keeps it.

    Attributes
    ----------
    name : str
        What `BlockState.run` is called with.
    args : tuple
        Arguments of all blocks.
    by_block : sequence of tuple or None
        Further arguments, one tuple a block.
    """

    name: str
    args: tuple[Any, ...] = ()
    by_block: Sequence[tuple[Any, ...]] | None = None

    def arguments_of(self, block: int) -> tuple[Any, ...]:
        """All arguments of one block.

        Examples
        --------
        >>> Command("scale", (2,), [(10,), (20,)]).arguments_of(1)
        (2, 20)
        """
        return self.args if self.by_block is None else (*self.args, *self.by_block[block])


class BlockState(Protocol):
    """The state of one block on its host: a function of the block and of the commands so far, and of nothing else."""

    def run(self, name: str, args: tuple[Any, ...]) -> Any:
        """Do what the command says, and answer it."""
        ...


class JointState(BlockState, Protocol):
    """A state that can do something together with those of all other blocks, where one host has them."""

    @staticmethod
    def run_together(states: Sequence[Any], name: str, args: Sequence[tuple[Any, ...]]) -> Any:
        """Do what the command says on all blocks, in their order and with the arguments of each, and answer it."""
        ...


class HostGroup(Protocol):
    """The hosts that hold the blocks of one or several fits.

    A block that is lost is made again by ``make_state`` and brought up to date by the commands of the log.
    """

    def open(self, fit: str, make_state: Callable[[int], BlockState], n_blocks: int) -> None:
        """Make the states of a fit; ``make_state`` is picklable, loads a block and makes its state."""
        ...

    def call(
        self,
        fit: str,
        name: str,
        args: tuple[Any, ...] = (),
        *,
        reduce: Reduction,
        changes: bool,
        by_block: Sequence[tuple[Any, ...]] | None = None,
    ) -> Any:
        """Run a command on all blocks of a fit; with ``changes`` it is kept in the log.

        ``by_block`` are further arguments, one tuple a block, which only the host of that block receives. A command
        that blocks run "together" is not kept in the log, since no block can run it again by itself: `compact` has to
        follow. Its answer is None, and nothing has been run, if no host has all blocks.
        """
        ...

    def lie_together(self, fit: str) -> bool:
        """Whether one host has all blocks of a fit."""
        ...

    def compact(self, fit: str, log: Iterable[Command]) -> None:
        """Replace the log by one that leads to the same states, such as a finished tree in place of its steps."""
        ...

    def close(self, fit: str) -> None:
        """Forget a fit and its states."""
        ...

    def map(
        self,
        function: Callable[..., Any],
        items: Iterable[Any],
        shared: Any = None,
        on_done: Callable[[int], None] | None = None,
    ) -> list[Any]:
        """``function(item)`` of each item, or ``function(item, shared)``; ``shared`` is sent to each host once.

        ``on_done`` is called with the number of items that are done.
        """
        ...
