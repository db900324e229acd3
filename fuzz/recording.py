"""Records the calls that the library makes of its compiled module, and repeats them.

A session is a small use of the library: a fit, predictions, explanations. Its record is a list of steps; what a step
returns is named by its number where a later step takes it, so that a repetition makes all objects anew.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from committee import _core

__all__ = ["Reference", "Step", "Struct", "find_call", "record", "thaw"]


class Reference(NamedTuple):
    """What an earlier step returned: all of it (place -1), or one part of a tuple."""

    step: int
    place: int
    kind: str


class Struct(NamedTuple):
    """Parameters: the name of their class, and the values of its properties."""

    kind: str
    values: dict[str, Any]


class Step(NamedTuple):
    """A call: the name of a function, of a class, or of a method with its class."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Unknown(TypeError):
    """An argument that a repetition could not make."""


CLASSES = {name: one for name, one in vars(_core).items() if isinstance(one, type)}
FUNCTIONS = {name: one for name, one in vars(_core).items() if type(one).__name__ == "nb_func"}
#: Classes whose properties can be set: they are kept by value.
SETTABLE = {
    name: [key for key, own in vars(one).items() if isinstance(own, property) and own.fset is not None]
    for name, one in CLASSES.items()
}


def find_call(name: str) -> Callable[..., Any]:
    """The function, class or method of a step."""
    cls, _, method = name.partition(".")
    return getattr(getattr(_core, cls), method) if method else getattr(_core, cls)  # type: ignore[no-any-return]


class Recorder:
    """The steps so far, and the objects that they returned."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._known: dict[int, Reference] = {}
        self._alive: list[Any] = []  # an object that is gone could give its number to another
        self._inside = False

    def call(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call, and keep the call unless it has an argument that cannot be made again."""
        if self._inside:
            return function(*args, **kwargs)
        try:
            step = Step(name, tuple(map(self._freeze, args)), {key: self._freeze(own) for key, own in kwargs.items()})
        except Unknown:
            step = None
        self._inside = True
        try:
            result = function(*args, **kwargs)
        finally:
            self._inside = False
        if step is not None:
            self._remember(result)
            self.steps.append(step)
        return result

    def _remember(self, result: Any) -> None:
        parts = [(-1, result), *(enumerate(result) if isinstance(result, tuple) else ())]
        for place, one in parts:
            if type(one).__name__ in CLASSES:
                self._known[id(one)] = Reference(len(self.steps), place, type(one).__name__)
                self._alive.append(one)

    def _freeze(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float | str | bytes | np.generic):
            return value
        if isinstance(value, np.ndarray):
            return np.array(value, copy=True, order="K")
        if isinstance(value, list | tuple):
            return type(value)(map(self._freeze, value))
        if isinstance(value, dict):
            return {key: self._freeze(own) for key, own in value.items()}
        kind = type(value).__name__
        if SETTABLE.get(kind):
            return Struct(kind, {key: self._freeze(getattr(value, key)) for key in SETTABLE[kind]})
        if id(value) in self._known:
            return self._known[id(value)]
        raise Unknown(kind)


class _Recorded(type):
    """Stands for a class of the module while calls are recorded: its constructor is a call as well."""

    real: type
    recorder: Recorder

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if SETTABLE[cls.real.__name__]:
            return cls.real(*args, **kwargs)
        return cls.recorder.call(cls.real.__name__, cls.real, args, kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.real)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.real, name)


def _wrap(recorder: Recorder, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: recorder.call(name, function, args, kwargs)


@contextlib.contextmanager
def _replaced(recorder: Recorder) -> Iterator[None]:
    """Names of functions and classes in all modules of the library, and methods of the classes, are recorded."""
    stand_ins: dict[int, Any] = {id(own): _wrap(recorder, name, own) for name, own in FUNCTIONS.items()}
    for name, cls in CLASSES.items():
        stand_ins[id(cls)] = _Recorded(name, (), {"real": cls, "recorder": recorder})
    undo: list[tuple[Any, str, Any]] = []
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "committee"]
    try:
        for module in modules:
            for name, own in list(vars(module).items()):
                if id(own) in stand_ins:
                    undo.append((module, name, own))
                    setattr(module, name, stand_ins[id(own)])
        for kind, cls in CLASSES.items():
            for name, own in list(vars(cls).items()):
                if name.startswith("__") or type(own).__name__ not in ("nb_func", "nb_method"):
                    continue
                undo.append((cls, name, own))
                call = _wrap(recorder, f"{kind}.{name}", own)
                static = type(own).__name__ == "nb_func"
                setattr(cls, name, staticmethod(call) if static else _bind(call))
        yield
    finally:
        for owner, name, own in reversed(undo):
            setattr(owner, name, own)


def _bind(call: Callable[..., Any]) -> Callable[..., Any]:
    """A function that becomes a method."""
    return lambda self, *args, **kwargs: call(self, *args, **kwargs)


def record(session: Callable[[], Any]) -> list[Step]:
    """The steps of a session. It must use one thread of Python."""
    recorder = Recorder()
    with _replaced(recorder):
        session()
    return recorder.steps


def thaw(value: Any, results: dict[int, Any]) -> Any:
    """What is passed to a step; KeyError where an earlier step returned nothing."""
    if isinstance(value, np.ndarray):
        return np.array(value, copy=True, order="K") if value.flags.owndata and value.flags.writeable else value
    if isinstance(value, Reference):
        whole = results[value.step]
        return whole if value.place < 0 else whole[value.place]
    if isinstance(value, Struct):
        made = getattr(_core, value.kind)()
        for key, own in value.values.items():
            setattr(made, key, thaw(own, results))
        return made
    if isinstance(value, list | tuple):
        return type(value)(thaw(own, results) for own in value)
    if isinstance(value, dict):
        return {key: thaw(own, results) for key, own in value.items()}
    return value
