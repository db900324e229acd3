"""Sums without rounding against fractions, quantiles by counting against sorting: any order, any blocks."""

from __future__ import annotations

from math import fsum, inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from committee import _core
from tests.naive import exact as naive

finite = st.floats(allow_nan=False, allow_infinity=False)
extremes = st.sampled_from(
    [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1.0, 2.0**-1000]
)
numbers = st.one_of(finite, extremes, st.floats(-10.0, 10.0))


def array(values: object) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)


def total(terms: object, factors: object = None) -> float:
    return _core.round_exact(_core.sum_exactly(array(terms), None if factors is None else array(factors)))


def same(a: float, b: float) -> bool:
    return (isnan(a) and isnan(b)) or a == b


@given(st.lists(numbers, max_size=600))
@settings(max_examples=150)
def test_a_sum_is_rounded_once(terms: list[float]) -> None:
    assert total(terms) == naive.round_fraction(naive.sum_fractions(terms))


@given(st.lists(st.tuples(numbers, numbers), max_size=300))
@settings(max_examples=150)
def test_a_sum_of_products_is_rounded_once(pairs: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    assert total(a, b) == naive.round_fraction(naive.sum_fractions(a, b))


@pytest.mark.parametrize("spread", [0.0, 3.0, 40.0, 300.0])
@pytest.mark.parametrize("n", [1, 255, 256, 257, 5000])
def test_many_terms_of_any_size(n: int, spread: float) -> None:
    rng = np.random.default_rng(n)
    terms = rng.normal(size=n) * 2.0 ** rng.uniform(-spread, spread, n)
    assert total(terms) == fsum(terms)
    cancelled = np.concatenate([terms, -terms[::-1], terms[:1]])
    assert total(cancelled) == terms[0]
    weights = rng.gamma(0.3, size=n)
    assert total(terms, weights) == naive.round_fraction(naive.sum_fractions(terms.tolist(), weights.tolist()))


@given(st.lists(st.one_of(numbers, st.sampled_from([inf, -inf, nan])), min_size=1, max_size=20))
def test_terms_that_are_not_finite(terms: list[float]) -> None:
    special = naive.find_special(terms)
    assert same(total(terms), naive.round_fraction(naive.sum_fractions(terms)) if special is None else special)


def test_products_that_are_not_finite() -> None:
    assert isnan(total([inf, 1.0], [0.0, 1.0]))
    assert total([inf, 1.0], [-2.0, 1.0]) == -inf
    assert total([1e300, 1.0], [1e300, 1.0]) == inf
    assert total([1e300, 1e300, 3.0], [1e300, -1e300, 1.0]) == 3.0  # beyond the range in between only


EXTREME_PAIRS = {
    "huge and tiny": (1.7e300, 3.3e-300),
    "the largest and the smallest": (1.7976931348623157e308, 5e-324),
    "beyond the halves of a factor": (2.0**1000 * 1.1, 2.0**-990 * 1.3),
    "a denormal factor": (4.1e-310, 7.3e200),
    "a product too small": (1.1e-200, 1.3e-200),
    "a product whose rest is too small": (1.1e-150, 1.3e-155),
    "a product too large": (1.1e200, 1.3e200),
    "zero and huge": (0.0, 1.7e308),
    "zeros": (0.0, -0.0),
}


@pytest.mark.parametrize("pair", EXTREME_PAIRS.values(), ids=EXTREME_PAIRS)
@pytest.mark.parametrize("n", [1, 256, 700])
def test_extreme_factors_among_plain_ones(n: int, pair: tuple[float, float]) -> None:
    """Exact with and without fused multiplication."""
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=n), rng.gamma(0.3, size=n)
    a[::50], b[::50] = pair
    for x, y in ((a, b), (b, a), (np.where(a == pair[0], -a, a), b)):
        assert total(x, y) == naive.round_fraction(naive.sum_fractions(x.tolist(), y.tolist()))


@given(st.lists(numbers, min_size=1, max_size=400), st.integers(1, 17), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_blocks_and_order_do_not_matter(terms: list[float], n_blocks: int, random: object) -> None:
    whole = _core.sum_exactly(array(terms))
    shuffled = list(terms)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    parts = [_core.sum_exactly(array(shuffled[k::n_blocks])) for k in range(n_blocks)]
    merged = np.sum(parts, axis=0)
    assert _core.round_exact(merged) == _core.round_exact(whole)
    assert _core.divide_exact(merged, whole) == 1.0 or _core.round_exact(whole) == 0.0


def test_a_sum_keeps_its_carries() -> None:
    terms = np.full(100_000, 1.0 + 2.0**-52)
    assert total(terms) == 100_000 * (1.0 + 2.0**-52)
    assert total(np.concatenate([terms, -terms])) == 0.0
    parts = np.sum([_core.sum_exactly(array([-1.0]))] * 1000, axis=0)
    assert _core.round_exact(parts) == -1000.0


@given(st.lists(numbers, min_size=1, max_size=50), st.lists(numbers, min_size=1, max_size=50))
@settings(max_examples=200)
def test_a_quotient_is_rounded_once(above: list[float], below: list[float]) -> None:
    a, b = naive.sum_fractions(above), naive.sum_fractions(below)
    found = _core.divide_exact(_core.sum_exactly(array(above)), _core.sum_exactly(array(below)))
    assert same(found, nan if b == 0 else naive.round_fraction(a / b))


@given(numbers, st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30))
def test_the_mean_of_equal_values_is_that_value(value: float, weights: list[float]) -> None:
    sums = _core.sum_exactly(array([value] * len(weights)), array(weights))
    assert _core.divide_exact(sums, _core.sum_exactly(array(weights))) == value


def test_a_quotient_of_what_is_not_finite() -> None:
    one, special = _core.sum_exactly(array([1.0])), _core.sum_exactly(array([inf]))
    assert isnan(_core.divide_exact(special, one))
    assert isnan(_core.divide_exact(one, special))


def test_arrays_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="integers"):
        _core.round_exact(np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match="one entry a term"):
        _core.sum_exactly(np.zeros(3), np.zeros(2))


# --- quantiles -------------------------------------------------------------------------------------------------------


def search(
    groups: list[NDArray[np.float64]], weights: list[NDArray[np.uint32]] | None, level: float, bits: int, n_blocks: int
) -> list[float]:
    """Quantiles of the groups, whose values are dealt out to blocks."""
    found = _core.QuantileSearch([level] * len(groups), bits)
    while not found.finished:
        step = found.step
        counts = np.zeros(len(step[2]) << bits, dtype=np.int64)
        for g, values in enumerate(groups):
            for block in range(n_blocks):
                own = None if weights is None else weights[g][block::n_blocks]
                counts += _core.count_digits(step, g, values[block::n_blocks], own)
        found.take(counts)
    return found.values


@given(
    st.lists(st.one_of(numbers, st.integers(-3, 3).map(float)), min_size=1, max_size=40),
    st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=150)
def test_quantiles_by_counting(values: list[float], level: float, weighted: bool, seed: int) -> None:
    weights = np.random.default_rng(seed).integers(1, 4, len(values)).astype(np.uint32)
    expected = naive.find_quantile(values, weights.tolist() if weighted else [1] * len(values), level)
    found = search([array(values)], [weights] if weighted else None, level, 8, 3)
    assert found == [expected]
    assert np.signbit(found[0]) == np.signbit(expected)


@pytest.mark.parametrize("bits", [4, 8, 16])
def test_several_groups_at_once(bits: int) -> None:
    rng = np.random.default_rng(bits)
    groups = [rng.normal(size=n).round(3) for n in (1, 2, 50, 1001)]
    found = search(groups, None, 0.5, bits, 5)
    assert found == [naive.find_quantile(g.tolist(), [1] * len(g), 0.5) for g in groups]
    assert isnan(search([np.empty(0)], None, 0.5, bits, 1)[0])


@pytest.mark.parametrize("name", ["absolute_error", "quantile", "huber"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 2, 100, 3000])
def test_counting_equals_selection(name: str, weighted: bool, n: int) -> None:
    rng = np.random.default_rng(n)
    values = rng.normal(size=n).round(2 if n > 100 else 9)
    weights = rng.integers(1, 9, n).astype(np.uint32)
    level = 0.3 if name == "quantile" else 0.5
    loss = _core.Loss.make(name, 0.3 if name == "quantile" else nan, 1)
    selected = loss.find_baseline(values, weights.astype(float) if weighted else None, n)
    assert selected == search([values], [weights] if weighted else None, level, 16, 3)


def test_steps_and_counts_are_checked() -> None:
    with pytest.raises(ValueError, match="4, 8 or 16 bits"):
        _core.QuantileSearch([0.5], 11)
    search_ = _core.QuantileSearch([0.5], 8)
    with pytest.raises(ValueError, match="slot and digit"):
        search_.take(np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match="not finished"):
        _ = search_.values


# --- where they are used ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["squared_error", "logistic", "poisson", "softmax"])
@pytest.mark.parametrize("weighted", [False, True])
def test_baseline_and_mean_loss_are_rounded_once(name: str, weighted: bool) -> None:
    """The order of the rows changes neither, and the mean loss is that of fractions."""
    rng = np.random.default_rng(0)
    n, n_scores = 9_000, 3 if name == "softmax" else 1
    X = rng.normal(size=(n, 2))
    y = rng.integers(0, 3 if name in ("softmax", "poisson") else 2, n).astype(float)
    if name == "squared_error":
        y = rng.normal(size=n) * 10.0 ** rng.integers(-6, 6, n)
    weights = rng.gamma(0.5, size=n) if weighted else None
    bins = _core.BinMapper.fit(X, None, np.zeros(2, dtype=np.uint32), 255, 1)
    found = set()
    for order, n_jobs in ((np.arange(n), 1), (rng.permutation(n), 2), (np.arange(n)[::-1], 1)):
        own = None if weights is None else weights[order]
        params = _core.BoostingParams()
        params.n_jobs = n_jobs
        state = _core.Boosting(bins.transform(X[order], 1), y[order], own, name, nan, n_scores, params)
        baseline = state.find_baseline()
        state.add_constant(array(baseline))
        found.add((tuple(baseline), state.measure_loss()))
    assert len(found) == 1
    scores = np.asfortranarray(np.tile(array(baseline), (n, 1)))
    values, ones = _core.Loss.make(name, nan, n_scores).find_values(y, scores), [1.0] * n
    own_weights = ones if weights is None else weights.tolist()
    mean = naive.sum_fractions(values.tolist(), own_weights) / naive.sum_fractions(own_weights)
    assert found.pop()[1] == naive.round_fraction(mean)


@pytest.mark.parametrize("name", ["squared_error", "softmax", "huber"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_losses_of_the_rows_left_out_are_rounded_once(name: str, weighted: bool, n_jobs: int) -> None:
    """Measured alone, or together with those of all rows: the same numbers."""
    rng = np.random.default_rng(0)
    n, n_scores = 20_000, 3 if name == "softmax" else 1
    X = rng.normal(size=(n, 2))
    y = rng.integers(0, 3, n).astype(float) if name == "softmax" else rng.normal(size=n)
    weights = np.where(rng.uniform(size=n) < 0.1, 0.0, rng.gamma(0.5, size=n)) if weighted else None
    bins = _core.BinMapper.fit(X, None, np.zeros(2, dtype=np.uint32), 255, 1)
    params = _core.BoostingParams()
    params.n_jobs, params.subsample = n_jobs, 0.7
    level, target = (0.9 if name == "huber" else nan), bins.transform(X, 1)
    one, other = (_core.Boosting(target, y, weights, name, level, n_scores, params) for _ in range(2))
    for state in (one, other):
        state.add_constant(array(state.find_baseline()))
    rows, losses = [], []
    for _ in range(3):
        one.draw_rows()
        one.compute_gradients()
        one.grow_trees()
        rows = one.held_out_rows
        losses.append((one.measure_loss(), one.measure_held_out_loss()))
    training, _, after = other.boost_measured(3, True)
    assert list(zip(training, after, strict=True)) == losses
    if name != "huber":  # its loss turns linear where the residuals of the round say
        values = _core.Loss.make(name, level, n_scores).find_values(y, np.asfortranarray(one.scores))[rows]
        own = np.ones(len(rows)) if weights is None else weights[rows]
        mean = naive.sum_fractions(values.tolist(), own.tolist()) / naive.sum_fractions(own.tolist())
        assert losses[-1][1] == naive.round_fraction(mean)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_baseline_of_several_blocks_of_rows_is_rounded_once(weighted: bool, n_jobs: int) -> None:
    rng = np.random.default_rng(5)
    y = rng.lognormal(sigma=9.0, size=70_000)  # more than a block of 65,536
    weights = rng.integers(0, 4, len(y)).astype(float) if weighted else None
    own = np.ones(len(y)) if weights is None else weights
    mean = naive.sum_fractions(y.tolist(), own.tolist()) / naive.sum_fractions(own.tolist())
    found = _core.Loss.make("squared_error", nan, 1).find_baseline(y, weights, len(y), n_jobs)
    assert found == [naive.round_fraction(mean)]


@pytest.mark.parametrize("weighted", [False, True])
def test_first_scores_of_classes_are_logarithms_of_their_shares(weighted: bool) -> None:
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, 1000).astype(float)
    weights = rng.integers(0, 4, len(y)).astype(float) if weighted else None
    shares = np.bincount(y.astype(int), weights) / (len(y) if weights is None else weights.sum())
    found = _core.Loss.make("softmax", nan, 3).find_baseline(y, weights, len(y))
    np.testing.assert_allclose(found, np.log(shares), rtol=1e-15)
