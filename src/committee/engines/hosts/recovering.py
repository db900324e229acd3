"""The driver's side: hosts that may be lost at any time, and a result that does not depend on it.

The driver keeps the log of the commands that changed the blocks. If a host does not answer, it is given up for good:
its blocks move to other hosts, which make them again from their source, run the log and then the command. Everything
that is added up is integers, so the answer has the same bytes whoever gave it.
"""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from committee.engines.hosts.direct import DirectHandle
from committee.engines.hosts.host import BlockCommand, StepReply, StepRequest, pack_object
from committee.engines.hosts.pool import HostLostError
from committee.engines.hosts.protocol import Command
from committee.engines.hosts.reduction import reduce_answers
from committee.engines.hosts.tasks import TaskRun
from committee.engines.hosts.traffic import Traffic, measure_payload
from committee.exceptions import ClusterError, CommitteeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self

    from committee.engines.hosts.host import HostFailure, Payload
    from committee.engines.hosts.pool import HostHandle, HostPool, PendingReply
    from committee.engines.hosts.protocol import BlockState, Reduction

__all__ = ["RecoveringHosts"]

_LOG = logging.getLogger("committee")

_START_LIMIT = 60.0
"""Seconds to wait for a worker when there is none, at least."""
_LOOK_EVERY = 1.0
"""Seconds between two looks for new workers."""
_MAKING = 10.0
"""A call that makes states, or that blocks run together, may take as many times as long as another: it reads its
blocks, or has the steps of whole trees."""
_SLOWER = 5.0
"""A call may take as many times as long as the longest so far."""


@dataclass
class _OpenFit:
    """A fit in the driver.

    Attributes
    ----------
    key : str
        Its name on the hosts.
    make_state : callable
        As it was given; names blocks in messages, if it can.
    maker : Payload
        The same, packed.
    n_blocks : int
        The number of blocks.
    owners : dict
        The host of each block.
    groups : dict
        The same the other way: the blocks of each host.
    made : set of (str, int)
        Pairs of host and block that have a state at the current version.
    log : list of Command
        What leads from new states to the current version.
    version : int
        Changing commands so far.
    longest : float
        Seconds of the longest call so far.
    patience : float
        Factor of the time limits; a limit that was reached was perhaps too short.
    generation : int
        The set of hosts that the blocks were spread over.
    """

    key: str
    make_state: Callable[[int], BlockState]
    maker: Payload
    n_blocks: int
    owners: dict[int, str] = field(default_factory=dict)
    groups: dict[str, list[int]] = field(default_factory=dict)
    made: set[tuple[str, int]] = field(default_factory=set)
    log: list[Command] = field(default_factory=list)
    version: int = 0
    longest: float = 0.0
    patience: float = 1.0
    generation: int = -1
    lock: threading.Lock = field(default_factory=threading.Lock)

    def name_block(self, block: int) -> str:
        """The block as a sentence calls it."""
        name = getattr(self.make_state, "name_block", None)
        return f"Block {block}" if name is None else f"Block {block} ({name(block)})"


class RecoveringHosts:
    """A group of hosts over an engine of distributed computing.

    Parameters
    ----------
    pool : HostPool
        Starts hosts on the engine's workers.
    time_limit : float, default=60.0
        Seconds after which a host that does not answer is given up, or five times the longest call so far if that is
        more; ten times as much while it reads blocks. A host that was only slow costs time, never the result.

    Attributes
    ----------
    traffic : Traffic
        Calls and bytes so far.
    direct : bool
        Whether hosts of this machine take their steps over a channel of the operating system; for hosts that start
        after it was set.
    """

    def __init__(self, pool: HostPool, time_limit: float = 60.0) -> None:
        self.pool, self.time_limit = pool, float(time_limit)
        self.start_limit = max(_START_LIMIT, self.time_limit)
        self.traffic, self.direct = Traffic(), True
        self._hosts: dict[str, DirectHandle] = {}
        self._fits: dict[str, _OpenFit] = {}
        self._lock = threading.RLock()
        self._generation = 0
        self._looked = -_LOOK_EVERY

    # Hosts.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def shutdown(self) -> None:
        """Give up all hosts."""
        with self._lock:
            for handle in self._hosts.values():
                handle.discard()
            self._hosts.clear()
            self.pool.close()

    def list_hosts(self, *, wait: bool = True) -> list[DirectHandle]:
        """The live hosts; if there is none, and ``wait``, after waiting for one."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked >= _LOOK_EVERY or (wait and not self._hosts):
                self._looked = now
                self._add(self.pool.start_hosts(self._hosts, 0.0))
            if wait and not self._hosts:
                self._add(self.pool.start_hosts(self._hosts, self.start_limit))
            return list(self._hosts.values())

    def require_hosts(self) -> list[DirectHandle]:
        """The live hosts, after waiting for one; raises `ClusterError` if none has come."""
        hosts = self.list_hosts()
        if not hosts:
            raise self.report_none()
        return hosts

    def report_none(self) -> ClusterError:
        """The error of a cluster without workers."""
        return ClusterError(
            f"No worker of {self.pool.description} is left, {self.pool.explain_none(self.start_limit)}."
        )

    def lose(self, name: str, reason: object) -> None:
        """Give a host up for good."""
        with self._lock:
            handle = self._hosts.pop(name, None)
            if handle is None:
                return
            self._generation += 1
            self.traffic.lost += 1
            self._looked = -_LOOK_EVERY
        _LOG.warning("The worker %s is lost (%s); others take over its work.", name, reason)
        handle.discard()

    @property
    def keeps_state(self) -> bool:
        """Whether blocks can be held by the hosts."""
        return any(handle.keeps_state for handle in self.list_hosts())

    def _add(self, handles: list[HostHandle]) -> None:
        for handle in handles:
            self._hosts[handle.name] = DirectHandle(handle, direct=self.direct)
            self._generation += 1

    # Fits over blocks.

    def open(self, fit: str, make_state: Callable[[int], BlockState], n_blocks: int) -> None:
        """Make the states of a fit on the hosts."""
        try:
            maker = pack_object(make_state)
        except Exception as error:
            raise ClusterError(
                f"The blocks cannot be sent to {self.pool.description}: what loads them cannot be pickled ({error})."
            ) from error
        own = self._fits[fit] = _OpenFit(fit, make_state, maker, n_blocks)
        with own.lock:
            self._run(own, None, "list", changes=False)

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
        with own.lock:
            answer = self._run(own, command, reduce, changes=changes)
            if changes and answer is not None:
                if reduce != "together":
                    own.log.append(command)
                own.version += 1
            return answer

    def lie_together(self, fit: str) -> bool:
        """Whether one host has all blocks of a fit."""
        return len(self._fits[fit].groups) == 1

    def compact(self, fit: str, log: Iterable[Command]) -> None:
        """Replace the log by one that leads to the same states."""
        own = self._fits[fit]
        with own.lock:
            own.log = list(log)

    def close(self, fit: str) -> None:
        """Forget a fit and its states."""
        own = self._fits.pop(fit, None)
        if own is None:
            return
        for name in {name for name, _ in own.made}:
            handle = self._hosts.get(name)
            if handle is not None:
                try:
                    handle.submit("close", fit)
                except HostLostError as error:
                    self.lose(name, error)

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
        return TaskRun(self, function, list(items), shared, on_done).run()

    # One call.

    def _run(self, own: _OpenFit, command: Command | None, reduce: Reduction, *, changes: bool) -> Any:
        """The reduced answer of all blocks, whatever becomes of the hosts meanwhile.

        None if they are to answer together, and are on several hosts.
        """
        self.traffic.rounds += 1
        by_block: dict[int, Any] = {}
        parts: list[Any] = []
        packed = _pack_shared(command)
        todo, n_lost = set(range(own.n_blocks)), 0
        while todo:
            self._place(own, todo)
            if reduce == "together" and len(own.groups) > 1:
                return None
            asked: list[tuple[str, list[int], PendingReply]] = []
            start, makes = time.monotonic(), reduce == "together"
            groups = own.groups if len(todo) == own.n_blocks else _group_by_owner(own, todo)
            for name, blocks in groups.items():
                request = self._make_request(own, name, blocks, command, reduce, changes=changes)
                if packed is not None and request.maker is None:
                    request = request._replace(command=packed)
                makes = makes or request.log is not None
                try:
                    asked.append((name, blocks, self._submit(name, request)))
                except HostLostError as error:
                    n_lost = self._count_lost(own, name, blocks, error, n_lost)
            deadline = start + self._find_limit(own, makes=makes)
            for name, blocks, pending in asked:
                try:
                    reply: StepReply = pending.result(max(0.0, deadline - time.monotonic()))
                except (HostLostError, TimeoutError) as error:
                    if isinstance(error, TimeoutError):
                        own.patience *= 2.0
                    n_lost = self._count_lost(own, name, blocks, str(error) or "no answer in time", n_lost)
                    continue
                self._take_reply(own, name, blocks, reply, changes=changes)
                todo.difference_update(reply.blocks)
                if reduce == "list" and command is not None:
                    by_block.update(zip(reply.blocks, reply.answer or (), strict=True))
                elif reply.blocks:
                    parts.append(reply.answer)
            if not makes:
                own.longest = max(own.longest, time.monotonic() - start)
        if reduce == "together":
            return parts[0]
        if reduce == "list":
            return [by_block.get(block) for block in range(own.n_blocks)]
        return reduce_answers(parts, reduce)

    def _submit(self, name: str, request: StepRequest) -> PendingReply:
        handle = self._hosts.get(name)
        if handle is None:
            raise HostLostError("it was given up")
        self.traffic.calls += 1
        self.traffic.sent += measure_payload((request.command, request.maker, request.log)) + 8 * len(request.blocks)
        return handle.submit("step", request)

    def _take_reply(self, own: _OpenFit, name: str, blocks: list[int], reply: StepReply, *, changes: bool) -> None:
        if reply.failure is not None:
            own.made.difference_update((name, block) for block in blocks)
            raise_failure(reply.failure, own.name_block)
        self.traffic.received += measure_payload(reply.answer)
        self.traffic.made += reply.n_made
        # A block that is not in the reply has no state there: the next request has the log.
        own.made.difference_update((name, block) for block in blocks)
        own.made.update((name, block) for block in reply.blocks)

    def _count_lost(self, own: _OpenFit, name: str, blocks: list[int], error: object, n_lost: int) -> int:
        self.lose(name, error)
        own.made = {pair for pair in own.made if pair[0] != name}
        if n_lost + 1 > 3 + 3 * max(1, len(self._hosts)):
            raise ClusterError(
                f"{n_lost + 1} workers of {self.pool.description} were lost in one step of a fit. The last one had "
                f"{own.name_block(blocks[0])} and {len(blocks) - 1} others; the reason: {error}. Perhaps a block needs "
                "more memory than a worker has: use more partitions."
            )
        return n_lost + 1

    def _find_limit(self, own: _OpenFit, *, makes: bool) -> float:
        limit = max(self.time_limit, _SLOWER * own.longest) * own.patience
        return limit * _MAKING if makes else limit

    def _make_request(
        self,
        own: _OpenFit,
        name: str,
        blocks: list[int],
        command: Command | None,
        reduce: Reduction,
        *,
        changes: bool,
    ) -> StepRequest:
        one = None if command is None else _select_blocks(command, blocks)
        if all((name, block) in own.made for block in blocks):
            return StepRequest(own.key, own.version, blocks, one, reduce, changes)
        log = [_select_blocks(past, blocks) for past in own.log]
        return StepRequest(own.key, own.version, blocks, one, reduce, changes, own.maker, log)

    def _place(self, own: _OpenFit, todo: set[int]) -> None:
        """Give every block a live host; blocks move to hosts that came later."""
        with self._lock:
            hosts, generation = self.list_hosts(), self._generation
        if own.generation == generation:  # the hosts are those that the blocks have
            return
        live = [handle.name for handle in hosts if handle.keeps_state]
        if not live:
            raise self.report_none()
        known = set(live)
        homeless = sorted(block for block in range(own.n_blocks) if own.owners.get(block) not in known)
        if len(homeless) == own.n_blocks:
            spread = {block: live[block * len(live) // own.n_blocks] for block in homeless}
            own.owners = spread if own.n_blocks >= len(live) else dict(zip(homeless, live, strict=False))
        else:
            loads = Counter(dict.fromkeys(live, 0))
            loads.update(owner for owner in own.owners.values() if owner in known)
            for block in homeless:
                own.owners[block] = min(live, key=loads.__getitem__)
                loads[own.owners[block]] += 1
            # In the middle of a call the other blocks have answered: they stay where they are.
            if len(todo) == own.n_blocks:
                self._move(own, _balance(own.owners, loads))
        own.generation, own.groups = generation, _group_by_owner(own, range(own.n_blocks))

    def _move(self, own: _OpenFit, moved: dict[str, list[int]]) -> None:
        """Let hosts forget the blocks that others have now; these make them from their source and the log."""
        for name, blocks in moved.items():
            own.made.difference_update((name, block) for block in blocks)
            handle = self._hosts.get(name)
            if handle is not None:
                try:
                    handle.submit("drop", own.key, blocks)
                except HostLostError as error:
                    self.lose(name, error)
        if moved:
            n_moved = sum(map(len, moved.values()))
            _LOG.info("%d of %d blocks move to workers that came during the fit.", n_moved, own.n_blocks)


def raise_failure(failure: HostFailure, name_block: Callable[[int], str]) -> None:
    """Raise an error that a host sent as a value; the library's own errors as they are."""
    error = None if failure.error is None else pickle.loads(failure.error)
    where = "A task" if failure.block is None else name_block(failure.block)
    if isinstance(error, CommitteeError) or (error is not None and failure.block is None):
        error.add_note(f"{where} {failure.what} on a worker:\n{failure.trace}")
        raise error
    raised = ClusterError(f"{where} {failure.what} on a worker: {failure.text}")
    raised.add_note(failure.trace)
    raise raised from error


def _pack_shared(command: Command | None) -> bytes | None:
    """A command as all hosts get it, pickled once; None where each block has arguments of its own."""
    if command is None or command.by_block is not None:
        return None
    return pickle.dumps((command.name, command.args, None), protocol=pickle.HIGHEST_PROTOCOL)


def _select_blocks(command: Command, blocks: Iterable[int]) -> BlockCommand:
    """A command with the arguments of some blocks only."""
    own = None if command.by_block is None else {block: command.by_block[block] for block in blocks}
    return BlockCommand(command.name, command.args, own)


def _group_by_owner(own: _OpenFit, blocks: Iterable[int]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = defaultdict(list)
    for block in sorted(blocks):
        grouped[own.owners[block]].append(block)
    return grouped


def _balance(owners: dict[int, str], loads: Counter[str]) -> dict[str, list[int]]:
    """Move blocks from the hosts with most to those with fewest, until they differ by one at most; what was moved."""
    moved: dict[str, list[int]] = defaultdict(list)
    while True:
        most, least = max(loads, key=loads.__getitem__), min(loads, key=loads.__getitem__)
        if loads[most] - loads[least] < 2:
            return moved
        block = max(block for block, owner in owners.items() if owner == most)
        owners[block] = least
        moved[most].append(block)
        loads[most] -= 1
        loads[least] += 1
