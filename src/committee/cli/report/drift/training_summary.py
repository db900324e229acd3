"""A compact summary of the table that a model was fitted to; model files keep it as notes.

Numbers are summarised by the shares of their values between quantiles, by which distances of distributions are
measured, and by a histogram of equal bins, which is drawn. Categories are summarised by the shares of the most frequent
ones, long texts by their lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from committee.cli.problem import write_numbers
from committee.exceptions import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from committee.cli.problem import LearningProblem
    from committee.cli.results import FitResults
    from committee.typing import FloatArray

__all__ = [
    "ColumnContent",
    "FeatureSummary",
    "LevelSummary",
    "NumberSummary",
    "TrainingSummary",
    "count_levels",
    "measure_lengths",
    "read_numbers",
    "read_summary",
    "summarize_training",
]

NOTES_KEY = "training table"
_N_QUANTILES = 40
_N_BINS = 20
_MOST_LEVELS = 200
_MOST_FEATURES = 1000
# Mean number of characters from which a column of text is summarised by its lengths.
_LONG_TEXT = 40
_VERSION = 1


@dataclass(frozen=True)
class NumberSummary:
    """The distribution of numbers.

    Parameters
    ----------
    low, high : float
        Their range.
    edges : tuple of float
        Distinct inner quantiles, ascending.
    shares : tuple of float
        Share of the values up to the first edge, between two edges, and above the last.
    histogram : tuple of float
        Share of the values in bins of equal width from low to high.
    """

    low: float
    high: float
    edges: tuple[float, ...]
    shares: tuple[float, ...]
    histogram: tuple[float, ...]

    @classmethod
    def of_values(cls, values: FloatArray) -> NumberSummary | None:
        """The summary of finite values; None without values."""
        values = values[np.isfinite(values)]
        if not len(values):
            return None
        steps = np.linspace(0.0, 1.0, _N_QUANTILES + 1)[1:-1]
        low, high = float(values.min()), float(values.max())
        # Six digits of the range are enough, and keep the file small.
        digits = 6 - math.floor(math.log10(high - low)) if 0.0 < high - low < math.inf else 12
        edges = np.unique(np.round(np.quantile(values, steps, method="inverted_cdf"), digits))
        found = cls(low, high, tuple(edges.tolist()), (), ())
        histogram = found.measure_histogram(values)[1:-1]
        return cls(low, high, tuple(edges.tolist()), _round(found.measure_shares(values)), _round(histogram))

    def measure_shares(self, values: FloatArray) -> FloatArray:
        """Shares of other values between the same edges."""
        bins = np.searchsorted(self.edges, values, side="left")
        return np.bincount(bins, minlength=len(self.edges) + 1) / max(len(values), 1)

    def measure_histogram(self, values: FloatArray) -> FloatArray:
        """Shares of other values below the range, in the bins, and above the range."""
        width = (self.high - self.low) / _N_BINS if self.high > self.low else 1.0
        bins = np.clip(np.floor((values - self.low) / width), 0, _N_BINS - 1)
        bins = np.where(values < self.low, -1, np.where(values > self.high, _N_BINS, bins)).astype(np.intp)
        return np.bincount(bins + 1, minlength=_N_BINS + 2) / max(len(values), 1)

    def list_edges(self) -> FloatArray:
        """The ends of the bins of the histogram."""
        return np.linspace(self.low, self.high if self.high > self.low else self.low + 1.0, _N_BINS + 1)


@dataclass(frozen=True)
class LevelSummary:
    """The distribution of categories.

    Parameters
    ----------
    shares : dict of str to float
        Shares of the most frequent categories, the most frequent first.
    n_levels : int
        Number of all categories.
    """

    shares: dict[str, float]
    n_levels: int

    @classmethod
    def of_counts(cls, counts: Mapping[str, int]) -> LevelSummary:
        """The summary of counted categories, the most frequent first."""
        total = max(sum(counts.values()), 1)
        return cls({name: round(n / total, 6) for name, n in list(counts.items())[:_MOST_LEVELS]}, len(counts))


ColumnContent: TypeAlias = NumberSummary | LevelSummary


@dataclass(frozen=True)
class FeatureSummary:
    """One feature of the training table.

    Parameters
    ----------
    name, kind : str
        Its name, and "number", "boolean", "category", "date" or "text" (whose lengths are summarised).
    is_calendar : bool
        Whether its numbers are seconds since 1970.
    missing : float
        Share of rows without a value.
    content : NumberSummary, LevelSummary or None
        Its distribution; None if there is none.
    importance : float or None
        Of the feature for the model, if it was measured.
    """

    name: str
    kind: str
    is_calendar: bool
    missing: float
    content: ColumnContent | None
    importance: float | None = None


@dataclass(frozen=True)
class TrainingSummary:
    """The table that a model was fitted to, and the scores of the fit.

    Parameters
    ----------
    source, target, task : str
        Names of the table and of its target, and the task.
    n_rows, n_features : int
        Size of the table.
    features : tuple of FeatureSummary
        At most a thousand.
    outcome, predictions : NumberSummary, LevelSummary or None
        The distribution of the target, and of the predictions of held-out rows.
    scores : dict of str to tuple of float
        By metric: score on held-out rows, its standard error, score of the naive guess.
    baseline : float or None
        Mean of a numeric target, which is the naive guess.
    """

    source: str
    target: str
    task: str
    n_rows: int
    n_features: int
    features: tuple[FeatureSummary, ...]
    outcome: ColumnContent | None
    predictions: ColumnContent | None
    scores: dict[str, tuple[float, float, float]]
    baseline: float | None

    def write_notes(self) -> dict[str, Any]:
        """As notes of a model file."""
        features = [
            {
                "name": one.name,
                "kind": one.kind,
                "calendar": one.is_calendar,
                "missing": round(one.missing, 6),
                "content": _write_content(one.content),
                "importance": one.importance,
            }
            for one in self.features
        ]
        table = {
            "version": _VERSION,
            "source": self.source,
            "target": self.target,
            "task": self.task,
            "rows": self.n_rows,
            "width": self.n_features,
            "features": features,
            "outcome": _write_content(self.outcome),
            "predictions": _write_content(self.predictions),
            "scores": {name: list(values) for name, values in self.scores.items()},
            "baseline": self.baseline,
        }
        return {NOTES_KEY: table}


def summarize_training(
    problem: LearningProblem, results: FitResults, importances: Mapping[str, float] | None = None
) -> TrainingSummary:
    """Summarise the table of a fit.

    Parameters
    ----------
    problem : LearningProblem
        Features and target.
    results : FitResults
        The results of the fit.
    importances : mapping of str to float, optional
        Importances of the features; by default those of the model.

    Returns
    -------
    TrainingSummary
    """
    ranks = results.importances if importances is None else importances
    features = []
    for column in problem.columns[:_MOST_FEATURES]:
        values = problem.features.column(column.name)
        kind, content = _summarize_column(values, column.kind)
        importance = ranks.get(column.name)
        finite = importance if importance is not None and math.isfinite(importance) else None
        missing = column.n_missing / problem.n_rows
        features.append(FeatureSummary(column.name, kind, column.is_calendar, missing, content, finite))
    classify = problem.has_classes
    predicted = _read_predictions(problem, results)
    scores = {
        name: (one.model.mean, one.model.error, one.baseline.mean)
        for name, one in results.comparisons.items()
        if all(map(math.isfinite, (one.model.mean, one.model.error, one.baseline.mean)))
    }
    return TrainingSummary(
        source=problem.source,
        target=problem.target,
        task=problem.task,
        n_rows=problem.n_rows,
        n_features=len(problem.columns),
        features=tuple(features),
        outcome=summarize_outcome(problem.values, classify=classify),
        predictions=summarize_outcome(predicted, classify=classify),
        scores=scores,
        baseline=None if classify else float(problem.values.mean()),
    )


def summarize_outcome(values: NDArray[Any], *, classify: bool) -> ColumnContent | None:
    """The distribution of classes or values.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        True or predicted.
    classify : bool
        Whether they are classes.

    Returns
    -------
    NumberSummary, LevelSummary or None
        None without values.
    """
    if not classify:
        return NumberSummary.of_values(np.asarray(values, dtype=np.float64))
    labels, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return LevelSummary.of_counts({str(labels[k]): int(counts[k]) for k in order}) if len(labels) else None


def _read_predictions(problem: LearningProblem, results: FitResults) -> NDArray[Any]:
    """Predicted classes or values of held-out rows."""
    predictions = results.predictions
    if predictions.ndim == 1:
        return predictions
    known = np.isfinite(predictions[:, 0])
    return np.asarray(np.unique(problem.y)[predictions[known].argmax(axis=1)])


def _summarize_column(values: pa.ChunkedArray, kind: str) -> tuple[str, ColumnContent | None]:
    if kind in ("number", "date"):
        return kind, NumberSummary.of_values(read_numbers(values))
    if kind == "category":
        lengths = measure_lengths(values)
        if len(lengths) and float(lengths.mean()) >= _LONG_TEXT:
            return "text", NumberSummary.of_values(lengths)
    counts = count_levels(values)
    return kind, LevelSummary.of_counts(counts) if counts else None


def read_numbers(values: pa.ChunkedArray) -> FloatArray:
    """The finite numbers of a column; dates and times in seconds."""
    numbers = write_numbers(values).cast(pa.float64(), safe=False).drop_null().to_numpy()
    return np.asarray(numbers[np.isfinite(numbers)])


def measure_lengths(values: pa.ChunkedArray) -> FloatArray:
    """Number of characters of each text; empty if the column holds something else."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return np.empty(0)
    return np.asarray(pc.utf8_length(values.drop_null()).to_numpy(), dtype=np.float64)


def count_levels(values: pa.ChunkedArray) -> dict[str, int]:
    """Categories and their counts, the most frequent first."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    counted = pc.value_counts(values.drop_null()).to_pylist()
    pairs = sorted(((str(one["values"]), int(one["counts"])) for one in counted), key=lambda pair: (-pair[1], pair[0]))
    return dict(pairs)


def _round(shares: FloatArray) -> tuple[float, ...]:
    return tuple(round(share, 5) for share in shares.tolist())


def _write_content(content: ColumnContent | None) -> dict[str, Any] | None:
    if content is None:
        return None
    if isinstance(content, LevelSummary):
        return {"levels": content.shares, "n": content.n_levels}
    return {
        "range": [content.low, content.high],
        "edges": list(content.edges),
        "shares": list(content.shares),
        "histogram": list(content.histogram),
    }


# Reading. Model files come from anywhere, so that everything is checked.


def read_summary(notes: Mapping[str, Any]) -> TrainingSummary | None:
    """The summary in the notes of a model file.

    Parameters
    ----------
    notes : mapping
        Of the file.

    Returns
    -------
    TrainingSummary or None
        None if there is none, or one of a later version.
    """
    table = notes.get(NOTES_KEY)
    if table is None or (isinstance(table, dict) and table.get("version") != _VERSION):
        return None
    try:
        return TrainingSummary(
            source=_read_text(table["source"]),
            target=_read_text(table["target"]),
            task=_read_text(table["task"]),
            n_rows=_read_count(table["rows"]),
            n_features=_read_count(table["width"]),
            features=tuple(_read_feature(one) for one in _read_list(table["features"])),
            outcome=_read_content(table["outcome"]),
            predictions=_read_content(table["predictions"]),
            scores={_read_text(name): _read_score(values) for name, values in table["scores"].items()},
            baseline=None if table["baseline"] is None else _read_number(table["baseline"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"The summary of the training table in the file cannot be read: {error}.") from None


def _read_feature(one: Any) -> FeatureSummary:
    importance = one["importance"]
    return FeatureSummary(
        _read_text(one["name"]),
        _read_text(one["kind"]),
        one["calendar"] is True,
        _read_number(one["missing"]),
        _read_content(one["content"]),
        None if importance is None else _read_number(importance),
    )


def _read_content(content: Any) -> ColumnContent | None:
    if content is None:
        return None
    if "levels" in content:
        levels = {_read_text(name): _read_number(share) for name, share in content["levels"].items()}
        return LevelSummary(levels, _read_count(content["n"]))
    edges, shares = _read_numbers(content["edges"]), _read_numbers(content["shares"])
    histogram = _read_numbers(content["histogram"])
    low, high = _read_numbers(content["range"])
    if len(shares) != len(edges) + 1 or len(histogram) != _N_BINS or low > high or list(edges) != sorted(edges):
        raise ValueError("its parts do not match")
    return NumberSummary(low, high, edges, shares, histogram)


def _read_score(values: Any) -> tuple[float, float, float]:
    mean, error, baseline = _read_numbers(values)
    return mean, error, baseline


def _read_numbers(values: Any) -> tuple[float, ...]:
    return tuple(_read_number(value) for value in _read_list(values))


def _read_list(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise TypeError(f"a list was expected, not {type(values).__name__}")
    return values


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"a number was expected, not {type(value).__name__}")
    return float(value)


def _read_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError("a count was expected")
    return value


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text was expected, not {type(value).__name__}")
    return value
