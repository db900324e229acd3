"""What `import committee` must not load; what it costs is measured in benchmarks/trees.py."""

import json
import os
import subprocess
import sys
from pathlib import Path

import committee

HEAVY = ["pandas", "polars", "pyarrow", "matplotlib", "narwhals", "typer", "rich"]


def run_python(code: str) -> str:
    # The package that is under test, whatever the folder or the environment.
    env = os.environ | {"PYTHONPATH": str(Path(committee.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return done.stdout


# Those that others use come first: each is asked for before anything else has loaded it.
USES = {
    "datasets": "load_table",
    "scoring": "choose_score",
    "inspection": "shap_values",
    "io": "to_onnx",
    "plots": "TreeDisplay",
    "search": "TPESearch",
}
CODE = f"""
import json, sys
import committee
print(json.dumps([name for name in {HEAVY} if name in sys.modules]))
shown = set(dir(committee))
answers = {{}}
for package, name in {USES}.items():
    path = "committee." + package
    before = path in sys.modules
    used = getattr(committee, package)
    answers[package] = [package in shown, before, callable(getattr(used, name)), used is sys.modules[path]]
print(json.dumps(answers))
"""


def test_import_loads_nothing_heavy_and_packages_on_first_use() -> None:
    """One interpreter answers both: its start and the import of scikit-learn are most of the work."""
    heavy, answers = map(json.loads, run_python(CODE).splitlines())
    assert heavy == []
    assert answers == {package: [True, False, True, True] for package in USES}
