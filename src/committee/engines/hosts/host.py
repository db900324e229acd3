"""The worker's side: one plain object that holds the states of blocks, keyed by fit and block.

Nothing here raises: errors of loading and of kernels are values, since an engine's own errors (a lost worker) are plain
``OSError`` and ``RuntimeError`` as well, and a file that cannot be read must not look like a dead worker.
"""

from __future__ import annotations

import os
import pickle
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from committee.data.sources.ray_source import carry_references
from committee.engines.hosts.channel import connect_driver, serve_driver
from committee.engines.hosts.memory import keep_freed_memory
from committee.engines.hosts.protocol import BlockState, JointState, Reduction
from committee.engines.hosts.reduction import pack_sums, reduce_answers

__all__ = [
    "BlockCommand",
    "Host",
    "HostFailure",
    "Payload",
    "StepReply",
    "StepRequest",
    "TaskReply",
    "TaskRequest",
    "count_host_threads",
    "dump_object",
    "pack_object",
]

_MOST_SHARED = 4
"""Objects shared by tasks that a host keeps; the oldest goes first."""

_CURRENT = threading.local()


def count_host_threads() -> int:
    """The threads that a task on a host may use; 0 outside a host, which means as many as the work is worth.

    Examples
    --------
    >>> count_host_threads() >= 0
    True
    """
    return int(getattr(_CURRENT, "threads", 0))


class BlockCommand(NamedTuple):
    """A command for some blocks of a fit.

    Attributes
    ----------
    name : str
        What `BlockState.run` is called with.
    args : tuple
        Arguments of all blocks.
    own : mapping or None
        Further arguments by block.
    """

    name: str
    args: tuple[Any, ...]
    own: Mapping[int, tuple[Any, ...]] | None

    def run_on(self, state: BlockState, block: int) -> Any:
        """The state's answer."""
        return state.run(self.name, self.find_args(block))

    def find_args(self, block: int) -> tuple[Any, ...]:
        """All arguments of a block."""
        return self.args if self.own is None else (*self.args, *self.own[block])


class StepRequest(NamedTuple):
    """One call of the driver to one host.

    Attributes
    ----------
    fit : str
        Key of the fit.
    version : int
        Changing commands that the blocks must have seen before this one.
    blocks : sequence of int
        The host's blocks that are to answer.
    command : BlockCommand, bytes or None
        What to run, pickled where all hosts get the same; None only makes the states.
    reduce : {"sum", "max", "list", "together"}
        What becomes of the answers; "together": the blocks give one.
    changes : bool
        Whether the command changes the states, so that they have the next version afterwards.
    maker : Payload or None
        The packed ``make_state``, for a host that may have to make states.
    log : list of BlockCommand or None
        What leads from a new state to the version.
    packs : bool
        Whether large sums are packed before they travel.
    """

    fit: str
    version: int
    blocks: Sequence[int]
    command: BlockCommand | bytes | None
    reduce: Reduction
    changes: bool
    maker: Payload | None = None
    log: list[BlockCommand] | None = None
    packs: bool = True


class HostFailure(NamedTuple):
    """An error of user code, of loading or of a kernel, as a value.

    Attributes
    ----------
    what : str
        What was being done, in the words of a sentence: "could not be loaded".
    block : int or None
        The block that it concerns.
    error : bytes or None
        The pickled exception, if it can be pickled.
    text : str
        The exception as text.
    trace : str
        The traceback on the host.
    """

    what: str
    block: int | None
    error: bytes | None
    text: str
    trace: str


class StepReply(NamedTuple):
    """What a host answers to a step: the blocks that answered, their reduced answer, or a failure."""

    blocks: Sequence[int]
    answer: Any
    failure: HostFailure | None = None
    n_made: int = 0


class TaskRequest(NamedTuple):
    """A task without state.

    Attributes
    ----------
    function : bytes
        The pickled function.
    key : str
        Key of what tasks share; empty if they share nothing.
    item : bytes
        The pickled item.
    """

    function: bytes
    key: str
    item: bytes


class TaskReply(NamedTuple):
    """The answer of a task; ``lacks_shared`` if the host has to be sent what the tasks share."""

    answer: bytes | None
    failure: HostFailure | None = None
    lacks_shared: bool = False


@dataclass
class _HeldState:
    """The state of a block, and how many changing commands it has seen."""

    state: BlockState
    version: int = 0


@dataclass
class Host:
    """States of blocks, and tasks without state. One on each worker.

    Parameters
    ----------
    threads : int, default=0
        Threads that a call may use; 0: as many as the work is worth.
    """

    threads: int = 0
    _held: dict[tuple[str, int], _HeldState] = field(default_factory=dict)
    _makers: dict[str, Callable[[int], BlockState]] = field(default_factory=dict)
    _shared: dict[str, Any] = field(default_factory=dict)
    # Steps may come over a channel, and the end of a fit through the engine.
    _busy: threading.Lock = field(default_factory=threading.Lock)

    def ping(self) -> int:
        """Answer at once, with the number of the process."""
        return os.getpid()

    def open_channel(self, address: str, token: bytes) -> bool:
        """Take steps over a socket of this machine as well; False if the driver is on another one."""
        link = connect_driver(address, token)
        if link is None:
            return False
        threading.Thread(target=serve_driver, args=(link, self.step, _refuse), daemon=True).start()
        return True

    def step(self, request: StepRequest) -> StepReply:
        """Bring the blocks to the version, run the command on each and reduce their answers.

        A state that is not at the version is made again from its block and the log, so that a step may be run twice.
        Blocks that would have to be made and cannot, since no log was sent, are left out of the reply.
        """
        with self._busy:
            return self._step(request)

    def step_packed(self, request: bytes) -> bytes:
        """The same with pickles, for an engine that takes longer for objects and arrays than for bytes."""
        reply = self.step(pickle.loads(request))
        try:
            return pickle.dumps(reply, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            return pickle.dumps(_refuse(error), protocol=pickle.HIGHEST_PROTOCOL)

    def _step(self, request: StepRequest) -> StepReply:
        _CURRENT.threads = self.threads
        command = request.command
        if isinstance(command, bytes):
            try:
                command = BlockCommand(*pickle.loads(command))
            except Exception as error:
                return StepReply((), None, _describe(error, "could not read a command", None))
        if request.reduce == "together" and command is not None:
            return self._step_together(request, command)
        answers: list[Any] = []
        done: list[int] = []
        n_made = 0
        for block in request.blocks:
            held = self._held.get((request.fit, block))
            if held is None or held.version != request.version:
                if request.log is None:
                    continue
                made = self._make(request, block)
                if isinstance(made, HostFailure):
                    return StepReply((), None, made)
                held, n_made = made, n_made + 1
            if command is not None:
                try:
                    answers.append(command.run_on(held.state, block))
                except Exception as error:
                    # The state may be half changed.
                    self._held.pop((request.fit, block), None)
                    return StepReply((), None, _describe(error, f"failed in {command.name!r}", block))
            if request.changes:
                held.version += 1
            done.append(block)
        if not answers:
            return StepReply(done, None, None, n_made)
        answer = reduce_answers(answers, request.reduce)
        return StepReply(done, pack_sums(answer) if request.packs and request.reduce == "sum" else answer, None, n_made)

    def _step_together(self, request: StepRequest, command: BlockCommand) -> StepReply:
        """The same for a command that all blocks run together: first all of them are at the version, or none runs."""
        ready = self._step(request._replace(command=None, reduce="list", changes=False))
        if ready.failure is not None or len(ready.blocks) < len(request.blocks):
            return ready._replace(blocks=())
        held = [self._held[request.fit, block] for block in request.blocks]
        states = [cast("JointState", one.state) for one in held]
        try:
            answer = states[0].run_together(states, command.name, [command.find_args(one) for one in request.blocks])
        except Exception as error:
            for block in request.blocks:
                self._held.pop((request.fit, block), None)
            return StepReply((), None, _describe(error, f"failed in {command.name!r}", request.blocks[0]))
        for one in held:
            one.version += request.changes
        return StepReply(request.blocks, answer, None, ready.n_made)

    def close(self, fit: str) -> bool:
        """Forget the states of a fit."""
        with self._busy:
            for key in [key for key in self._held if key[0] == fit]:
                del self._held[key]
            self._makers.pop(fit, None)
        return True

    def drop(self, fit: str, blocks: Sequence[int]) -> bool:
        """Forget the states of some blocks, which have moved to another host."""
        with self._busy:
            for block in blocks:
                self._held.pop((fit, block), None)
        return True

    def run_task(self, request: TaskRequest, shared: Payload | None = None) -> TaskReply:
        """Call a function with an item and what the tasks share: packed, None if the host should have it."""
        _CURRENT.threads = self.threads
        if request.key and request.key not in self._shared:
            if shared is None:
                return TaskReply(None, lacks_shared=True)
            while len(self._shared) >= _MOST_SHARED:
                del self._shared[next(iter(self._shared))]
            try:
                self._shared[request.key] = shared.load()
            except Exception as error:
                return TaskReply(None, _describe(error, "could not read what the tasks share", None))
        try:
            function, item = pickle.loads(request.function), pickle.loads(request.item)
            answer = function(item, self._shared[request.key]) if request.key else function(item)
            return TaskReply(dump_object(answer))
        except Exception as error:
            return TaskReply(None, _describe(error, "failed", None))

    def forget(self, key: str) -> bool:
        """Forget what tasks shared."""
        self._shared.pop(key, None)
        return True

    def _make(self, request: StepRequest, block: int) -> _HeldState | HostFailure:
        """The state of a block at the version, from its source and the log."""
        key = (request.fit, block)
        keep_freed_memory()
        self._held.pop(key, None)
        what = "could not be loaded"
        try:
            if request.fit not in self._makers:
                assert request.maker is not None
                self._makers[request.fit] = request.maker.load()
            held = _HeldState(self._makers[request.fit](block), request.version)
            for command in request.log or ():
                what = f"failed when {command.name!r} was run again"
                command.run_on(held.state, block)
        except Exception as error:
            return _describe(error, what, block)
        self._held[key] = held
        return held


class Payload(NamedTuple):
    """An object as it travels: pickled, with the references to Ray's objects that it holds beside the pickle."""

    data: bytes
    references: list[Any]

    def load(self) -> Any:
        """The object."""
        with carry_references(self.references):
            return pickle.loads(self.data)


def pack_object(value: object) -> Payload:
    """An object in the form in which it travels."""
    references: list[Any] = []
    with carry_references(references):
        return Payload(dump_object(value), references)


def dump_object(value: object) -> bytes:
    """An object as bytes, also functions and classes of a script or a notebook."""
    try:
        from cloudpickle import dumps
    except ImportError:  # joblib before 1.6 has its own copy
        from joblib.externals.cloudpickle import dumps
    dumped: bytes = dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return dumped


def _refuse(error: Exception) -> StepReply:
    return StepReply((), None, _describe(error, "gave an answer that cannot be sent", None))


def _describe(error: Exception, what: str, block: int | None) -> HostFailure:
    try:
        dumped = dump_object(error)
        pickle.loads(dumped)  # an exception with a constructor of its own often cannot be read again
    except Exception:
        dumped = None
    return HostFailure(what, block, dumped, f"{type(error).__name__}: {error}", traceback.format_exc())
