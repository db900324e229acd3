"""Faults at every step of saving a model: the file under the name is the old one or the new one, whole."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import committee
from tests.faults.saving import count_steps, kill_while_saving, list_drafts, save_with, save_within

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]

X = np.arange(40.0).reshape(20, 2)
OLD = committee.DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0])
NEW = committee.DecisionTreeRegressor(max_depth=4).fit(X, X[:, 1])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    committee.save(OLD, tmp_path / "model")
    return tmp_path / "model"


def read_predictions(path: Path) -> Any:
    return committee.load(path).predict(X)


def test_sigkill_at_every_step_leaves_a_whole_file(place: Path) -> None:
    """Before the new file has the name, the old one is there; a draft may be left beside it, and nothing reads that."""
    n_steps = count_steps(NEW, place.parent)
    assert n_steps > 10
    seen = set()
    for at in range(1, n_steps + 1):
        committee.save(OLD, place)
        assert kill_while_saving(NEW, place, at) == -signal.SIGKILL
        found = read_predictions(place)
        is_new = bool(np.array_equal(found, NEW.predict(X)))
        assert is_new or np.array_equal(found, OLD.predict(X))
        seen.add(is_new)
        for draft in list_drafts(place):
            draft.unlink()
    assert seen == {False, True}  # the last steps come after the new file has its name


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES, errno.EDQUOT])
def test_errors_of_the_system_at_every_step_leave_the_old_file(place: Path, code: int) -> None:
    def fail() -> None:
        raise OSError(code, os.strerror(code))

    before = place.read_bytes()
    for at in range(1, count_steps(NEW, place.parent) + 1):
        try:
            save_with(NEW, place, at, fail)
        except OSError as error:
            assert error.errno == code  # noqa: PT017
            assert place.read_bytes() == before
        else:
            # Only the folder could not be synced, which not every system can.
            assert np.array_equal(read_predictions(place), NEW.predict(X))
            place.write_bytes(before)
        assert list_drafts(place) == []


@pytest.mark.parametrize("n_bytes", [0, 1, 64, 1000])
def test_a_limit_on_the_size_of_files(place: Path, n_bytes: int) -> None:
    before = place.read_bytes()
    assert save_within(NEW, place, n_bytes) == 3  # an OSError
    assert place.read_bytes() == before
    assert list_drafts(place) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to(place: Path) -> None:
    before = place.read_bytes()
    place.parent.chmod(0o555)
    try:
        with pytest.raises(PermissionError):
            committee.save(NEW, place)
    finally:
        place.parent.chmod(0o755)
    assert place.read_bytes() == before


def test_a_disk_that_is_full(place: Path, tmp_path: Path) -> None:
    """A real one: a file system of 64 kB in memory, in a namespace of its own."""
    code = (
        "import errno, sys, numpy as np, committee\n"
        "X = np.random.default_rng(0).random((3000, 4))\n"
        "small = committee.DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0])\n"
        "large = committee.DecisionTreeRegressor().fit(X, X[:, 0])\n"
        "committee.save(small, sys.argv[1])\n"
        "try:\n    committee.save(large, sys.argv[1])\n"
        "except OSError as error:\n    assert error.errno == errno.ENOSPC, error\n"
        "else:\n    sys.exit('the disk was not full')\n"
        "assert (committee.load(sys.argv[1]).predict(X) == small.predict(X)).all()\n"
        "print('kept')\n"
    )
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f'mount -t tmpfs -o size=64k tmpfs {disk} && exec python -c "$CODE" {disk}/model'
    source = str(Path(committee.__file__).parents[1])
    environment = {**os.environ, "CODE": code, "PYTHONPATH": source}
    call = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    try:
        done = subprocess.run(call, capture_output=True, text=True, check=False, env=environment)
    except FileNotFoundError:
        pytest.skip("needs unshare")
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("needs the right to mount")
    assert done.stdout.strip() == "kept", done.stderr


def test_a_mapped_model_survives_a_new_file_of_its_name(place: Path) -> None:
    mapped, copied = committee.load(place), committee.load(place, mmap=False)
    committee.save(NEW, place)
    np.testing.assert_array_equal(mapped.predict(X), OLD.predict(X))
    # A file that is changed in place is another matter: only a copy is safe from that.
    place.write_bytes(b"")
    np.testing.assert_array_equal(copied.predict(X), OLD.predict(X))
