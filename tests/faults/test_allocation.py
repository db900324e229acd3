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

#: Calls with few requests for memory.
SHORT = ("predict", "save")


def test_no_request_for_memory_ends_the_process(tmp_path: Path) -> None:
    """In one process: to import the library and to fit the models takes longer than the calls."""
    steps = {name: 1 if name.startswith(SHORT) else 7 for name in make_calls()}
    found = fail_allocations(compile_library(tmp_path), steps)
    assert found.keys() == steps.keys()
    assert {name: counts["crashes"] for name, counts in found.items() if counts["crashes"]} == {}
    assert {name: counts["wrong"] for name, counts in found.items() if counts["wrong"]} == {}
    for verb in ("fit", "predict", "save", "load", "SHAP", "binning", "apply", "permutation", "dependence", "pickle"):
        failed = [counts["no memory"] for name, counts in found.items() if name.startswith(verb)]
        # Model files are written from arrays of the core where they are: most families ask for no memory then.
        assert sum(failed) >= (1 if verb == "save" else len(failed)), verb
