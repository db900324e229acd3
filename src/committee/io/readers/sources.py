"""What readers read from: files, bytes and documents of JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from committee.exceptions import ParameterTypeError
from committee.io.readers.node_tables import refuse_file

__all__ = ["read_json", "read_source_bytes"]

_MOST_LETTERS = 4096


def read_source_bytes(library: str, source: Any) -> bytes:
    """The bytes of a file, or those that were given."""
    if isinstance(source, bytes | bytearray):
        return bytes(source)
    if isinstance(source, str | os.PathLike) and len(os.fspath(source)) < _MOST_LETTERS:
        path = Path(source)
        if not path.is_file():
            raise refuse_file(library, f"there is no file {os.fspath(source)!r}")
        return path.read_bytes()
    raise ParameterTypeError(
        f"A model of {library} is given as a path, its text or an object of the library; got {type(source).__name__}."
    )


def read_json(library: str, data: bytes) -> dict[str, Any]:
    """A document whose outermost value is an object."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise refuse_file(library, f"it is no JSON ({str(error)[:80]})") from error
    if not isinstance(found, dict):
        raise refuse_file(library, "its JSON is no object")
    return found
