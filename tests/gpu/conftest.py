"""Where kernels run: compiled for the CPU, and on a GPU if there is one."""

from __future__ import annotations

import os

import pytest

from committee.engines.gpu import Device, open_device
from committee.exceptions import EngineError
from tests.gpu.shim_device import COMPILER, ShimDevice

MUST_HAVE_GPU = bool(os.environ.get("COMMITTEE_TEST_GPU"))


@pytest.fixture(params=["shim", "cuda"])
def device(request: pytest.FixtureRequest) -> Device:
    """Where kernels run; ``COMMITTEE_TEST_GPU=1`` makes a missing GPU an error."""
    if request.param == "shim":
        if COMPILER is None:
            pytest.skip("there is no C++ compiler that could build the kernels")
        return ShimDevice()
    try:
        return open_device()
    except EngineError as error:
        if MUST_HAVE_GPU:
            raise
        pytest.skip(str(error))
