"""Base of the searches: the arguments of `fit`, the choice of the winner, what is recorded, predictions."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.ma import MaskedArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, is_classifier
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if

from committee.base import CommitteeEstimator, not_fitted_error, resolve_seed
from committee.constraints import show_value
from committee.data.folds import plan_folds
from committee.data.weights import read_sample_weight
from committee.ensembles.combining.out_of_fold import has_oob_predictions
from committee.exceptions import DataError, ParameterError
from committee.search.default_spaces import default_space
from committee.search.evaluation import Evaluator, SearchData
from committee.search.growth import plan_growth
from committee.search.metrics import SearchMetrics, apply_scorer
from committee.search.run import SearchRun
from committee.search.selection_bias import correct_selection
from committee.search.space import SearchSpace
from committee.value_checks import read_callables

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from committee.params import RandomState, Verbose
    from committee.search.candidates import Candidate
    from committee.search.params import (
        CandidateCount,
        ErrorScore,
        ParamDistributions,
        SearchBins,
        SearchBudget,
        SearchCallbacks,
        SearchCv,
        SearchedEstimator,
        SearchFinal,
        SearchJobs,
        SearchRefit,
        SearchScoring,
        WinnerEstimate,
    )
    from committee.typing import AnyArray, FloatArray

__all__ = ["BaseSearch"]

_N_CANDIDATES = 30
_FITTED = ("best_estimator_", "best_index_", "best_params_", "best_score_", "honest_score_", "honest_interval_")


def _has(method: str) -> Callable[[BaseSearch], bool]:
    """Whether the winner, or before the fit the estimator, has a method."""

    def check(search: BaseSearch) -> bool:
        getattr(search.__dict__.get("best_estimator_", search.estimator), method)
        return True

    return check


class BaseSearch(MetaEstimatorMixin, CommitteeEstimator):  # type: ignore[misc]
    """A search over the parameters of an estimator; a subclass chooses the candidates."""

    estimator: SearchedEstimator
    param_distributions: ParamDistributions
    n_candidates: CandidateCount
    scoring: SearchScoring
    cv: SearchCv
    refit: SearchRefit
    final: SearchFinal
    budget: SearchBudget
    bins: SearchBins
    honest: WinnerEstimate
    error_score: ErrorScore
    callbacks: SearchCallbacks
    verbose: Verbose
    random_state: RandomState
    n_jobs: SearchJobs

    best_estimator_: Any
    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    cv_results_: dict[str, Any]

    def _clock(self) -> float:
        """The time in seconds; tests have one of their own."""
        return time.perf_counter()

    def _choose_candidates(self, run: SearchRun, space: SearchSpace, seed: int) -> None:
        """Evaluate candidates other than the first until the search is over."""
        raise NotImplementedError

    def _check_values(self) -> None:
        """Refuse what the types of the parameters do not tell."""
        raises = isinstance(self.error_score, str) and self.error_score == "raise"
        is_number = isinstance(self.error_score, float | int | np.number)
        is_beyond = isinstance(self.error_score, int) and abs(self.error_score) > sys.float_info.max
        if not raises and (not is_number or is_beyond):
            raise ParameterError(
                f"The 'error_score' parameter of {type(self).__name__} must be 'raise' or a number; "
                f"got {show_value(self.error_score)}."
            )
        read_callables(self.callbacks, f"The 'callbacks' parameter of {type(self).__name__}")

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search, and fit the winner.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to learn from.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their classes or values.
        **params
            ``groups`` for the folds, and arguments of the estimator's `fit`; ``sample_weight`` counts in scores too.
            With scikit-learn's metadata routing they go where they are requested.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_values()
        began, seed = self._clock(), resolve_seed(self.random_state)
        data = self._read_data(X, y, params)
        distributions = default_space(self.estimator) if self.param_distributions is None else self.param_distributions
        space = SearchSpace(distributions, type(self).__name__)
        metrics = SearchMetrics(self.estimator, self.scoring, self.refit)
        evaluator = Evaluator(
            self.estimator,
            data,
            metrics,
            plan_growth(self.estimator, space.names, len(data.y)),
            bins=self.bins,
            n_jobs=self.n_jobs,
            error_score=self.error_score,
        )
        callbacks = [*(self.callbacks or ()), *([_print_report] if self.verbose else [])]
        keeps_folds = bool(self.refit) and self.final == "folds"
        run = SearchRun(evaluator, self._clock, self.budget, callbacks, keeps_folds=keeps_folds)
        run.evaluate([run.begin({})])
        if evaluator.failures and run.find_best() is None:
            raise DataError(
                f"The estimator as it was given to {type(self).__name__} cannot be fitted: "
                f"{evaluator.failures[0].rstrip('.')}."
            )
        if space.names:
            self._choose_candidates(run, space, seed)
        return self._conclude(run, seed, began)

    def _read_data(self, X: Any, y: Any, params: dict[str, Any]) -> SearchData:
        """The rows, the folds and the arguments of `fit`."""
        given = {name: value for name, value in params.items() if value is not None}
        groups = given.get("groups")
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        labels = np.asarray(y)
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given)
            fit_params, groups = dict(routed.estimator.fit), routed.splitter.split.get("groups", groups)
        else:
            fit_params = {name: value for name, value in given.items() if name != "groups"}
        weights = None
        if "sample_weight" in fit_params:
            weights = fit_params["sample_weight"] = read_sample_weight(fit_params["sample_weight"], len(labels))
        groups = None if groups is None else np.asarray(groups)
        if isinstance(self.cv, str):
            self._check_oob()
            if self.final == "folds":
                raise ParameterError(
                    f"final='folds' of {type(self).__name__} needs folds: set 'cv' to a number, or 'final' to 'refit'."
                )
            return SearchData(X, labels, weights, groups, fit_params, None)
        folds = plan_folds(self.cv, X, labels, groups, is_classifier(self.estimator), weights)
        return SearchData(X, labels, weights, groups, fit_params, folds)

    def _check_oob(self) -> None:
        if not has_oob_predictions(self.estimator):
            raise ParameterError(
                f"cv='oob' of {type(self).__name__} needs a bag or a forest of this library that leaves rows out "
                "(bootstrap=True, or max_samples of a bag), without a calibration or a stopping rule that uses "
                f"the same rows; got {type(self.estimator).__name__}. Set 'cv' to a number of folds."
            )

    def _limit_candidates(self) -> float:
        """The most candidates, the first one included."""
        if self.n_candidates is not None:
            return int(self.n_candidates)
        return _N_CANDIDATES if self.budget is None else np.inf

    # The end.

    def _conclude(self, run: SearchRun, seed: int, began: float) -> Self:
        best, evaluator = run.find_best(), run.evaluator
        if best is None:
            raise DataError(f"No candidate of {type(self).__name__} has a score that is a number.")
        params = evaluator.describe_winner(best)
        fitted: dict[str, Any] = {
            "cv_results_": format_results(run),
            "best_index_": best.number,
            "best_params_": params,
            "best_score_": best.mean_score(run.metric),
            "n_splits_": evaluator.data.n_splits,
            "multimetric_": evaluator.metrics.is_multiple,
            "scorer_": evaluator.metrics.scorers if evaluator.metrics.is_multiple else evaluator.metrics.decisive,
            "n_candidates_": len(run.candidates),
        }
        if self.honest is not None:
            fitted["honest_score_"], fitted["honest_interval_"] = self._estimate_winner(run, best, seed)
        if self.refit:
            started = self._clock()
            fitted["best_estimator_"] = self._fit_winner(run, best, params)
            fitted["refit_time_"] = self._clock() - started
            if hasattr(fitted["best_estimator_"], "feature_names_in_"):
                fitted["feature_names_in_"] = fitted["best_estimator_"].feature_names_in_
        fitted["search_time_"] = self._clock() - began
        self._replace_fitted(fitted, (*_FITTED, "refit_time_", "feature_names_in_"))
        return self

    def _fit_winner(self, run: SearchRun, best: Candidate, params: dict[str, Any]) -> Any:
        if run.keeps_folds:
            return run.evaluator.average_folds(best, params)
        if run.evaluator.data.folds is not None or not best.models:
            return run.evaluator.fit_whole(params)
        # Out of bag, the candidate was fitted on all rows already.
        (model,) = best.models
        kept = {name: value for name, value in self.estimator.get_params(deep=False).items() if name == "warm_start"}
        return model.set_params(**kept)

    def _estimate_winner(self, run: SearchRun, best: Candidate, seed: int) -> tuple[float, tuple[float, float]]:
        """The score of the winner on new rows: see `committee.search.selection_bias`."""
        data, metrics = run.evaluator.data, run.evaluator.metrics
        unknown = np.nan, (np.nan, np.nan)
        order = sorted(run.candidates, key=lambda one: (one is not best, -np.nan_to_num(one.mean_score(run.metric))))
        tables = [one.list_predictions(len(data.y)) for one in order]
        found = [table for table in tables if table is not None]
        if metrics.needs_model or data.y.ndim != 1 or not found or tables[0] is None:
            return unknown
        classes = np.unique(data.y) if is_classifier(self.estimator) else None
        found = [table for table in found if table.shape[1] == found[0].shape[1]]
        if classes is not None and found[0].shape[1] != len(classes):
            return unknown
        rows = np.flatnonzero(np.all([np.isfinite(table).all(axis=1) for table in found], axis=0))
        weights = None if data.weights is None else data.weights[rows]
        known = [table[rows] for table in found]
        return correct_selection(known, data.y[rows], classes, (self._name_metric(), metrics.decisive), weights, seed)

    def _name_metric(self) -> str | None:
        scoring = self.scoring
        if isinstance(scoring, dict):
            scoring = scoring.get(self.refit)
        elif isinstance(scoring, list | tuple | set):
            scoring = self.refit
        if scoring is None:
            return "accuracy" if is_classifier(self.estimator) else "r2"
        return scoring if isinstance(scoring, str) else None

    # The winner.

    def _get_best(self) -> Any:
        if "best_estimator_" in self.__dict__:
            return self.best_estimator_
        if "cv_results_" in self.__dict__:
            raise AttributeError(
                f"This {type(self).__name__} instance was initialized with `refit=False`; predictions are available "
                "only after refitting on the best parameters."
            )
        raise not_fitted_error(self)

    def __sklearn_is_fitted__(self) -> bool:
        return "cv_results_" in self.__dict__

    @property
    def classes_(self) -> Any:
        """The classes of the winner."""
        return self._get_best().classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features of the winner."""
        return int(self._get_best().n_features_in_)

    @property
    def _estimator_type(self) -> str | None:
        found: str | None = getattr(self.estimator, "_estimator_type", None)
        return found

    def score(self, X: Any, y: Any, **params: Any) -> float:
        """Score of the winner by the metric of the search."""
        best = self._get_best()
        scorer = self.scorer_[self.refit] if self.multimetric_ else self.scorer_
        return apply_scorer(scorer, best, X, y, params.get("sample_weight"))

    @available_if(_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> AnyArray:
        """Predictions of the winner."""
        found: AnyArray = self._get_best().predict(X)
        return found

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities by the winner."""
        found: FloatArray = self._get_best().predict_proba(X)
        return found

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of class probabilities by the winner."""
        found: FloatArray = self._get_best().predict_log_proba(X)
        return found

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Raw scores by the winner."""
        found: FloatArray = self._get_best().decision_function(X)
        return found

    @available_if(_has("transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: Any) -> Any:
        """What the winner makes of the rows."""
        return self._get_best().transform(X)

    def get_metadata_routing(self) -> MetadataRouter:
        """Where the arguments of `fit` go: to the estimator's `fit` and to the splitter."""
        router = MetadataRouter(owner=self)
        router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        splitter = self.cv if hasattr(self.cv, "split") else _GroupRequest()
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        own = get_tags(self.estimator)
        tags.estimator_type, tags.classifier_tags = own.estimator_type, own.classifier_tags
        tags.regressor_tags, tags.target_tags, tags.input_tags = own.regressor_tags, own.target_tags, own.input_tags
        return tags


def format_results(run: SearchRun) -> dict[str, Any]:
    """The candidates as scikit-learn's searches list them, with members, stages and rows besides."""
    candidates, metrics = run.candidates, run.evaluator.metrics
    params = [one.params for one in candidates]
    times = {
        kind: np.array([[getattr(r, f"{kind}_seconds") for r in one.results] for one in candidates])
        for kind in ("fit", "score")
    }
    table: dict[str, Any] = {}
    for kind, values in times.items():
        table[f"mean_{kind}_time"], table[f"std_{kind}_time"] = values.mean(axis=1), values.std(axis=1)
    for name in dict.fromkeys(name for own in params for name in own):
        column = MaskedArray(np.empty(len(params), dtype=object), mask=True)
        for k, own in enumerate(params):
            if name in own:
                column[k] = own[name]
        table[f"param_{name}"] = column
    table["params"] = params
    for metric in metrics.scorers:
        scores = np.array([one.list_scores(metric) for one in candidates])
        for k in range(scores.shape[1]):
            table[f"split{k}_test_{metric}"] = scores[:, k]
        means = np.array([one.mean_score(metric) for one in candidates])
        table[f"mean_test_{metric}"], table[f"std_test_{metric}"] = means, scores.std(axis=1)
        complete = np.array([run.is_complete(one) for one in candidates])
        table[f"rank_test_{metric}"] = _rank_candidates(means, complete)
    table["n_members"] = MaskedArray(
        [one.best_size or 0 for one in candidates], [not one.best_size for one in candidates]
    )
    table["row_share"] = np.array([one.row_share for one in candidates])
    table["stage"] = np.array([one.stage for one in candidates])
    return table


def _rank_candidates(means: FloatArray, complete: AnyArray) -> AnyArray:
    """Ranks from 1, those of candidates that were scored in full first; failed ones last."""
    keys = [
        (not done or np.isnan(m), -m if np.isfinite(m) else np.inf) for m, done in zip(means, complete, strict=True)
    ]
    ordered = sorted(keys)
    return np.array([ordered.index(key) + 1 for key in keys], dtype=np.int32)


def _print_report(report: Any) -> None:
    print(  # noqa: T201
        f"[{report.seconds:7.1f} s] candidate {report.number}: score {report.score:.6g}, best {report.best_score:.6g}",
        flush=True,
    )


class _GroupRequest:
    """Requests the groups for the folds that a number stands for."""

    def get_metadata_routing(self) -> Any:
        from sklearn.model_selection import GroupKFold

        return GroupKFold().get_metadata_routing()
