"""What the documents say is true: their code runs, their commands are the tested ones, their keys are resolved."""

import doctest
import re
from pathlib import Path

import pytest

from benchmarks import routes
from tests.contract.source_reading import ROOT, list_sources


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def list_blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)


def test_the_readme_has_the_two_commands() -> None:
    commands = [block.strip() for block in list_blocks(read("README.md"), "bash")]
    assert commands == ["pip install '.[cli]' && committee fit", "pip install '.[test]' && pytest"]
    assert commands[1] in read(".ci/run")


def test_the_examples_of_the_readme_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    examples = list_blocks(read("README.md"), "python")
    assert len(examples) == 1
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)


@pytest.mark.parametrize("page", ["columns.md", "text.md", "combining.md", "big_data.md"])
def test_the_examples_of_the_pages_run(page: str) -> None:
    results = doctest.testfile(str(ROOT / "docs" / page), module_relative=False)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_between_documents_lead_somewhere(name: str) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", read(name))
    assert [
        target for target in targets if "://" not in target and not (ROOT / target.partition("#")[0]).exists()
    ] == []


def test_every_paper_that_is_named_is_listed() -> None:
    known = set(re.findall(r"^@\w+\{(\w+),", read("docs/references.bib"), flags=re.M))
    cited: set[str] = set()
    for path in list_sources("src", "cpp", "tests", endings=(".py", ".hpp", ".cpp")):
        for inside in re.findall(r"\[([A-Z][A-Za-z]+\d{4}[^\]\n]*)\]", path.read_text(encoding="utf-8")):
            cited |= set(re.findall(r"[A-Z][A-Za-z]+\d{4}[a-z]?\b", inside))
    assert cited
    assert cited <= known


def test_every_paper_is_closed_and_listed_once() -> None:
    entries = re.split(r"\n(?=@)", read("docs/references.bib").strip())
    assert all(entry.strip().endswith("\n}") and entry.count("{") == entry.count("}") for entry in entries)
    keys = re.findall(r"^@\w+\{(\w+),", read("docs/references.bib"), flags=re.M)
    assert len(keys) == len(set(keys)) == len(entries)


def test_the_architecture_lists_the_routes_of_growth() -> None:
    inside = read("ARCHITECTURE.md").split(routes.BEGIN)[1].split(routes.END)[0]
    assert inside.strip() == routes.render_table()


def test_the_makefile_lists_itself() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.M))
    explained = set(re.findall(r"^([a-z-]+):.*## \w", read("Makefile"), flags=re.M))
    wanted = {"help", "setup", "build", "test", "lint", "format", "sanitize", "bench", "docs", "clean"}
    assert wanted <= targets
    assert targets == explained
