"""Bins in a file: a table is binned once, and many fits read the bins (``committee bin``).

The layout is in docs/big_data.md. A file holds numbers and text, no code, and all of it is checked when it is opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from committee.data import binning
from committee.data.dataset import Schema
from committee.data.inputs import KINDS, InputColumns
from committee.data.sources.read_ahead import advise_columns
from committee.exceptions import DataError, DataTypeError, ModelFileError

if TYPE_CHECKING:
    from committee import _core
    from committee.data.blocks.block_table import BlockTable
    from committee.typing import AnyArray, AnyDType, FloatMatrix

__all__ = ["BinnedFile", "BinnedRows", "write_binned_file"]

_MAGIC = b"CMTBINS1"
_ALIGN = 64
_ROWS_AT_ONCE = 1 << 16
_MOST_HEADER = 1 << 30
_VERSION = 1


def write_binned_file(
    path: str | os.PathLike[str],
    table: BlockTable,
    columns: dict[str, AnyArray],
    weights: AnyArray | None,
    *,
    max_bins: int = 255,
    n_jobs: int = 0,
) -> int:
    """Bin a table in blocks into a file.

    Parameters
    ----------
    path : path
        Is written over.
    table : BlockTable
        The features.
    columns : dict of str to ndarray of shape (n_rows,)
        Columns that are no features, by name: the target, weights.
    weights : ndarray of shape (n_rows,) or None
        As how many rows each row counts when bins are learnt.
    max_bins : int, default=255
        At most so many bins a column.
    n_jobs : int, default=0
        Threads, as the engine takes them.

    Returns
    -------
    int
        The size of the file.
    """
    schema, (n_rows, n_cols) = table.schema, table.shape
    mapper = binning.learn_block_bins(table, weights, schema.n_levels, max_bins, n_jobs)
    wide = [int(c) for c in np.flatnonzero(schema.n_levels > 255)]
    bins = binning.save_bins(mapper)
    sections = [("bins", len(bins)), ("columns", n_rows * n_cols), ("wide", 4 * n_rows * len(wide))]
    described, extra = {}, []
    for name, values in columns.items():
        kind, data, levels = _store_column(values)
        described[name] = {"kind": kind, "levels": levels}
        sections.append((f"column {name}", len(data)))
        extra.append(data)
    header = {
        "version": _VERSION,
        "n_rows": n_rows,
        "max_bins": max_bins,
        "schema": _store_schema(schema),
        "columns": described,
    }
    layout, size = _lay_out(header, sections)
    with open(path, "wb") as file:
        file.truncate(size)
        file.write(_MAGIC + len(layout).to_bytes(8, "little") + layout)
        places = {name: place for name, place, _ in json.loads(layout)["sections"]}
        for name, data in [("bins", bins), *zip((f"column {name}" for name in columns), extra, strict=True)]:
            file.seek(places[name])
            file.write(data)
    _write_rows(path, table, mapper, places, wide, n_jobs)
    return size


def _write_rows(
    path: str | os.PathLike[str],
    table: BlockTable,
    mapper: _core.BinMapper,
    places: dict[str, int],
    wide: list[int],
    n_jobs: int,
) -> None:
    n_rows, n_cols = table.shape
    held = np.memmap(path, np.uint8, "r+", places["columns"], (n_cols, n_rows))
    codes = np.memmap(path, np.uint32, "r+", places["wide"], (len(wide), n_rows)) if wide else None
    for start, block in table.iterate():
        own, rows = mapper.transform(block, n_jobs), slice(start, start + len(block))
        held[:, rows] = own.columns
        for k, column in enumerate(wide):
            assert codes is not None
            codes[k, rows] = own.wide_codes(column)
    held.flush()
    if codes is not None:
        codes.flush()


def _lay_out(header: dict[str, Any], sections: list[tuple[str, int]]) -> tuple[bytes, int]:
    """The header with the places of the sections; its own length moves them, so that there is room to spare."""
    room = len(json.dumps(header)) + 64 * len(sections) + sum(len(json.dumps(name)) for name, _ in sections) + 256
    place, placed = _round_up(len(_MAGIC) + 8 + room), []
    for name, size in sections:
        placed.append([name, place, size])
        place = _round_up(place + size)
    text = json.dumps({**header, "sections": placed}).encode()
    return text.ljust(room), place


def _round_up(place: int) -> int:
    return -(-place // _ALIGN) * _ALIGN


def _store_column(values: AnyArray) -> tuple[str, bytes, list[str] | None]:
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return str(array.dtype.newbyteorder("<")), array.astype(array.dtype.newbyteorder("<")).tobytes(), None
    texts = array.tolist()
    if not all(isinstance(text, str) for text in texts):
        raise DataTypeError("A target or weights in a file of bins must be numbers or text, without missing values.")
    levels = sorted(set(texts))
    index = {level: code for code, level in enumerate(levels)}
    return "text", np.fromiter(map(index.__getitem__, texts), "<u4", len(texts)).tobytes(), levels


def _store_schema(schema: Schema) -> dict[str, Any]:
    inputs = schema.inputs
    return {
        "n_features": schema.n_features,
        "feature_names": schema.feature_names,
        "categories": [None if levels is None else levels.tolist() for levels in schema.categories],
        "text": [levels is not None and levels.dtype == object for levels in schema.categories],
        "dtype": str(np.dtype(schema.dtype)),
        "inputs": None if inputs is None else {"names": inputs.names, "kinds": inputs.kinds, "parts": inputs.parts},
    }


# --- reading -------------------------------------------------------------------------------------------------------


class BinnedFile:
    """A table that was binned by ``committee bin``; `fit` takes it in place of the table.

    Parameters
    ----------
    path : path
        The file. It is checked when it is opened: ModelFileError if it is no such file, or a damaged one.

    Attributes
    ----------
    shape : tuple of int
        Rows and features.
    column_names : tuple of str
        Columns that are no features, which ``y`` and ``sample_weight`` of `fit` may name.
    max_bins : int
        What the bins were made with; a fit must have the same.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd, committee
    >>> from committee.data.binned_tables import bin_table
    >>> frame = pd.DataFrame({"size": np.arange(60.0), "price": np.arange(60) % 7})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = bin_table([frame[:20], frame[20:]], folder + "/t.bins", ["price"])
    ...     bins = committee.BinnedFile(folder + "/t.bins")
    ...     committee.RandomForestRegressor(n_estimators=3, random_state=0).fit(bins, "price").n_features_in_
    1
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = str(path)
        try:
            header = _read_header(Path(path))
            self._sections = _read_sections(header, Path(path).stat().st_size)
            self.schema = _read_schema(header["schema"])
            self.max_bins, self._n_rows = int(header["max_bins"]), int(header["n_rows"])
            self._columns: dict[str, dict[str, Any]] = dict(header["columns"])
            self._check_sections()
            self.mapper = binning.load_bins(self._read_bytes("bins"))
            if not np.array_equal(self.mapper.is_categorical, self.schema.n_levels > 0):
                raise ValueError("the bins are those of other columns")
        except (KeyError, TypeError, ValueError, OverflowError, json.JSONDecodeError) as error:
            raise ModelFileError(f"{path} is no file of bins, or is damaged: {error}") from None
        except OSError as error:
            raise ModelFileError(f"{path} cannot be opened: {error.strerror or error}.") from None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self._n_rows, self.schema.n_features

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._n_rows

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.schema.n_features

    @property
    def column_names(self) -> tuple[str, ...]:
        """Columns that are no features."""
        return tuple(self._columns)

    def read_column(self, name: str) -> AnyArray:
        """A column that is no feature: the target or weights."""
        if name not in self._columns:
            raise DataError(f"{self.path} holds no column {name!r}; besides bins it holds {list(self._columns)}.")
        kind, levels = self._columns[name]["kind"], self._columns[name]["levels"]
        data = self._read_bytes(f"column {name}")
        if kind != "text":
            return np.frombuffer(data, np.dtype(kind)).copy()
        codes = np.frombuffer(data, "<u4")
        if len(codes) and int(codes.max()) >= len(levels):
            raise ModelFileError(f"{self.path} is damaged: column {name!r} holds a code without a text.")
        texts: AnyArray = np.array(levels, dtype=object)[codes]
        return texts

    def map_columns(self) -> AnyArray:
        """The bins, of shape (n_features, n_rows), without reading them."""
        place, _ = self._sections["columns"]
        return np.memmap(self.path, np.uint8, "r", place, (self.shape[1], self.shape[0]))

    def map_wide(self) -> AnyArray:
        """The codes of categories with more than 255 levels, of shape (n_wide, n_rows)."""
        place, size = self._sections["wide"]
        n_wide = int((self.schema.n_levels > 255).sum())
        if not size:
            return np.empty((0, 0), np.uint32)
        return np.memmap(self.path, np.dtype("<u4"), "r", place, (n_wide, self._n_rows))

    def _read_bytes(self, name: str) -> bytes:
        place, size = self._sections[name]
        with open(self.path, "rb") as file:
            file.seek(place)
            return file.read(size)

    def _check_sections(self) -> None:
        n_rows, n_features = self.shape
        sizes = {"columns": n_rows * n_features, "wide": 4 * n_rows * int((self.schema.n_levels > 255).sum())}
        for name, column in self._columns.items():
            kind = "<u4" if column["kind"] == "text" else column["kind"]
            if np.dtype(kind).kind not in "biuf" or (column["kind"] == "text" and not _are_texts(column["levels"])):
                raise ValueError(f"column {name!r} is of an unknown type")
            sizes[f"column {name}"] = n_rows * np.dtype(kind).itemsize
        for name, size in sizes.items():
            if self._sections[name][1] != size:
                raise ValueError(f"section {name!r} has another size than the header says")
        if not 2 <= self.max_bins <= 255 or n_rows < 1:
            raise ValueError("the header holds numbers out of range")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise DataTypeError("X is a file of bins, which this estimator cannot read, since it needs the values.")


@dataclass
class BinnedRows:
    """The rows of a file of bins where a table would stand: a value of its bin in place of each value.

    Trees decide by bins, so that predictions for these rows are those for the original ones.
    """

    opened: BinnedFile
    schema: Schema
    rows: AnyArray | None = None
    columns: AnyArray | None = None

    ndim = 2

    @property
    def dtype(self) -> AnyDType:
        """float64, which holds every threshold."""
        return np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        n_rows = self.opened.shape[0] if self.rows is None else len(self.rows)
        return n_rows, self.opened.shape[1] if self.columns is None else len(self.columns)

    def __len__(self) -> int:
        return self.shape[0]

    def make_bins(self, max_bins: int) -> _core.BinnedMatrix:
        """The bins of these rows, as the engine holds them."""
        if max_bins != self.opened.max_bins:
            raise DataError(
                f"{self.opened.path} holds at most {self.opened.max_bins} bins a column, and the estimator wants "
                f"max_bins={max_bins}. Set max_bins={self.opened.max_bins}, or bin the table again."
            )
        builder = binning.make_builder(self.opened.mapper, len(self))
        for start, bins, codes in self._iterate_bins():
            builder.write_bins(np.ascontiguousarray(bins), start, np.ascontiguousarray(codes).reshape(-1))
        made = builder.finish()
        return made if self.columns is None else binning.select_columns(made, np.asarray(self.columns))

    def _iterate_bins(self) -> Iterator[tuple[int, AnyArray, AnyArray]]:
        held, wide = self.opened.map_columns(), self.opened.map_wide()
        for start in range(0, len(self), _ROWS_AT_ONCE):
            own: Any = slice(start, min(start + _ROWS_AT_ONCE, len(self)))
            if self.rows is None:
                following = own.stop, min(own.stop + _ROWS_AT_ONCE, len(self))
                advise_columns(held, *following)
                advise_columns(wide, *following)
            else:
                own = self.rows[own]
            yield start, np.asarray(held[:, own]), np.asarray(wide[:, own]) if wide.size else np.empty((0, 0), "<u4")

    def iterate(self) -> Iterator[tuple[int, FloatMatrix]]:
        """Blocks of rows, each with the number of its first row."""
        mapper, levels = self.opened.mapper, self.schema.n_levels
        wide_columns = np.flatnonzero(levels > 255).tolist()
        for start, bins, codes in self._iterate_bins():
            block = np.full(bins.shape[::-1], np.nan, order="F")
            for c in range(bins.shape[0]):
                present = bins[c] != 255
                if c in wide_columns:
                    block[present, c] = codes[wide_columns.index(c)][present]
                elif levels[c]:
                    block[present, c] = bins[c][present]
                else:
                    block[present, c] = np.asarray(mapper.low(c))[bins[c][present]]
            yield start, block if self.columns is None else np.asfortranarray(block[:, self.columns])

    def collect(self) -> FloatMatrix:
        """All rows in one array."""
        matrix = binning.allocate_table(*self.shape, True)
        for start, block in self.iterate():
            matrix[start : start + len(block)] = block
        return matrix

    def take(self, rows: AnyArray) -> FloatMatrix:
        """Some rows in one array, by number."""
        return self[rows].collect()

    def __getitem__(self, key: Any) -> BinnedRows:
        """A selection of rows by number, or ``[:, columns]``."""
        if isinstance(key, tuple):
            own = np.arange(self.shape[1]) if self.columns is None else self.columns
            return replace(self, columns=own[key[1]])
        wanted = np.arange(len(self))[key]
        return replace(self, rows=wanted if self.rows is None else self.rows[wanted])


def _read_header(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("it does not begin as one")
        length = int.from_bytes(file.read(8), "little")
        if length > min(_MOST_HEADER, path.stat().st_size):
            raise ValueError("its header is longer than the file")
        header = json.loads(file.read(length))
    if not isinstance(header, dict) or header.get("version") != _VERSION:
        raise ValueError("it is of another version, or has no header")
    return header


def _read_sections(header: dict[str, Any], size: int) -> dict[str, tuple[int, int]]:
    sections = {str(name): (int(place), int(length)) for name, place, length in header["sections"]}
    for name, (place, length) in sections.items():
        if place < 0 or length < 0 or place % _ALIGN or place + length > size:
            raise ValueError(f"section {name!r} lies outside of the file")
    return sections


def _read_schema(found: dict[str, Any]) -> Schema:
    n_features, names = int(found["n_features"]), found["feature_names"]
    categories: list[AnyArray | None] = []
    for levels, is_text in zip(found["categories"], found["text"], strict=True):
        if levels is not None and is_text and not _are_texts(levels):
            raise ValueError("levels of text hold something else")
        array = None if levels is None else np.empty(len(levels), dtype=object if is_text else np.float64)
        if array is not None:
            array[:] = levels
        categories.append(array)
    if found["dtype"] not in ("float32", "float64") or len(categories) != n_features or n_features < 1:
        raise ValueError("the schema does not fit together")
    inputs = found["inputs"]
    if inputs is not None:
        parts = tuple(tuple(map(str, own)) for own in inputs["parts"])
        kinds = tuple(map(str, inputs["kinds"]))
        if len(parts) != len(kinds) or not set(kinds) <= set(KINDS) - {"text"} or sum(map(len, parts)) != n_features:
            raise ValueError("the schema does not fit together")
        inputs = InputColumns(None if inputs["names"] is None else tuple(map(str, inputs["names"])), kinds, parts)
    if names is not None and (not _are_texts(names) or len(names) != n_features):
        raise ValueError("the names are not those of the columns")
    dtype = np.dtype(found["dtype"])
    return Schema(n_features, None if names is None else tuple(names), tuple(categories), dtype, "missing", inputs)


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
