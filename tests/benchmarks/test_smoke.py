"""The benchmarks run and say what they found; what they found is not a matter for a unit test."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import committee
from benchmarks import routes
from benchmarks.machine import name_processor

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the benchmarks pin cores, which Linux can")
def test_a_quick_run_yields_the_table(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm", reason="LightGBM is one of the contenders")
    env = {**os.environ, "PYTHONPATH": str(Path(committee.__file__).parents[1])}
    command = [sys.executable, "benchmarks/trees.py", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    name = f"trees_{name_processor()}"
    page, data = (tmp_path / f"{name}.md").read_text(), json.loads((tmp_path / f"{name}.json").read_text())
    assert page in done.stdout
    assert data["quick"]
    for case, outcomes in data["outcomes"].items():
        assert "committee" in outcomes
        for contender, outcome in outcomes.items():
            assert f"| {case} |" in page
            assert f"| {contender} |" in page
            assert outcome["seconds"] or outcome["bytes"]
    assert len(data["outcomes"]) > 20
    assert len(data["claims"]) >= 8


def test_the_fast_paths_are_timed_and_written(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(committee.__file__).parents[1])}
    command = [sys.executable, "benchmarks/routes.py", "--quick", "--write", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (page,) = tmp_path.glob("routes_*.md")
    rows = [line.strip("| ").split(" | ") for line in page.read_text().splitlines() if line.startswith("| `")]
    assert {row[1] for row in rows} == set(routes.list_cases())
    assert {row[0].strip("`") for row in rows} <= set(routes.ROUTES)
    assert all(row[5] == "yes" for row in rows)  # no path changes a tree
