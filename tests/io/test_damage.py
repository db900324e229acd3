"""A damaged or malicious file is refused or harmless: it never crashes, hangs, fills the memory or runs anything."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import committee
from tests.contract.source_reading import ROOT

N_FILES = 2000


@pytest.mark.skipif(os.name != "posix", reason="limits of memory and time as POSIX has them")
def test_damaged_files_do_no_harm(tmp_path):
    # On a machine of many cores their threads' stacks and pools alone would use up the memory that is allowed.
    few = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    path = os.pathsep.join([str(Path(committee.__file__).parents[1]), str(ROOT)])
    env = os.environ | few | {"PYTHONPATH": path}
    command = [sys.executable, "-m", "tests.io.damage", str(N_FILES), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT, timeout=1800)
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = json.loads(done.stdout)
    assert sum(outcomes.values()) == N_FILES
    known = {f"{way}: {what}" for way in ("header", "arrays") for what in ("refused", "loaded", "loaded with errors")}
    # Checksums find whatever was changed by accident, wherever it is.
    assert outcomes.keys() <= known | {"bytes: refused", "length: refused"}
    assert outcomes["bytes: refused"] > N_FILES // 7
    # Both ends of the scale: most changes of meaning are found, and some are none.
    assert outcomes["header: refused"] > outcomes["header: loaded"] > 0
    assert outcomes["arrays: refused"] > 0
