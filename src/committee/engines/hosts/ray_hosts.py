"""Hosts on a Ray cluster: plain actors, which are not restarted by Ray, since a restarted actor has lost its blocks."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

from committee.engines.hosts.host import Host
from committee.engines.hosts.pool import HostLostError
from committee.engines.hosts.recovering import RecoveringHosts
from committee.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Collection

    from committee.engines.hosts.host import Payload
    from committee.engines.hosts.pool import HostHandle

__all__ = ["RayHosts", "RayPool"]

_NUMBERS = itertools.count()
_SETTLE = 5.0
"""Seconds that a first host waits for others that are starting."""


class _RayReply:
    def __init__(self, reference: Any) -> None:
        self._reference = reference

    def result(self, timeout: float) -> Any:
        import ray

        try:
            return ray.get(self._reference, timeout=timeout)
        except ray.exceptions.GetTimeoutError:
            raise TimeoutError("no answer in time") from None
        except Exception as error:  # the actor died, its node did, or an object is lost with it
            raise HostLostError(f"{type(error).__name__}: {str(error).splitlines()[0]}") from error


class _RayHandle:
    def __init__(self, actor: Any) -> None:
        self.name = f"ray-actor-{next(_NUMBERS)}"
        self.keeps_state = True
        self.actor = actor

    def submit(self, method: str, *args: object) -> _RayReply:
        try:
            return _RayReply(getattr(self.actor, method).remote(*args))
        except Exception as error:
            raise HostLostError(f"{type(error).__name__}: {error}") from error

    def discard(self) -> None:
        import ray

        try:
            ray.kill(self.actor)
        except Exception:  # it is dead, or Ray is shut down
            return


class RayPool:
    """Actors of a Ray cluster.

    Parameters
    ----------
    n_workers : int or None, default=None
        How many; None: one for each CPU of the cluster, also of nodes that come later.
    """

    def __init__(self, n_workers: int | None = None) -> None:
        import ray

        if not ray.is_initialized():
            raise ParameterError("Ray is not running here; call ray.init() first, with the address of the cluster.")
        # An actor that reserved its CPU would keep it from the tasks that read the data, which then wait for ever.
        self._actor_class = ray.remote(Host).options(num_cpus=0, max_restarts=0, scheduling_strategy="SPREAD")
        self._n_workers = n_workers
        self._starting: list[tuple[_RayHandle, Any]] = []

    @property
    def description(self) -> str:
        """In the words of a sentence."""
        return "the Ray cluster"

    def start_hosts(self, live: Collection[str], timeout: float) -> list[HostHandle]:
        """As many actors as are missing; those that answer."""
        deadline = time.monotonic() + timeout
        fresh: list[HostHandle] = []
        while True:
            found = self._look(len(live) + len(fresh), max(0.0, min(0.2, deadline - time.monotonic())))
            fresh += found
            if found and timeout:  # others may be about to start as well
                deadline = min(deadline, time.monotonic() + _SETTLE)
            if time.monotonic() >= deadline or (fresh and not self._starting):
                return fresh

    def _look(self, n_live: int, wait: float) -> list[HostHandle]:
        import ray

        wanted = self._n_workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        for _ in range(wanted - n_live - len(self._starting)):
            actor = self._actor_class.remote(1)
            self._starting.append((_RayHandle(actor), actor.ping.remote()))
        if not self._starting:
            return []
        references = [reference for _, reference in self._starting]
        ready, _ = ray.wait(references, num_returns=1, timeout=wait)
        if ready:  # and those that are ready by now
            ready, _ = ray.wait(references, num_returns=len(references), timeout=0)
        fresh: list[HostHandle] = []
        for handle, reference in list(self._starting):
            if reference not in ready:
                continue
            self._starting = [pair for pair in self._starting if pair[0] is not handle]
            try:
                ray.get(reference)
            except Exception:  # it died before it answered
                continue
            fresh.append(handle)
        return fresh

    def share(self, payload: Payload) -> Any:
        """A reference to an object that each node holds once."""
        import ray

        return ray.put(payload)

    def explain_none(self, limit: float) -> str:
        """Workers may come at any time."""
        return f"and none came within {limit:g} seconds"

    def find_memory(self) -> int | None:
        """Ray sets no limit for an actor."""
        return None

    def close(self) -> None:
        """End the actors that are still starting."""
        for handle, _ in self._starting:
            handle.discard()
        self._starting = []


class RayHosts(RecoveringHosts):
    """Hosts on a Ray cluster.

    Parameters
    ----------
    n_workers : int or None, default=None
        How many actors; None: one for each CPU.
    time_limit : float, default=60.0
        As in `RecoveringHosts`.
    """

    def __init__(self, n_workers: int | None = None, time_limit: float = 60.0) -> None:
        super().__init__(RayPool(n_workers), time_limit)
