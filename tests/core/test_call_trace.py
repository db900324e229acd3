"""Costs of calls of parallel_for: every call at its place, times that fit together."""

import threading
import time

import committee._core.testing as core
import numpy as np
import pytest

from committee import GradientBoostingRegressor


@pytest.mark.parametrize("n_threads", [1, 3])
def test_calls_and_tasks_are_counted(n_threads: int) -> None:
    core.start_call_trace()
    core.parallel_for(7, n_threads, lambda _: time.sleep(0.001))
    core.parallel_for(5, n_threads, lambda _: None)
    (place,) = core.end_call_trace()
    assert (place["calls"], place["tasks"]) == (2, 12)
    assert place["busy"] >= 0.007
    assert place["longest"] >= 0.001
    assert place["wall"] >= place["busy"] / n_threads
    assert 0 <= place["starting"] <= place["wall"]
    assert 0 <= place["waiting"] <= place["wall"]
    assert place["before"] >= 0


def test_the_work_of_one_thread_between_two_calls_is_before_the_second() -> None:
    core.start_call_trace()
    core.parallel_for(2, 2, lambda _: None)
    time.sleep(0.02)
    core.parallel_for(2, 2, lambda _: None)
    (place,) = core.end_call_trace()
    assert place["before"] >= 0.02


def test_nothing_is_kept_when_nothing_is_traced() -> None:
    core.start_call_trace()
    core.end_call_trace()
    core.parallel_for(4, 2, lambda _: None)
    assert core.end_call_trace() == []
    core.start_call_trace()
    assert core.end_call_trace() == []


def test_a_task_that_fails_ends_its_call() -> None:
    def fail(i: int) -> None:
        if i == 1:
            raise ValueError("task 1")

    core.start_call_trace()
    with pytest.raises(Exception, match="task 1"):
        core.parallel_for(4, 2, fail)
    (place,) = core.end_call_trace()
    assert place["calls"] == 1


def test_callers_on_several_threads_are_added_up() -> None:
    core.start_call_trace()
    callers = [threading.Thread(target=core.parallel_for, args=(10, 2, lambda _: None)) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    (place,) = core.end_call_trace()
    assert (place["calls"], place["tasks"]) == (4, 40)


def test_a_traced_fit_is_the_fit() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5_000, 6)), rng.normal(size=5_000)
    plain = GradientBoostingRegressor(n_estimators=5, n_jobs=2).fit(X, y).predict(X)
    core.start_call_trace()
    traced = GradientBoostingRegressor(n_estimators=5, n_jobs=2).fit(X, y).predict(X)
    places = core.end_call_trace()
    np.testing.assert_array_equal(traced, plain)
    assert len(places) > 3
    assert all(place["function"] and place["line"] > 0 for place in places)
