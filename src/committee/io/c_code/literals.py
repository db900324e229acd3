"""Numbers, texts and arrays as C99 writes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from committee.typing import AnyArray

__all__ = ["make_identifier", "write_array", "write_double", "write_text"]

_LINE = 110
_TYPES = {"u1": "uint8_t", "u2": "uint16_t", "u4": "uint32_t", "f4": "float", "f8": "double", "i4": "int32_t"}
_KEYWORDS = frozenset(
    {"auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern"}
    | {"float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed"}
    | {"sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "main"}
)
_PLAIN_CHARACTERS = frozenset(
    b" !#$%&'()*+,-./:;<=>@[]^_`{|}~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)


def write_double(number: float) -> str:
    """A double, exactly.

    Examples
    --------
    >>> write_double(0.1), write_double(3.0), write_double(float("-inf"))
    ('0x1.999999999999ap-4', '3.0', '-INFINITY')
    """
    if number != number:
        return "NAN"
    if number in (float("inf"), float("-inf")):
        return "INFINITY" if number > 0 else "-INFINITY"
    if abs(number) < 2**31 and number == int(number) and (number or str(number) == "0.0"):
        return f"{int(number)}.0"
    return re.sub(r"\.?0*p", "p", number.hex())


def write_text(text: str) -> str:
    r"""A text as a string literal of ASCII characters that stand for its UTF-8 bytes.

    Examples
    --------
    >>> print(write_text('é?'))
    "\303\251\077"
    """
    octets = text.encode("utf-8", "replace")
    return '"' + "".join(chr(one) if one in _PLAIN_CHARACTERS else f"\\{one:03o}" for one in octets) + '"'


def write_array(name: str, values: AnyArray) -> str:
    """The definition of a constant array; one that is empty gets an entry, as C wants it."""
    values = np.asarray(values).ravel()
    kind = _TYPES[values.dtype.str[1:]]
    size = max(1, len(values))
    return f"static const {kind} {name}[{size}] = {{\n{wrap_items(write_items(values) or ['0'])}\n}};\n"


def write_items(values: AnyArray) -> list[str]:
    """The numbers of an array."""
    if values.dtype.kind in "ui":
        return [str(number) for number in values.tolist()]
    written = {number: write_double(number) for number in set(values.tolist())}
    suffix = "f" if values.dtype == np.float32 else ""
    return [
        text if text.endswith(("INFINITY", "NAN")) else text + suffix
        for text in (written.get(number) or write_double(number) for number in values.tolist())
    ]


def wrap_items(items: Iterable[str]) -> str:
    """Items with commas between them, in lines of some length."""
    lines, line = [], ""
    for item in items:
        if len(line) + len(item) > _LINE:
            lines.append(line)
            line = ""
        line += item + ","
    return "\n".join([*lines, line])


def make_identifier(text: str) -> str:
    """A name in C made from any text.

    Examples
    --------
    >>> make_identifier("my model-2"), make_identifier("3rd"), make_identifier("int")
    ('my_model_2', 'm3rd', 'int_')
    """
    name = re.sub(r"[^0-9A-Za-z_]", "_", text).lstrip("_") or "model"
    name = f"m{name}" if name[0].isdigit() else name
    return f"{name}_" if name in _KEYWORDS else name
