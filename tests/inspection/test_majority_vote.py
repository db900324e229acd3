"""The jury theorem for majority votes: by counting all votes, by simulation, and in the limit."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from committee import measure_jury


@pytest.mark.parametrize("p", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_independent_votes_by_counting_all_of_them(p: float, size: int) -> None:
    total = 0.0
    for votes in product((0, 1), repeat=size):
        chance = p ** sum(votes) * (1 - p) ** (size - sum(votes))
        total += chance * (1.0 if 2 * sum(votes) > size else 0.5 if 2 * sum(votes) == size else 0.0)
    np.testing.assert_allclose(measure_jury(p, sizes=[size], n_rounds=1).exact, [total])


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("p", [0.4, 0.6])
def test_the_simulation_agrees(p: float, correlation: float) -> None:
    curve = measure_jury(p, correlation=correlation, sizes=(1, 2, 7, 51), n_rounds=20_000, random_state=0)
    assert (np.abs(curve.simulated - curve.exact) <= 4 * curve.standard_error + 1e-9).all()
    np.testing.assert_allclose(curve.exact[0], p)


def test_the_votes_have_the_correlation_that_is_given() -> None:
    # Two members: they tie or agree. P(both right) = p² + rho p (1 - p).
    p, rho = 0.7, 0.3
    both = p**2 + rho * p * (1 - p)
    neither = (1 - p) ** 2 + rho * p * (1 - p)
    np.testing.assert_allclose(measure_jury(p, correlation=rho, sizes=[2]).exact, [both + 0.5 * (1 - both - neither)])


def test_the_limits() -> None:
    assert measure_jury(0.51, sizes=[100_001]).exact[0] > 0.999
    assert measure_jury(0.49, sizes=[100_001]).exact[0] < 0.001
    assert [measure_jury(p, n_rounds=1).limit for p in (0.4, 0.5, 0.6)] == [0.0, 0.5, 1.0]
    correlated = measure_jury(0.6, correlation=0.3, sizes=[1, 10_001])
    np.testing.assert_allclose(correlated.exact[1], correlated.limit, atol=1e-3)
    assert correlated.limit < 0.75
    assert measure_jury(0.6, correlation=1.0).limit == 0.6
    # More correlation, less gain.
    curves = [measure_jury(0.6, correlation=rho, sizes=[51]).exact[0] for rho in (0.0, 0.05, 0.2, 0.6, 1.0)]
    assert curves == sorted(curves, reverse=True)


def test_what_cannot_be() -> None:
    for params in ({"p": 1.2}, {"p": "high"}, {"p": 0.6, "correlation": -0.1}, {"p": 0.6, "sizes": []}):
        with pytest.raises(ValueError, match="argument must"):
            measure_jury(**params)
