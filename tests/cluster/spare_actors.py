"""Actors of Ray that tests leave alive are used by the next: their processes take seconds to start, a new host none."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

#: More than tests use at a time are ended.
MOST = 4
LIMIT = 600.0


def renew(host: Any, threads: int) -> None:
    """As a host starts: without blocks and without what tasks shared."""
    type(host).__init__(host, threads)


class SpareActors:
    """In place of the class of actors: takes one that is idle, renewed, and starts a process if there is none."""

    idle: ClassVar[list[Any]] = []

    def __init__(self, plain: Any) -> None:
        self.plain, self.n_taken = plain, 0

    def remote(self, threads: int) -> Any:
        import ray

        while self.idle:
            actor = self.idle.pop()
            try:
                ray.get(actor.__ray_call__.remote(renew, threads), timeout=LIMIT)
            except ray.exceptions.RayError:  # a test has ended it
                continue
            self.n_taken += 1
            return actor
        return self.plain.remote(threads)


@contextmanager
def keep_actors() -> Iterator[None]:
    """Hosts on Ray that are shut down leave their actors to others; those that are given up are ended as ever."""
    from committee.engines.hosts import ray_hosts

    start, shut_down = ray_hosts.RayPool.__init__, ray_hosts.RayHosts.shutdown

    def start_pool(pool: Any, n_workers: int | None = None) -> None:
        start(pool, n_workers)
        actors = pool._actor_class = SpareActors(pool._actor_class)
        plain = pool._look

        def look(n_live: int, wait: float) -> list[Any]:
            """Idle actors come together with those that start beside them, not when each has answered."""
            actors.n_taken = 0
            found: list[Any] = plain(n_live, wait)
            while actors.n_taken and pool._starting:
                found += plain(n_live + len(found), 0.2)
            return found

        pool._look = look

    def leave_actors(hosts: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            discard = ray_hosts._RayHandle.discard

            def leave(handle: Any) -> None:
                if len(SpareActors.idle) < MOST:
                    SpareActors.idle.append(handle.actor)
                else:
                    discard(handle)

            patch.setattr(ray_hosts._RayHandle, "discard", leave)
            shut_down(hosts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ray_hosts.RayPool, "__init__", start_pool)
        patch.setattr(ray_hosts.RayHosts, "shutdown", leave_actors)
        yield
    SpareActors.idle.clear()
