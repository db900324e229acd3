"""Out of memory at requests of the core: MemoryError or success, the estimator as before, never the end of the process.

``make fuzz-memory`` lets every single request fail; here it is every seventh of each call, and all of the short ones.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fuzz.faults import compile_library, fail_allocations
from fuzz.sanitized import find_compiler
from tests.faults.allocation import make_calls

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not find_compiler() or "LD_PRELOAD" in os.environ,
    reason="a library is compiled and preloaded",
)

FIRST = ("fit", "predict", "save", "load", "SHAP", "binning")
NAMES = {verb: [name for name in make_calls() if name.startswith(verb)] for verb in FIRST}
NAMES["other"] = [name for name in make_calls() if not name.startswith(FIRST)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("verb", NAMES)
def test_no_request_for_memory_ends_the_process(library: Path, verb: str) -> None:
    found = fail_allocations(library, NAMES[verb], step=1 if verb in ("predict", "save") else 7)
    assert found.keys() == set(NAMES[verb])
    assert {name: counts["crashes"] for name, counts in found.items() if counts["crashes"]} == {}
    assert {name: counts["wrong"] for name, counts in found.items() if counts["wrong"]} == {}
    # Model files are written from arrays of the core where they are: most families ask for no memory then.
    least = 1 if verb == "save" else len(found)
    assert sum(counts["no memory"] for counts in found.values()) >= least
