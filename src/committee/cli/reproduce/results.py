"""A reproduced result: lines of published and reproduced numbers with a criterion each, and figures."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

__all__ = ["Line", "MissingDataError", "ReproductionSettings", "Result", "compare_value", "show_spread"]

AGREES = "our mean within one standard deviation over seeds of scikit-learn's mean"


class MissingDataError(Exception):
    """Data that a result needs are missing; the message says which."""


@dataclass(frozen=True)
class ReproductionSettings:
    """The options of a reproduction.

    Parameters
    ----------
    n_seeds : int
        Number of seeds; they are 0, 1, 2, …
    jobs : int or None
        Number of threads.
    """

    n_seeds: int = 10
    jobs: int | None = None

    @property
    def seeds(self) -> range:
        """The seeds."""
        return range(self.n_seeds)


@dataclass(frozen=True)
class Line:
    """One number or statement, with its check.

    Parameters
    ----------
    what : str
        Short description.
    published : str
        The published value.
    ours : str
        The reproduced value.
    criterion : str
        The condition of the check.
    passed : bool
        Whether it holds.
    scikit_learn : str
        The value of scikit-learn, if ours is compared with it.
    """

    what: str
    published: str
    ours: str
    criterion: str
    passed: bool
    scikit_learn: str = ""


@dataclass
class Result:
    """A reproduced result.

    Parameters
    ----------
    key : str
        ``"R1"`` and so on.
    title : str
        Its title.
    setup : str
        The experiment, in a sentence or two.
    lines : list of Line
        Numbers and their checks.
    figures : list of str
        Figures, as HTML.
    skipped : str
        Why it was skipped; empty if it was not.
    seconds : float
        Run time.
    """

    key: str
    title: str
    setup: str
    lines: list[Line] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    skipped: str = ""
    seconds: float = 0.0

    @property
    def status(self) -> str:
        """Result of the checks: "pass", "FAIL" or "skipped"."""
        if self.skipped:
            return "skipped"
        return "pass" if all(line.passed for line in self.lines) else "FAIL"


def show_spread(values: ArrayLike, digits: int = 3) -> str:
    """Format mean and standard deviation.

    Parameters
    ----------
    values : array-like
        One per seed.
    digits : int
        Digits after the point.

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


def compare_value(what: str, published: float, values: ArrayLike, peers: ArrayLike, digits: int = 3) -> Line:
    """Compare a published number, which depends on random numbers, with scikit-learn's and ours over seeds.

    The published number is one run of another library, and a single run may be far from the mean. So our mean is
    compared with the mean of scikit-learn over as many seeds. Their difference may be as large as the standard
    deviation over seeds (that is how much one run differs from another) or, with few seeds, as its 95 % confidence
    interval. Half of the last digit is added for rounding.

    Parameters
    ----------
    what : str
        Short description.
    published : float
        The published number.
    values : array-like
        Ours, one per seed.
    peers : array-like
        Those of scikit-learn, one per seed.
    digits : int
        Digits of the published number.

    Returns
    -------
    Line
    """
    ours, theirs = np.asarray(values, dtype=np.float64), np.asarray(peers, dtype=np.float64)
    spread = float(np.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 2.0))
    noise = float(student.ppf(0.975, len(ours) + len(theirs) - 2)) * np.sqrt(1.0 / len(ours) + 1.0 / len(theirs))
    reach = spread * max(1.0, noise) + 0.5 * 10.0**-digits + 1e-12
    passed = bool(abs(ours.mean() - theirs.mean()) <= reach)
    return Line(what, f"{published:.{digits}f}", show_spread(ours), AGREES, passed, show_spread(theirs))
