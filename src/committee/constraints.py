"""What a parameter may be: constraints, the check compiled from an annotation, and the sentences made of it.

An annotation is taken apart once per class into alternatives (one per member of its union). Each alternative
knows a test, the phrase for the error sentence and the phrase for the manual. A value that is the default itself
is not looked at again: defaults are checked when the class is compiled.
"""

from __future__ import annotations

import inspect
import math
import re
import reprlib
import sys
import textwrap
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from committee.exceptions import ParameterError, ParameterTypeError
from committee.foreign_names import hint_value

__all__ = [
    "ArrayLike",
    "HasMethods",
    "Hint",
    "Instance",
    "Interval",
    "Options",
    "describe_params",
    "document_params",
    "validate_params",
]

_INTEGERS = (int, np.integer)
_FLOATS = (float, np.floating)
_REALS = (int, float, np.integer, np.floating)
_BOOLS = (bool, np.bool_)
_DOC_WIDTH = 96


@dataclass(frozen=True)
class Interval:
    """A range of numbers; None leaves an end open, but never lets infinity or NaN in.

    Examples
    --------
    >>> Interval(0.0, 1.0, closed="right").describe()
    'in (0.0, 1.0]'
    """

    low: float | None
    high: float | None
    closed: Literal["both", "left", "right", "neither"] = "both"

    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest number in the range; an open end stops at the neighbouring double."""
        low = -sys.float_info.max if self.low is None else self.low
        high = sys.float_info.max if self.high is None else self.high
        if self.low is not None and self.closed in ("right", "neither"):
            low = math.nextafter(self.low, math.inf)
        if self.high is not None and self.closed in ("left", "neither"):
            high = math.nextafter(self.high, -math.inf)
        return low, high

    def describe(self) -> str:
        """The range in words, to follow "an int" or "a float"."""
        with_low, with_high = self.closed in ("both", "left"), self.closed in ("both", "right")
        if self.low is None and self.high is None:
            return ""
        if self.high is None:
            return f"{'>=' if with_low else '>'} {self.low}"
        if self.low is None:
            return f"{'<=' if with_high else '<'} {self.high}"
        return f"in {'[' if with_low else '('}{self.low}, {self.high}{']' if with_high else ')'}"


class Options:
    """A set of strings that is not known to the type checker, such as the names in a registry.

    Where the value is known, use ``Literal``.
    """

    __slots__ = ("names",)

    def __init__(self, *names: str) -> None:
        self.names = names


class Instance:
    """An instance of one of some classes, with a phrase of its own."""

    __slots__ = ("classes", "phrase")

    def __init__(self, *classes: type, phrase: str | None = None) -> None:
        self.classes = classes
        self.phrase = phrase or join_phrases(_with_article(c.__name__) for c in classes)


class ArrayLike:
    """A sequence, an array or a series; strings and mappings are not."""

    __slots__ = ("content",)

    def __init__(self, content: str = "") -> None:
        self.content = content


class HasMethods:
    """An object (not a class) with all of these methods, such as an estimator."""

    __slots__ = ("names",)

    def __init__(self, *names: str) -> None:
        self.names = names


@dataclass(frozen=True)
class Hint:
    """A sentence to add to the error when a value is refused."""

    text: str


class Alternative(NamedTuple):
    """One member of a parameter's union."""

    admits: Callable[[Any], Any]
    #: Whether a refused value is at least of the right type, so that the error is about its value.
    recognises: Callable[[Any], bool]
    phrases: tuple[str, ...]
    manual: str
    options: tuple[str, ...] = ()


class Parameter(NamedTuple):
    """A constructor parameter with the contents of its annotation."""

    name: str
    default: Any
    alternatives: tuple[Alternative, ...]
    hint: str
    sentence: str

    def admits(self, value: object) -> bool:
        """Whether the value is allowed; a parameter without a usable annotation allows everything."""
        return not self.alternatives or any(a.admits(value) for a in self.alternatives)


def validate_params(estimator: object) -> None:
    """Check every constructor parameter of an estimator against its annotation.

    Raises
    ------
    ParameterError
        If a value is of an allowed type and yet not allowed.
    ParameterTypeError
        If a value is of a type that is not allowed.
    """
    cls = type(estimator)
    table = cls.__dict__.get("_param_table")
    if table is None:
        table = _compile_table(cls)
    for name, default, admit in table:
        value = getattr(estimator, name)
        if value is default:
            continue
        for admits in admit:
            if admits(value):
                break
        else:
            if admit:
                raise _refuse(cls, name, value)


def describe_params(cls: type) -> tuple[Parameter, ...]:
    """All constructor parameters of a class, in order, with the contents of their annotations."""
    known: tuple[Parameter, ...] | None = cls.__dict__.get("_params")
    if known is None:
        known = cls._params = _describe(cls)  # type: ignore[attr-defined]
    return known


@cache
def list_names(cls: type) -> frozenset[str] | None:
    """Names that a constructor takes; None if it takes any."""
    arguments = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    return None if any(a.kind is a.VAR_KEYWORD for a in arguments) else frozenset(a.name for a in arguments)


def _describe(cls: type) -> tuple[Parameter, ...]:
    init: Any = cls.__init__  # type: ignore[misc]
    if init is object.__init__:
        return ()
    try:
        hints = get_type_hints(init, include_extras=True)
    except (NameError, TypeError):
        # A subclass written elsewhere may have annotations that mean something to a type checker only.
        hints = {}
    signature = inspect.signature(init)
    return tuple(
        _describe_param(name, argument.default, hints.get(name, Any))
        for name, argument in list(signature.parameters.items())[1:]
        if argument.kind not in (argument.VAR_KEYWORD, argument.VAR_POSITIONAL)
    )


def document_params(cls: type) -> None:
    """Write the Parameters section of a class docstring from the annotations of its constructor.

    It is put before the first section of the docstring. A docstring that already has such a section, and a class
    without a docstring of its own, are left alone.
    """
    doc = cls.__dict__.get("__doc__")
    if not doc:
        return
    lines = inspect.cleandoc(doc).splitlines()
    underlined = [i for i in range(len(lines) - 1) if lines[i + 1] and set(lines[i + 1]) == {"-"}]
    if any(lines[i] == "Parameters" for i in underlined):
        return
    params = describe_params(cls)
    if not params:
        return
    section = ["Parameters", "----------"]
    for param in params:
        section += _write_entry(param)
    at = underlined[0] if underlined else len(lines)
    head, tail = lines[:at], lines[at:]
    while head and not head[-1]:
        head.pop()
    cls.__doc__ = "\n".join([*head, "", *section, *([""] if tail else []), *tail])


# --- from annotations to alternatives --------------------------------------------------------------------------


def _compile_table(cls: type) -> tuple[tuple[str, Any, tuple[Callable[[Any], Any], ...]], ...]:
    params = describe_params(cls)
    for param in params:
        if param.default is not inspect.Parameter.empty and not param.admits(param.default):
            raise _refuse(cls, param.name, param.default)
    table = tuple((p.name, p.default, tuple(a.admits for a in p.alternatives)) for p in params)
    cls._param_table = table  # type: ignore[attr-defined]
    return table


def _describe_param(name: str, default: object, annotation: object) -> Parameter:
    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    # The last one counts, so that a class may write Annotated[MaxDepth, "another description"].
    sentence = next((m for m in reversed(metadata) if isinstance(m, str)), "")
    hint = next((m.text for m in reversed(metadata) if isinstance(m, Hint)), "")
    return Parameter(name, default, _compile_annotation(annotation), hint, sentence)


@cache
def _compile_annotation(annotation: object) -> tuple[Alternative, ...]:
    return tuple(_compile_alternatives(annotation, ()))


def _compile_alternatives(hint: object, constraints: tuple[Any, ...]) -> list[Alternative]:
    if get_origin(hint) is Annotated:
        inner, *metadata = get_args(hint)
        return _compile_alternatives(inner, (*constraints, *metadata))
    if get_origin(hint) in (Union, types.UnionType):
        members = get_args(hint)
        bare = {get_args(m)[0] if get_origin(m) is Annotated else m for m in members}
        # Where a union has both, an int is judged by the int's range only.
        within = (*constraints, _FLOATS) if int in bare else constraints
        return [a for m in members for a in _compile_alternatives(m, within)]
    return _compile_member(hint, constraints)


def _compile_member(member: object, constraints: tuple[Any, ...]) -> list[Alternative]:
    interval = next((c for c in constraints if isinstance(c, Interval)), None)
    for constraint in constraints:
        if isinstance(constraint, Options) and member is str:
            return [_choice(constraint.names)]
        if isinstance(constraint, ArrayLike) and member is Any:
            phrase = f"array-like {constraint.content}".rstrip()
            return [Alternative(_is_array_like, _never, (f"an {phrase}",), phrase)]
        if isinstance(constraint, HasMethods) and member in (Any, object):
            return [_methods(constraint.names)]
        if isinstance(constraint, Instance) and member in (Any, object):
            return [_instance(constraint.classes, constraint.phrase)]
    if member in (Any, object):
        return []
    if member is None or member is types.NoneType:
        return [Alternative(lambda v: v is None, _never, ("None",), "None")]
    if get_origin(member) is Literal:
        return [_choice(get_args(member))]
    if member is bool:
        return [Alternative(lambda v: isinstance(v, _BOOLS), _never, ("a bool",), "bool")]
    if member is int:
        return [_number(_INTEGERS, "int", interval)]
    if member is float:
        return [_number(_FLOATS if _FLOATS in constraints else _REALS, "float", interval)]
    origin = get_origin(member) or member
    if origin is Callable:
        return [Alternative(callable, _never, ("a callable",), "callable")]
    if isinstance(origin, type):
        return [_instance((origin,), _phrase_of_class(origin))]
    return []


def _number(kinds: tuple[type, ...], word: str, interval: Interval | None) -> Alternative:
    interval = interval or Interval(None, None)
    low, high = interval.bounds()

    def recognises(value: object) -> bool:
        # True and False are ints to Python; np.bool_ is no number to NumPy.
        return isinstance(value, kinds) and value is not True and value is not False

    def admits(value: object) -> Any:
        if not recognises(value):
            return False
        # A float of fewer bits could not be compared with the limits of doubles.
        number: Any = value.item() if isinstance(value, np.generic) else value
        return low <= number <= high

    manual = f"{word} {interval.describe()}".rstrip()
    return Alternative(admits, recognises, (_with_article(manual),), manual)


def _choice(names: tuple[Any, ...]) -> Alternative:
    texts = tuple(n for n in names if isinstance(n, str))
    others = tuple(n for n in names if not isinstance(n, str))

    def admits(value: object) -> bool:
        if isinstance(value, str):
            return value in texts
        return any(type(value) is type(o) and value == o for o in others)

    phrases = tuple(repr(n) for n in names)
    manual = phrases[0] if len(phrases) == 1 else "{" + ", ".join(phrases) + "}"
    return Alternative(admits, lambda v: isinstance(v, str), phrases, manual, texts)


def _instance(classes: tuple[type, ...], phrase: str) -> Alternative:
    def admits(value: object) -> bool:
        # A string is a sequence to Python, never to a user.
        return isinstance(value, classes) and not (isinstance(value, str | bytes) and str not in classes)

    manual = phrase.removeprefix("an ").removeprefix("a ")
    return Alternative(admits, _never, (phrase,), manual)


def _methods(names: tuple[str, ...]) -> Alternative:
    def admits(value: object) -> bool:
        return not isinstance(value, type) and all(callable(getattr(value, n, None)) for n in names)

    phrase = f"object with the method{'s' if len(names) > 1 else ''} {join_phrases(names, 'and')}"
    return Alternative(admits, _never, (f"an {phrase}",), phrase)


def _is_array_like(value: object) -> bool:
    if isinstance(value, str | bytes | dict | type | np.generic):
        return False
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return hasattr(value, "__len__") or hasattr(value, "__array__")


def _never(_: Any) -> bool:
    return False


# --- sentences -------------------------------------------------------------------------------------------------


def join_phrases(phrases: Iterable[str], word: str = "or") -> str:
    """Join phrases as a sentence does.

    Examples
    --------
    >>> join_phrases(["'a'", "'b'", "None"])
    "'a', 'b' or None"
    """
    *first, last = phrases
    return f"{', '.join(first)} {word} {last}" if first else last


def show_value(value: object) -> str:
    """A value as it appears at the end of an error sentence: short, and numbers without their NumPy dress."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    short = reprlib.Repr()
    short.maxstring = short.maxother = 60
    # Where an object lies in memory helps nobody, and would make the sentence another one each time.
    return re.sub(r" at 0x[0-9a-f]+(?=>)", "", short.repr(value))


def _refuse(cls: type, name: str, value: object) -> ParameterError | ParameterTypeError:
    param = next(p for p in describe_params(cls) if p.name == name)
    allowed = join_phrases(dict.fromkeys(p for a in param.alternatives for p in a.phrases))
    sentence = f"The {name!r} parameter of {cls.__name__} must be {allowed}; got {show_value(value)}."
    hint = _find_hint(param, value)
    error = ParameterError if any(a.recognises(value) for a in param.alternatives) else ParameterTypeError
    return error(f"{sentence} {hint}".rstrip())


def _find_hint(param: Parameter, value: object) -> str:
    options = [o for a in param.alternatives for o in a.options]
    if isinstance(value, str) and options:
        return hint_value(value, options)
    if isinstance(value, _FLOATS) and math.isfinite(value) and value == int(value) and param.admits(int(value)):
        return f"Write {int(value)}."
    return param.hint


def _write_entry(param: Parameter) -> list[str]:
    manual = join_phrases(dict.fromkeys(a.manual for a in param.alternatives)) if param.alternatives else "object"
    default = "" if param.default is inspect.Parameter.empty else f", default={param.default!r}"
    entry = [f"{param.name} : {manual}{default}"]
    return entry + textwrap.wrap(param.sentence, _DOC_WIDTH, initial_indent="    ", subsequent_indent="    ")


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"


def _phrase_of_class(cls: type) -> str:
    words = {"Mapping": "a dict", "Sequence": "a list", "str": "a str", "dict": "a dict", "list": "a list"}
    return words.get(cls.__name__, f"{_with_article(cls.__name__)} instance")
