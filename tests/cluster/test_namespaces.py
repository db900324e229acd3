"""Dask workers in network namespaces of their own: nothing is shared with the driver but a link, which may be cut.

The namespaces have no way to one another, since workers never talk among themselves. Needs Linux, the command ``ip``
and the right to make namespaces; elsewhere the tests are skipped.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import committee
from committee.engines.hosts.recovering import RecoveringHosts
from tests.cluster.tables import MIXED, Y_CLASS, digest_model


@dataclass(frozen=True)
class Namespace:
    """A namespace with one link to this one: x.x.x.1 here, x.x.x.2 there."""

    number: int

    @property
    def name(self) -> str:
        return f"committee{self.number}"

    @property
    def link(self) -> str:
        return f"cmt{self.number}"

    def address(self, side: int) -> str:
        return f"10.77.{self.number}.{side}"

    def open(self) -> None:
        run("netns", "add", self.name)
        run("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("addr", "add", self.address(1) + "/24", "dev", self.link)
        run("link", "set", self.link, "up")
        run("-n", self.name, "addr", "add", self.address(2) + "/24", "dev", "eth0")
        run("-n", self.name, "link", "set", "eth0", "up")
        run("-n", self.name, "link", "set", "lo", "up")
        run("-n", self.name, "route", "add", "default", "via", self.address(1))

    def cut(self) -> None:
        """No packet goes through any more, and nobody is told."""
        run("link", "set", self.link, "down")

    def close(self) -> None:
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", self.link], capture_output=True, check=False)


def run(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], capture_output=True, check=True)


@pytest.fixture
def namespaces() -> Iterator[list[Namespace]]:
    """Two namespaces."""
    if sys.platform != "linux" or shutil.which("ip") is None:
        pytest.skip("needs the command ip of Linux")
    base = os.getpid() % 120
    with ExitStack() as stack:
        made = [Namespace(2 * base + k) for k in range(2)]
        for one in made:
            stack.callback(one.close)
            try:
                one.open()
            except subprocess.CalledProcessError as error:
                pytest.skip(f"network namespaces cannot be made here: {error.stderr.decode().strip()}")
        yield made


@pytest.fixture
def client(namespaces: list[Namespace]) -> Iterator[Any]:
    """A Dask cluster with a worker in each namespace; its scheduler is here."""
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    with ExitStack() as stack:
        options = {"processes": True, "dashboard_address": None, "host": namespaces[0].address(1)}
        cluster = stack.enter_context(distributed.LocalCluster(n_workers=0, **options))
        found = stack.enter_context(distributed.Client(cluster))
        folders = os.pathsep.join([str(Path(committee.__file__).parents[1]), *filter(None, sys.path)])
        for one in namespaces:
            command = ["ip", "netns", "exec", one.name, sys.executable, "-m", "distributed.cli.dask_worker"]
            command += [cluster.scheduler_address, "--host", one.address(2), "--nthreads", "1", "--no-nanny"]
            worker = subprocess.Popen(
                [*command, "--no-dashboard", "--death-timeout", "600"],
                env={**os.environ, "PYTHONPATH": folders},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(worker.wait)
            stack.callback(worker.kill)
        found.wait_for_workers(2, timeout=600)
        yield found


def fit() -> str:
    return digest_model(committee.HistGradientBoostingClassifier(max_iter=6, random_state=0).fit(MIXED, Y_CLASS))


def cut_at(hosts: RecoveringHosts, number: int, namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the link before the step of a number."""
    left, plain = [number], hosts.call

    def call(*args: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            namespace.cut()
        return plain(*args, **options)

    monkeypatch.setattr(hosts, "call", call)


def test_a_worker_that_is_cut_off(client: Any, namespaces: list[Namespace], monkeypatch: pytest.MonkeyPatch) -> None:
    alone = fit()
    with committee.cluster(client, distribute="always") as active:
        assert fit() == alone
        assert len(active.hosts.list_hosts()) == 2
        assert not any(handle.is_direct for handle in active.hosts.list_hosts())  # as on another machine
        assert active.traffic.lost == 0
        active.hosts.time_limit = 4.0
        cut_at(active.hosts, 9, namespaces[1], monkeypatch)
        assert fit() == alone
        assert active.traffic.lost >= 1
