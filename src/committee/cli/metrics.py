"""What a model is scored by: a few measures with plain names, and every scorer of scikit-learn by its own."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn import metrics as measures
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names

from committee.cli.errors import DATA, USAGE, CommandError, suggest
from committee.exceptions import CommitteeError

if TYPE_CHECKING:
    from committee.cli.problem import Task

__all__ = ["Metric", "choose_metrics"]

Scorer = Callable[..., float]


@dataclass(frozen=True)
class Metric:
    """One measure.

    Parameters
    ----------
    name : str
        What it is called in tables.
    sign : int
        1 if larger is better, -1 if smaller is.
    scorer : callable
        Of a model, rows and the truth about them, in scikit-learn's manner: larger is better.
    library : str
        What a scorer of scikit-learn that says the same is called.
    """

    name: str
    sign: int
    scorer: Scorer
    library: str

    def score(self, model: Any, rows: Any, y: Any, weights: Any = None) -> float:
        """The measure of a model on rows it has not seen, in its usual direction."""
        counted = {} if weights is None else {"sample_weight": weights}
        try:
            with warnings.catch_warnings():
                # A class that the test rows of a fold lack is no news to anyone, and a score that is not defined
                # is told of below.
                warnings.filterwarnings("ignore", message="y_pred contains classes not in y_true")
                warnings.filterwarnings("ignore", message="A single label was found in")
                warnings.filterwarnings("ignore", category=UndefinedMetricWarning)
                score = self.sign * float(self.scorer(model, rows, y, **counted))
        except CommitteeError:
            raise
        except (ValueError, AttributeError, TypeError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise self._refuse(model, reason) from error
        if not math.isfinite(score):
            raise self._refuse(model, "the rows of a fold do not define it")
        return score

    def _refuse(self, model: Any, reason: str) -> CommandError:
        return CommandError(
            f"The metric '{self.name}' cannot be computed for {type(model).__name__}: {reason}.",
            "Choose another --metric, or fewer --folds.",
            DATA,
        )


def _score_log_loss(model: Any, rows: Any, y: Any, sample_weight: Any = None) -> float:
    shares = model.predict_proba(rows)
    return -float(measures.log_loss(y, shares, labels=model.classes_, sample_weight=sample_weight))


def _score_area(model: Any, rows: Any, y: Any, sample_weight: Any = None) -> float:
    """Area under the ROC curve; of several classes the mean of each against the rest."""
    shares = model.predict_proba(rows)
    if shares.shape[1] == 2:
        return float(measures.roc_auc_score(y == model.classes_[1], shares[:, 1], sample_weight=sample_weight))
    return float(
        measures.roc_auc_score(y, shares, multi_class="ovr", labels=model.classes_, sample_weight=sample_weight)
    )


# Spelling in the command: name in tables, sign, scorer of scikit-learn. The first two of a task are shown unless one
# is asked for.
_METRICS: dict[Task, dict[str, tuple[str, int, str]]] = {
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
}
# Where the library's scorer stumbles over a fold without some class.
_OWN_SCORERS: dict[str, Scorer] = {"neg_log_loss": _score_log_loss, "roc_auc_ovr": _score_area}
_N_SHOWN = 2


def choose_metrics(asked: str | None, task: Task) -> tuple[Metric, ...]:
    """The metrics of a study; the first one chooses between models.

    Parameters
    ----------
    asked : str or None
        What ``--metric`` says, if anything: one of ours or the name of a scorer of scikit-learn.
    task : "classification" or "regression"
        What is predicted.

    Returns
    -------
    tuple of Metric
        The one that was asked for, and after it the usual ones.
    """
    known = _METRICS[task]
    usual = [_make_metric(known[name]) for name in list(known)[:_N_SHOWN]]
    if asked is None:
        return tuple(usual)
    plain = asked.lower().replace("_", "-").replace(" ", "-")
    if plain in known:
        first = _make_metric(known[plain])
    elif asked in get_scorer_names():
        first = Metric(asked, 1, get_scorer(asked), asked)
    else:
        raise CommandError(
            f"The --metric '{asked}' is not known for {task}.",
            f"{suggest(asked, list(known))} Any scorer of scikit-learn will do as well.",
            USAGE,
        )
    return (first, *(metric for metric in usual if metric.name != first.name))


def _make_metric(entry: tuple[str, int, str]) -> Metric:
    name, sign, library = entry
    return Metric(name, sign, _OWN_SCORERS.get(library) or get_scorer(library), library)
