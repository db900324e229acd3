"""One estimator on one learning problem: its parameters, its metrics, and how it is fitted to and scored on rows."""

import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

import committee
from committee.cli.catalog import find_class
from committee.cli.errors import USAGE, CommandError, suggest
from committee.cli.fit_observer import FitObserver
from committee.cli.metrics import choose_metrics
from committee.cli.plan import Plan
from committee.cli.problem import LearningProblem
from committee.cli.task_metrics import NaiveDistribution, NaiveSurvival
from committee.cli.tasks import TaskKind
from committee.data.frames import read_frame
from committee.data.tables import Table
from committee.inspection.one_target import OneTarget
from committee.typing import FloatArray

__all__ = ["AUTOML", "INNER_FOLDS", "ModelSetup", "RowIndices", "fit_baseline", "is_automl"]

RowIndices = NDArray[np.intp]

# Prefix of the AutoML classes. They draw folds of their own and estimate their own score.
AUTOML = "Committee"
# Rows below which scores are not reliable.
_FEW_ROWS = 50
# Folds of a search inside a training set, which needs only the order of the candidates.
INNER_FOLDS = 3


class ModelSetup:
    """An estimator with its parameters on a learning problem.

    Parameters
    ----------
    problem : LearningProblem
        Features and target.
    plan : Plan
        The options.
    """

    def __init__(self, problem: LearningProblem, plan: Plan) -> None:
        self.problem = problem
        self.plan = plan
        weighted = problem.weights is not None
        self.metrics = choose_metrics(plan.metric, problem.task, problem.levels, weighted=weighted)
        self.template = self._make_template()
        self.name = type(self.template).__name__
        self.is_automl = self.name.startswith(AUTOML)
        # These look for texts in the table as it is.
        self._reads_texts = self.is_automl or "vectorizer" in self.template.get_params(deep=False)
        self._notices: list[str] = []
        self._check_folds()

    @property
    def notices(self) -> tuple[str, ...]:
        """Warnings for the user."""
        return tuple(self._notices)

    def fit_model(self, rows: RowIndices, observer: FitObserver, params: Mapping[str, Any] | None = None) -> Any:
        """Fit a copy of the estimator.

        Parameters
        ----------
        rows : ndarray of int
            Indices of the training rows.
        observer : FitObserver
            Notified when the model is fitted.
        params : mapping of str to object, optional
            Parameters that replace those of the plan.

        Returns
        -------
        estimator
            Fitted.
        """
        model = type(self.template)(**self.template.get_params())
        model.set_params(**(params or {}))
        y, fit_params = self.problem.make_fit_target(rows)
        if self.problem.weights is not None:
            fit_params["sample_weight"] = self.problem.weights[rows]
        if self.problem.groups is not None and self.is_automl:
            fit_params["groups"] = self.problem.groups[rows]
        model.fit(self.take_rows(rows), y, **fit_params)
        observer.on_fit_end()
        return model

    def view_model(self, model: Any) -> Any:
        """A model as one of the target of this problem."""
        return model if self.problem.together is None else OneTarget(model, self.problem.position)

    def score_model(self, model: Any, rows: RowIndices) -> float:
        """The first metric of a model on some rows, in the metric's own direction."""
        model = self.view_model(model)
        return self.metrics[0].score(model, self.take_rows(rows), self.problem.y[rows], self.take_weights(rows))

    def split_rows(self, rows: RowIndices, folds: int, seed: int) -> Iterator[tuple[RowIndices, RowIndices]]:
        """Training and test rows of each fold; stratified by class or event, and groups are not divided."""
        problem, y = self.problem, self.problem.values
        classify, groups = problem.has_classes, problem.groups
        if problem.together is not None and classify:
            y = _join_labels(problem.together, folds)
        if problem.task == "survival" and 0 < problem.y["event"].sum() < problem.n_rows:
            classify, y = True, problem.y["event"]
        if groups is None:
            splitter: Any = (StratifiedKFold if classify else KFold)(folds, shuffle=True, random_state=seed)
        else:
            groups = groups[rows]
            splitter = (StratifiedGroupKFold if classify else GroupKFold)(folds, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            # Rare classes are reported once, in the notices.
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            parts = list(splitter.split(rows, y[rows], groups))
        for train, test in parts:
            yield rows[train], rows[test]

    def take_rows(self, rows: RowIndices) -> pa.Table | Table:
        """Features of some rows, for the estimator; the table is read once and not by each fit."""
        if self._reads_texts:
            return self.problem.features.take(rows)
        return self._features.take_rows(rows)

    @cached_property
    def _features(self) -> Table:
        return read_frame(self.problem.features)

    def take_weights(self, rows: RowIndices) -> FloatArray | None:
        """Weights of some rows; None if there are none."""
        return None if self.problem.weights is None else self.problem.weights[rows]

    def _make_template(self) -> Any:
        estimator = getattr(committee, find_class(self.plan.estimator, self.problem.task))()
        known = estimator.get_params()
        for name in self.plan.settings:
            if name not in known:
                raise CommandError(
                    f"{type(estimator).__name__} has no parameter '{name}'.", suggest(name, sorted(known)), USAGE
                )
        if self.problem.together is not None and not get_tags(estimator).target_tags.multi_output:
            raise CommandError(
                f"{type(estimator).__name__} takes one target.",
                "Trees, forests, bags, boosting, AdaBoost and the automatic committee take several.",
                USAGE,
            )
        if self.problem.weights is not None and not has_fit_parameter(estimator, "sample_weight"):
            raise CommandError(f"{type(estimator).__name__} takes no weights.", "Leave out --weights.", USAGE)
        automl = type(estimator).__name__.startswith(AUTOML)
        if self.plan.seconds is not None and not automl:
            raise CommandError(
                f"{type(estimator).__name__} has no time budget.",
                "--time is for the automatic committee; choose a smaller model with --set.",
                USAGE,
            )
        defaults: dict[str, Any] = {"random_state": self.plan.seed, "n_jobs": self.plan.jobs}
        if automl:
            defaults |= {"time_budget": self.plan.seconds, "metric": self._choose_automl_metric()}
        if self.problem.levels:
            defaults["levels"] = list(self.problem.levels)
        chosen = {name: value for name, value in defaults.items() if name in known} | dict(self.plan.settings)
        return estimator.set_params(**chosen)

    def _choose_automl_metric(self) -> str | None:
        """The scorer that AutoML optimizes; None for its default, log-loss or root mean squared error."""
        if self.plan.metric is None or self.metrics[0].library in ("neg_log_loss", "neg_root_mean_squared_error"):
            return None
        return self.metrics[0].library

    def _check_folds(self) -> None:
        folds, n_rows = self.plan.folds, self.problem.n_rows
        if n_rows < _FEW_ROWS:
            self._notices.append(f"With {n_rows} rows all scores may be far off.")
        if self.is_automl:
            return  # it draws and checks its own folds
        if self.problem.groups is not None and (n_groups := int(self.problem.groups.max()) + 1) < folds:
            what = "queries" if self.problem.task == "rank" else "groups"
            raise CommandError(f"{n_groups} {what} are too few for {folds} folds.", "Lower --folds.", USAGE)
        if not self.problem.has_classes:
            # Each score needs two rows, and each training set two for its own folds.
            if n_rows < 2 * folds:
                raise CommandError(
                    f"{n_rows} rows are too few for {folds} folds.", "Lower --folds or bring more rows.", USAGE
                )
            return
        counts = self.problem.count_classes()
        needed = max(folds, INNER_FOLDS + 1)
        rarest, count = min(counts.items(), key=lambda item: item[1])
        if max(counts.values()) < needed:
            raise CommandError(
                f"No class of '{self.problem.target}' has the {needed} rows that {folds} folds need.",
                f"Lower --folds, or {self._suggest_regression()}.",
                USAGE,
            )
        if count < needed:
            self._notices.append(
                f"Class '{rarest}' has only {count} row{'s' if count > 1 else ''}: too few to be in every fold."
            )

    def _suggest_regression(self) -> str:
        target, first = self.problem.target, self.problem.y[0]
        if isinstance(first, str):
            return f"write numbers if '{target}' is numeric: {str(first)!r} is text"
        return f"use --task regression if '{target}' is numeric"


def _join_labels(targets: NDArray[Any], folds: int) -> RowIndices:
    """A class for each combination of labels of several targets; those too rare for the folds are one class."""
    numbers = [np.unique(column.astype(str), return_inverse=True)[1] for column in targets.T]
    _, combined, counts = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True, return_counts=True)
    combined = combined.ravel()
    return np.where(counts[combined] < folds, -1, combined)


def is_automl(estimator: str, task: TaskKind) -> bool:
    """Whether an ``--estimator`` names the AutoML estimator.

    Parameters
    ----------
    estimator : str
        A name that :func:`committee.cli.catalog.find_class` accepts.
    task : str
        The kind of prediction.

    Returns
    -------
    bool
    """
    return find_class(estimator, task).startswith(AUTOML)


def fit_baseline(problem: LearningProblem, rows: RowIndices) -> Any:
    """A model that ignores the features: class frequencies, the mean, the distribution or the survival curve.

    Parameters
    ----------
    problem : LearningProblem
        Features and target.
    rows : ndarray of int
        Indices of the training rows.

    Returns
    -------
    estimator
        Fitted; accepts any table of one column.
    """
    weights = None if problem.weights is None else problem.weights[rows]
    if problem.task == "survival":
        return NaiveSurvival(problem.y[rows], weights)
    if problem.task == "distribution":
        return NaiveDistribution(problem.y[rows], weights)
    baseline = DummyClassifier(strategy="prior") if problem.has_classes else DummyRegressor()
    return baseline.fit(np.zeros((len(rows), 1)), problem.values[rows], sample_weight=weights)
