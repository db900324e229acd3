"""Every bad input gets one clear sentence, of one of our own types, before any work starts."""

import datetime
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from committee.base import CommitteeEstimator
from committee.data import take_in, take_in_rows
from committee.exceptions import (
    CommitteeError,
    DataError,
    DataSizeError,
    DataTypeError,
    ParameterError,
    ParameterTypeError,
)

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


class Tree(CommitteeEstimator):
    pass


class Strict(CommitteeEstimator):
    accepts_missing = False
    accepts_sparse = False


GOOD = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
NOW = datetime.datetime(2020, 1, 1)
TABLE = "X must be a table: an array, nested lists, a sparse matrix or a frame; got "
RESHAPE = "Reshape your data: X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row."

BAD_TABLES: list[tuple[str, Any, type[Exception], str]] = [
    ("ragged", [[1, 2], [3]], DataError, "X is ragged: row 1 has 1 value where row 0 has 2 values. Every row must have "
     "the same number of values."),
    ("ragged scalar", [[1, 2], 3], DataError, "X is ragged: row 1 has a single value where row 0 has 2 values."),
    ("list inside", [[1, [2]], [3, [4, 5]]], DataTypeError, "X column 1 holds lists of different lengths, such as "
     "1 and 2."),
    ("no rows", np.ones((0, 3)), DataError, "X has 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required."),
    ("no columns", np.ones((3, 0)), DataError, "X has 0 feature(s) (shape=(3, 0)) while a minimum of 1 is required."),
    ("empty list", [], DataError, "X has 0 sample(s) (shape=(0,)) while a minimum of 1 is required."),
    ("empty frame", pd.DataFrame(), DataError, "X has 0 sample(s) (shape=(0, 0)) while a minimum of 1 is required."),
    ("one axis", np.ones(3), DataError, f"Expected 2D array, got 1D array of shape (3,) instead. {RESHAPE}"),
    ("series", pd.Series([1, 2]), DataError, f"Expected 2D array, got 1D array of shape (2,) instead. {RESHAPE}"),
    ("polars series", pl.Series([1, 2]), DataError, "Expected 2D array, got 1D array of shape (2,) instead."),
    ("sparse vector", sp.coo_array(np.ones(3)), DataError, "Expected 2D array, got 1D array of shape (3,) instead."),
    ("three axes", np.ones((1, 2, 3)), DataError, "Expected 2D array, got 3D array of shape (1, 2, 3) instead. Reshape "
     "your data: X.reshape(len(X), -1) makes one feature of each value in a row."),
    ("infinite", [[1, 2], [3, np.inf]], DataError, "Input X contains infinity or a value too large for "
     "dtype('float64') in column 1, row 1."),
    ("infinite float32", np.array([[-np.inf]], "f4"), DataError, "Input X contains infinity or a value too large for "
     "dtype('float32') in column 0, row 0."),
    ("infinite in a frame", pd.DataFrame({"a": [1, 2], "b": [np.inf, 1]}), DataError, "Input X contains infinity or a "
     "value too large for dtype('float64') in column 'b', row 0."),
    ("infinite sparse", sp.csr_array([[0, 0], [0, np.inf]]), DataError, "Input X contains infinity or a value too "
     "large for dtype('float64') in column 1, row 1."),
    ("too large", [[10**400]], DataError, "Input X contains infinity or a value too large for dtype('float64') in "
     "column 0."),
    ("all missing", np.full((2, 2), np.nan), DataError, "Every value of X is missing; there is nothing to learn from."),
    ("complex", np.array([[1j]]), DataError, "Complex data not supported: X holds complex numbers."),
    ("complex objects", [[1, 1j], [None, 2]], DataError, "Complex data not supported: X column 1 holds complex"),
    ("complex sparse", sp.csr_array([[1j]]), DataError, "Complex data not supported: X holds complex numbers."),
    ("complex frame", pd.DataFrame({"z": [1j]}), DataError, "Complex data not supported: X column 'z' holds complex"),
    ("mixed", [[1], ["a"]], DataTypeError, "X column 0 mixes text and numbers, such as 'a' and 1. Make it one or the "
     "other."),
    ("mixed levels", pd.DataFrame({"a": pd.Categorical([1, "a"])}), DataTypeError, "X column 'a' has levels that mix "
     "text and numbers."),
    ("garbage", np.array([[{"a": 1}]], dtype=object), DataTypeError, "Every argument must be a string, a number or "
     "missing; X column 0 holds a value of type dict, {'a': 1}."),
    ("objects", pd.DataFrame({"a": [object]}), DataTypeError, "Every argument must be a string, a number or missing; X "
     "column 'a' holds a value of type type, the class object."),
    ("binary", np.array([[b"\xff"]], dtype=object), DataTypeError, "X column 0 holds binary data, which cannot be "
     "learnt from. Turn it into numbers or text first."),
    ("dates and numbers", [[NOW], [3.0]], DataTypeError, "X column 0 mixes dates or times and other values, such as "
     "3.0. Make it one or the other."),
    ("dates and text", pd.DataFrame({"d": [NOW, "today"]}), DataTypeError, "X column 'd' mixes dates or times and "),
    ("dates and durations", [[NOW], [NOW - NOW]], DataTypeError, "X column 0 mixes dates without a time zone and "
     "durations, such as "),
    ("time zones", [[NOW], [NOW.astimezone(datetime.UTC)]], DataTypeError, "X column 0 mixes dates without a time zone "
     "and dates with a time zone, such as "),
    ("times with a zone", [[NOW.time().replace(tzinfo=datetime.UTC)]], DataTypeError, "X column 0 holds times of day "
     "with a time zone, such as "),
    ("durations in months", np.array([[3]], "m8[M]"), DataTypeError, "X column 0 holds durations in months or years "
     "(timedelta64[M]), whose seconds are not known."),
    ("durations without a unit", np.array([[3]], "m8"), DataTypeError, "X column 0 holds durations in no unit "),
    ("uneven lists", pl.DataFrame({"l": [[1, 2], [3]]}), DataTypeError, "X column 'l' holds lists of different "
     "lengths, such as 2 and 1."),
    ("uneven arrow lists", pa.table({"l": [[1], [2, 3]]}), DataTypeError, "X column 'l' holds lists of different"),
    ("empty lists", pa.table({"l": pa.array([[], []], pa.list_(pa.int64()))}), DataTypeError, "X column 'l' holds "
     "lists without any value, which cannot be learnt from."),
    ("lists of text", pa.table({"l": [["a"], ["b"]]}), DataTypeError, "X column 'l' holds lists of string, which "
     "cannot be learnt from; lists of numbers can."),
    ("lists of text in polars", pl.DataFrame({"l": [["a"], ["b"]]}), DataTypeError, "X column 'l' holds lists of S"),
    ("lists of text in objects", [[1, ["a"]], [2, ["b"]]], DataTypeError, "X column 1 holds lists of something else "
     "than numbers, which cannot be learnt from"),
    ("lists of lists", pl.DataFrame({"l": [[[1]], [[2]]]}), DataTypeError, "X column 'l' holds lists of List(Int64), "),
    ("lists and numbers", pd.DataFrame({"l": [[1], 2]}), DataTypeError, "X column 'l' mixes lists and other values, "
     "such as 2."),
    ("structs", pl.DataFrame({"s": [{"x": 1}]}), DataTypeError, "X column 's' holds structs (Struct({'x': Int64})), "
     "which cannot be learnt from. Spread it over one column for each field."),
    ("binary column", pl.DataFrame({"b": [b"x"]}), DataTypeError, "X column 'b' holds binary data (Binary), which"),
    ("intervals", pd.DataFrame({"i": pd.interval_range(0, 2)}), DataTypeError, "X column 'i' holds intervals (int"),
    ("records", np.zeros((2, 2), dtype=[("a", "f8")]), DataTypeError, "X holds structs ("),
    ("names twice", pd.DataFrame(np.eye(2), columns=["a", "a"]), DataError, "X has several columns named 'a'; the "
     "names of columns must be unique."),
    ("names mixed", pd.DataFrame({"a": [1.0], 0: [2.0]}), DataTypeError, "Feature names are only supported if all "
     "input features have string names, but X has columns named by ['int', 'str']."),
    ("None", None, DataTypeError, f"{TABLE}None."),
    ("str", "table", DataTypeError, f"{TABLE}'table'."),
    ("dict", {"a": [1]}, DataTypeError, f"{TABLE}{{'a': [1]}}. Make a frame of it first."),
    ("number", 5, DataTypeError, f"{TABLE}5."),
    ("generator", iter([1]), DataTypeError, TABLE),
    ("cannot fit", np.broadcast_to(1.0, (10**9, 10**6)), DataSizeError, "X of 1,000,000,000 rows and 1,000,000 columns "
     "needs 1.8 PiB of memory, but only "),
    ("cannot fit sparse", sp.csc_array((10**9, 10**6)), DataSizeError, "X of 1,000,000,000 rows and 1,000,000 "),
    ("cannot fit as floats", np.broadcast_to(np.int8(1), (10**9, 10**6)), DataSizeError, "needs 7.1 PiB of memory"),
    ("cannot fit as text", np.broadcast_to(np.array("a"), (10**9, 10**6)), DataSizeError, "needs 7.1 PiB of memory"),
]  # fmt: skip


@pytest.mark.parametrize(("label", "X", "error", "sentence"), BAD_TABLES, ids=[row[0] for row in BAD_TABLES])
def test_bad_table(label: str, X: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(CommitteeError) as caught:
        take_in(Tree(), X, task="none")
    assert type(caught.value) is error
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


BAD_TARGETS: list[tuple[str, str, Any, type[Exception], str]] = [
    ("none", "classify", None, DataError, "Tree requires y to be passed, but the target y is None."),
    ("short", "classify", [1, 2], DataError, "X and y must have the same number of rows; got 3 and 2."),
    ("continuous", "classify", [0.5, 1, 2], DataError, "Unknown label type: y holds continuous numbers, such as 0.5"),
    ("nan class", "classify", [1, np.nan, 2], DataError, "Input y contains NaN"),
    ("None class", "classify", ["a", None, "b"], DataError, "Input y contains NaN or another missing value; drop the"),
    ("NA class", "classify", pd.Series([1, None, 2], dtype="Int64"), DataError, "Input y contains NaN"),
    ("masked class", "classify", np.ma.masked_array([1, 2, 3], [0, 1, 0]), DataError, "Input y contains NaN"),
    ("infinite class", "classify", [1, np.inf, 2], DataError, "Input y contains infinity or a value too large for"),
    ("mixed", "classify", ["a", 1, 2.5], DataTypeError, "Unknown label type: y holds objects of type float, int, str"),
    ("dates", "classify", [NOW] * 3, DataTypeError, "Unknown label type: y holds objects of type datetime"),
    ("dates array", "classify", np.array([0, 1, 2], "M8[D]"), DataError, "Unknown label type: y holds values of type"),
    ("complex", "classify", [1j, 2, 3], DataError, "Unknown label type: y holds values of type complex128"),
    ("garbage", "classify", [{}, {}, {}], DataTypeError, "Unknown label type: y holds objects of type dict"),
    ("scalar", "classify", 1, DataTypeError, "y must be an array, a list or a series; got 1."),
    ("text", "classify", "abc", DataTypeError, "y must be an array, a list or a series; got 'abc'."),
    ("dict", "classify", {0: 1}, DataTypeError, "y must be an array, a list or a series; got {0: 1}."),
    ("three axes", "classify", np.ones((3, 1, 1)), DataError, "y should be a 1d array, or 2d for several outputs; got"),
    ("no output", "classify", np.ones((3, 0)), DataError, "y has no column; its shape is (3, 0)."),
    ("ragged", "classify", [[1], [2], [3, 4]], DataError, "y cannot be read as an array of one or two axes"),
    ("nan", "regress", [1, np.nan, 2], DataError, "Input y contains NaN or another missing value; drop the rows that"),
    ("None", "regress", [1, None, 2], DataError, "Input y contains NaN"),
    ("infinite", "regress", [1, -np.inf, 2], DataError, "Input y contains infinity or a value too large for dtype("),
    ("words", "regress", ["a", "b", "c"], DataError, "y must hold numbers for a regressor; got 'a'."),
    ("number as text", "regress", ["1", "2", "3"], DataError, "y must hold numbers for a regressor; got '1'."),
    ("complex numbers", "regress", [1j, 2, 3], DataError, "Complex data not supported: y holds complex numbers."),
    ("dates numbers", "regress", np.array([0, 1, 2], "M8[D]"), DataError, "y must hold numbers for a regressor"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "task", "y", "error", "sentence"), BAD_TARGETS, ids=[f"{r[1]} {r[0]}" for r in BAD_TARGETS]
)
def test_bad_target(label: str, task: Any, y: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(CommitteeError) as caught:
        take_in(Tree(), GOOD, y, task=task)
    assert type(caught.value) is error
    assert sentence in str(caught.value)


def test_too_few_classes() -> None:
    with pytest.raises(DataError, match=re.escape("y has only 1 class, 'a'; Tree needs at least 2 classes.")):
        take_in(Tree(), GOOD, ["a"] * 3, task="classify", min_classes=2)
    assert take_in(Tree(), GOOD, ["a"] * 3, task="classify").target.n_classes == [1]


def test_several_outputs_where_one_is_allowed() -> None:
    with pytest.raises(DataError, match=re.escape("y should be a 1d array, got an array of shape (3, 2) instead")):
        take_in(Tree(), GOOD, np.ones((3, 2)), task="regress", multi_output=False)


BAD_WEIGHTS: list[tuple[str, Any, type[Exception], str]] = [
    ("negative", [1, -1, 1], DataError, "Negative values in data passed to `sample_weight`: row 1 has -1.0; weights"),
    ("nan", [1, 1, np.nan], DataError, "Input sample_weight contains NaN or infinity; row 2 has nan."),
    ("None", [1, None, 1], DataError, "Input sample_weight contains NaN or infinity; row 1 has nan."),
    ("masked", np.ma.masked_array([1.0, 2, 3], [0, 0, 1]), DataError, "Input sample_weight contains NaN or inf"),
    ("infinite", [np.inf, 1, 1], DataError, "Input sample_weight contains NaN or infinity; row 0 has inf."),
    ("zero", [0, 0, 0], DataError, "All values of sample_weight are zero; at least one row must count."),
    ("zero for all", 0.0, DataError, "All values of sample_weight are zero; at least one row must count."),
    ("short", [1, 1], DataError, "sample_weight.shape == (2,), expected (3,): X and sample_weight must have"),
    ("two axes", np.ones((3, 1)), DataError, "Sample weights must be 1D array or scalar; got an array of shape"),
    ("text", ["a", "b", "c"], DataTypeError, "sample_weight must be an array of numbers of shape (n_samples,); got ["),
    ("garbage", [{}, {}, {}], DataTypeError, "sample_weight must be an array of numbers of shape (n_samples,); got ["),
    ("complex", [1j, 1, 1], DataTypeError, "sample_weight must be an array of numbers of shape (n_samples,); got ["),
    ("ragged", [[1], [2, 3], 1], DataTypeError, "sample_weight must be an array of numbers of shape (n_samples,); got"),
    ("sparse", sp.csr_array([[1, 1, 1]]), DataTypeError, "Sparse sample_weight is not supported"),
]  # fmt: skip


@pytest.mark.parametrize(("label", "weights", "error", "sentence"), BAD_WEIGHTS, ids=[row[0] for row in BAD_WEIGHTS])
def test_bad_weights(label: str, weights: Any, error: type[Exception], sentence: str) -> None:
    for task in ("classify", "regress", "none"):
        with pytest.raises(CommitteeError) as caught:
            take_in(Tree(), GOOD, [0, 1, 1], weights, task=task)
        assert type(caught.value) is error
        assert sentence in str(caught.value)


BAD_CLASS_WEIGHTS: list[tuple[Any, type[Exception], str]] = [
    ({"a": 1, "c": 2}, ParameterError, "The 'class_weight' parameter of Tree gives a weight to 'c', which is no class "
     "of y, and none to 'b'. The classes, ['b'], are not in class_weight."),
    ({"a": -1}, ParameterError, "The 'class_weight' parameter of Tree must hold finite numbers >= 0; got -1 for 'a'."),
    ({"a": np.nan}, ParameterError, "must hold finite numbers >= 0; got nan for 'a'."),
    ({"a": "x"}, ParameterError, "must hold finite numbers >= 0; got 'x' for 'a'."),
    ({"a": 0, "b": 0}, DataError, "The sample weights times the class weights are all zero; no row would count."),
    ([{"a": 1}, {"a": 1}], ParameterError, "must have one entry for each of the 1 outputs; got 2."),
    ([3], ParameterTypeError, "The 'class_weight' parameter of Tree must hold dicts or 'balanced'; got 3."),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "error", "sentence"), BAD_CLASS_WEIGHTS, ids=[str(r[0]) for r in BAD_CLASS_WEIGHTS])
def test_bad_class_weights(rule: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(CommitteeError) as caught:
        take_in(Tree(), GOOD, ["a", "b", "b"], task="classify", class_weight=rule)
    assert type(caught.value) is error
    assert sentence in str(caught.value)


def test_one_dict_for_several_outputs() -> None:
    with pytest.raises(ParameterError, match="must be a list with one dict for each of the 2 outputs, or 'balanced'"):
        take_in(Tree(), GOOD, np.eye(3, 2, dtype=int), task="classify", class_weight={0: 1})


BAD_CATEGORIES: list[tuple[Any, Any, type[Exception], str]] = [
    (GOOD, [2], ParameterError, "The 'categorical_features' parameter of Tree must hold indices in [0, 1]; got 2."),
    (GOOD, [-1], ParameterError, "must hold indices in [0, 1]; got -1."),
    (GOOD, [0.5], ParameterError, "must hold indices, names or a mask; got 0.5."),
    (GOOD, ["a"], ParameterError, "names 'a', but X has no column names. Use indices or a mask."),
    (GOOD, [True], ParameterError, "must have one entry for each of the 2 features when it is a mask; got 1."),
    (pd.DataFrame(GOOD, columns=["a", "b"]), ["c"], ParameterError, "names 'c', which is no column of X; its columns "
     "are 'a' and 'b'."),
    ([["a"], ["b"]], None, DataTypeError, "X column 0 holds text, and 'categorical_features' does not say that it is a "
     "category."),
    (pd.DataFrame({"a": ["x"], "b": [1]}), ["b"], DataTypeError, "X column 'a' holds text, and 'categorical_features'"),
    (sp.csr_array(GOOD), [0], DataError, "Sparse X cannot hold categories, but Tree was given some."),
]  # fmt: skip


@pytest.mark.parametrize(("X", "asked", "error", "sentence"), BAD_CATEGORIES, ids=[str(r[1]) for r in BAD_CATEGORIES])
def test_bad_categorical_features(X: Any, asked: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(CommitteeError) as caught:
        take_in(Tree(), X, task="none", categorical_features=asked)
    assert type(caught.value) is error
    assert sentence in str(caught.value)


def test_what_a_class_does_not_accept() -> None:
    missing = np.array([[1.0, np.nan]])
    with pytest.raises(DataError, match=r"contains NaN in column 1, row 0. Strict does not accept missing values"):
        take_in(Strict(), missing, task="none")
    with pytest.raises(DataTypeError, match="Sparse X is not supported by Strict"):
        take_in(Strict(), sp.csr_array(GOOD), task="none")
    schema = take_in(Strict(), GOOD, task="none").schema
    with pytest.raises(DataError, match=r"contains NaN in column 1, row 0. Strict does not accept missing values"):
        take_in_rows(Strict(), missing, schema)


# --- whatever comes, no other error comes out ----------------------------------------------------------------------

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.complex_numbers()
    | st.dates()
    | st.decimals()
    | st.sampled_from([pd.NA, pd.NaT, np.float32(2), np.ma.masked, object(), ..., int, np.datetime64("NaT"), GOOD])
)
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner), max_leaves=12)
ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.lists(LEAVES, min_size=width, max_size=width), min_size=1))


@pytest.mark.parametrize("X", [(np.ma.masked, []), ([1.0, 2.0], np.ma.masked), (np.array(3.0), [1.0, 2.0])])
def test_arrays_without_axes_are_no_rows(X: Any) -> None:
    with pytest.raises(CommitteeError):
        take_in(Tree(), X, [0, 1], task="classify")


@given(X=ANYTHING | ROWS, y=ANYTHING, weights=st.none() | ANYTHING, task=st.sampled_from(["classify", "regress"]))
def test_fuzz_fit(X: Any, y: Any, weights: Any, task: Any) -> None:
    try:
        data = take_in(Tree(), X, y, weights, task=task)
    except CommitteeError:
        return
    assert data.X.dtype in (np.float32, np.float64)
    assert not np.isinf(data.X).any()
    assert len(data.target.labels if task == "classify" else data.target.values) == data.n_rows


@given(X=ROWS)
def test_fuzz_rows(X: Any) -> None:
    train = pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]})
    schema = take_in(Tree(), train, task="none").schema
    try:
        rows = take_in_rows(Tree(), pd.DataFrame(X).rename(columns={0: "a", 1: "b"}), schema)
    except CommitteeError:
        return
    assert rows.shape == (len(X), 2)
    assert set(rows[:, 0][~np.isnan(rows[:, 0])]) <= {0.0, 1.0}


@given(data=st.data())
def test_fuzz_frames(data: Any) -> None:
    columns = data.draw(st.lists(st.lists(LEAVES, min_size=2, max_size=2), min_size=1, max_size=3))
    frame = pd.DataFrame({str(j): pd.Series(column, dtype=object) for j, column in enumerate(columns)})
    kind = data.draw(st.sampled_from(["object", "infer", "category"]))
    try:
        frame = frame.infer_objects() if kind == "infer" else frame.astype(kind)
    except Exception:
        return
    try:
        taken = take_in(Tree(), frame, task="none")
    except CommitteeError:
        return
    # A date is several features where its parts vary.
    assert taken.X.shape[0] == len(frame)
    assert taken.X.shape[1] >= frame.shape[1]
    assert not np.isinf(taken.X).any()
