"""What a reproduced result is: lines of published and own figures with a criterion each, and pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import t as student

__all__ = ["AbsentError", "Line", "Result", "Setting", "compare_value", "show_spread"]

WITHIN = "published within the 95 % prediction interval of our seeds"


class AbsentError(Exception):
    """What a result needs is not here; says what."""


@dataclass(frozen=True)
class Setting:
    """How results are reproduced.

    Parameters
    ----------
    n_seeds : int
        Repetitions, with the seeds 0, 1, 2, …
    jobs : int or None
        Threads.
    """

    n_seeds: int = 10
    jobs: int | None = None

    @property
    def seeds(self) -> range:
        """The seeds."""
        return range(self.n_seeds)


@dataclass(frozen=True)
class Line:
    """One figure or statement.

    Parameters
    ----------
    what : str
        Of what; short.
    published : str
        As it was published.
    ours : str
        What we found.
    criterion : str
        When it counts as reproduced.
    passed : bool
        Whether it does.
    """

    what: str
    published: str
    ours: str
    criterion: str
    passed: bool


@dataclass
class Result:
    """A row of the list.

    Parameters
    ----------
    key : str
        ``"R1"`` and so on.
    title : str
        What is shown.
    setup : str
        How, in a sentence or two.
    lines : list of Line
        What was found.
    figures : list of str
        Pictures, as HTML.
    skipped : str
        Why nothing was found; empty if something was.
    seconds : float
        How long it took.
    """

    key: str
    title: str
    setup: str
    lines: list[Line] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    skipped: str = ""
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """Whether it is reproduced: "pass", "FAIL" or "skipped"."""
        if self.skipped:
            return "skipped"
        return "pass" if all(line.passed for line in self.lines) else "FAIL"


def show_spread(values: Any, digits: int = 3) -> str:
    """Mean and standard deviation.

    Parameters
    ----------
    values : array-like
        One a seed.
    digits : int
        After the point.

    Returns
    -------
    str

    Examples
    --------
    >>> show_spread([0.5, 0.7])
    '0.600 ± 0.141'
    """
    found = np.asarray(values, dtype=np.float64)
    return f"{found.mean():.{digits}f} ± {found.std(ddof=1):.{digits}f}"


def compare_value(what: str, published: float, values: Any, digits: int = 3) -> Line:
    """A published figure against ours over seeds.

    A further run of ours would lie within mean ± t s √(1 + 1/n) with a probability of 95 %; the published figure, one
    run of another library, is taken as such a run. Half of its last digit is allowed for rounding.

    Parameters
    ----------
    what : str
        Of what.
    published : float
        The figure.
    values : array-like
        Ours.
    digits : int
        That it was published with.

    Returns
    -------
    Line
    """
    found = np.asarray(values, dtype=np.float64)
    n, spread = len(found), float(found.std(ddof=1))
    reach = float(student.ppf(0.975, n - 1)) * spread * np.sqrt(1.0 + 1.0 / n) + 0.5 * 10.0**-digits
    passed = bool(abs(published - found.mean()) <= reach + 1e-12)
    return Line(what, f"{published:.{digits}f}", show_spread(found, max(3, digits)), WITHIN, passed)
