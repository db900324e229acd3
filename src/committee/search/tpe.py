"""Tree-structured Parzen estimator [Bergstra2011]: candidates like the good ones so far and unlike the others.

The candidates are split into a few good ones and the rest. For each parameter two densities are estimated, one of
either part, as a mixture of normal distributions around the values and of the uniform one; of some draws from the
density of the good ones, that with the largest ratio of the two densities is proposed. Parameters are treated as
independent. Numbers are positions in the unit interval (see `SearchSpace`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from committee.losses import apply_exp, apply_log
from committee.search.space import SearchSpace, stack_points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from committee.typing import FloatArray

__all__ = ["TPESampler"]

_N_RANDOM = 10
"""Candidates that are drawn at random before there are densities to speak of."""
_GOOD_FRACTION, _MOST_GOOD = 0.15, 25
_N_DRAWS = 24
"""Draws of which the best is taken, as in the paper's implementation."""
_LEAST_WIDTH = 0.02


class TPESampler:
    """Proposes points of a space by the scores of earlier ones.

    Parameters
    ----------
    space : SearchSpace
        The parameters.
    seed : int
        Decides all draws.
    starts : sequence of points
        Are proposed before all others.

    Examples
    --------
    >>> from committee.search.space import RealRange
    >>> sampler = TPESampler(SearchSpace({"x": RealRange(0.0, 1.0)}, "TPESearch"), 0)
    >>> for _ in range(60):
    ...     point = sampler.ask()
    ...     sampler.tell(point, -abs(point["x"] - 0.3))
    >>> bool(abs(np.mean([p["x"] for p in sampler.points[-20:]]) - 0.3) < 0.1)
    True
    """

    def __init__(self, space: SearchSpace, seed: int, starts: Sequence[Mapping[str, float]] = ()) -> None:
        self.space = space
        self.points: list[Mapping[str, float]] = []
        self._scores: list[float] = []
        self._rng = np.random.default_rng(seed)
        self._starts = [dict(point) for point in starts]

    def tell(self, point: Mapping[str, float], score: float) -> None:
        """Note the score of a point, larger for better; NaN for one that failed."""
        self.points.append(point)
        self._scores.append(-np.inf if np.isnan(score) else score)

    def ask(self) -> dict[str, float]:
        """The next point."""
        if self._starts:
            return self._starts.pop(0)
        if len(self.points) < _N_RANDOM:
            return self.space.draw_point(self._rng)
        order = np.argsort(-np.array(self._scores), kind="stable")
        n_good = min(_MOST_GOOD, int(np.ceil(_GOOD_FRACTION * len(order))))
        good = [self.points[k] for k in order[:n_good]]
        rest = [self.points[k] for k in order[n_good:]]
        return {name: self._propose(name, good, rest) for name in self.space.names}

    def _propose(self, name: str, good: Sequence[Mapping[str, float]], rest: Sequence[Mapping[str, float]]) -> float:
        above, below, n_choices = stack_points(good, name), stack_points(rest, name), self.space.count_choices(name)
        if n_choices is not None:
            chances, others = (_count_choices(values, n_choices) for values in (above, below))
            drawn = self._rng.choice(n_choices, _N_DRAWS, p=chances)
            return float(drawn[np.argmax(chances[drawn] / others[drawn])])
        draws = self._draw_numbers(above)
        ratios = _measure_density(draws, above) - _measure_density(draws, below)
        return float(draws[np.argmax(ratios)])

    def _draw_numbers(self, centres: FloatArray) -> FloatArray:
        """Draws from the mixture of normal distributions, cut at 0 and 1, and the uniform one."""
        widths = _find_widths(centres)
        which = self._rng.integers(len(centres) + 1, size=_N_DRAWS)
        draws: FloatArray = self._rng.random(_N_DRAWS)
        normal = which < len(centres)
        centre, width = centres[which[normal]], widths[which[normal]]
        low, high = ndtr(-centre / width), ndtr((1.0 - centre) / width)
        draws[normal] = np.clip(centre + width * ndtri(low + draws[normal] * (high - low)), 0.0, 1.0)
        return draws


def _count_choices(values: FloatArray, n_choices: int) -> FloatArray:
    """The chance of each choice: its share of the values, with one more of every choice."""
    counts = np.bincount(values.astype(np.intp), minlength=n_choices) + 1.0
    shares: FloatArray = counts / counts.sum()
    return shares


def _find_widths(centres: FloatArray) -> FloatArray:
    """The standard deviation around each value: the distance to the farther of its two neighbours."""
    order = np.argsort(centres, kind="stable")
    edges = np.concatenate([[0.0], centres[order], [1.0]])
    gaps = np.diff(edges)
    widths = np.empty(len(centres))
    widths[order] = np.maximum(gaps[:-1], gaps[1:])
    return np.clip(widths, max(_LEAST_WIDTH, 1.0 / (1.0 + len(centres)) / 4.0), 1.0)


def _measure_density(points: FloatArray, centres: FloatArray) -> FloatArray:
    """The logarithm of the density of the mixture."""
    if not len(centres):
        return np.zeros(len(points))
    widths = _find_widths(centres)
    inside = ndtr((1.0 - centres) / widths) - ndtr(-centres / widths)
    z = (points[:, None] - centres) / widths
    bumps = apply_exp(-0.5 * z**2) / (np.sqrt(2.0 * np.pi) * widths * inside)
    density: FloatArray = apply_log((bumps.sum(axis=1) + 1.0) / (len(centres) + 1.0))
    return density
