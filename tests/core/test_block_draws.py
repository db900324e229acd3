"""What is drawn by the place of a row: blocks of rows draw their part of what the whole table draws."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee import _core

KINDS = ("bootstrap", "pasting", "weighted", "weighted pasting", "strata", "groups", "all")


def plan(kind: str, n: int, n_draws: int, seed: int) -> _core.RowSampling:
    rng = np.random.default_rng(seed)
    sampling = _core.RowSampling()
    sampling.n_draws, sampling.replace = n_draws, "pasting" not in kind
    weights: Any = rng.integers(0, 4, n).astype(float) if seed % 2 else rng.random(n)
    weights[: max(1, n_draws)] += 1.0
    if "weighted" in kind:
        sampling.weights = weights
    if kind in ("strata", "groups"):
        strata: Any = (np.arange(n) % 3).astype(np.uint32)
        sampling.strata, sampling.whole_groups = strata, kind == "groups"
        sampling.stratum_draws = [] if kind == "groups" else [min(2, int((strata == s).sum())) for s in range(3)]
    if kind == "all":
        sampling.n_draws = 0
    return sampling


@given(st.sampled_from(KINDS), st.integers(3, 200), st.floats(0.1, 1.0), st.integers(0, 50), st.integers(1, 17))
@settings(max_examples=120)
def test_slices_equal_the_whole(kind: str, n: int, share: float, seed: int, n_blocks: int) -> None:
    sampling = plan(kind, n, max(1, int(share * n)), seed)
    whole = _core.draw_rows(sampling, seed, 5, n)
    cuts = [0, *np.sort(np.random.default_rng(seed).integers(0, n + 1, n_blocks - 1)).tolist(), n]
    parts = [_core.draw_block_rows(sampling, seed, 5, n, first, last) for first, last in itertools.pairwise(cuts)]
    assert np.array_equal(np.concatenate(parts), whole)


def test_rows_beyond_the_table_are_refused() -> None:
    sampling = _core.RowSampling()
    with pytest.raises(ValueError, match="within the table"):
        _core.draw_block_rows(sampling, 0, 0, 10, 5, 11)
    with pytest.raises(ValueError, match="before the first"):
        _core.draw_block_rows(sampling, 0, 0, 10, 5, 4)


@given(st.lists(st.integers(0, 6).map(float), min_size=1, max_size=60), st.integers(0, 60), st.integers(1, 5))
@settings(max_examples=80)
def test_the_largest_by_counting(sizes: list[float], n_top: int, n_blocks: int) -> None:
    """Rows with the largest gradients, equal ones in the order of the rows: by a rank and counts of the blocks."""
    n, values = len(sizes), np.array(sizes)
    n_top = min(n_top, n)
    expected = np.zeros(n, dtype=bool)
    expected[sorted(range(n), key=lambda i: (-sizes[i], i))[:n_top]] = True
    if n_top == 0:
        return
    search = _core.QuantileSearch.at_ranks([n - n_top + 1], 8)
    blocks = np.array_split(values, n_blocks)
    while not search.finished:
        search.take(np.sum([_core.count_digits(search.step, 0, part, None) for part in blocks], axis=0))
    border = search.values[0]
    n_equal = n_top - sum(int((part > border).sum()) for part in blocks)
    found = []
    for part in blocks:  # equal ones of blocks before count first
        equal = np.flatnonzero(part == border)[:n_equal]
        own = part > border
        own[equal] = True
        n_equal -= len(equal)
        found.append(own)
    assert np.array_equal(np.concatenate(found), expected)
