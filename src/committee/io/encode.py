"""From a model to the contents of a header: a tree of JSON values, a list of arrays, and what is left to skops.

The vocabulary is closed. A value is written as itself (null, true, number, text, list) or as an object with one key
that says what it is, such as ``{"tuple": [1, 2]}``; ``docs/model_files.md`` has the list.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from committee.engines import get_engine
from committee.exceptions import ModelFileError
from committee.io.container import name_dtype
from committee.io.foreign import find_own
from committee.io.generators import take_generator
from committee.io.registry import is_default_none, is_estimator, is_training_only, list_fields, name_state

if TYPE_CHECKING:
    from committee.typing import AnyArray, AnyDType

__all__ = ["MOST_DEPTH", "MOST_KEYS", "SPARSE_FORMATS", "TRAINING_ARRAYS", "TREE_ARRAYS", "Encoder"]

MOST_DEPTH = 50
"""Lists in lists, and the like."""
MOST_KEYS = 20_000
"""Keys of dicts and sets that are not text, over the whole file: whoever makes their hashes equal makes them slow."""
TRAINING_ARRAYS = ("leaf_samples", "leaf_weights", "node_impurity")
TREE_ARRAYS = (
    "nodes",
    "node_offsets",
    "leaf_offsets",
    "values",
    "category_offsets",
    "category_words",
    *TRAINING_ARRAYS,
)
SPARSE_FORMATS = {
    f"{kind}_{suffix}": getattr(sp, f"{kind}_{suffix}") for kind in ("csr", "csc") for suffix in ("matrix", "array")
}


GENERATOR_TYPES = (np.random.RandomState, np.random.Generator)


class Encoder:
    """One model on its way into a file.

    Parameters
    ----------
    strip : bool
        Whether what only training knew is left out.

    Attributes
    ----------
    arrays : list of ndarray
        What the header refers to by number.
    objects : list of dict
        Instances of our classes, and what else may be referred to twice; each refers to earlier ones only.
    foreign : list
        What skops is to write.
    own : list of (object, int)
        What is ours in that, and its number among the objects.
    """

    def __init__(self, *, strip: bool) -> None:
        self.arrays: list[AnyArray] = []
        self.objects: list[dict[str, Any]] = []
        self.foreign: list[Any] = []
        self.own: list[tuple[Any, int]] = []
        self._strip = strip
        self._n_keys = 0
        # Whatever has been written once is referred to afterwards; kept alive so that an id stays its own.
        self._written: dict[int, tuple[Any, Any]] = {}
        self._open: set[int] = set()
        self._trees = get_engine().Trees
        self._ways: dict[type, Callable[[Any, str, int], Any]] = {
            float: self._encode_float,
            list: lambda v, w, d: self._encode_items(v, w, d),
            tuple: lambda v, w, d: {"tuple": self._encode_items(v, w, d)},
            set: lambda v, w, d: {"set": self._encode_set(v, w, d)},
            frozenset: lambda v, w, d: {"frozenset": self._encode_set(v, w, d)},
            dict: lambda v, w, d: {"dict": self._encode_pairs(v, w, d)},
            Bunch: lambda v, w, d: {"bunch": self._encode_pairs(v, w, d)},
            bytes: lambda v, w, d: {"bytes": base64.b64encode(v).decode("ascii")},
            complex: lambda v, w, d: {"complex": [self._encode_float(v.real, w, d), self._encode_float(v.imag, w, d)]},
            range: lambda v, w, d: {"range": [v.start, v.stop, v.step]},
            slice: lambda v, w, d: {"slice": self._encode_items([v.start, v.stop, v.step], w, d)},
        }

    def encode(self, value: object, where: str, depth: int = 0) -> Any:
        """A value as JSON.

        Parameters
        ----------
        value : object
            Anything.
        where : str
            Where it is in the model, for the sentences.
        depth : int
            How many containers it lies in.

        Returns
        -------
        JSON value
        """
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if depth > MOST_DEPTH:
            raise ModelFileError(f"{where} lies in more than {MOST_DEPTH} lists or dicts.")
        if kind in self._ways:
            return self._ways[kind](value, where, depth + 1)
        if isinstance(value, np.generic):
            return self._encode_scalar(value, where)
        if isinstance(value, np.dtype):
            return {"dtype": self._name_dtype(value, where)}
        if id(value) not in self._written:
            if id(value) in self._open:
                raise ModelFileError(f"{where} refers to something that it is a part of.")
            self._open.add(id(value))
            self._written[id(value)] = value, self._encode_instance(value, where, depth + 1)
            self._open.discard(id(value))
        return self._written[id(value)][1]

    def _encode_instance(self, value: object, where: str, depth: int) -> Any:
        kind = type(value)
        if kind in (np.ndarray, np.memmap):
            return self._encode_array(np.asarray(value), where, depth)
        if kind in SPARSE_FORMATS.values():
            return self._add({"value": self._encode_sparse(value, where)})
        if isinstance(value, np.random.RandomState | np.random.Generator) and kind in GENERATOR_TYPES:
            state = self.encode(take_generator(value), where, depth)
            return self._add({"value": {"generator": [kind.__name__, state]}})
        if kind is self._trees:
            return self._encode_trees(value, where)
        if is_estimator(kind):
            return self._encode_estimator(value, where, depth)
        name = name_state(kind)
        if name is not None:
            # A file may lack a field that is None by default; versions before there was such a field can read it then.
            held = {n: getattr(value, n) for n in list_fields(name, kind)[0] if not is_default_none(value, n)}
            kept = {n: self.encode(own, f"{where}.{n}", depth) for n, own in held.items()}
            return self._add({"class": name, "fields": kept})
        if kind.__module__.partition(".")[0] == "committee":
            raise ModelFileError(
                f"{where} is of {kind.__module__}.{kind.__qualname__}, which model files have no name for: it must be "
                "listed in committee/io/registry.py."
            )
        # Ours inside come first, so that an object refers to earlier ones only, whichever way.
        for part in find_own(value):
            self.own.append((part, self.encode(part, f"{where}, in which", depth)["object"]))
        self.foreign.append(value)
        return {"foreign": len(self.foreign) - 1}

    def _add(self, record: dict[str, Any]) -> dict[str, int]:
        self.objects.append(record)
        return {"object": len(self.objects) - 1}

    # Our own.

    def _encode_estimator(self, model: Any, where: str, depth: int) -> dict[str, int]:
        params = model.get_params(deep=False)
        # scikit-learn's callbacks are functions of the session that fits, not part of the model.
        fitted = {name: value for name, value in vars(model).items() if name not in params and name != "_skl_callbacks"}
        if self._strip:
            fitted = {name: value for name, value in fitted.items() if not is_training_only(name)}
            fitted["_stripped"] = True
        record = {
            "class": type(model).__name__,
            "params": {n: self.encode(v, f"{where}.{n}", depth) for n, v in params.items()},
            "fitted": {n: self.encode(v, f"{where}.{n}", depth) for n, v in fitted.items()},
        }
        return self._add(record)

    def _encode_trees(self, trees: Any, where: str) -> dict[str, int]:
        state = trees.__getstate__()
        if self._strip:
            state = {**state, **{name: state[name][:0] for name in TRAINING_ARRAYS}}
        fields = {name: {"array": self._add_array(state[name], where)} for name in TREE_ARRAYS}
        return self._add(
            {"class": "Trees", "fields": {"n_features": state["n_features"], "outputs": state["outputs"], **fields}}
        )

    # Numbers and containers.

    @staticmethod
    def _encode_float(value: float, where: str, depth: int) -> Any:
        return value if math.isfinite(value) else {"float": repr(value)}

    def _encode_items(self, values: Any, where: str, depth: int) -> list[Any]:
        return [self.encode(value, f"{where}[{k}]", depth) for k, value in enumerate(values)]

    def _encode_set(self, values: Any, where: str, depth: int) -> list[Any]:
        self._count_keys(values, where)
        # In an order of its own where there is one, so that equal models make equal files.
        try:
            values = sorted(values)
        except TypeError:
            values = list(values)
        return self._encode_items(values, where, depth)

    def _encode_pairs(self, pairs: dict[Any, Any], where: str, depth: int) -> list[Any]:
        self._count_keys(pairs, where)
        return [[self.encode(k, where, depth), self.encode(v, f"{where}[{k!r}]", depth)] for k, v in pairs.items()]

    def _count_keys(self, keys: Any, where: str) -> None:
        self._n_keys += sum(type(key) is not str for key in keys)
        if self._n_keys > MOST_KEYS:
            raise ModelFileError(f"{where} has too many keys that are not text; files hold {MOST_KEYS}.")

    # Arrays.

    def _add_array(self, array: AnyArray, where: str) -> int:
        self._name_dtype(array.dtype, where)
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _name_dtype(self, dtype: AnyDType, where: str) -> str:
        name = name_dtype(dtype)
        if name is None:
            raise ModelFileError(f"{where} has the type {dtype}, which model files cannot hold.")
        return name

    def _encode_scalar(self, value: np.generic, where: str) -> dict[str, Any]:
        array = np.asarray(value)
        if array.dtype.itemsize == 0:
            array = array.astype(array.dtype.kind + "1")
        name = self._name_dtype(array.dtype, where)
        return {"scalar": [name, array.astype(array.dtype.newbyteorder("<")).tobytes().hex()]}

    def _encode_array(self, array: AnyArray, where: str, depth: int) -> dict[str, Any]:
        if array.dtype.kind == "T":
            if array.dtype != np.dtypes.StringDType():
                raise ModelFileError(f"{where} has the type {array.dtype}, which model files cannot hold.")
            return self._add_text(array, "T", where)
        if array.dtype.kind == "O":
            items = array.ravel().tolist()
            if all(type(item) is str for item in items):
                return self._add_text(array, "O", where)
            found = self._encode_items(items, where, depth)
            return self._add({"value": {"items": {"shape": list(array.shape), "items": found}}})
        if array.dtype.itemsize == 0:
            array = array.astype(array.dtype.kind + "1")
        return {"array": self._add_array(array, where)}

    def _add_text(self, array: AnyArray, dtype: str, where: str) -> dict[str, int]:
        encoded = [text.encode("utf-8", "surrogatepass") for text in array.ravel().tolist()]
        letters = np.frombuffer(b"".join(encoded), np.uint8)
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.uint64)
        places = {"utf8": self._add_array(letters, where), "offsets": self._add_array(ends, where)}
        return self._add({"value": {"text": {"dtype": dtype, "shape": list(array.shape), **places}}})

    def _encode_sparse(self, matrix: Any, where: str) -> dict[str, Any]:
        n = int(matrix.indptr[-1])
        arrays = {"data": matrix.data[:n], "indices": matrix.indices[:n], "indptr": matrix.indptr}
        parts = {name: self._add_array(array, where) for name, array in arrays.items()}
        return {"sparse": {"kind": type(matrix).__name__, "shape": [int(n) for n in matrix.shape], **parts}}
