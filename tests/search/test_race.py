"""Races of candidates in the folds, steps of the learning rate, and models of the folds as the winner."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_classification
from sklearn.model_selection import KFold

from committee import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier
from committee.exceptions import ParameterError
from committee.io import load, save
from committee.search import HalvingSearch, RandomSearch, RealRange, TPESearch
from committee.search.candidates import Candidate, FoldResult
from committee.search.default_spaces import default_space, list_starts
from committee.search.growth import choose_size, has_converged
from committee.search.metrics import SearchMetrics
from committee.search.race import FoldRace
from committee.search.rate_steps import RateSteps
from committee.search.space import IntegerRange, SearchSpace
from committee.search.tpe import TPESampler
from tests.search.clock import with_clock

X, Y = make_classification(400, 8, n_informative=4, flip_y=0.1, random_state=0)
X_VALUES, Y_VALUES = load_diabetes(return_X_y=True)


class Table:
    """Stands for an evaluator: the scores of a candidate are written down, by fold and number of rounds."""

    def __init__(self, curves: np.ndarray, last: int, failing: int | None = None) -> None:
        self.curves, self.last, self.failing = curves, last, failing
        self.metrics: Any = SimpleNamespace(main="score", scorers={"score": None})
        folds = [(np.arange(0), np.arange(k, k + 1)) for k in range(len(curves))]
        self.data: Any = SimpleNamespace(n_splits=len(curves), folds=folds)
        self.seen: list[tuple[int, int]] = []
        self.failed: list[str] = []

    def find_last(self, one: Candidate) -> int:
        return self.last

    def fit_fold(self, model: Any, params: Any, size: int, k: int) -> tuple[Any, FoldResult, str]:
        self.seen.append((k, size))
        score = float(self.curves[k][size])
        error = "no" if k == self.failing else ""
        return model, FoldResult({"score": score}, np.arange(k, k + 1), None, 1.0, 0.0), error

    def record_failure(self, one: Candidate, results: list[FoldResult], error: str) -> None:
        self.failed.append(error)
        one.results, one.done = results, True


def make_rival(scores: np.ndarray) -> Candidate:
    results = [FoldResult({"score": float(s)}, np.arange(1), None, 0.0, 0.0) for s in scores]
    return Candidate(0, {}, results=results, best_size=10, size=10)


def race_naively(curves: np.ndarray, bars: np.ndarray, number: int, last: int) -> tuple[int, bool]:
    """The number of folds that a candidate is fitted in, and whether it is cut, where no curve is hopeless."""
    n_folds = len(curves)
    order = [(number + k) % n_folds for k in range(n_folds)]
    sizes: list[int] = []
    while not sizes or (sizes[-1] < last and not has_converged({s: curves[order[0]][s] for s in sizes})):
        sizes.append(choose_size(sizes[-1] if sizes else 0, last))
    for n in range(1, n_folds):
        mean = [np.mean([curves[k][s] for k in order[:n]]) for s in sizes]
        if max(mean) < np.mean([bars[k] for k in order[:n]]):
            return n, True
    return n_folds, False


@pytest.mark.parametrize("seed", range(20))
def test_a_candidate_is_cut_when_it_is_behind_in_the_folds_so_far(seed: int) -> None:
    rng, last = np.random.default_rng(seed), 60
    rounds = np.arange(last + 1)
    peaks = rng.integers(20, 60, size=5)
    curves = -np.abs(rounds - peaks[:, None]) * 0.001 + rng.normal(0.0, 0.02, size=(5, 1))
    bars, table = np.zeros(5), Table(curves, last)
    one = Candidate(int(rng.integers(1, 30)), {}, models=[None] * 5)
    FoldRace(table, make_rival(bars), lambda: False).run(one)  # type: ignore[arg-type]
    n_folds, cut = race_naively(curves, bars, one.number, last)
    fitted = list(dict.fromkeys(k for k, _ in table.seen))
    assert fitted == [(one.number + k) % 5 for k in range(n_folds)]
    assert one.done == cut == (one.estimate is not None)
    mean = {s: np.mean([curves[k][s] for k in fitted]) for s in one.curve}
    assert one.curve == pytest.approx(mean)
    assert one.best_size == max(mean, key=lambda s: mean[s])
    for k, result in enumerate(one.results):
        assert (result.scores["score"] == curves[k][one.best_size]) if k in fitted else np.isnan(result.scores["score"])
    if one.estimate is not None:
        assert max(mean.values()) - bars[fitted].mean() <= one.estimate - bars.mean() <= 0.0


def test_the_time_ends_a_race_and_a_failure_ends_it_for_the_candidate() -> None:
    curves = np.ones((3, 61))
    one = Candidate(3, {}, models=[None] * 3)
    FoldRace(Table(curves, 60), make_rival(np.zeros(3)), lambda: True).run(one)  # type: ignore[arg-type]
    assert one.done
    assert one.estimate == 0.0  # ahead in its only fold, and not said to be better than the best
    table, other = Table(curves, 60, failing=1), Candidate(0, {}, models=[None] * 3)
    FoldRace(table, make_rival(np.zeros(3)), lambda: False).run(other)  # type: ignore[arg-type]
    assert table.failed == ["no"]
    assert other.done


@pytest.mark.parametrize("cls", [RandomSearch, TPESearch])
def test_under_a_budget_losers_have_scores_in_some_folds_only(cls: Any) -> None:
    model = GradientBoostingClassifier(random_state=0)
    search = with_clock(cls(model, budget=600.0, scoring="neg_log_loss", random_state=0), 1.0).fit(X, Y)
    results = search.cv_results_
    splits = np.stack([results[f"split{k}_test_score"] for k in range(5)], axis=1)
    known = np.isfinite(splits).sum(axis=1)
    assert known[search.best_index_] == known[0] == 5
    assert known.min() < 5
    assert search.n_candidates_ > 4
    complete = known == 5
    np.testing.assert_allclose(splits[complete].mean(axis=1), results["mean_test_score"][complete])
    assert search.best_score_ == results["mean_test_score"][complete].max()
    assert results["rank_test_score"][search.best_index_] == 1
    assert results["rank_test_score"][complete].max() < results["rank_test_score"][~complete].min()
    again = with_clock(cls(model, budget=600.0, scoring="neg_log_loss", random_state=0), 1.0).fit(X, Y)
    np.testing.assert_array_equal(again.cv_results_["mean_test_score"], results["mean_test_score"])


def test_the_learning_rate_is_halved_and_not_searched_under_a_budget() -> None:
    model = GradientBoostingRegressor(learning_rate=0.2, random_state=0)
    search = with_clock(TPESearch(model, budget=900.0, random_state=0), 1.0).fit(X_VALUES, Y_VALUES)
    rates = [one.get("learning_rate") for one in search.cv_results_["params"]]
    assert rates[1] == 0.1  # the estimator as given, with half its rate
    assert {0.1} <= set(rates) <= {None, 0.1, 0.05}
    own = TPESearch(model, {"learning_rate": RealRange(0.05, 0.2)}, budget=300.0, random_state=0)
    found = with_clock(own, 1.0).fit(X_VALUES, Y_VALUES).cv_results_["params"]
    assert (
        len({one["learning_rate"] for one in found[1:]}) == len(found) - 1
    )  # a space of the user is searched as it is


def test_steps_of_the_rate_wait_for_time() -> None:
    best = Candidate(0, {}, rate=0.1)
    run: Any = SimpleNamespace(budget=100.0, find_best=lambda: best, measure_wall=lambda _: 5.0)
    left = [True, False]
    run.has_time = lambda share, reserve: left.pop(0)
    assert RateSteps(run, "learning_rate", 0.02).is_due()  # takes 11 of 100 s
    run.measure_wall = lambda _: 20.0
    steps = RateSteps(run, "learning_rate", 0.02)
    assert not steps.is_due()  # would take 44 s, too long for a beginning
    assert not steps.is_due()  # there is time left for others
    assert steps.is_due()
    assert not RateSteps(run, "learning_rate", 0.06).is_due()
    best.rate = None
    assert not RateSteps(run, "learning_rate", 0.02).is_due()


def test_the_mean_of_the_models_in_the_folds() -> None:
    folds = KFold(3, shuffle=True, random_state=0)
    for model, y, scoring in (
        (GradientBoostingClassifier(random_state=0), Y, "neg_log_loss"),
        (GradientBoostingRegressor(random_state=0), X[:, 0] + Y, "r2"),
        (RandomForestClassifier(20, random_state=0), Y, "neg_log_loss"),
    ):
        space = {"max_leaf_nodes": [4, 8]}
        search = RandomSearch(
            model, space, n_candidates=3, cv=folds, bins="fold", final="folds", scoring=scoring, random_state=0
        ).fit(X, y)
        fits = [clone(model).set_params(**search.best_params_).fit(X[train], y[train]) for train, _ in folds.split(X)]
        method = "predict" if scoring == "r2" else "predict_proba"
        expected = np.mean([getattr(fit, method)(X) for fit in fits], axis=0)
        np.testing.assert_allclose(getattr(search, method)(X), expected, rtol=1e-12)
        assert len(search.best_estimator_.models) == 3
        assert not any(fit.warm_start for fit in search.best_estimator_.models)
    assert search.n_features_in_ == 8
    np.testing.assert_array_equal(search.classes_, [0, 1])


def test_the_mean_of_the_folds_is_saved_and_needs_folds(tmp_path: Any) -> None:
    search = HalvingSearch(GradientBoostingClassifier(random_state=0), n_candidates=4, cv=3, final="folds").fit(X, Y)
    save(search.best_estimator_, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), search.predict_proba(X))
    with pytest.raises(ParameterError, match="needs folds"):
        RandomSearch(RandomForestClassifier(), cv="oob", final="folds").fit(X, Y)


def test_points_stand_for_parameters_and_begin_a_search() -> None:
    space = SearchSpace(
        {
            "a": RealRange(0.1, 10.0, log=True),
            "b": IntegerRange(1, 9),
            "c": IntegerRange(1, 90, log=True),
            "d": ["x", 2],
        },
        "TPESearch",
    )
    params = {"a": 0.3, "b": 7, "c": 20, "d": 2}
    point = space.encode({**params, "other": 1})
    assert point is not None
    assert space.decode(point) == pytest.approx(params)
    assert space.encode({**params, "b": 10}) is None
    assert space.encode({**params, "d": 3}) is None
    assert space.encode({"a": 0.3}) is None
    sampler = TPESampler(space, 0, [point])
    assert sampler.ask() == point
    assert sampler.ask() != point
    whole = SearchSpace(default_space(GradientBoostingClassifier()), "TPESearch")
    others = {name: values for name, values in whole.distributions.items() if name != "learning_rate"}
    given, starts = list_starts(GradientBoostingClassifier(), 100_000)
    for one in (given, *starts):
        assert SearchSpace(others, "TPESearch").encode(one) is not None


@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy", "roc_auc", "f1", ["neg_log_loss", "f1"]])
@pytest.mark.parametrize("weighted", [False, True])
def test_known_predictions_are_scored_as_by_scorers(scoring: Any, weighted: bool) -> None:
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, Y)
    metrics = SearchMetrics(model, scoring, "neg_log_loss" if isinstance(scoring, list) else True)
    weights = np.random.default_rng(0).uniform(size=len(Y)) if weighted else None
    found = metrics.score_known(model.classes_, model.predict_proba(X), Y, weights)
    assert found == metrics.score_all(model, X, Y, weights)
    values = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X_VALUES, Y_VALUES)
    metrics = SearchMetrics(values, ["r2", "neg_mean_absolute_error", "neg_max_error"], "r2")
    found = metrics.score_known(None, values.predict(X_VALUES)[:, None], Y_VALUES, None)
    assert found == metrics.score_all(values, X_VALUES, Y_VALUES, None)
