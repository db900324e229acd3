"""What a search may set: for each parameter a list of values or a distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from committee.constraints import show_value
from committee.exceptions import ParameterError
from committee.losses import apply_exp, apply_log
from committee.value_checks import is_real

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from committee.typing import FloatArray

    ParamSpace: TypeAlias = Mapping[str, Any]

__all__ = ["IntegerRange", "RealRange", "SearchSpace"]

_LARGEST_END = 1e307
"""So that the length of a range is finite as well."""


@dataclass(frozen=True)
class RealRange:
    """Real numbers of a range, spread evenly or, with ``log``, by their logarithm.

    Attributes
    ----------
    low, high : float
        The ends, both included.
    log : bool
        Whether orders of magnitude are equally likely.

    Examples
    --------
    >>> from committee.search import RealRange
    >>> round(RealRange(0.01, 1.0, log=True).ppf(0.5), 6)
    0.1
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        check_ends(self)

    def ppf(self, u: float) -> float:
        """The number below which a fraction u of the range lies."""
        if not self.log:
            return self.low + u * (self.high - self.low)
        return float(min(self.high, max(self.low, _find_between(self.low, self.high, u))))

    def cdf(self, value: float) -> float:
        """The fraction of the range that lies below a number."""
        return _find_position(self.low, self.high, value, self.log)

    def rvs(self, random_state: np.random.RandomState) -> float:
        """A number drawn from the range, as scikit-learn's samplers ask for it."""
        return self.ppf(random_state.uniform())


@dataclass(frozen=True)
class IntegerRange:
    """Whole numbers of a range, spread evenly or, with ``log``, by their logarithm.

    Attributes
    ----------
    low, high : int
        The ends, both included.
    log : bool
        Whether orders of magnitude are equally likely.

    Examples
    --------
    >>> from committee.search import IntegerRange
    >>> [IntegerRange(1, 100, log=True).ppf(u) for u in (0.0, 0.5, 1.0)]
    [1, 7, 100]
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        check_ends(self)

    def ppf(self, u: float) -> int:
        """The number below which a fraction u of the range lies."""
        # Every number is the middle of a cell, so that the two at the ends are as likely as the others.
        low, high = self.low - 0.5, self.high + 0.5
        value = _find_between(low, high, u) if self.log else low + u * (high - low)
        return int(min(self.high, max(self.low, np.floor(value + 0.5))))

    def cdf(self, value: int) -> float:
        """The fraction of the range that lies below the middle of a number's cell."""
        return _find_position(self.low - 0.5, self.high + 0.5, value, self.log)

    def rvs(self, random_state: np.random.RandomState) -> int:
        """A number drawn from the range, as scikit-learn's samplers ask for it."""
        return self.ppf(random_state.uniform())


def _find_between(low: float, high: float, u: float) -> float:
    """The number at a fraction u between two others, by their logarithms."""
    first, whole = apply_log(np.array([low, high / low]))
    return float(apply_exp(first + u * whole))


def _find_position(low: float, high: float, value: float, log: bool) -> float:
    """Where a number lies between two others, as a fraction; the inverse of `_find_between` with ``log``."""
    if not log:
        return (value - low) / (high - low)
    own, whole = apply_log(np.array([value / low, high / low]))
    return float(own / whole)


def check_ends(bounds: RealRange | IntegerRange) -> None:
    """Refuse ends that are no numbers, fractions for whole numbers, an empty range, logarithms of zero or less."""
    name = type(bounds).__name__
    # A whole number beyond doubles is finite, and yet no end of a range that doubles are drawn from.
    if not all(is_real(end) and abs(end) <= _LARGEST_END for end in (bounds.low, bounds.high)):
        raise ParameterError(
            f"{name} must have finite numbers as its ends, at most {_LARGEST_END:.0e} in size; got "
            f"{show_value(bounds.low)} and {show_value(bounds.high)}."
        )
    if isinstance(bounds, IntegerRange) and not all(float(end).is_integer() for end in (bounds.low, bounds.high)):
        raise ParameterError(f"{name} must have whole numbers as its ends; got {bounds.low} and {bounds.high}.")
    if not bounds.low < bounds.high:
        raise ParameterError(f"{name} must have low < high; got {bounds.low} and {bounds.high}.")
    if bounds.log and bounds.low <= 0:
        raise ParameterError(f"{name} with log=True must have low > 0; got {bounds.low}.")


class SearchSpace:
    """The parameters of a search, each a choice or a position in the unit interval.

    A list is a choice; a distribution (one with ``ppf``) is searched by its quantiles, so that a uniform position in
    the unit interval is a draw from it.

    Parameters
    ----------
    distributions : mapping
        Names of parameters, with lists of values or distributions.
    owner : str
        Name of the search, for error messages.

    Examples
    --------
    >>> space = SearchSpace({"max_depth": [2, 3], "learning_rate": RealRange(0.0, 1.0)}, "RandomSearch")
    >>> space.decode({"max_depth": 1, "learning_rate": 0.25})
    {'max_depth': 3, 'learning_rate': 0.25}
    """

    def __init__(self, distributions: ParamSpace, owner: str) -> None:
        self.distributions: dict[str, Any] = {}
        for name, values in distributions.items():
            if not isinstance(name, str):
                raise ParameterError(f"The space of {owner} must have names of parameters; got {show_value(name)}.")
            if hasattr(values, "ppf"):
                self.distributions[name] = values
                continue
            listed = None if isinstance(values, str) or not hasattr(values, "__len__") else list(values)
            if not listed:
                raise ParameterError(
                    f"The space of {owner} must give for {name!r} a list of values or a distribution with 'ppf' "
                    f"(IntegerRange, RealRange, those of scipy.stats); got {show_value(values)}."
                )
            self.distributions[name] = listed

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return list(self.distributions)

    def count_choices(self, name: str) -> int | None:
        """The number of values of a list; None for a distribution."""
        values = self.distributions[name]
        return len(values) if isinstance(values, list) else None

    def draw_point(self, rng: np.random.Generator) -> dict[str, float]:
        """A random point: the number of a choice, or a position in the unit interval, for each parameter."""
        point: dict[str, float] = {}
        for name in self.names:
            n_choices = self.count_choices(name)
            point[name] = float(rng.random() if n_choices is None else rng.integers(n_choices))
        return point

    def decode(self, point: Mapping[str, float]) -> dict[str, Any]:
        """The parameters that a point stands for."""
        return {name: self._decode_one(name, value) for name, value in point.items()}

    def encode(self, params: Mapping[str, Any]) -> dict[str, float] | None:
        """The point that stands for parameters; None if they are not all in the space."""
        point: dict[str, float] = {}
        for name, own in self.distributions.items():
            if name not in params:
                return None
            value = params[name]
            if isinstance(own, list):
                if value not in own:
                    return None
                point[name] = float(own.index(value))
            elif isinstance(own, RealRange | IntegerRange) and is_real(value) and own.low <= value <= own.high:
                point[name] = own.cdf(value)
            else:
                return None
        return point

    def _decode_one(self, name: str, value: float) -> Any:
        own = self.distributions[name]
        if isinstance(own, list):
            return own[int(value)]
        found = own.ppf(value)
        return found.item() if isinstance(found, np.generic | np.ndarray) else found


def stack_points(points: Sequence[Mapping[str, float]], name: str) -> FloatArray:
    """The values of one parameter in several points."""
    return np.array([point[name] for point in points], dtype=np.float64)
