"""What `import committee` costs, and what it must not load."""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import committee

HEAVY = ["pandas", "polars", "pyarrow", "matplotlib", "narwhals", "typer", "rich"]
# The promise is 0.1 s; the limit leaves room for a machine that does something else at the same time.
MOST_SECONDS = 0.25


def run_python(code: str) -> str:
    # The package that is under test, whatever the folder or the environment.
    env = os.environ | {"PYTHONPATH": str(Path(committee.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return done.stdout


def test_import_loads_nothing_heavy() -> None:
    loaded = run_python(f"import sys, json, committee; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))")
    assert json.loads(loaded) == []


def test_import_adds_little_to_scikit_learn() -> None:
    code = """if True:
        import time, sklearn.base
        start = time.perf_counter()
        import committee
        print(time.perf_counter() - start)"""
    seconds = median(float(run_python(code)) for _ in range(3))
    print(f"import committee adds {seconds:.4f} s to import sklearn.base")
    assert seconds < MOST_SECONDS
