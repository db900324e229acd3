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


def test_what_an_emulated_run_lacks_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_script("emulated")
    assert script.name_other("x86_64") == "aarch64"
    assert script.name_other("aarch64") == script.name_other("arm64") == "x86_64"
    monkeypatch.setattr(script.shutil, "which", lambda tool: None)
    for processor in script.PROCESSORS.values():
        lines = "\n".join(script.list_missing(processor, fetches=True))
        assert f"qemu-{processor.name}: apt-get install" in lines
        assert f"{processor.compiler}: apt-get install --no-install-recommends {processor.package}" in lines
        assert "apt-get: use Debian or Ubuntu, or --root FOLDER" in lines
        assert "dpkg-deb" not in "\n".join(script.list_missing(processor, fetches=False))


def test_files_of_an_emulated_run_exist() -> None:
    assert all((ROOT / name).is_file() for name in load_script("emulated").TESTS)


def test_a_system_for_emulation_has_python_and_its_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_script("emulated")
    processor = script.PROCESSORS["aarch64"]
    with pytest.raises(SystemExit, match="has no usr/bin/python3"):
        script.find_interpreter(processor, tmp_path)
    binaries = tmp_path / "usr" / "bin"
    binaries.mkdir(parents=True)
    for name in ("python3", "python3.9", "python3.11", "python3.11-config"):
        (binaries / name).touch()
    answer = ["aarch64", [3, 11], "aarch64-linux-gnu", ".cpython-311-aarch64-linux-gnu.so"]
    monkeypatch.setattr(script.subprocess, "check_output", lambda *_, **__: json.dumps(answer))
    with pytest.raises(SystemExit, match=r"has no Python\.h"):
        script.find_interpreter(processor, tmp_path)
    headers = tmp_path / "usr" / "include" / "python3.11"
    headers.mkdir(parents=True)
    (headers / "Python.h").touch()
    found = script.find_interpreter(processor, tmp_path)
    assert found.path == binaries / "python3.11"
    assert found.headers == (headers, tmp_path / "usr" / "include" / "aarch64-linux-gnu" / "python3.11")
    with pytest.raises(SystemExit, match="runs on aarch64, not on x86_64"):
        script.find_interpreter(script.PROCESSORS["x86_64"], tmp_path)


def test_the_package_for_emulation_has_the_module_of_the_other_processor_only(tmp_path: Path) -> None:
    module = tmp_path / "_core.so"
    module.write_bytes(b"other")
    suffix = ".cpython-311-aarch64-linux-gnu.so"
    load_script("emulated").lay_out_package(module, tmp_path / "package", suffix)
    modules = list((tmp_path / "package" / "committee").glob("_core*.so"))
    assert [path.name for path in modules] == [f"_core{suffix}"]
    assert modules[0].read_bytes() == b"other"
