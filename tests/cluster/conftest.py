"""Clusters of real processes, one of Dask and one of Ray for all tests, started when a test first needs them."""

import logging
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from committee.engines import block_boosting, cluster
from committee.engines.hosts import LocalHosts, executor_hosts
from committee.engines.hosts.executor_hosts import ExecutorHosts

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
    """Processes of this library are such forks too; tests of `committee.cluster(2)` start them as users do."""
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.backend import get_context

    def start_fork() -> Any:
        return ProcessPoolExecutor(max_workers=1, timeout=None, context=get_context(forks))

    monkeypatch.setattr(executor_hosts, "_start_process", start_fork)


@pytest.fixture(scope="session")
def dask_client(forks: str) -> Iterator[Any]:
    """The client of a Dask cluster of four processes on this machine; tests use as many of them as they need."""
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    dask = pytest.importorskip("dask", reason="needs the extra 'dask'")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    # A cluster on this machine gives up a worker that its nanny does not start again in time, however busy we are.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"})
    dask.config.set({"distributed.worker.multiprocessing-method": forks})
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "memory_limit": 0}
    with distributed.LocalCluster(n_workers=4, **options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[Any]:
    """Ray with 4 CPUs on this machine."""
    ray = pytest.importorskip("ray", reason="needs the extra 'ray', which has no wheel for every platform")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False, logging_level="ERROR")
    yield ray
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


@pytest.fixture(scope="module")
def steady_hosts(request: pytest.FixtureRequest) -> Iterator[Callable[[], Any]]:
    """Makes two hosts on Ray, once for all tests of a module that leave them as they are: two processes start each."""
    from committee.engines.hosts.ray_hosts import RayHosts

    with ExitStack() as stack:
        found: list[Any] = []

        def make() -> Any:
            if not found:
                request.getfixturevalue("ray_cluster")
                found.append(stack.enter_context(RayHosts(2, LIMIT)))
            return found[0]

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
