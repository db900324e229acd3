"""The searches: random, successive halving, and by a Parzen estimator."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from committee.exceptions import ParameterError
from committee.params import RandomState, Verbose
from committee.search.base import BaseSearch
from committee.search.default_spaces import default_space, list_starts
from committee.search.growth import find_last_step
from committee.search.optuna_driver import OptunaSampler, is_study
from committee.search.params import (
    CandidateCount,
    ErrorScore,
    Factor,
    ParamDistributions,
    Resource,
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
from committee.search.race import can_race
from committee.search.rate_steps import RateSteps
from committee.search.space import RealRange, SearchSpace
from committee.search.tpe import TPESampler

if TYPE_CHECKING:
    from committee.search.candidates import Candidate
    from committee.search.run import SearchRun

__all__ = ["HalvingSearch", "RandomSearch", "TPESearch"]

_BATCH = 4
"""Candidates that are fitted at a time, where their parameters do not depend on one another's scores."""
_FIRST_STAGE = 27
"""Candidates of the first stage of halving: four stages with a factor of 3."""
_LEAST_ROWS = 0.02

Sampler: TypeAlias = Annotated[
    Any,
    "Who proposes candidates: ``'tpe'``, the one of this library; ``'optuna'``, a new study of Optuna; or a study of "
    "Optuna that exists, to which the candidates are added.",
]


class RandomSearch(BaseSearch):
    """Random search [Bergstra2012] on one set of bins.

    The interface is that of scikit-learn's searches. Estimators of this library are fitted on bins that all candidates
    and folds share. Where the estimator would choose its number of rounds by rows held out, the folds of the search
    choose it for each candidate: rounds are added by warm starts, until the score in the folds no longer improves or
    the best candidate is out of reach. With a budget, boosting is fitted in one fold after another, and candidates that
    fall behind the best one are cut.

    Attributes
    ----------
    best_params_ : dict
        What the winner sets, the number of rounds that was found among it.
    best_score_ : float
        Its mean score over the folds. It is the best of many and therefore too good.
    honest_score_, honest_interval_ : float, (float, float)
        What it can be expected to score on new rows, and an interval of 95 %, by bootstrap bias corrected
        cross-validation [Tsamardinos2018]; NaN where predictions alone do not tell it.
    best_estimator_ : estimator
        The winner, fitted on all rows; with ``final="folds"`` the mean of its models in the folds.
    best_index_ : int
        Its number; 0 is the estimator as given.
    cv_results_ : dict
        All candidates, as in scikit-learn; ``n_members``, ``row_share`` and ``stage`` besides. A candidate that was cut
        has NaN in the folds that it was not fitted in, and an estimate of its mean score.
    scorer_, n_splits_, multimetric_, refit_time_
        As in scikit-learn.
    n_candidates_ : int
        Number of candidates.
    search_time_ : float
        Seconds of the whole `fit`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import GradientBoostingClassifier
    >>> from committee.search import RandomSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = RandomSearch(GradientBoostingClassifier(random_state=0), n_candidates=4, cv=3, random_state=0)
    >>> search.fit(X, y).best_score_ > 0.95
    True
    """

    def __init__(
        self,
        estimator: SearchedEstimator,
        param_distributions: ParamDistributions = None,
        *,
        n_candidates: CandidateCount = None,
        scoring: SearchScoring = None,
        cv: SearchCv = None,
        refit: SearchRefit = True,
        final: SearchFinal = "refit",
        budget: SearchBudget = None,
        bins: SearchBins = "shared",
        honest: WinnerEstimate = "bootstrap",
        error_score: ErrorScore = np.nan,
        callbacks: SearchCallbacks = None,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        n_jobs: SearchJobs = None,
    ) -> None:
        self._store_params(locals())

    def _choose_candidates(self, run: SearchRun, space: SearchSpace, seed: int) -> None:
        rng, most = np.random.default_rng(seed), self._limit_candidates()
        while len(run.candidates) < most and run.has_time():
            n_next = 1 if self.budget is not None else int(min(_BATCH, most - len(run.candidates)))
            points = [space.draw_point(rng) for _ in range(n_next)]
            batch = [run.begin(space.decode(point), point) for point in points]
            run.evaluate(batch)
            drop_models(run)


class HalvingSearch(BaseSearch):
    """Successive halving [Jamieson2016]: many candidates begin small, and the best go on.

    A stage lets its candidates grow, by warm starts, or fits them on more rows; the best of them, one in ``factor``,
    are in the next stage. With a budget and no number of candidates, new ones begin as long as there is time. The
    estimator as given is fitted in full first. Otherwise as `RandomSearch`.

    Attributes
    ----------
    best_params_, best_score_, best_estimator_, best_index_, cv_results_
        As in `RandomSearch`; a candidate is listed as it was in its last stage.
    honest_score_, honest_interval_
        As in `RandomSearch`.
    scorer_, n_splits_, multimetric_, refit_time_, n_candidates_, search_time_
        As in `RandomSearch`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import RandomForestRegressor
    >>> from committee.search import HalvingSearch
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = HalvingSearch(RandomForestRegressor(random_state=0), n_candidates=10, cv="oob", random_state=0)
    >>> search.fit(X, y).best_score_ > 0.4
    True
    """

    def __init__(
        self,
        estimator: SearchedEstimator,
        param_distributions: ParamDistributions = None,
        *,
        n_candidates: CandidateCount = None,
        factor: Factor = 3.0,
        resource: Resource = "auto",
        scoring: SearchScoring = None,
        cv: SearchCv = None,
        refit: SearchRefit = True,
        final: SearchFinal = "refit",
        budget: SearchBudget = None,
        bins: SearchBins = "shared",
        honest: WinnerEstimate = "bootstrap",
        error_score: ErrorScore = np.nan,
        callbacks: SearchCallbacks = None,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        n_jobs: SearchJobs = None,
    ) -> None:
        self._store_params(locals())

    def _choose_candidates(self, run: SearchRun, space: SearchSpace, seed: int) -> None:
        by_members = self._choose_resource(run)
        rng, most = np.random.default_rng(seed), self._limit_candidates()
        while len(run.candidates) < most and run.has_time():
            n_left = int(min(most - len(run.candidates), _FIRST_STAGE if self.n_candidates is None else np.inf))
            points = [space.draw_point(rng) for _ in range(n_left)]
            self._run_stages(run, [(space.decode(point), point) for point in points], by_members)

    def _choose_resource(self, run: SearchRun) -> bool:
        """Whether members are the resource."""
        grows = run.evaluator.growth is not None
        if self.resource == "members" and not grows:
            raise ParameterError(
                f"resource='members' of HalvingSearch needs an estimator of this library with 'warm_start' whose "
                f"number of members is not searched; got {type(self.estimator).__name__}. Set resource='rows'."
            )
        if not (self.resource == "members" or (self.resource == "auto" and grows)):
            if run.evaluator.data.folds is None:
                raise ParameterError("resource='rows' of HalvingSearch needs folds; set 'cv' to a number.")
            return False
        return True

    def _run_stages(self, run: SearchRun, drawn: list[tuple[dict[str, Any], Any]], by_members: bool) -> None:
        """One run of successive halving."""
        factor, growth = float(self.factor), run.evaluator.growth
        n_stages = 1 + max(1, _count_divisions(max(2, len(drawn)), factor))
        alive: list[Candidate] = []
        for stage in range(n_stages):
            share = factor ** (stage + 1 - n_stages)
            rows = 1.0 if by_members else max(share, _LEAST_ROWS)
            size = ceil(share * growth.last) if by_members and growth is not None else None
            batches: list[list[Candidate]]
            if stage == 0:
                for first in range(0, len(drawn), _BATCH):
                    if first and not run.has_time(_BATCH * share):
                        break
                    batch = [run.begin(params, point) for params, point in drawn[first : first + _BATCH]]
                    run.evaluate(batch, size, rows)
                    alive += batch
            else:
                batches = [alive[first : first + _BATCH] for first in range(0, len(alive), _BATCH)]
                for batch in batches:
                    if not run.has_time(share):
                        return
                    for one in batch:
                        one.stage = stage
                    run.evaluate(batch, size, rows)
            ranked = sorted(alive, key=lambda one: -np.nan_to_num(one.mean_score(run.metric), nan=-np.inf))
            alive = ranked[: max(1, ceil(len(ranked) / factor))]
            drop_models(run, {one.number for one in alive})


class TPESearch(BaseSearch):
    """Search by a tree-structured Parzen estimator [Bergstra2011], or by Optuna.

    Ten candidates are settings that are known to be good, where there are any for the estimator, or drawn at random;
    each further one is like the best so far and unlike the others. With a budget, the learning rate of the default
    space is not drawn but halved, for the estimator as given and for the best candidate. Otherwise as `RandomSearch`.

    Attributes
    ----------
    best_params_, best_score_, best_estimator_, best_index_, cv_results_
        As in `RandomSearch`.
    honest_score_, honest_interval_
        As in `RandomSearch`.
    scorer_, n_splits_, multimetric_, refit_time_, n_candidates_, search_time_
        As in `RandomSearch`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import DecisionTreeRegressor
    >>> from committee.search import IntegerRange, TPESearch
    >>> X, y = load_diabetes(return_X_y=True)
    >>> space = {"max_depth": IntegerRange(1, 8), "min_samples_leaf": IntegerRange(1, 50, log=True)}
    >>> search = TPESearch(DecisionTreeRegressor(random_state=0), space, n_candidates=25, random_state=0).fit(X, y)
    >>> bool(search.best_score_ > search.cv_results_["mean_test_score"][0])
    True
    """

    def __init__(
        self,
        estimator: SearchedEstimator,
        param_distributions: ParamDistributions = None,
        *,
        n_candidates: CandidateCount = None,
        sampler: Sampler = "tpe",
        scoring: SearchScoring = None,
        cv: SearchCv = None,
        refit: SearchRefit = True,
        final: SearchFinal = "refit",
        budget: SearchBudget = None,
        bins: SearchBins = "shared",
        honest: WinnerEstimate = "bootstrap",
        error_score: ErrorScore = np.nan,
        callbacks: SearchCallbacks = None,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        n_jobs: SearchJobs = None,
    ) -> None:
        self._store_params(locals())

    def _choose_candidates(self, run: SearchRun, space: SearchSpace, seed: int) -> None:
        steps, space = self._plan_rates(run, space)
        sampler, most = self._make_sampler(run, space, seed), self._limit_candidates()
        while len(run.candidates) < most and run.has_time():
            if steps is not None and steps.is_due():
                steps.take_step()
            else:
                point = sampler.ask()
                one = run.begin({**space.decode(point), **(steps.params if steps else {})}, point)
                run.evaluate([one])
                sampler.tell(point, one.mean_score(run.metric))
            drop_models(run)

    def _plan_rates(self, run: SearchRun, space: SearchSpace) -> tuple[RateSteps | None, SearchSpace]:
        """With a budget, the default space is searched at one learning rate, which is halved at the end."""
        name = find_last_step(self.estimator)[0] + "learning_rate"
        rates = space.distributions.get(name)
        races = self.budget is not None and can_race(run.evaluator)
        if not races or not isinstance(rates, RealRange) or space.distributions != default_space(self.estimator):
            return None, space
        others = {own: values for own, values in space.distributions.items() if own != name}
        return RateSteps(run, name, rates.low), SearchSpace(others, type(self).__name__)

    def _make_sampler(self, run: SearchRun, space: SearchSpace, seed: int) -> TPESampler | OptunaSampler:
        if isinstance(self.sampler, str) and self.sampler == "tpe":
            folds, n_rows = run.evaluator.data.folds, len(run.evaluator.data.y)
            given, starts = list_starts(self.estimator, n_rows if folds is None else len(folds[0][0]))
            points = [point for one in starts if (point := space.encode(one)) is not None]
            sampler = TPESampler(space, seed, points)
            if (point := space.encode(given)) is not None:
                sampler.tell(point, run.candidates[0].mean_score(run.metric))
            return sampler
        if (isinstance(self.sampler, str) and self.sampler == "optuna") or is_study(self.sampler):
            return OptunaSampler(space, seed, None if isinstance(self.sampler, str) else self.sampler)
        raise ParameterError(
            f"The 'sampler' parameter of TPESearch must be 'tpe', 'optuna' or a study of Optuna; got {self.sampler!r}."
        )


def drop_models(run: SearchRun, kept: set[int] | None = None) -> None:
    """Drop the models of candidates that are done, except those that are kept and those that the winner is made of."""
    best = run.find_best()
    for one in run.candidates:
        holds_winner = one is best and (run.evaluator.data.folds is None or run.keeps_folds)
        if not holds_winner and one.number not in (kept or ()):
            one.models = []


def _count_divisions(number: int, factor: float) -> int:
    """How often a number can be divided by the factor and be one at least; whole powers are exact.

    Examples
    --------
    >>> _count_divisions(243, 3.0), _count_divisions(242, 3.0)
    (5, 4)
    """
    count, rest = 0, float(number)
    while rest >= factor:
        count, rest = count + 1, rest / factor
    return count
