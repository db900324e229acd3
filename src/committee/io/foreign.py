"""Parts from other libraries: written and read by skops, which makes nothing of a type that is not trusted.

skops never sees a class of ours. Where an estimator of ours lies in one of scikit-learn, in a pipeline for example, a
stand-in goes into the archive in its place: a dict whose one key says which of the header's objects is meant.
"""

from __future__ import annotations

import copy
import math
import zipfile
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.base import CommitteeEstimator
from committee.engines import get_engine
from committee.exceptions import ModelFileError
from committee.io.checks import check_instance
from committee.io.registry import is_estimator, name_state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import AnyArray

__all__ = ["ForeignParts", "find_own", "list_untrusted", "pack_foreign", "unpack_foreign"]

_STAND_IN = "committee.object"
_SIMPLE = (str, bytes, int, float, complex, np.generic, np.dtype, type(None))
_CODE = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)
#: deflate cannot shrink more than this.
_MOST_SHRINKING = 1032


def _import_skops() -> Any:
    try:
        import skops.io as skops
    except ImportError:
        raise ModelFileError(
            "The model has parts from other libraries, which are written and read by skops. Run "
            "pip install 'committee[io]'."
        ) from None
    return skops


def _is_own(value: object) -> bool:
    kind = type(value)
    return kind is get_engine().Trees or is_estimator(kind) or name_state(kind) is not None


def _list_parts(value: object) -> Iterable[Any]:
    if isinstance(value, _SIMPLE + _CODE):
        return ()
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.kind == "O" else ()
    inside = [*getattr(value, "__dict__", {}).values()]
    if isinstance(value, dict):
        inside += value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        inside += value
    return inside


# --- writing -----------------------------------------------------------------------------------------------------


def find_own(value: object) -> list[Any]:
    """Instances of our classes that lie in an object of someone else."""
    seen: dict[int, Any] = {}
    found, waiting = [], [value]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen[id(item)] = item
        if _is_own(item):
            found.append(item)
        else:
            waiting.extend(_list_parts(item))
    return found


def pack_foreign(values: list[Any], own: Sequence[tuple[Any, int]]) -> NDArray[np.uint8]:
    """All values in one archive, so that what they share is written once.

    Parameters
    ----------
    values : list
        What is not ours.
    own : sequence of (object, int)
        What is ours in them, and its number in the header.

    Returns
    -------
    ndarray of uint8
    """
    skops = _import_skops()
    try:
        if own:
            values = copy.deepcopy(values, {id(part): {_STAND_IN: number} for part, number in own})
        packed = skops.dumps(values)
    except Exception as error:
        kinds = sorted({f"{type(v).__module__}.{type(v).__qualname__}" for v in values})
        raise ModelFileError(f"skops cannot write a part of the model ({', '.join(kinds)}): {error}") from error
    return np.frombuffer(packed, np.uint8)


# --- reading -----------------------------------------------------------------------------------------------------


def unpack_foreign(packed: AnyArray, count: int, trusted: Sequence[Any] | None) -> list[Any]:
    """Make the values of an archive.

    Parameters
    ----------
    packed : ndarray of uint8
        From `pack_foreign`.
    count : int
        How many values it holds.
    trusted : sequence of str or type, or None
        What may be made besides what skops trusts by itself.

    Returns
    -------
    list
        With stand-ins for what is ours.
    """
    skops, archive = _import_skops(), packed.tobytes()
    if any(name.partition(".")[0] == "committee" for name in list_untrusted(packed)):
        raise ModelFileError("The archive of the file names classes of committee, which belong in its header.")
    untrusted = list_untrusted(packed, trusted)
    if untrusted:
        raise ModelFileError(
            f"The file holds types that are not known to be safe: {', '.join(untrusted)}. If you trust the file's "
            f"origin and these types, pass trusted={untrusted!r}."
        )
    try:
        values = skops.loads(archive, trusted=list(trusted or ()))
    except Exception as error:
        raise ModelFileError(f"skops cannot read a part of the model: {error}") from error
    if not isinstance(values, list) or len(values) != count:
        raise ModelFileError("The archive of the file does not match the header.")
    return values


def list_untrusted(packed: AnyArray, trusted: Sequence[Any] | None = None) -> list[str]:
    """Types in an archive that would have to be trusted; nothing is made or imported to find out."""
    skops, archive = _import_skops(), packed.tobytes()
    _check_archive(archive)
    known = {t if isinstance(t, str) else f"{t.__module__}.{t.__qualname__}" for t in trusted or ()}
    try:
        found: list[str] = skops.get_untrusted_types(data=archive)
    except Exception as error:
        raise ModelFileError(f"skops cannot read a part of the model: {error}") from error
    return [name for name in found if name not in known]


class ForeignParts:
    """What skops has made, with the objects of this library put in place of their stand-ins on access.

    Parameters
    ----------
    values : list
        From `unpack_foreign`.
    """

    def __init__(self, values: list[Any]) -> None:
        self._values = values
        # By id: what was walked through, kept so that the id stays its own, and what it became.
        self._done: dict[int, tuple[Any, Any]] = {}

    def hand_out(self, number: object, refer: Callable[[Any], Any]) -> Any:
        """One of the values.

        Parameters
        ----------
        number : int
            Which.
        refer : callable
            The object of a number; refuses those that have not been made yet, so that nothing can contain itself.

        Returns
        -------
        object
        """
        if type(number) is not int or not 0 <= number < len(self._values):
            raise ModelFileError("The file refers to a part that is not in its archive.")
        self._values[number] = self._set_fitted(self._values[number], refer)
        return self._values[number]

    def _set_fitted(self, value: object, refer: Callable[[Any], Any]) -> Any:
        if isinstance(value, _SIMPLE + _CODE) or _is_own(value):
            return value
        if id(value) in self._done:
            return self._done[id(value)][1]
        if type(value) is dict and value.keys() == {_STAND_IN}:
            return refer(value[_STAND_IN])
        if type(value) is tuple:
            self._done[id(value)] = value, tuple([self._set_fitted(item, refer) for item in value])
            return self._done[id(value)][1]
        self._done[id(value)] = value, value
        if isinstance(value, list):
            value[:] = [self._set_fitted(item, refer) for item in value]
        elif isinstance(value, dict):
            for key, item in value.items():
                value[key] = self._set_fitted(item, refer)
        elif isinstance(value, np.ndarray) and value.dtype.kind == "O":
            flat = value.reshape(-1)
            for k, item in enumerate(flat.tolist()):
                flat[k] = self._set_fitted(item, refer)
        attributes = getattr(value, "__dict__", {})
        for key, item in attributes.items():
            attributes[key] = self._set_fitted(item, refer)
        if isinstance(value, CommitteeEstimator):
            check_instance(value)
        return value


def _check_archive(archive: bytes) -> None:
    """No entry may be larger than the archive, and no array larger than its entry: the readers believe both."""
    try:
        with zipfile.ZipFile(BytesIO(archive)) as entries:
            for entry in entries.infolist():
                if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(archive):
                    raise ModelFileError("The archive of the file has an entry that is larger than it may be.")
                if entry.filename.endswith(".npy"):
                    _check_npy(entries, entry)
                elif entry.filename.endswith(".npz"):
                    _check_npz(entries.read(entry))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError) as error:
        raise ModelFileError(f"The archive of the file cannot be read: {error}") from None


def _check_npz(content: bytes) -> None:
    """A sparse matrix, which SciPy writes compressed."""
    with zipfile.ZipFile(BytesIO(content)) as entries:
        for entry in entries.infolist():
            if entry.file_size > _MOST_SHRINKING * max(1, entry.compress_size) + 64:
                raise ModelFileError("The archive of the file has an entry that is larger than it may be.")
            if entry.filename.endswith(".npy"):
                _check_npy(entries, entry)


def _check_npy(entries: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    with entries.open(entry) as f:
        old = np.lib.format.read_magic(f) == (1, 0)
        read = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(f)
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize > entry.file_size:
        raise ModelFileError("The archive of the file has an array that is larger than its entry.")
