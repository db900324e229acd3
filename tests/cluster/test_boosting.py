"""Boosting on the workers of a cluster: the bytes of the fit in this process, whoever is lost on the way."""

import logging
import os
import signal
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

import committee
from committee.engines.hosts.recovering import RecoveringHosts
from tests.cluster.tables import MIXED, Y_CLASS, Y_VALUE, digest_model

Y_THREE = np.digitize(Y_VALUE, [0.0, 0.6])
FITS: dict[str, Callable[[], Any]] = {
    "classes": lambda: committee.HistGradientBoostingClassifier(max_iter=6, random_state=0).fit(MIXED, Y_CLASS),
    "several classes": lambda: committee.HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(MIXED, Y_THREE),
    "values": lambda: committee.HistGradientBoostingRegressor(max_iter=6, random_state=0).fit(MIXED, Y_VALUE),
    "absolute error": lambda: committee.GradientBoostingRegressor(
        n_estimators=4, loss="absolute_error", random_state=0
    ).fit(MIXED, Y_VALUE),
    "samples": lambda: committee.GradientBoostingClassifier(n_estimators=5, subsample=0.6, random_state=0).fit(
        MIXED, Y_CLASS
    ),
    "samples by gradient": lambda: committee.GradientBoostingClassifier(
        n_estimators=4, boosting="goss", random_state=0
    ).fit(MIXED, Y_CLASS),
    "stops early": lambda: committee.HistGradientBoostingClassifier(
        max_iter=12, early_stopping=True, n_iter_no_change=3, random_state=0
    ).fit(MIXED, Y_CLASS),
}


@pytest.fixture(scope="module")
def alone() -> dict[str, str]:
    return {name: digest_model(fit()) for name, fit in FITS.items()}


@pytest.fixture(autouse=True)
def no_hang() -> Any:
    """Fail rather than hang."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("no end within half an hour"))
    signal.alarm(1800)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("engine", "n_workers"), [("executor", 2), ("dask", 3), ("ray", 2)])
def test_equal_to_the_fit_in_this_process(
    engine: str, n_workers: int, make_workers: Any, alone: dict[str, str]
) -> None:
    with committee.cluster(make_workers(engine, n_workers), n_workers=n_workers, distribute="always") as active:
        assert {name: digest_model(fit()) for name, fit in FITS.items()} == alone
        assert active.traffic.made >= n_workers
        assert active.traffic.lost == 0


def kill_at(hosts: RecoveringHosts, number: int, monkeypatch: pytest.MonkeyPatch, reduce: str = "") -> None:
    """SIGKILL for the worker that gets the call of a number (of those with a reduction), right after it was sent."""
    pids = {handle.name: handle.submit("ping").result(600.0) for handle in hosts.list_hosts()}
    left = [number]
    for handle in hosts.list_hosts():

        def submit(method: str, *args: object, handle: Any = handle, plain: Any = handle.submit) -> Any:
            pending = plain(method, *args)
            if method in ("step", "run_task") and reduce in ("", getattr(args[0], "reduce", "")):
                left[0] -= 1
                if left[0] == 0:
                    os.kill(pids[handle.name], signal.SIGKILL)
            return pending

        monkeypatch.setattr(handle, "submit", submit)


@pytest.mark.parametrize(("engine", "n_kills"), [("dask", 10), ("ray", 3)])  # Ray starts a process in seconds
def test_worker_killed_in_mid_fit(
    engine: str, n_kills: int, make_workers: Any, alone: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with committee.cluster(make_workers(engine, 2), n_workers=2, distribute="always") as active:
        with monkeypatch.context() as patch:
            # A fit that begins before the other worker is back goes by steps as well, so that there are enough of them.
            patch.setattr(type(active.hosts), "lie_together", lambda *_: False)
            for kill in range(n_kills):
                name = ("values", "classes", "several classes")[kill % 3]
                kill_at(active.hosts, 4 + 2 * kill, monkeypatch)
                assert digest_model(FITS[name]()) == alone[name]
                assert active.traffic.lost == kill + 1
        kill_at(active.hosts, 4, monkeypatch)  # the worker that is left runs whole rounds
        assert digest_model(FITS["several classes"]()) == alone["several classes"]


@pytest.mark.parametrize("engine", ["executor", "dask", "ray"])
def test_one_worker_runs_whole_rounds(
    engine: str, make_workers: Any, alone: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is killed in the middle of them, and beside another fit."""
    with committee.cluster(make_workers(engine, 1), n_workers=1, distribute="always") as active:
        assert digest_model(FITS["classes"]()) == alone["classes"]
        steps = active.traffic.rounds
        with monkeypatch.context() as patch:
            patch.setattr(type(active.hosts), "lie_together", lambda *_: False)
            assert digest_model(FITS["classes"]()) == alone["classes"]
        assert active.traffic.rounds - steps > steps + 5 * 6  # six trees of ten steps and more
        for lost, name in enumerate(("samples", "several classes", "stops early")):
            kill_at(active.hosts, 1, monkeypatch, "together")  # how many calls there are depends on their seconds
            assert digest_model(FITS[name]()) == alone[name]
            assert active.traffic.lost == lost + 1
        found: dict[str, str] = {}
        fit_at_once(("several classes", "samples"), found)
        assert found == {name: alone[name] for name in found}
        assert len(found) == 2


def fit_at_once(names: tuple[str, ...], found: dict[str, str]) -> None:
    """Fits in threads, and their digests."""

    def fit(name: str) -> None:
        found[name] = digest_model(FITS[name]())

    threads = [threading.Thread(target=copy_context().run, args=(fit, name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("engine", ["executor", "dask", "ray"])
def test_two_fits_at_once(engine: str, make_workers: Any, alone: dict[str, str]) -> None:
    names: tuple[str, ...] = ("several classes", "samples")
    found: dict[str, str] = {}
    with committee.cluster(make_workers(engine, 2), n_workers=2, distribute="always") as active:
        assert len(active.hosts.list_hosts()) == 2
        fit_at_once(names, found)
        assert active.traffic.made >= 4  # both were there
    assert found == {name: alone[name] for name in names}


@pytest.mark.parametrize("engine", ["executor", "dask", "ray"])
def test_forest_with_a_killed_worker(engine: str, make_workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_classification(300, random_state=0)
    plain = committee.RandomForestClassifier(16, random_state=0).fit(X, y)
    with committee.cluster(make_workers(engine, 2), n_workers=2, distribute="always") as active:
        kill_at(active.hosts, 4, monkeypatch)
        forest = committee.RandomForestClassifier(16, random_state=0).fit(X, y)
        assert active.traffic.lost == 1
    assert np.array_equal(forest.predict_proba(X), plain.predict_proba(X))


def test_small_fits_stay_here_and_the_log_says_so(caplog: pytest.LogCaptureFixture, alone: dict[str, str]) -> None:
    with caplog.at_level(logging.INFO, "committee"), committee.cluster(1):
        assert digest_model(FITS["values"]()) == alone["values"]
    assert "Boosting runs in this process" in caplog.text
