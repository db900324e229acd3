"""The interface of a distributed backend (processes, Dask, Ray): hosts that can be called, and how a loss shows."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Protocol

from committee.exceptions import CommitteeError

if TYPE_CHECKING:
    from committee.engines.hosts.host import Payload

__all__ = ["HostHandle", "HostLostError", "HostPool", "PendingReply"]


class HostLostError(CommitteeError, RuntimeError):
    """A host did not answer and will not be called again; a group of hosts handles it by itself."""


class PendingReply(Protocol):
    """A call under way."""

    def result(self, timeout: float) -> Any:
        """The answer; raises `TimeoutError` if there is none yet, and `HostLostError` if there will be none."""
        ...


class HostHandle(Protocol):
    """A host as the driver sees it."""

    @property
    def name(self) -> str:
        """Different for every host that ever was; where a worker is started again it is another host."""
        ...

    @property
    def keeps_state(self) -> bool:
        """Whether calls reach the same object each time."""
        ...

    def submit(self, method: str, *args: object) -> PendingReply:
        """Call a method of the `Host`; raises `HostLostError`."""
        ...

    def discard(self) -> None:
        """Give the host up, dead or alive."""
        ...


class HostPool(Protocol):
    """Starts hosts, one on each worker of an engine."""

    @property
    def description(self) -> str:
        """The engine, in the words of a sentence."""
        ...

    def start_hosts(self, live: Collection[str], timeout: float) -> list[HostHandle]:
        """Hosts on workers that have none among the live ones.

        Waits until there is one at least, up to ``timeout`` seconds; with 0, those that are ready now, while others may
        be starting in the background.
        """
        ...

    def share(self, payload: Payload) -> Any:
        """What is sent to a host in place of a payload that all hosts get."""
        ...

    def explain_none(self, limit: float) -> str:
        """Why there is no host after waiting for ``limit`` seconds: the end of a sentence."""
        ...

    def find_memory(self) -> int | None:
        """Bytes that a host may use, the least of all hosts; None if the engine sets no limit."""
        ...

    def close(self) -> None:
        """Give up what was started."""
        ...
