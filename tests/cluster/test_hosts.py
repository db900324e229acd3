"""Groups of hosts: the same digest whatever becomes of the workers, and never a hang."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import make_regression

from committee import GradientBoostingRegressor, cluster
from committee.engines.hosts import LocalHosts
from committee.engines.hosts.executor_hosts import ExecutorHosts
from committee.engines.hosts.recovering import RecoveringHosts
from committee.exceptions import ClusterError, DataError
from tests.cluster.block_histograms import MakeHistograms, digest_fit

ENGINES = ["executor", "dask", "ray"]
BOUND = 1800.0
"""Seconds that no fit here takes on the busiest machine: a hang would."""


@pytest.fixture(scope="module")
def expected() -> str:
    return digest_fit(LocalHosts(), "expected", MakeHistograms())


@pytest.fixture(autouse=True)
def no_hang() -> Any:
    """Fail rather than hang."""

    def give_up(*_: object) -> None:
        pytest.fail(f"no end within {BOUND:g} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(int(BOUND))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("engine", ENGINES)
def test_equal_on_every_engine(engine: str, make_hosts: Any, expected: str) -> None:
    hosts = make_hosts(engine)
    made = hosts.traffic.made
    assert digest_fit(hosts, "fit", MakeHistograms()) == expected
    assert hosts.traffic.lost == 0
    assert hosts.traffic.made == made + 4


class CountedArgument:
    """Counts how often it is pickled."""

    n_pickled = 0

    def __reduce__(self) -> Any:
        CountedArgument.n_pickled += 1
        return int, (3,)


def test_a_command_is_pickled_once_for_all_hosts(make_hosts: Any) -> None:
    hosts = make_hosts("executor")
    hosts.open("fit", MakeHistograms(), 4)
    workers = {pid for pid, _ in hosts.call("fit", "where", reduce="list", changes=False)}
    before = CountedArgument.n_pickled
    (counts,) = hosts.call("fit", "count", (CountedArgument(),), reduce="sum", changes=False)
    assert len(workers) > 1
    assert CountedArgument.n_pickled == before + 1
    assert counts.sum() == sum(n for _, n in hosts.call("fit", "where", reduce="list", changes=False))
    hosts.close("fit")


@pytest.mark.parametrize("engine", ENGINES)
def test_worker_killed_in_mid_step(engine: str, make_hosts: Any, expected: str, tmp_path: Path) -> None:
    hosts = make_hosts(engine)
    assert digest_fit(hosts, "fit", MakeHistograms(marker=str(tmp_path / "kill"))) == expected
    assert hosts.traffic.lost == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_all_workers_killed(engine: str, make_hosts: Any, expected: str, tmp_path: Path) -> None:
    hosts = make_hosts(engine)
    make = MakeHistograms(marker=str(tmp_path / "all"), trap="everyone")
    assert digest_fit(hosts, "fit", make) == expected
    assert hosts.traffic.lost == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_frozen_worker(engine: str, make_hosts: Any, expected: str, tmp_path: Path) -> None:
    hosts = make_hosts(engine, time_limit=5.0)
    make = MakeHistograms(marker=str(tmp_path / "frozen"), trap="stop")
    frozen: set[int] = set()
    try:
        hosts.open("pids", MakeHistograms(), 4)
        frozen = {pid for pid, _ in hosts.call("pids", "where", reduce="list", changes=False)}
        hosts.close("pids")
        assert digest_fit(hosts, "fit", make) == expected
        assert hosts.traffic.lost >= 1
    finally:
        for pid in frozen:  # a worker of Dask is not ended with its actor
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                continue


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_worker_added_late(engine: str, make_hosts: Any) -> None:
    hosts = make_hosts(engine, 1)
    hosts.open("fit", MakeHistograms(), 4)
    before = {pid for pid, _ in hosts.call("fit", "where", reduce="list", changes=False)}
    assert len(before) == 1
    hosts.pool._n_workers = 2  # as if it came now
    deadline = time.monotonic() + BOUND
    after = before
    while len(after) == 1 and time.monotonic() < deadline:
        step = hosts.call("fit", "count", reduce="sum", changes=False)
        assert step[0].sum() == 4 * 400
        after = {pid for pid, _ in hosts.call("fit", "where", reduce="list", changes=False)}
    hosts.close("fit")
    assert len(after) == 2
    assert before < after


@pytest.mark.parametrize("engine", ENGINES)
def test_two_fits_at_once(engine: str, make_hosts: Any, expected: str) -> None:
    hosts = make_hosts(engine)
    digests: dict[str, str] = {}

    def fit(key: str) -> None:
        digests[key] = digest_fit(hosts, key, MakeHistograms())

    threads = [threading.Thread(target=fit, args=(key,)) for key in ("one", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)
    assert digests == {"one": expected, "other": expected}


@pytest.mark.parametrize("engine", ENGINES)
def test_worker_without_data(engine: str, make_hosts: Any) -> None:
    hosts = make_hosts(engine)
    alone = digest_fit(LocalHosts(), "alone", MakeHistograms(), n_blocks=1)
    assert digest_fit(hosts, "fit", MakeHistograms(), n_blocks=1) == alone


@pytest.mark.parametrize("engine", ENGINES)
def test_errors_name_the_block(engine: str, make_hosts: Any) -> None:
    hosts = make_hosts(engine)
    with pytest.raises(ClusterError, match=r"Block 2 \(part-2\.parquet\) could not be loaded.*the file is damaged"):
        hosts.open("bad", MakeHistograms(bad=2), 4)
    hosts.open("fit", MakeHistograms(), 4)
    with pytest.raises(ClusterError, match=r"Block \d \(part-\d\.parquet\) failed in 'sum'.*there is no 'sum'"):
        hosts.call("fit", "sum", reduce="sum", changes=False)
    assert hosts.traffic.lost == 0  # an error is an answer, not a dead worker
    assert hosts.call("fit", "largest", reduce="max", changes=False) == (0,)
    hosts.close("fit")


def divide(item: int, shared: int) -> float:
    if item == 13:
        raise DataError("thirteen is not allowed")
    return item / shared


def kill_once(item: int, marker: str) -> int:
    if item == 3:
        try:
            Path(marker).touch(exist_ok=False)
        except FileExistsError:
            return item
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def kill_always(item: int, _: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("engine", ENGINES)
def test_tasks(engine: str, make_hosts: Any, tmp_path: Path) -> None:
    hosts = make_hosts(engine)
    done: list[int] = []
    assert hosts.map(divide, range(8), 2, done.append) == [k / 2 for k in range(8)]
    assert done[-1] == 8
    assert hosts.map(str, range(3)) == ["0", "1", "2"]
    with pytest.raises(DataError, match="thirteen"):
        hosts.map(divide, range(10, 16), 1)
    assert hosts.traffic.lost == 0
    assert hosts.map(kill_once, range(6), str(tmp_path / "killed")) == list(range(6))
    assert hosts.traffic.lost == 1


def test_task_that_kills_every_worker(make_hosts: Any) -> None:
    with pytest.raises(ClusterError, match="Task 0 was given to 4 workers"):
        make_hosts("executor").map(kill_always, [0], "")


def test_executor_of_several_processes_runs_tasks_only(fork_context: Any) -> None:
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(2, mp_context=fork_context) as executor, ExecutorHosts([executor]) as hosts:
        assert hosts.map(abs, [-1, -2, 3]) == [1, 2, 3]
        assert not hosts.keeps_state


@pytest.mark.parametrize("in_blocks", [False, True])
def test_executor_that_is_dead(in_blocks: bool, fork_context: Any) -> None:
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(1, mp_context=fork_context) as executor, ExecutorHosts([executor]) as hosts:
        with pytest.raises(Exception, match="terminated abruptly"):
            executor.submit(os.abort).result(600.0)
        with pytest.raises(ClusterError, match="an executor that has lost a process starts no other: pass new"):
            _ = hosts.open("fit", MakeHistograms(), 2) if in_blocks else hosts.map(abs, [1])


class NoWorkers:
    """A pool whose workers do not come."""

    description = "an empty pool"

    def start_hosts(self, live: object, timeout: float) -> list[Any]:
        return []

    def explain_none(self, limit: float) -> str:
        return "nobody came"

    def close(self) -> None:
        pass


def test_boosting_without_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    pool: Any = NoWorkers()
    monkeypatch.setattr("committee.engines.cluster.connect_hosts", lambda *_: RecoveringHosts(pool))
    X, y = make_regression(50, random_state=0)
    with cluster(2), pytest.raises(ClusterError, match="No worker of an empty pool is left, nobody came"):
        GradientBoostingRegressor(n_estimators=2).fit(X, y)
