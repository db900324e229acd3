"""Condorcet's jury theorem: accuracy of the majority vote of independent and of correlated members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta, betabinom, binom

from committee.base import resolve_seed
from committee.constraints import show_value
from committee.exceptions import ParameterError
from committee.inspection.resampling import check_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.params import RandomState
    from committee.typing import FloatArray

__all__ = ["JuryCurve", "measure_jury"]


@dataclass(frozen=True)
class JuryCurve:
    """Accuracy of a majority vote, by the number of members.

    Attributes
    ----------
    sizes : ndarray of int
        Numbers M of members.
    exact : ndarray
        Probability that the majority is correct; ties count half.
    simulated : ndarray
        Fraction of simulated votes in which it was correct.
    standard_error : ndarray
        Standard error of the simulated fraction.
    limit : float
        Limit of the probability for many members: 1 if they are independent and better than chance.

    Examples
    --------
    >>> from committee.inspection import measure_jury
    >>> curve = measure_jury(0.7, sizes=(1, 3, 5), n_rounds=1000, random_state=0)
    >>> curve.sizes, curve.exact.round(3), curve.limit
    (array([1, 3, 5]), array([0.7  , 0.784, 0.837]), 1.0)
    """

    sizes: NDArray[np.intp]
    exact: FloatArray
    simulated: FloatArray
    standard_error: FloatArray
    limit: float


def measure_jury(
    p: float,
    *,
    sizes: Sequence[int] = (1, 3, 5, 11, 21, 51, 101),
    correlation: float = 0.0,
    n_rounds: int = 10_000,
    random_state: RandomState = None,
) -> JuryCurve:
    r"""Accuracy of a majority vote by the number of members (jury theorem), exact and simulated.

    The majority of :math:`M` independent members, each correct with probability :math:`p`, is correct with probability

    .. math:: \sum_{k > M/2} \binom{M}{k} p^k (1-p)^{M-k}
              \;\bigl(+\; \tfrac12 \tbinom{M}{M/2} p^{M/2}(1-p)^{M/2} \text{ for even } M\bigr),

    which tends to 1 if :math:`p > 1/2` [Condorcet1785]. Correlated members: in each vote all of them are
    correct with the same probability :math:`\theta`, drawn from the beta distribution with mean :math:`p` and
    :math:`a + b = 1/\rho - 1`. Any two of them then have correlation :math:`\rho`, the number of correct votes is
    beta-binomial, and the limit for many members is :math:`P(\theta > 1/2) < 1`.

    Parameters
    ----------
    p : float
        Probability that a member is correct, in [0, 1].
    sizes : sequence of int
        Numbers of members.
    correlation : float, default=0.0
        Correlation of the votes of any two members, in [0, 1].
    n_rounds : int, default=10000
        Simulated votes for each size.
    random_state : int, RandomState, Generator or None
        Seed of the simulation.

    Returns
    -------
    JuryCurve

    Examples
    --------
    >>> independent = measure_jury(0.6, random_state=0)
    >>> independent.exact.round(3)
    array([0.6  , 0.648, 0.683, 0.753, 0.826, 0.926, 0.979])
    >>> correlated = measure_jury(0.6, correlation=0.2, random_state=0)
    >>> round(float(correlated.exact[-1]), 3), round(correlated.limit, 3)
    (0.67, 0.672)
    """
    given: list[tuple[str, object]] = [("p", p), ("correlation", correlation)]
    for name, value in given:
        if not isinstance(value, (int, float, np.number)) or isinstance(value, bool) or not 0.0 <= value <= 1.0:
            raise ParameterError(f"The {name!r} argument must be a number in [0, 1]; got {value!r}.")
    if not hasattr(sizes, "__len__") or not len(sizes):
        raise ParameterError(f"The 'sizes' argument must hold at least one int >= 1; got {show_value(sizes)}.")
    members = np.array([check_count("sizes", size, 1) for size in sizes], dtype=np.intp)
    n_rounds = check_count("n_rounds", n_rounds, 1)
    exact = np.array([_find_majority(int(m), float(p), float(correlation)) for m in members])
    rng = np.random.default_rng(resolve_seed(random_state))
    simulated = np.array([_simulate(int(m), float(p), float(correlation), n_rounds, rng) for m in members])
    error = np.sqrt(simulated * (1.0 - simulated) / n_rounds)
    return JuryCurve(members, exact, simulated, error, _find_limit(float(p), float(correlation)))


def _find_majority(n_members: int, p: float, correlation: float) -> float:
    votes = _choose_distribution(n_members, p, correlation)
    if votes is None:
        return p
    half = n_members // 2
    tie = float(votes.pmf(half)) if n_members % 2 == 0 else 0.0
    return float(votes.sf(half)) + 0.5 * tie


def _choose_distribution(n_members: int, p: float, correlation: float) -> Any:
    """Distribution of the number of correct votes; None if all members always agree."""
    if correlation == 1.0:
        return None
    if correlation == 0.0 or p in (0.0, 1.0):
        return binom(n_members, p)
    return betabinom(n_members, *_shape(p, correlation))


def _shape(p: float, correlation: float) -> tuple[float, float]:
    total = 1.0 / correlation - 1.0
    return p * total, (1.0 - p) * total


def _find_limit(p: float, correlation: float) -> float:
    if correlation == 1.0:
        return p
    if correlation == 0.0 or p in (0.0, 1.0):
        return 0.5 if p == 0.5 else float(p > 0.5)
    return float(beta(*_shape(p, correlation)).sf(0.5))


def _simulate(n_members: int, p: float, correlation: float, n_rounds: int, rng: np.random.Generator) -> float:
    """Fraction of simulated votes with a correct majority; the probability of each vote is drawn first."""
    if correlation == 1.0:
        correct = n_members * (rng.random(n_rounds) < p)
    elif correlation == 0.0 or p in (0.0, 1.0):
        correct = rng.binomial(n_members, p, size=n_rounds)
    else:
        correct = rng.binomial(n_members, rng.beta(*_shape(p, correlation), size=n_rounds))
    return float((2 * correct > n_members).mean() + 0.5 * (2 * correct == n_members).mean())
