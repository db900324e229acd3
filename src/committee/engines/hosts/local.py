"""Hosts in this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from committee.engines.hosts.protocol import BlockState, Command
from committee.engines.hosts.reduction import reduce_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from committee.engines.hosts.protocol import JointState, Reduction

__all__ = ["LocalHosts"]


@dataclass
class _LocalFit:
    """The states of a fit, and how they came about."""

    make_state: Callable[[int], BlockState]
    states: list[BlockState | None]
    log: list[Command] = field(default_factory=list)

    def find_state(self, block: int) -> BlockState:
        """The state of a block, which is made again if it was lost."""
        state = self.states[block]
        if state is None:
            state = self.make_state(block)
            for command in self.log:
                state.run(command.name, command.arguments_of(block))
            self.states[block] = state
        return state


class LocalHosts:
    """All blocks in this process, one after the other.

    Examples
    --------
    >>> class Numbers:
    ...     def __init__(self, block):
    ...         self.number = block
    ...
    ...     def run(self, name, args):
    ...         if name == "add":
    ...             self.number += args[0]
    ...         return (self.number,)
    >>> hosts = LocalHosts()
    >>> hosts.open("fit", Numbers, 3)
    >>> hosts.call("fit", "add", (10,), reduce="sum", changes=True)
    (33,)
    >>> hosts.drop("fit", 1)  # a lost block is made again, and brought up to date by the log
    >>> hosts.call("fit", "read", reduce="list", changes=False)
    [(10,), (11,), (12,)]
    >>> hosts.close("fit")
    """

    def __init__(self, *, together: bool = False) -> None:
        self._together = together
        self._fits: dict[str, _LocalFit] = {}

    def open(self, fit: str, make_state: Callable[[int], BlockState], n_blocks: int) -> None:
        """Make the states of a fit."""
        self._fits[fit] = _LocalFit(make_state, [make_state(block) for block in range(n_blocks)])

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
        """Run a command on all blocks of a fit; with ``changes`` it is kept in the log."""
        own, command = self._fits[fit], Command(name, args, by_block)
        if reduce == "together":
            states = [cast("JointState", own.find_state(block)) for block in range(len(own.states))]
            return states[0].run_together(states, name, [command.arguments_of(block) for block in range(len(states))])
        answers = [own.find_state(block).run(name, command.arguments_of(block)) for block in range(len(own.states))]
        if changes:
            own.log.append(command)
        return reduce_answers(answers, reduce)

    def lie_together(self, fit: str) -> bool:
        """Whether blocks are asked together."""
        return self._together

    def compact(self, fit: str, log: Iterable[Command]) -> None:
        """Replace the log by one that leads to the same states."""
        self._fits[fit].log = list(log)

    def close(self, fit: str) -> None:
        """Forget a fit and its states."""
        self._fits.pop(fit, None)

    def map(
        self,
        function: Callable[..., Any],
        items: Iterable[Any],
        shared: Any = None,
        on_done: Callable[[int], None] | None = None,
    ) -> list[Any]:
        """``function(item)`` of each item, or ``function(item, shared)``."""
        answers = []
        for item in items:
            answers.append(function(item) if shared is None else function(item, shared))
            if on_done is not None:
                on_done(len(answers))
        return answers

    def drop(self, fit: str, block: int) -> None:
        """Lose the state of a block, as a host that dies does."""
        self._fits[fit].states[block] = None
