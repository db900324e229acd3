"""The channel between a driver and the hosts of its machine."""

import os
import pickle
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from committee.engines.hosts import LocalHosts
from committee.engines.hosts import channel as module
from committee.engines.hosts.channel import HostChannel, accept_host, connect_driver, listen_here
from committee.engines.hosts.direct import DirectHandle
from committee.engines.hosts.host import BlockCommand, Host, StepRequest, pack_object
from committee.engines.hosts.pool import HostLostError
from committee.exceptions import ClusterError
from tests.cluster.block_histograms import MakeHistograms, digest_fit

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs sockets of the operating system")


@pytest.fixture
def ends() -> Iterator[tuple[HostChannel, HostChannel]]:
    """Two ends of a channel without shared memory."""
    pair = [HostChannel(link) for link in socket.socketpair()]
    yield pair[0], pair[1]
    for end in pair:
        end.close()


class HostHere:
    """A handle whose host is a thread of this process."""

    name, keeps_state = "here", True

    def __init__(self, *, reachable: bool = True) -> None:
        self.host, self.reachable, self.calls, self.discarded = Host(1), reachable, [], False

    def submit(self, method: str, *args: Any) -> Any:
        self.calls.append(method)
        if method == "open_channel" and not self.reachable:
            args = (f"\0nobody-{os.getpid()}", args[1])
        reply = getattr(self.host, method)(*args)
        return type("Reply", (), {"result": lambda _, timeout: reply})()

    def discard(self) -> None:
        self.discarded = True


class Echo:
    """Answers a step with the arrays that came with it."""

    def run(self, name: str, args: tuple[Any, ...]) -> Any:
        if name == "refuse":
            return (threading.Lock(),)
        return tuple(array * 2 for array in args)


def make_handle(*, reachable: bool = True) -> tuple[DirectHandle, HostHere]:
    inner = HostHere(reachable=reachable)
    handle = DirectHandle(inner)
    maker = pack_object(make_echo)
    assert handle.submit("step", StepRequest("f", 0, [0], None, "list", False, maker, [])).result(9.0).blocks == [0]
    return handle, inner


def make_echo(block: int) -> Echo:
    return Echo()


def ask(handle: DirectHandle, name: str, *arrays: Any) -> Any:
    return handle.submit("step", StepRequest("f", 0, [0], BlockCommand(name, arrays, None), "sum", False))


@pytest.mark.parametrize("size", [0, 1, 3, 1000, 3_000_000])
def test_messages_arrive(ends: tuple[HostChannel, HostChannel], size: int) -> None:
    arrays = [np.arange(size, dtype=kind) for kind in (np.uint8, np.int64, np.float64)]
    arrays.append(np.asfortranarray(np.ones((3, size))))
    thread = threading.Thread(target=ends[0].send, args=(("name", *arrays),))
    thread.start()
    name, *got = ends[1].receive(30.0)
    thread.join()
    assert name == "name"
    for one, other in zip(got, arrays, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
        assert one.ctypes.data % one.itemsize == 0


def test_no_message_and_no_peer(ends: tuple[HostChannel, HostChannel]) -> None:
    with pytest.raises(TimeoutError):
        ends[0].receive(0.0)
    ends[1].close()
    with pytest.raises(EOFError):
        ends[0].receive(30.0)
    with pytest.raises(OSError):
        ends[0].send(np.zeros(10_000_000))


def test_replies_reach_those_who_asked(ends: tuple[HostChannel, HostChannel]) -> None:
    driver, host = ends
    first, second, third = driver.ask("a"), driver.ask("b"), driver.ask("c")
    for number in (third, first, second):
        host.send((number, f"reply {number}"))
    assert [driver.wait(number, 30.0) for number in (second, third, first)] == [
        f"reply {number}" for number in (second, third, first)
    ]
    found: dict[int, str] = {}
    numbers = [driver.ask("again") for _ in range(20)]
    threads = [threading.Thread(target=lambda n=n: found.update({n: driver.wait(n, 30.0)})) for n in numbers]
    for thread in threads:
        thread.start()
    for number in reversed(numbers):
        host.send((number, f"reply {number}"))
    for thread in threads:
        thread.join()
    assert found == {number: f"reply {number}" for number in numbers}
    with pytest.raises(TimeoutError):
        driver.wait(driver.ask("nobody answers"), 0.01)


@pytest.mark.parametrize("size", [10, 100_000])
def test_steps_take_the_channel(size: int) -> None:
    handle, inner = make_handle()
    array = np.arange(size)
    for _ in range(3):
        (answer,) = ask(handle, "double", array).result(30.0).answer
        np.testing.assert_array_equal(answer, 2 * array)
    assert handle.is_direct
    assert inner.calls == ["step", "open_channel"]
    handle.discard()
    assert inner.discarded


def test_arrays_that_nobody_took_are_not_written_over() -> None:
    handle, _ = make_handle()
    pending = [ask(handle, "double", np.full(1000, k)) for k in range(5)]
    for k in reversed(range(5)):
        assert (pending[k].result(30.0).answer[0] == 2 * k).all()
    handle.discard()


def test_more_than_the_shared_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AREA_BYTES", 4096)
    handle, _ = make_handle()
    array = np.arange(20_000)
    for some in (array, array[:5], array):
        np.testing.assert_array_equal(ask(handle, "double", some).result(30.0).answer[0], 2 * some)
    handle.discard()


def test_answer_that_cannot_be_sent() -> None:
    handle, _ = make_handle()
    failure = ask(handle, "refuse").result(30.0).failure
    assert "cannot be sent" in failure.what
    assert (ask(handle, "double", np.ones(3)).result(30.0).answer[0] == 2.0).all()
    handle.discard()


def test_unreachable_host_stays_with_its_engine() -> None:
    handle, inner = make_handle(reachable=False)
    for _ in range(2):
        assert (ask(handle, "double", np.ones(3)).result(30.0).answer[0] == 2.0).all()
    assert not handle.is_direct
    assert inner.calls == ["step", "open_channel", "step", "step"]


def test_interrupt_gives_up_the_channel_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    handle, inner = make_handle()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(HostChannel, "wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ask(handle, "double", np.ones(3)).result(30.0)
    assert not handle.is_direct
    assert (ask(handle, "double", np.ones(3)).result(30.0).answer[0] == 2.0).all()
    assert inner.calls == ["step", "open_channel", "open_channel"]
    handle.discard()


def test_lost_host() -> None:
    handle, _ = make_handle()
    pending = ask(handle, "double", np.ones(3))
    pending.result(30.0)
    assert handle._channel is not None
    handle._channel._link.shutdown(socket.SHUT_RDWR)  # as if the process had died
    with pytest.raises(HostLostError):
        ask(handle, "double", np.ones(3)).result(30.0)


def test_strangers_are_turned_away() -> None:
    with listen_here() as (listener, address):
        stranger = connect_driver(address, b"x" * 32)
        known = connect_driver(address, b"y" * 32)
        assert stranger is not None
        assert known is not None
        accepted = accept_host(listener, b"y" * 32)
        assert accepted is not None
        stranger.settimeout(30.0)
        assert stranger.recv(1) == b""
        accepted.close()
        known.close()
        stranger.close()


@pytest.mark.parametrize("engine", ["executor", "dask", "ray"])
def test_workers_of_this_machine_are_called_directly(engine: str, make_hosts: Any) -> None:
    hosts = make_hosts(engine)
    digest_fit(hosts, "fit", MakeHistograms())
    assert all(handle.is_direct for handle in hosts.list_hosts())


@pytest.mark.parametrize("trap", ["", "kill"])
def test_steps_over_the_connections_of_dask(trap: str, make_hosts: Any, tmp_path: Path) -> None:
    """As to workers of other machines: pickles travel, errors are answers, and a killed worker is noticed."""
    hosts = make_hosts("dask")
    hosts.direct = False
    make = MakeHistograms(marker=str(tmp_path / "kill"), trap="kill") if trap else MakeHistograms()
    assert digest_fit(hosts, "fit", make) == digest_fit(LocalHosts(), "fit", MakeHistograms())
    assert not any(handle.is_direct for handle in hosts.list_hosts())
    assert hosts.traffic.lost == bool(trap)
    hosts.open("fit", MakeHistograms(), 4)
    with pytest.raises(ClusterError, match=r"Block \d \(part-\d\.parquet\) failed in 'sum'.*there is no 'sum'"):
        hosts.call("fit", "sum", reduce="sum", changes=False)
    assert hosts.traffic.lost == bool(trap)
    hosts.close("fit")


class Secretive:
    """A state whose answers cannot be pickled."""

    def __init__(self, block: int) -> None:
        self.block = block

    def run(self, name: str, args: tuple[Any, ...]) -> Any:
        return lambda: (name, args, self.block)


def test_an_answer_that_cannot_be_packed_is_a_failure() -> None:
    host = Host()
    request = StepRequest("fit", 0, [0], None, "list", False, pack_object(Secretive), [])
    assert pickle.loads(host.step_packed(pickle.dumps(request))).failure is None
    asked = StepRequest("fit", 0, [0], BlockCommand("look", (), None), "list", False)
    failure = pickle.loads(host.step_packed(pickle.dumps(asked))).failure
    assert failure.what == "gave an answer that cannot be sent"
