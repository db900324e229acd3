"""Categories of every accepted kind give the same codes and levels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from committee import DecisionTreeRegressor
from committee.base import CommitteeEstimator
from committee.data import columns, frames, take_in
from committee.data.intake import take_in_rows
from committee.exceptions import DataError
from tests.data.intake_cases import NAN, NUMBERS, TEXT, Stream, assert_same, take

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

CODES = [[1.0], [NAN], [0.0], [1.0]]
TEXT_MAKERS: dict[str, Callable[[], Any]] = {
    "lists": lambda: [[t] for t in TEXT],
    "objects": lambda: np.array(TEXT, dtype=object)[:, None],
    "objects with nan": lambda: np.array(["pear", np.nan, "apple", np.str_("pear")], dtype=object)[:, None],
    "bytes": lambda: np.array([b"pear", None, b"apple", b"pear"], dtype=object)[:, None],
    "masked text": lambda: np.ma.masked_array(["pear", "x", "apple", "pear"], mask=[0, 1, 0, 0]).reshape(-1, 1),
    "pandas str": lambda: pd.DataFrame({"a": TEXT}),
    "pandas object": lambda: pd.DataFrame({"a": TEXT}, dtype=object),
    "pandas string": lambda: pd.DataFrame({"a": TEXT}, dtype="string"),
    "pandas arrow": lambda: pd.DataFrame({"a": TEXT}).convert_dtypes(dtype_backend="pyarrow"),
    "pandas category": lambda: pd.DataFrame({"a": TEXT}, dtype="category"),
    "polars": lambda: pl.DataFrame({"a": TEXT}),
    "polars categorical": lambda: pl.DataFrame({"a": TEXT}, schema={"a": pl.Categorical}),
    "polars enum": lambda: pl.DataFrame({"a": TEXT}, schema={"a": pl.Enum(["apple", "pear"])}),
    "pyarrow": lambda: pa.table({"a": TEXT}),
    "pyarrow large": lambda: pa.table({"a": pa.array(TEXT, pa.large_string())}),
    "pyarrow dictionary": lambda: pa.table({"a": pa.array(TEXT).dictionary_encode()}),
    "pyarrow chunks": lambda: pa.concat_tables([pa.table({"a": pa.array(TEXT[:2]).dictionary_encode()}),
                                                pa.table({"a": pa.array(TEXT[2:]).dictionary_encode()})]),
    "arrow stream": lambda: Stream(pa.table({"a": TEXT})),
}  # fmt: skip

FEW_MAKERS: dict[str, Callable[[list[Any]], Any]] = {
    "pandas": lambda texts: pd.DataFrame({"a": pd.Series(texts, dtype=object)}),
    "pandas string": lambda texts: pd.DataFrame({"a": pd.Series(texts, dtype="string")}),
    "pandas arrow": lambda texts: pd.DataFrame({"a": pd.Series(texts, dtype=pd.ArrowDtype(pa.string()))}),
    "polars": lambda texts: pl.DataFrame({"a": pl.Series(texts, dtype=pl.String)}),
    "polars categorical": lambda texts: pl.DataFrame({"a": pl.Series(texts, dtype=pl.String).cast(pl.Categorical)}),
    "pyarrow": lambda texts: pa.table({"a": pa.array(texts, pa.string())}),
    "pyarrow large": lambda texts: pa.table({"a": pa.array(texts, pa.large_string())}),
    "pyarrow chunks": lambda texts: pa.table({"a": pa.chunked_array([texts[:1], texts[1:]], pa.string())}),
}


@pytest.mark.parametrize("kind", TEXT_MAKERS)
def test_text_of_every_kind_is_the_same(kind: str) -> None:
    data = take(TEXT_MAKERS[kind]())
    assert_same(data, CODES, [["apple", "pear"]])
    assert data.schema.categories[0].dtype == object
    assert data.schema.has_categories
    assert not data.schema.plain


def test_arrays_of_text_are_categories() -> None:
    assert_same(take(np.array([["b", "1"], ["a", "1"]])), [[1, 0], [0, 0]], [["a", "b"], ["1"]])
    assert_same(take(np.array([[b"b"], [b"a"]])), [[1], [0]], [["a", "b"]])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.Categorical(["lo", "hi", None], categories=["unused", "lo", "hi"], ordered=True)}),
        pl.DataFrame({"a": ["lo", "hi", None]}, schema={"a": pl.Enum(["unused", "lo", "hi"])}),
        pa.table({"a": pa.DictionaryArray.from_arrays([1, 2, None], ["unused", "lo", "hi"], ordered=True)}),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_levels_keep_the_order_of_the_type_and_only_those_that_occur(frame: Any) -> None:
    assert_same(take(frame), [[0.0], [1.0], [NAN]], [["lo", "hi"]])


def test_codes_of_a_polars_categorical_do_not_depend_on_what_else_there_was() -> None:
    pl.Series(["zebra", "yak", "ant"], dtype=pl.Categorical)
    assert_same(take(pl.DataFrame({"a": ["yak", "ant"]}, schema={"a": pl.Categorical})), [[1], [0]], [["ant", "yak"]])


def test_categories_that_are_numbers() -> None:
    frame = pd.DataFrame({"a": pd.Categorical([30, 10, None, 30])})
    assert_same(take(frame), [[1], [0], [NAN], [1]], [[10.0, 30.0]])
    assert_same(take(frame, categorical_features=None), [[30], [10], [NAN], [30]], [None])


def test_categories_that_are_neither_text_nor_numbers_go_by_their_text() -> None:
    frame = pd.DataFrame({"a": pd.cut([1, 2, 3], [0, 2, 4])})
    assert_same(take(frame), [[0], [0], [1]], [["(0, 2]", "(2, 4]"]])


def test_missing_level_inside_an_arrow_dictionary() -> None:
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["b", None, "a"]))
    assert_same(take(pa.table({"a": encoded})), [[1], [NAN], [0]], [["a", "b"]])


@pytest.mark.parametrize("asked", [[1], np.array([1]), ["b"], [False, True], np.array([False, True]), (1,)])
def test_categorical_features_by_index_name_or_mask(asked: Any) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [7.0, -0.5, NAN]})
    assert_same(take(frame, categorical_features=asked), [[1, 1], [2, 0], [3, NAN]], [None, [-0.5, 7.0]])


def test_zero_and_minus_zero_are_one_level() -> None:
    assert_same(take(np.array([[0.0], [-0.0], [1.0]]), categorical_features=[0]), [[0], [0], [1]], [[0.0, 1.0]])


def test_no_categorical_features_asked_for() -> None:
    assert_same(take(np.array(NUMBERS), categorical_features=[]), NUMBERS, [None] * 3)
    assert_same(take(np.array(NUMBERS), categorical_features=None), NUMBERS, [None] * 3)


def test_float32_survives_beside_booleans_and_categories() -> None:
    frame = pd.DataFrame({"a": np.array([1.5, 2], "f4"), "b": [True, False], "c": ["x", None]})
    assert take(frame).X.dtype == np.float32
    assert take(frame.assign(d=1)).X.dtype == np.float64


def test_codes_are_matched_as_other_levels_are() -> None:
    rng = np.random.default_rng(0)
    fitted = np.column_stack([rng.integers(0, 4, size=50), rng.normal(size=50)]).astype(float)
    odd = [-1.0, -0.0, 0.5, 3.0, 4.0, 1e300, np.inf, -np.inf, np.nan]
    rows = np.column_stack([odd, np.zeros(len(odd))])
    shift = np.array([7.0, 0.0])
    found = []
    for by in (0.0, shift):
        tree = DecisionTreeRegressor(categorical_features=[0]).fit(fitted + by, np.zeros(50))
        found.append(take_in_rows(tree, rows + by, tree._schema))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0][:, 0], [np.nan, 0.0, np.nan, 3.0, *[np.nan] * 5])


def test_a_table_of_codes_is_taken_as_it_is() -> None:
    X = np.array([[0.0, 2.5], [1.0, np.nan], [2.0, 0.5], [np.nan, 1.0]])
    schema = take_in(CommitteeEstimator(), X, task="none", categorical_features=[0]).schema
    assert take_in_rows(CommitteeEstimator(), X, schema) is X
    other = np.array([[3.0, 1.0], [1.5, 1.0], [-1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(
        take_in_rows(CommitteeEstimator(), other, schema)[:, 0], [np.nan, np.nan, np.nan, 1.0]
    )
    strict = take_in(CommitteeEstimator(), X, task="none", categorical_features=[0], unseen="error").schema
    with pytest.raises(DataError, match="did not occur"):
        take_in_rows(CommitteeEstimator(), other, strict)
    halves = take_in(CommitteeEstimator(), X, task="none", categorical_features=[1]).schema
    np.testing.assert_array_equal(take_in_rows(CommitteeEstimator(), X, halves)[:, 1], [2.0, np.nan, 0.0, 1.0])


@pytest.mark.parametrize("missing", [False, True], ids=["held", "all missing"])
@pytest.mark.parametrize("n_rows", [1, 499, 500, 501])
@pytest.mark.parametrize("kind", FEW_MAKERS)
def test_few_texts_are_read_as_many_are(kind: str, n_rows: int, missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one as Python objects, or by the frame's library."""
    texts = [None] * n_rows if missing else ["b", "ä", None, "a", "", "B", "z\U0001f600", "\uffee"] * 63
    frame = FEW_MAKERS[kind](texts[:n_rows])
    read = [frames.read_columns(frame).split_columns()[0]]
    for most in (0, 1000):
        monkeypatch.setattr(columns, "_FEW_TEXTS", most)
        read.append(frames.read_columns(frame).split_columns()[0])
    for column in read[1:]:
        assert column.levels is not None
        assert column.levels.tolist() == read[0].levels.tolist() == sorted({t for t in texts[:n_rows] if t is not None})
        assert column.codes.tolist() == read[0].codes.tolist()
        assert column.codes.dtype == np.int64
        assert (column.plain_text, column.declared, column.where) == (read[0].plain_text, None, "column 'a'")
