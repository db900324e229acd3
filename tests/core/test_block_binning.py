"""Bins that are learnt from blocks: the bytes of the whole table."""

import pickle
from collections.abc import Sequence

import numpy as np
import pytest

from committee import _core

ROWS = 210_000  # more than the sample of 200,000


def make_columns(dtype: type) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.normal(size=ROWS),
            rng.integers(0, 50, ROWS),
            np.where(np.arange(ROWS) < ROWS - 3, 1.0, [[7.0], [np.nan], [9.0]][0]),
            rng.integers(0, 300, ROWS) / 7.0,
            np.full(ROWS, np.nan),
            rng.integers(0, 6, ROWS),
        ]
    ).astype(dtype)
    X[rng.random(ROWS) < 0.01, 0] = np.nan
    X[-2:, 2] = [np.nan, 9.0]
    X[-1, 3] = -1e9
    return X


def bin_in_blocks(
    X: np.ndarray, weights: np.ndarray | None, n_levels: np.ndarray, cuts: Sequence[int], *, merged: bool
) -> _core.BinnedMatrix:
    rows, own, complete = _core.choose_bin_sample(len(X), weights)
    sample = np.asfortranarray(X[rows.astype(np.intp)])
    summary = None if complete else _core.TableSummary(X.dtype == np.float64, n_levels, 255)
    spans = list(zip([0, *cuts], [*cuts, len(X)], strict=True))
    for start, stop in reversed(spans) if merged else spans:
        part = summary if not merged else _core.TableSummary(X.dtype == np.float64, n_levels, 255)
        if part is None or summary is None:
            continue
        part.add(X[start:stop], None if weights is None else weights[start:stop], 1)
        if merged:
            summary.merge(pickle.loads(pickle.dumps(part)))
    mapper = _core.learn_bins(sample, own, n_levels, 255, summary, 1)
    builder = _core.BinnedBuilder(pickle.loads(pickle.dumps(mapper)), len(X))
    for start, stop in spans:
        builder.write(X[start:stop], start, 1)
    return builder.finish()


def same_bins(a: _core.BinnedMatrix, b: _core.BinnedMatrix) -> bool:
    return np.array_equal(a.columns, b.columns) and _core.save_bins(a.mapper) == _core.save_bins(b.mapper)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["none", "fractions", "counts"])
@pytest.mark.parametrize("merged", [False, True])
def test_blocks_give_the_bins_of_the_whole_table(dtype: type, kind: str, merged: bool) -> None:
    X = make_columns(dtype)
    rng = np.random.default_rng(1)
    weights = {"none": None, "fractions": rng.random(ROWS).round(1), "counts": rng.integers(0, 3, ROWS) * 1.0}[kind]
    n_levels = np.array([0, 0, 0, 0, 0, 6], dtype=np.uint32)
    whole = _core.BinMapper.fit(X, weights, n_levels, 255, 1).transform(X, 1)
    found = bin_in_blocks(X, weights, n_levels, [1, 1, 70_001, 209_999], merged=merged)
    assert same_bins(found, whole)


def test_a_small_table_needs_no_summary() -> None:
    X = make_columns(np.float64)[:1000]
    n_levels = np.zeros(6, dtype=np.uint32)
    rows, own, complete = _core.choose_bin_sample(len(X), None)
    assert complete
    assert own is None
    assert np.array_equal(rows, np.arange(1000))
    whole = _core.BinMapper.fit(X, None, n_levels, 255, 1).transform(X, 1)
    assert same_bins(bin_in_blocks(X, None, n_levels, [400], merged=False), whole)


def test_a_wide_category_is_written_in_blocks() -> None:
    X = np.arange(600.0)[:, None]
    X[5] = np.nan
    n_levels = np.array([600], dtype=np.uint32)
    whole = _core.BinMapper.fit(X, None, n_levels, 255, 1).transform(X, 1)
    found = bin_in_blocks(X, None, n_levels, [100, 350], merged=False)
    assert same_bins(found, whole)
    assert np.array_equal(found.wide_codes(0), whole.wide_codes(0))


def test_blocks_must_add_up_to_the_table() -> None:
    mapper = _core.BinMapper.fit(np.zeros((4, 1)), None, np.zeros(1, dtype=np.uint32), 255, 1)
    builder = _core.BinnedBuilder(mapper, 4)
    builder.write(np.zeros((3, 1)), 0, 1)
    with pytest.raises(ValueError, match="row 3 is missing"):
        builder.finish()
    with pytest.raises(ValueError, match="ends after the last row"):
        builder.write(np.zeros((2, 1)), 3, 1)
    with pytest.raises(ValueError, match="2 columns"):
        builder.write(np.zeros((1, 2)), 3, 1)


@pytest.mark.parametrize("cut", [0, 3, 11, 40, -1])
def test_damaged_bins_are_refused(cut: int) -> None:
    mapper = _core.BinMapper.fit(np.arange(9.0)[:, None], None, np.zeros(1, dtype=np.uint32), 255, 1)
    saved = _core.save_bins(mapper)
    with pytest.raises(ValueError, match="damaged"):
        _core.load_bins(saved[:cut])
    with pytest.raises(ValueError, match="damaged"):
        _core.load_bins(saved + b"0")


def test_bins_out_of_order_are_refused() -> None:
    mapper = _core.BinMapper.fit(np.arange(3.0)[:, None], None, np.zeros(1, dtype=np.uint32), 255, 1)
    saved = _core.save_bins(mapper)
    swapped = saved.replace(np.float64(0.5).tobytes(), np.float64(2.5).tobytes())
    assert swapped != saved
    with pytest.raises(ValueError, match="damaged"):
        _core.load_bins(swapped)
