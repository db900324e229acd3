"""A page that stands alone: one file, no script, no network."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from committee.cli.output import refuse_writing
from committee.cli.report.markup import Section, escape

__all__ = ["render_page", "write_page"]


def render_page(title: str, lead: str, sections: Sequence[Section], colophon: str) -> str:
    """All of a page.

    Parameters
    ----------
    title : str
        As text.
    lead : str
        HTML below the title.
    sections : sequence of Section
        In order.
    colophon : str
        Last line, as text.

    Returns
    -------
    str
        An HTML document.
    """
    here = files("committee.cli.report")
    links = "\n".join(f'<li><a href="#{one.key}">{escape(one.title)}</a></li>' for one in sections)
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(title),
        style=(here / "page.css").read_text(encoding="utf-8"),
        lead=lead,
        links=links,
        sections="\n".join(one.render() for one in sections),
        colophon=escape(colophon),
    )


def write_page(page: str, path: Path) -> int:
    """Write a page, whole or not at all.

    Parameters
    ----------
    page : str
        HTML.
    path : pathlib.Path
        Where to.

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
            _grant_usual_rights(name)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise refuse_writing(path, error) from error
    return len(content)


def _grant_usual_rights(name: str) -> None:
    """Temporary files are private to their owner; a page has the rights that any other new file would have."""
    mask = os.umask(0)
    os.umask(mask)
    Path(name).chmod(0o666 & ~mask)
