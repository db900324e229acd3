"""Changes of the arguments of a call: what a caller could pass by mistake or on purpose.

A change is three numbers, so that it can be kept and repeated: the step, the place among all values of its arguments,
and one that chooses what is done there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz.recording import Reference, Step, Struct

__all__ = ["Change", "change_step"]

Change = tuple[int, int, int]
INTEGERS = (0, 1, 2, 3, 7, 127, 255, 256, 65535, 65536, 2**20, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**53)
WIDE = (2**63 - 1, 2**63, 2**64 - 1, 2**64, -1, -2, -(2**31), -(2**63))
FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    1e-300,
    5e-324,
    1e300,
    1.7976931348623157e308,
    -1e308,
    np.nan,
    np.inf,
    -np.inf,
)
DTYPES = ("f4", "f8", "i1", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c16", "U2", "O", ">f8", "M8[s]", "V4")
WORDS = (
    "",
    "gini",
    "entropy",
    "squared_error",
    "absolute_error",
    "mean",
    "sum",
    "vote",
    "softmax",
    "binary",
    "poisson",
)


def list_places(value: Any, put: Callable[[Any], None]) -> list[tuple[Any, Callable[[Any], None]]]:
    """All values inside a value, each with a function that puts another in its place."""
    places = [(value, put)]
    if isinstance(value, Reference):
        return places
    if isinstance(value, Struct):
        value = value.values
    if isinstance(value, dict):
        for key in value:
            places += list_places(value[key], lambda own, key=key: value.__setitem__(key, own))  # type: ignore[misc]
    elif isinstance(value, list):
        for k in range(min(len(value), 40)):
            places += list_places(value[k], lambda own, k=k: value.__setitem__(k, own))  # type: ignore[misc]
    elif isinstance(value, tuple):
        for k in range(len(value)):
            places += list_places(value[k], lambda own, k=k: put((*value[:k], own, *value[k + 1 :])))  # type: ignore[misc]
    return places


def change_step(step: Step, place: int, number: int, others: list[Reference]) -> Step:
    """The step with one value changed; `others` are what earlier steps return."""
    arguments: dict[str, Any] = {"args": _copy(list(step.args)), "kwargs": _copy(step.kwargs)}
    places = list_places(arguments["args"], lambda own: None)[1:]
    places += list_places(arguments["kwargs"], lambda own: None)[1:]
    if places:
        value, put = places[place % len(places)]
        put(change_value(value, random.Random(number), others))
    return Step(step.name, tuple(arguments["args"]), arguments["kwargs"])


def _copy(value: Any) -> Any:
    """Containers of one's own; arrays are shared until they are changed."""
    if isinstance(value, Reference):
        return value
    if isinstance(value, Struct):
        return Struct(value.kind, _copy(value.values))
    if isinstance(value, dict):
        return {key: _copy(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_copy, value))
    return value


def change_value(value: Any, draw: random.Random, others: list[Reference]) -> Any:
    """Another value in its place: of the same kind in most cases."""
    if draw.random() < 0.06:
        return _draw_other(draw, others)
    if isinstance(value, np.ndarray):
        return change_array(value, draw)
    if isinstance(value, bool | np.bool_):
        return draw.choice([not value, 2, None])
    if isinstance(value, int | np.integer):
        return draw.choice([int(value) + 1, int(value) - 1, int(value) * 2, draw.choice(INTEGERS), draw.choice(WIDE)])
    if isinstance(value, float | np.floating):
        return draw.choice([-float(value), float(value) * draw.choice([0.5, 2.0, 1e6]), draw.choice(FLOATS)])
    if isinstance(value, str):
        return draw.choice([*WORDS, value + "x", value.upper(), value * 1000])
    if isinstance(value, bytes):
        return _change_bytes(value, draw)
    if isinstance(value, Reference):
        same = [one for one in others if one.kind == value.kind]
        return draw.choice(same or [value])
    if isinstance(value, list):
        return _change_list(value, draw)
    if isinstance(value, dict) and value:
        gone = draw.choice(sorted(value))
        return {key: own for key, own in value.items() if key != gone}
    return _draw_other(draw, others)


def _draw_other(draw: random.Random, others: list[Reference]) -> Any:
    arrays = [np.zeros(0), np.zeros((0, 3)), np.ones(3, np.uint32), np.zeros((2, 2), order="F"), np.array(1.0)]
    return draw.choice([None, 0, 1.5, "a", b"", [], {}, *arrays, *others[-4:]])


def _change_list(value: list[Any], draw: random.Random) -> list[Any]:
    match draw.randrange(4):
        case 0:
            return value[: draw.randrange(len(value) + 1)]
        case 1:
            return [*value, draw.choice(value) if value else draw.choice(INTEGERS)]
        case 2:
            return value * draw.choice([2, 300])
        case _:
            return value[::-1]


def _change_bytes(value: bytes, draw: random.Random) -> bytes:
    changed = bytearray(value)
    for _ in range(draw.choice([1, 1, 2, 8])):
        if not changed:
            break
        at = draw.randrange(len(changed))
        match draw.randrange(4):
            case 0:
                changed[at] ^= 1 << draw.randrange(8)
            case 1:
                changed[at : at + 8] = (draw.choice(INTEGERS + WIDE) % 2**64).to_bytes(8, "little")
            case 2:
                del changed[at : at + draw.choice([1, 4, 8, 100])]
            case _:
                changed[at:at] = bytes(draw.choice([1, 4, 8]))
    return bytes(changed)


# --- arrays --------------------------------------------------------------------------------------------------------


def change_array(array: np.ndarray, draw: random.Random) -> np.ndarray:
    """Other values, another type, shape or layout."""
    return draw.choice(
        [_change_values, _change_values, _change_values, _change_length, _change_type, _change_shape, _change_layout]
    )(array, draw)


def _change_values(array: np.ndarray, draw: random.Random) -> np.ndarray:
    changed = np.array(array, copy=True, order="K")
    if not changed.size or changed.dtype.kind not in "iufb":
        return changed
    odd = _draw_value(changed.dtype, draw)
    match draw.randrange(4):
        case 0:
            changed[...] = odd
        case 1:
            changed = np.array(changed.ravel(order="K")[::-1]).reshape(changed.shape)
        case _:
            for _ in range(draw.choice([1, 1, 3])):
                changed.flat[draw.randrange(changed.size)] = _draw_value(changed.dtype, draw)
    return changed


def _draw_value(dtype: np.dtype[Any], draw: random.Random) -> Any:
    if dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            return np.float64(draw.choice(FLOATS)).astype(dtype)
    bits = 8 * dtype.itemsize
    return (
        np.array(draw.choice(INTEGERS + WIDE) % 2**bits, f"u{dtype.itemsize}").view(f"i{dtype.itemsize}").astype(dtype)
    )


def _change_length(array: np.ndarray, draw: random.Random) -> np.ndarray:
    if not array.ndim:
        return np.repeat(array, 3)
    axis = draw.randrange(array.ndim)
    n = array.shape[axis]
    m = draw.choice([0, 1, max(n - 1, 0), n + 1, 2 * n, n // 2])
    order = "F" if array.flags.f_contiguous and array.ndim > 1 else "C"
    return np.require(np.take(array, np.arange(m) % max(n, 1), axis) if n else array, requirements=[order, "O", "W"])


def _change_type(array: np.ndarray, draw: random.Random) -> np.ndarray:
    try:
        with np.errstate(all="ignore"):
            return array.astype(draw.choice(DTYPES))
    except (TypeError, ValueError, OverflowError, RuntimeError):  # records, which are no numbers; dates as short words
        return np.frombuffer(array.tobytes(), np.uint8)


def _change_shape(array: np.ndarray, draw: random.Random) -> np.ndarray:
    match draw.randrange(4):
        case 0:
            return array.reshape(-1)
        case 1:
            return array[None]
        case 2:
            return array[..., None]
        case _:
            return np.array(array.T, order="C")


def _change_layout(array: np.ndarray, draw: random.Random) -> np.ndarray:
    match draw.randrange(6):
        case 0:
            return array[::-1] if array.ndim else array
        case 1:
            return np.repeat(array, 2, axis=0)[::2] if array.ndim else array
        case 2:
            return np.asfortranarray(array)
        case 3:
            return np.broadcast_to(array[:1], array.shape) if array.ndim and len(array) else array
        case 4:  # not aligned
            room = np.zeros(array.nbytes + 1, np.uint8)
            view = room[1:].view(array.dtype).reshape(array.shape)
            view[...] = array
            return view
        case _:
            frozen = array.copy(order="K")
            frozen.flags.writeable = False
            return frozen
