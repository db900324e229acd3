"""The searches: results, interface, budget, warm starts, shared bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import GroupKFold, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.search import HalvingSearch, IntegerRange, RandomSearch, RealRange, SearchReport, TPESearch
from tests.search.clock import with_clock

X, Y = make_classification(300, 8, n_informative=4, flip_y=0.1, random_state=0)
X_VALUES, Y_VALUES = load_diabetes(return_X_y=True)
SPACE = {"max_leaf_nodes": IntegerRange(2, 16, log=True), "reg_lambda": RealRange(0.1, 10.0, log=True)}
SEARCHES = [RandomSearch, HalvingSearch, TPESearch]
BOOSTING = GradientBoostingClassifier(learning_rate=0.3, random_state=0)


@pytest.mark.parametrize("cls", SEARCHES)
def test_the_interface_is_that_of_scikit_learn(cls: Any) -> None:
    search = cls(BOOSTING, SPACE, n_candidates=5, cv=3, scoring="neg_log_loss", random_state=0).fit(X, Y)
    results = search.cv_results_
    assert len(results["params"]) == search.n_candidates_ == 5
    splits = np.stack([results[f"split{k}_test_score"] for k in range(3)], axis=1)
    np.testing.assert_allclose(splits.mean(axis=1), results["mean_test_score"])
    assert results["mean_test_score"][search.best_index_] == search.best_score_
    assert results["rank_test_score"][search.best_index_] == 1
    assert {"mean_fit_time", "std_score_time", "param_reg_lambda", "std_test_score"} <= results.keys()
    assert results["param_reg_lambda"].mask[0]  # the first candidate is the estimator as given
    assert search.best_score_ >= results["mean_test_score"][0]
    assert is_classifier(search)
    assert search.predict(X).shape == search.decision_function(X).shape == (300,)
    assert search.predict_proba(X).shape == (300, 2)
    assert search.classes_.tolist() == [0, 1]
    assert search.n_features_in_ == 8
    assert search.score(X, Y) == search.scorer_(search.best_estimator_, X, Y)
    assert clone(search).get_params()["n_candidates"] == 5


@pytest.mark.parametrize("cls", SEARCHES)
def test_the_winner_is_what_its_parameters_fit(cls: Any) -> None:
    search = cls(BOOSTING, SPACE, n_candidates=4, cv=3, scoring="neg_log_loss", random_state=0).fit(X, Y)
    again = clone(BOOSTING).set_params(**search.best_params_).fit(X, Y)
    np.testing.assert_array_equal(search.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("cls", SEARCHES)
def test_the_result_does_not_depend_on_the_number_of_jobs(cls: Any) -> None:
    found = [
        cls(BOOSTING, SPACE, n_candidates=6, cv=3, scoring="roc_auc", random_state=1, n_jobs=jobs).fit(X, Y)
        for jobs in (None, 1, 2)
    ]
    for other in found[1:]:
        assert other.best_params_ == found[0].best_params_
        assert other.cv_results_["params"] == found[0].cv_results_["params"]
        np.testing.assert_array_equal(other.cv_results_["mean_test_score"], found[0].cv_results_["mean_test_score"])
        assert other.honest_score_ == found[0].honest_score_


@pytest.mark.parametrize(
    ("estimator", "name", "space"),
    [
        (GradientBoostingRegressor(random_state=0), "n_estimators", {"max_leaf_nodes": [4, 8]}),
        (HistGradientBoostingRegressor(max_iter=30, early_stopping=True, random_state=0), "max_iter", SPACE),
    ],
)
def test_warm_starts_score_as_a_fit_from_nothing(estimator: Any, name: str, space: Any) -> None:
    space = {key: values for key, values in space.items() if key == "max_leaf_nodes"}
    search = RandomSearch(estimator, space, n_candidates=3, cv=3, bins="fold", random_state=0)
    search.fit(X_VALUES, Y_VALUES)
    assert search.cv_results_["n_members"].max() > 10  # grown in more than one step
    model = clone(estimator).set_params(**search.best_params_)
    assert model.get_params()[name] == search.cv_results_["n_members"][search.best_index_]
    scores = cross_val_score(model, X_VALUES, Y_VALUES, cv=3, scoring="r2")
    found = [search.cv_results_[f"split{k}_test_score"][search.best_index_] for k in range(3)]
    # The trees are the same; predictions of fits that are followed are sums in another order.
    np.testing.assert_allclose(found, scores, rtol=1e-12)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "poisson"])
def test_a_warm_start_has_the_bytes_of_one_long_fit(loss: str) -> None:
    params = {"loss": loss, "early_stopping": False, "subsample": 0.7, "max_features": 0.5, "random_state": 3}
    grown = GradientBoostingRegressor(n_estimators=7, warm_start=True, **params).fit(X_VALUES, Y_VALUES)
    for size in (20, 33, 60):
        grown.set_params(n_estimators=size).fit(X_VALUES, Y_VALUES)
    whole = GradientBoostingRegressor(n_estimators=60, **params).fit(X_VALUES, Y_VALUES)
    np.testing.assert_array_equal(grown.predict(X_VALUES), whole.predict(X_VALUES))


def test_forests_are_scored_out_of_bag_and_not_fitted_again() -> None:
    forest = RandomForestRegressor(n_estimators=40, random_state=0)
    search = HalvingSearch(forest, n_candidates=9, cv="oob", random_state=0).fit(X_VALUES, Y_VALUES)
    assert search.n_splits_ == 1
    again = clone(forest).set_params(oob_score=True, **search.best_params_).fit(X_VALUES, Y_VALUES)
    assert search.best_score_ == pytest.approx(again.oob_score_, abs=1e-12)
    np.testing.assert_array_equal(search.predict(X_VALUES), again.predict(X_VALUES))
    assert not search.best_estimator_.warm_start
    assert search.cv_results_["n_members"][search.best_index_] == 40
    assert search.cv_results_["n_members"].min() < 40


def test_out_of_bag_scores_of_bags() -> None:
    bag = BaggingClassifier(DecisionTreeClassifier(), n_estimators=12, random_state=0)
    search = RandomSearch(bag, {"max_samples": [0.5, 0.9]}, n_candidates=3, cv="oob", random_state=0).fit(X, Y)
    assert 0.6 < search.best_score_ <= 1.0
    with pytest.raises(ParameterError, match="needs a bag or a forest"):
        RandomSearch(BOOSTING, SPACE, cv="oob").fit(X, Y)


def test_members_are_halved_and_the_estimator_as_given_stays() -> None:
    forest = RandomForestClassifier(n_estimators=27, random_state=0)
    search = HalvingSearch(forest, {"max_features": RealRange(0.1, 1.0)}, n_candidates=10, cv=3, random_state=0)
    sizes = search.fit(X, Y).cv_results_["n_members"]
    assert sizes[0] == sizes[search.best_index_] == 27
    assert sorted(set(sizes)) == [3, 9, 27]
    assert set(search.cv_results_["stage"]) == {0, 1, 2}
    ranks = search.cv_results_["rank_test_score"]
    assert ranks[sizes == 27].max() < ranks[sizes < 27].min()


def test_rows_are_halved() -> None:
    tree = DecisionTreeClassifier(random_state=0)
    search = HalvingSearch(tree, {"min_samples_leaf": IntegerRange(1, 40)}, n_candidates=10, cv=3, random_state=0)
    shares = search.fit(X, Y).cv_results_["row_share"]
    assert shares[0] == shares[search.best_index_] == 1.0
    assert shares.min() == pytest.approx(1 / 9)
    with pytest.raises(ParameterError, match="resource='members'"):
        search.set_params(resource="members").fit(X, Y)


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_budget_is_kept(cls: Any) -> None:
    short = with_clock(cls(BOOSTING, SPACE, budget=0.1, n_candidates=60, cv=3, random_state=0), 0.001).fit(X, Y)
    assert 1 < short.n_candidates_ < 60
    assert short.search_time_ < 0.12  # a tick goes by at every look at the clock, the last ones included
    least = with_clock(cls(BOOSTING, SPACE, budget=1e-6, cv=3, random_state=0), 1.0).fit(X, Y)
    assert least.n_candidates_ == 1
    assert least.best_index_ == 0


def test_a_callback_hears_of_candidates_and_ends_the_search() -> None:
    heard: list[SearchReport] = []

    def stop(report: SearchReport) -> bool:
        heard.append(report)
        return report.number == 2

    search = TPESearch(BOOSTING, SPACE, n_candidates=9, cv=2, callbacks=[stop], random_state=0).fit(X, Y)
    assert [report.number for report in heard] == [0, 1, 2]
    assert search.n_candidates_ == 3
    assert heard[-1].best_score == search.best_score_


def test_a_pipeline_is_tuned_and_its_steps_are_fitted_in_the_folds() -> None:
    model = make_pipeline(StandardScaler(), clone(BOOSTING))
    space = {"standardscaler__with_mean": [True, False], "gradientboostingclassifier__max_leaf_nodes": [3, 5, 9]}
    search = RandomSearch(model, space, n_candidates=5, cv=3, scoring="neg_log_loss", random_state=0).fit(X, Y)
    assert "gradientboostingclassifier__n_estimators" in search.best_params_
    winner = clone(model).set_params(**search.best_params_)
    scores = cross_val_score(winner, X, Y, cv=3, scoring="neg_log_loss")
    assert search.best_score_ == pytest.approx(scores.mean(), abs=1e-12)
    named = RandomSearch(model, n_candidates=2, cv=2, random_state=0).fit(X, Y)
    assert any(name.startswith("gradientboostingclassifier__") for name in named.cv_results_["params"][1])


def test_any_estimator_can_be_searched() -> None:
    from sklearn.linear_model import LogisticRegression

    search = TPESearch(LogisticRegression(), {"C": loguniform(1e-3, 10.0)}, n_candidates=12, cv=3, random_state=0)
    scores = cross_val_score(LogisticRegression(), X, Y, cv=3)
    assert search.fit(X, Y).cv_results_["mean_test_score"][0] == pytest.approx(scores.mean())
    with pytest.raises(ParameterError, match="no default space for LogisticRegression"):
        RandomSearch(LogisticRegression()).fit(X, Y)


def test_adaboost_grows_by_warm_starts() -> None:
    model = AdaBoostClassifier(n_estimators=18, random_state=0)
    search = HalvingSearch(model, n_candidates=7, cv=2, random_state=0).fit(X, Y)
    scores = cross_val_score(clone(model).set_params(**search.best_params_), X, Y, cv=2)
    assert search.best_score_ == pytest.approx(scores.mean())


def test_groups_times_and_several_metrics() -> None:
    groups = np.arange(300) // 10
    search = RandomSearch(BOOSTING, SPACE, n_candidates=2, cv=3, random_state=0, scoring=["roc_auc", "accuracy"])
    with pytest.raises(ParameterError, match="the name of the one that decides"):
        search.fit(X, Y, groups=groups)
    search.set_params(refit="roc_auc").fit(X, Y, groups=groups)
    assert search.multimetric_
    assert {"mean_test_roc_auc", "rank_test_accuracy", "split2_test_accuracy"} <= search.cv_results_.keys()
    given = RandomSearch(BOOSTING, SPACE, n_candidates=2, cv=GroupKFold(3), random_state=0).fit(X, Y, groups=groups)
    assert given.n_splits_ == 3
    ordered = RandomSearch(BOOSTING, SPACE, n_candidates=2, cv=TimeSeriesSplit(3), random_state=0).fit(X, Y)
    assert np.isfinite(ordered.honest_score_)


def test_weights_count_in_fits_and_scores() -> None:
    search = RandomSearch(BOOSTING, SPACE, n_candidates=3, cv=3, scoring="neg_log_loss", random_state=0, bins="fold")
    rows = np.arange(300) < 240
    folds = [
        (np.flatnonzero(rows & (np.arange(300) % 3 != k)), np.flatnonzero(np.arange(300) % 3 == k)) for k in range(3)
    ]
    inside = [(train, test[test < 240]) for train, test in folds]
    weighted = clone(search).set_params(cv=folds).fit(X, Y, sample_weight=rows * 2.0)
    plain = clone(search).set_params(cv=inside).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    assert weighted.best_params_ == plain.best_params_


def test_metadata_are_routed() -> None:
    from sklearn import config_context

    groups = np.arange(300) // 10
    with config_context(enable_metadata_routing=True):
        model = GradientBoostingClassifier(learning_rate=0.3, random_state=0).set_fit_request(sample_weight=True)
        search = RandomSearch(model, SPACE, n_candidates=2, cv=GroupKFold(3), random_state=0)
        routed = search.fit(X, Y, groups=groups, sample_weight=np.ones(300))
    plain = RandomSearch(BOOSTING, SPACE, n_candidates=2, cv=GroupKFold(3), random_state=0).fit(X, Y, groups=groups)
    assert routed.best_score_ == pytest.approx(plain.best_score_)


def test_a_fit_that_fails_is_a_score() -> None:
    space = {"max_leaf_nodes": [4, -3]}
    search = RandomSearch(BOOSTING, space, n_candidates=5, cv=2, random_state=0)
    with pytest.warns(FitFailedWarning, match="max_leaf_nodes"):
        search.fit(X, Y)
    assert np.isnan(search.cv_results_["mean_test_score"]).any()
    assert np.isfinite(search.best_score_)
    with pytest.raises(ParameterError, match="max_leaf_nodes"):
        clone(search).set_params(error_score="raise").fit(X, Y)
    with pytest.raises(DataError, match="as it was given to RandomSearch"), pytest.warns(FitFailedWarning):
        RandomSearch(GradientBoostingClassifier(max_leaf_nodes=-1), {"reg_lambda": [0.0]}, cv=2).fit(X, Y)


def test_a_scorer_may_need_the_model() -> None:
    def count_trees(model: Any, X: Any, y: Any) -> float:
        return -float(len(model.estimators_))

    space = {"n_estimators": [5, 9]}
    search = RandomSearch(
        GradientBoostingClassifier(n_estimators=20), space, n_candidates=6, cv=2, scoring=count_trees, random_state=0
    ).fit(X, Y)
    assert search.best_params_ == {"n_estimators": 5}
    assert np.isnan(search.honest_score_)
    errors = RandomSearch(
        RandomForestRegressor(10),
        n_candidates=2,
        cv=2,
        scoring=make_scorer(mean_absolute_error, greater_is_better=False),
    )
    assert errors.fit(X_VALUES, Y_VALUES).best_score_ < 0.0


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(NotFittedError):
        RandomSearch(BOOSTING).predict(X)
    with pytest.raises(AttributeError, match="refit=False"):
        RandomSearch(BOOSTING, SPACE, n_candidates=1, cv=2, refit=False).fit(X, Y).predict(X)
    with pytest.raises(ParameterError, match="a list of values or a distribution"):
        RandomSearch(BOOSTING, {"max_leaf_nodes": 3}).fit(X, Y)
    with pytest.raises(ParameterError, match="'sampler' parameter"):
        TPESearch(BOOSTING, SPACE, sampler="cma", cv=2).fit(X, Y)
    with pytest.raises(ParameterError, match="error_score"):
        RandomSearch(BOOSTING, SPACE, error_score="nan").fit(X, Y)
    with pytest.raises(DataError, match="requires y"):
        RandomSearch(BOOSTING, SPACE).fit(X)


def test_bins_of_the_folds_and_shared_bins_agree_where_bins_are_exact() -> None:
    X_cancer, y_cancer = load_breast_cancer(return_X_y=True)
    X_few = np.round(X_cancer[:, :6], 0) % 50  # fewer values than bins: each has a bin of its own
    found = [
        RandomSearch(BOOSTING, SPACE, n_candidates=3, cv=3, bins=bins, random_state=0).fit(X_few, y_cancer)
        for bins in ("shared", "fold")
    ]
    scores = [search.cv_results_["mean_test_score"] for search in found]
    np.testing.assert_allclose(scores[0], scores[1], atol=0.02)


def test_optuna_proposes() -> None:
    optuna = pytest.importorskip("optuna")
    search = TPESearch(BOOSTING, SPACE, n_candidates=4, sampler="optuna", cv=2, random_state=0).fit(X, Y)
    assert search.n_candidates_ == 4
    study = optuna.create_study(direction="maximize")
    TPESearch(BOOSTING, {**SPACE, "max_features": [0.5, 1.0]}, n_candidates=4, sampler=study, cv=2).fit(X, Y)
    assert len(study.trials) == 3


@pytest.mark.parametrize("given", [["a"], 3, [print, None]])
def test_callbacks_must_be_callables(given: Any) -> None:
    search = RandomSearch(DecisionTreeClassifier(), n_candidates=2, callbacks=given)
    with pytest.raises(ParameterTypeError, match="'callbacks' parameter of RandomSearch must be"):
        search.fit(np.arange(20.0)[:, None], np.arange(20) % 2)


@pytest.mark.parametrize("final", ["refit", "folds"])
def test_several_class_targets_of_different_types(final):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(120, 3))
    words = np.array(["a", "b", "c"])[np.digitize(table[:, 0], [-0.5, 0.5])]
    y = np.stack([words.astype(object), (table[:, 1] > 0).astype(int)], axis=1)

    def share_right(model, X, y):
        return float(np.mean(model.predict(X) == y))

    search = RandomSearch(
        GradientBoostingClassifier(random_state=0),
        {"n_estimators": [3, 6]},
        n_candidates=2,
        scoring=share_right,
        cv=3,
        final=final,
        random_state=0,
    ).fit(table, y)
    model = search.best_estimator_
    assert [own.tolist() for own in model.classes_] == [["a", "b", "c"], [0, 1]]
    assert np.mean(search.predict(table) == y) > 0.9
