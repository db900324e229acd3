"""Every link inside the built pages leads somewhere, and no page asks another host for anything."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag, urlsplit

from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)
_FOREIGN = ("http:", "https:", "//")


class PageLinks(HTMLParser):
    """The names that a page can be entered at, its links, and the files that it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag in {"img", "script", "source", "iframe", "video", "audio"} and "src" in given:
            self.loaded.add(given["src"])
        if tag == "link" and given.get("rel") in {"stylesheet", "preload", "icon"}:
            self.loaded.add(given.get("href", ""))


def find_broken_links(folder: Path) -> list[str]:
    """A sentence for each link to a page, a file or a place that does not exist."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        parts = path.relative_to(folder).parts
        if parts[0] not in {"_static", "_modules"}:
            pages[path.resolve()] = PageLinks()
            pages[path.resolve()].feed(path.read_text(encoding="utf-8"))
    broken = []
    for path, page in pages.items():
        here = path.relative_to(folder.resolve()).as_posix()
        broken += [f"{here} loads {target} from another host" for target in page.loaded if target.startswith(_FOREIGN)]
        for target in sorted(page.links | page.loaded):
            address, place = urldefrag(target)
            if urlsplit(target).scheme or target.startswith("//"):
                continue
            wanted = (path.parent / unquote(urlsplit(address).path)).resolve() if address else path
            if not wanted.exists():
                broken.append(f"{here} links to {target}, which does not exist")
            elif place and wanted in pages and unquote(place) not in pages[wanted].names | {"", "top"}:
                broken.append(f"{here} links to {target}: the page has no such place")
    return broken


def _drop_foreign_styles(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Animations ask another host for icons; the theme has its own."""
    if "body" in context:
        context["body"] = re.sub(r'<link rel="stylesheet"\s+href="https?:[^>]*>', "", context["body"])


def _check_links(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        for sentence in find_broken_links(Path(app.outdir)):
            logger.warning(sentence)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", _drop_foreign_styles)
    app.connect("build-finished", _check_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
