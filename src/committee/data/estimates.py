"""What a fit on a large table takes: memory, disk and time, before it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from committee.constraints import show_value
from committee.data.memory import show_bytes
from committee.exceptions import ParameterError
from committee.value_checks import is_whole

if TYPE_CHECKING:
    from committee.base import CommitteeEstimator

__all__ = ["FitEstimate", "estimate_fit"]

_SAMPLE_ROWS = 200_000
_PROCESS = 250e6
"""Bytes of the interpreter with NumPy, SciPy, PyArrow and scikit-learn."""
_BLOCK_BYTES = 3 * 8 * 2**23
"""Bytes of a block while it is read: as stored, as columns, as a table of float64."""
_DRIVER_BYTES = 40
"""Bytes a row of arrays outside of files: target, weights, labels, what is drawn."""
_READ_NS, _BIN_NS, _ADD_NS = 4.0, 2.0, 1.0
"""Nanoseconds a value and core to read a block, to bin it, and to add it to a histogram from a file."""
_LEVELS = 5
"""Times that boosting with 31 leaves adds each row to a histogram: all rows once a level, half of them later on."""
_FOREST_LEVELS = 12


@dataclass(frozen=True)
class FitEstimate:
    """What a fit takes.

    Attributes
    ----------
    memory : int
        Bytes of memory that cannot lie in files.
    disk : int
        Bytes of temporary files, if the fit runs in :func:`committee.memory_limit`; otherwise they are memory too.
    seconds : float
        On the given number of cores; within a factor of three, since disks and cores differ.

    Examples
    --------
    >>> print(FitEstimate(10**9, 3 * 10**9, 500.0))
    about 953.7 MiB of memory, 2.8 GiB of disk and 8 minutes
    """

    memory: int
    disk: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"about {show_bytes(self.memory)} of memory, {show_bytes(self.disk)} of disk and "
            f"{_show_seconds(self.seconds)}"
        )


def estimate_fit(
    n_rows: int,
    n_features: int,
    estimator: CommitteeEstimator | None = None,
    *,
    n_scores: int = 1,
    float64: bool = False,
    n_cores: int = 1,
) -> FitEstimate:
    """Memory, disk and time that a fit on a table in blocks takes.

    Parameters
    ----------
    n_rows, n_features : int
        The shape of the table.
    estimator : estimator, optional
        Its kind and its number of members count; without one, the bins alone.
    n_scores : int, default=1
        Scores a row: the number of classes, if there are more than two.
    float64 : bool, default=False
        Whether the numbers are stored as float64.
    n_cores : int, default=1
        Cores that the fit uses.

    Returns
    -------
    FitEstimate

    Examples
    --------
    >>> import committee
    >>> model = committee.HistGradientBoostingClassifier(max_iter=50)
    >>> needs = committee.estimate_fit(20_000_000, 100, model, n_cores=2)
    >>> round(needs.memory / 1e9, 1), round(needs.disk / 1e9, 1)
    (1.3, 5.4)
    """
    for name, count in (("n_rows", n_rows), ("n_features", n_features), ("n_scores", n_scores), ("n_cores", n_cores)):
        if not is_whole(count) or count < 0:
            raise ParameterError(f"The {name!r} argument must be an int >= 0; got {show_value(count)}.")
    values = float(n_rows) * n_features
    kind, n_members = _find_kind(estimator)
    sample = min(n_rows, _SAMPLE_ROWS) * n_features * (8 if float64 else 4)
    memory = _PROCESS + min(_BLOCK_BYTES, 3.0 * 8.0 * values) + _DRIVER_BYTES * n_rows
    disk, seconds = values, values * 2 * (_READ_NS + _BIN_NS)
    memory, disk = (memory, disk + sample) if sample >= 1 << 24 else (memory + sample, disk)
    records = n_rows * float(_round_stride(n_features))
    if kind == "boosting":
        disk += records + n_rows * (8.0 + 8.0 + 8.0 + 16.0 * n_scores)
        seconds += n_members * n_scores * values * _ADD_NS * _LEVELS
    elif kind == "forest":
        disk += records + n_rows * 24.0 * n_cores
        memory += n_rows * 4.0 * n_cores
        drawn = max(1.0, n_features**0.5)
        seconds += n_members * n_rows * drawn * _ADD_NS * 4 * _FOREST_LEVELS
    elif kind == "values":
        disk = 8.0 * values
        seconds = values * 2 * _READ_NS
    elif kind == "stumps":
        disk += records + n_rows * 16.0 * n_scores
        seconds += n_members * values * _ADD_NS
    return FitEstimate(int(memory), int(disk), seconds / 1e9 / max(1, n_cores))


def _round_stride(n_features: int) -> int:
    """Bytes of a row's record: groups of up to 64 columns, of 16, 32 or 64 bytes each."""
    whole, rest = divmod(n_features + 8, 64)
    return 64 * whole + (0 if rest == 0 else 16 if rest <= 16 else 32 if rest <= 32 else 64)


def _find_kind(estimator: Any) -> tuple[str, int]:
    name = type(estimator).__name__
    members = getattr(estimator, "max_iter", getattr(estimator, "n_estimators", 1))
    n_members = int(members) if isinstance(members, int) else 100
    if "GradientBoosting" in name:
        return "boosting", n_members
    if "AdaBoost" in name or "Arcing" in name:
        return "stumps", n_members
    if estimator is None or "Isolation" in name:
        return "bins" if estimator is None else "values", n_members
    return "forest", n_members


def _show_seconds(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} seconds"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
