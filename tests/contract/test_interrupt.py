"""Contract 7: Ctrl-C stops a long fit soon and leaves the estimator as it was.

Soon means: at the next poll, and polls come after a bounded number of values. No test here reads a clock.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from committee import (
    AdaBoostClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    _core,
)
from committee.ensembles.progress import listen
from tests.interrupts import count_polls, interrupt_at_poll

HANG = 600.0  # seconds after which a test gives up; no result depends on it
RNG = np.random.default_rng(0)
TABLE = RNG.random(size=(2**17, 8), dtype=np.float32)
CLASSES = RNG.integers(0, 2, size=len(TABLE))

# Few trees: what counts is how often each of them looks. The median's trees take long when they are deep.
MODELS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "classes": (DecisionTreeClassifier, {}),
    "values": (DecisionTreeRegressor, {}),
    "best first": (DecisionTreeClassifier, {"max_leaf_nodes": 5000}),
    "exact": (DecisionTreeRegressor, {"exact": True}),
    "medians": (DecisionTreeRegressor, {"criterion": "absolute_error", "max_depth": 5}),
    "random thresholds": (ExtraTreeRegressor, {}),
    "forest of classes": (RandomForestClassifier, {"n_estimators": 3}),
    "forest of values": (RandomForestRegressor, {"n_estimators": 3}),
    "extra trees": (ExtraTreesClassifier, {"n_estimators": 3}),
    "boosted values": (HistGradientBoostingRegressor, {"max_iter": 3}),
    "boosted classes": (HistGradientBoostingClassifier, {"max_iter": 3}),
    "bag": (BaggingRegressor, {"n_estimators": 3}),
    "AdaBoost": (AdaBoostClassifier, {"n_estimators": 3}),
}


def make_model(name: str, **params: Any) -> Any:
    cls, fixed = MODELS[name]
    return cls(random_state=0, **{"n_jobs": 1, **fixed, **params})


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_that_is_interrupted_keeps_the_old_state(name: str) -> None:
    X, y = TABLE[:10_000], CLASSES[:10_000]
    model = make_model(name).fit(X[:200], y[:200])
    before, answers = dict(vars(model)), model.predict(X[:200])
    n_polls = count_polls(lambda: make_model(name).fit(X, y))
    for at in (1, n_polls // 2, n_polls):
        interrupt_at_poll(at, lambda: model.fit(X, y))
        assert vars(model) == before
        np.testing.assert_array_equal(model.predict(X[:200]), answers)
    assert count_polls(lambda: model.fit(X, y)) == n_polls


@pytest.mark.parametrize("name", ["classes", "values", "medians", "forest of values", "boosted values"])
def test_an_interrupt_stops_two_threads(name: str) -> None:
    X, y = TABLE[:60_000], CLASSES[:60_000]
    model = make_model(name, n_jobs=2).fit(X[:200], y[:200])
    before = dict(vars(model))
    interrupt_at_poll(1, lambda: model.fit(X, y))
    assert vars(model) == before
    # The pool and the watch are as good as new.
    again = make_model(name, n_jobs=2).fit(X[:2000], y[:2000])
    expected = make_model(name).fit(X[:2000], y[:2000])
    np.testing.assert_array_equal(again.predict(X[:2000]), expected.predict(X[:2000]))


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("best first", "AdaBoost")])
def test_long_searches_are_polled(name: str) -> None:
    """One split of many rows: no stretch of the work is left out because its nodes are few."""
    member = {"estimator": DecisionTreeRegressor(max_depth=1)} if name == "bag" else {"max_depth": 1}
    model = make_model(name, **member)
    assert count_polls(lambda: model.fit(TABLE, CLASSES)) * 2**15 >= TABLE.size


def slide(n_rows: int, n_cols: int) -> Any:
    """A large table that takes next to no memory: a window that slides over a vector."""
    return np.lib.stride_tricks.sliding_window_view(TABLE.reshape(-1), n_cols)[:n_rows]


def make_sparse(n_rows: int, n_cols: int) -> tuple[Any, ...]:
    """Every other row of each column has an entry."""
    data = TABLE.reshape(-1)[: n_rows // 2 * n_cols]
    indices = np.tile(np.arange(0, n_rows, 2, dtype=np.int32), n_cols)
    return data, indices, np.arange(0, len(data) + 1, n_rows // 2, dtype=np.int32), (n_rows, n_cols)


def list_binning(n_jobs: int) -> dict[str, tuple[Callable[[], object], int]]:
    """Calls that bin or sort a table, with the number of values they read."""
    n_cols = 12
    numbers = np.zeros(n_cols, dtype=np.uint32)
    X, few, sparse = slide(2**18, n_cols), slide(2**16, n_cols), make_sparse(2**16, n_cols)
    mapper = _core.BinMapper.fit(few, None, numbers, 255, 1)
    return {
        "fit": (lambda: _core.BinMapper.fit(X, None, numbers, 255, n_jobs), X.size),
        "transform": (lambda: mapper.transform(X, n_jobs), X.size),
        "fit_csc": (lambda: _core.BinMapper.fit_csc(*sparse, None, numbers, 255, n_jobs), len(sparse[0])),
        "transform_csc": (lambda: mapper.transform_csc(*sparse, n_jobs), few.size),
        "presort": (lambda: _core.presort_columns(few, numbers, n_jobs), few.size),
    }


BINNING = ("fit", "transform", "fit_csc", "transform_csc", "presort")


@pytest.mark.parametrize("name", BINNING)
def test_making_bins_is_polled_and_stops(name: str) -> None:
    work, n_values = list_binning(n_jobs=1)[name]
    n_polls = count_polls(work)
    assert n_polls * 2**17 >= n_values
    for at in (1, n_polls):
        interrupt_at_poll(at, work)
    assert count_polls(work) == n_polls


def test_wide_rows_are_polled_within_them() -> None:
    X = slide(2**10, 4000)
    mapper = _core.BinMapper.fit(X[:100], None, np.zeros(4000, dtype=np.uint32), 255, 1)
    assert count_polls(lambda: mapper.transform(X, 1)) * 2**17 >= X.size


class Signal:
    """Listens to a fit and says once that it is under way."""

    def __init__(self, pipe: Any) -> None:
        self.pipe: Any = pipe

    def open(self, title: str, total: int) -> Callable[..., None]:
        return self.hear

    def hear(self, done: int, note: str = "") -> None:
        if done and self.pipe is not None:
            self.pipe.send("under way")
            self.pipe = None

    def close(self) -> None:
        pass


def fit_for_ever(pipe: Any) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    forest = RandomForestClassifier(10**5, n_jobs=2)
    try:
        with listen(Signal(pipe)):
            forest.fit(TABLE, CLASSES)
    except KeyboardInterrupt:
        pipe.send(f"stopped, {len(vars(forest)) - len(forest.get_params())} attributes more")


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_real_signal_stops_a_fit_in_the_core() -> None:
    """All trees grow in one call of the core, which reports that it has begun and then would not end for hours."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    child = multiprocessing.get_context("spawn").Process(target=fit_for_ever, args=(theirs,))
    child.start()
    theirs.close()
    try:
        assert ours.poll(HANG), "the fit did not begin"
        assert ours.recv() == "under way"
        assert child.pid is not None
        os.kill(child.pid, signal.SIGINT)
        assert ours.poll(HANG), "the fit did not stop"
        assert ours.recv() == "stopped, 0 attributes more"
        child.join(HANG)
        assert child.exitcode == 0
    finally:
        child.kill()
