"""Bins against their NumPy twin, and the contracts that hold for every table."""

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from committee._core import BinMapper, BinnedMatrix, save_bins, testing
from tests.naive import binning as naive

FLOAT32_MAX = float(np.finfo(np.float32).max)
SPECIAL = [0.0, -0.0, 1.0, 5e-324, -5e-324, 1e-323, 1e-45, 2.2e-308, 1.7e308, -1.7e308, FLOAT32_MAX, math.nan]
SPECIAL += [math.inf, -math.inf]


def fit(X: np.ndarray, weights: np.ndarray | None = None, max_bins: int = 255, n_jobs: int = 1) -> BinMapper:
    return BinMapper.fit(X, weights, np.zeros(X.shape[1], np.uint32), max_bins, n_jobs)


def draw_value(width: int) -> st.SearchStrategy[float]:
    with np.errstate(over="ignore"):
        special = [x for x in SPECIAL if width == 64 or float(np.float32(x)) == x or math.isnan(x)]
    plain = st.floats(allow_nan=True, width=width)
    return st.one_of(st.sampled_from(special), st.integers(-6, 6).map(float), plain)


@st.composite
def draw_table(draw: st.DrawFn, max_rows: int = 60, max_cols: int = 3) -> np.ndarray:
    """Any floats with many ties, infinities among them, in any layout that a caller may hold."""
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    shape = draw(st.integers(0, max_rows)), draw(st.integers(1, max_cols))
    table = draw(hnp.arrays(dtype, shape, elements=draw_value(np.dtype(dtype).itemsize * 8)))
    layout = draw(st.sampled_from(["C", "F", "reversed", "sliced", "readonly"]))
    if layout == "F":
        return np.asfortranarray(table)
    if layout == "reversed":
        return table[::-1, ::-1]
    if layout == "sliced":
        wide = np.zeros((2 * shape[0] + 1, 3 * shape[1]), dtype)
        wide[1::2, ::3] = table
        return wide[1::2, ::3]
    table.flags.writeable = layout != "readonly"
    return table


@st.composite
def draw_ragged_weights(draw: st.DrawFn, n_rows: int) -> np.ndarray:
    """Weights in steps of 1/8, zeros among them: sums that are exact for the twin too."""
    steps = draw(hnp.arrays(np.int64, n_rows, elements=st.sampled_from([0, 1, 1, 2, 3, 8, 40, 999])))
    return steps / 8


def assert_same_bins(mapper: BinMapper, col: int, expected: naive.NaiveBins) -> None:
    assert mapper.n_bins[col] == len(expected.low)
    np.testing.assert_array_equal(mapper.thresholds(col), expected.thresholds)
    np.testing.assert_array_equal(mapper.low(col), expected.low)
    np.testing.assert_array_equal(mapper.high(col), expected.high)
    assert mapper.has_missing[col] == expected.has_missing


def assert_same_mapper(a: BinMapper, b: BinMapper) -> None:
    np.testing.assert_array_equal(a.n_bins, b.n_bins)
    np.testing.assert_array_equal(a.has_missing, b.has_missing)
    for c in range(len(a.n_bins)):
        for part in ("thresholds", "low", "high"):
            assert getattr(a, part)(c).tobytes() == getattr(b, part)(c).tobytes()


def read_records(matrix: BinnedMatrix) -> np.ndarray:
    rows = [matrix.record(i) for i in range(matrix.n_rows)]
    return np.array(rows, dtype=np.uint8).reshape(matrix.n_rows, matrix.n_cols)


@settings(max_examples=150, deadline=None)
@given(st.data(), draw_table(), st.integers(2, 12), st.booleans())
def test_bins_equal_the_twin(data: st.DataObject, X: np.ndarray, max_bins: int, weighted: bool) -> None:
    weights = data.draw(draw_ragged_weights(len(X))) if weighted else None
    mapper = fit(X, weights, max_bins)
    matrix = mapper.transform(X, 1)
    for c in range(X.shape[1]):
        expected = naive.learn_column(X[:, c], weights, max_bins)
        assert_same_bins(mapper, c, expected)
        np.testing.assert_array_equal(matrix.columns[c], naive.bin_column(expected, X[:, c]))
    np.testing.assert_array_equal(read_records(matrix), matrix.columns.T)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 17, 64, 255]), st.sampled_from(["f4", "f8"]))
def test_bins_of_longer_columns_equal_the_twin(seed: int, max_bins: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 1500))
    shapes = [rng.normal(size=n), rng.geometric(0.02, n), np.exp(3 * rng.normal(size=n)), rng.integers(0, 300, n) ** 3]
    # Whole numbers of a short range; the same but for one of them; zeros of both signs.
    whole = rng.integers(-200, 200, n) + float(rng.choice([0, 3, 2**19, -(2**20), 2**23]))
    shapes += [whole, np.where(np.arange(n) == n - 1, 0.5, whole), np.where(rng.random(n) < 0.5, -0.0, whole % 3)]
    X = np.array(shapes).T.astype(dtype)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[rng.random(n) < rng.random(), 0] = 7.0  # a heavy value
    weights = rng.integers(0, 4, n) * 0.25 if rng.random() < 0.5 else None
    mapper = fit(X, weights, max_bins)
    matrix = mapper.transform(X, 1)
    for c in range(X.shape[1]):
        expected = naive.learn_column(X[:, c], weights, max_bins)
        assert_same_bins(mapper, c, expected)
        np.testing.assert_array_equal(matrix.columns[c], naive.bin_column(expected, X[:, c]))


@settings(max_examples=200, deadline=None)
@given(st.lists(draw_value(64), min_size=1, max_size=40), st.lists(draw_value(64), max_size=20), st.integers(2, 9))
def test_a_bin_answers_the_same_question_as_its_threshold(
    train: list[float], asked: list[float], max_bins: int
) -> None:
    mapper = fit(np.array(train)[:, None], max_bins=max_bins)
    thresholds = mapper.thresholds(0)
    around = [y for t in thresholds for y in (t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf))]
    values = np.array([*train, *asked, *around, np.inf, -np.inf])
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    for x in (values, narrow):
        bins = mapper.transform(x[:, None], 1).columns[0].astype(int)
        present = ~np.isnan(x)
        assert np.all(bins[~present] == naive.MISSING_BIN)
        for b, t in enumerate(thresholds):
            np.testing.assert_array_equal(bins[present] <= b, x[present].astype(np.float64) <= t)


@settings(max_examples=300, deadline=None)
@given(draw_value(64), draw_value(64))
@example(1.7e308, 1.797e308)
@example(-1.797e308, 1.797e308)
@example(5e-324, 1e-323)
@example(1.0, math.nextafter(1.0, 2.0))
@example(FLOAT32_MAX, 1e300)
@example(-1e300, -FLOAT32_MAX)
@example(0.1, 0.1 + 1e-9)
@example(-math.inf, math.inf)
@example(-math.inf, -1e300)
@example(1e300, math.inf)
def test_a_threshold_parts_its_neighbours(a: float, b: float) -> None:
    if not a < b:
        a, b = b, a
    if not a < b:
        return  # equal, or missing
    t = testing.choose_threshold(a, b)
    assert a <= t < b
    assert t == naive.choose_threshold(a, b)
    with np.errstate(over="ignore"):
        lowest = np.float32(a)
        if float(lowest) < a:
            lowest = np.nextafter(lowest, np.float32(np.inf))
        assert (float(lowest) < b) == (float(np.float32(t)) == t)


@settings(max_examples=100, deadline=None)
@given(st.data(), draw_table(), st.integers(2, 8))
def test_a_weight_is_a_repetition(data: st.DataObject, X: np.ndarray, max_bins: int) -> None:
    counts = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(0, 5)))
    weighted = fit(X, counts.astype(np.float64), max_bins)
    assert_same_mapper(weighted, fit(np.repeat(X, counts, axis=0), None, max_bins))
    for factor in (2.0**-900, 0.25, 2.0**40):
        assert_same_mapper(weighted, fit(X, counts * factor, max_bins))


@settings(max_examples=100, deadline=None)
@given(st.data(), draw_table(), st.integers(2, 8))
def test_the_order_of_rows_does_not_matter(data: st.DataObject, X: np.ndarray, max_bins: int) -> None:
    weights = np.random.default_rng(len(X)).random(len(X))
    order = np.array(data.draw(st.permutations(range(len(X)))), dtype=np.intp)
    assert_same_mapper(fit(X, weights, max_bins), fit(X[order], weights[order], max_bins))


def test_few_values_are_exact_and_zeros_are_one() -> None:
    X = np.array([[3.0], [-0.0], [0.0], [np.nan], [1.5], [3.0]])
    mapper = fit(X, max_bins=3)
    assert mapper.low(0).tolist() == mapper.high(0).tolist() == [0.0, 1.5, 3.0]
    assert not np.signbit(mapper.low(0)[0])
    assert mapper.thresholds(0).tolist() == [0.75, 2.25]
    assert mapper.transform(X, 1).columns[0].tolist() == [2, 0, 0, 255, 1, 2]


@pytest.mark.parametrize(
    ("column", "n_bins", "missing"), [([np.nan] * 3, 0, True), ([2.5] * 3, 1, False), ([], 0, False)]
)
def test_columns_with_nothing_to_split(column: list[float], n_bins: int, missing: bool) -> None:
    X = np.array(column).reshape(-1, 1)
    mapper = fit(X)
    assert mapper.n_bins[0] == n_bins
    assert mapper.has_missing[0] == missing
    assert len(mapper.thresholds(0)) == 0
    assert mapper.transform(np.array([[1.0], [np.nan]]), 1).columns[0].tolist() == [0, 255]


def test_heavy_values_waste_no_bins() -> None:
    rng = np.random.default_rng(0)
    column = np.where(rng.random(20_000) < 0.9, 0.0, rng.normal(size=20_000))
    mapper = fit(column[:, None], max_bins=64)
    bins = mapper.transform(column[:, None], 1).columns[0]
    counts = np.bincount(bins, minlength=64)
    alone = bins[column == 0.0][0]
    assert mapper.n_bins[0] == 64
    assert mapper.low(0)[alone] == mapper.high(0)[alone] == 0.0
    others = np.delete(counts, alone)
    assert others.max() <= 1.3 * others.mean()


def test_the_ends_of_a_column_have_narrow_bins() -> None:
    column = np.random.default_rng(0).normal(size=50_000)
    counts = np.bincount(fit(column[:, None], max_bins=255).transform(column[:, None], 1).columns[0], minlength=255)
    for tail in (counts[:42], counts[:-43:-1]):
        assert (tail[:8] == 1).all()
        assert (np.diff(tail) >= 0).all()
        assert (tail <= 1 + np.cumsum(tail) / 8).all()
    inner = counts[42:-42]
    assert inner.max() - inner.min() <= 1


@pytest.mark.parametrize("max_bins", [5, 8, 11, 20])
def test_more_stretches_than_bins(max_bins: int) -> None:
    """Light values between heavy ones, too many for a bin each: the lightest join a heavy neighbour."""
    weights = np.where(np.arange(21) % 2, 500.0, 1.0 + np.arange(21) % 5)
    column = np.arange(21.0)
    mapper = fit(column[:, None], weights, max_bins)
    assert mapper.n_bins[0] == max_bins
    assert_same_bins(mapper, 0, naive.learn_column(column, weights, max_bins))


def make_tall_table() -> np.ndarray:
    """More rows than the sample: continuous, few values, a rare value, rare missing, missing but for a few."""
    n = 450_001
    rng = np.random.default_rng(5)
    X = np.column_stack(
        [rng.normal(size=n), rng.integers(0, 200, n), np.zeros(n), rng.normal(size=n), np.full(n, np.nan)]
    )
    outside = np.setdiff1d(np.arange(n), naive.sample_rows(n))
    X[outside[7], 2] = 1.0
    X[outside[8], 0] = -99.0
    X[outside[9], 3] = np.nan
    X[outside[10:300], 4] = np.arange(290)
    return X.astype(np.float32)


def test_more_rows_than_the_sample() -> None:
    X = make_tall_table()
    mapper = fit(X)
    for c in range(4):
        assert_same_bins(mapper, c, naive.learn_column(X[:, c], None, 255))
    assert mapper.n_bins.tolist() == [255, 200, 2, 255, 1]
    assert mapper.low(0)[0] == -99.0
    assert (mapper.low(4).tolist(), mapper.high(4).tolist()) == ([0.0], [289.0])
    weights = np.ones(len(X))
    weights[::3] = 0.0
    for n_jobs in (1, 2, 7):
        assert_same_mapper(fit(X, weights, n_jobs=n_jobs), fit(X[weights > 0]))


def test_categories_that_are_missing_outside_the_sample() -> None:
    n = 400_001
    X = np.zeros((n, 2), dtype=np.float32)
    outside = np.setdiff1d(np.arange(n), naive.sample_rows(n))
    X[outside[[0, -1]], 1] = np.nan
    for n_jobs in (1, 7):
        mapper = BinMapper.fit(X, None, np.array([2, 2], dtype=np.uint32), 255, n_jobs)
        assert mapper.has_missing.tolist() == [False, True]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_any_number_of_threads_gives_the_same_bytes(dtype: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30_011, 70)).astype(dtype)
    X[:, 3] = rng.integers(0, 1000, len(X))
    X[rng.random(X.shape) < 0.01] = np.nan
    levels = np.zeros(70, np.uint32)
    levels[3] = 900
    weights = rng.random(len(X))
    mapper = BinMapper.fit(X, weights, levels, 255, 1)
    matrix = mapper.transform(X, 1)
    for n_jobs in (2, 5):
        for A in (X, np.asfortranarray(X)):
            other = BinMapper.fit(A, weights, levels, 255, n_jobs)
            assert_same_mapper(mapper, other)
            again = other.transform(A, n_jobs)
            assert again.columns.tobytes() == matrix.columns.tobytes()
            assert again.wide_codes(3).tobytes() == matrix.wide_codes(3).tobytes()
            for row in (0, 1, 8191, 8192, 30_010):
                np.testing.assert_array_equal(again.record(row), matrix.columns[:, row])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_levels", [0, 200, 900])  # 900: no byte
@pytest.mark.parametrize("n_rows", [0, 1, 700, 30_011, 200_003])  # the last are more than the sample
def test_learning_and_binning_at_once(n_rows: int, n_levels: int, weighted: bool) -> None:
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, 19)).astype(np.float32)
    X[:, 3] = rng.integers(0, 1000, n_rows)
    X[rng.random(X.shape) < 0.01] = np.nan
    levels = np.zeros(19, np.uint32)
    levels[3] = n_levels
    weights = rng.integers(0, 3, n_rows) / 2 if weighted else None
    mapper = BinMapper.fit(X, weights, levels, 255, 1)
    matrix = mapper.transform(X, 1)
    for n_jobs in (1, 4):
        for A in (X, np.asfortranarray(X)):
            both = BinMapper.fit_transform(A, weights, levels, 255, n_jobs)
            assert save_bins(both.mapper) == save_bins(mapper)
            assert both.columns.tobytes() == matrix.columns.tobytes()
            assert both.wide_codes(3).tobytes() == matrix.wide_codes(3).tobytes()


@pytest.mark.parametrize(
    ("n_cols", "strides"), [(1, [16]), (16, [16]), (17, [32]), (33, [64]), (65, [64, 16]), (150, [64, 64, 32])]
)
def test_records_hold_the_columns(n_cols: int, strides: list[int]) -> None:
    X = np.random.default_rng(n_cols).normal(size=(77, n_cols))
    matrix = fit(X).transform(X, 1)
    assert matrix.record_strides.tolist() == strides
    assert matrix.nbytes == 128 * n_cols  # records are made when first read
    np.testing.assert_array_equal(read_records(matrix), matrix.columns.T)
    assert matrix.nbytes == 128 * n_cols + sum(77 * s + 64 for s in strides)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from([1, 2, 254, 255, 256, 1000]), st.sampled_from([np.float32, np.float64]))
def test_categories_keep_their_codes(data: st.DataObject, n_levels: int, dtype: Any) -> None:
    odd = st.sampled_from([math.nan, -1.0, -0.0, 0.5, float(n_levels), n_levels - 1.0, 2.0**100, math.inf, -math.inf])
    code = st.one_of(st.integers(0, n_levels - 1).map(float), odd)
    column = data.draw(hnp.arrays(dtype, st.integers(0, 50), elements=code))
    mapper = BinMapper.fit(column[:, None], None, np.array([n_levels], np.uint32), 255, 1)
    matrix = mapper.transform(column[:, None], 1)
    codes = naive.bin_codes(column, n_levels)
    missing = codes == naive.MISSING_CODE
    assert mapper.is_categorical[0]
    assert mapper.n_bins[0] == n_levels
    assert mapper.has_missing[0] == missing.any()
    if n_levels > 255:
        np.testing.assert_array_equal(matrix.wide_codes(0), codes)
        np.testing.assert_array_equal(matrix.columns[0], np.where(missing, 255, 0))
    else:
        assert len(matrix.wide_codes(0)) == 0
        np.testing.assert_array_equal(matrix.columns[0], np.where(missing, 255, codes))


def test_views_are_read_only_and_outlive_their_matrix() -> None:
    columns = fit(np.eye(3)).transform(np.eye(3), 1).columns
    assert columns.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        columns[0, 0] = 9


def test_misfits_get_a_sentence() -> None:
    X, none = np.ones((4, 2)), np.zeros(2, np.uint32)
    with pytest.raises(ValueError, match="2-d array"):
        BinMapper.fit(np.ones(3), None, none, 255, 1)
    with pytest.raises(ValueError, match="float32 or float64"):
        BinMapper.fit(X.astype(np.int64), None, none, 255, 1)
    with pytest.raises(ValueError, match="one entry a row: 4 rows, 3 weights"):
        BinMapper.fit(X, np.ones(3), none, 255, 1)
    with pytest.raises(ValueError, match="one entry a column: 2 columns, 1 entries"):
        BinMapper.fit(X, None, none[:1], 255, 1)
    for max_bins in (1, 256):
        with pytest.raises(ValueError, match=f"max_bins must lie in 2 .. 255; got {max_bins}"):
            BinMapper.fit(X, None, none, max_bins, 1)
    with pytest.raises(ValueError, match="X has 3 columns, but bins were learnt for 2"):
        fit(X).transform(np.ones((4, 3)), 1)
    with pytest.raises(IndexError):
        fit(X).thresholds(2)


@pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer's operator new never throws")
@pytest.mark.parametrize("shape", [(2**46, 2), (2**59, 2)])
def test_a_table_that_does_not_fit_is_a_memory_error(shape: tuple[int, int]) -> None:
    mapper = fit(np.ones((2, 2), np.float32))
    with pytest.raises(MemoryError):
        mapper.transform(np.broadcast_to(np.float32(1), shape), 1)


KEPT_MEMORY = """
import numpy as np
from pathlib import Path
from committee._core import BinMapper
def count_pages():
    return int(Path("/proc/self/statm").read_text().split()[1])
X = np.random.default_rng(0).random((150_000, 32))
levels = np.zeros(32, np.uint32)
BinMapper.fit(X[:100], None, levels, 255, 2)
# What was freed before must not hide what is kept now.
before = count_pages()
for _ in range(2):
    mapper = BinMapper.fit(X, None, levels, 255, 2)
print((count_pages() - before) * 4096 / 2**20)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the resident size from /proc")
def test_room_for_sorting_goes_back_to_the_system() -> None:
    """It is many megabytes a thread, which the C library would keep until the peak of the fit."""
    run = subprocess.run([sys.executable, "-c", KEPT_MEMORY], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 4.0
