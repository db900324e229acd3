"""The short ways through frames read what the general one does."""

from typing import Any

import numpy as np
import pytest

from committee.data import frames
from tests.data.intake_cases import NAN, assert_same, take

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

WIDE = {"text": ["u", "v", None], "single": np.array([1, 2, 3], "f4"), "truth": [True, False, True], "whole": [1, 2, 3]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_columns_of_numbers_and_text_are_read_without_a_detour(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each column that is wrapped for the general way costs 80 microseconds and more."""
    wrapped: list[str] = []
    general = frames._read_series

    def count(series: Any, where: str) -> Any:
        wrapped.append(where)
        return general(series, where)

    monkeypatch.setattr(frames, "_read_series", count)
    data = take(frame(WIDE))
    assert wrapped == (["column 'text'"] if frame is pd.DataFrame else [])
    assert_same(data, [[0, 1, 1, 1], [1, 2, 0, 2], [NAN, 3, 1, 3]], [["u", "v"], None, None, None])
    assert data.X.dtype == np.float64
    assert take(frame({name: WIDE[name] for name in ("text", "single", "truth")})).X.dtype == np.float32


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("names", [list(WIDE), ["single", "truth"], ["whole", "truth"], ["single"]], ids="-".join)
def test_rows_of_a_frame_that_was_read_once(frame: Any, names: list[str]) -> None:
    rows = np.array([2, 0, 0])
    read = frames.read_frame(frame({name: WIDE[name] for name in names})).take_rows(rows)
    alone = frame({name: [WIDE[name][k] for k in rows] if name != "single" else WIDE[name][rows] for name in names})
    first, second = take(read), take(alone)
    np.testing.assert_array_equal(first.X, second.X)
    assert first.X.dtype == second.X.dtype
    assert first.schema.feature_names == second.schema.feature_names == tuple(names)
    for mine, theirs in zip(first.schema.categories, second.schema.categories, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("rows", [slice(0, 1), slice(0, 40), slice(0, 0)], ids=["one row", "all rows", "no rows"])
@pytest.mark.parametrize(
    "chosen",
    [["a", "i"], ["f"], ["f", "b"], ["a", "b", "k", "n"], ["k"], ["b"], ["u", "k"], ["a", "t"], ["a", "N"], ["a", "o"]],
    ids="".join,
)
def test_pandas_is_read_alike_by_both_ways(chosen: list[str], rows: slice, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short way for plain columns gives what the general one does."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": np.where(rng.random(40) < 0.2, np.nan, rng.normal(size=40)),
            "i": rng.integers(-5, 5, 40),
            "u": rng.integers(0, 5, 40).astype(np.uint8),
            "f": rng.normal(size=40).astype(np.float32),
            "b": rng.random(40) < 0.5,
            "k": pd.Categorical(rng.choice(["x", "y", None], 40), categories=["y", "z", "x"]),
            "n": pd.Categorical(rng.choice([3, 1, 2], 40), categories=[3, 2, 1]),
            "t": rng.choice(["p", "q"], 40),
            "N": pd.array([1, None] * 20, dtype="Int64"),
            "o": np.array([1, 2.5] * 20, dtype=object),
        }
    )[chosen].iloc[rows]
    short = frames.read_columns(frame)
    monkeypatch.setattr(frames, "_read_pandas", lambda X: None)
    general = frames.read_columns(frame)
    assert (short.names, short.n_rows, short.n_features) == (general.names, general.n_rows, general.n_features)
    for one, other in zip(short.split_columns(), general.split_columns(), strict=True):
        assert one.where == other.where
        assert (one.levels is None) == (other.levels is None)
        assert one.neutral == other.neutral or short.matrix is not None
        if one.levels is None:
            np.testing.assert_array_equal(one.as_numbers(), other.as_numbers())
            assert one.as_numbers().dtype == other.as_numbers().dtype
        else:
            np.testing.assert_array_equal(one.levels, other.levels)
            np.testing.assert_array_equal(one.codes, other.codes)
