"""How far the columns of a new table are from those of the training table.

The population stability index of two distributions p (training) and q (new) over bins is sum (q - p) log(q / p);
below 0.1 counts as small and above 0.25 as large. With few rows it is large by chance, about (bins - 1)(1/n + 1/m) for
n and m rows, so that a column counts as drifted only if a chi-square test of the same bins agrees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import chi2

from committee.cli.report.dates import show_date
from committee.cli.report.drift.training_summary import (
    FeatureSummary,
    LevelSummary,
    NumberSummary,
    count_levels,
    measure_lengths,
    read_numbers,
)
from committee.cli.report.markup import show_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.typing import FloatArray

__all__ = ["ColumnDrift", "DriftLevel", "compare_feature", "compare_outcome", "measure_stability", "rank_drifts"]

DriftLevel: TypeAlias = Literal["none", "moderate", "large"]

_SMALL, _LARGE = 0.1, 0.25
# Bins of the stability index and of the test; neighbours are joined until each has this share of the training rows.
_MIN_SHARE = 0.1
_MOST_NAMED = 10
_ROUNDING = 2e-5
_SIGNIFICANT = 0.01
# Changes of the missing share, shares of unknown categories and of values beyond the training range.
_MISSING = {"moderate": 0.02, "large": 0.1}
_UNSEEN = {"moderate": 0.005, "large": 0.05}
_OUTSIDE = {"moderate": 0.02, "large": 0.1}
# Stability index, distance, p-value, and the names and shares of the bins.
_Parts: TypeAlias = tuple[float, float, float, tuple[str, ...], tuple[tuple[float, ...], tuple[float, ...]]]
_NOTHING: _Parts = (float("nan"), float("nan"), 1.0, (), ((), ()))
_ORDER: dict[DriftLevel, int] = {"large": 0, "moderate": 1, "none": 2}


@dataclass(frozen=True)
class ColumnDrift:
    """One column of a new table beside that of the training table.

    Parameters
    ----------
    name, kind : str
        The column.
    level : "none", "moderate" or "large"
        The verdict.
    remarks : tuple of str
        What is unusual, in words.
    stability : float
        Population stability index; NaN if it cannot be computed.
    distance : float
        Largest difference of the distribution functions at the training quantiles (Kolmogorov-Smirnov), or half the
        sum of the differences of the shares of categories (total variation).
    p_value : float
        Of the chi-square test.
    missing : tuple of two float
        Share of missing values in the training table and in the new one.
    labels : tuple of str
        Names of the bins of a histogram.
    edges : tuple of float
        Their ends, of numbers.
    is_calendar : bool
        Whether these are seconds since 1970.
    shares : tuple of two tuples of float
        Shares of these bins in the training table and in the new one.
    importance : float or None
        Of the column for the model.
    """

    name: str
    kind: str
    level: DriftLevel
    remarks: tuple[str, ...]
    stability: float
    distance: float
    p_value: float
    missing: tuple[float, float]
    labels: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    is_calendar: bool = False
    shares: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    importance: float | None = None

    @property
    def is_same(self) -> bool:
        """Whether both distributions are equal to the digits of the summary."""
        changed = max((abs(a - b) for a, b in zip(*self.shares, strict=True)), default=0.0)
        return changed < _ROUNDING and abs(self.missing[0] - self.missing[1]) < _ROUNDING


@dataclass
class _Findings:
    """Collects what is unusual about a column."""

    level: DriftLevel = "none"
    remarks: list[str] = field(default_factory=list)

    def add(self, size: float, limits: Mapping[str, float], remark: str, *, always: bool = False) -> None:
        """Note something whose size is above a limit, or always."""
        level: DriftLevel = "large" if size >= limits["large"] else "moderate" if size >= limits["moderate"] else "none"
        if level != "none" or always:
            self.remarks.append(remark)
            self.level = min(self.level, level, key=lambda one: _ORDER[one])


def measure_stability(expected: Any, found: Any, n_rows: tuple[int, int]) -> tuple[float, float]:
    """Population stability index of two distributions over the same bins, and the p-value of a chi-square test.

    Parameters
    ----------
    expected, found : array-like
        Shares of the bins in the training table and in the new one.
    n_rows : tuple of two int
        Number of values in each.

    Returns
    -------
    tuple of two float

    Examples
    --------
    >>> stability, p_value = measure_stability([0.5, 0.5], [0.9, 0.1], (100, 100))
    >>> round(stability, 2), p_value < 1e-8
    (0.85, True)
    """
    p, q = np.asarray(expected, dtype=np.float64), np.asarray(found, dtype=np.float64)
    n, m = n_rows
    counts = np.stack([p * n, q * m])
    used = counts.sum(axis=0) > 0.0
    if not n or not m or used.sum() < 2:
        return 0.0 if n and m else float("nan"), 1.0
    # Half a row in each bin, so that an empty one has a logarithm.
    smooth = (counts + 0.5) / (counts + 0.5).sum(axis=1, keepdims=True)
    stability = float(((smooth[1] - smooth[0]) * np.log(smooth[1] / smooth[0])).sum())
    pooled = counts[:, used].sum(axis=0) / (n + m)
    square = float(
        sum(
            ((row[used] - size * pooled) ** 2 / (size * pooled)).sum() for row, size in zip(counts, n_rows, strict=True)
        )
    )
    return stability, float(chi2.sf(square, used.sum() - 1))


def compare_feature(
    before: FeatureSummary, values: pa.ChunkedArray, n_before: int, n_columns: int, known: Sequence[Any] | None
) -> ColumnDrift:
    """Compare a feature with that of the training table.

    Parameters
    ----------
    before : FeatureSummary
        The feature of the training table.
    values : pyarrow.ChunkedArray
        Its values in the new table.
    n_before : int
        Rows of the training table.
    n_columns : int
        Number of columns that are compared, for the test.
    known : sequence or None
        All categories that the model knows, if it does.

    Returns
    -------
    ColumnDrift
    """
    findings = _Findings()
    missing = _measure_missing(values)
    _judge_missing(findings, before.missing, missing, (n_before, len(values)), n_columns)
    sizes = round(n_before * (1.0 - before.missing)), round(len(values) * (1.0 - missing))
    content = before.content
    parts = _NOTHING
    if isinstance(content, NumberSummary) and sizes[1]:
        numbers = measure_lengths(values) if before.kind == "text" else read_numbers(values)
        if len(numbers):
            parts = _compare_numbers(content, numbers, sizes, n_columns, findings, before)
    elif isinstance(content, LevelSummary) and sizes[1]:
        parts = _compare_levels(content, count_levels(values), sizes, n_columns, findings, known, len(values))
    stability, distance, p_value, labels, shares = parts
    return ColumnDrift(
        before.name,
        before.kind,
        findings.level,
        tuple(findings.remarks),
        stability,
        distance,
        p_value,
        (before.missing, missing),
        labels,
        _list_histogram_edges(content) if labels else (),
        before.is_calendar,
        shares,
        before.importance,
    )


def _list_histogram_edges(content: object) -> tuple[float, ...]:
    """Ends of the bins of numbers, with a bin below and one above the training range."""
    if not isinstance(content, NumberSummary):
        return ()
    edges = content.list_edges().tolist()
    return (2 * edges[0] - edges[1], *edges, 2 * edges[-1] - edges[-2])


def _measure_missing(values: pa.ChunkedArray) -> float:
    n_missing = values.null_count
    if pa.types.is_floating(values.type):
        n_missing += int(pc.sum(pc.is_nan(values)).as_py() or 0)
    return float(n_missing / max(len(values), 1))


def _judge_missing(findings: _Findings, before: float, now: float, n_rows: tuple[int, int], n_columns: int) -> None:
    _, p_value = measure_stability([before, 1.0 - before], [now, 1.0 - now], n_rows)
    if p_value < _SIGNIFICANT / n_columns:
        verb = "rose" if now > before else "fell"
        findings.add(abs(now - before), _MISSING, f"missing values {verb} from {before:.1%} to {now:.1%}")


def _judge_shape(findings: _Findings, stability: float, p_value: float, n_columns: int, remark: str) -> None:
    if p_value < _SIGNIFICANT / n_columns:
        findings.add(stability, {"moderate": _SMALL, "large": _LARGE}, remark)


def _compare_numbers(
    before: NumberSummary,
    numbers: FloatArray,
    sizes: tuple[int, int],
    n_columns: int,
    findings: _Findings,
    feature: FeatureSummary,
) -> _Parts:
    shares = before.measure_shares(numbers)
    expected = np.asarray(before.shares)
    joined = _join_bins(expected)
    stability, p_value = measure_stability(np.add.reduceat(expected, joined), np.add.reduceat(shares, joined), sizes)
    distance = float(np.abs(np.cumsum(shares) - np.cumsum(expected)).max())
    histogram = before.measure_histogram(numbers)
    show = show_date if feature.is_calendar else show_number
    middle = float(np.median(numbers))
    rise = "larger" if np.cumsum(shares)[:-1].sum() < np.cumsum(expected)[:-1].sum() else "smaller"
    what = (
        "texts are longer or shorter"
        if feature.kind == "text"
        else f"values tend to be {rise} (median now {show(middle)})"
    )
    _judge_shape(findings, stability, p_value, n_columns, what)
    outside = float(histogram[0] + histogram[-1])
    if outside * len(numbers) > 3.0:
        findings.add(
            outside, _OUTSIDE, f"{outside:.1%} of the values lie outside {show(before.low)} to {show(before.high)}"
        )
    edges = before.list_edges().tolist()
    labels = (
        f"below {show(before.low)}",
        *(f"{show(a)} to {show(b)}" for a, b in pairwise(edges)),
        f"above {show(before.high)}",
    )
    pair = (0.0, *before.histogram, 0.0), tuple(histogram.tolist())
    return stability, distance, p_value, labels, pair


def _compare_levels(
    before: LevelSummary,
    counts: dict[str, int],
    sizes: tuple[int, int],
    n_columns: int,
    findings: _Findings,
    known: Sequence[Any] | None,
    n_rows: int,
) -> _Parts:
    total = max(sum(counts.values()), 1)
    complete = len(before.shares) == before.n_levels
    names = {str(one) for one in known} if known is not None and not complete else set(before.shares)
    can_tell = complete or known is not None
    unseen = {name: n / total for name, n in counts.items() if name not in names} if can_tell else {}
    first = list(before.shares)[:_MOST_NAMED]
    rest = 1.0 - sum(before.shares[name] for name in first)
    expected = [before.shares[name] for name in first] + [max(rest, 0.0)]
    found = [counts.get(name, 0) / total for name in first]
    found.append(max(1.0 - sum(found), 0.0))
    stability, p_value = measure_stability(expected, found, sizes)
    every = set(counts) | set(before.shares)
    distance = 0.5 * sum(abs(counts.get(name, 0) / total - before.shares.get(name, 0.0)) for name in every)
    changed = max(range(len(found)), key=lambda k: abs(found[k] - expected[k]))
    name = repr(first[changed]) if changed < len(first) else "other categories"
    remark = f"the share of {name} changed from {expected[changed]:.1%} to {found[changed]:.1%}"
    _judge_shape(findings, stability, p_value, n_columns, remark)
    if unseen:
        shown = ", ".join(repr(one) for one in list(unseen)[:3]) + (", …" if len(unseen) > 3 else "")
        n_unseen = round(sum(unseen.values()) * total)
        remark = f"{n_unseen:,} row{'s have' if n_unseen > 1 else ' has'} an unseen category: {shown}"
        findings.add(n_unseen / n_rows, _UNSEEN, remark, always=True)
    # Without other categories, before and now, there is nothing to draw of them.
    n_drawn = len(first) + (before.n_levels > len(first) or not counts.keys() <= set(first))
    labels = (*first, "others")[:n_drawn]
    return stability, min(distance, 1.0), p_value, labels, (tuple(expected[:n_drawn]), tuple(found[:n_drawn]))


def _join_bins(shares: FloatArray) -> list[int]:
    """First bins of groups of neighbours, each with a minimum share of the training rows."""
    starts, held = [0], 0.0
    for k, share in enumerate(shares.tolist()):
        if held >= _MIN_SHARE and 1.0 - shares[:k].sum() >= _MIN_SHARE / 2:
            starts.append(k)
            held = 0.0
        held += share
    return starts


def compare_outcome(
    name: str, before: NumberSummary | LevelSummary, values: pa.ChunkedArray, n_before: int
) -> ColumnDrift:
    """Compare targets or predictions with those of the training table.

    Parameters
    ----------
    name : str
        Of the target.
    before : NumberSummary or LevelSummary
        Of the training table.
    values : pyarrow.ChunkedArray
        Of the new table.
    n_before : int
        Rows of the training table.

    Returns
    -------
    ColumnDrift
    """
    kind = "number" if isinstance(before, NumberSummary) else "category"
    return compare_feature(FeatureSummary(name, kind, False, 0.0, before), values, n_before, 1, None)


def rank_drifts(drifts: Sequence[ColumnDrift]) -> list[ColumnDrift]:
    """The columns in order: large drift first, then by the stability index."""
    return sorted(drifts, key=lambda one: (_ORDER[one.level], -np.nan_to_num(one.stability), one.name))
