"""Tables and batches of PyArrow and frames of Polars, in whatever pieces: their values, read at once."""

from datetime import UTC, datetime
from typing import Any

import narwhals as nw
import numpy as np
import pytest

from committee.data import columns as reading
from committee.data import frames, take_in, take_in_rows
from committee.exceptions import DataError, DataTypeError
from tests.data.intake_cases import Estimator, take

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

N_ROWS = 12
INTEGERS = [f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)]
KINDS = [*INTEGERS, "bool", "float32", "float64"]


def make_column(kind: str, rng: np.random.Generator, *, nulls: bool) -> Any:
    if kind == "bool":
        values = rng.random(N_ROWS) < 0.5
    elif kind in INTEGERS:
        ends = np.iinfo(kind)
        values = rng.integers(ends.min, ends.max, N_ROWS, dtype=kind, endpoint=True)
        values[:2] = ends.min, ends.max
    else:
        values = rng.normal(size=N_ROWS).astype(kind)
        values[3] = np.nan
    return pa.array(values, mask=rng.random(N_ROWS) < (0.3 if nulls else 0.0))


def make_numbers(kinds: list[str], *, nulls: bool) -> Any:
    rng = np.random.default_rng(0)
    return pa.table({f"{kind} {j}": make_column(kind, rng, nulls=nulls) for j, kind in enumerate(kinds)})


def list_forms(table: Any) -> dict[str, Any]:
    """The same rows, and some of them, in all that PyArrow and Polars have."""
    halves = pa.concat_tables([table.slice(0, 5), table.slice(5)])
    uneven = {name: halves[name] if j % 2 else table[name] for j, name in enumerate(table.column_names)}
    return {
        "table": table,
        "batch": table.to_batches()[0],
        "slice of a table": table.slice(3, 4),
        "slice of a batch": table.to_batches()[0].slice(3, 4),
        "one row": table.slice(7, 1),
        "one row of a batch": table.to_batches()[0].slice(7, 1),
        "chunks": halves,
        "slice over chunks": halves.slice(3, 4),
        "empty chunks": pa.concat_tables([table.slice(0, 0), table, table.slice(0, 0)]),
        "uneven chunks": pa.table(uneven),
        "polars": pl.from_arrow(table),
        "slice of polars": pl.from_arrow(table)[3:7],
        "chunks of polars": pl.from_arrow(halves, rechunk=False),
        "lazy polars": pl.from_arrow(table).lazy(),
    }


def convert(table: Any) -> Any:
    """Each value by itself, as a Python float."""
    rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
    matrix = np.array([[np.nan if value is None else float(value) for value in row] for row in rows])
    # float32 if a column is that and all others are truth values, which have no precision of their own.
    kinds = set(map(str, table.schema.types))
    return matrix.astype(np.float32) if "float" in kinds <= {"float", "bool"} else matrix


@pytest.mark.parametrize("nulls", [False, True], ids=["no nulls", "nulls"])
@pytest.mark.parametrize(
    "kinds",
    [
        *(
            ["float64"] * 3,
            ["float32"] * 3,
            ["float64"],
            ["float32", "float64"],
            ["float64", "bool", "int64"],
            ["bool"],
        ),
        *(INTEGERS, ["float64", *INTEGERS], KINDS, ["bool", "uint64"], ["float32", "bool"], ["float32", "int8"]),
    ],
    ids="-".join,
)
def test_numbers_are_read_as_they_are(kinds: list[str], nulls: bool) -> None:
    whole = make_numbers(kinds, nulls=nulls)
    for form, X in list_forms(whole).items():
        expected = convert(whole)
        if form.startswith("slice"):
            expected = expected[3:7]
        elif form.startswith("one row"):
            expected = expected[7:8]
        data = take(X)
        np.testing.assert_array_equal(data.X, expected, err_msg=form)
        assert data.X.dtype == expected.dtype == data.schema.dtype, form
        assert data.schema.feature_names == tuple(whole.column_names)


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
@pytest.mark.parametrize("kinds", [["float64"] * 3, ["float32"] * 3, ["float64", "bool", "int64"]], ids="-".join)
def test_numbers_are_read_at_once(library: str, kinds: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No frame and no column is wrapped, which takes ten times as long as the prediction of a row."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("a short way exists")

    for name in ("find_frame", "_read_columns", "_read_series"):
        monkeypatch.setattr(frames, name, refuse)
    table = make_numbers(kinds, nulls=True)
    for X in (table, *table.to_batches()) if library == "pyarrow" else (pl.from_arrow(table),):
        assert take(X).X.shape == (N_ROWS, 3)


def test_an_early_pyarrow_reads_the_columns_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before version 16 a batch does not become a matrix."""

    class Old:
        """A table whose batches have no more than the columns."""

        def __init__(self, table: Any) -> None:
            self.schema, self.columns, (self.num_rows, self.num_columns) = table.schema, table.columns, table.shape

        def to_batches(self) -> list[object]:
            return [object()]

    table = make_numbers(["float64", "int32"], nulls=True)
    np.testing.assert_array_equal(reading.read_arrow_matrix(Old(table)), reading.read_arrow_matrix(table))


# --- other columns ---------------------------------------------------------------------------------------------------

MOMENTS = [datetime(2020, 1 + k, 1 + k, tzinfo=UTC) if k != 4 else None for k in range(N_ROWS)]


def make_mixed() -> Any:
    levels = ["p", "q", None, "r"] * 3
    return pa.table(
        {
            "number": make_column("float64", np.random.default_rng(1), nulls=True),
            "text": pa.array(levels),
            "dictionary": pa.array(levels).dictionary_encode(),
            "ordered": pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2] * 3), ["z", "y", "x"], ordered=True),
            "when": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
            "list": pa.array([[1.0, 2.0]] * N_ROWS, pa.list_(pa.float64(), 2)),
            "nothing": pa.nulls(N_ROWS),
            "truth": make_column("bool", np.random.default_rng(2), nulls=True),
        }
    )


def test_rows_of_other_columns_are_those_of_the_whole_table() -> None:
    """The levels of a part are fewer than those of the table, and its chunks have dictionaries of their own."""
    table = make_mixed()
    fitted = take_in(Estimator(), table, task="none")
    halves = pa.concat_tables([table.slice(0, 5), table.slice(5)])
    for X, rows in (
        (table, slice(None)),
        (halves, slice(None)),
        (table.to_batches()[0], slice(None)),
        (table.slice(3, 4), slice(3, 7)),
        (halves.slice(3, 4), slice(3, 7)),
        (table.to_batches()[0].slice(3, 4), slice(3, 7)),
        *((table.slice(k, 1), slice(k, k + 1)) for k in range(N_ROWS)),
    ):
        np.testing.assert_array_equal(take_in_rows(Estimator(), X, fitted.schema), fitted.X[rows])


def test_what_cannot_be_read_is_refused_by_its_name() -> None:
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], ["a", "a"])
    for X in (twice, twice.to_batches()[0]):
        with pytest.raises(DataError, match="X has several columns named 'a'"):
            take(X)
    for X in (pa.table({}), pa.RecordBatch.from_arrays([], [])):
        with pytest.raises(DataError, match="sample"):
            take(X)
    numbers = make_numbers(["float64", "float64"], nulls=False)
    with pytest.raises(DataError, match=r"0 sample\(s\) \(shape=\(0, 2\)\)"):
        take(numbers.slice(0, 0))
    with pytest.raises(DataTypeError, match="X column 's' holds structs"):
        take(pa.table({"s": [{"a": 1}], "b": [1.0]}))


def test_other_columns_than_those_of_the_fit_are_refused() -> None:
    table = make_numbers(["float64", "float64"], nulls=False)
    schema = take(table).schema
    first, second = table.column_names
    for X in (table, table.to_batches()[0], pl.from_arrow(table)):
        with pytest.raises(DataError, match="must be in the same order"):
            take_in_rows(Estimator(), X.select([second, first]), schema)
        with pytest.raises(DataError, match="yet now missing"):
            take_in_rows(Estimator(), X.select([first]), schema)
    infinite = pa.table({first: [1.0, float("inf")], second: [1.0, 2.0]})
    with pytest.raises(DataError, match=f"infinity or a value too large .* column '{first}', row 1"):
        take_in_rows(Estimator(), infinite, schema)
    text = pa.table({first: ["1", "2"], second: [1.0, 2.0]})
    with pytest.raises(DataTypeError, match=f"column '{first}' held numbers at fit and holds text now"):
        take_in_rows(Estimator(), text, schema)


@pytest.mark.parametrize("kinds", [["float32"], ["float64", "int16"], KINDS])
def test_large_tables_are_read_by_columns_to_the_same_values(kinds: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_numbers(kinds, nulls=True)
    small = take(table).X
    monkeypatch.setattr(reading, "_FEW_CELLS", 0)
    assert reading.read_arrow_matrix(table) is None
    large = take(table).X
    assert large.dtype == small.dtype
    np.testing.assert_array_equal(large, small)


def test_a_column_of_an_extension_type_is_read_by_its_values() -> None:
    """Its type has no hash."""

    class Grams(pa.ExtensionType):
        def __init__(self) -> None:
            super().__init__(pa.float64(), "tests.grams")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage_type: Any, serialized: bytes) -> Any:
            return cls()

    weights = pa.ExtensionArray.from_storage(Grams(), pa.array([1.0, None, 3.0]))
    try:
        assert nw.from_native(pa.chunked_array([weights]), series_only=True).dtype is not None
    except TypeError:
        pytest.skip("this version of narwhals asks for the hash of an extension type")
    data = take(pa.table({"weight": weights, "size": [1.0, 2.0, 3.0]}))
    np.testing.assert_array_equal(data.X, [[1, 1], [np.nan, 2], [3, 3]])
