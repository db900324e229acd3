"""Write a software bill of materials in the CycloneDX format: ``python packaging/sbom.py [FILE]``.

It lists the library, what is compiled into its core, and the packages that it needs at run time, as they are installed
in this environment. The same environment gives the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# Compiled into the core; nanobind brings its hash table along.
COMPILED = ("nanobind",)


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist" / "sbom.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(list_parts(), indent=2) + "\n", encoding="utf-8")
    print(f"{target}: {len(list_parts()['components'])} components")


def list_parts() -> dict[str, Any]:
    """The bill as a JSON object."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = {name: find_needs(name) for name in find_closure(project["dependencies"])}
    direct = sorted(filter(None, map(name_requirement, project["dependencies"])))
    root = describe("committee", project["version"], project["license"])
    components = [describe_installed(name) for name in sorted({*needs, *COMPILED})]
    graph = [{"ref": root["bom-ref"], "dependsOn": [find_reference(name) for name in sorted({*direct, *COMPILED})]}]
    graph += [
        {"ref": find_reference(name), "dependsOn": list(map(find_reference, needs[name]))} for name in sorted(needs)
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**root, "type": "library"}},
        "components": components,
        "dependencies": graph,
    }


def find_closure(requirements: list[str]) -> list[str]:
    """Names of all packages that are needed, directly or by others."""
    found: set[str] = set()
    waiting = [name for name in map(name_requirement, requirements) if name]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += find_needs(name)
    return sorted(found)


def find_needs(name: str) -> list[str]:
    """What an installed package needs on this system, without its extras."""
    names = {name_requirement(line) for line in metadata.requires(name) or []}
    return sorted(found for found in names if found and is_installed(found))


def name_requirement(line: str) -> str | None:
    """The package of a requirement; None if only an extra asks for it."""
    wanted, _, marker = line.partition(";")
    if "extra ==" in marker:
        return None
    return re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~(]", wanted.strip(), maxsplit=1)[0]).lower()


def is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def find_reference(name: str) -> str:
    return f"pkg:pypi/{name}@{metadata.version(name)}"


def describe_installed(name: str) -> dict[str, Any]:
    facts = metadata.metadata(name)
    licence = facts.get("License-Expression") or find_licence_class(facts) or "unknown"
    return {**describe(name, metadata.version(name), licence), "scope": "required"}


def find_licence_class(facts: Any) -> str | None:
    classes = [line.split(" :: ")[-1] for line in facts.get_all("Classifier") or [] if line.startswith("License ::")]
    return " and ".join(classes) or None


def describe(name: str, version: str, licence: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{version}"
    # An expression of SPDX has no spaces except around its operators; anything else is a name.
    is_expression = re.fullmatch(r"[\w.+()-]+(?: (?:AND|OR|WITH) [\w.+()-]+)*", licence) is not None
    stated: dict[str, Any] = {"expression": licence} if is_expression else {"license": {"name": licence}}
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "licenses": [stated],
        "purl": purl,
    }


if __name__ == "__main__":
    main()
