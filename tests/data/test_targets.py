"""Targets of every kind, against what scikit-learn's encoders give."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import DataConversionWarning

from committee import ArcingClassifier, DistributionalBoostingRegressor
from committee.data.dataset import ClassTarget, ValueTarget
from committee.data.targets import encode_classes, encode_values, read_target
from committee.exceptions import DataError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


def classify(y: Any) -> ClassTarget:
    n_rows = y.shape[0] if sp.issparse(y) else len(y)
    return encode_classes(read_target(y, n_rows, "Tree", multi_output=True), "Tree")


def regress(y: Any) -> ValueTarget:
    return encode_values(read_target(y, len(y), "Tree", multi_output=True))


WORDS = ["pear", "apple", "pear", "fig"]
LABELS: dict[str, tuple[Any, list[Any], list[int]]] = {
    "ints": ([3, 1, 3, 2], [1, 2, 3], [2, 0, 2, 1]),
    "int8": (np.array([-128, 127, 0], "i1"), [-128, 0, 127], [0, 2, 1]),
    "uint64": (np.array([2**64 - 1, 0, 2**63], "u8"), [0, 2**63, 2**64 - 1], [2, 0, 1]),
    "int64 ends": (np.array([-(2**63), 2**63 - 1]), [-(2**63), 2**63 - 1], [0, 1]),
    "uint64 near the end": (np.array([2**64 - 1, 2**64 - 3], "u8"), [2**64 - 3, 2**64 - 1], [1, 0]),
    "floats": ([1.0, -1.0, 1.0], [-1.0, 1.0], [1, 0, 1]),
    "bools": ([True, False, True], [False, True], [1, 0, 1]),
    "one class": ([7, 7], [7], [0, 0]),
    "text": (WORDS, ["apple", "fig", "pear"], [2, 0, 2, 1]),
    "text array": (np.array(WORDS), ["apple", "fig", "pear"], [2, 0, 2, 1]),
    "bytes": (np.array(WORDS, "S"), [b"apple", b"fig", b"pear"], [2, 0, 2, 1]),
    "object text": (np.array(WORDS, dtype=object), ["apple", "fig", "pear"], [2, 0, 2, 1]),
    "object ints": (np.array([3, 1, 3], dtype=object), [1, 3], [1, 0, 1]),
    "object bools": (np.array([True, False], dtype=object), [False, True], [1, 0]),
    "object floats": (np.array([2.0, 1.0], dtype=object), [1.0, 2.0], [1, 0]),
    "pandas": (pd.Series(WORDS), ["apple", "fig", "pear"], [2, 0, 2, 1]),
    "pandas category": (pd.Series(WORDS, dtype="category"), ["apple", "fig", "pear"], [2, 0, 2, 1]),
    "pandas int category": (pd.Series([3, 1, 3], dtype="category"), [1, 3], [1, 0, 1]),
    "pandas Int64": (pd.Series([3, 1, 3], dtype="Int64"), [1, 3], [1, 0, 1]),
    "pandas boolean": (pd.Series([True, False], dtype="boolean"), [False, True], [1, 0]),
    "polars": (pl.Series(WORDS), ["apple", "fig", "pear"], [2, 0, 2, 1]),
    "polars categorical": (pl.Series(WORDS, dtype=pl.Categorical), ["apple", "fig", "pear"], [2, 0, 2, 1]),
    "polars ints": (pl.Series([3, 1, 3]), [1, 3], [1, 0, 1]),
    "pyarrow": (pa.chunked_array([WORDS]), ["apple", "fig", "pear"], [2, 0, 2, 1]),
    "strided": (np.array([3, 0, 1, 0, 3, 0])[::2], [1, 3], [1, 0, 1]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind(kind: str) -> None:
    y, classes, labels = LABELS[kind]
    target = classify(y)
    assert target.classes[0].tolist() == classes
    assert target.labels.dtype == np.uint32
    assert target.labels.flags.c_contiguous
    assert target.labels.tolist() == [[k] for k in labels]
    assert (target.n_outputs, target.n_classes, target.one_dimensional) == (1, [len(classes)], True)
    decoded = target.decode(target.labels)
    assert decoded.shape == (len(labels),)
    assert decoded.tolist() == np.asarray(y).tolist()


def test_the_type_of_the_classes_is_the_users() -> None:
    assert classify(np.array([1, 2], "i2")).classes[0].dtype == np.int16
    assert classify(np.array([True, False])).classes[0].dtype == np.bool_
    assert classify(np.array(["a", "bc"])).classes[0].dtype == np.dtype("<U2")
    assert classify(np.array(["a", "bc"], dtype=object)).classes[0].dtype == object
    assert classify(np.array([1.0, 2.0], "f4")).classes[0].dtype == np.float32


def test_several_outputs() -> None:
    y = np.array([[1, 5], [2, 5], [1, 7]])
    target = classify(y)
    assert [c.tolist() for c in target.classes] == [[1, 2], [5, 7]]
    assert target.labels.tolist() == [[0, 0], [1, 0], [0, 1]]
    assert target.labels.flags.c_contiguous
    assert not target.one_dimensional
    np.testing.assert_array_equal(target.decode(target.labels), y)


@pytest.mark.parametrize("make", [np.array, sp.csr_array, pd.DataFrame, lambda y: pl.DataFrame(y, orient="row")])
def test_multilabel_indicators(make: Any) -> None:
    indicators = [[0, 1, 1], [1, 0, 1]]
    target = classify(make(indicators))
    assert target.labels.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert [c.tolist() for c in target.classes] == [[0, 1], [0, 1], [1]]


def test_outputs_of_different_types_in_a_frame() -> None:
    frame = pd.DataFrame({"fruit": ["pear", "fig"], "size": [3, 1]})
    target = classify(frame)
    assert [c.tolist() for c in target.classes] == [["fig", "pear"], [1, 3]]
    assert target.decode(target.labels).tolist() == [["pear", 3], ["fig", 1]]


def test_a_column_is_one_output_with_two_axes() -> None:
    target = classify(np.array([[3], [1]]))
    assert (target.n_outputs, target.one_dimensional) == (1, False)
    assert target.decode(target.labels).tolist() == [[3], [1]]
    values = regress(np.array([[3.0], [1.0]]))
    assert (values.n_outputs, values.one_dimensional) == (1, False)


def test_a_column_where_one_axis_is_wanted_is_a_warning() -> None:
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
        assert read_target(np.array([[3], [1]]), 2, "Tree", multi_output=False).tolist() == [3, 1]


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 3],
        np.array([1, 2, 3], "f4"),
        np.array([1, 2, 3], "g"),
        np.array([1, 2, 3], dtype=object),
        np.array([1.0, 9, 2, 9, 3])[::2],
        pd.Series([1, 2, 3], dtype="Int64"),
        pl.Series([1, 2, 3]),
        pa.chunked_array([[1, 2, 3]]),
        np.ma.masked_array([1, 2, 3]),
    ],
)
def test_numbers_of_every_kind(y: Any) -> None:
    target = regress(y)
    assert target.values.dtype == np.float64
    assert target.values.flags.c_contiguous
    assert target.values.tolist() == [[1.0], [2.0], [3.0]]
    assert target.one_dimensional


def test_several_numbers() -> None:
    target = regress(np.asfortranarray([[1, 2], [3, 4]]))
    assert target.values.flags.c_contiguous
    assert (target.values.tolist(), target.n_outputs, target.one_dimensional) == ([[1, 2], [3, 4]], 2, False)
    assert regress(np.array([[1, 2], [3, 4]], dtype=object)).values.tolist() == [[1, 2], [3, 4]]


@given(
    hnp.arrays(hnp.integer_dtypes() | hnp.unsigned_integer_dtypes() | st.just(np.dtype(bool)), st.integers(1, 30))
    | hnp.arrays(hnp.unicode_string_dtypes(max_len=3), st.integers(1, 30))
)
def test_encoding_is_what_unique_gives(y: np.ndarray) -> None:
    classes, inverse = np.unique(y, return_inverse=True)
    target = classify(y)
    np.testing.assert_array_equal(target.classes[0], classes)
    assert target.classes[0].dtype == y.dtype.newbyteorder("=")
    np.testing.assert_array_equal(target.labels[:, 0], inverse)


@given(hnp.arrays(np.float64, st.integers(1, 20), elements=st.integers(-(2**60), 2**60).map(float)))
def test_floats_that_are_whole_are_classes(y: np.ndarray) -> None:
    target = classify(y)
    np.testing.assert_array_equal(target.decode(target.labels), y)


def test_targets_can_be_pickled() -> None:
    target = pickle.loads(pickle.dumps(classify(WORDS)))
    assert target.decode(target.labels).tolist() == WORDS


def test_several_outputs_where_one_is_predicted() -> None:
    y = np.zeros((20, 2))
    y[::2] = 1.0
    with pytest.raises(DataError, match=r"one output only\. MultiOutputClassifier of sklearn"):
        ArcingClassifier().fit(np.arange(20.0)[:, None], y)
    with pytest.raises(DataError, match=r"one output only\. MultiOutputRegressor of sklearn"):
        DistributionalBoostingRegressor().fit(np.arange(20.0)[:, None], y)
