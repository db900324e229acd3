"""Universal Binary JSON, draft 12: the part of it that XGBoost writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.io.readers.node_tables import refuse_file

__all__ = ["read_ubjson"]

_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_CONSTANTS = {b"Z": None, b"T": True, b"F": False}
_MOST_DEPTH = 100


class _Reader:
    def __init__(self, data: bytes, library: str) -> None:
        self._data, self._library, self._at = data, library, 0

    def take(self, n_bytes: int) -> bytes:
        if n_bytes < 0 or self._at + n_bytes > len(self._data):
            raise refuse_file(self._library, "its binary JSON ends too early")
        self._at += n_bytes
        return self._data[self._at - n_bytes : self._at]

    def read_number(self, kind: bytes) -> Any:
        if kind not in _NUMBERS:
            raise refuse_file(self._library, f"its binary JSON has the unknown mark {kind!r}")
        dtype = np.dtype(_NUMBERS[kind])
        return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()

    def read_text(self) -> str:
        return self.take(int(self.read_number(self.take(1)))).decode("utf-8", "replace")

    def read_value(self, kind: bytes, depth: int) -> Any:
        if depth > _MOST_DEPTH:
            raise refuse_file(self._library, f"its binary JSON is nested more than {_MOST_DEPTH} times")
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind == b"S":
            return self.read_text()
        if kind == b"C":
            return self.take(1).decode("latin-1")
        if kind == b"[":
            return self._read_array(depth)
        if kind == b"{":
            return self._read_object(depth)
        return self.read_number(kind)

    def _read_size(self) -> tuple[bytes | None, int | None]:
        """The type and the number of the entries of a container, if they are given."""
        kind, size = None, None
        if self._peek() == b"$":
            self.take(1)
            kind = self.take(1)
        if self._peek() == b"#":
            self.take(1)
            size = int(self.read_number(self.take(1)))
            if not 0 <= size <= len(self._data):
                raise refuse_file(self._library, "its binary JSON announces more entries than it has bytes")
        return kind, size

    def _peek(self) -> bytes:
        return self._data[self._at : self._at + 1]

    def _read_array(self, depth: int) -> Any:
        kind, size = self._read_size()
        if kind in _NUMBERS and size is not None:
            dtype = np.dtype(_NUMBERS[kind])
            return np.frombuffer(self.take(size * dtype.itemsize), dtype).astype(dtype.newbyteorder("=")).tolist()
        found: list[Any] = []
        while size is None or len(found) < size:
            mark = kind if kind is not None else self.take(1)
            if mark == b"]" and size is None:
                break
            found.append(self.read_value(mark, depth + 1))
        return found

    def _read_object(self, depth: int) -> dict[str, Any]:
        kind, size = self._read_size()
        found: dict[str, Any] = {}
        n_read = 0
        while size is None or n_read < size:
            if size is None and self._peek() == b"}":
                self.take(1)
                break
            name = self.read_text()
            found[name] = self.read_value(kind if kind is not None else self.take(1), depth + 1)
            n_read += 1
        return found


def read_ubjson(library: str, data: bytes) -> dict[str, Any]:
    """A document whose outermost value is an object."""
    reader = _Reader(data, library)
    found = reader.read_value(reader.take(1), 0)
    if not isinstance(found, dict):
        raise refuse_file(library, "its binary JSON is no object")
    return found
