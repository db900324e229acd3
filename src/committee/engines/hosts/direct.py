"""Hosts as the driver calls them: those on its machine over a channel, the others through their engine."""

from __future__ import annotations

import secrets
import socket
import threading
from typing import TYPE_CHECKING, Any

from committee.engines.hosts.channel import TOKEN_BYTES, accept_host, listen_here
from committee.engines.hosts.host import StepRequest
from committee.engines.hosts.pool import HostLostError

if TYPE_CHECKING:
    from committee.engines.hosts.channel import HostChannel
    from committee.engines.hosts.pool import HostHandle, PendingReply

__all__ = ["DirectHandle"]

_OPEN_LIMIT = 10.0
"""Seconds in which a worker says whether it has reached the socket; one that is busy is called through its engine."""


class _ChannelReply:
    def __init__(self, handle: DirectHandle, channel: HostChannel, number: int) -> None:
        self._handle, self._channel, self._number = handle, channel, number

    def result(self, timeout: float) -> Any:
        try:
            return self._channel.wait(self._number, timeout)
        except TimeoutError:
            raise
        except (OSError, EOFError) as error:
            raise HostLostError(f"{type(error).__name__}: {error}") from error
        except BaseException:  # an interrupt, perhaps in the middle of a message
            self._handle.drop_channel()
            raise


class DirectHandle:
    """A host that takes its steps over a channel if it is on this machine.

    Parameters
    ----------
    inner : HostHandle
        The host as its engine calls it.
    direct : bool, default=True
        Whether to try.
    """

    def __init__(self, inner: HostHandle, *, direct: bool = True) -> None:
        self._inner, self.name, self.keeps_state = inner, inner.name, inner.keeps_state
        self._channel: HostChannel | None = None
        self._tried = not (direct and inner.keeps_state and hasattr(socket, "AF_UNIX"))
        self._opening = threading.Lock()

    @property
    def is_direct(self) -> bool:
        """Whether steps go over a channel."""
        return self._channel is not None

    def submit(self, method: str, *args: object) -> PendingReply:
        """Call a method of the host; steps go the shortest way, unless they may refer to objects of the engine."""
        request = args[0] if method == "step" else None
        if not isinstance(request, StepRequest) or request.maker is not None:
            return self._inner.submit(method, *args)
        if not self._tried:
            with self._opening:
                if not self._tried:
                    self._tried = True
                    self._channel = self._open()
        channel = self._channel
        if channel is None:
            return self._inner.submit(method, *args)
        try:
            # To pack sums takes longer than to copy them here.
            return _ChannelReply(self, channel, channel.ask(request._replace(packs=False)))
        except OSError as error:
            raise HostLostError(f"{type(error).__name__}: {error}") from error

    def _open(self) -> HostChannel | None:
        token = secrets.token_bytes(TOKEN_BYTES)
        with listen_here() as (listener, address):
            try:
                if not self._inner.submit("open_channel", address, token).result(_OPEN_LIMIT):
                    return None
            except TimeoutError:
                return None
            return accept_host(listener, token)

    def drop_channel(self) -> None:
        """Give the channel up, not the host: the next step opens another one."""
        channel, self._channel, self._tried = self._channel, None, False
        if channel is not None:
            channel.close()

    def discard(self) -> None:
        """Give the host up."""
        channel, self._channel, self._tried = self._channel, None, True
        if channel is not None:
            channel.close()
        self._inner.discard()
