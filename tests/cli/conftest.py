import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import committee

Run = Callable[..., subprocess.CompletedProcess[str]]


class CommandServer:
    """Runs commands in forks of a process that has imported what they need."""

    def __init__(self) -> None:
        path = [str(Path(committee.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("command_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=make_environment() | {"PYTHONPATH": os.pathsep.join(filter(None, path))},
        )

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()  # which ends it
        self.process.wait()

    def run(self, folder: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with tempfile.TemporaryDirectory() as streams:
            files = [Path(streams, name) for name in ("out", "err")]
            for file in files:
                file.touch()
            request = {"folder": str(folder), "arguments": arguments, "out": str(files[0]), "err": str(files[1])}
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            code = int(self.process.stdout.readline())
            out, err = (file.read_text(encoding="utf-8") for file in files)
        return subprocess.CompletedProcess(["committee", *arguments], code, out, err)


@functools.cache
def start_server() -> CommandServer:
    """One for all tests of this process."""
    server = CommandServer()
    atexit.register(server.end)
    return server


def make_environment() -> dict[str, str]:
    """Without what a user's terminal would say about itself."""
    kept = {
        name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "COLUMNS", "CLICOLOR_FORCE"}
    }
    return kept | {"PYTHONIOENCODING": "utf-8"}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the command as a user does: another process, not in a terminal, in an empty folder."""
    return make_run(tmp_path)


def make_run(folder: Path) -> Run:
    def run_command(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [str(argument) for argument in arguments]
        if hasattr(os, "fork"):
            return start_server().run(folder, words)
        env = make_environment() | {"PYTHONPATH": str(Path(committee.__file__).parents[1])}
        command = [sys.executable, "-m", "committee", *words]
        return subprocess.run(command, capture_output=True, encoding="utf-8", cwd=folder, env=env, timeout=900)

    return run_command


@pytest.fixture(scope="session")
def table() -> pa.Table:
    """Numbers, categories, booleans, dates and gaps; the target follows two of them."""
    rng = np.random.default_rng(0)
    n = 240
    width = rng.normal(size=n)
    color = rng.choice(["red", "green", "blue"], size=n)
    species = np.where((width > 0) ^ (color == "red"), "oak", "elm")
    return pa.table(
        {
            "width": pa.array(np.where(rng.random(n) < 0.1, np.nan, width), from_pandas=True),
            "color": pa.array(color.tolist()).dictionary_encode(),
            "tall": pa.array(rng.random(n) < 0.5),
            "seen": pa.array(np.arange(n) + 18_000, type=pa.int32()).cast(pa.date32()),
            "count": pa.array(rng.integers(0, 1000, size=n)),
            "species": pa.array(species.tolist()),
            "height": pa.array(3.0 * width + rng.normal(size=n)),
        }
    )
