"""Tables in blocks: what is one, how it is read, what is said when it cannot be."""

import itertools
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from committee.base import CommitteeEstimator
from committee.data import Dataset
from committee.data.blocks import BlockTable
from committee.data.intake import take_in
from committee.data.opening import open_table
from committee.data.sources import is_source, parquet
from committee.exceptions import DataError, DataTypeError

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")

N = 600


def make_frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 4000, N), unit="h")
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=N),
            "count": rng.integers(0, 9, N),
            "place": rng.choice(["b", "a", "d", "c"], N),
            "when": days,
            "is_new": rng.random(N) < 0.5,
            "weight": rng.integers(0, 3, N) * 0.5,
            "target": rng.choice(["no", "yes"], N),
        }
    )
    frame.loc[rng.random(N) < 0.2, "size"] = np.nan
    frame.loc[:50, "place"] = "a"
    return frame


def read(X: object, y: object = "target", weights: object = "weight", **options: object) -> Dataset:
    table, target, own = open_table(X, y, weights)
    return take_in(CommitteeEstimator(), table, target, own, task="classify", **options)  # type: ignore[arg-type]


def cut(frame: pd.DataFrame, n_blocks: int) -> list[pd.DataFrame]:
    places = np.linspace(0, len(frame), n_blocks + 1).astype(int)
    return [frame.iloc[a:b] for a, b in itertools.pairwise(places)]


def assert_same(found: Dataset, whole: Dataset) -> None:
    assert isinstance(found.X, BlockTable)
    assert found.schema.feature_names == whole.schema.feature_names
    assert found.schema.inputs == whole.schema.inputs
    assert found.schema.dtype == whole.schema.dtype
    for own, other in zip(found.schema.categories, whole.schema.categories, strict=True):
        assert (own is None) == (other is None)
        assert own is None or (own.dtype == other.dtype and own.tolist() == other.tolist())
    np.testing.assert_array_equal(found.X.collect(), whole.X)
    assert found.target.classes[0].tolist() == whole.target.classes[0].tolist()  # type: ignore[union-attr]
    np.testing.assert_array_equal(found.target.labels, whole.target.labels)  # type: ignore[union-attr]
    assert (found.weights is None) == (whole.weights is None)
    assert found.weights is None or np.array_equal(found.weights, whole.weights)  # type: ignore[arg-type]
    assert found.row_weight == whole.row_weight
    np.testing.assert_array_equal(found.binned().columns, whole.binned().columns)


def write_parquet(frame: pd.DataFrame, path: Path, **options: object) -> str:
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, **options)
    return str(path)


@pytest.mark.parametrize("n_blocks", [1, 3, 17])
def test_a_list_of_frames_is_one_table(n_blocks: int) -> None:
    frame = make_frame()
    assert_same(read(cut(frame, n_blocks)), read(frame))


@pytest.mark.parametrize("rows", [7, 100, 10_000])
def test_a_parquet_file_is_read_by_groups_of_rows(tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_BLOCK_VALUES", 700)
    frame = make_frame()
    path = write_parquet(frame, tmp_path / "t.parquet", row_group_size=rows)
    found = read(path)
    assert found.X.n_blocks > 4
    assert_same(found, read(pq.read_table(path)))
    order = np.random.default_rng(0).permutation(found.X.n_blocks)
    parts = {int(k): found.X.load(int(k)) for k in order}
    np.testing.assert_array_equal(np.concatenate([parts[k] for k in sorted(parts)]), found.X.collect())


def test_a_folder_is_read_by_the_names_of_its_files(tmp_path: Path) -> None:
    frame = make_frame()
    for number, part in enumerate(cut(frame, 3)):
        write_parquet(part, tmp_path / f"part-{number}.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    assert_same(read(tmp_path), read(pa.Table.from_pandas(frame, preserve_index=False)))
    files = [str(path) for path in sorted(tmp_path.glob("*.parquet"))]
    assert_same(read(files), read(pa.Table.from_pandas(frame, preserve_index=False)))


def test_arrow_files_and_data_sets_are_read(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(make_frame(), preserve_index=False)
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=130)
    assert_same(read(path), read(table))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=90)
    dataset = ds.dataset(tmp_path / "t.parquet")
    assert_same(read(dataset), read(table))


def test_iterators_callables_and_iterables_are_read() -> None:
    frame = make_frame()
    blocks = cut(frame, 4)

    class Again:
        def __iter__(self) -> Iterator[pd.DataFrame]:
            return iter(blocks)

    assert_same(read(lambda: iter(blocks)), read(frame))
    assert_same(read(Again()), read(frame))
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    assert_same(read(part for part in blocks), read(arrow))


def test_an_iterator_of_arrays_has_no_names() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    y = np.arange(50) % 2
    found = read((part for part in (X[:20], X[20:20], X[20:])), y, None)
    assert found.schema.feature_names is None
    assert found.schema.dtype == np.float32
    assert_same(found, read(X, y, None))


def test_spilled_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table, _, _ = open_table(iter(cut(make_frame(), 3)), "target")
    assert len(list(tmp_path.rglob("*.arrow"))) == 3
    table.source.close()
    assert not list(tmp_path.iterdir())


def test_a_lazy_frame_with_a_named_target_is_computed_in_a_stream(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.from_pandas(make_frame())
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    lazy = pl.scan_parquet(path).filter(pl.col("count") > 2)
    assert_same(read(lazy), read(frame.filter(pl.col("count") > 2)))


def test_blocks_may_differ_in_order_width_and_levels() -> None:
    frame = make_frame()
    first, second, third = cut(frame, 3)
    second = second[["when", "target", "place", "weight", "is_new", "count", "size"]].astype({"count": np.int8})
    third = third.assign(count=third["count"].astype(np.uint16), place=["z"] * len(third))
    whole = pd.concat([first, second, third], ignore_index=True)
    empty = first.iloc[:0]
    assert_same(read([empty, first, empty, second, third, empty]), read(whole))


def test_a_block_without_any_value_fits_every_column() -> None:
    frame = make_frame().drop(columns=["weight"])
    missing = pa.table({name: pa.nulls(5) for name in frame.columns if name != "target"}).append_column(
        "target", pa.array(["no"] * 5)
    )
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    whole = pa.concat_tables([missing, arrow], promote_options="permissive")
    assert_same(read([missing, arrow], weights=None), read(whole, weights=None))


def test_ordered_categories_keep_their_order() -> None:
    frame = make_frame()
    frame["place"] = pd.Categorical(frame["place"], categories=["d", "q", "b", "c", "a"], ordered=True)
    blocks = cut(frame, 5)
    found = read(blocks)
    assert_same(found, read(frame))
    assert found.schema.categories[2].tolist() == ["d", "b", "c", "a"]  # type: ignore[union-attr]
    blocks[0] = blocks[0].assign(place=blocks[0]["place"].cat.remove_categories("q"))
    assert read(blocks).schema.categories[2].tolist() == ["a", "b", "c", "d"]  # type: ignore[union-attr]


def test_numbers_may_be_called_categories() -> None:
    frame = make_frame()
    assert_same(
        read(cut(frame, 4), categorical_features=["count", "place"]),
        read(frame, categorical_features=["count", "place"]),
    )


def test_class_weights_of_zero_leave_levels_out() -> None:
    frame = make_frame()
    frame.loc[frame["target"] == "no", "place"] = "z"
    weights = {"no": 0.0, "yes": 1.0}
    assert_same(read(cut(frame, 4), class_weight=weights), read(frame, class_weight=weights))


def test_a_selection_of_rows_is_read_when_it_is_needed() -> None:
    frame = make_frame()
    found, whole = read(cut(frame, 4)), read(frame)
    rows = np.flatnonzero(np.random.default_rng(0).random(N) < 0.3)
    assert_same(found.take_rows(rows), whole.take_rows(rows))
    np.testing.assert_array_equal(found.X.take(np.array([500, 3, 3, 599])), whole.X[[500, 3, 3, 599]])
    kept = found.without(2)
    np.testing.assert_array_equal(kept.X.collect(), whole.without(2).X)


def test_a_table_in_blocks_pickles_small(tmp_path: Path) -> None:
    path = write_parquet(make_frame(), tmp_path / "t.parquet", row_group_size=100)
    table = read(path).X
    stored = pickle.dumps(table)
    assert len(stored) < 6000
    np.testing.assert_array_equal(pickle.loads(stored).collect(), table.collect())


# --- named columns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_target_and_weights_may_be_columns_of_a_frame(kind: str) -> None:
    frame = make_frame()
    if kind == "polars":
        given = pytest.importorskip("polars").from_pandas(frame)
    else:
        given = pa.Table.from_pandas(frame) if kind == "arrow" else frame
    X, y, weights = open_table(given, "target", "weight")
    assert list(getattr(X, "column_names", None) or X.columns) == ["size", "count", "place", "when", "is_new"]
    assert [str(value) for value in y] == frame["target"].tolist()
    assert [float(value) for value in np.asarray(weights)] == frame["weight"].tolist()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((3, 2)), "target", "need a table whose columns have names.*ndarray"),
        (pd.DataFrame({"a": [1.0]}), "target", "no column 'target' in X; its columns are 'a'"),
        ([pd.DataFrame({"a": [1.0]})], "target", "no column 'target' in X; its columns are 'a'"),
        ([np.zeros((3, 2))], "target", "blocks whose columns have names"),
    ],
)
def test_names_of_columns_must_exist(X: object, y: str, message: str) -> None:
    with pytest.raises((DataError, DataTypeError), match=message):
        open_table(X, y)


# --- refusals ------------------------------------------------------------------------------------------------------


def test_a_block_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    for number, part in enumerate(cut(make_frame(), 3)):
        write_parquet(part, tmp_path / f"part-{number}.parquet", compression="none", use_dictionary=False)
    broken = tmp_path / "part-1.parquet"
    held = bytearray(broken.read_bytes())
    held[8:400] = b"\xff" * 392
    broken.write_bytes(held)
    with pytest.raises(DataError, match=r"lock 1 of X \(.*part-1.parquet.*cannot be loaded"):
        read(tmp_path).X.collect()


def test_a_file_that_changes_between_passes_is_noticed(tmp_path: Path) -> None:
    path = write_parquet(make_frame(), tmp_path / "t.parquet")
    data = read(path)
    write_parquet(make_frame().iloc[:-1], tmp_path / "t.parquet")
    with pytest.raises(DataError, match="was changed while it was read"):
        data.binned()


def test_an_iterable_that_changes_between_passes_is_noticed() -> None:
    added = [0.0]
    data = read(lambda: iter([np.arange(20.0).reshape(10, 2) + added[0], np.zeros((5, 2))]), np.arange(15) % 2, None)
    data.X.collect()
    added[0] = 1.0
    with pytest.raises(DataError, match=r"table 0 of the iterable.* has other values"):
        data.X.collect()


def test_an_iterable_with_other_rows_is_noticed() -> None:
    sizes = iter([3, 3, 3, 4, 4, 4, 4])
    with pytest.raises(DataError, match="had 3 rows and 1 columns when it was read first and has 4"):
        read(lambda: iter([np.zeros((next(sizes), 1))]), np.zeros(3), None).X.collect()


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"a": ["text"]}, "column 'a' holds numbers in block 0 .* and text in block 1"),
        ({"a": [pd.Timestamp("2020-01-01")]}, "holds numbers in block 0 .* and dates without a time zone in block 1"),
        ({"b": [1.0]}, r"no column 'a' here.*\(In block 1 of X \(table 1 of the list\)"),
        ({"a": [np.inf]}, r"contains infinity.*column 'a', row 2.*In block 1"),
        ({"a": [1 + 2j]}, r"Complex data.*In block 1"),
    ],
)
def test_blocks_that_do_not_fit_are_named(second: dict[str, list[object]], message: str) -> None:
    with pytest.raises((DataError, DataTypeError), match=message):
        read([pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame(second)], [0, 1, 1], None).X.collect()


def test_a_table_without_values_or_rows_is_refused() -> None:
    with pytest.raises(DataError, match="Every value of X is missing"):
        read([np.full((3, 2), np.nan), np.full((2, 2), np.nan)], [0, 1, 0, 1, 1], None).binned()
    with pytest.raises(DataError, match="0 sample"):
        read([np.zeros((0, 2))], [], None)
    with pytest.raises(DataError, match="gives no table"):
        read(iter([]), [], None)
    with pytest.raises(DataError, match="There is no file or folder"):
        read("nowhere.parquet")
    with pytest.raises(DataError, match="same number of rows; got 5 and 4"):
        read([np.zeros((3, 2)), np.zeros((2, 2))], [0, 1, 0, 1], None)


def test_what_is_a_source() -> None:
    assert is_source("t.parquet")
    assert is_source(Path("t"))
    assert is_source([Path("a"), Path("b")])
    assert is_source(make_frame)
    assert is_source(iter([]))
    for table in ([[1.0]], [1.0], ["a text"], (), np.zeros((2, 2)), pd.DataFrame(), pa.table({}), None):
        assert not is_source(table)
    assert not is_source(range(3))
    assert not is_source({"a": [1]})
    assert not is_source([np.zeros(3), np.zeros(3)])


def test_a_lazy_frame_is_no_source() -> None:
    assert not is_source(pytest.importorskip("polars").LazyFrame())


def test_a_changed_byte_of_an_arrow_file_is_read_or_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    table = pa.table({"size": [1.0, 2.0, 3.0], "target": ["no", "yes", "no"]})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    whole = path.read_bytes()
    n_refused = 0
    for place in range(8, len(whole) - 10, 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            data = read(path, weights=None)
            data.X.collect()
        except DataError as error:
            n_refused += "t.arrow" in str(error)
    assert n_refused > 20
