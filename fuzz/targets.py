"""Targets, sample weights and groups, ordinary and not."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pandas as pd

from fuzz.draws import EXTREMES, Draw
from fuzz.libraries import pa, pl

__all__ = ["draw_groups", "draw_target", "draw_weights", "is_usual"]


def draw_target(draw: Draw, n: int, *, classes: bool) -> Any:
    """A target for that many rows; three in four are of the kind that the task asks for."""
    usual = draw.chance(0.8)
    way = draw.pick(CLASS_WAYS if classes else VALUE_WAYS) if usual else draw.pick(ODD_WAYS)
    draw.note("target", way)
    return _wrap(draw, WAYS[way](draw, n))


def is_usual(y: Any) -> bool:
    """Whether a target is a vector of finite numbers, which every regressor can fit or refuse with a reason."""
    return isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "iuf" and bool(np.isfinite(y).all())


def _wrap(draw: Draw, y: Any) -> Any:
    if not isinstance(y, np.ndarray) or y.ndim != 1 or draw.chance(0.75):
        return y
    way = draw.pick(("list", "series", "polars", "arrow", "column", "read-only", "swapped", "strided"))
    draw.note("wrapped as", way)
    if way == "list":
        return y.tolist()
    if way == "series":
        try:
            return pd.Series(y, index=np.arange(len(y))[::-1])
        except OverflowError:  # pandas 3 knows no such integers
            return y
    if way == "column":
        return y[:, None]
    if way == "read-only":
        y = y.copy()
        y.flags.writeable = False
        return y
    if way == "strided":
        return np.repeat(y, 2)[::2]
    if way == "swapped" and y.dtype.kind in "iuf":
        return y.astype(y.dtype.newbyteorder(">"))
    try:
        return pl.Series("y", y) if way == "polars" else pa.array(y) if way == "arrow" else y
    except (TypeError, ValueError, pa.ArrowException, pl.exceptions.PolarsError):
        return y


def _words(draw: Draw, n: int) -> Any:
    return np.array(["no", "yes", "maybe"])[draw.numbers.integers(draw.pick((2, 3)), size=n)]


def _extreme(draw: Draw, n: int) -> Any:
    finite = [v for v in EXTREMES if np.isfinite(v)]
    chosen = [draw.pick(finite) for _ in range(draw.pick((1, 2, 4)))]
    y = draw.numbers.choice(np.array(chosen), size=n)
    return -y if draw.chance(0.3) else y


def _outlier(draw: Draw, n: int) -> Any:
    y = draw.numbers.normal(size=n)
    if n:
        y[draw.numbers.integers(n)] = draw.pick((1e308, -1e308, 1e271, 1e200, 1e100, 1e30, 5e-324))
    return y


def _spoil(value: Any) -> Any:
    def make(draw: Draw, n: int) -> Any:
        y = draw.numbers.normal(size=n).astype(object if not isinstance(value, float) else float)
        if n:
            y[draw.numbers.integers(n)] = value
        return y

    return make


WAYS: dict[str, Any] = {
    # classes
    "zeros and ones": lambda d, n: d.numbers.integers(2, size=n),
    "four classes": lambda d, n: d.numbers.integers(4, size=n),
    "words": _words,
    "words as objects": lambda d, n: _words(d, n).astype(object),
    "bools": lambda d, n: d.numbers.random(n) < 0.5,
    "minus and plus one": lambda d, n: d.numbers.choice([-1, 1], size=n),
    "whole floats": lambda d, n: d.numbers.choice([0.0, 1.0, 7.0], size=n),
    "one class": lambda d, n: np.full(n, d.pick((0, 1, "a", -3))),
    "a class each": lambda d, n: np.arange(n),
    "a rare class": lambda d, n: np.where(np.arange(n) == n // 2, 1, 0),
    "levels": lambda d, n: pd.Series(pd.Categorical(_words(d, n), categories=["no", "yes", "maybe", "never"])),
    "large classes": lambda d, n: d.numbers.choice([-(2**63), 2**63 - 1, 2**53 + 1], size=n),
    "bytes": lambda d, n: np.array([b"a", b"b"])[d.numbers.integers(2, size=n)],
    # numbers
    "normal": lambda d, n: d.numbers.normal(size=n),
    "counts": lambda d, n: d.numbers.poisson(2.0, size=n),
    "positive": lambda d, n: d.numbers.gamma(2.0, size=n) + 0.1,
    "constant": lambda d, n: np.full(n, d.pick((0.0, 1.0, -2.5, 1e9, 0.1, 1e-310))),
    "extreme": _extreme,
    "outlier": _outlier,
    "large offset": lambda d, n: 1e12 + d.numbers.normal(size=n),
    "float32": lambda d, n: d.numbers.normal(size=n).astype(np.float32),
    "float16": lambda d, n: d.numbers.normal(size=n).astype(np.float16),
    "long integers": lambda d, n: d.numbers.choice([2**63 - 1, -(2**63), 0], size=n),
    "unsigned": lambda d, n: d.numbers.choice(np.array([2**64 - 1, 0, 1], dtype=np.uint64), size=n),
    "two columns": lambda d, n: d.numbers.normal(size=(n, 2)),
    "two labels": lambda d, n: d.numbers.integers(2, size=(n, 2)),
    # odd
    "nan": _spoil(float("nan")),
    "inf": _spoil(float("inf")),
    "none": _spoil(None),
    "word among numbers": _spoil("a"),
    "list among numbers": _spoil([1]),
    "huge int": _spoil(10**400),
    "decimals": lambda d, n: [decimal.Decimal(int(v)) / 3 for v in d.numbers.integers(9, size=n)],
    "complex": lambda d, n: d.numbers.normal(size=n) + 1j,
    "dates": lambda d, n: np.datetime64("2020-01-01") + d.numbers.integers(9, size=n),
    "python dates": lambda d, n: [datetime.date(2020, 1, 1 + int(v)) for v in d.numbers.integers(9, size=n)],
    "words and none": lambda d, n: [d.pick(("a", "b", None)) for _ in range(n)],
    "words and numbers": lambda d, n: [d.pick(("a", 1, 2.5)) for _ in range(n)],
    "nullable": lambda d, n: pd.Series(d.numbers.integers(3, size=n), dtype="Int64").where(d.numbers.random(n) < 0.8),
    "frame": lambda d, n: pd.DataFrame({"a": d.numbers.integers(2, size=n), "b": _words(d, n)}),
    "too short": lambda d, n: d.numbers.integers(2, size=max(0, n - 1)),
    "too long": lambda d, n: d.numbers.integers(2, size=n + 3),
    "empty": lambda d, n: [],
    "no columns": lambda d, n: np.zeros((n, 0)),
    "three axes": lambda d, n: np.zeros((n, 1, 1)),
    "a number": lambda d, n: 3,
    "a word": lambda d, n: "yes",
    "nothing": lambda d, n: None,
    "a set": lambda d, n: set(range(n)),
    "masked": lambda d, n: np.ma.masked_array(d.numbers.normal(size=n), mask=d.numbers.random(n) < 0.2),
    "objects": lambda d, n: [object() for _ in range(n)],
    "lists": lambda d, n: [["a"], ["a", "b"], []] * (n // 3) + [["b"]] * (n % 3),
}
CLASS_WAYS = list(WAYS)[:13]
VALUE_WAYS = list(WAYS)[13:25]
ODD_WAYS = list(WAYS)


def draw_weights(draw: Draw, n: int) -> Any:
    """Sample weights for that many rows; mostly none."""
    if draw.chance(0.65):
        return None
    way = draw.pick(tuple(WEIGHTS))
    draw.note("weights", way)
    return WEIGHTS[way](draw, n)


def _mix(*values: Any) -> Any:
    return lambda d, n: d.numbers.choice(np.array(values, dtype=float), size=n)


WEIGHTS: dict[str, Any] = {
    "whole": lambda d, n: d.numbers.integers(1, 4, size=n),
    "with zeros": lambda d, n: d.numbers.integers(0, 3, size=n),
    "some absent": lambda d, n: (d.numbers.random(n) < 0.7).astype(float),
    "random": lambda d, n: d.numbers.random(n),
    "all zero": lambda d, n: np.zeros(n),
    "one not zero": lambda d, n: (np.arange(n) == n // 2).astype(float),
    "negative": _mix(1.0, -1.0),
    "minus zero": _mix(1.0, -0.0),
    "nan": _mix(1.0, np.nan),
    "inf": _mix(1.0, np.inf),
    "tiny": _mix(1e-300, 2e-300),
    "denormal": _mix(5e-324, 1e-320),
    "huge": _mix(1e300, 3e300),
    "limits": _mix(1.7e308, 1.7e308),
    "far apart": _mix(1e-300, 1.0, 1e300),
    "apart": _mix(1e-12, 1.0),
    "bools": lambda d, n: d.numbers.random(n) < 0.5,
    "words": lambda d, n: ["a"] * n,
    "numbers as words": lambda d, n: ["1"] * n,
    "none": lambda d, n: [None] * n,
    "short": lambda d, n: np.ones(max(0, n - 1)),
    "long": lambda d, n: np.ones(n + 1),
    "two axes": lambda d, n: np.ones((n, 1)),
    "scalar": lambda d, n: 2.0,
    "float32": lambda d, n: d.numbers.random(n).astype(np.float32),
    "long integers": lambda d, n: d.numbers.choice([1, 2**62], size=n),
    "unsigned": lambda d, n: d.numbers.integers(1, 200, size=n).astype(np.uint8),
    "series": lambda d, n: pd.Series(d.numbers.random(n)),
    "complex": lambda d, n: np.ones(n) + 1j,
    "objects": lambda d, n: np.array([1] * n, dtype=object),
    "strided": lambda d, n: np.repeat(d.numbers.random(n), 2)[::2],
    "masked": lambda d, n: np.ma.masked_array(np.ones(n), mask=d.numbers.random(n) < 0.2),
}


def draw_groups(draw: Draw, n: int) -> Any:
    """A group for each row, where groups count."""
    way = draw.pick(("plain", "each", "one", "words", "nan", "short", "nothing"))
    draw.note("groups", way)
    if way == "each":
        return np.arange(n)
    if way == "one":
        return np.zeros(n)
    if way == "words":
        return ["a", "b", "c"] * (n // 3) + ["d"] * (n % 3)
    if way == "nan":
        return np.where(np.arange(n) % 5 == 0, np.nan, 1.0)
    if way == "nothing":
        return None
    return np.arange(n if way == "plain" else max(0, n - 1)) % 4
