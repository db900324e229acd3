"""A direct way to the hosts on this machine: a socket of the operating system in place of an engine's messages.

A boosted tree takes a dozen steps of a few milliseconds, and an engine's message takes as long as such a step: it
passes two event loops and two threads on either side. A worker that can reach the driver's socket is on the driver's
machine, and takes its steps from there; its sums come back in memory that both have mapped, where the operating system
has that. All other workers, and whatever is not a step, stay with the engine.
"""

from __future__ import annotations

import hmac
import itertools
import mmap
import os
import pickle
import secrets
import select
import socket
import struct
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["TOKEN_BYTES", "HostChannel", "accept_host", "connect_driver", "listen_here", "serve_driver"]

_HEAD = struct.Struct("<QQQ")
"""Bytes that follow, number of parts, and whether the arrays are in the shared memory. What follows is the sizes of the
parts, a pickle and arrays, each from a multiple of 16 bytes on."""
_AREA_HEAD = 64
"""Bytes of the shared memory before the arrays; the first one is 1 while nobody has taken them."""
_AREA_BYTES = 1 << 26
"""Of the shared memory; only what was used takes memory."""
_ZEROS = memoryview(bytes(16))
TOKEN_BYTES = 32
_MOST_PARTS = 512
"""Buffers that one call of the operating system takes."""
_CONNECT_LIMIT = 2.0
"""Seconds in which a worker of this machine reaches the driver's socket."""
_MESSAGE_LIMIT = 60.0
"""Seconds in which a message that has begun goes on; a host that is frozen takes none."""
_NUMBERS = itertools.count()


class HostChannel:
    """Messages over a socket: a pickle, and beside it the arrays, which are not copied.

    Parameters
    ----------
    link : socket
        Connected to the other side.
    area : mmap or None, default=None
        Memory that both sides have mapped, in which the host leaves arrays.
    """

    def __init__(self, link: socket.socket, area: mmap.mmap | None = None) -> None:
        link.settimeout(_MESSAGE_LIMIT)
        self._link, self._area = link, area
        self._poll = select.poll()
        self._poll.register(link, select.POLLIN)
        self._sending, self._news = threading.Lock(), threading.Condition()
        self._reading = False
        self._awaited: set[int] = set()
        self._replies: dict[int, Any] = {}

    def send(self, message: object, *, by_area: bool = False) -> None:
        """Send a message; raises `OSError` if the other side is gone or does not take it.

        With ``by_area`` the arrays are left in the shared memory, if there is room and the ones before were taken.
        """
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        arrays = [buffer.raw() for buffer in buffers]
        sizes = [len(data), *(array.nbytes for array in arrays)]
        table = struct.pack(f"<{len(sizes)}Q", *sizes)
        own = b"".join((table, bytes(-len(table) % 16), data, bytes(-len(data) % 16)))
        with self._sending:
            in_area = by_area and self._leave_in_area(arrays)
            beside = [] if in_area else arrays
            total = len(own) + sum(_pad(array.nbytes) for array in beside)
            views = [memoryview(_HEAD.pack(total, len(sizes), in_area) + own)]
            for array in beside:
                views.append(array)
                if rest := _pad(array.nbytes) - array.nbytes:
                    views.append(_ZEROS[:rest])
            _send_all(self._link, views)

    def _leave_in_area(self, arrays: list[memoryview]) -> bool:
        if self._area is None or not arrays or self._area[0]:
            return False
        ends = list(itertools.accumulate((_pad(array.nbytes) for array in arrays), initial=_AREA_HEAD))
        if ends[-1] > len(self._area):
            return False
        for start, array in zip(ends, arrays, strict=False):
            self._area[start : start + array.nbytes] = array
        self._area[0] = 1
        return True

    def _take_from_area(self, size: int) -> memoryview:
        assert self._area is not None
        taken = memoryview(self._area[_AREA_HEAD : _AREA_HEAD + size])
        self._area[0] = 0
        return taken

    def receive(self, timeout: float | None = None) -> Any:
        """The next message; `TimeoutError` if none comes, `EOFError` if the other side is gone."""
        if not self._poll.poll(None if timeout is None else max(0.0, timeout) * 1e3):
            raise TimeoutError("no answer in time")
        total, n_parts, in_area = _HEAD.unpack(self._read(_HEAD.size))
        whole = self._read(total)
        n_data, *sizes = struct.unpack_from(f"<{n_parts}Q", whole)
        start = _pad(8 * n_parts)
        end = start + _pad(n_data)
        rest = self._take_from_area(sum(map(_pad, sizes))) if in_area else whole[end:]
        ends = itertools.accumulate(map(_pad, sizes), initial=0)
        arrays = [rest[at : at + size] for at, size in zip(ends, sizes, strict=False)]
        return pickle.loads(whole[start : start + n_data], buffers=arrays)

    def _read(self, size: int) -> memoryview:
        view, done = memoryview(bytearray(size)), 0
        while done < size:
            try:
                n_read = self._link.recv_into(view[done:])
            except TimeoutError as error:
                raise EOFError("a message stopped in its middle") from error
            if n_read == 0:
                raise EOFError("the connection was closed")
            done += n_read
        return view

    # The driver's side: several fits may have calls under way.

    def ask(self, *message: object) -> int:
        """Send a call; the number by which its reply is known."""
        number = next(_NUMBERS)
        with self._news:
            self._awaited.add(number)
        self.send((number, *message))
        return number

    def wait(self, number: int, timeout: float) -> Any:
        """The reply to a call; whoever waits reads for all."""
        deadline = time.monotonic() + timeout
        while True:
            with self._news:
                while self._reading and number not in self._replies:
                    left = deadline - time.monotonic()
                    if left <= 0.0 or not self._news.wait(left):
                        raise TimeoutError("no answer in time")
                if number in self._replies:
                    self._awaited.discard(number)
                    return self._replies.pop(number)
                self._reading = True
            try:
                other, reply = self.receive(deadline - time.monotonic())
                with self._news:
                    if other in self._awaited:
                        self._replies[other] = reply
            finally:
                with self._news:
                    self._reading = False
                    self._news.notify_all()

    def serve(self, answer: Callable[..., Any], refuse: Callable[[Exception], Any]) -> None:
        """The host's side: answer one call after the other until the driver is gone."""
        try:
            while True:
                number, *call = self.receive()
                reply = answer(*call)
                try:
                    self.send((number, reply), by_area=True)
                except (pickle.PicklingError, TypeError, AttributeError) as error:
                    self.send((number, refuse(error)))
        except (OSError, EOFError):
            self.close()

    def close(self) -> None:
        """End the connection, on both sides."""
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        self._link.close()


def _pad(size: int) -> int:
    """Bytes that a part takes."""
    return -(-size // 16) * 16


def _send_all(link: socket.socket, views: list[memoryview]) -> None:
    while views:
        sent = link.sendmsg(views[:_MOST_PARTS])
        while views and sent >= views[0].nbytes:
            sent -= views.pop(0).nbytes
        if sent:
            views[0] = views[0][sent:]


@contextmanager
def listen_here() -> Iterator[tuple[socket.socket, str]]:
    """A socket of this machine, and its address."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        # A name without a file belongs to the network namespace: a worker in another one is on another machine.
        address = f"\0committee-{secrets.token_hex(16)}"
        if sys.platform != "linux":
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="committee-", ignore_cleanup_errors=True))
            address = os.path.join(folder, "channel")
        listener.bind(address)
        listener.listen()
        yield listener, address


def connect_driver(address: str, token: bytes) -> socket.socket | None:
    """A connection to the driver's socket; None if the driver is on another machine."""
    link = socket.socket(socket.AF_UNIX)
    try:
        link.settimeout(_CONNECT_LIMIT)
        link.connect(address)
        link.sendall(token)
    except OSError:
        link.close()
        return None
    return link


def serve_driver(link: socket.socket, answer: Callable[..., Any], refuse: Callable[[Exception], Any]) -> None:
    """Answer the calls of a connection until the driver is gone; ``refuse`` where an answer cannot travel."""
    try:
        link.settimeout(_MESSAGE_LIMIT)
        _, files, _, _ = socket.recv_fds(link, 1, 1)
        channel = HostChannel(link, _map_area(files[0]) if files else None)
    except OSError:
        link.close()
        return
    channel.serve(answer, refuse)


def _map_area(file: int) -> mmap.mmap:
    try:
        return mmap.mmap(file, _AREA_BYTES)
    finally:
        os.close(file)


def _share_area(link: socket.socket) -> mmap.mmap | None:
    """Memory without a name, which ends with the two processes; None where there is no such thing."""
    if sys.platform != "linux":
        link.sendall(b"\0")
        return None
    file = os.memfd_create("committee", os.MFD_CLOEXEC)
    os.ftruncate(file, _AREA_BYTES)
    socket.send_fds(link, [b"\0"], [file])
    return _map_area(file)


def accept_host(listener: socket.socket, token: bytes) -> HostChannel | None:
    """The driver's end: the connection that knows the token."""
    deadline = time.monotonic() + _CONNECT_LIMIT
    while (left := deadline - time.monotonic()) > 0.0:
        listener.settimeout(left)
        try:
            link, _ = listener.accept()
        except OSError:
            return None
        link.settimeout(left)
        with suppress(OSError):
            if hmac.compare_digest(link.recv(TOKEN_BYTES, socket.MSG_WAITALL), token):
                return HostChannel(link, _share_area(link))
        link.close()
    return None
