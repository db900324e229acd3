"""The documentation site: what can be checked without building it (`make docs` runs the code of its pages)."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
from extensions.foreign import FOREIGN, answer_names
from extensions.reference import CHAPTERS, GROUPS, group_names, list_names, list_packages

import committee
from tests.contract.source_reading import ROOT

DOCS = ROOT / "docs"
# Pages that the build makes from other files.
MADE = ("reference/*", "gallery/*", "inside/architecture.md", "inside/changelog.md", "inside/contributing.md")
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if not any(path.relative_to(DOCS).match(pattern) for pattern in MADE)
    and (path.parent.name != "benchmarks" or path.stem == "index")
]
INCLUDE = re.compile(r"```\{literalinclude\} (\S+)\n((?::.*\n)*)")


def name_page(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


def find_object(text: str, path: str) -> ast.AST | None:
    """The class or function of a dotted name."""
    node: ast.AST | None = ast.parse(text)
    for name in path.split("."):
        inside = getattr(node, "body", [])
        node = next((n for n in inside if getattr(n, "name", None) == name), None)
    return node


@pytest.mark.parametrize("package", list_packages())
def test_the_reference_has_every_public_name(package: str) -> None:
    listed = {id(public.value) for group in group_names(list_names()).values() for public in group}
    module = import_module(package)
    assert [name for name in module.__all__ if name != "__version__" and id(getattr(module, name)) not in listed] == []


def test_every_group_of_the_reference_has_names() -> None:
    groups = group_names(list_names())
    assert list(groups) == [title for title, *_ in GROUPS]
    assert {public.name for public in list_names()} >= set(CHAPTERS)


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_sources_on_pages_exist(page: Path) -> None:
    for target, options in INCLUDE.findall(page.read_text(encoding="utf-8")):
        text = (page.parent / target).resolve().read_text(encoding="utf-8")
        given = dict(re.findall(r"^:([\w-]+): *(.*)$", options, flags=re.M))
        if "pyobject" in given:
            assert find_object(text, given["pyobject"]) is not None, given["pyobject"]
        for mark in ("start-after", "start-at", "end-before"):
            if mark in given:
                assert text.count(given[mark].strip('"').strip()) == 1, given[mark]


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_the_code_of_a_page_is_run(page: Path) -> None:
    """Code is in a ``run`` block, which the build runs, or has prompts, and a doctest runs it."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```$", text, flags=re.M | re.S):
        assert block.startswith(">>>")
    if "\n>>> " in text:
        assert name_page(page) in (ROOT / "tests/contract/test_documents.py").read_text(encoding="utf-8")
    for block in re.findall(r"^```\{run\}.*?\n(.*?)^```$", text, flags=re.M | re.S):
        ast.parse(re.sub(r"^:[\w-]+:.*\n", "", block, flags=re.M))


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_the_tables_of_parameters_are_complete(library: str) -> None:
    module = pytest.importorskip(library)
    theirs = module.LGBMClassifier if library == "lightgbm" else module.XGBModel
    names = set(inspect.signature(theirs).parameters) - {"kwargs"}
    assert names <= set(FOREIGN[library].split())


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_parameters_of_other_libraries_have_an_answer(library: str) -> None:
    known = list(inspect.signature(committee.GradientBoostingClassifier).parameters)
    answers = dict(answer_names(library, known))
    without = [theirs for theirs, answer in answers.items() if answer == "no counterpart"]
    assert len(without) < len(answers) / 4
    assert answers["max_depth"] == "max_depth"
