"""The calls from a public method to the kernel are few, and those that ARCHITECTURE.md names."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import pairwise
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest

import committee
from committee import _core
from tests.contract.source_reading import ROOT, list_sources

X = np.random.default_rng(0).normal(size=(60, 4))
Y = (X[:, 0] > 0).astype(int)
FOREST = committee.RandomForestClassifier(3, random_state=0).fit(X, Y)


class Path(NamedTuple):
    """A row of the table, the method of the core that its binding is, and the most calls."""

    title: str
    run: Callable[[], Any]
    binding: tuple[Any, str]
    most: int


PATHS = [
    Path(
        "RandomForestClassifier.fit",
        lambda: committee.RandomForestClassifier(3, random_state=0).fit(X, Y),
        (_core, "grow_forest"),
        10,
    ),
    Path(
        "HistGradientBoostingClassifier.fit",
        lambda: committee.HistGradientBoostingClassifier(max_iter=2).fit(X, Y),
        (_core.Boosting, "boost"),
        10,
    ),
    Path(
        "AdaBoostClassifier.fit",
        lambda: committee.AdaBoostClassifier(n_estimators=2).fit(X, Y),
        (_core.StumpTrainer, "grow"),
        8,
    ),
    Path("RandomForestClassifier.predict", lambda: FOREST.predict(X), (_core.Trees, "predict"), 7),
]
#: Calls through a table of functions, by what stands in the text of the caller.
BY_TABLE = {"walk_rows": "end_rows"}


def read_row(title: str) -> tuple[list[str], list[str], int]:
    """Functions before the binding and after it, without the names of their classes, and the number of calls."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if re.match(rf"\| `{re.escape(title)}`", line)]
    _, _, functions, number, _ = row.split("|")
    python, core = functions.split(" → binding → ")
    halves = [[step.split("`")[1] if "`" in step else "" for step in half.split(" → ")] for half in (python, core)]
    names = [[re.split(r"::|\.", name)[-1] for name in half] for half in halves]
    return names[0], names[1], int(number)


def list_frames(frame: FrameType | None) -> list[str]:
    """The functions of the package that are running, the outermost first; not the decorator that opens files."""
    found = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("committee.") and module != "committee.data.opening":
            found.append(frame.f_code.co_name)
        frame = frame.f_back
    return found[::-1]


def trace_calls(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is running in Python when the core is called first."""
    (owner, name), seen = path.binding, []
    plain = getattr(owner, name)

    def call(*args: Any, **options: Any) -> Any:
        seen.append(list_frames(sys._getframe(1)))
        return plain(*args, **options)

    monkeypatch.setattr(owner, name, call)
    path.run()
    return seen[0]


def list_bodies(name: str, texts: list[str]) -> list[str]:
    """The definitions of a function of C++, wherever it is: up to the brace in the column of their first line."""
    found = []
    for text in texts:
        for match in re.finditer(rf"^( *)(?:[\w:]+(?:<.*>)?[ &*]+)+(?:\w+(?:<\w+>)?::)?{name}\(", text, re.MULTILINE):
            rest = text[match.end() :]
            end = re.search(rf"^{match[1]}\}}", rest, re.MULTILINE)
            found.append(rest[: end.start()] if end else "")
    return found


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.title)
def test_calls_to_the_kernel(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python, core, number = read_row(path.title)
    assert trace_calls(path, monkeypatch) == python
    assert len(python) + 1 + len(core) == number
    assert number <= path.most
    texts = [source.read_text(encoding="utf-8") for source in list_sources("cpp/src", endings=(".cpp", ".hpp"))]
    for caller, called in pairwise(core):
        sought = BY_TABLE.get(called, called) or "kernel"
        assert any(sought in body for body in list_bodies(caller, texts)), f"{caller} does not call {called}"
