"""List the sites of versions that stand in one folder: ``python docs/versions.py FOLDER`` writes ``versions.js`` there.

The sites are in folders called by their version, or ``dev`` or ``latest``. The pages load the list for their menu.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

# static/version_menu.js knows the same names.
MOVING = ("dev", "latest")


def list_versions(folder: Path) -> list[dict[str, Any]]:
    """The sites in a folder: moving ones first, then the newest version; the newest release is preferred."""
    numbered: list[tuple[Version, Path]] = []
    moving: list[Path] = []
    for site in sorted(path.parent for path in folder.glob("*/index.html")):
        if site.name in MOVING:
            moving.append(site)
            continue
        try:
            numbered.append((Version(site.name if site.name[0].isdigit() else ""), site))
        except InvalidVersion:
            sys.exit(f"The folder {site.name!r} has pages but is not called by a version, 'dev' or 'latest'.")
    numbered.sort(reverse=True)
    stable = next((site for version, site in numbered if not version.is_prerelease), None)
    return [
        {"name": name_site(site), "url": f"{site.name}/", "preferred": site == stable, "pages": list_pages(site)}
        for site in [*moving, *(site for _, site in numbered)]
    ]


def name_site(site: Path) -> str:
    """The name of a site's folder; with its version, which Sphinx writes, if the name is not one."""
    options = site / "_static" / "documentation_options.js"
    if site.name not in MOVING or not options.exists():
        return site.name
    found = re.search(r"VERSION: '([^']+)'", options.read_text(encoding="utf-8"))
    return f"{site.name} ({found[1]})" if found else site.name


def list_pages(site: Path) -> list[str]:
    """The addresses of a site's pages in it."""
    pages = [path.relative_to(site) for path in site.rglob("*.html")]
    return sorted(page.as_posix() for page in pages if page.parts[0] != "_static")


def write_versions(folder: Path) -> None:
    """Write the list of the sites in a folder into it, as a script."""
    listed = json.dumps(list_versions(folder), indent=1)
    (folder / "versions.js").write_text(f"window.committeeVersions = {listed};\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("One folder is needed, which holds the built sites of versions: python docs/versions.py FOLDER")
    write_versions(Path(sys.argv[1]))
