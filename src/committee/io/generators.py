"""Random generators as numbers: their states, checked, because NumPy trusts what it is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.exceptions import ModelFileError

__all__ = ["GENERATORS", "read_generator", "take_generator"]

_BITS = {
    cls.__name__: cls
    for cls in (np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)
}
GENERATORS = {cls.__name__: cls for cls in (np.random.RandomState, np.random.Generator)}
#: Blocks of numbers with their lengths, and places within a block with the most that they may be: NumPy would read
#: beyond the end.
_BLOCKS = {
    "MT19937": {"key": 624},
    "Philox": {"counter": 4, "key": 2, "buffer": 4},
    "SFC64": {"state": 4},
}
_PLACES = {"MT19937": {"pos": 624}, "Philox": {"buffer_pos": 4}}


def take_generator(generator: np.random.RandomState | np.random.Generator) -> dict[str, Any]:
    """The state of a generator as a dict of plain values and arrays."""
    if isinstance(generator, np.random.RandomState):
        state: Any = generator.get_state(legacy=False)
    else:
        state = generator.bit_generator.state
    if state["bit_generator"] not in _BITS:
        raise ModelFileError(f"Model files cannot hold a random generator of kind {state['bit_generator']}.")
    return dict(state)


def read_generator(kind: str, state: Any) -> Any:
    """A generator in that state.

    Parameters
    ----------
    kind : str
        One of `GENERATORS`.
    state : dict
        From `take_generator`.

    Returns
    -------
    RandomState or Generator
    """
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if name not in _BITS or not isinstance(state.get("state"), dict):
        raise ModelFileError("A random generator of the file is of an unknown kind.")
    entries = {**state, **state["state"]}
    blocks_fit = all(np.shape(entries.get(key, 0)) == (n,) for key, n in _BLOCKS.get(name, {}).items())
    places_fit = all(_is_place(entries.get(key), most) for key, most in _PLACES.get(name, {}).items())
    if not blocks_fit or not places_fit:
        raise ModelFileError("A random generator of the file is in a state that cannot be.")
    bits = _BITS[name](0)
    if kind == "Generator":
        bits.state = state
        return np.random.Generator(bits)
    made = np.random.RandomState(bits)
    made.set_state(state)
    return made


def _is_place(value: object, most: int) -> bool:
    return type(value) is int and 0 <= value <= most
