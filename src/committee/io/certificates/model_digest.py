"""Digests of fitted models: of the values that they hold, whatever their parts are."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from committee.engines import get_engine
from committee.io.encode import TRAINING_ARRAYS
from committee.io.generators import take_generator
from committee.io.registry import is_training_only, list_fields, name_state

__all__ = ["digest_model", "digest_value", "list_model_differences"]

#: Attributes that are no part of what a fit has learnt: threads, output, names and storage of the columns, and what is
#: written beside the model.
_LEFT_OUT = frozenset(
    {"n_jobs", "verbose", "feature_names_in_", "certificate_", "_stripped", "_skl_callbacks", "_sklearn_version"}
)
#: By class of fitted state.
_FIELDS_LEFT_OUT = {"Schema": {"feature_names", "dtype"}, "InputColumns": {"names"}}
#: Arrays of classes, which are the same in whatever type of array the target came.
_LABELS = frozenset({"classes_", "_classes"})
#: Seconds that members took.
_CLOCK_KEYS = frozenset({"seconds"})


class _StateDigest:
    """One walk over the parts of a model; what occurs twice is digested once.

    Parameters
    ----------
    strip : bool
        Whether what only training knew is left out.
    """

    def __init__(self, *, strip: bool) -> None:
        self._strip = strip
        self._known: dict[int, tuple[object, bytes]] = {}  # kept alive so that an id stays its own
        self._open: set[int] = set()
        self._trees = get_engine().Trees

    def digest(self, value: object) -> bytes:
        """The digest of a value."""
        value = value.item() if isinstance(value, np.generic) and value.dtype.kind in "biufUS" else value
        if value is None or isinstance(value, bool | int | str | bytes):
            return _join("value", [type(value).__name__.encode(), _encode_plain(value)])
        if isinstance(value, float):
            # A whole number is the same number, whichever type holds it.
            if value.is_integer() and abs(value) < 2.0**53:
                return self.digest(int(value))
            return _join("number", [struct.pack("<d", value if value == value else float("nan"))])
        if id(value) in self._known:
            return self._known[id(value)][1]
        if id(value) in self._open:
            return _join("above", [])
        self._open.add(id(value))
        found = self._digest_part(value)
        self._open.discard(id(value))
        self._known[id(value)] = value, found
        return found

    def _digest_part(self, value: Any) -> bytes:
        if isinstance(value, np.ndarray):
            return self._digest_array(value)
        if issparse(value):
            parts = [self.digest(getattr(value.tocsr(), name)) for name in ("data", "indices", "indptr", "shape")]
            return _join("sparse", parts)
        if isinstance(value, list | tuple):
            return _join("list", [self.digest(item) for item in value])
        if isinstance(value, set | frozenset):
            return _join("set", sorted(self.digest(item) for item in value))
        if isinstance(value, dict):
            pairs = [(self.digest(k), self.digest(v)) for k, v in value.items() if k not in _CLOCK_KEYS]
            return _join("dict", [half for pair in sorted(pairs) for half in pair])
        if isinstance(value, np.dtype):
            return _join("dtype", [value.str.encode()])
        if isinstance(value, np.random.RandomState | np.random.Generator):
            return _join("generator", [self.digest(take_generator(value))])
        if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
            return _join("name", [f"{value.__module__}.{value.__qualname__}".encode()])
        return self._digest_object(value)

    def _digest_array(self, array: np.ndarray[Any, Any]) -> bytes:
        shape = repr(array.shape).encode()
        if array.dtype.kind in "OTUS":
            return _join("items", [shape, *(self.digest(item) for item in array.ravel().tolist())])
        plain = np.ascontiguousarray(array)
        plain = plain if plain.dtype.isnative or plain.dtype.fields else plain.astype(plain.dtype.newbyteorder("="))
        name = plain.dtype.newbyteorder("<").str if plain.dtype.fields is None else f"V{plain.dtype.itemsize}"
        return _join("array", [name.encode(), shape, hashlib.sha256(plain.reshape(-1).view(np.uint8).data).digest()])

    def _digest_object(self, value: Any) -> bytes:
        kind = type(value)
        if kind is self._trees:
            state = value.__getstate__()
            names = [name for name in sorted(state) if not (self._strip and name in TRAINING_ARRAYS)]
            return self.digest_attributes("Trees", {name: state[name] for name in names})
        known = name_state(kind)
        if known is not None:
            hidden = _FIELDS_LEFT_OUT.get(known, set())
            # Without text a record of columns is what it was before there were texts.
            hidden = hidden | {"words"} if getattr(value, "words", ()) is None else hidden
            fields = {n: getattr(value, n) for n in list_fields(known, kind)[0] if n not in hidden}
            return self.digest_attributes(known, fields)
        if hasattr(value, "__dict__"):
            return self.digest_attributes(kind.__qualname__, vars(value))
        return _join("object", [kind.__qualname__.encode(), *(self.digest(p) for p in value.__reduce_ex__(2)[1:])])

    def digest_attributes(self, name: str, attributes: dict[str, Any]) -> bytes:
        """The digest of an object of that name."""
        parts = [name.encode()]
        for attribute in sorted(self.choose(attributes)):
            value = attributes[attribute]
            if attribute in _LABELS:
                value = [np.asarray(part).tolist() for part in (value if isinstance(value, list) else [value])]
            parts += [attribute.encode(), self.digest(value)]
        return _join("object", parts)

    def choose(self, attributes: Iterable[str]) -> list[str]:
        """The attributes that count."""
        return [
            name for name in attributes if name not in _LEFT_OUT and not (self._strip and is_training_only(str(name)))
        ]


def _encode_plain(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return str(value).encode("utf-8", "surrogatepass")


def _join(tag: str, parts: Iterable[bytes]) -> bytes:
    """A digest of the parts, each with its length, so that no two lists of parts give the same bytes."""
    whole = hashlib.sha256(tag.encode())
    for part in parts:
        whole.update(struct.pack("<Q", len(part)))
        whole.update(part)
    return whole.digest()


def digest_value(value: object) -> str:
    """The digest of any value of a parameter, in hexadecimal.

    Examples
    --------
    >>> digest_value([1, 2]) == digest_value((1, 2.0))
    True
    """
    return _StateDigest(strip=False).digest(value).hex()


def digest_model(model: object, *, strip: bool) -> str:
    """The digest of a fitted model, in hexadecimal.

    Parameters
    ----------
    model : estimator
        Fitted.
    strip : bool
        Whether what `committee.save` leaves out with ``strip=True`` is left out here as well.

    Returns
    -------
    str
    """
    return _StateDigest(strip=strip).digest(model).hex()


def list_model_differences(one: object, other: object, *, strip: bool) -> list[str]:
    """Attributes of two estimators in which they differ; those of their members are not listed.

    Parameters
    ----------
    one, other : estimator
        Fitted.
    strip : bool
        As in `digest_model`.

    Returns
    -------
    list of str
    """
    if type(one) is not type(other):
        return ["class"]
    walks = [_StateDigest(strip=strip) for _ in range(2)]
    held = [vars(one), vars(other)]
    found = []
    for name in sorted(set(walks[0].choose([*held[0], *held[1]]))):
        parts = [
            walk.digest_attributes("", {name: state[name]})
            for walk, state in zip(walks, held, strict=True)
            if name in state
        ]
        if len(parts) < 2 or parts[0] != parts[1]:
            found.append(name)
    return found
