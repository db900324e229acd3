"""The ``run`` directive: code of a page is run when the page is built, and shown with what it printed and drew.

The blocks of a page share one namespace and run in order. Results are kept in ``docs/runs`` under a digest of the
library and of all code of the page up to the block, so that a page that has not changed is not run again.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import os
import struct
import tempfile
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from extensions.library import digest_library

if TYPE_CHECKING:
    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)
RUNS = Path(__file__).resolve().parents[1] / "runs"
_DPI = 150


@dataclass
class PageRun:
    """The code of a page so far."""

    folder: tempfile.TemporaryDirectory[str] = field(default_factory=tempfile.TemporaryDirectory)
    sources: list[str] = field(default_factory=list)
    n_run: int = 0  # of the sources; those before were found in the cache
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def find_key(self) -> str:
        parts = [digest_library(), Path(__file__).read_text(encoding="utf-8"), *self.sources]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def run_source(source: str, namespace: dict[str, Any]) -> str:
    """Run a block; what it printed, and the value of its last line if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(tree, "<page>", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<page>", "eval"), namespace)
            if value is not None and not type(value).__name__.endswith("Display"):
                printed.write(f"{value!r}\n")
    return printed.getvalue()


def save_figures(key: str) -> list[str]:
    """Write the open figures and close them."""
    import matplotlib.pyplot as plt

    names = []
    for place, number in enumerate(plt.get_fignums()):
        names.append(f"{key}-{place}.png")
        plt.figure(number).savefig(RUNS / names[-1], dpi=_DPI, bbox_inches="tight", facecolor="white")
    plt.close("all")
    return names


def is_wide(path: Path) -> bool:
    """Whether a picture has panels side by side, which would be too small to read on a phone."""
    with path.open("rb") as file:
        width, height = struct.unpack(">II", file.read(24)[16:])
    return bool(width > 1.7 * height)


class RunDirective(SphinxDirective):
    """``{run}``; ``:caption:`` describes the figure, ``:raises:`` names the error that is the result."""

    has_content = True
    option_spec = {  # noqa: RUF012
        "caption": directives.unchanged,
        "raises": directives.unchanged,
        "hide-code": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        source = "\n".join(self.content)
        page = self.env.temp_data.get("page_run")
        if page is None:
            page = self.env.temp_data["page_run"] = PageRun()
        page.sources.append(source)
        try:
            result = self._find_result(page)
        except Exception:
            logger.warning("the code failed:\n%s", traceback.format_exc(limit=-3), location=self.get_location())
            return []
        shown: list[nodes.Node] = []
        if "hide-code" not in self.options:
            shown.append(nodes.literal_block(source, source, language="python"))
        if result["printed"]:
            text = result["printed"].rstrip()
            shown.append(nodes.literal_block(text, text, language="none", classes=["printed"]))
        return shown + [self._show_figure(name) for name in result["figures"]]

    def _find_result(self, page: PageRun) -> dict[str, Any]:
        key = page.find_key()
        kept = RUNS / f"{key}.json"
        if kept.exists():
            return dict(json.loads(kept.read_text(encoding="utf-8")))
        RUNS.mkdir(exist_ok=True)
        before = os.getcwd()
        os.chdir(page.folder.name)
        try:
            while page.n_run < len(page.sources) - 1:
                with contextlib.suppress(Exception):  # such a block was shown with its error
                    run_source(page.sources[page.n_run], page.namespace)
                page.n_run += 1
            save_figures("unused")
            printed = self._run_last(page)
            page.n_run += 1
            result = {"printed": printed, "figures": save_figures(key)}
        finally:
            os.chdir(before)
        kept.write_text(json.dumps(result), encoding="utf-8")
        return result

    def _run_last(self, page: PageRun) -> str:
        wanted = self.options.get("raises")
        if wanted is None:
            return run_source(page.sources[-1], page.namespace)
        try:
            run_source(page.sources[-1], page.namespace)
        except Exception as error:
            if type(error).__name__ != wanted:
                raise
            return f"{wanted}: {error}"
        raise RuntimeError(f"The code should have raised {wanted}.")

    def _show_figure(self, name: str) -> nodes.Node:
        caption = self.options.get("caption")
        if caption is None:
            logger.warning("a figure needs a :caption:", location=self.get_location())
            return nodes.paragraph()
        inside, messages = self.parse_inline(caption)
        text = nodes.caption(caption, "", *inside)
        classes = ["wide"] if is_wide(RUNS / name) else []
        image = nodes.image(uri=f"/runs/{name}", alt=text.astext())
        return nodes.figure("", image, text, *messages, classes=classes)


def setup(app: Sphinx) -> dict[str, bool]:
    os.environ.setdefault("MPLBACKEND", "agg")
    app.add_directive("run", RunDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
