"""The benchmark of the GPU engine runs, on the kernels compiled for the CPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import gpu
from tests.gpu.shim_device import COMPILER, ShimDevice


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler that could build the kernels")
def test_a_quick_run_compares_digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.engines.gpu.boosting.open_device", ShimDevice)
    monkeypatch.setattr(gpu, "open_device", ShimDevice)
    monkeypatch.setattr(gpu, "N_TEST", 1000)
    monkeypatch.setattr(gpu, "run_xgboost", lambda *_: None)
    assert gpu.main(["--quick", "--out", str(tmp_path / "gpu.json")]) == 0
    results = json.loads((tmp_path / "gpu.json").read_text())
    assert [result["notes"]["same bytes"] for result in results] == [True, True]
    assert all(result["scores"]["GPU engine"] > 0.55 for result in results)
