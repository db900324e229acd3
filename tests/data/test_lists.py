"""Lists of one length become a feature for each position; decimals become numbers."""

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee.base import CommitteeEstimator
from committee.data import Schema, take_in, take_in_rows
from committee.exceptions import DataTypeError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAN = float("nan")

# Each example is read from a dozen tables, the first one with the libraries' own setup.
few = settings(deadline=None, max_examples=30)


class Tree(CommitteeEstimator):
    pass


def learn(X: Any, **options: Any) -> Schema:
    return take_in(Tree(), X, task="none", **options).schema


def read(X: Any) -> np.ndarray:
    return np.asarray(take_in(Tree(), X, task="none").X)


numbers = st.integers(-1000, 1000).map(lambda k: k / 8) | st.none()


@few
@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(numbers, min_size=n, max_size=n) | st.none(), min_size=1)))
def test_lists_of_every_library_are_the_same_bytes(rows: list[Any]) -> None:
    if not any(row is not None and any(v is not None for v in row) for row in rows):
        rows = [*rows, [1.0] * max(len(row) if row else 1 for row in rows)]
    width = next(len(row) for row in rows if row is not None)
    expected = np.array([[NAN] * width if row is None else row for row in rows], dtype=np.float64)
    kinds = {
        "polars list": pl.DataFrame({"v": pl.Series(rows, dtype=pl.List(pl.Float64))}),
        "polars array": pl.DataFrame({"v": pl.Series(rows, dtype=pl.Array(pl.Float64, width))}),
        "arrow list": pa.table({"v": pa.array(rows, pa.list_(pa.float64()))}),
        "arrow large list": pa.table({"v": pa.array(rows, pa.large_list(pa.float64()))}),
        "arrow fixed": pa.table({"v": pa.array(rows, pa.list_(pa.float64(), width))}),
        "pandas objects": pd.DataFrame({"v": pd.Series(rows, dtype=object)}),
        "pandas arrow": pd.DataFrame({"v": pd.Series(rows, dtype=pd.ArrowDtype(pa.list_(pa.float64())))}),
    }
    for name, table in kinds.items():
        assert read(table).tobytes() == np.asfortranarray(expected).tobytes(), name


def test_the_type_of_the_elements_is_kept() -> None:
    vectors = np.arange(6, dtype=np.float32).reshape(2, 3)
    for table in (
        pd.DataFrame({"v": list(vectors)}),
        pl.DataFrame({"v": vectors}),
        pa.table({"v": pa.array(list(vectors), pa.list_(pa.float32(), 3))}),
    ):
        rows = read(table)
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(rows, vectors)
    with_size = pd.DataFrame({"v": list(vectors), "size": [1.0, 2.0]})
    assert read(with_size).dtype == np.float64
    np.testing.assert_array_equal(read(pa.table({"v": [[True, None], [False, True]]})), [[1, NAN], [0, 1]])
    np.testing.assert_array_equal(read(pl.DataFrame({"v": [[1, 2], [3, 4]]})), [[1, 2], [3, 4]])


def test_the_schema_of_lists() -> None:
    schema = learn(pd.DataFrame({"v": [[1.0, 2.0], [3.0, 4.0]], "size": [1.0, 2.0]}))
    assert schema.feature_names == ("v[0]", "v[1]", "size")
    with pytest.raises(DataTypeError, match="X column 'v' held lists of 2 values at fit and holds lists of 3 values"):
        take_in_rows(Tree(), pd.DataFrame({"v": [[1.0, 2.0, 3.0]], "size": [1.0]}), schema)
    with pytest.raises(DataTypeError, match="X column 'v' held lists of 2 values at fit and holds numbers now"):
        take_in_rows(Tree(), pd.DataFrame({"v": [1.0], "size": [1.0]}), schema)
    missing = pl.DataFrame({"v": [None], "size": [1.0]}, schema={"v": pl.List(pl.Int64), "size": pl.Float64})
    np.testing.assert_array_equal(take_in_rows(Tree(), missing, schema), [[NAN, NAN, 1.0]])


def test_nested_lists_hold_lists() -> None:
    np.testing.assert_array_equal(read([[1, [2, 3]], [4, (5, 6)], [7, None]]), [[1, 2, 3], [4, 5, 6], [7, NAN, NAN]])


@few
@given(st.lists(st.decimals(-(10**12), 10**12, places=6) | st.none(), min_size=1, max_size=5).filter(any))
def test_decimals_are_the_nearest_numbers(values: list[Any]) -> None:
    expected = np.array([NAN if value is None else float(value) for value in values])
    kind = pa.decimal128(38, 6)
    for table in (
        pd.DataFrame({"p": pd.Series(values, dtype=object)}),
        pd.DataFrame({"p": pd.Series(values, dtype=pd.ArrowDtype(kind))}),
        pl.DataFrame({"p": pl.Series(values, dtype=pl.Decimal(38, 6))}),
        pa.table({"p": pa.array(values, kind)}),
        pa.table({"p": pa.array(values, pa.decimal256(50, 6))}),
    ):
        assert read(table)[:, 0].tobytes() == expected.tobytes()
    assert learn(pa.table({"p": pa.array([Decimal("0.1")])})).inputs is None
