"""The benchmark of the GPU engine runs, on the kernels compiled for the CPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import gpu, gpu_crossing, gpu_page
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


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler that could build the kernels")
def test_a_quick_run_times_both_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.engines.gpu.boosting.open_device", ShimDevice)
    assert gpu_crossing.main(["--quick", "--out", str(tmp_path / "crossing.json")]) == 0
    rows = json.loads((tmp_path / "crossing.json").read_text())
    assert [row["shape"] for row in rows] == list(gpu_crossing.SHAPES)
    assert all(row["gpu"] > 0.0 and row["cpu"] > 0.0 for row in rows)
    page = gpu_page.lay_out_crossing(rows)
    assert page.count("| 500 x 6 |") == 2
