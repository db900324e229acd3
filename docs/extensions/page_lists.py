"""Lists of pages; without Sphinx, so that they can be tested where it is not installed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def keep_known_pages(text: str, folder: Path) -> str:
    """Entries of a list that begin with ``@if-page NAME@`` are kept if there is such a page, and dropped otherwise."""

    def choose(found: re.Match[str]) -> str:
        return f"{found[2]}\n" if (folder / f"{found[1]}.md").exists() else ""

    return re.sub(r"^@if-page (\S+)@ (.*)\n", choose, text, flags=re.M)
