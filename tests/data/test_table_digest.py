"""The digest of a table is of its values: containers, types of storage and blocks do not change it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from committee.data.opening import open_table
from committee.data.table_digest import digest_table, digest_target, digest_weights
from committee.exceptions import DataTypeError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NUMBERS = np.array([[0.0, 1.5, -2.0], [3.0, np.nan, 0.0], [-0.0, 0.0, 7.0], [0.0, 0.25, 1.0]])
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(
    {
        "size": [1.5, np.nan, 3.0, 0.0, 5.0, 0.0],
        "count": [3, 0, 0, 7, 7, 1],
        "colour": ["red", None, "green", "red", "blue", "red"],
        "sold": [True, False, True, True, False, False],
        "day": pd.to_datetime(["2024-01-01", "2024-02-03", None, "2025-01-01", "2024-01-05", "2024-01-01"]),
    }
)


def make_number_table(kind: str) -> Any:
    if kind in ("polars", "lazy"):
        frame = pytest.importorskip("polars").DataFrame(NUMBERS, schema=NAMES)
        return frame if kind == "polars" else frame.lazy()
    return list_number_tables()[kind]


def list_number_tables() -> dict[str, Any]:
    single = NUMBERS.astype(np.float32)
    return {
        "list": NUMBERS.tolist(),
        "float32": single,
        "columns": np.asfortranarray(NUMBERS),
        "big-endian": NUMBERS.astype(">f8"),
        "objects": NUMBERS.astype(object),
        "csr": sp.csr_matrix(NUMBERS),
        "csc": sp.csc_array(NUMBERS),
        "coo": sp.coo_matrix(NUMBERS),
        "pandas": pd.DataFrame(NUMBERS, columns=NAMES),
        "pandas float32": pd.DataFrame(single, columns=NAMES),
        "arrow": pa.table({name: NUMBERS[:, j] for j, name in enumerate(NAMES)}),
    }


@pytest.mark.parametrize("kind", [*list_number_tables(), "polars", "lazy"])
def test_containers_of_numbers(kind: str) -> None:
    assert digest_table(make_number_table(kind)).columns == digest_table(NUMBERS).columns


def test_explicit_zeros_and_duplicates_of_sparse_tables() -> None:
    table = sp.csr_matrix(([1.0, 0.0, 1.0, 3.0], [0, 1, 1, 1], [0, 2, 4]), shape=(2, 2))
    assert digest_table(table) == digest_table(np.array([[1.0, 0.0], [0.0, 4.0]]))


def make_tables(folder: Path) -> dict[str, Any]:
    """The frame as other containers, whole and in blocks."""
    arrow = pa.Table.from_pandas(FRAME, preserve_index=False)
    pq.write_table(arrow, folder / "one.parquet", row_group_size=2)
    coded = FRAME.assign(colour=FRAME["colour"].astype("category"), count=FRAME["count"].astype(np.int8))
    return {
        "categories": coded,
        "arrow": arrow,
        "dictionary": pa.Table.from_pandas(coded, preserve_index=False),
        "parquet": folder / "one.parquet",
        "blocks": [FRAME[:1], FRAME[1:4], FRAME[4:]],
        "a block of missing values": [FRAME[1:2], FRAME[:1], FRAME[2:]],
        "iterator": lambda: iter([arrow[:3], arrow[3:]]),
    }


@pytest.mark.parametrize("kind", ["categories", "arrow", "dictionary", "polars", "parquet", "blocks", "iterator"])
def test_containers_of_frames(kind: str, tmp_path: Path) -> None:
    tables = make_tables(tmp_path)
    table = pytest.importorskip("polars").from_arrow(tables["arrow"]) if kind == "polars" else tables[kind]
    X, _, _ = open_table(table)
    assert digest_table(X) == digest_table(FRAME)


def test_a_block_that_begins_with_missing_values(tmp_path: Path) -> None:
    X, _, _ = open_table(make_tables(tmp_path)["a block of missing values"])
    assert digest_table(X) == digest_table(FRAME.iloc[[1, 0, 2, 3, 4, 5]])


@pytest.mark.parametrize("column", FRAME.columns)
def test_every_column_shows_a_change(column: str) -> None:
    other = FRAME.copy()
    other.loc[4, column] = other.loc[0, column]
    changed = np.array(digest_table(FRAME).columns) != np.array(digest_table(other).columns)
    assert FRAME.columns[changed].tolist() == [column]


def test_columns_of_missing_values() -> None:
    empty = np.full((3, 1), np.nan)
    assert digest_table(empty) == digest_table([[None], [None], [None]])
    assert digest_table(empty).columns != digest_table(np.zeros((3, 1))).columns


values = st.sampled_from([0.0, -0.0, 1.0, -1.5, np.nan, np.inf, 5e-324])


@settings(max_examples=150, deadline=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=values), st.data())
def test_blocks_and_sparse_forms(table: Any, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(table)))
    whole = digest_table(table)
    blocks = [pd.DataFrame(part, columns=list(map(str, range(table.shape[1])))) for part in (table[:cut], table[cut:])]
    X, _, _ = open_table([block for block in blocks if len(block)])
    assert digest_table(X).columns == whole.columns
    assert digest_table(sp.csc_matrix(table)) == digest_table(sp.csr_array(table)) == whole
    counted = np.array(data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table))))
    if counted.any():
        assert digest_table(table, counted) == digest_table(table[counted])


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.float64, (6, 2), elements=values), hnp.arrays(np.float64, (6, 2), elements=values))
def test_other_values_have_other_digests(one: Any, other: Any) -> None:
    equal = [np.array_equal(one[:, j], other[:, j], equal_nan=True) for j in range(2)]
    pairs = zip(digest_table(one).columns, digest_table(other).columns, strict=True)
    assert [a == b for a, b in pairs] == equal


def test_documents() -> None:
    texts = ["a text", "another", "a text"]
    expected = digest_table(texts)
    for held in (np.array(texts), np.array(texts, dtype=object), pd.Series(texts), pa.array(texts)):
        assert digest_table(held) == expected
    assert digest_table(["a text", "another", "another"]) != expected
    assert digest_table(texts, np.array([True, False, True])) == digest_table(["a text", "a text"])


def test_series_of_polars() -> None:
    texts = ["no", "yes", "no"]
    held = pytest.importorskip("polars").Series(texts)
    assert digest_table(held) == digest_table(texts)
    assert digest_target(held, 3) == digest_target(texts, 3)


def test_targets_and_weights() -> None:
    labels = ["no", "yes", "no"]
    for held in (np.array(labels), pd.Series(labels), pd.Series(labels, dtype="category")):
        assert digest_target(held, 3) == digest_target(labels, 3)
    assert digest_target([1, 0, 1], 3) == digest_target(np.array([True, False, True]), 3)
    assert digest_target([1, 0, 1], 3) != digest_target([1, 1, 1], 3)
    assert digest_target([[1], [0], [1]], 3) != digest_target([1, 0, 1], 3)
    assert digest_target(labels, 3, np.array([True, True, False])) == digest_target(labels[:2], 2)
    assert digest_target(None, 3) is None
    assert digest_weights([1, 2, 0, 3], 4) == digest_weights(np.array([1.0, 2.0, 3.0]), 3)
    assert digest_weights(2.5, 3) is None
    assert digest_weights([1, 2, 3], 3) != digest_weights([1, 3, 2], 3)


def test_files_of_bins_have_no_values(tmp_path: Path) -> None:
    import committee

    committee.bin_table(FRAME[["size", "count"]], tmp_path / "bins")
    with pytest.raises(DataTypeError, match="file of bins"):
        digest_table(committee.BinnedFile(tmp_path / "bins"))
