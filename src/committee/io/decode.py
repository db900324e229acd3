"""From a header back to a model: only what `encode` can write is understood, and nothing is run.

Nothing here looks a name up that is not in a list of ours. Instances are made without their constructors, or, for
estimators, with constructors that do nothing but keep their arguments.
"""

from __future__ import annotations

import base64
import binascii
import inspect
import math
import re
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Bunch

from committee.engines import get_engine
from committee.exceptions import ModelFileError
from committee.io.checks import check_instance
from committee.io.container import NODE_DTYPES, read_dtype
from committee.io.encode import MOST_DEPTH, MOST_KEYS, SPARSE_FORMATS, TREE_ARRAYS
from committee.io.foreign import ForeignParts
from committee.io.generators import GENERATORS, read_generator
from committee.io.registry import STATES, find_estimator, list_fields, load_state_class

if TYPE_CHECKING:
    from committee.typing import AnyArray

__all__ = ["Decoder"]

_MOST_PARTS = 10_000_000
"""Instances that a model may consist of when every one is counted as often as it is referred to: lists that hold
one another twice, thirty deep, are small in a file and endless for whoever walks through them."""
_ATTRIBUTE = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*")
_INDICES = (np.dtype("i4"), np.dtype("i8"))
_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def _refuse(sentence: str) -> ModelFileError:
    return ModelFileError(f"The file does not describe a model: {sentence}.")


class Decoder:
    """A model on its way out of a file.

    Parameters
    ----------
    arrays : list of ndarray
        Read-only views of the file.
    foreign : ForeignParts
        What skops has made.
    copy : bool
        Whether arrays are copied, so that they can be written to.
    """

    def __init__(self, arrays: list[AnyArray], foreign: ForeignParts, *, copy: bool) -> None:
        self._arrays, self._foreign, self._copy = arrays, foreign, copy
        self._handed: dict[int, AnyArray] = {}
        self._claimed: set[int] = set()
        self._objects: list[Any] = []
        self._sizes: list[int] = []
        self._size = 0
        self._n_keys = 0
        self._ways: dict[str, Callable[[Any, int], Any]] = {
            "float": lambda v, d: self._read_float(v),
            "tuple": lambda v, d: tuple(self._decode_items(v, d)),
            "set": lambda v, d: self._count_keys(self._decode_items(v, d), set),
            "frozenset": lambda v, d: self._count_keys(self._decode_items(v, d), frozenset),
            "dict": lambda v, d: dict(self._decode_pairs(v, d)),
            "bunch": lambda v, d: Bunch(**dict(self._decode_pairs(v, d))),
            "bytes": lambda v, d: base64.b64decode(v, validate=True),
            "complex": lambda v, d: complex(*map(float, self._decode_items(v, d))),
            "range": lambda v, d: range(*self._decode_items(v, d)),
            "slice": lambda v, d: slice(*self._decode_items(v, d)),
            "scalar": lambda v, d: self._read_scalar(*v),
            "dtype": lambda v, d: read_dtype(v),
            "array": lambda v, d: self._hand_array(v),
            "text": lambda v, d: self._read_strings(**v),
            "items": lambda v, d: self._read_objects(v, d),
            "sparse": lambda v, d: self._read_sparse(**v),
            "generator": self._read_generator,
            "object": lambda v, d: self._refer(v),
            "foreign": lambda v, d: self._foreign.hand_out(v, self._refer),
        }

    def build(self, records: object, root: object) -> Any:
        """Make every instance, in order, and then the model.

        Parameters
        ----------
        records : list
            The instances as the header has them; each refers to earlier ones only.
        root : JSON value
            What the model is.

        Returns
        -------
        object
        """
        if not isinstance(records, list):
            raise _refuse("its parts must be a list")
        try:
            for record in records:
                self._size = 1
                self._objects.append(self._build_instance(record))
                self._sizes.append(self._size)
            self._size = 0
            return self.decode(root)
        except ModelFileError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError) as e:
            raise _refuse(f"{type(e).__name__}: {str(e)[:200]}") from e

    def decode(self, node: Any, depth: int = 0) -> Any:
        """A value from its JSON."""
        if node is None or type(node) in (bool, int, float, str):
            return node
        if depth > MOST_DEPTH:
            raise _refuse("lists are nested too deeply")
        if type(node) is list:
            return self._decode_items(node, depth + 1)
        if len(node) != 1:
            raise _refuse("a value must be of one kind")
        ((kind, content),) = node.items()
        if kind not in self._ways:
            raise _refuse(f"there is no kind of value called {kind[:40]!r}")
        return self._ways[kind](content, depth + 1)

    # Our own classes.

    def _build_instance(self, record: object) -> Any:
        if isinstance(record, dict) and record.keys() == {"value"}:
            return self.decode(record["value"])
        if not isinstance(record, dict) or not isinstance(record.get("class"), str):
            raise _refuse("a part must have a class")
        name = record["class"]
        if name == "Trees":
            return self._build_trees(_take(record, "fields"))
        if name in STATES:
            return self._build_state(name, _take(record, "fields"))
        cls = find_estimator(name)
        if cls is None:
            raise _refuse(f"there is no class {name[:60]!r}; a later version of committee may have it")
        return self._build_estimator(cls, *_take(record, "params", "fitted"))

    def _build_trees(self, fields: dict[str, Any]) -> Any:
        if fields.keys() != {"n_features", "outputs", *TREE_ARRAYS}:
            raise _refuse("an arena of trees has other parts")
        state: dict[str, Any] = {name: self._claim(_take(fields[name], "array")) for name in TREE_ARRAYS}
        if state["nodes"].dtype not in NODE_DTYPES.values():
            raise _refuse("an arena needs nodes")
        numbers = {"n_features": fields["n_features"], "outputs": self.decode(fields["outputs"])}
        try:
            return get_engine().Trees.from_arrays({"version": 1, **numbers, **state})
        except ValueError as error:
            raise ModelFileError(f"The trees of the file are not in order: {error}") from None

    def _build_state(self, name: str, fields: dict[str, Any]) -> Any:
        cls = load_state_class(name)
        known, blank = list_fields(name, cls)
        if (
            not fields.keys() <= known.keys()
            or not {n for n, optional in known.items() if not optional} <= fields.keys()
        ):
            raise _refuse(f"{name} has other parts")
        instance = object.__new__(cls)
        values = {field: self.decode(node) for field, node in fields.items()}
        instance.__dict__.update({**dict.fromkeys(blank), **values})
        check_instance(instance)
        return instance

    def _build_estimator(self, cls: type[Any], params: dict[str, Any], fitted: dict[str, Any]) -> Any:
        unknown = sorted(params.keys() - inspect.signature(cls).parameters.keys())
        if unknown:
            raise _refuse(f"{cls.__name__} has no parameter {', '.join(unknown)[:60]!r}; a later version may have it")
        model = cls(**{name: self.decode(node) for name, node in params.items()})
        for name, node in fitted.items():
            if not _ATTRIBUTE.fullmatch(name) or name in params or _is_behaviour(cls, name):
                raise _refuse(f"{cls.__name__} can have no attribute {name[:60]!r}")
            model.__dict__[name] = self.decode(node)
        check_instance(model)
        return model

    def _refer(self, number: object) -> Any:
        at = self._index(number, len(self._objects))
        self._size += self._sizes[at]
        if self._size > _MOST_PARTS:
            raise _refuse("it would have too many parts")
        return self._objects[at]

    # Numbers and containers.

    @staticmethod
    def _index(number: object, length: int) -> int:
        if type(number) is not int or not 0 <= number < length:
            raise _refuse("something refers to a part that is not there")
        return number

    @staticmethod
    def _read_float(text: object) -> float:
        if text not in _NUMBERS:
            raise _refuse("a number cannot be read")
        return _NUMBERS[text]

    def _decode_items(self, nodes: object, depth: int) -> list[Any]:
        if type(nodes) is not list:
            raise _refuse("a list is something else")
        return [self.decode(node, depth) for node in nodes]

    def _decode_pairs(self, nodes: Any, depth: int) -> list[tuple[Any, Any]]:
        pairs = [(self.decode(key, depth), self.decode(value, depth)) for key, value in nodes]
        self._count_keys([key for key, _ in pairs], len)
        return pairs

    def _count_keys(self, keys: list[Any], gather: Callable[[list[Any]], Any]) -> Any:
        self._n_keys += sum(type(key) is not str for key in keys)
        if self._n_keys > MOST_KEYS:
            raise _refuse("it has too many keys")
        return gather(keys)

    def _read_scalar(self, name: str, digits: str) -> Any:
        dtype = read_dtype(name)
        content = binascii.unhexlify(digits)
        truth = dtype.kind == "b" and content not in (b"\0", b"\1")
        if len(content) != dtype.itemsize or truth or dtype.fields:
            raise _refuse("a number cannot be read")
        array = np.frombuffer(content, dtype)
        if dtype.kind == "U" and array.view("<u4").max() > 0x10FFFF:
            raise _refuse("a text cannot be read")
        return array[0]

    def _read_generator(self, content: Any, depth: int) -> Any:
        kind, state = content
        if kind not in GENERATORS:
            raise _refuse("a random generator is of an unknown kind")
        return read_generator(kind, self.decode(state, depth))

    # Arrays.

    def _hand_array(self, number: object) -> AnyArray:
        """An array as attributes hold it; the same one for the same number."""
        at = self._index(number, len(self._arrays))
        if at not in self._handed:
            array = self._arrays[at]
            self._handed[at] = array.copy(order="K") if self._copy else array
        return self._handed[at]

    def _claim(self, number: object) -> AnyArray:
        """An array that belongs to one arena, matrix or list of text, and to nothing else: its check costs time."""
        at = self._index(number, len(self._arrays))
        if at in self._claimed:
            raise _refuse("two parts claim the same array")
        self._claimed.add(at)
        return self._arrays[at]

    def _read_strings(self, *, shape: object, utf8: Any, offsets: Any, dtype: Any) -> AnyArray:
        letters, ends = self._claim(utf8), self._claim(offsets)
        if letters.dtype != np.uint8 or letters.ndim != 1 or ends.dtype != np.uint64 or ends.ndim != 1:
            raise _refuse("a list of text cannot be read")
        places = ends.tolist()
        rises = all(a <= b for a, b in pairwise(places))
        if not places or places[0] != 0 or places[-1] != len(letters) or not rises or dtype not in ("O", "T"):
            raise _refuse("a list of text cannot be read")
        if dtype == "T" and not hasattr(np.dtypes, "StringDType"):
            raise _refuse("it holds text of variable length, which needs NumPy 2.0 or newer")
        content = letters.tobytes()
        texts = [content[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(places)]
        array = np.empty(len(texts), object if dtype == "O" else np.dtypes.StringDType())
        array[:] = texts
        return array.reshape(_read_shape(shape, len(texts)))

    def _read_objects(self, content: object, depth: int) -> AnyArray:
        shape, nodes = _take(content, "shape", "items")
        items = self._decode_items(nodes, depth)
        array = np.empty(len(items), object)
        for k, item in enumerate(items):
            array[k] = item
        return array.reshape(_read_shape(shape, len(items)))

    def _read_sparse(self, *, kind: Any, shape: object, data: Any, indices: Any, indptr: Any) -> Any:
        if kind not in SPARSE_FORMATS or not isinstance(shape, list) or len(shape) != 2:
            raise _refuse("a sparse matrix is of an unknown kind")
        if not all(type(n) is int and 0 <= n < 1 << 62 for n in shape):
            raise _refuse("a sparse matrix cannot be read")
        parts = [self._claim(number) for number in (data, indices, indptr)]
        _check_sparse(parts[0], parts[1], parts[2], shape if kind.startswith("csr") else shape[::-1])
        matrix = SPARSE_FORMATS[kind](tuple(shape), dtype=parts[0].dtype)
        # Set, because the constructor would copy indices that are wider than need be.
        matrix.data, matrix.indices, matrix.indptr = [part.copy() for part in parts] if self._copy else parts
        return matrix


def _check_sparse(data: AnyArray, indices: AnyArray, indptr: AnyArray, shape: list[int]) -> None:
    """SciPy's loops believe the indices. Its own check of them leaves some out and copies others."""
    holds = (
        data.ndim == indices.ndim == indptr.ndim == 1
        and data.dtype.kind in "biufc"
        and indices.dtype == indptr.dtype
        and indices.dtype in _INDICES
        and len(indptr) == shape[0] + 1
        and indptr[0] == 0
        and indptr[-1] == len(indices) == len(data)
        and bool((indptr[1:] >= indptr[:-1]).all())
        and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < shape[1]))
    )
    if not holds:
        raise _refuse("a sparse matrix is not in order")


def _take(record: object, *names: str) -> Any:
    """The entries of a record that has these and no others; one alone as it is. Those of a class are records too."""
    if not isinstance(record, dict) or record.keys() - {"class"} != set(names):
        raise _refuse("a part has other entries than it should")
    values = [record[name] for name in names]
    if "class" in record and not all(isinstance(value, dict) for value in values):
        raise _refuse("a part has other entries than it should")
    return values[0] if len(values) == 1 else values


def _read_shape(shape: object, n_items: int) -> tuple[int, ...]:
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape) or math.prod(shape) != n_items:
        raise _refuse("an array has a shape that cannot be")
    return tuple(shape)


def _is_behaviour(cls: type[Any], name: str) -> bool:
    """Whether a class has a method or property of that name, which no datum may hide."""
    found = inspect.getattr_static(cls, name, None)
    return callable(found) or hasattr(found, "__get__")
