"""What `import committee` must not load; what it costs is measured in benchmarks/trees.py."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import committee

HEAVY = ["pandas", "polars", "pyarrow", "matplotlib", "narwhals", "typer", "rich"]


def run_python(code: str) -> str:
    # The package that is under test, whatever the folder or the environment.
    env = os.environ | {"PYTHONPATH": str(Path(committee.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return done.stdout


def test_import_loads_nothing_heavy() -> None:
    loaded = run_python(f"import sys, json, committee; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))")
    assert json.loads(loaded) == []


@pytest.mark.parametrize(
    "name",
    [
        "datasets.load_table",
        "inspection.shap_values",
        "io.to_onnx",
        "plots.TreeDisplay",
        "scoring.choose_score",
        "search.TPESearch",
    ],
)
def test_a_package_is_loaded_on_first_use(name: str) -> None:
    package = f"committee.{name.partition('.')[0]}"
    code = (
        f"import sys, committee; assert {package!r} not in sys.modules; "
        f"assert {package.partition('.')[2]!r} in dir(committee); assert {package!r} not in sys.modules; "
        f"print(callable(committee.{name}), committee.{name.partition('.')[0]} is sys.modules[{package!r}])"
    )
    assert run_python(code).split() == ["True", "True"]
