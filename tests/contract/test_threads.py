"""Contract 4: threads as many as asked for, none for n_jobs=1, sound after fork and inside other pools."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from joblib import Parallel, delayed

from committee import DecisionTreeClassifier, DecisionTreeRegressor, _core
from tests.contract.tree_models import assert_same_bytes, describe_model

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

PRELUDE = """
import os
import numpy as np
from committee import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor
rng = np.random.default_rng(0)
X = rng.normal(size=(6_000, 12)).astype(np.float32)
y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
def count_threads():
    return len(os.listdir("/proc/self/task"))
before = count_threads()
def work(n_jobs, X=X, y=y):
    for cls in (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor):
        for exact in (False, True):
            model = cls(max_depth=4, random_state=0, exact=exact, n_jobs=n_jobs).fit(X, y)
            model.predict(X)
            model.apply(X)
"""


def run_python(code: str) -> str:
    """The output of a fresh interpreter, which has no thread of this one's pools."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@linux_only
def test_one_job_starts_no_thread_little_work_none_unless_asked_and_three_jobs_keep_two() -> None:
    # The thread that asks works as well; the others stay asleep in the pool for the next fit.
    code = """
work(1)
one_job = count_threads() - before
work(None, X[:300], y[:300])
little_work = count_threads() - before
work(3)
work(2)
work(3)
print(one_job, little_work, count_threads() - before)
"""
    assert run_python(code) == "0 0 2"


@linux_only
def test_affinity_is_respected() -> None:
    code = """
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from committee.engines import get_engine
assert get_engine().testing.count_usable_cores() == 1
work(-1)
work(None)
print(count_threads() - before)
"""
    assert run_python(code) == "0"


def make_task(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6000, 6))
    return X, (X[:, 0] * X[:, 1] + rng.normal(size=6000) > 0).astype(int)


def fit_task(n_jobs: int | None = 2, cls: Any = DecisionTreeClassifier) -> dict[str, Any]:
    X, y = make_task()
    model = cls(random_state=0, n_jobs=n_jobs).fit(X, y)
    return {**describe_model(model), "answers": np.asarray(model.predict(X))}


def send_fit(pipe: Any) -> None:
    pipe.send(fit_task(3))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_forked_after_a_fit_fits_as_well() -> None:
    expected = fit_task(3)  # the parent's pool now exists
    fork = multiprocessing.get_context("fork")
    for _ in range(3):
        ours, theirs = fork.Pipe()
        child = fork.Process(target=send_fit, args=(theirs,))
        child.start()
        assert ours.poll(600), "the child hangs"
        assert_same_bytes(expected, ours.recv())
        child.join(600)
        assert child.exitcode == 0
    assert_same_bytes(expected, fit_task(3))


@pytest.mark.parametrize("n_jobs", [1, 3, None])
def test_many_threads_fit_at_once(n_jobs: int | None) -> None:
    expected = fit_task(1)
    with ThreadPoolExecutor(5) as pool:
        for grown in pool.map(fit_task, [n_jobs] * 10):
            assert_same_bytes(expected, grown)


def test_fits_inside_the_threads_of_joblib() -> None:
    expected = fit_task(1, DecisionTreeRegressor)
    with Parallel(2, backend="threading") as workers:
        for grown in workers(delayed(fit_task)(n_jobs, DecisionTreeRegressor) for n_jobs in (None, 2, None)):
            assert_same_bytes(expected, grown)


@linux_only
def test_a_worker_process_of_joblib_uses_one_thread_and_gives_the_same_answers() -> None:
    # 40,000 rows are worth several threads to a process that is alone.
    code = """
from joblib import Parallel, delayed
X, y = np.tile(X, (7, 1)), np.tile(y, 7)
def fit(n_jobs):
    before = count_threads()
    model = DecisionTreeClassifier(max_depth=4, random_state=0, n_jobs=n_jobs).fit(X, y)
    return model.predict_proba(X), count_threads() - before
answers, _ = fit(2)
with Parallel(2, backend="loky") as workers:
    for theirs, n_started in workers(delayed(fit)(None) for _ in range(3)):
        assert (theirs == answers).all()
        assert n_started == 0
print("same")
"""
    assert run_python(code) == "same"


def list_core_calls() -> dict[str, Callable[[], object]]:
    """Calls of the core that take long on large tables."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 10))
    numbers, y = np.zeros(10, dtype=np.uint32), rng.normal(size=(5000, 1))
    mapper = _core.BinMapper.fit(X, None, numbers, 255, 1)
    matrix, params = mapper.transform(X, 1), _core.GrowParams()
    params.criterion, params.n_jobs = "squared_error", 1
    return {
        "fit bins": lambda: _core.BinMapper.fit(X, None, numbers, 255, 1),
        "transform": lambda: mapper.transform(X, 1),
        "presort": lambda: _core.presort_columns(X, numbers, 1),
        "grow": lambda: _core.grow_tree(matrix, None, None, [], y, None, params),
    }


@pytest.mark.parametrize("name", ["fit bins", "transform", "presort", "grow"])
def test_other_threads_run_while_the_core_works(name: str) -> None:
    """The interpreter's lock is given back during the call: here nothing else gives it back."""
    call, has_run, go = list_core_calls()[name], threading.Event(), threading.Lock()

    def run() -> None:
        with go:
            has_run.set()

    before = sys.getswitchinterval()
    other = threading.Thread(target=run)
    go.acquire()
    other.start()
    sys.setswitchinterval(1e6)  # no thread is told to make way for another
    try:
        go.release()
        for _ in range(10_000):  # a busy machine may let the other thread wait a few calls
            if has_run.is_set():
                break
            call()
        assert has_run.is_set()
    finally:
        sys.setswitchinterval(before)
        other.join()
