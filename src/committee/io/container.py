"""The bytes of a model file: a preamble, a header in JSON, flat little-endian arrays.

``docs/model_files.md`` specifies the format for other programs. Everything that a file states about
itself is checked against its length and its checksums before anything is allocated or looked at.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import re
import secrets
import stat
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from committee.exceptions import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.typing import AnyArray, AnyDType

__all__ = [
    "FORMAT_VERSION",
    "NODE_DTYPES",
    "Container",
    "name_dtype",
    "read_container",
    "read_dtype",
    "write_container",
]

#: A byte that is no text, a name, and the line ends that a transfer as text would change (as in PNG).
MAGIC = b"\x89CMT\r\n\x1a\n"
FORMAT_VERSION = 1
ALIGNMENT = 64
#: Magic, version, CRC-32 of the header, bytes of the header, bytes of the data, CRC-32 of the data, zeros.
_PREAMBLE = struct.Struct("<8sIIQQI24x")
_SEAL = struct.Struct("<I")
PREAMBLE_BYTES = _PREAMBLE.size + _SEAL.size
MOST_HEADER_BYTES = 1 << 26
_MOST_AXES = 32

#: Nodes of trees, by the name that their arrays have in the header.
NODE_DTYPES = {
    "node12": np.dtype([("threshold", "<f4"), ("left", "<u4"), ("tag", "<u4")]),
    "node16": np.dtype([("threshold", "<f8"), ("left", "<u4"), ("tag", "<u4")]),
}
_PLAIN_DTYPE = re.compile(
    r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16)|\|S[1-9]\d{0,7}|<U[1-9]\d{0,7}|<[mM]8(\[\d*\w+\])?"
)


def name_dtype(dtype: AnyDType) -> str | None:
    """The name of a type of array in a header; None if files cannot hold it."""
    for name, nodes in NODE_DTYPES.items():
        if dtype == nodes:
            return name
    text = dtype.newbyteorder("<").str
    return text if _PLAIN_DTYPE.fullmatch(text) else None


def read_dtype(name: object) -> AnyDType:
    """The type of array that a header names."""
    if isinstance(name, str):
        if name in NODE_DTYPES:
            return NODE_DTYPES[name]
        if _PLAIN_DTYPE.fullmatch(name):
            return np.dtype(name)
    raise ModelFileError(f"The header names an unknown type of array, {str(name)[:40]!r}.")


def _align(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT


# --- writing -----------------------------------------------------------------------------------------------------


def write_container(path: str | os.PathLike[str], header: dict[str, Any], arrays: Sequence[AnyArray]) -> None:
    """Write a file beside the place of the old one, then put it there in one step.

    Parameters
    ----------
    path : str or path
        Where. A reader at any time sees the old file or the new one, whole; so does who looks after a power failure.
    header : dict
        What goes into the header besides the list of arrays.
    arrays : sequence of ndarray
        Of the types of `name_dtype`; big-endian ones are converted.
    """
    entries, at = [], 0
    for array in arrays:
        entry: dict[str, Any] = {"dtype": name_dtype(array.dtype), "shape": list(array.shape), "at": at}
        if _is_fortran(array):
            entry["order"] = "F"
        entries.append(entry)
        at = _align(at + array.nbytes)
    text = json.dumps({**header, "arrays": entries}, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > MOST_HEADER_BYTES:
        raise ModelFileError(f"The model needs a header of {len(text)} bytes; at most {MOST_HEADER_BYTES} are allowed.")

    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a folder; name a file in it for the model.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} in.")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        # 0o666 less the umask: what an ordinary open would give.
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666), "wb") as f:
            _write_parts(f, text, arrays)
            f.flush()
            os.fsync(f.fileno())
        os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
    _sync_folder(target.parent)


def _write_parts(f: BinaryIO, text: bytes, arrays: Sequence[AnyArray]) -> None:
    """The preamble comes first in the file and last in time: it holds the checksum of the data."""
    f.write(bytes(PREAMBLE_BYTES))
    f.write(text)
    f.write(bytes(_align(f.tell()) - f.tell()))
    start, checksum = f.tell(), 0
    for array in arrays:
        for piece in (_view_bytes(array).data, bytes(-array.nbytes % ALIGNMENT)):
            checksum = zlib.crc32(piece, checksum)
            f.write(piece)
    size = f.tell() - start
    fields = _PREAMBLE.pack(MAGIC, FORMAT_VERSION, zlib.crc32(text), len(text), size, checksum)
    f.seek(0)
    f.write(fields + _SEAL.pack(zlib.crc32(fields)))


def _is_fortran(array: AnyArray) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous


def _view_bytes(array: AnyArray) -> NDArray[np.uint8]:
    flat = array.T if _is_fortran(array) else np.ascontiguousarray(array)
    if not array.dtype.isnative and array.dtype.fields is None:
        flat = flat.astype(array.dtype.newbyteorder("<"))
    return flat.reshape(-1).view(np.uint8)


def _sync_folder(folder: Path) -> None:
    # The new name must outlive a power failure as well; not every system can sync a folder.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# --- reading -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Container:
    """A file that has been read and is whole.

    Attributes
    ----------
    header : dict
        The JSON.
    arrays : list of ndarray
        Read-only views of the file.
    n_bytes : int
        Size of the file.
    """

    header: dict[str, Any]
    arrays: list[AnyArray]
    n_bytes: int


def read_container(path: str | os.PathLike[str], *, map_file: bool = True) -> Container:
    """Read a file and check that it is whole.

    Parameters
    ----------
    path : str or path
        The file.
    map_file : bool, default=True
        Whether the arrays are views of the mapped file, which all processes share, or of a copy in memory.

    Returns
    -------
    Container
    """
    buffer = _open_buffer(path, map_file=map_file)
    header_end = _check_preamble(buffer)
    header = _parse_header(bytes(memoryview(buffer)[PREAMBLE_BYTES:header_end]))
    start = _align(header_end)
    if any(memoryview(buffer)[header_end:start]):
        raise ModelFileError("The file is damaged: there must be nothing between its header and its data.")
    return Container(header, _view_arrays(buffer, start, header.get("arrays")), len(buffer))


def _open_buffer(path: str | os.PathLike[str], *, map_file: bool) -> bytes | mmap.mmap:
    # Asked before it is opened, because opening a pipe waits for its writer.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError(f"{os.fspath(path)} is not a file.")
    with open(path, "rb") as f:
        if os.fstat(f.fileno()).st_size < PREAMBLE_BYTES:
            raise ModelFileError(f"{os.fspath(path)} is not a model file: it is too short.")
        if map_file:
            return mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        return f.read()


def _check_preamble(buffer: bytes | mmap.mmap) -> int:
    """Check lengths and checksums; the place at which the header ends."""
    preamble = bytes(memoryview(buffer)[:PREAMBLE_BYTES])
    magic, version, header_sum, header_size, data_size, data_sum = _PREAMBLE.unpack_from(preamble)
    if magic != MAGIC:
        raise ModelFileError("This is not a model file of committee; it does not begin as one.")
    if _SEAL.unpack_from(preamble, _PREAMBLE.size)[0] != zlib.crc32(preamble[: _PREAMBLE.size]):
        raise ModelFileError("The file is damaged: its first bytes do not match their checksum.")
    if not 1 <= version <= FORMAT_VERSION:
        raise ModelFileError(
            f"The file has version {version} of the format; this version of committee reads up to {FORMAT_VERSION}. "
            "Install a later one."
        )
    header_end = PREAMBLE_BYTES + int(header_size)
    if header_size > MOST_HEADER_BYTES or _align(header_end) + data_size != len(buffer):
        raise ModelFileError(
            f"The file is damaged: it has {len(buffer)} bytes instead of {_align(header_end) + data_size}."
        )
    with memoryview(buffer) as view:
        if zlib.crc32(view[PREAMBLE_BYTES:header_end]) != header_sum:
            raise ModelFileError("The file is damaged: its header does not match its checksum.")
        if zlib.crc32(view[_align(header_end) :]) != data_sum:
            raise ModelFileError("The file is damaged: its data do not match their checksum.")
    return header_end


def _parse_header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("ascii"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"The header of the file cannot be read: {error}.") from None
    if not isinstance(header, dict):
        raise ModelFileError("The header of the file must be a JSON object.")
    return header


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _view_arrays(buffer: bytes | mmap.mmap, start: int, entries: object) -> list[AnyArray]:
    """The arrays of the data; they must follow one another without a gap or an overlap."""
    if not isinstance(entries, list):
        raise ModelFileError("The header must list the arrays.")
    arrays, at, end = [], 0, len(buffer) - start
    for entry in entries:
        dtype, shape, order = _read_entry(entry, at)
        count = math.prod(shape)
        if count * dtype.itemsize > end - at:
            raise ModelFileError("An array of the file reaches beyond its end.")
        flat = np.frombuffer(buffer, dtype, count, start + at) if count else np.empty(0, dtype)
        flat.flags.writeable = False
        arrays.append(flat.reshape(shape, order=order))
        _check_content(arrays[-1])
        at = _align(at + count * dtype.itemsize)
    if at != end:
        raise ModelFileError("The arrays do not fill the data of the file.")
    return arrays


def _read_entry(entry: object, at: int) -> tuple[AnyDType, tuple[int, ...], Any]:
    if not isinstance(entry, dict) or not {"dtype", "shape", "at"} <= entry.keys() <= {"dtype", "shape", "at", "order"}:
        raise ModelFileError("An array must have a dtype, a shape and a place, and may have an order.")
    shape, order = entry["shape"], entry.get("order", "C")
    if not isinstance(shape, list) or len(shape) > _MOST_AXES or order not in ("C", "F"):
        raise ModelFileError("An array has a shape or an order that cannot be.")
    if not all(type(n) is int and 0 <= n < 1 << 62 for n in shape) or type(entry["at"]) is not int or entry["at"] != at:
        raise ModelFileError("An array has a shape or a place that cannot be.")
    # Axes beside one of length zero cost no bytes, but NumPy multiplies them all the same.
    if math.prod(n for n in shape if n) >= 1 << 56:
        raise ModelFileError("An array has a shape that cannot be.")
    return read_dtype(entry["dtype"]), tuple(shape), order


def _check_content(array: AnyArray) -> None:
    """Bytes that are no value of their type: NumPy's loops and Python's strings trust them blindly."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise ModelFileError("An array of truth values holds something else.")
    if array.dtype.kind == "U" and array.size and array.reshape(-1).view("<u4").max() > 0x10FFFF:
        raise ModelFileError("An array of text holds something that is no character.")
