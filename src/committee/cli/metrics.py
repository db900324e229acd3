"""Metrics: a few with short names, and every scorer of scikit-learn under its own name."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import metrics as measures
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names

from committee.cli import task_metrics
from committee.cli.errors import DATA, USAGE, CommandError, suggest
from committee.exceptions import CommitteeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.cli.tasks import TaskKind
    from committee.typing import FloatArray

__all__ = ["ScoringMetric", "choose_metrics"]

ScorerCallable = Callable[..., float]


@dataclass(frozen=True)
class ScoringMetric:
    """A metric and its scorer.

    Parameters
    ----------
    name : str
        Its name in tables.
    sign : int
        1 if larger is better, -1 if smaller is.
    scorer : callable
        A scorer as in scikit-learn (model, X, y): larger is better.
    library : str
        Name of the equivalent scorer of scikit-learn; empty if it has none.
    needs_model : bool
        Whether it asks the model for more than predictions or probabilities.
    takes_weights : bool
        Whether rows may have weights.
    """

    name: str
    sign: int
    scorer: ScorerCallable
    library: str
    needs_model: bool = False
    takes_weights: bool = True

    def score(self, model: Any, X: Any, y: Any, weights: FloatArray | None = None) -> float:
        """The metric of a model on some rows, in the metric's own direction."""
        score_params = {} if weights is None else {"sample_weight": weights}
        try:
            with warnings.catch_warnings():
                # Test rows may lack a class; a score that is not defined raises an error below.
                warnings.filterwarnings("ignore", message="y_pred contains classes not in y_true")
                warnings.filterwarnings("ignore", message="A single label was found in")
                warnings.filterwarnings("ignore", category=UndefinedMetricWarning)
                score = self.sign * float(self.scorer(model, X, y, **score_params))
        except CommitteeError:
            raise
        except (ValueError, AttributeError, TypeError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise self._make_error(model, reason) from error
        if not math.isfinite(score):
            raise self._make_error(model, "it is not defined for the rows of a fold")
        return score

    def _make_error(self, model: Any, reason: str) -> CommandError:
        return CommandError(
            f"The metric '{self.name}' cannot be computed for {type(model).__name__}: {reason}.",
            "Choose another --metric, or fewer --folds.",
            DATA,
        )


def _predict_sorted(model: Any, X: Any) -> tuple[NDArray[Any], FloatArray]:
    """Classes, sorted as scikit-learn's metrics expect them (levels may not be), and their probabilities."""
    order = np.argsort(model.classes_, kind="stable")
    return np.asarray(model.classes_)[order], model.predict_proba(X)[:, order]


def _score_log_loss(model: Any, X: Any, y: Any, sample_weight: FloatArray | None = None) -> float:
    classes, probabilities = _predict_sorted(model, X)
    return -float(measures.log_loss(y, probabilities, labels=classes, sample_weight=sample_weight))


def _score_roc_auc(model: Any, X: Any, y: Any, sample_weight: FloatArray | None = None) -> float:
    """Area under the ROC curve; for several classes the mean over one-vs-rest curves."""
    classes, probabilities = _predict_sorted(model, X)
    if probabilities.shape[1] == 2:
        return float(measures.roc_auc_score(y == classes[1], probabilities[:, 1], sample_weight=sample_weight))
    return float(
        measures.roc_auc_score(y, probabilities, multi_class="ovr", labels=classes, sample_weight=sample_weight)
    )


# Name in the command: name in tables, sign, scorer of scikit-learn. The first two of a task are the default metrics.
_METRICS: dict[TaskKind, dict[str, tuple[str, int, str]]] = {
    "classification": {
        "accuracy": ("accuracy", 1, "accuracy"),
        "balanced-accuracy": ("balanced accuracy", 1, "balanced_accuracy"),
        "f1": ("macro F1", 1, "f1_macro"),
        "log-loss": ("log-loss", -1, "neg_log_loss"),
        "roc-auc": ("ROC AUC", 1, "roc_auc_ovr"),
    },
    "regression": {
        "r2": ("R²", 1, "r2"),
        "mae": ("mean absolute error", -1, "neg_mean_absolute_error"),
        "rmse": ("root mean squared error", -1, "neg_root_mean_squared_error"),
        "mse": ("mean squared error", -1, "neg_mean_squared_error"),
    },
    "ordinal": {
        "accuracy": ("accuracy", 1, "accuracy"),
        "level-error": ("mean error in levels", -1, ""),
        "kappa": ("quadratic kappa", 1, ""),
        "balanced-accuracy": ("balanced accuracy", 1, "balanced_accuracy"),
        "log-loss": ("log-loss", -1, "neg_log_loss"),
    },
    "distribution": {
        "crps": ("CRPS", -1, ""),
        "r2": ("R²", 1, "r2"),
        "mae": ("mean absolute error", -1, "neg_mean_absolute_error"),
        "rmse": ("root mean squared error", -1, "neg_root_mean_squared_error"),
    },
    "rank": {
        "ndcg": ("NDCG", 1, ""),
        "ndcg-10": ("NDCG of 10 places", 1, ""),
        "map": ("mean average precision", 1, ""),
    },
    "survival": {
        "concordance": ("concordance", 1, ""),
        "brier": ("integrated Brier score", -1, ""),
    },
}
_TASK_SCORERS: dict[str, ScorerCallable] = {
    "CRPS": task_metrics.score_crps,
    "NDCG": task_metrics.score_ndcg,
    "NDCG of 10 places": task_metrics.score_ndcg_10,
    "mean average precision": task_metrics.score_average_precision,
    "concordance": task_metrics.score_concordance,
    "integrated Brier score": task_metrics.score_brier_integral,
}
_LEVEL_KINDS = {"mean error in levels": "error", "quadratic kappa": "kappa"}
_ASK_MODELS = frozenset({"CRPS", "integrated Brier score"})
_TAKE_NO_WEIGHTS = frozenset({"integrated Brier score"})
# Scorers of scikit-learn that fail if a fold lacks a class are replaced.
_OWN_SCORERS: dict[str, ScorerCallable] = {"neg_log_loss": _score_log_loss, "roc_auc_ovr": _score_roc_auc}
_N_SHOWN = 2
# Tasks whose target is not a column of classes or values.
_OWN_TARGETS = frozenset({"rank", "survival"})


def choose_metrics(
    requested: str | None, task: TaskKind, levels: Sequence[Any] = (), *, weighted: bool = False
) -> tuple[ScoringMetric, ...]:
    """The metrics of a fit; the first one selects models.

    Parameters
    ----------
    requested : str or None
        Value of ``--metric``: a name from the table above or of a scorer of scikit-learn.
    task : str
        The kind of prediction.
    levels : sequence
        Of an ordinal target, the lowest first; empty: sorted.
    weighted : bool
        Whether rows have weights: defaults that take none are left out.

    Returns
    -------
    tuple of ScoringMetric
        The requested metric, then the defaults.
    """
    known = _METRICS[task]
    defaults = [_make_metric(known[name], levels) for name in list(known)[:_N_SHOWN]]
    defaults = [metric for metric in defaults if metric.takes_weights or not weighted]
    if requested is None:
        return tuple(defaults)
    plain = requested.lower().replace("_", "-").replace(" ", "-")
    if plain in known:
        first = _make_metric(known[plain], levels)
    elif requested in get_scorer_names() and task not in _OWN_TARGETS:
        first = ScoringMetric(requested, 1, get_scorer(requested), requested)
    else:
        more = "" if task in _OWN_TARGETS else " Any scorer of scikit-learn is accepted as well."
        raise CommandError(
            f"The --metric '{requested}' is not known for {task}.", suggest(requested, list(known)) + more, USAGE
        )
    if weighted and not first.takes_weights:
        raise CommandError(f"The --metric '{requested}' takes no weights.", "Leave out --weights.", USAGE)
    return (first, *(metric for metric in defaults if metric.name != first.name))


def _make_metric(entry: tuple[str, int, str], levels: Sequence[Any]) -> ScoringMetric:
    name, sign, library = entry
    if library:
        return ScoringMetric(name, sign, _OWN_SCORERS.get(library) or get_scorer(library), library)
    kind = _LEVEL_KINDS.get(name)
    scorer = _TASK_SCORERS[name] if kind is None else task_metrics.LevelScorer(kind, levels)
    return ScoringMetric(name, sign, scorer, library, name in _ASK_MODELS, name not in _TAKE_NO_WEIGHTS)
