"""Large buffers in files: the same models, less memory, and nothing left behind."""

import json
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import committee
from committee import _core
from committee.data import spilling
from committee.data.memory import MemoryLimit, find_limit, use_limit
from committee.data.spilling import memory_limit, read_bytes
from committee.exceptions import DataError, DataSizeError, ParameterError

ROWS = 600_000


def make_table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 30)).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=ROWS) > 0).astype(np.int64)


def test_large_buffers_lie_in_files_and_models_are_the_same(tmp_path: Path) -> None:
    X, y = make_table()
    plain = committee.HistGradientBoostingClassifier(max_iter=2, early_stopping=False, random_state=0).fit(X, y)
    before = _core.count_spilled_bytes()
    _core.reset_most_spilled_bytes()
    with memory_limit(folder=tmp_path):
        model = committee.HistGradientBoostingClassifier(max_iter=2, early_stopping=False, random_state=0)
        model.fit([X[:200_000], X[200_000:]], y)
        assert not list(tmp_path.iterdir())  # the files have no names
    assert _core.count_most_spilled_bytes() > ROWS * 30 + ROWS * 32  # bins and records
    assert _core.count_spilled_bytes() == before
    assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert find_limit() is None


def test_a_forest_uses_files_in_its_threads(tmp_path: Path) -> None:
    n_rows = 2_200_000
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, (n_rows, 2)).astype(np.float32)
    y = (X[:, 0] > X[:, 1]).astype(np.int64)
    options = {"n_estimators": 2, "max_depth": 3, "bootstrap": False, "random_state": 0, "n_jobs": 2}
    plain = committee.RandomForestClassifier(**options).fit(X, y)
    _core.reset_most_spilled_bytes()
    with memory_limit(folder=tmp_path):
        model = committee.RandomForestClassifier(**options).fit(X, y)
    # The records are made by the thread of the fit, the rows of each tree by threads of the pool.
    assert _core.count_most_spilled_bytes() > 16 * n_rows + (1 << 24)
    assert np.array_equal(model.predict_proba(X[:1000]), plain.predict_proba(X[:1000]))


def test_other_threads_keep_their_memory(tmp_path: Path) -> None:
    found = []
    with memory_limit(folder=tmp_path):
        thread = threading.Thread(target=lambda: found.append(_core.allocate_table(1 << 22, 1, True)))
        before = _core.count_spilled_bytes()
        thread.start()
        thread.join()
        assert _core.count_spilled_bytes() == before
        own = _core.allocate_table(1 << 22, 1, True)
        assert _core.count_spilled_bytes() == before + own.nbytes
    del own
    assert _core.count_spilled_bytes() == before


def test_limits_nest(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    with memory_limit("1GB", folder=tmp_path):
        with memory_limit("2GB", folder=inner):
            assert find_limit() == MemoryLimit(2 * 10**9, str(inner))
        assert find_limit() == MemoryLimit(10**9, str(tmp_path))
    assert find_limit() is None


def test_a_fit_that_needs_more_than_the_limit_is_refused() -> None:
    X = np.zeros((50, 2))
    with (
        memory_limit("100MB"),
        pytest.raises(DataSizeError, match=r"needs about .* besides its files; the limit is 95"),
    ):
        committee.RandomForestClassifier().fit([X], np.arange(50) % 2)


def test_a_folder_that_cannot_take_a_file_is_a_sentence(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    with memory_limit(folder=gone):
        gone.rmdir()
        with pytest.raises(DataSizeError, match=r"folder for temporary files, .*gone, cannot take a file of 32 MiB"):
            _core.allocate_table(1 << 22, 1, True)
    with pytest.raises(DataError, match="There is no folder"), memory_limit(folder=gone):
        pass


def test_a_table_that_does_not_fit_goes_to_files_by_itself(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    X, y = np.random.default_rng(0).normal(size=(500, 3)), np.arange(500) % 2
    monkeypatch.setattr(spilling, "measure_available_memory", lambda: 10**6)
    with caplog.at_level("INFO", "committee"):
        committee.RandomForestClassifier(n_estimators=2, random_state=0).fit([X], y)
    assert "it uses files in" in caplog.text
    assert find_limit() is None


@pytest.mark.parametrize(("given", "wanted"), [("2GB", 2 * 10**9), ("1.5GiB", 3 << 29), (7, 7), ("64 kb", 64_000)])
def test_bytes_are_read(given: int | str, wanted: int) -> None:
    assert read_bytes(given) == wanted


@pytest.mark.parametrize("given", ["much", "-1GB", "0", 0, True, 1.5, "1XB"])
def test_other_texts_are_no_bytes(given: object) -> None:
    with pytest.raises(ParameterError, match="A memory limit must be a number of bytes"):
        read_bytes(given)  # type: ignore[arg-type]


def test_room_is_checked_on_the_disk(tmp_path: Path) -> None:
    from committee.data.memory import check_room_for

    with use_limit(MemoryLimit(None, str(tmp_path))), pytest.raises(DataSizeError, match="are free there"):
        check_room_for(10**12, 10**4, 8)


def test_estimates_grow_with_the_table() -> None:
    model = committee.HistGradientBoostingClassifier(max_iter=10)
    small, large = (committee.estimate_fit(n, 50, model) for n in (10**6, 10**7))
    assert small.memory < large.memory
    assert 8 < large.disk / small.disk < 12
    assert small.seconds < large.seconds
    assert "of memory" in str(large)


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA counts mapped memory on Linux alone")
@pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer needs memory of its own")
def test_a_fit_stays_within_the_memory_of_its_process(tmp_path: Path) -> None:
    # 1,000,000 rows and 40 columns: 160 MB as float32; bins and records need 104 MB, which is more than is allowed.
    program = """
        import json, resource, sys
        import numpy as np, committee
        from committee import _core
        import pyarrow.dataset, pyarrow.parquet, sklearn.ensemble, scipy.sparse

        def read(name):
            lines = open("/proc/self/status").read().splitlines()
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))

        folder, spills = sys.argv[1], sys.argv[2] == "files"
        committee.HistGradientBoostingClassifier(max_iter=2).fit(np.zeros((100, 2)), np.arange(100) % 2)
        limit = read("VmData") + 150 * 10**6
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        model = committee.HistGradientBoostingClassifier(max_iter=3, early_stopping=False, n_jobs=1)
        _core.set_spill_folder(folder if spills else None)
        model.fit(folder + "/t.parquet", "y")
        print(json.dumps({"spilled": _core.count_most_spilled_bytes(), "rounds": model.n_iter_}))
    """
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    schema = pa.schema([*((f"x{j}", pa.float32()) for j in range(40)), ("y", pa.int8())])
    with pq.ParquetWriter(tmp_path / "t.parquet", schema) as out:
        for _ in range(20):
            X = rng.integers(0, 99, (50_000, 40)).astype(np.float32)
            y = (X[:, 0] + X[:, 1] > 99).astype(np.int8)
            out.write_table(pa.table([*(pa.array(X[:, j]) for j in range(40)), pa.array(y)], schema=schema))
    environment = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"}

    def run(how: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), str(tmp_path), how],
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            check=False,
        )

    done = run("files")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rounds"] == 3
    assert found["spilled"] > 100 * 10**6
    refused = run("memory")
    assert refused.returncode != 0
    assert "MemoryError" in refused.stderr or "bad_alloc" in refused.stderr


def test_threads_that_fit_members_have_the_limit(tmp_path: Path) -> None:
    from joblib import Parallel, delayed

    from committee.data.memory import find_limit
    from committee.data.spilling import carry_limit

    with committee.memory_limit("1GB", folder=tmp_path):
        found = Parallel(n_jobs=2, prefer="threads")(delayed(carry_limit(find_limit))() for _ in range(4))
    assert [limit.folder for limit in found] == [str(tmp_path)] * 4
    assert find_limit() is None
