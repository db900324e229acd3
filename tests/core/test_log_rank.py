"""Log-rank splits: the core's best split has the largest statistic of all, by the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.core.growth_cases import Case
from tests.naive.survival import log_rank


def draw_case(seed: int, n: int, n_times: int, **options: Any) -> tuple[Case, Any, Any]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 12, size=n), rng.normal(size=n).round(1), rng.integers(0, 2, size=n)]).astype(
        float
    )
    time = np.minimum(1 + (n_times * rng.random(n) ** np.exp(0.5 * X[:, 1])).astype(int), n_times)
    event = rng.random(n) < 0.6
    if options.pop("missing", False):
        X[rng.random(n) < 0.2, 1] = np.nan
    params = {"criterion": "log_rank", "max_depth": 1, **options.pop("params", {})}
    values = (2.0 * time + event)[:, None]
    return Case(X, values=values, params=params, **options), event, time.astype(float)


def split_rows(case: Case) -> Any:
    """The rows on the left of the root's split; None if there is none."""
    trees = case.grow_trees()[0]
    leaves = trees.apply(case.X, 1)[:, 0]
    return None if len(np.unique(leaves)) == 1 else leaves == leaves.min()


def find_best(case: Case, event: Any, time: Any, least: int = 1, weights: Any = None) -> float:
    """The largest statistic over all thresholds, with missing values on either side."""
    best = 0.0
    for column in case.X.T:
        missing = np.isnan(column)
        sides = [column <= value for value in np.unique(column[~missing])]
        for left in [own | also for own in sides for also in (missing & False, missing)]:
            if min(left.sum(), (~left).sum()) >= least:
                best = max(best, log_rank(event, time, left, weights))
    return best


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("n", "n_times"), [(5, 3), (12, 6), (60, 20), (150, 120), (400, 40)])
@pytest.mark.parametrize("seed", range(3))
def test_the_split_has_the_largest_statistic(seed: int, n: int, n_times: int, missing: bool) -> None:
    case, event, time = draw_case(seed, n, n_times, missing=missing)
    best, left = find_best(case, event, time), split_rows(case)
    if best == 0.0:
        assert left is None
    else:
        assert log_rank(event, time, left) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("n", [40, 300])
def test_limits_of_leaves_are_kept(n: int) -> None:
    case, event, time = draw_case(0, n, 30, params={"min_samples_leaf": n // 3})
    left = split_rows(case)
    assert min(left.sum(), (~left).sum()) >= n // 3
    assert log_rank(event, time, left) == pytest.approx(find_best(case, event, time, least=n // 3), rel=1e-6)


@pytest.mark.parametrize("n", [40, 300])
def test_weights_count_rows(n: int) -> None:
    weights = np.random.default_rng(3).integers(1, 4, size=n).astype(float)
    case, event, time = draw_case(1, n, 30, weights=weights)
    left = split_rows(case)
    best = find_best(case, event, time, weights=weights)
    assert log_rank(event, time, left, weights) == pytest.approx(best, rel=1e-6)
    repeats = np.repeat(np.arange(n), weights.astype(int))
    repeated = Case(case.X[repeats], values=case.values[repeats], params=case.params)
    np.testing.assert_array_equal(split_rows(repeated), left[repeats])
    scaled = Case(case.X, values=case.values, weights=8.0 * weights, params=case.params)
    np.testing.assert_array_equal(split_rows(scaled), left)


@pytest.mark.parametrize("n", [30, 200, 3000])
def test_the_order_of_the_rows_does_not_matter(n: int) -> None:
    case, _, _ = draw_case(2, n, 100, params={"max_depth": 6}, missing=True)
    order = np.random.default_rng(0).permutation(n)
    permuted = Case(case.X[order], values=case.values[order], params=case.params)
    leaves, others = (own.grow_trees()[0].apply(case.X, 1)[:, 0] for own in (case, permuted))
    np.testing.assert_array_equal(leaves, others)


@pytest.mark.parametrize("seed", range(3))
def test_two_categories_are_split_as_two_numbers(seed: int) -> None:
    case, event, time = draw_case(seed, 100, 30)
    codes = case.X[:, 2:]
    stump = Case(codes, values=case.values, n_levels=np.array([2], np.uint32), params=case.params)
    left = split_rows(stump)
    assert len(np.unique(codes[left])) == 1
    assert log_rank(event, time, left) == pytest.approx(log_rank(event, time, codes[:, 0] == 0), rel=1e-9)


def test_categories_with_late_events_are_separated() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 8, size=400)
    late = np.isin(codes, (1, 4, 6))
    time = np.where(late, rng.integers(20, 40, size=400), rng.integers(1, 20, size=400))
    stump = Case(
        codes[:, None].astype(float),
        values=(2.0 * time + 1.0)[:, None],
        n_levels=np.array([8], np.uint32),
        params={"criterion": "log_rank", "max_depth": 1},
    )
    left = split_rows(stump)
    assert np.array_equal(left, late) or np.array_equal(~left, late)


def test_rows_without_events_are_not_split() -> None:
    case, _, _ = draw_case(0, 50, 10)
    censored = Case(case.X, values=case.values - case.values % 2.0, params=case.params)
    assert split_rows(censored) is None
