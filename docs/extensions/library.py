"""What the results on the pages depend on besides their own code."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def digest_library() -> str:
    """A digest of the package's sources and of its compiled core."""
    digest = hashlib.sha256()
    package = ROOT / "src" / "committee"
    for path in sorted([*package.rglob("*.py"), *package.glob("_core*.so")]):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def forget_stale_gallery(folder: Path) -> None:
    """Make the gallery run its scripts again if the library has changed; it compares the scripts alone."""
    mark = folder / "library.txt"
    if folder.is_dir() and (not mark.exists() or mark.read_text(encoding="ascii") != digest_library()):
        for path in folder.glob("*.md5"):
            path.unlink()
    folder.mkdir(exist_ok=True)
    mark.write_text(digest_library(), encoding="ascii")
