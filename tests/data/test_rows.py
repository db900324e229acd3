"""Rows to predict are held against what fit saw."""

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from committee.base import CommitteeEstimator
from committee.data import Schema, take_in, take_in_rows
from committee.exceptions import DataError, DataTypeError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAN = float("nan")


class Tree(CommitteeEstimator):
    pass


def learn(X: Any, **options: Any) -> Schema:
    return take_in(Tree(), X, task="none", **options).schema


TRAIN = pd.DataFrame({"fruit": ["pear", "apple", None, "fig"], "size": [1.0, 2.0, 3.0, NAN]})
SCHEMA = learn(TRAIN)
STRICT = learn(TRAIN, unseen="error")


def test_a_plain_float_array_goes_through_as_it_is() -> None:
    schema = learn(np.ones((3, 2)))
    for X in (np.ones((1, 2)), np.ones((5, 2), "f4"), np.asfortranarray(np.ones((5, 2))), np.ones((6, 4))[::2, ::2]):
        assert take_in_rows(Tree(), X, schema) is X
    assert np.isnan(take_in_rows(Tree(), np.full((1, 2), NAN), schema)).all()


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2]],
        np.array([[1, 2]]),
        np.array([[1, 2]], ">f8"),
        np.array([[1, 2]], dtype=object),
        sp.csr_matrix([[1, 2]]),
        sp.coo_array([[1, 2]]),
    ],
)
def test_other_forms_are_read_as_at_fit(X: Any) -> None:
    rows = take_in_rows(Tree(), X, learn(np.ones((3, 2))))
    assert rows.dtype == np.float64
    assert (rows.toarray() if sp.issparse(rows) else rows).tolist() == [[1.0, 2.0]]
    if sp.issparse(X):
        assert rows.format == "csr"


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("make", [np.ones, lambda s: np.ones(s).tolist(), lambda s: sp.csr_array(np.ones(s))])
def test_wrong_width(make: Any, width: int) -> None:
    with pytest.raises(DataError, match=f"^X has {width} features, but Tree is expecting 2 features as input.$"):
        take_in_rows(Tree(), make((4, width)), learn(np.ones((3, 2))))


BAD_ROWS: list[tuple[Any, type[Exception], str]] = [
    (np.ones(2), DataError, "Reshape your data"),
    (np.ones((0, 2)), DataError, "X has 0 sample(s) (shape=(0, 2))"),
    (np.array([[1, np.inf]]), DataError, "Input X contains infinity or a value too large for dtype('float64') in col"),
    (np.array([[1, 1j]]), DataError, "Complex data not supported"),
    ([["a", 1]], DataTypeError, "X column 0 held numbers at fit and holds text now."),
    ("rows", DataTypeError, "X must be a table"),
    ([[1, 2], [3]], DataError, "X is ragged"),
]  # fmt: skip


@pytest.mark.parametrize(("X", "error", "sentence"), BAD_ROWS, ids=[r[2][:20] for r in BAD_ROWS])
def test_bad_rows(X: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=re.escape(sentence)):
        take_in_rows(Tree(), X, learn(np.ones((3, 2))))


# --- names ---------------------------------------------------------------------------------------------------------

NAMED = learn(pd.DataFrame(np.eye(3), columns=list("abc")))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_same_names_in_any_kind_of_frame(make: Any) -> None:
    rows = take_in_rows(Tree(), make({"a": [1.0], "b": [2.0], "c": [3.0]}), NAMED)
    assert rows.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("names", "sentences"),
    [
        ("bac", ["Feature names must be in the same order as they were in fit."]),
        (
            "abd",
            ["Feature names unseen at fit time:\n- d\n", "Feature names seen at fit time, yet now missing:\n- c\n"],
        ),
        ("ab", ["Feature names seen at fit time, yet now missing:\n- c\n"]),
        ("abcd", ["Feature names unseen at fit time:\n- d\n"]),
        ("defghijk", ["- d\n- e\n- f\n- g\n- h\n- ...\n"]),
    ],
)
def test_other_names_or_another_order(names: str, sentences: list[str]) -> None:
    frame = pd.DataFrame(np.ones((1, len(names))), columns=list(names))
    with pytest.raises(DataError, match="The feature names should match those that were passed during fit") as caught:
        take_in_rows(Tree(), frame, NAMED)
    for sentence in sentences:
        assert sentence in str(caught.value)


def test_names_on_one_side_only_are_a_warning() -> None:
    with pytest.warns(UserWarning, match="^X does not have valid feature names, but Tree was fitted with"):
        take_in_rows(Tree(), np.eye(3), NAMED)
    with pytest.warns(UserWarning, match="^X has feature names, but Tree was fitted without feature names$"):
        take_in_rows(Tree(), pd.DataFrame(np.eye(3), columns=list("abc")), learn(np.eye(3)))


# --- categories ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"fruit": ["fig", "kiwi", None], "size": [1, 2, 3]}),
        pd.DataFrame({"fruit": pd.Categorical(["fig", "kiwi", None]), "size": [1, 2, 3]}),
        pd.DataFrame({"fruit": pd.Categorical(["fig", "kiwi", None], ["kiwi", "fig", "x"]), "size": [1, 2, 3]}),
        pl.DataFrame({"fruit": ["fig", "kiwi", None], "size": [1, 2, 3]}),
        pl.DataFrame({"fruit": ["fig", "kiwi", None], "size": [1, 2, 3]}, schema_overrides={"fruit": pl.Categorical}),
        pl.DataFrame(
            {"fruit": ["fig", "kiwi", None], "size": [1, 2, 3]}, {"fruit": pl.Enum(["kiwi", "fig"]), "size": int}
        ),
        pa.table({"fruit": ["fig", "kiwi", None], "size": [1, 2, 3]}),
        pa.table({"fruit": pa.array(["fig", "kiwi", None]).dictionary_encode(), "size": [1, 2, 3]}),
    ],
)
def test_codes_are_those_of_training_whatever_the_type_knows_now(frame: Any) -> None:
    expected = np.array([[1, 1], [NAN, 2], [NAN, 3]], dtype=float)
    np.testing.assert_array_equal(take_in_rows(Tree(), frame, SCHEMA), expected)
    with pytest.raises(DataError, match="X column 'fruit' holds the category 'kiwi', which did not occur in training"):
        take_in_rows(Tree(), frame, STRICT)


def test_missing_is_not_unseen() -> None:
    rows = take_in_rows(Tree(), pd.DataFrame({"fruit": [None, "pear"], "size": [NAN, 1]}), STRICT)
    np.testing.assert_array_equal(rows, [[NAN, NAN], [2, 1]])
    nothing = pd.DataFrame({"fruit": pd.Series([None, None], dtype=object), "size": [NAN, 1]})
    np.testing.assert_array_equal(take_in_rows(Tree(), nothing, STRICT)[:, 0], [NAN, NAN])


def test_a_level_of_the_type_that_no_training_row_had_is_unseen() -> None:
    column = pd.Categorical(["a", "b"], categories=["a", "b", "c"])
    schema = learn(pd.DataFrame({"k": column}), unseen="error")
    with pytest.raises(DataError, match="column 'k' holds the category 'c'"):
        take_in_rows(Tree(), pd.DataFrame({"k": pd.Categorical(["c"], categories=["a", "b", "c"])}), schema)


def test_rows_of_objects_without_names() -> None:
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        rows = take_in_rows(Tree(), [["pear", 2], [None, 3]], SCHEMA)
    np.testing.assert_array_equal(rows, [[2, 2], [NAN, 3]])


@pytest.mark.parametrize(
    ("fruit", "size", "sentence"),
    [
        ([1.0], [1.0], "X column 'fruit' held categories that are text at fit and holds numbers now."),
        (["fig"], ["big"], "X column 'size' held numbers at fit and holds text now."),
        (["fig"], [pd.Timestamp("2020-01-01")], "X column 'size' held numbers at fit and holds dates without"),
    ],
)
def test_a_column_of_another_kind(fruit: Any, size: Any, sentence: str) -> None:
    with pytest.raises(DataTypeError, match=f"^{re.escape(sentence)}"):
        take_in_rows(Tree(), pd.DataFrame({"fruit": fruit, "size": size}), SCHEMA)


def test_categories_that_are_numbers() -> None:
    schema = learn(np.array([[10.0, 1.0], [30.0, 2.0], [NAN, 3.0]]), categorical_features=[0])
    rows = take_in_rows(Tree(), np.array([[30, 1], [20, 2], [NAN, 3]], dtype="f4"), schema)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, [[1, 1], [NAN, 2], [NAN, 3]])
    np.testing.assert_array_equal(take_in_rows(Tree(), [[10, 1], [None, 2]], schema), [[0, 1], [NAN, 2]])
    strict = learn(np.array([[10.0], [30.0]]), categorical_features=[0], unseen="error")
    with pytest.raises(DataError, match=r"^X column 0 holds the category 20.0, which did not occur in training"):
        take_in_rows(Tree(), np.array([[20.0]]), strict)


def test_sparse_rows_for_a_model_with_categories() -> None:
    schema = learn(np.eye(2), categorical_features=[0])
    with pytest.raises(DataError, match="Sparse X cannot hold categories"):
        take_in_rows(Tree(), sp.csr_array(np.eye(2)), schema)


@given(texts=st.lists(st.none() | st.sampled_from("abcdef"), min_size=1), other=st.lists(st.sampled_from("abcdefg")))
def test_fit_and_predict_agree_on_every_code(texts: list[str | None], other: list[str]) -> None:
    train = pd.DataFrame({"k": pd.Series(texts, dtype=object), "n": 1.0})
    data = take_in(Tree(), train, task="none")
    np.testing.assert_array_equal(take_in_rows(Tree(), train, data.schema), data.X)
    levels = sorted({t for t in texts if t is not None})
    rows = pd.DataFrame({"k": pd.Series([*other, None], dtype=object), "n": 1.0})
    expected = [levels.index(t) if t in levels else NAN for t in [*other, None]]
    np.testing.assert_array_equal(take_in_rows(Tree(), rows, data.schema)[:, 0], expected)
