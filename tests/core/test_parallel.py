"""The thread pool: every task once, sleep instead of spin, fork, errors, and the count of cores."""

import math
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import Parallel, delayed

from committee._core import BinMapper, GrowParams, grow_tree, testing
from tests.interrupts import count_polls, interrupt_at_poll

HANG = 600.0  # seconds after which a test gives up; no result depends on it
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
# TSan has a thread of its own, which wakes now and then.
counts_threads = pytest.mark.skipif("tsan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer has a thread too")


def run_python(code: str) -> str:
    """The output of a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def bin_in_parallel(seed: int) -> bytes:
    X = np.random.default_rng(seed).normal(size=(20_000, 6))
    mapper = BinMapper.fit(X, None, np.zeros(6, np.uint32), 255, 3)
    return bytes(mapper.transform(X, 3).columns.tobytes())


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 300), st.integers(-1, 9))
def test_every_task_runs_once(n_tasks: int, n_threads: int) -> None:
    done: list[int] = []
    testing.parallel_for(n_tasks, n_threads, done.append)
    assert sorted(done) == list(range(n_tasks))
    if n_threads <= 1:
        assert done == sorted(done)


def test_tasks_run_beside_one_another() -> None:
    meeting = threading.Barrier(3)
    testing.parallel_for(3, 3, lambda _: meeting.wait(timeout=HANG))
    seen: set[int] = set()
    testing.parallel_for(50, 2, lambda _: (seen.add(threading.get_ident()), time.sleep(0.001)))
    assert len(seen) <= 2


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_the_first_error_is_raised_and_the_rest_skipped(n_threads: int) -> None:
    ran: list[int] = []
    failed = threading.Event()

    def fail(i: int) -> None:
        ran.append(i)
        if i == 3:
            failed.set()
            raise KeyError("three")
        if i > 3:  # tasks of other threads last until the failure, and then long enough for it to be seen
            failed.wait(timeout=HANG)
            time.sleep(0.001)

    for _ in range(3):  # the pool is as good as new afterwards
        ran.clear()
        failed.clear()
        with pytest.raises(KeyError, match="three"):
            testing.parallel_for(100_000, n_threads, fail)
        assert len(ran) < 100_000
    test_every_task_runs_once.hypothesis.inner_test(20, n_threads)  # type: ignore[attr-defined]


def test_nested_calls_run_inline() -> None:
    inner: list[tuple[int, int, int]] = []

    def outer(i: int) -> None:
        assert testing.inside_parallel_region()
        assert testing.choose_threads(0, 1e12, 1.0) == testing.choose_threads(8, 1e12, 1.0) == 1
        me = threading.get_ident()
        testing.parallel_for(5, 4, lambda k: inner.append((i, k, int(threading.get_ident() == me))))

    assert not testing.inside_parallel_region()
    testing.parallel_for(6, 3, outer)
    assert not testing.inside_parallel_region()
    assert sorted(inner) == [(i, k, 1) for i in range(6) for k in range(5)]


def test_many_callers_at_once() -> None:
    counts = [0] * 8

    def call(k: int) -> None:
        done: list[int] = []
        for _ in range(20):
            testing.parallel_for(30, 4, done.append)
        counts[k] = len(done)

    callers = [threading.Thread(target=call, args=(k,)) for k in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=HANG)
    assert counts == [600] * 8


COUNT_THREADS = """
import numpy as np
from committee import _core
def count():
    return int(next(l for l in open("/proc/self/status") if l.startswith("Threads")).split()[1])
before = count()
"""


@linux_only
def test_one_thread_means_no_thread() -> None:
    code = COUNT_THREADS + (
        "X = np.random.default_rng(0).normal(size=(300_000, 8)); none = np.zeros(8, np.uint32)\n"
        "m = _core.BinMapper.fit(X, None, none, 255, 1); m.transform(X, 1); _core.presort_columns(X[:1000], none, 1)\n"
        "_core.testing.parallel_for(100, 1, lambda i: None); _core.testing.parallel_for(1, 8, lambda i: None)\n"
        "S = X[:150]; _core.BinMapper.fit(S, None, none, 255, 0).transform(S, 0)\n"
        "print(count() - before)"
    )
    assert run_python(code) == "0"


@linux_only
@counts_threads
def test_threads_start_on_demand_and_stay() -> None:
    code = COUNT_THREADS + (
        "print(*[(_core.testing.parallel_for(50, k, lambda i: None), count() - before)[1] for k in (2, 4, 3, 1000)])"
    )
    assert run_python(code) == "1 3 3 49"


@linux_only
@counts_threads
def test_waiting_threads_sleep() -> None:
    """Once the pool is idle its threads do not run at all: nothing wakes them but work."""
    code = """
import glob, os, time
from committee._core.testing import parallel_for
def read_workers(read):
    main = str(os.getpid())
    return [read(open(f"/proc/self/task/{t}/status").read()) for t in os.listdir("/proc/self/task") if t != main]
def read_state(status):
    return status.split("State:")[1].split()[0]
def count_switches(status):
    return status.split("voluntary_ctxt_switches:")[1].split()[0], status.rsplit(":", 1)[1].strip()
parallel_for(8, 8, lambda i: None)
while set(read_workers(read_state)) != {"S"}:  # the caller's limit ends a pool that spins
    time.sleep(0.01)
before = read_workers(count_switches)
time.sleep(0.3)
print(len(before), before == read_workers(count_switches))
"""
    assert run_python(code) == "7 True"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("before", ["check()", ""], ids=["pool in the parent", "no pool yet"])
def test_a_fork_starts_its_own_pool(before: str) -> None:
    code = f"""
import os
from committee._core.testing import parallel_for
def check():
    done = []
    parallel_for(40, 4, done.append)
    assert sorted(done) == list(range(40))
{before}
child = os.fork()
check()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("both")
"""
    assert run_python(code) == "both"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_workers_bin_as_their_parent() -> None:
    expected = [bin_in_parallel(seed) for seed in range(4)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(bin_in_parallel, range(4)).get(timeout=HANG) == expected


def test_joblib_workers_bin_too() -> None:
    expected = [bin_in_parallel(seed) for seed in range(3)]
    for backend in ("loky", "threading"):
        assert Parallel(n_jobs=2, backend=backend)(delayed(bin_in_parallel)(s) for s in range(3)) == expected


def test_a_signal_stops_the_core() -> None:
    """What a handler raises comes out of the call, though the interpreter runs nothing meanwhile."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 8)).astype(np.float32)
    labels = rng.integers(0, 2, (len(X), 1)).astype(np.uint32)
    matrix = BinMapper.fit(X, None, np.zeros(8, np.uint32), 255, 1).transform(X, 1)

    def grow() -> None:
        grow_tree(matrix, None, labels, [2], None, None, GrowParams())

    def stop(number: int, frame: object) -> None:
        raise InterruptedError("enough")

    n_polls = count_polls(grow)
    for at in (1, n_polls // 2, n_polls):
        interrupt_at_poll(at, grow, handler=stop, error=InterruptedError)
    assert count_polls(grow) == n_polls


def test_the_process_ends_while_the_pool_sleeps() -> None:
    code = "import atexit; from committee._core.testing import parallel_for\n"
    code += "atexit.register(parallel_for, 20, 5, lambda i: None); parallel_for(20, 5, lambda i: None); print('bye')"
    assert run_python(code) == "bye"


def test_threads_are_chosen_by_the_work() -> None:
    cores = testing.count_usable_cores()
    assert testing.choose_threads(0, 100.0, 1000.0) == 1
    assert testing.choose_threads(0, 1999.0, 1000.0) == 1
    assert testing.choose_threads(0, 1e12, 1.0) == cores
    assert testing.choose_threads(0, 2000.0, 1000.0) == min(2, cores)
    assert testing.choose_threads(0, math.nan, 1.0) == 1
    assert [testing.choose_threads(k, 0.0, 1.0) for k in (1, 7, 256, 9999)] == [1, 7, 256, 256]
    assert testing.choose_threads(-1, 0.0, 1.0) == cores
    assert testing.choose_threads(-cores - 5, 0.0, 1.0) == 1


def test_threads_that_need_so_much_work_each() -> None:
    cores = testing.count_usable_cores()
    works = (0.0, 19.0, 20.0, 30.0, 79.0, 1e12)
    try:
        testing.grant_threads(1)
        assert [testing.choose_threads(8, work, 1.0, 10.0) for work in works] == [1, 1, 2, 3, 7, 8]
        assert testing.choose_threads(0, 1e12, 1.0, 1e12) == 1
        assert testing.choose_threads(-1, 0.0, 1.0, 10.0) == 1
    finally:
        testing.grant_threads(2)  # as conftest.py does
    assert [testing.choose_threads(8, work, 1.0, 10.0) for work in works] == [2, 2, 2, 3, 7, 8]
    assert testing.choose_threads(1, 0.0, 1.0, 10.0) == 1
    assert testing.choose_threads(-1, 0.0, 1.0, 10.0) == min(2, cores)


@linux_only
def test_cores_follow_the_affinity_mask() -> None:
    before = os.sched_getaffinity(0)
    assert 1 <= testing.count_usable_cores() <= len(before)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert testing.count_usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)


def write_tree(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


V2_MOUNT = "30 1 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw\n"
V1_MOUNT = "35 1 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
CPUSET_MOUNT = "36 1 0:31 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, math.inf),
        ({"proc/self/mountinfo": V2_MOUNT, "proc/self/cgroup": "0::/a/b\n"}, math.inf),
        (
            {
                "proc/self/mountinfo": V2_MOUNT,
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
                "sys/fs/cgroup/a/cpu.max": "150000 100000\n",
                "sys/fs/cgroup/cpu.max": "400000 100000\n",
            },
            1.5,
        ),
        (  # a container that sees its own cgroup as the root of the mount
            {
                "proc/self/mountinfo": V2_MOUNT.replace(" / ", " /pod/box "),
                "proc/self/cgroup": "0::/pod/box\n",
                "sys/fs/cgroup/cpu.max": "50000 100000\n",
            },
            0.5,
        ),
        ({"proc/self/mountinfo": V2_MOUNT, "proc/self/cgroup": "0::/../x\n", "sys/fs/cgroup/cpu.max": "7 2\n"}, 3.5),
        (
            {
                "proc/self/mountinfo": CPUSET_MOUNT + V1_MOUNT,
                "proc/self/cgroup": "5:cpuset:/other\n4:cpu,cpuacct:/a\n",
                "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "250000\n",
                "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            2.5,
        ),
        ({"proc/self/mountinfo": "nonsense\n - \n" + V2_MOUNT, "proc/self/cgroup": "no colon\n::"}, math.inf),
    ],
)
def test_quotas_are_read_on_the_way_up(tmp_path: Path, files: dict[str, str], quota: float) -> None:
    assert testing.read_cpu_quota(write_tree(tmp_path, files)) == quota
