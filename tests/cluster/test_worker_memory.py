"""A worker keeps the memory of one step for the next."""

import os
import platform
import subprocess
import sys

import pytest

# Arrays of the size of a step's histograms, after a host has made its first state.
SCRIPT = """
import resource
import numpy as np
from committee.engines.block_boosting import BoostingBlockState
from committee.engines.hosts.host import Host, StepRequest, pack_object

def count_faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(30_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

Host().step(StepRequest("fit", 0, [0], None, "list", False, pack_object(BoostingBlockState), []))
count_faults()
print(count_faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such parameter")
def test_arrays_of_a_step_are_not_mapped_again() -> None:
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}  # as Dask starts its workers
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    assert int(run.stdout) < 50  # without it 59 pages for each of 50 arrays
