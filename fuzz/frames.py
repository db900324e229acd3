"""Frames of pandas, Polars and Arrow, with columns of every kind they know."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pandas as pd

from fuzz.draws import Draw
from fuzz.libraries import pa, pl

__all__ = ["make_frame"]

KINDS = (
    "float",
    "float",
    "float32",
    "int",
    "nullable int",
    "bool",
    "nullable bool",
    "text",
    "category",
    "category",
    "many levels",
    "ordered",
    "numbers as category",
    "mixed",
    "dates",
    "times",
    "lists",
    "nothing",
    "decimal",
    "bytes",
)
WORDS = ("a", "b", "c", "", "ä", "a ", "nan", "None", "0", "1e5", "\x00", "x" * 300, "=1+1", "<b>")


def make_frame(draw: Draw, X: Any) -> Any:
    """A frame of as many rows and columns as the array; its columns of float hold the array's."""
    library = draw.pick(("pandas", "pandas", "polars", "arrow"))
    kinds = [draw.pick(KINDS) if draw.chance(0.25) else "float" for _ in range(X.shape[1])]
    names = _name_columns(draw, X.shape[1])
    draw.note(library, dict(enumerate(kinds)))
    lists = [_list_values(draw, kind, X[:, i]) for i, kind in enumerate(kinds)]
    if library == "pandas":
        return _make_pandas(draw, kinds, names, lists, len(X))
    if library == "polars":
        return _make_polars(draw, kinds, names, lists)
    return _make_arrow(draw, kinds, names, lists)


def _name_columns(draw: Draw, n: int) -> list[Any]:
    way = draw.pick_name({"plain": 80, "equal": 5, "numbers": 5, "odd": 10})
    if way == "equal":
        return ["same"] * n
    if way == "numbers":
        return list(range(n))
    if way == "odd":
        return [
            draw.pick((f"c{i}", f" {i}", f"größe{i}", f"{i}\n", f"__{i}__", "" if i == 0 else f"x{i}"))
            for i in range(n)
        ]
    return [f"c{i}" for i in range(n)]


def _list_values(draw: Draw, kind: str, values: Any) -> list[Any]:
    rng, n = draw.numbers, len(values)
    holes = rng.random(n) < draw.pick((0.0, 0.0, 0.2, 1.0))

    def fill(made: list[Any]) -> list[Any]:
        return [None if hole else value for value, hole in zip(made, holes, strict=True)]

    if kind in ("float", "float32"):
        return [float(v) for v in values]
    if kind == "int":
        return [int(v) for v in rng.integers(-3, 4, size=n)]
    if kind == "nullable int":
        return fill([int(v) for v in rng.choice([0, 1, -5, 2**53 + 1, 2**63 - 1, -(2**63)], size=n)])
    if kind in ("bool", "nullable bool"):
        made = [bool(v) for v in rng.integers(2, size=n)]
        return made if kind == "bool" else fill(made)
    if kind in ("text", "category", "ordered"):
        return fill([WORDS[i] for i in rng.integers(len(WORDS) if draw.chance(0.3) else 3, size=n)])
    if kind == "many levels":
        return fill([f"level {i}" for i in rng.integers(2 * n + 1, size=n)])
    if kind == "numbers as category":
        return fill([float(v) for v in rng.integers(4, size=n)])
    if kind == "mixed":
        return [draw.pick((1, "a", None, 2.5, b"x", True, (1,), np.nan, datetime.date(2020, 1, 1))) for _ in range(n)]
    if kind == "dates":
        return fill(
            [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(1000, size=n)]
        )
    if kind == "times":
        return fill([datetime.timedelta(seconds=int(s)) for s in rng.integers(10**6, size=n)])
    if kind == "lists":
        return fill([[1.0] * int(k) for k in rng.integers(3, size=n)])
    if kind == "decimal":
        return fill([decimal.Decimal(int(v)) / 4 for v in rng.integers(-9, 9, size=n)])
    if kind == "bytes":
        return fill([bytes([v]) for v in rng.integers(256, size=n)])
    return [None] * n


def _make_pandas(draw: Draw, kinds: list[str], names: list[Any], lists: list[list[Any]], n_rows: int) -> Any:
    arrow = draw.chance(0.15)
    columns = [_make_series(draw, kind, values, arrow) for kind, values in zip(kinds, lists, strict=True)]
    if not columns:
        return pd.DataFrame(index=range(n_rows))
    frame = pd.concat(columns, axis=1)
    frame.columns = names
    if draw.chance(0.1):
        frame.index = draw.numbers.permutation(len(frame)) if draw.chance(0.5) else [0] * len(frame)
    if draw.chance(0.03):
        frame.columns = pd.MultiIndex.from_arrays([["m"] * len(names), names])
    if draw.chance(0.02):
        return frame.iloc[:, 0]
    return frame


def _make_series(draw: Draw, kind: str, values: list[Any], arrow: bool) -> Any:
    if kind == "float32":
        with np.errstate(all="ignore"):
            return pd.Series(np.asarray(values, dtype=np.float64).astype(np.float32))
    dtypes: dict[str, Any] = {
        "nullable int": "Int64",
        "nullable bool": "boolean",
        "text": draw.pick((object, "string", "str")),
        "numbers as category": "category",
        "category": "category",
        "many levels": "category",
        "dates": "datetime64[us]",
        "times": "timedelta64[us]",
        "mixed": object,
        "lists": object,
        "decimal": object,
        "bytes": object,
        "nothing": draw.pick((object, "float64", "Int64")),
    }
    if arrow and kind in ("int", "float", "text", "bool"):
        return pd.Series(values, dtype=pd.ArrowDtype(pa.array(values).type if values else pa.float64()))
    if kind == "ordered":
        return pd.Series(pd.Categorical(values, categories=[*WORDS[:3], "unused"], ordered=True))
    if kind == "float" and draw.chance(0.05):
        return pd.Series(pd.arrays.SparseArray(values, dtype="float64"))
    return pd.Series(values, dtype=dtypes.get(kind, {"int": "int64", "bool": "bool"}.get(kind, "float64")))


def _make_polars(draw: Draw, kinds: list[str], names: list[Any], lists: list[list[Any]]) -> Any:
    types: dict[str, Any] = {
        "float": pl.Float64,
        "float32": pl.Float32,
        "int": draw.pick((pl.Int64, pl.Int8)),
        "nullable int": pl.Int64,
        "bool": pl.Boolean,
        "nullable bool": pl.Boolean,
        "text": pl.String,
        "category": pl.Categorical,
        "many levels": pl.Categorical,
        "ordered": pl.Categorical,
        "numbers as category": pl.Float64,
        "mixed": pl.Object,
        "dates": draw.pick((pl.Datetime("us"), pl.Datetime("ns"))),
        "times": pl.Duration("us"),
        "lists": pl.List(pl.Float64),
        "nothing": pl.Null,
        "decimal": pl.Decimal(12, 4),
        "bytes": pl.Binary,
    }
    names = [str(name) if len(set(names)) == len(names) else f"{name}{i}" for i, name in enumerate(names)]
    columns = [pl.Series(n, v, dtype=types[k], strict=False) for n, v, k in zip(names, lists, kinds, strict=True)]
    frame = pl.DataFrame(columns)
    return frame.lazy() if draw.chance(0.03) else frame


def _make_arrow(draw: Draw, kinds: list[str], names: list[Any], lists: list[list[Any]]) -> Any:
    types: dict[str, Any] = {
        "float": pa.float64(),
        "float32": pa.float32(),
        "int": pa.int64(),
        "nullable int": pa.int64(),
        "bool": pa.bool_(),
        "nullable bool": pa.bool_(),
        "text": draw.pick((pa.string(), pa.large_string())),
        "numbers as category": pa.float64(),
        "dates": pa.timestamp("us"),
        "times": pa.duration("us"),
        "lists": pa.list_(pa.float64()),
        "nothing": pa.null(),
        "decimal": pa.decimal128(12, 4),
        "bytes": pa.binary(),
        "mixed": pa.string(),
    }
    arrays = []
    for kind, values in zip(kinds, lists, strict=True):
        if kind in ("category", "many levels", "ordered"):
            arrays.append(pa.array(values, type=pa.string()).dictionary_encode())
        else:
            made = [None if v is None else str(v) for v in values] if kind == "mixed" else values
            array = pa.array(made, type=types[kind])
            arrays.append(pa.chunked_array([array[:2], array[2:]]) if draw.chance(0.3) else array)
    table = pa.table(arrays, names=[str(name) for name in names])
    return table.combine_chunks().to_batches()[0] if draw.chance(0.1) and len(table) and arrays else table
