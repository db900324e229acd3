"""The command around its commands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import committee
from tests.cli.conftest import Run


def test_version(run: Run) -> None:
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout == f"committee {committee.__version__}\n"


@pytest.mark.parametrize(
    ("command", "example"),
    [
        ("fit", "committee fit houses.csv --target price"),
        ("predict", "committee predict houses.committee new.csv"),
        ("bin", "committee bin sales.parquet --target price -o sales.bins"),
        ("export", "committee export houses.committee -o houses.c"),
        ("inspect", "committee inspect houses.committee"),
        ("reproduce", "committee reproduce R1 R2 R3 --seeds 20"),
        ("compare", "committee compare wine -e tree -e random-forest"),
        ("explain", "committee explain houses.committee new.csv --target price"),
        ("report", "committee report houses.committee new.csv --target price"),
        ("bench", "committee bench --only boosting --rows 100000"),
        ("tune", "committee tune houses.csv --target price"),
        ("lab", "committee lab 'data=spirals&method=forest&depth=8'"),
    ],
)
def test_help_shows_examples_in_80_columns(run: Run, command: str, example: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert example in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout


def test_the_shell_completes_estimators(tmp_path: Path) -> None:
    env = os.environ | {
        "PYTHONPATH": str(Path(committee.__file__).parents[1]),
        "_COMMITTEE_COMPLETE": "complete_bash",
        "COMP_WORDS": "committee fit iris -e ran",
        "COMP_CWORD": "4",
    }
    done = subprocess.run([sys.executable, "-m", "committee"], capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.stdout.split() == ["random-forest", "random-survival-forest"]
    assert done.stderr == ""


def test_alone_it_shows_its_help(run: Run) -> None:
    done = run()
    assert done.returncode == 2
    assert "Commands" in done.stdout
    assert done.stderr == ""


def test_without_the_extra_it_names_the_pip_command(tmp_path: Path) -> None:
    # A module that cannot be imported stands in for one that is not installed.
    (tmp_path / "rich.py").write_text("raise ModuleNotFoundError(\"No module named 'rich'\", name='rich')\n")
    path = os.pathsep.join([str(tmp_path), str(Path(committee.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-m", "committee", "fit"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.returncode == 2
    assert "pip install 'committee[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_flags_ask_for_no_value(run: Run) -> None:
    for command in ("fit", "predict", "explain", "inspect", "compare", "bench", "reproduce", "report", "lab"):
        lines = [line for line in run(command, "--help").stdout.splitlines() if "bool>" in line or "BOOLEAN" in line]
        assert all("--help" in line for line in lines), lines
