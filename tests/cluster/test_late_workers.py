"""A worker that comes in the middle of a boosted fit: it takes over blocks, and the model has the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import committee
from committee.engines import block_boosting
from committee.engines.hosts.recovering import RecoveringHosts
from tests.cluster.tables import MIXED, Y_CLASS, Y_VALUE, digest_model
from tests.cluster.test_boosting import FITS

ROUND = 1
"""The round after which the worker comes."""
LIMIT = 600.0


class LateWorker:
    """Adds a worker at the end of a round, and notes which blocks it is asked for in each step, and which it has."""

    def __init__(self, hosts: RecoveringHosts, start: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
        self.hosts, self.start = hosts, start
        self.n_rounds, self.name = 0, ""
        self.steps: list[list[int]] = []
        self.held: list[set[int]] = []
        plain = block_boosting._BlockCalls.keep

        def keep(calls: Any, *args: Any) -> None:
            plain(calls, *args)
            self.end_round(calls._fit)

        monkeypatch.setattr(block_boosting._BlockCalls, "keep", keep)

    def end_round(self, fit: str) -> None:
        self.n_rounds += 1
        if self.n_rounds == ROUND:
            assert len(self.hosts.list_hosts()) == 1
            self.start()
            self.hosts._add(self.hosts.pool.start_hosts(self.hosts._hosts, LIMIT))
            _, late = self.hosts.list_hosts()
            self.name = late.name
            plain = late.submit

            def submit(method: str, *args: Any) -> Any:
                if method == "step":
                    self.steps.append(list(args[0].blocks))
                return plain(method, *args)

            late.submit = submit  # type: ignore[method-assign]
        elif self.name:
            self.held.append({block for name, block in self.hosts._fits[fit].made if name == self.name})

    def check(self, n_blocks: int) -> None:
        """It had its share from the next round on, and answered each step for it."""
        share = set(range(n_blocks // 2, n_blocks))
        assert self.held
        assert all(held == share for held in self.held)
        assert len(self.steps) > 2 * len(self.held)
        assert all(set(step) == share for step in self.steps)
        assert self.hosts.traffic.made == n_blocks + len(share)
        assert self.hosts.traffic.lost == 0


def add_one_more(pool: Any, name: str) -> Callable[[], None]:
    """A function that lets a pool use one worker more."""
    return lambda: setattr(pool, name, getattr(pool, name) + 1)


@pytest.mark.parametrize("name", ["values", "several classes", "absolute error", "samples", "samples by gradient"])
def test_processes(name: str, make_workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = digest_model(FITS[name]())
    with committee.cluster(make_workers("executor", 1), distribute="always") as active:
        late = LateWorker(active.hosts, add_one_more(active.hosts.pool, "_n_processes"), monkeypatch)
        assert digest_model(FITS[name]()) == expected
        late.check(2)


def test_ray(make_workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = digest_model(FITS["several classes"]())
    with committee.cluster(make_workers("ray", 1), n_workers=1, distribute="always") as active:
        late = LateWorker(active.hosts, add_one_more(active.hosts.pool, "_n_workers"), monkeypatch)
        assert digest_model(FITS["several classes"]()) == expected
        late.check(2)


def test_worker_that_joins_a_dask_cluster(forks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads and bins the partitions of its blocks by itself."""
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    dask = pytest.importorskip("dask", reason="needs the extra 'dask'")
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    dask.config.set({"distributed.worker.multiprocessing-method": forks})
    fit = committee.HistGradientBoostingRegressor(max_iter=6, random_state=0).fit
    expected = digest_model(fit(MIXED, Y_VALUE))
    parts = dd.from_pandas(MIXED.assign(value=Y_VALUE), npartitions=5, sort=False)
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "memory_limit": 0}
    with (
        distributed.LocalCluster(n_workers=1, **options) as cluster,
        distributed.Client(cluster) as client,
        committee.cluster(client, distribute="always") as active,
    ):

        def start() -> None:
            cluster.scale(2)
            client.wait_for_workers(2, timeout=LIMIT)

        late = LateWorker(active.hosts, start, monkeypatch)
        assert digest_model(fit(parts, "value")) == expected
        late.check(2)


def test_a_second_worker_takes_half_of_many_rows(make_workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_boosting, "_BLOCK_ROWS", len(MIXED) // 4)
    fit = committee.HistGradientBoostingClassifier(max_iter=5, random_state=0).fit
    expected = digest_model(fit(MIXED, Y_CLASS))
    with committee.cluster(make_workers("executor", 1), distribute="always") as active:
        late = LateWorker(active.hosts, add_one_more(active.hosts.pool, "_n_processes"), monkeypatch)
        assert digest_model(fit(MIXED, Y_CLASS)) == expected
        late.check(4)
