"""Pages and tables that are made from other files: benchmarks, repository documents, names of other libraries."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import committee
from extensions.foreign import answer_names
from extensions.library import ROOT
from extensions.page_lists import keep_known_pages

if TYPE_CHECKING:
    from pathlib import Path

    from sphinx.application import Sphinx

# Documents of the repository that are pages of the site too.
DOCUMENTS = {
    "ARCHITECTURE.md": "inside/architecture.md",
    "CONTRIBUTING.md": "inside/contributing.md",
    "CHANGELOG.md": "inside/changelog.md",
    "benchmarks/README.md": "inside/benchmarks/suites.md",
}


class ForeignNames(SphinxDirective):
    """``{foreign-names} LIBRARY CLASS``: what is written here for the parameters of another library."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        library, name = self.arguments
        known = inspect.signature(getattr(committee, name)).parameters
        lines = [f"| {library} | {name} | default |", "|---|---|---|"]
        for theirs, answer in answer_names(library, list(known)):
            default = f"`{known[answer].default!r}`" if answer in known else ""
            ours = f"`{answer}`" if answer in known else answer
            lines.append(f"| `{theirs}` | {ours} | {default} |")
        return self.parse_text_to_nodes("\n".join(lines))


def adapt_links(text: str, page: str) -> str:
    """Links of a document of the repository, from where its page is; what is not on the site is only named."""
    up = "../" * page.count("/")

    def change(found: re.Match[str]) -> str:
        label, target = found[1], found[2]
        address, _, place = target.partition("#")
        if address.startswith("http") or not address:
            return found[0]
        if address in DOCUMENTS:
            address = up + DOCUMENTS[address]
        elif address.startswith("docs/") and (ROOT / address).exists():
            address = up + address.removeprefix("docs/")
        else:
            return label
        return f"[{label}]({address}{'#' + place if place else ''})"

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", change, text)


def write_pages(folder: Path) -> None:
    """Write the pages that have changed."""
    pages = {page: adapt_links((ROOT / source).read_text("utf-8"), page) for source, page in DOCUMENTS.items()}
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        page = f"inside/benchmarks/{path.name}"
        pages[page] = adapt_links(path.read_text("utf-8"), page)
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def _list_other_pages(app: Sphinx, page: str, source: list[str]) -> None:
    """Pages that no list names are in the list of how-tos, where it says so."""
    if "@other-pages@" in source[0]:
        folder = app.srcdir
        lists = "".join(path.read_text("utf-8") for path in [folder / "index.md", *folder.glob("*/index.md")])
        names = sorted(path.stem for path in folder.glob("*.md"))
        others = [name for name in names if name != "index" and not re.search(rf"\b{name}(\.md|>|$)", lists, re.M)]
        source[0] = source[0].replace("@other-pages@", "\n".join(f"/{name}" for name in others))


def _keep_known_pages(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = keep_known_pages(source[0], app.srcdir)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("foreign-names", ForeignNames)
    app.connect("source-read", _keep_known_pages)
    app.connect("source-read", _list_other_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
