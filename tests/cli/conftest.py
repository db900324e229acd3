import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import committee

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the command as a user does: another process, piped, in an empty folder."""
    return make_run(tmp_path)


def make_run(folder: Path) -> Run:
    env = {
        name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "COLUMNS", "CLICOLOR_FORCE"}
    }
    env |= {"PYTHONPATH": str(Path(committee.__file__).parents[1]), "PYTHONIOENCODING": "utf-8"}

    def run_command(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "committee", *map(str, arguments)]
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
