"""Recorded scenes of the lab: plain files that run without a server, from the scripts of the lab itself."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from committee.lab import LabState, record_scene
from extensions.library import digest_library

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Scene:
    """A state whose rounds are recorded; what there is to see is said above the picture."""

    name: str
    title: str
    state: LabState


SCENES = (
    Scene(
        "adaboost",
        "AdaBoost with stumps: points that were misclassified grow, and the next stump has to mind them.",
        LabState("moons", n=200, noise=0.3, rounds=60, round=1),
    ),
    Scene(
        "gradient_boosting",
        "Gradient boosting: each tree is fitted to the arrows, and the curve goes a part of the way.",
        LabState("sine", algorithm="r2", n=80, noise=0.3, method="boosting", depth=2, rate=0.3, rounds=60, round=1),
    ),
    Scene(
        "forest",
        "A random forest: each tree has jagged borders of its own, and their mean is smooth.",
        LabState("spirals", n=300, noise=0.3, method="forest", depth=12, rounds=60, round=1),
    ),
)


def _make_page(page: str, name: str) -> str:
    """The page of the lab, with the recording loaded before its own scripts."""
    first = '<script src="codec.js" defer></script>'
    assert page.count(first) == 1
    return page.replace(first, f'<script src="{name}.js" defer></script>\n{first}')


def write_scenes(folder: Path) -> None:
    """Write the scenes, their scripts and their style sheet, unless those of this library are there."""
    static = {entry.name: entry.read_bytes() for entry in (files("committee.lab") / "static").iterdir()}
    content = b"".join(static[name] for name in sorted(static))
    key = hashlib.sha256(digest_library().encode() + content + repr(SCENES).encode()).hexdigest()
    mark = folder / "library.txt"
    if mark.exists() and mark.read_text(encoding="ascii") == key:
        return
    folder.mkdir(parents=True, exist_ok=True)
    page = static.pop("index.html").decode("utf-8")
    for name, script in static.items():
        (folder / name).write_bytes(script)
    for scene in SCENES:
        (folder / f"{scene.name}.js").write_text(record_scene(scene.state, scene.title), encoding="utf-8")
        (folder / f"{scene.name}.html").write_text(_make_page(page, scene.name), encoding="utf-8")
    mark.write_text(key, encoding="ascii")
