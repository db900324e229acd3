"""Fits and scores of candidates: folds on one set of bins, warm starts, out-of-bag predictions.

Estimators of this library are fitted on a data set that all candidates share; a fold is a vector of weights over it.
With ``bins="fold"`` each fold has a data set of its own, which the candidates share likewise. In a pipeline the steps
before the last are fitted once for each fold and each setting of their own parameters, and the candidates share what
they make of the rows.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.utils.parallel import Parallel, delayed

from committee.data.rows import select_rows
from committee.data.spilling import carry_limit
from committee.data.targets import encode_classes
from committee.ensembles.boosting.continued import ContinuedBoosting, FollowedFit
from committee.ensembles.combining.fold_average import FoldAverage
from committee.ensembles.combining.member_predictions import read_oob_predictions
from committee.ensembles.combining.training_set import TrainingSet, can_fit_dataset
from committee.ensembles.member_routing import select_entries
from committee.exceptions import warn_caller
from committee.scoring import KnownProbabilities, KnownValues
from committee.search.candidates import Candidate, FoldResult
from committee.search.growth import GrowthPlan, choose_size, find_last_step, has_converged, is_hopeless
from committee.search.race import FoldRace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from committee.data.folds import Folds
    from committee.search.metrics import SearchMetrics
    from committee.typing import AnyArray, EstimatorLike, FloatArray

__all__ = ["Evaluator", "SearchData"]


@dataclass(frozen=True)
class SearchData:
    """What a search was given.

    Attributes
    ----------
    X, y : table and ndarray
        All rows.
    weights : ndarray or None
        Weights of the rows, in fits and in scores.
    groups : ndarray or None
        Of each row, for members that sample whole groups.
    fit_params : dict
        Arguments of `fit`, the weights among them.
    folds : list of (train, test), or None
        None: out-of-bag predictions.
    """

    X: Any
    y: AnyArray
    weights: FloatArray | None
    groups: AnyArray | None
    fit_params: dict[str, Any]
    folds: Folds | None

    @property
    def n_splits(self) -> int:
        """Number of scores of a candidate."""
        return 1 if self.folds is None else len(self.folds)


@dataclass(frozen=True)
class _Place:
    """Where a fit takes place: the table, the rows of it to fit on, and the table and rows to predict."""

    training: TrainingSet
    train: NDArray[np.intp] | None
    X_test: Any
    test: NDArray[np.intp]
    encoded: dict[int, Any] = field(default_factory=dict)
    """The rows to predict as a fit encodes them, by the schema, which the training set keeps."""


class Evaluator:
    """Fits candidates in the folds and scores them.

    Parameters
    ----------
    estimator : estimator
        Is cloned for every candidate.
    data : SearchData
        Rows, folds and arguments of `fit`.
    metrics : SearchMetrics
        What is scored.
    growth : GrowthPlan or None
        How candidates grow.
    bins : {"shared", "fold"}
        Whether all folds share one set of bins.
    n_jobs : int or None
        Number of fits at a time.
    error_score : "raise" or float
        What a candidate scores whose fit fails.
    """

    def __init__(
        self,
        estimator: EstimatorLike,
        data: SearchData,
        metrics: SearchMetrics,
        growth: GrowthPlan | None,
        *,
        bins: str = "shared",
        n_jobs: int | None = None,
        error_score: str | float = np.nan,
    ) -> None:
        self.estimator, self.data, self.metrics, self.growth = estimator, data, metrics, growth
        self.bins, self.n_jobs, self.error_score = bins, n_jobs, error_score
        self.failures: list[str] = []
        self._prefix, last = find_last_step(estimator)
        whole = not self._prefix or (len(getattr(estimator, "steps", ())) > 1 and not data.fit_params)
        self._fits_dataset = can_fit_dataset(last) and whole and not set(data.fit_params) - {"sample_weight"}
        self._places: dict[Any, _Place] = {}
        self._all = TrainingSet(data.X, data.y, data.weights, data.groups)
        predicts_alone = not metrics.needs_model and data.y.ndim == 1 and data.folds is not None
        self.follows = (
            self._fits_dataset
            and predicts_alone
            and isinstance(last, ContinuedBoosting)
            and growth is not None
            and growth.finds_rounds
        )
        """Whether the fits of candidates are followed step by step, with the predictions of their test rows."""

    def evaluate(
        self,
        candidates: Sequence[Candidate],
        size: int | None = None,
        rows: float = 1.0,
        *,
        is_late: Callable[[], bool] = bool,
        best: float = -np.inf,
        rival: Candidate | None = None,
    ) -> None:
        """Fit candidates, or let them grow, and score them; more than one at a time if ``n_jobs`` allows it.

        Parameters
        ----------
        candidates : list of Candidate
            Are filled in.
        size : int, optional
            Members to grow to; None: all of them.
        rows : float, default=1.0
            Fraction of the training rows of each fold to fit on.
        is_late : callable, optional
            Whether to stop between two looks at the scores of candidates that grow.
        best : float
            The best score so far: a candidate stops growing when it is out of its reach.
        rival : Candidate, optional
            The best so far, which new candidates race against; see `committee.search.race`.
        """
        finds = self.growth is not None and self.growth.finds_rounds
        for one in candidates:
            if not one.models or rows != one.row_share:
                one.row_share, one.curve, one.best_size = rows, {}, None
                one.models = [self._make_model(one.params) for _ in range(self.data.n_splits)]
                one.size = None if self.growth is None else 0
            one.done = False
            if rival is not None:
                FoldRace(self, rival, is_late).run(one)
                one.done = one.done or one.size == self.find_last(one) or has_converged(one.curve)
        while active := [one for one in candidates if not one.done]:
            for one in active:
                last = self.find_last(one, size)
                one.size = choose_size(one.size or 0, last) if finds else None if self.growth is None else last
            self._fit_once(active, rows)
            for one in active:
                stops = finds and (has_converged(one.curve) or is_hopeless(one.curve, best, one.rate))
                one.done = one.done or self.growth is None or one.size == self.find_last(one, size) or stops
            if is_late():
                break
        for one in candidates:
            pause_fits(one)

    def find_last(self, one: Candidate, size: int | None = None) -> int:
        """The members that a candidate grows to: ``size``, or all of them."""
        last = one.last or (0 if self.growth is None else self.growth.last)
        return last if size is None else min(size, last)

    def fit_whole(self, params: dict[str, Any]) -> EstimatorLike:
        """The estimator with some parameters, fitted on all rows."""
        model: EstimatorLike = clone(self.estimator).set_params(**params)
        model.fit(self.data.X, self.data.y, **self.data.fit_params)
        return model

    def average_folds(self, one: Candidate, params: dict[str, Any]) -> FoldAverage:
        """The mean of a candidate's models in the folds; those that cannot be cut to its members are fitted again."""
        assert self.data.folds is not None
        followed = [fit for fit in one.models if isinstance(fit, FollowedFit)]
        if len(followed) == self.data.n_splits and one.best_size is not None and not self._prefix:
            models: list[Any] = [fit.keep_first(one.best_size) for fit in followed]
            for model in models:
                model.set_params(warm_start=False)
        else:
            models = [clone(self.estimator).set_params(**params) for _ in self.data.folds]
            for model, (train, _) in zip(models, self.data.folds, strict=True):
                given = select_entries(self.data.fit_params, train, len(self.data.y))
                model.fit(select_rows(self.data.X, train), self.data.y[train], **given)
        if not is_classifier(self.estimator):
            return FoldAverage(models, None)
        if self.data.y.ndim == 1:
            return FoldAverage(models, [np.unique(self.data.y)])
        return FoldAverage(models, encode_classes(self.data.y, type(self.estimator).__name__).classes)

    def describe_winner(self, one: Candidate) -> dict[str, Any]:
        """The parameters that fit a candidate again, the number of rounds that was found among them."""
        if self.growth is None or not self.growth.finds_rounds or one.best_size is None:
            return dict(one.params)
        kept = {name: value for name, value in self.growth.settings.items() if not name.endswith("warm_start")}
        return {**one.params, self.growth.parameter: one.best_size, **kept}

    def _make_model(self, params: dict[str, Any]) -> Any:
        model = clone(self.estimator)
        # A parameter may be an estimator, of which every model needs one of its own.
        model.set_params(**{name: clone(value, safe=False) for name, value in params.items()})
        if self.growth is not None:
            model.set_params(**self.growth.settings)
        if self.data.folds is None and not getattr(model, "oob_score", False):
            model.set_params(oob_score=True)
        return model

    # Fits.

    def _fit_once(self, active: Sequence[Candidate], rows: float) -> None:
        """One fit, or one step of growth, of each model of some candidates."""
        jobs = [(one, k) for one in active for k in range(self.data.n_splits)]
        shared = self._fits_dataset or self.data.folds is None
        if shared:
            for one, k in jobs:
                self._prepare(one, k, rows)
        parallel = Parallel(n_jobs=self.n_jobs, prefer="threads" if shared else None)
        run = delayed(carry_limit(self.fit_fold))
        found = parallel(run(one.models[k], one.params, one.size, k, rows) for one, k in jobs)
        for n, one in enumerate(active):
            own = found[n * self.data.n_splits : (n + 1) * self.data.n_splits]
            one.models = [model for model, _, _ in own]
            one.rate = getattr(one.models[0], "rate", None) if self.follows else None
            self._record(one, [result for _, result, _ in own], [error for _, _, error in own if error])

    def _record(self, one: Candidate, results: list[FoldResult], errors: list[str]) -> None:
        if errors:
            self.record_failure(one, results, errors[0])
        one.seconds += sum(result.fit_seconds + result.score_seconds for result in results)
        score = float(np.mean([result.scores[self.metrics.main] for result in results]))
        finds = self.growth is not None and self.growth.finds_rounds
        if one.size is not None:
            one.curve[one.size] = score
        best = one.curve.get(one.best_size, -np.inf) if finds and one.best_size is not None else -np.inf
        if not finds or score > best or one.best_size is None:
            one.results, one.best_size = results, one.size

    def record_failure(self, one: Candidate, results: list[FoldResult], error: str) -> None:
        """Note that a fit of a candidate failed."""
        self.failures.append(error)
        warn_caller(f"A fit of candidate {one.number} failed: {error}", FitFailedWarning)
        one.results, one.done = results, True

    def _prepare(self, one: Candidate, k: int, rows: float) -> None:
        """Read and bin the table that a fit shares with others, before fits run side by side."""
        try:
            place = self._find_place(one.params, k, rows)
            last = find_last_step(one.models[k])[1]
            if can_fit_dataset(last):
                place.training.bin_table([last], self.n_jobs)
        except Exception:
            # Its fit fails in the same way, and then the error is the candidate's.
            if self.error_score == "raise":
                raise

    def _find_place(self, params: dict[str, Any], k: int, rows: float) -> _Place:
        data = self.data
        if data.folds is None:
            return _Place(self._all, None, None, np.arange(len(data.y)))
        before = {name: value for name, value in params.items() if not name.startswith(self._prefix or "\0")}
        key = (k, rows, repr(sorted(before.items())) if self._prefix else "")
        if key in self._places:
            return self._places[key]
        train, test = self._select_fold(k, rows)
        if self._prefix:
            place = self._transform_fold(before, train, test)
        elif self.bins == "shared" and rows == 1.0:
            place = _Place(self._all, train, select_rows(data.X, test), test)
        else:
            place = _Place(self._restrict(select_rows(data.X, train), train), None, select_rows(data.X, test), test)
        self._places[key] = place
        return place

    def _select_fold(self, k: int, rows: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Training and test rows of a fold, or a fraction of the training rows, each a part of the next larger one."""
        assert self.data.folds is not None
        train, test = self.data.folds[k]
        if rows < 1.0:
            order = np.random.default_rng(k).permutation(len(train))
            train = np.sort(train[order[: max(2, round(rows * len(train)))]])
        return train, test

    def _transform_fold(self, params: dict[str, Any], train: NDArray[np.intp], test: NDArray[np.intp]) -> _Place:
        """The rows of a fold as the steps before the last make them."""
        steps = clone(self.estimator).set_params(**params)[:-1]
        X_train, X_test = (select_rows(self.data.X, rows) for rows in (train, test))
        made = steps.fit_transform(X_train, self.data.y[train])
        return _Place(self._restrict(made, train), None, steps.transform(X_test), test)

    def _restrict(self, X: Any, rows: NDArray[np.intp]) -> TrainingSet:
        data = self.data
        weights = None if data.weights is None else data.weights[rows]
        return TrainingSet(X, data.y[rows], weights, None if data.groups is None else data.groups[rows])

    def fit_fold(
        self, model: Any, params: dict[str, Any], size: int | None, k: int, rows: float = 1.0
    ) -> tuple[Any, FoldResult, str]:
        """Fit, or let grow, the model of a fold: what goes on from it, its result, and what went wrong."""
        started = time.perf_counter()
        test = np.arange(len(self.data.y)) if self.data.folds is None else self.data.folds[k][1]
        try:
            if self.growth is not None and size is not None:
                if self.follows:
                    return self._follow(model, params, size, k, rows)
                model.set_params(**{self.growth.parameter: size})
            with warnings.catch_warnings():
                # Few members leave rows without out-of-bag predictions; the score leaves them out.
                warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
                fitted, X_test = self._fit_model(model, params, k, rows)
            done = time.perf_counter()
            scores, kept, predictions = self._score_model(fitted, X_test, test)
        except Exception as error:
            if self.error_score == "raise":
                raise
            value = float(self.error_score)
            scores = dict.fromkeys(self.metrics.scorers, value)
            spent = time.perf_counter() - started
            return model, FoldResult(scores, test, None, spent, 0.0), f"{type(error).__name__}: {error}"
        return model, FoldResult(scores, kept, predictions, done - started, time.perf_counter() - done), ""

    def _fit_model(self, model: Any, params: dict[str, Any], k: int, rows: float) -> tuple[Any, Any]:
        """The fitted model, and the rows to predict as it takes them."""
        if self.data.folds is None and not self._prefix:
            return self._all.fit_member(model, None, self.data.fit_params), None
        if self._fits_dataset:
            place = self._find_place(params, k, rows)
            last = find_last_step(model)[1]
            return place.training.fit_member(last, place.train, self.data.fit_params), place.X_test
        train, test = self._select_fold(k, rows)
        given = select_entries(self.data.fit_params, train, len(self.data.y))
        model.fit(select_rows(self.data.X, train), self.data.y[train], **given)
        return model, select_rows(self.data.X, test)

    def _follow(
        self, model: Any, params: dict[str, Any], size: int, k: int, rows: float
    ) -> tuple[Any, FoldResult, str]:
        """One step of a fit that is followed."""
        started, place = time.perf_counter(), self._find_place(params, k, rows)
        if not isinstance(model, FollowedFit):
            last: Any = find_last_step(model)[1]
            dataset = place.training.weigh_dataset(last, place.train, self.data.fit_params)
            if id(dataset.schema) not in place.encoded:
                place.encoded[id(dataset.schema)] = last.encode_rows(place.X_test, dataset)
            model = last.follow_fit(dataset, place.encoded[id(dataset.schema)])
        model.boost(size)
        done = time.perf_counter()
        kept, predictions = place.test, model.predict()
        weights = None if self.data.weights is None else self.data.weights[kept]
        if weights is not None and not weights.all():
            present = np.flatnonzero(weights)
            kept, weights, predictions = kept[present], weights[present], predictions[present]
        scores = self.metrics.score_known(model.classes, predictions, self.data.y[kept], weights)
        return model, FoldResult(scores, kept, predictions, done - started, time.perf_counter() - done), ""

    # Scores.

    def _score_model(
        self, model: Any, X_test: Any, test: NDArray[np.intp]
    ) -> tuple[dict[str, float], NDArray[np.intp], FloatArray | None]:
        """Scores, the rows that were predicted, and their predictions."""
        data = self.data
        kept, predictions = test, None if data.folds is None else predict_scores(model, X_test)
        if data.folds is None:
            votes = read_oob_predictions(model, len(data.y))
            kept = np.flatnonzero(np.isfinite(votes).all(axis=1))
            predictions = votes[kept]
        weights = None if data.weights is None else data.weights[kept]
        if weights is not None and not weights.all():
            present = np.flatnonzero(weights)
            kept, weights = kept[present], weights[present]
            predictions = None if predictions is None else predictions[present]
            X_test = None if X_test is None else select_rows(X_test, present)
        needs_model = predictions is None or (self.metrics.needs_model and data.folds is not None)
        known = model if needs_model else _wrap_known(model, predictions)
        queries = data.fit_params.get("qid")
        own = {} if queries is None else {"qid": np.asarray(queries)[kept]}
        return self.metrics.score_all(known, X_test, data.y[kept], weights, own), kept, predictions


def pause_fits(one: Candidate) -> None:
    """Drop what only further rounds of a candidate need."""
    for fit in one.models:
        if isinstance(fit, FollowedFit):
            fit.pause()


def predict_scores(model: EstimatorLike, X: Any) -> FloatArray | None:
    """Class probabilities or values, of shape (n_rows, width); None for a classifier without probabilities."""
    if not is_classifier(model):
        values = np.asarray(model.predict(X), dtype=np.float64)
        return values.reshape(len(values), -1)
    found: Any = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    return None if found is None or isinstance(found, list) else np.asarray(found, dtype=np.float64)


def _wrap_known(model: Any, predictions: Any) -> KnownValues | KnownProbabilities:
    """Predictions as an estimator that a scorer can call."""
    if not is_classifier(model):
        return KnownValues(predictions)
    return KnownProbabilities(model.classes_, predictions)
