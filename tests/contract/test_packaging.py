"""The scripts of packaging/: what they read from pyproject.toml, and what they write."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def load_script(name: str) -> ModuleType:
    spec = spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_bill_of_materials_lists_what_is_installed(tmp_path: Path) -> None:
    if not load_script("sbom").is_installed("nanobind"):
        pytest.skip("nanobind is not installed here; the bill is made where the core is built")
    target = tmp_path / "sbom.json"
    subprocess.run([sys.executable, ROOT / "packaging" / "sbom.py", target], check=True)
    bill = json.loads(target.read_text(encoding="utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    versions = {part["name"]: part["version"] for part in bill["components"]}
    for name in ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "narwhals", "nanobind"):
        assert versions[name] == metadata.version(name)
    references = {part["bom-ref"] for part in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert all(part["licenses"][0].get("license", {}).get("name") != "unknown" for part in bill["components"])
    for edge in bill["dependencies"]:
        assert {edge["ref"], *edge["dependsOn"]} <= references


def test_requirements_of_extras_are_left_out() -> None:
    name_requirement = load_script("sbom").name_requirement
    assert name_requirement("Scikit_Learn[alldeps]>=1.6 ; python_version > '3'") == "scikit-learn"
    assert name_requirement("pytest (>=8) ; extra == 'test'") is None


def test_every_dependency_has_a_lower_bound_that_can_be_pinned() -> None:
    pin_oldest = load_script("oldest").pin_oldest
    assert pin_oldest("numpy>=1.26") == "numpy==1.26.*"
    assert pin_oldest("x>=1.2.3") == "x==1.2.3"
    extras = PROJECT["optional-dependencies"]
    for bound in [*PROJECT["dependencies"], *extras["cli"], *extras["io"]]:
        assert "==" in pin_oldest(bound)
    with pytest.raises(ValueError, match="has no lower bound"):
        pin_oldest("numpy")


def test_the_recipe_of_conda_asks_for_the_same_versions() -> None:
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{PROJECT["version"]}"' in recipe
    for bound in PROJECT["dependencies"]:
        assert f"- {bound.replace('>=', ' >=')}\n" in recipe


def test_units_of_the_cross_compiler_hold_every_source(tmp_path: Path) -> None:
    units = list(load_script("cross").write_units(tmp_path))
    listed = "".join(unit.read_text(encoding="utf-8") for unit in units)
    sources = [*(ROOT / "cpp" / "src").rglob("*.cpp"), *(ROOT / "cpp" / "bind").glob("*.cpp")]
    assert len(sources) > 80
    assert all(listed.count(f'"{source}"') == 1 for source in sources)
