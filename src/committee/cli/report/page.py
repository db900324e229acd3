"""A self-contained HTML page: one file without network access.

Its only script shows tooltips; the security policy of the page allows no other one, by its digest, and no request.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from committee.cli.output import make_write_error
from committee.cli.report.markup import Section, escape

__all__ = ["render_page", "write_page"]


def render_page(title: str, lead: str, sections: Sequence[Section], colophon: str) -> str:
    """Render a page.

    Parameters
    ----------
    title : str
        Plain text.
    lead : str
        HTML below the title.
    sections : sequence of Section
        The sections, in order.
    colophon : str
        Last line, as plain text.

    Returns
    -------
    str
        An HTML document.
    """
    here = files("committee.cli.report")
    script = (here / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    links = "\n".join(f'<li><a href="#{one.key}">{escape(one.title)}</a></li>' for one in sections)
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(title),
        style=(here / "page.css").read_text(encoding="utf-8"),
        script=script,
        digest=f"sha256-{digest}",
        lead=lead,
        links=links,
        sections="\n".join(one.render() for one in sections),
        colophon=escape(colophon),
    )


def write_page(page: str, path: Path) -> int:
    """Write a page atomically.

    Parameters
    ----------
    page : str
        HTML.
    path : pathlib.Path
        The file.

    Returns
    -------
    int
        Bytes of the file.
    """
    content = page.encode("utf-8", errors="replace")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            _set_default_mode(name)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise make_write_error(path, error) from error
    return len(content)


def _set_default_mode(name: str) -> None:
    """Temporary files are readable by their owner only; give the page the mode of a new file."""
    mask = os.umask(0)
    os.umask(mask)
    Path(name).chmod(0o666 & ~mask)
