"""The documentation site: what can be checked without building it (`make docs` runs the code of its pages)."""

import ast
import inspect
import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from extensions.foreign import FOREIGN, answer_names
from extensions.page_lists import keep_known_pages
from extensions.reference import CHAPTERS, GROUPS, group_names, list_names, list_packages
from versions import list_versions, write_versions

import committee
from tests.cli.browser import open_browser
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


@pytest.mark.parametrize("exists", [True, False])
def test_a_list_names_a_page_only_if_it_exists(exists: bool, tmp_path: Path) -> None:
    if exists:
        (tmp_path / "reliability.md").touch()
    text = "first\n@if-page reliability@ Reliability </reliability>\nlast\n"
    kept = "first\nReliability </reliability>\nlast\n" if exists else "first\nlast\n"
    assert keep_known_pages(text, tmp_path) == kept


def make_site(folder: Path, *pages: str, version: str = "") -> None:
    for page in ("index.html", *pages):
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_text("<p>page</p>", encoding="utf-8")
    if version:
        (folder / "_static").mkdir()
        options = f"const DOCUMENTATION_OPTIONS = {{\n    VERSION: '{version}',\n}};"
        (folder / "_static" / "documentation_options.js").write_text(options, encoding="utf-8")


def test_the_list_of_versions_is_sorted_and_prefers_the_newest_release(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0", "0.11.0rc1"):
        make_site(tmp_path / name, "methods/forests.html", "_static/part.html")
    make_site(tmp_path / "latest", version="0.12.0")
    (tmp_path / "pictures").mkdir()
    write_versions(tmp_path)
    text = (tmp_path / "versions.js").read_text(encoding="utf-8")
    assert text.startswith("window.committeeVersions = [")
    listed = json.loads(text.removeprefix("window.committeeVersions = ").removesuffix(";\n"))
    assert [one["name"] for one in listed] == ["latest (0.12.0)", "0.11.0rc1", "0.10.0", "0.9.0"]
    assert [one["url"] for one in listed] == ["latest/", "0.11.0rc1/", "0.10.0/", "0.9.0/"]
    assert [one["preferred"] for one in listed] == [False, False, True, False]
    assert listed[0]["pages"] == ["index.html"]
    assert listed[3]["pages"] == ["index.html", "methods/forests.html"]


@pytest.mark.parametrize("name", ["draft", "v0.2.0"])
def test_a_site_without_a_version_is_refused(tmp_path: Path, name: str) -> None:
    make_site(tmp_path / name)
    with pytest.raises(SystemExit, match=f"'{name}' has pages but is not called by a version"):
        list_versions(tmp_path)


def test_the_menu_shows_the_version() -> None:
    jinja2 = pytest.importorskip("jinja2")
    text = (DOCS / "templates" / "version-menu.html").read_text(encoding="utf-8")
    shown = jinja2.Template(text).render(release=committee.__version__)
    assert f'version-shown">{committee.__version__}</span>' in shown
    # The menu appears only once there are other versions to go to.
    assert re.search(r"<button [^>]*\bhidden>", shown)
    conf = (DOCS / "conf.py").read_text(encoding="utf-8")
    assert '"navbar_end": ["version-menu", ' in conf
    assert 'release = import_module("committee").__version__' in conf


def test_the_menu_leads_to_the_same_page_of_other_versions(tmp_path: Path) -> None:
    menu = (DOCS / "templates" / "version-menu.html").read_text(encoding="utf-8")
    script = (DOCS / "static" / "version_menu.js").as_uri()
    page = f'<!DOCTYPE html><html data-content_root="../"><body>{menu}<script src="{script}"></script></body></html>'
    for site in ("sites/0.1.0", "sites/0.2.0", "alone"):
        make_site(tmp_path / site)
    for path in ("sites/0.1.0/a/old.html", "sites/0.2.0/a/old.html", "sites/0.2.0/a/new.html", "alone/a/old.html"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(page, encoding="utf-8")
    write_versions(tmp_path / "sites")
    links = "[...document.querySelectorAll('.version-menu a')].map((a) => a.href)"
    sites = (tmp_path / "sites").resolve().as_uri()
    with open_browser(tmp_path) as browser:
        browser.open(tmp_path / "sites/0.2.0/a/old.html")
        assert browser.run(links) == [f"{sites}/0.2.0/a/old.html", f"{sites}/0.1.0/a/old.html"]
        assert browser.run("document.querySelector('[aria-current]').textContent") == "0.2.0 (stable)"
        assert browser.run("document.querySelector('button').hidden") is False
        browser.open(tmp_path / "sites/0.2.0/a/new.html")
        assert browser.run(links) == [f"{sites}/0.2.0/a/new.html", f"{sites}/0.1.0/index.html"]
        browser.open(tmp_path / "alone/a/old.html")
        assert browser.run(links) == []
        assert browser.run("document.querySelector('button').hidden") is True
        assert browser.list_complaints() == []
