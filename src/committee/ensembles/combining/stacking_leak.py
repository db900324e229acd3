"""The leak alarm: what a stack's meta-model was told, against a nested estimate of how good the stack is."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone

from committee.data import ClassTarget
from committee.data.rows import select_rows
from committee.data.sampling import read_groups
from committee.data.weights import read_sample_weight
from committee.ensembles.combining.out_of_fold import plan_folds
from committee.ensembles.combining.training_set import read_table
from committee.exceptions import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["LeakReport", "compare_estimates"]

_TINY = 1e-15
_ALLOWED = 0.05
"""Share of the naive model's loss by which the nested loss may be above the inner one without a leak, besides what the
meta-model's own numbers explain: the nested stack has a fifth less to learn from."""


@dataclass(frozen=True)
class LeakReport:
    """Two estimates of a stack's loss: log-loss where there are probabilities, squared error for values, else errors.

    Attributes
    ----------
    inner : float
        Mean loss of the meta-model on the rows it learnt from, that is on the answers of the members.
    nested : float
        Mean loss of whole stacks on rows that they have not seen at all.
    naive : float
        Mean loss of a model that knows the target's distribution only.
    gap : float
        nested - inner, a share of naive.
    allowed : float
        The gap that is no leak: 0.05, and what fitting the k numbers of a linear meta-model to n rows (or groups) makes
        of equal losses, 2k/n of the variance or k/n of the log-loss [Akaike1974].
    standard_error : float
        Of the gap, over rows or groups.
    p_value : float
        Chance of a gap this large if the true one were just what is allowed.
    alarm : bool
        Whether the p-value is below the level.
    """

    inner: float
    nested: float
    naive: float
    gap: float
    allowed: float
    standard_error: float
    p_value: float
    alarm: bool


def compare_estimates(stack: Any, X: Any, y: Any, sample_weight: Any, groups: Any, cv: Any, level: float) -> LeakReport:
    """Fit the stack on all rows and once for each outer fold, and compare the losses row by row."""
    if not 0.0 < level < 1.0:
        raise ParameterError(f"The 'level' argument must be in (0, 1); got {level!r}.")
    X = read_table(X)
    # Members that are fitted already are judged by fresh ones: nobody else knows what rows they have seen.
    fitted = stack.cv == "prefit"
    whole, fresh = (copy(stack), clone(stack).set_params(cv=None)) if fitted else (clone(stack), stack)
    training, rows = whole._train(X, y, sample_weight, groups, {})
    target = whole._read_target(X, y)
    numbers = whole._open_lesson(X, target, None).y
    weights = None if sample_weight is None else read_sample_weight(sample_weight, len(numbers))
    inner = np.full(len(numbers), np.nan)
    inner[rows] = _measure_loss(whole, whole.final_estimator_, training.X, training.y)
    nested = np.full(len(numbers), np.nan)
    for train, test in plan_folds(cv, X, numbers, groups, isinstance(target, ClassTarget), weights):
        fold = clone(fresh)
        fold._train(
            select_rows(X, train),
            numbers[train],
            None if weights is None else weights[train],
            None if groups is None else np.asarray(groups)[train],
            {},
        )
        nested[test] = _measure_loss(fold, fold, select_rows(X, test), numbers[test])
    units = np.arange(len(numbers)) if groups is None else read_groups(groups, len(numbers))
    both = np.isfinite(inner) & np.isfinite(nested)
    counted = np.where(both, 1.0 if weights is None else weights, 0.0)
    naive = _naive_loss(whole, numbers)
    losses = tuple(np.where(both, loss, 0.0) / naive for loss in (inner, nested))
    n_numbers = (training.X.shape[1] + 1) * (2.0 if whole._task == "regress" else 1.0 / naive)
    return _judge(losses, counted, units, naive, n_numbers, level)


def _judge(
    losses: tuple[FloatArray, ...],
    counted: FloatArray,
    units: NDArray[Any],
    naive: float,
    n_numbers: float,
    level: float,
) -> LeakReport:
    """Whether the mean difference of two losses is larger than chance and fitting explain."""
    inner, nested = losses
    share = counted / counted.sum()
    gap = float(share @ (nested - inner))
    # Rows of a group are alike: the group is what is drawn, and its sum is what varies.
    sums = np.bincount(units, weights=share * (nested - inner - gap))
    weight = np.bincount(units, weights=share)
    n_units = 1.0 / float(weight @ weight)
    spread = float(np.sqrt(sums @ sums))
    allowed = _ALLOWED + n_numbers / n_units
    excess = (gap - allowed) / spread if spread > 0.0 else np.inf * np.sign(gap - allowed)
    p_value = float(student.sf(excess, max(1.0, n_units - 1.0)))
    return LeakReport(
        inner=float(share @ inner) * naive,
        nested=float(share @ nested) * naive,
        naive=naive,
        gap=gap,
        allowed=allowed,
        standard_error=spread,
        p_value=p_value,
        alarm=p_value < level,
    )


def _measure_loss(stack: Any, model: Any, X: Any, y: NDArray[Any]) -> FloatArray:
    """Loss of each row, the mean over outputs."""
    truth = y.reshape(len(y), -1)
    if stack._task == "regress":
        said = np.asarray(model.predict(X)).reshape(len(y), -1)
        return np.asarray(((truth - said) ** 2).mean(axis=1))
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        parts = shares if isinstance(shares, list) else [shares]
        known = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
        losses = [
            _log_loss(part, np.asarray(c), truth[:, k]) for k, (part, c) in enumerate(zip(parts, known, strict=True))
        ]
        return np.asarray(np.mean(losses, axis=0))
    said = np.asarray(model.predict(X)).reshape(len(y), -1)
    return np.asarray((truth != said).mean(axis=1))


def _log_loss(shares: FloatArray, classes: NDArray[Any], truth: NDArray[Any]) -> FloatArray:
    hits = truth[:, None] == classes
    return np.asarray(-np.log(np.clip((shares * hits).sum(axis=1), _TINY, None)))


def _naive_loss(stack: Any, y: NDArray[Any]) -> float:
    """Loss of a constant: entropy of the classes, or variance."""
    truth = y.reshape(len(y), -1)
    if stack._task == "regress":
        return float(truth.var(axis=0).mean()) or 1.0
    counts = [np.bincount(truth[:, k]) / len(y) for k in range(truth.shape[1])]
    if hasattr(stack, "predict_proba"):
        return float(np.mean([-(c[c > 0] * np.log(c[c > 0])).sum() for c in counts])) or 1.0
    return float(np.mean([1.0 - c.max() for c in counts])) or 1.0
