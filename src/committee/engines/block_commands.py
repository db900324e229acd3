"""The engine's commands to blocks of rows, several in one message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from committee.engines.hosts.protocol import Command

__all__ = ["EngineCommand", "pack_commands", "run_commands"]

EngineCommand: TypeAlias = tuple[str, tuple[Any, ...], list[tuple[Any, ...]] | None]
"""Name, arguments of all blocks, and further arguments of each block, as the engine writes them."""

_RUN = "run"


def pack_commands(commands: list[EngineCommand]) -> Command:
    """The commands of the engine as one command of the hosts."""
    shared = tuple((name, args) for name, args, _ in commands)
    parts = [by_block for _, _, by_block in commands if by_block is not None]
    if not parts:
        return Command(_RUN, (shared,))
    further = [
        (tuple(() if by_block is None else by_block[block] for _, _, by_block in commands),)
        for block in range(len(parts[0]))
    ]
    return Command(_RUN, (shared,), further)


def run_commands(run: Callable[[str, tuple[Any, ...]], tuple[Any, ...]], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run the commands that `pack_commands` put together; their answers, one after the other (most have none).

    Examples
    --------
    >>> sent = pack_commands([("add", (1,), None), ("add", (2,), [(10,), (20,)])])
    >>> run_commands(lambda name, given: (sum(given),), sent.arguments_of(1))
    (1, 22)
    """
    commands, *further = args
    own = further[0] if further else ((),) * len(commands)
    answer: tuple[Any, ...] = ()
    for (command, given), more in zip(commands, own, strict=True):
        answer += run(command, (*given, *more))
    return answer
