"""Clusters of real processes, one of Dask and one of Ray for all tests, started when a test first needs them."""

import logging
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from committee.engines import block_boosting, cluster
from committee.engines.hosts import LocalHosts, executor_hosts
from committee.engines.hosts.executor_hosts import ExecutorHosts
from tests.cluster.spare_actors import keep_actors

#: Seconds without an answer after which a host is given up: only frozen workers get there, however busy we are.
LIMIT = 600.0
#: What a worker imports, which takes longer than most of what it is asked here.
IMPORTS = ["distributed", "pandas", "pyarrow", "committee.engines.hosts.host", "committee.ensembles.boosting.hist"]


@pytest.fixture(autouse=True)
def _several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of several workers has several blocks of the small tables here, as of large ones."""
    monkeypatch.setattr(block_boosting, "_FEW_ROWS", 0)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers may take longer to start than users wait: this machine may be busy."""
    connect = cluster.connect_hosts
    monkeypatch.setattr(
        cluster, "connect_hosts", lambda workers, n_workers, limit: connect(workers, n_workers, max(limit, LIMIT))
    )


@pytest.fixture(scope="session")
def forks() -> str:
    """The way to start processes from one that has imported what workers need, before any thread ran in it."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return "spawn"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTS)
    first = context.Process(target=os.getpid)
    first.start()
    first.join()
    return "forkserver"


@pytest.fixture(scope="session")
def fork_context(forks: str) -> Any:
    """The same for executors that a test makes itself."""
    return multiprocessing.get_context(forks)


@pytest.fixture
def quick_processes(forks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of this library are such forks too; test_boosting_blocks starts them as users do."""
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.backend import get_context

    def start_fork() -> Any:
        return ProcessPoolExecutor(max_workers=1, timeout=None, context=get_context(forks))

    monkeypatch.setattr(executor_hosts, "_start_process", start_fork)


class SharedClusters:
    """Clusters that tests share, started when one first needs them."""

    def __init__(self) -> None:
        self.stack, self.found = ExitStack(), dict[str, Any]()

    def find(self, name: str, start: Callable[[], AbstractContextManager[Any]]) -> Any:
        if name not in self.found:
            self.found[name] = self.stack.enter_context(start())
        return self.found[name]

    def end(self) -> None:
        self.found.clear()
        self.stack.close()


_SHARED = SharedClusters()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Clusters end with the last test of this folder: processes that wait for work take time from the other tests."""
    yield
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        _SHARED.end()


@pytest.fixture
def dask_client(forks: str) -> Any:
    """The client of a Dask cluster of four processes on this machine; tests use as many of them as they need."""
    return _SHARED.find("dask", partial(start_dask, forks))


@contextmanager
def start_dask(forks: str) -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    dask = pytest.importorskip("dask", reason="needs the extra 'dask'")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    # A cluster on this machine gives up a worker that its nanny does not start again in time, however busy we are.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"})
    dask.config.set({"distributed.worker.multiprocessing-method": forks})
    # Nobody looks at its profiles and pictures, for which four workers that wait take a seventh of a core.
    dask.config.set({"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"})
    dask.config.set({"distributed.admin.system-monitor.interval": "10s"})
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "memory_limit": 0}
    with distributed.LocalCluster(n_workers=4, **options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def ray_cluster() -> Any:
    """Ray with 4 CPUs on this machine; tests use the actors that others have left."""
    return _SHARED.find("ray", start_ray)


@contextmanager
def start_ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="needs the extra 'ray', which has no wheel for every platform")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray.init(
        num_cpus=4,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        logging_level="ERROR",
        # Workers get their share of a busy machine: at the lowest priority they are ended before they have started.
        _system_config={"worker_niceness": 0, "worker_register_timeout_seconds": 600},
    )
    try:
        with keep_actors():
            yield ray
    finally:
        ray.shutdown()


@pytest.fixture
def make_hosts(request: pytest.FixtureRequest, quick_processes: None) -> Iterator[Callable[..., Any]]:
    """Makes groups of hosts by the name of the engine and the number of workers; they end with the test."""
    with ExitStack() as stack:

        def make(engine: str, n_workers: int = 2, time_limit: float = LIMIT) -> Any:
            if engine == "local":
                return LocalHosts()
            if engine == "executor":
                return stack.enter_context(ExecutorHosts(n_processes=n_workers, time_limit=time_limit))
            if engine == "dask":
                from committee.engines.hosts.dask_hosts import DaskHosts

                client = request.getfixturevalue("dask_client")
                client.wait_for_workers(n_workers, timeout=600)
                return stack.enter_context(DaskHosts(client, n_workers, time_limit))
            from committee.engines.hosts.ray_hosts import RayHosts

            request.getfixturevalue("ray_cluster")
            return stack.enter_context(RayHosts(n_workers, time_limit))

        yield make


@pytest.fixture
def make_workers(request: pytest.FixtureRequest, quick_processes: None) -> Callable[[str, int], Any]:
    """What `committee.cluster` takes, by the name of the engine and the number of workers."""

    def make(engine: str, n_workers: int) -> Any:
        if engine == "dask":
            client = request.getfixturevalue("dask_client")
            client.wait_for_workers(n_workers, timeout=600)
            return client
        return request.getfixturevalue("ray_cluster") if engine == "ray" else n_workers

    return make
