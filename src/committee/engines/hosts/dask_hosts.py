"""Hosts on the workers of a Dask cluster: one actor each, called directly."""

from __future__ import annotations

import itertools
import logging
import pickle
import time
from asyncio import CancelledError
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from committee.engines.hosts.host import Host, StepRequest
from committee.engines.hosts.pool import HostLostError
from committee.engines.hosts.recovering import RecoveringHosts
from committee.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Collection

    from committee.engines.hosts.host import Payload
    from committee.engines.hosts.pool import HostHandle

__all__ = ["DaskHosts", "DaskPool"]

_LOG = logging.getLogger("committee")
_NUMBERS = itertools.count()
_START_LIMIT = 30.0
"""Seconds in which a worker must make its actor."""
_SLICE = 0.1
"""Seconds between two looks at whether the worker still has its actor."""
_SETTLE = 5.0
"""Seconds that a first host waits for others that are starting."""


class _DaskReply:
    """A call of an actor, and the future of the actor itself.

    A call whose worker is lost often gets no answer at all, while the future says so. The answer is awaited in Dask's
    own thread from the start: asking that thread for each result would cost a change of threads each time.
    """

    def __init__(self, call: Any, actor: Any, loop: Any) -> None:
        self._actor = actor
        self._answer: Future[Any] = Future()
        loop.add_callback(self._wait, call)

    async def _wait(self, call: Any) -> None:
        try:
            self._answer.set_result(await call)
        except BaseException as error:  # also a cancellation, when the client is closed
            self._answer.set_exception(error)

    def result(self, timeout: float) -> Any:
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            try:
                return self._answer.result(max(min(left, _SLICE), 0.0))
            except TimeoutError as error:
                if self._answer.done():
                    raise HostLostError(f"{type(error).__name__}: {error}") from error
                if self._actor.status != "finished":
                    raise HostLostError(f"its actor is {self._actor.status}") from None
                if left <= 0.0:
                    raise
            except (Exception, CancelledError) as error:  # OSError, RuntimeError, cancellations
                raise HostLostError(f"{type(error).__name__}: {error}") from error


class _PackedReply(_DaskReply):
    """A call that is answered by a pickle."""

    def result(self, timeout: float) -> Any:
        return pickle.loads(super().result(timeout))


class _DaskHandle:
    def __init__(self, address: str, future: Any, actor: Any, loop: Any) -> None:
        self.name = f"{address}#{next(_NUMBERS)}"
        self.address, self.keeps_state = address, True
        self._future, self._actor, self._loop = future, actor, loop

    def submit(self, method: str, *args: object) -> _DaskReply:
        if self._actor is None:
            raise HostLostError("it was given up")
        try:
            if method == "step" and isinstance(args[0], StepRequest) and args[0].maker is None:
                # Dask looks at every part of a message that is not bytes, which takes longer than to copy them.
                packed = pickle.dumps(args[0], protocol=pickle.HIGHEST_PROTOCOL)
                return _PackedReply(self._actor.step_packed(packed), self._future, self._loop)
            return _DaskReply(getattr(self._actor, method)(*args), self._future, self._loop)
        except Exception as error:
            raise HostLostError(f"{type(error).__name__}: {error}") from error

    def discard(self) -> None:
        # A lost actor does not answer: its handle must not be used again. Without the future the actor is released.
        self._actor = self._future = None


class DaskPool:
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The user's; a client of its own is opened, which calls workers directly.
    n_workers : int or None, default=None
        The most workers to use; None: all of them, also those that come later.
    """

    def __init__(self, client: Any, n_workers: int | None = None) -> None:
        from distributed import Client

        if client.asynchronous:
            raise ParameterError("A cluster needs a synchronous Dask client; got one with asynchronous=True.")
        self._client = Client(
            client.scheduler.address, security=client.security, direct_to_workers=True, set_as_default=False
        )
        self._n_workers = n_workers
        self._starting: dict[str, tuple[Any, float]] = {}
        self._homes: dict[str, str] = {}

    @property
    def description(self) -> str:
        """In the words of a sentence."""
        return "the Dask cluster"

    def _list_workers(self) -> dict[str, Any]:
        found: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return found

    def start_hosts(self, live: Collection[str], timeout: float) -> list[HostHandle]:
        """An actor on each worker that has none."""
        deadline = time.monotonic() + timeout
        fresh: list[HostHandle] = []
        while True:
            found = self._look([*live, *(handle.name for handle in fresh)])
            fresh += found
            if found and timeout:  # others may be about to start as well
                deadline = min(deadline, time.monotonic() + _SETTLE)
            if time.monotonic() >= deadline or (fresh and not self._starting):
                return fresh
            time.sleep(0.02)

    def _look(self, live: Collection[str]) -> list[HostHandle]:
        self._homes = {name: address for name, address in self._homes.items() if name in live}
        workers, taken = self._list_workers(), set(self._homes.values())
        for address, worker in workers.items():
            if self._n_workers is not None and len(taken) + len(self._starting) >= self._n_workers:
                break
            if address not in taken and address not in self._starting and worker.get("status", "running") == "running":
                threads = int(worker["nthreads"])
                future = self._client.submit(Host, threads, actor=True, workers=[address], pure=False)
                self._starting[address] = (future, time.monotonic())
        fresh: list[HostHandle] = []
        for address, (future, since) in list(self._starting.items()):
            if address not in workers or time.monotonic() - since > _START_LIMIT or future.status in ("error", "lost"):
                del self._starting[address]
            elif future.done():
                del self._starting[address]
                try:
                    with self._client.as_current():  # an actor is called by the client that is current when it is read
                        actor = future.result(timeout=_START_LIMIT)
                        handle = _DaskHandle(address, future, actor, self._client.loop)
                except Exception as error:
                    _LOG.info("The worker %s could not start a host: %s", address, error)
                    continue
                self._homes[handle.name] = address
                fresh.append(handle)
        return fresh

    def share(self, payload: Payload) -> Payload:
        """The payload itself: it goes to each worker directly."""
        return payload

    def explain_none(self, limit: float) -> str:
        """Workers may come at any time."""
        return f"and none came within {limit:g} seconds"

    def find_memory(self) -> int | None:
        """The least memory limit of a worker."""
        limits = [int(worker.get("memory_limit") or 0) for worker in self._list_workers().values()]
        return min((limit for limit in limits if limit), default=None)

    def close(self) -> None:
        """Close the client that this object opened, with which its actors end."""
        self._starting.clear()
        self._client.close(timeout=10)


class DaskHosts(RecoveringHosts):
    """Hosts on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        A synchronous client of the cluster.
    n_workers : int or None, default=None
        The most workers to use; None: all of them.
    time_limit : float, default=60.0
        As in `RecoveringHosts`.
    """

    def __init__(self, client: Any, n_workers: int | None = None, time_limit: float = 60.0) -> None:
        super().__init__(DaskPool(client, n_workers), time_limit)
