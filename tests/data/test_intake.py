"""Every accepted kind of input gives the same data set."""

import datetime
import decimal
import fractions
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from committee.data import note_columns, take_in
from committee.exceptions import DataError
from tests.data.intake_cases import NAN, NUMBERS, TEXT, Estimator, NotAnArray, Stream, assert_same, take

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

# --- numbers -------------------------------------------------------------------------------------------------------

SPARSE_FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
NUMBER_MAKERS: dict[str, Callable[[], Any]] = {
    "lists": lambda: NUMBERS,
    "tuples": lambda: tuple(map(tuple, NUMBERS)),
    "list of arrays": lambda: [np.array(row) for row in NUMBERS],
    **{
        f"array of {dtype}": lambda dtype=dtype: np.array(NUMBERS, dtype=dtype)
        for dtype in ("i1", "i8", "u1", "u8", "f2", "f4", "f8", "g", ">f8", ">f4", ">i4", "O")
    },
    "Fortran order": lambda: np.asfortranarray(np.array(NUMBERS, dtype=float)),
    "every second row, backwards": lambda: np.repeat(np.array(NUMBERS[::-1], dtype=float), 2, axis=0)[::-2],
    "read-only": lambda: np.broadcast_to(np.array(NUMBERS, dtype=float), (2, 3)),
    "decimals and fractions": lambda: [[decimal.Decimal(a), fractions.Fraction(b), c] for a, b, c in NUMBERS],
    "array protocol": lambda: NotAnArray(NUMBERS),
    "masked without mask": lambda: np.ma.masked_array(NUMBERS),
    **{f"sparse {f}": lambda f=f: sp.csr_array(NUMBERS).asformat(f) for f in SPARSE_FORMATS},
    "sparse matrix": lambda: sp.csr_matrix(NUMBERS),
    "sparse of bool": lambda: sp.csr_array(NUMBERS).astype(bool).astype(np.float32).multiply(sp.csr_array(NUMBERS)),
    "pandas": lambda: pd.DataFrame(NUMBERS, columns=list("abc")),
    "pandas float32": lambda: pd.DataFrame(NUMBERS, columns=list("abc"), dtype="f4"),
    "pandas nullable": lambda: pd.DataFrame(NUMBERS, columns=list("abc")).convert_dtypes(),
    "pandas on arrow": lambda: pd.DataFrame(NUMBERS, columns=list("abc")).convert_dtypes(dtype_backend="pyarrow"),
    "pandas objects": lambda: pd.DataFrame(NUMBERS, columns=list("abc"), dtype=object),
    "pandas sparse": lambda: pd.DataFrame(NUMBERS, columns=list("abc")).astype(pd.SparseDtype("float64", 0)),
    "pandas by number": lambda: pd.DataFrame(NUMBERS),
    "polars": lambda: pl.DataFrame(NUMBERS, schema=list("abc"), orient="row"),
    "polars mixed widths": lambda: pl.DataFrame(NUMBERS, schema={"a": pl.Int8, "b": pl.UInt64, "c": pl.Float32},
                                                orient="row"),
    "polars decimal": lambda: pl.DataFrame(NUMBERS, schema=dict.fromkeys("abc", pl.Decimal(10, 2)), orient="row"),
    "pyarrow": lambda: pa.Table.from_pydict(dict(zip("abc", zip(*NUMBERS, strict=True), strict=True))),
    "record batch": lambda: pa.RecordBatch.from_pydict(dict(zip("abc", zip(*NUMBERS, strict=True), strict=True))),
    "arrow stream": lambda: Stream(pl.DataFrame(NUMBERS, schema=list("abc"), orient="row")),
}  # fmt: skip


@pytest.mark.parametrize("kind", NUMBER_MAKERS)
def test_numbers_of_every_kind_are_the_same(kind: str) -> None:
    X = NUMBER_MAKERS[kind]()
    estimator = Estimator()
    data = take_in(estimator, X, task="none")
    note_columns(estimator, data.schema)
    assert_same(data, NUMBERS, [None] * 3)
    assert data.X.dtype == (np.float32 if kind in ("array of f4", "array of >f4", "pandas float32") else np.float64)
    assert estimator.n_features_in_ == 3
    has_names = kind.startswith(("pandas", "polars", "pyarrow", "record", "arrow")) and kind != "pandas by number"
    assert data.schema.feature_names == (("a", "b", "c") if has_names else None)
    assert hasattr(estimator, "feature_names_in_") == has_names
    if has_names:
        assert estimator.feature_names_in_.dtype == object


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_float_arrays_are_not_copied(dtype: Any, order: Any) -> None:
    X = np.array(NUMBERS, dtype=dtype, order=order)
    assert take(X).X is X
    strided = np.zeros((6, 6), dtype=dtype, order=order)[1::2, ::3]
    assert np.shares_memory(take(strided).X, strided)


def test_a_pandas_frame_of_one_block_is_not_copied() -> None:
    frame = pd.DataFrame(np.array(NUMBERS, dtype=float), columns=list("abc"))
    assert np.shares_memory(take(frame).X, frame.to_numpy(copy=False))


def test_a_memory_map_is_not_copied(tmp_path: Any) -> None:
    X = np.memmap(tmp_path / "x", dtype="f8", mode="w+", shape=(2, 3))
    data = take(X)
    assert type(data.X) is np.ndarray
    assert np.shares_memory(data.X, X)


def test_the_callers_data_are_left_as_they_are() -> None:
    masked = np.ma.masked_array(np.array(NUMBERS, dtype=float), mask=[[0, 1, 0], [0, 0, 0]])
    take(masked)
    np.testing.assert_array_equal(masked.data, NUMBERS)
    doubled = sp.csc_matrix((np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 2))
    data = take(doubled)
    assert doubled.nnz == 4
    np.testing.assert_array_equal(data.X.toarray(), [[2, 0], [0, 2]])
    coded = np.array([[5.0, 1.0], [7.0, 2.0]])
    take(coded, categorical_features=[0])
    np.testing.assert_array_equal(coded, [[5.0, 1.0], [7.0, 2.0]])


def test_integers_beyond_2_to_the_53_become_the_nearest_double() -> None:
    assert take(np.array([[2**53 + 1, -(2**63)]])).X.tolist() == [[2.0**53, -(2.0**63)]]
    for frame in (pa.table, pl.DataFrame, pd.DataFrame):
        assert take(frame({"a": [2**53 + 1], "b": [-(2**63)]})).X.tolist() == [[2.0**53, -(2.0**63)]]


# --- missing values ------------------------------------------------------------------------------------------------

MISSING = [[1, NAN, 0], [NAN, 2, 1]]
MISSING_MAKERS: dict[str, Callable[[], Any]] = {
    "nan": lambda: np.array(MISSING),
    "None in lists": lambda: [[1, None, 0], [None, 2, 1]],
    "None in objects": lambda: np.array([[1, None, 0], [None, 2, 1]], dtype=object),
    "NA in objects": lambda: np.array([[1, pd.NA, 0], [np.nan, 2, True]], dtype=object),
    "NaT in objects": lambda: np.array([[1, pd.NaT, 0], [None, 2, 1]], dtype=object),
    "mask": lambda: np.ma.masked_array([[1, 7, 0], [7, 2, 1]], mask=[[0, 1, 0], [1, 0, 0]]),
    "mask on floats": lambda: np.ma.masked_array([[1, np.inf, 0], [7.0, 2, 1]], mask=[[0, 1, 0], [1, 0, 0]]),
    "masked constants": lambda: [[1, np.ma.masked, 0], [None, 2, 1]],
    "pandas": lambda: pd.DataFrame({"a": [1, None], "b": [None, 2], "c": [False, True]}),
    "pandas nullable": lambda: pd.DataFrame(
        {"a": pd.array([1, None], "Int64"), "b": pd.array([None, 2], "UInt8"), "c": pd.array([False, True], "boolean")}
    ),
    "pandas on arrow": lambda: pd.DataFrame({"a": [1, None], "b": [None, 2], "c": [False, True]}).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "polars": lambda: pl.DataFrame({"a": [1, None], "b": [None, 2], "c": [False, True]}),
    "pyarrow": lambda: pa.table({"a": [1, None], "b": [None, 2], "c": [False, True]}),
    "sparse": lambda: sp.csr_array(np.array(MISSING)),
}


@pytest.mark.parametrize("kind", MISSING_MAKERS)
def test_missing_values_of_every_kind_are_the_same(kind: str) -> None:
    with warnings.catch_warnings():
        # NumPy warns when a masked constant becomes NaN, which is what we want.
        warnings.filterwarnings("ignore", "Warning: converting a masked element to nan")
        X = MISSING_MAKERS[kind]()
        assert_same(take(X), MISSING, [None] * 3)


@pytest.mark.parametrize(
    "nothing", [pa.nulls(2), pa.array([None, None], pa.string()), pa.array([None, None], pa.bool_())]
)
def test_a_column_that_is_missing_throughout_is_accepted(nothing: Any) -> None:
    table = pa.table({"a": nothing, "b": [1.0, 2.0]})
    for frame in (table, pl.from_arrow(table), table.to_pandas()):
        np.testing.assert_array_equal(take(frame).X, [[NAN, 1], [NAN, 2]])


def test_nullable_booleans() -> None:
    expected = [[1.0], [NAN], [0.0]]
    for frame in (
        pd.DataFrame({"a": pd.array([True, None, False], "boolean")}),
        pd.DataFrame({"a": [True, None, False]}, dtype=object),
        pl.DataFrame({"a": [True, None, False]}),
        pa.table({"a": [True, None, False]}),
    ):
        assert_same(take(frame), expected, [None])


# --- properties ----------------------------------------------------------------------------------------------------

TABLES = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(allow_infinity=False, width=32) | st.just(NAN),
)


@given(X=TABLES)
def test_all_forms_of_a_float_table_agree(X: np.ndarray) -> None:
    if np.isnan(X).all():
        with pytest.raises(DataError, match="Every value of X is missing"):
            take(X)
        return
    names = [f"c{j}" for j in range(X.shape[1])]
    forms = [
        X,
        np.asfortranarray(X),
        X.astype(np.float32),
        X.astype(object),
        [[None if np.isnan(v) else v for v in row] for row in X.tolist()],
        np.ma.masked_invalid(X),
        sp.csc_array(X),
        pd.DataFrame(X, columns=names),
        pd.DataFrame(X, columns=names).convert_dtypes(),
        pl.DataFrame(X, schema=names),
        pa.table({n: pa.array(X[:, j], from_pandas=True) for j, n in enumerate(names)}),
    ]
    for form in forms:
        assert_same(take(form), X, [None] * X.shape[1])


@given(texts=st.lists(st.none() | st.text(st.characters(codec="utf-8", exclude_categories=["Cs"])), min_size=1))
def test_all_forms_of_a_text_column_agree(texts: list[str | None]) -> None:
    levels = sorted({t for t in texts if t is not None})
    expected = [[NAN if t is None else levels.index(t)] for t in texts]
    numbers = np.ones(len(texts))
    both = np.column_stack([np.array(expected)[:, 0], numbers])
    frames = [
        pd.DataFrame({"a": pd.Series(texts, dtype=object), "n": numbers}),
        pd.DataFrame({"a": pd.Series(texts, dtype="string"), "n": numbers}),
        pl.DataFrame({"a": pl.Series(texts, dtype=pl.String), "n": numbers}),
        pa.table({"a": pa.array(texts, pa.string()), "n": numbers}),
        pa.table({"a": pa.array(texts, pa.string()).dictionary_encode(), "n": numbers}),
    ]
    for frame in frames:
        data = take(frame)
        np.testing.assert_array_equal(data.X, both)
        if levels:
            assert data.schema.categories[0].tolist() == levels


@pytest.mark.parametrize("dtype", [object, "string[python]"])
def test_texts_that_differ_after_a_nul_are_different_levels(dtype: Any) -> None:
    texts = ["", "\x00", "a\x00b", "a", None, "a\x00c"] * 200
    frame = pd.DataFrame({"a": pd.Series(texts, dtype=dtype), "n": np.ones(len(texts))})
    data = take(frame)
    assert data.schema.categories[0].tolist() == ["", "\x00", "a", "a\x00b", "a\x00c"]
    np.testing.assert_array_equal(data.X[:6, 0], [0, 1, 3, 2, NAN, 4])


# --- what is noted on the estimator --------------------------------------------------------------------------------


def test_names_are_forgotten_when_fitted_again_without() -> None:
    estimator = Estimator()
    note_columns(estimator, take(pd.DataFrame(NUMBERS, columns=list("abc"))).schema)
    assert estimator.feature_names_in_.tolist() == ["a", "b", "c"]
    note_columns(estimator, take(np.ones((2, 2))).schema)
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 2


def test_the_door_itself_leaves_the_estimator_alone() -> None:
    estimator = Estimator()
    take_in(estimator, pd.DataFrame(NUMBERS, columns=list("abc")), [0, 1], task="classify")
    assert not vars(estimator)


def test_narwhals_is_not_imported_for_arrays() -> None:
    code = (
        "import sys, numpy as np\n"
        "from committee.base import CommitteeEstimator\n"
        "import committee.data as d\n"
        "from unittest import mock\n"
        "with mock.patch.dict(sys.modules, {'narwhals': None}):\n"
        "    data = d.take_in(CommitteeEstimator(), np.ones((2, 2)), [0, 1], task='classify')\n"
        "print(data.n_rows)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "2\n", done.stderr


def test_a_data_set_can_be_sent_to_another_process() -> None:
    data = take_in(Estimator(), pd.DataFrame({"a": TEXT, "t": [1, 2, 3, 4]}), list("abab"), task="classify")
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.X, data.X)
    assert again.schema.feature_names == ("a", "t")
    assert again.target.classes[0].tolist() == ["a", "b"]


def test_dates_become_usable_with_the_hint() -> None:
    frame = pd.DataFrame({"day": [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 3)]})
    frame["day"] = (frame["day"] - frame["day"].min()).dt.days
    assert_same(take(frame), [[0], [2]], [None])
