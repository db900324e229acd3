"""What the two automatic committees share: a portfolio is fitted, members are weighed out of fold, a score is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from joblib import effective_n_jobs, parallel_config
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from committee.automatic.baseline_members import PlainMember
from committee.automatic.combination import Combination, Estimate, raise_shares
from committee.automatic.intervals import rank_errors
from committee.automatic.log_scale import return_from_logs
from committee.automatic.portfolio import PORTFOLIO, PRIOR, Entry, Setting, choose_entries, plan_course
from committee.automatic.stages import Course, boost_in_stages, measure_answers
from committee.automatic.views import TextReader, View, learn_texts, open_views
from committee.automatic.word_members import WordMember
from committee.base import CommitteeEstimator, resolve_seed
from committee.data import ClassTarget
from committee.data.intake import take_in, take_in_rows
from committee.data.weights import count_as_rows
from committee.ensembles.combining.fold_average import FoldAverage
from committee.ensembles.combining.member_predictions import predict_member
from committee.ensembles.combining.out_of_fold import Candidate, answer_out_of_fold, find_covered, plan_folds
from committee.ensembles.combining.training_set import TrainingSet
from committee.ensembles.progress import show_progress
from committee.exceptions import DataError, ParameterError
from committee.params import (
    CategoricalFeatures,
    CrossValidation,
    Interval,
    NJobs,
    RandomState,
    Unseen,
    Verbose,
)

if TYPE_CHECKING:
    from typing import Self

    from committee.data import Dataset, Schema
    from committee.ensembles.combining.out_of_fold import Folds
    from committee.typing import BoolArray, FloatArray, Task

__all__ = ["BaseCommittee", "Combine", "Folds_", "Metric", "NMembers", "Portfolio", "TextColumns", "TimeBudget"]

_N_FOLDS = 5
_MANY_ROWS = 1000
"""Rows from which folds are worth a thread each."""

NMembers: TypeAlias = Annotated[
    int | None,
    Interval(1, None),
    "The most members of the portfolio to fit, in its order; None for all. With this budget alone the result depends "
    "on nothing but data and seed.",
]
TimeBudget: TypeAlias = Annotated[
    float | None,
    Interval(0.0, None, closed="neither"),
    "Seconds after which no further member and no further stage of boosting is begun; a member is begun if the mean "
    "time of those before is left. The first stage of the first member is fitted whatever it takes. None: no limit.",
]
Metric: TypeAlias = Annotated[
    Callable[..., float] | str | None,
    "What to be good at, larger for better: the name of one of scikit-learn's scorers, or a function of the true and "
    "the predicted target (classes as numbers). None: minus the log-loss, or minus the root of the squared error.",
]
Combine: TypeAlias = Annotated[
    Literal["selection", "nonnegative"],
    "How members are weighed. ``'selection'``: greedily, with replacement, by the metric. ``'nonnegative'``: weights "
    "that are not negative and sum to one with the least log-loss or squared error, whatever the metric.",
]
Portfolio: TypeAlias = Annotated[
    Sequence[str] | None,
    "Names of the members to fit, in that order. None: all that suit the table: "
    + ", ".join(e.name for e in PORTFOLIO)
    + ". Kernel and neighbours up to 20,000 rows; members on plain numbers not on sparse tables of over 1e8 cells; "
    "those of words where there are texts; of logs, in place of shallow boosting, where values are positive with a "
    "long tail.",
]
TextColumns: TypeAlias = Annotated[
    Sequence[str] | Sequence[int] | Literal["auto"] | None,
    "Columns of free text, by name or number. ``'auto'``: strings, at least half of them distinct and of three words "
    "or more on average. None: strings are levels of categories. Linear and naive Bayes members of words read the "
    "tf-idf weights of words and pairs of words, all others the length and up to 30 themes.",
]
Folds_: TypeAlias = Annotated[
    CrossValidation,
    "The folds. None: five (fewer where a class or the groups are fewer), drawn at random, stratified for classes, "
    "groups kept together, and where all rows weigh the same forests answer for those out of their bags instead. "
    "Otherwise all members go through "
    "the folds: a number of them, a splitter of scikit-learn, or pairs of training and left-out rows.",
]


class BaseCommittee(CommitteeEstimator):
    """All that the two committees share; a subclass says what it predicts."""

    _task: ClassVar[Task]

    n_members: NMembers
    time_budget: TimeBudget
    metric: Metric
    combine: Combine
    portfolio: Portfolio
    cv: Any
    text_columns: TextColumns
    categorical_features: CategoricalFeatures
    unseen: Unseen
    n_jobs: NJobs
    verbose: Verbose
    random_state: RandomState

    estimators_: list[Any]
    weights_: FloatArray
    power_: float
    leaderboard_: list[dict[str, Any]]
    score_estimate_: float
    score_error_: float
    _schema: Schema
    _texts: TextReader = TextReader()

    def _store_params(self, given: dict[str, Any]) -> None:
        for name, value in given.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the portfolio, weigh its members, estimate the score.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, categories and texts; missing values are allowed.
        y : array-like of shape (n_samples,)
            Classes or values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; only the default metric can count them.
        groups : array-like of shape (n_samples,), optional
            Groups of rows that belong together: folds, bags and the standard error keep them whole.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_names()
        started = time.perf_counter()
        with threadpool_limits(1, "blas"):
            texts = learn_texts(X, self.text_columns, self.categorical_features)
        X, words = texts.lift(X)
        dataset = self._take_in(X, y, sample_weight)
        assert dataset.target is not None
        table, with_words = texts.join(dataset.X, words)
        training, seed = self._open_lesson(dataset, table, groups), resolve_seed(self.random_state)
        folds = self._plan(training, seed)
        categories = [k for k, levels in enumerate(dataset.schema.categories) if levels is not None]
        # A row of great weight is in nearly every bag, so that nobody could answer for it.
        own_folds = self.cv is not None or training.weights is not None
        n_classes = int(dataset.target.n_classes[0]) if isinstance(dataset.target, ClassTarget) else 0
        deadline = None if self.time_budget is None else started + self.time_budget
        n_columns = int(table.shape[1])
        setting = Setting(n_classes, categories, n_columns, groups is not None, own_folds, self.n_jobs, seed, deadline)
        jury = Combination(dataset.target, training.weights, training.groups, self.metric, self.combine, seed)
        views = open_views(training, with_words, setting.classify)
        candidates, seconds = self._train(views, folds, setting, jury, started)

        covered = _find_judged(candidates, training)
        rows = np.flatnonzero(covered)
        if not len(rows):
            raise DataError("No row has an out-of-fold answer from every member; use other folds.")
        answers: FloatArray = np.stack([np.where(covered[:, None], one.answers, 0.0) for one in candidates])
        # A constant changes no ranking and few votes, so that other metrics may take it in without noticing.
        first = 0 if self.metric is None or len(candidates) == 1 else 1
        weights = np.zeros(len(candidates))
        weights[first:] = jury.weigh(answers[first:], rows)
        power = jury.sharpen(np.einsum("m,mrc->rc", weights, answers), rows)
        unseen = jury.answer_nested(answers[first:], rows, folds)
        nested = jury.estimate(*unseen)
        alone = [jury.estimate(said, rows) for said in answers]
        chosen = [k for k, weight in enumerate(weights) if weight > 0.0]
        self._set_fitted(
            dataset,
            {
                "estimators_": [_present(candidates[k], setting.classes) for k in chosen],
                "weights_": weights[chosen],
                "_texts": texts,
                "power_": power,
                "leaderboard_": _draw_board(candidates, alone, seconds, weights),
                "score_estimate_": nested.score,
                "score_error_": nested.error,
                **self._keep_unseen(training, unseen[0]),
            },
        )
        return self

    # From data to what members learn.

    def _check_names(self) -> None:
        known = [entry.name for entry in PORTFOLIO]
        strange = [name for name in self.portfolio or [] if name not in known]
        if strange or (self.portfolio is not None and not len(self.portfolio)):
            raise ParameterError(
                f"The 'portfolio' parameter of {type(self).__name__} must be None or a list of names among {known}; "
                f"got {self.portfolio!r}."
            )

    def _take_in(self, X: Any, y: Any, sample_weight: Any) -> Dataset:
        dataset = take_in(
            self,
            X,
            y,
            sample_weight,
            task=self._task,
            class_weight=getattr(self, "class_weight", None),
            categorical_features=self.categorical_features,
            unseen=self.unseen,
            multi_output=False,
        )
        n_there = dataset.n_rows if dataset.weights is None else np.count_nonzero(dataset.weights)
        if n_there < 2:
            raise DataError(
                f"{type(self).__name__} needs two rows, one to learn from and one to be tested on; got n_samples = "
                f"{n_there}."
            )
        return dataset

    def _open_lesson(self, dataset: Dataset, table: Any, groups: Any) -> TrainingSet:
        target = dataset.target
        numbers: Any = target.labels.astype(np.intp) if isinstance(target, ClassTarget) else target.values  # type: ignore[union-attr]
        weights = None if dataset.weights is None else count_as_rows(dataset.weights)
        if weights is not None and (weights == weights[0]).all():
            weights = None
        if groups is not None:
            groups = np.asarray(groups)
            if groups.shape != (dataset.n_rows,):
                raise DataError(f"groups must have an entry for each of the {dataset.n_rows} rows; got {groups.shape}.")
        return TrainingSet(table, numbers[:, 0], weights, groups)

    def _plan(self, training: TrainingSet, seed: int) -> Folds:
        classify = self._task == "classify"
        if self.cv is not None:
            return plan_folds(self.cv, training.X, training.y, training.groups, classify, training.weights)
        there = np.arange(training.n_rows) if training.weights is None else np.flatnonzero(training.weights)
        if training.groups is not None:
            n_groups = len(np.unique(training.groups[there]))
            if n_groups < 2:
                raise DataError("All rows are of one group; two are needed, to learn from one and test on the other.")
            return plan_folds(min(_N_FOLDS, n_groups), training.X, training.y, training.groups, False, training.weights)
        order = np.random.default_rng([seed, 0]).permutation(there)
        n_folds = min(_N_FOLDS, len(there))
        if classify:
            # Every class is in as many folds as it has rows, and in the training rows of all but one fold at least.
            order = order[np.argsort(training.y[order], kind="stable")]
        tests = [np.sort(order[k::n_folds]) for k in range(n_folds)]
        return [(np.setdiff1d(there, test), test) for test in tests]

    # The loop.

    def _train(
        self, views: dict[View, TrainingSet], folds: Folds, setting: Setting, jury: Combination, started: float
    ) -> tuple[list[Candidate], list[float]]:
        """Fit one entry after the other, as long as the budget lasts; their answers and seconds."""
        training, entries = views["table"], [PRIOR]
        if setting.n_classes != 1:
            size = training.n_rows, _count_sparse(training.X)
            entries += choose_entries(
                self.portfolio, self.n_members, *size, classify=setting.classify, views=tuple(views)
            )
        if self.time_budget is None:
            # The cheap ones first: boosting ends early where it cannot keep up with them.
            entries.sort(key=lambda entry: entry.way == "stages")
        candidates: list[Candidate] = []
        seconds: list[float] = []
        spent: list[float] = []
        losses: list[float] = []
        with show_progress("Committee", len(entries), verbose=int(self.verbose)) as tell:
            for number, entry in enumerate(entries):
                begun = time.perf_counter()
                if len(spent) > 1 and not self._has_time(begun - started, spent[1:]):
                    break
                # A loss of logarithms says nothing about one of values, and none of them about another metric.
                known = losses if self.metric is None and entry.view != "logs" else []
                course = plan_course(training, setting, known)
                found = self._fit_entry(entry, number, views[entry.view], folds, setting, course)
                if entry.view == "logs":
                    found = [return_from_logs(one, training) for one in found]
                losses.append(min(measure_answers(one.answers, training, setting.classes) for one in found))
                candidates += found
                seconds += [time.perf_counter() - begun] * len(found)
                spent.append(seconds[-1])
                if tell is not None:
                    tell(number + 1, entry.name + _show_best(found, training, jury))
        return candidates, seconds

    def _has_time(self, elapsed: float, seconds: list[float]) -> bool:
        return self.time_budget is None or elapsed + float(np.mean(seconds)) <= self.time_budget

    def _fit_entry(
        self, entry: Entry, number: int, training: TrainingSet, folds: Folds, setting: Setting, course: Course
    ) -> list[Candidate]:
        """What an entry has to offer: one candidate, or one for each stage."""
        by_folds = setting.goes_through_folds(entry)
        member = setting.make_member(entry, number)
        params = {} if training.weights is None else {"sample_weight": training.weights}
        one = Candidate(entry.name, member, "predict_proba" if setting.classify else "predict", params)
        # Folds of the engine's members are fitted side by side, each on one thread; arithmetic of others has threads
        # of its own.
        alone = not by_folds or isinstance(member, PlainMember) or training.n_rows < _MANY_ROWS
        n_jobs = 1 if alone else effective_n_jobs(-1 if self.n_jobs is None else self.n_jobs)
        if n_jobs > 1:
            member.set_params(n_jobs=1)
        # Sums of other libraries depend on their threads, and results must not: they get one.
        with parallel_config(backend="threading"), threadpool_limits(1, "blas"):
            if entry.way == "stages":
                return boost_in_stages(one, training, folds, setting.classes, course, n_jobs)
            if entry.way == "left out" and not by_folds:
                one.whole = training.teach(member, None, params)
                one.answers = one.whole.forget_left_out()
            else:
                answer_out_of_fold(training, [one], folds, setting.classes, out_of_bag=not by_folds, n_jobs=n_jobs)
        return [one]

    def _keep_unseen(self, training: TrainingSet, unseen: FloatArray) -> dict[str, Any]:
        """Out-of-fold answers, named as forests name theirs out of bag, and what they were wrong by."""
        if self._task == "classify":
            return {"oof_decision_function_": unseen}
        errors = rank_errors(np.abs(training.y - unseen[:, 0]), training.weights)
        return {"oof_prediction_": unseen[:, 0], "_oof_errors": errors}

    def _set_fitted(self, dataset: Dataset, fitted: dict[str, Any]) -> None:
        """Give up the old state for the new one, all at once: a fit that fails or is interrupted leaves it whole."""
        schema, target = dataset.schema, dataset.target
        fitted = {**fitted, "n_features_in_": schema.n_features, "_schema": schema}
        if isinstance(target, ClassTarget):
            fitted["classes_"] = target.classes[0]
        if schema.feature_names is not None:
            fitted["feature_names_in_"] = np.asarray(schema.feature_names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fitted)

    # Answers.

    def __sklearn_is_fitted__(self) -> bool:
        return "weights_" in self.__dict__

    def _average(self, X: Any) -> FloatArray:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )
        X, words = self._texts.lift(X)
        table, with_words = self._texts.join(take_in_rows(self, X, self._schema), words)
        classify = self._task == "classify"
        classes = [np.arange(len(self.classes_))] if classify else None
        total: Any = 0.0
        for weight, member in zip(self.weights_, self.estimators_, strict=True):
            rows = with_words if isinstance(member, WordMember) else table
            total = total + weight * predict_member(member, rows, "predict_proba" if classify else "predict", classes)
        return raise_shares(np.asarray(total), self.power_) if classify else np.asarray(total)


def _find_judged(candidates: list[Candidate], training: TrainingSet) -> BoolArray:
    """The rows that every candidate has answered for and that count."""
    covered = find_covered(candidates)
    return covered if training.weights is None else covered & (training.weights > 0.0)


def _show_best(candidates: list[Candidate], training: TrainingSet, jury: Combination) -> str:
    """The best score of the stages of an entry, for the eye."""
    rows = np.flatnonzero(_find_judged(candidates, training))
    return f" {max(jury.score(one.answers, rows) for one in candidates):.4g}" if len(rows) else ""


def _draw_board(
    candidates: list[Candidate], alone: list[Estimate], seconds: list[float], weights: FloatArray
) -> list[dict[str, Any]]:
    """A row for each entry, the best first; of stages the best one is told, and the weight of all."""
    rows: dict[str, dict[str, Any]] = {}
    for one, own, spent, weight in zip(candidates, alone, seconds, weights.tolist(), strict=True):
        stage = {"name": one.name, "rounds": _count_rounds(one), "score": own.score, "error": own.error}
        row = rows.setdefault(one.name, {**stage, "seconds": spent, "weight": 0.0})
        if own.score > row["score"]:
            row.update(stage)
        row["weight"] += weight
    return sorted(rows.values(), key=lambda row: -row["score"])


def _count_sparse(table: Any) -> int:
    """Cells of a sparse table, empty ones included; none for a dense one."""
    return int(np.prod(table.shape, dtype=float)) if issparse(table) else 0


def _present(one: Candidate, classes: Any) -> Any:
    return FoldAverage(one.by_fold, classes) if one.whole is None else one.whole


def _count_rounds(one: Candidate) -> int | None:
    return int(one.by_fold[0].n_estimators) if one.whole is None else None
