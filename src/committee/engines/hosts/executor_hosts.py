"""Hosts in processes of this machine, through ``concurrent.futures``."""

from __future__ import annotations

import itertools
from concurrent.futures import Executor, Future, wait
from typing import TYPE_CHECKING, Any

from committee.engines.hosts.host import Host
from committee.engines.hosts.pool import HostLostError
from committee.engines.hosts.recovering import RecoveringHosts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from committee.engines.hosts.host import Payload
    from committee.engines.hosts.pool import HostHandle

__all__ = ["ExecutorHosts", "ExecutorPool", "call_process_host"]

_NUMBERS = itertools.count()
_LAST_WORDS = 0.5
"""Seconds that a process has to answer before it is ended."""
_HERE: dict[str, Host] = {}
"""The hosts of this process, where it is a worker."""


def call_process_host(name: str, threads: int, method: str, args: tuple[Any, ...]) -> Any:
    """Call a method of a host that lives in the process that this runs in."""
    host = _HERE.get(name)
    if host is None:
        host = _HERE[name] = Host(threads)
    return getattr(host, method)(*args)


class _ExecutorReply:
    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def result(self, timeout: float) -> Any:
        try:
            return self._future.result(timeout)
        except TimeoutError:
            if self._future.done():
                raise HostLostError("the call timed out on the worker") from None
            raise
        except Exception as error:
            raise HostLostError(f"{type(error).__name__}: {error}") from error


class _ExecutorHandle:
    """One worker of an executor; of an executor with several, any of them."""

    def __init__(self, executor: Executor, *, owned: bool, keeps_state: bool, threads: int) -> None:
        self.name = f"process-{next(_NUMBERS)}"
        self.keeps_state = keeps_state
        self.executor = executor
        self._owned, self._threads = owned, threads
        self._latest: Future[Any] | None = None

    def submit(self, method: str, *args: object) -> _ExecutorReply:
        try:
            self._latest = self.executor.submit(call_process_host, self.name, self._threads, method, args)
        except Exception as error:
            raise HostLostError(f"{type(error).__name__}: {error}") from error
        return _ExecutorReply(self._latest)

    def discard(self) -> None:
        if self._owned:
            if self._latest is not None:  # an executor that is ended with calls in its queue complains
                wait([self._latest], timeout=_LAST_WORDS)
            _kill_executor(self.executor)


class ExecutorPool:
    """Workers behind executors.

    Parameters
    ----------
    executors : sequence of Executor
        Each is a worker of its own. An executor of several processes chooses by itself which of them runs a call, so
        that it cannot hold blocks; it runs tasks without state.
    n_processes : int, default=0
        Processes that this object starts, each behind an executor of its own, and starts again if they are lost.
    threads : int, default=1
        Threads of each worker.
    """

    def __init__(self, executors: Sequence[Executor] = (), n_processes: int = 0, threads: int = 1) -> None:
        self._n_processes, self._threads = n_processes, threads
        self._started: list[_ExecutorHandle] = []
        self._waiting: list[HostHandle] = []
        for executor in executors:
            width = _count_workers(executor)
            self._waiting += [
                _ExecutorHandle(executor, owned=False, keeps_state=width == 1, threads=threads) for _ in range(width)
            ]

    @property
    def description(self) -> str:
        """In the words of a sentence."""
        return "the process pool"

    def start_hosts(self, live: Collection[str], timeout: float) -> list[HostHandle]:
        """The executors that were given, once; processes of its own whenever some are missing."""
        fresh, self._waiting = self._waiting, []
        missing = self._n_processes - sum(handle.name in live for handle in self._started)
        for _ in range(missing):
            handle = _ExecutorHandle(_start_process(), owned=True, keeps_state=True, threads=self._threads)
            self._started.append(handle)
            fresh.append(handle)
        return fresh

    def share(self, payload: Payload) -> Payload:
        """The payload itself."""
        return payload

    def explain_none(self, limit: float) -> str:
        """An executor whose process was lost is broken, and starts no other."""
        if self._n_processes:
            return f"and none came within {limit:g} seconds"
        return "and an executor that has lost a process starts no other: pass new executors, or a number of processes"

    def find_memory(self) -> int | None:
        """No limit of its own."""
        return None

    def close(self) -> None:
        """End the processes that this object started."""
        for handle in self._started:
            handle.discard()
        self._started = []


class ExecutorHosts(RecoveringHosts):
    """Hosts in processes of this machine.

    Parameters
    ----------
    executors : sequence of Executor
        Executors of one worker each, or of several for tasks without state.
    n_processes : int, default=0
        Processes to start in their place.
    threads : int, default=1
        Threads of each worker.
    time_limit : float, default=60.0
        As in `RecoveringHosts`.

    Examples
    --------
    >>> with ExecutorHosts(n_processes=2) as hosts:
    ...     hosts.map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(
        self, executors: Sequence[Executor] = (), n_processes: int = 0, threads: int = 1, time_limit: float = 60.0
    ) -> None:
        super().__init__(ExecutorPool(executors, n_processes, threads), time_limit)


def _start_process() -> Executor:
    """An executor of one process, which need not be able to import the script that starts it."""
    from joblib.externals.loky import ProcessPoolExecutor

    executor: Executor = ProcessPoolExecutor(max_workers=1, timeout=None)
    return executor


def _kill_executor(executor: Any) -> None:
    """End an executor of loky, also if its process hangs."""
    executor.shutdown(wait=False, kill_workers=True)


def _count_workers(executor: Executor) -> int:
    return max(1, int(getattr(executor, "_max_workers", 1)))
