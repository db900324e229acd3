"""Read-ahead of blocks: the next one is announced to the system, and the models are the same."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import committee
from committee.data.blocks import binned_file
from committee.data.sources import parquet
from committee.data.sources.parquet import FileSource
from committee.data.sources.read_ahead import advise_columns, list_group_ranges

pa = pytest.importorskip("pyarrow", reason="Parquet is read with it")
pytestmark = pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system takes no such hints")

N = 4000


def make_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 6)), columns=list("abcdef"))
    return frame.assign(y=frame["a"] + frame["b"] * frame["c"])


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of four groups of rows, each of which is a block."""
    monkeypatch.setattr(parquet, "_BLOCK_VALUES", 7 * N // 4)
    make_frame().to_parquet(tmp_path / "rows.parquet", row_group_size=N // 4, index=False)
    return tmp_path / "rows.parquet"


def watch_hints(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges of bytes (start, end) that are announced, as they come."""
    found: list[tuple[int, int]] = []

    def take(_: int, start: int, length: int, advice: int) -> None:
        assert advice == os.POSIX_FADV_WILLNEED
        found.append((start, start + length))

    monkeypatch.setattr(os, "posix_fadvise", take)
    return found


def find_bounds(path: Path, group: int, columns: list[str] | None) -> tuple[int, int]:
    ranges = list_group_ranges(pa.parquet.ParquetFile(path).metadata, [group], columns)
    return min(start for start, _ in ranges), max(end for _, end in ranges)


@pytest.mark.parametrize("columns", [None, ["b", "c"]])
def test_the_next_group_of_rows_is_announced(
    columns: list[str] | None, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, hints = FileSource([str(path)]), watch_hints(monkeypatch)
    assert source.n_blocks == 4
    for block in range(4):
        source.load(block, columns)
        if block < 3:
            assert hints.pop() == find_bounds(path, block + 1, columns)
        assert not hints
    source.load(2, columns)  # what comes next is not known
    assert not hints


def test_hints_do_not_change_a_model(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(X: Any) -> bytes:
        model = committee.HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(X, "y")
        committee.save(model, path.parent / "model.committee")
        return (path.parent / "model.committee").read_bytes()

    expected, hints = fit(make_frame()), watch_hints(monkeypatch)
    assert fit(path) == expected
    assert hints
    monkeypatch.undo()
    assert fit(path) == expected


class WatchedMap:
    """Memory that notes the hints about it."""

    def __init__(self, memory: mmap.mmap) -> None:
        self.memory, self.hints = memory, []

    def __len__(self) -> int:
        return len(self.memory)

    def madvise(self, advice: int, start: int, length: int) -> None:
        self.memory.madvise(advice, start, length)  # refuses what is no page of it
        self.hints.append((start, start + length))


@pytest.mark.parametrize("offset", [0, 64, 12_352])
def test_the_next_rows_of_mapped_bins_are_announced(offset: int, tmp_path: Path) -> None:
    n_rows, page = 200_000, mmap.PAGESIZE
    (tmp_path / "bins").write_bytes(bytes(offset + 3 * n_rows))
    held = np.memmap(tmp_path / "bins", np.uint8, "r", offset, (3, n_rows))
    watched = WatchedMap(held._mmap)  # type: ignore[attr-defined]
    held._mmap = watched  # type: ignore[attr-defined]
    advise_columns(held, 100_000, 110_000)
    within = offset % mmap.ALLOCATIONGRANULARITY
    starts = [within + k * n_rows + 100_000 for k in range(3)]
    assert watched.hints == [(start - start % page, start + 10_000) for start in starts]
    advise_columns(held, n_rows, n_rows)
    assert len(watched.hints) == 3
    advise_columns(np.zeros((3, 10)), 0, 5)  # not mapped


def test_fits_on_files_of_bins_read_ahead(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binned_file, "_ROWS_AT_ONCE", 1500)
    committee.bin_table(path, path.parent / "rows.bins", ["y"])
    bins, asked = committee.BinnedFile(path.parent / "rows.bins"), []
    monkeypatch.setattr(binned_file, "advise_columns", lambda held, first, last: asked.append((first, last)))
    model = committee.HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(bins, "y")
    assert asked[::2] == [(1500, 3000), (3000, 4000), (4000, 4000)]
    monkeypatch.undo()
    plain = committee.HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(make_frame(), "y")
    table = make_frame().drop(columns="y")
    assert np.array_equal(model.predict(table), plain.predict(table))
