"""Random survival forests: curves of leaves, scores, targets, and what they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import committee
from committee import RandomSurvivalForest, make_survival_target
from committee.exceptions import CommitteeError
from committee.scoring import concordance_index, integrated_brier_score
from tests.naive import survival as naive


def draw_rows(seed: int = 0, n: int = 300, n_columns: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    time, censoring = rng.exponential(np.exp(-1.5 * X[:, 0])), rng.exponential(1.5, size=n)
    return X, make_survival_target(time <= censoring, np.minimum(time, censoring))


def round_times(y: Any, digits: int = 1) -> Any:
    return make_survival_target(y["event"], y["time"].round(digits))


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_curves_are_the_mean_of_the_estimates_in_the_leaves(bootstrap: bool, weighted: bool) -> None:
    X, y = draw_rows(n=120)
    y = round_times(y)
    weights = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float) if weighted else None
    forest = RandomSurvivalForest(4, bootstrap=bootstrap, min_samples_leaf=8, random_state=0).fit(X, y, weights)
    times = np.array([0.0, 0.2, 0.55, 1.0, 30.0])
    hazards = forest.predict_cumulative_hazard_function(X[:5], times)
    survival = forest.predict_survival_function(X[:5], times)
    leaves = forest.apply(X)
    for row in range(5):
        expected_hazard, expected_survival, mortality = [], [], 0.0
        for tree in range(4):
            counts = forest.draw_sample(tree).astype(float)
            counts *= 1.0 if bootstrap or weights is None else weights
            counts *= leaves[:, tree] == leaves[row, tree]
            rows = (y["event"], y["time"], counts)
            expected_hazard.append([naive.nelson_aalen(*rows, t) for t in times])
            expected_survival.append([naive.kaplan_meier(*rows, t) for t in times])
            mortality += sum(naive.nelson_aalen(*rows, t) for t in forest.event_times_) / 4
        np.testing.assert_allclose(hazards[row], np.mean(expected_hazard, axis=0), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(survival[row], np.mean(expected_survival, axis=0), rtol=1e-9, atol=1e-12)
        assert forest.predict(X[row : row + 1])[0] == pytest.approx(mortality, rel=1e-9)


def test_default_times_are_those_of_events() -> None:
    X, y = draw_rows()
    forest = RandomSurvivalForest(5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(forest.event_times_, np.unique(y["time"][y["event"]]))
    hazards = forest.predict_cumulative_hazard_function(X)
    np.testing.assert_allclose(hazards.sum(axis=1), forest.predict(X), rtol=1e-9)
    survival = forest.predict_survival_function(X)
    assert survival.shape == (300, len(forest.event_times_))
    assert (np.diff(survival, axis=1) <= 1e-12).all()
    with pytest.raises(CommitteeError, match="ascending"):
        forest.predict_survival_function(X, [2.0, 1.0])


def test_the_forest_learns_and_scores_out_of_bag() -> None:
    X, y = draw_rows(n=800)
    new_X, new_y = draw_rows(seed=1, n=800)
    forest = RandomSurvivalForest(60, oob_score=True, random_state=0).fit(X, y)
    assert forest.score(new_X, new_y) == concordance_index(new_y, forest.predict(new_X)) > 0.7
    assert abs(forest.oob_score_ - forest.score(new_X, new_y)) < 0.04
    voted = np.isfinite(forest.oob_prediction_)
    assert forest.oob_score_ == concordance_index(y[voted], forest.oob_prediction_[voted])
    times = np.quantile(new_y["time"], [0.1, 0.3, 0.5, 0.7])
    own = integrated_brier_score(y, new_y, forest.predict_survival_function(new_X, times), times)
    known = RandomSurvivalForest(10, max_depth=1, max_features=1, random_state=0).fit(X[:, 1:], y)
    constant = integrated_brier_score(y, new_y, known.predict_survival_function(new_X[:, 1:], times), times)
    assert own < constant - 0.03


def test_other_scores_of_out_of_bag_rows() -> None:
    X, y = draw_rows()
    seen: list[Any] = []

    def count_rows(target: Any, risk: Any) -> float:
        seen.append((target.dtype.names, len(target) == len(risk)))
        return 1.0

    forest = RandomSurvivalForest(10, oob_score=count_rows, random_state=0).fit(X, y)
    assert forest.oob_score_ == 1.0
    assert seen[0] == (("event", "time"), True)
    stopped = RandomSurvivalForest(200, oob_score=True, oob_patience=10, oob_tol=1.0, random_state=0).fit(X, y)
    n_trees = len(stopped)
    assert n_trees < 200
    whole = RandomSurvivalForest(n_trees, random_state=0).fit(X, y)
    np.testing.assert_array_equal(stopped.predict_survival_function(X), whole.predict_survival_function(X))


def test_many_event_times_are_told_apart_by_255_of_them_in_splits_and_all_in_leaves() -> None:
    X, y = draw_rows(n=2000)
    forest = RandomSurvivalForest(3, random_state=0, min_samples_leaf=20).fit(X, y)
    assert len(forest.event_times_) > 800
    assert forest.predict_survival_function(X[:2]).shape == (2, len(forest.event_times_))
    # The same ranks at few event times give the same trees, whatever the times themselves.
    few = round_times(y)
    shifted = make_survival_target(few["event"], few["time"] ** 2 + 1.0)
    one, other = (RandomSurvivalForest(3, random_state=0).fit(X, own) for own in (few, shifted))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_kinds_of_targets_give_the_same_forest() -> None:
    X, y = draw_rows()
    expected = RandomSurvivalForest(3, random_state=0).fit(X, y).predict(X)
    frame = pd.DataFrame({"months": y["time"], "died": y["event"]})
    for target in (frame, np.column_stack([y["event"], y["time"]])):
        np.testing.assert_array_equal(RandomSurvivalForest(3, random_state=0).fit(X, target).predict(X), expected)
    all_events = make_survival_target(np.ones(len(y)), y["time"])
    one, other = (RandomSurvivalForest(3, random_state=0).fit(X, own).predict(X) for own in (all_events, y["time"]))
    np.testing.assert_array_equal(one, other)


def test_a_target_without_events_gets_a_sentence() -> None:
    X, y = draw_rows()
    censored = make_survival_target(np.zeros(len(y)), y["time"])
    with pytest.raises(CommitteeError, match="All rows of y are censored"):
        RandomSurvivalForest(3).fit(X, censored)
    weights = np.where(y["event"], 0.0, 1.0)
    with pytest.raises(CommitteeError, match="All rows of y are censored"):
        RandomSurvivalForest(3).fit(X, y, weights)


def test_warm_start_goes_on_where_the_fit_ended() -> None:
    X, y = draw_rows()
    forest = RandomSurvivalForest(4, warm_start=True, oob_score=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=9).fit(X, y)
    whole = RandomSurvivalForest(9, oob_score=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(forest.predict(X), whole.predict(X))
    np.testing.assert_array_equal(forest.predict_survival_function(X), whole.predict_survival_function(X))
    assert forest.oob_score_ == whole.oob_score_
    with pytest.raises(CommitteeError, match="other event times"):
        forest.set_params(n_estimators=12).fit(X, round_times(y))


def test_model_files_keep_the_curves(tmp_path: Any) -> None:
    X, y = draw_rows()
    forest = RandomSurvivalForest(5, random_state=0).fit(X, y)
    committee.save(forest, tmp_path / "forest.committee", strip=True)
    loaded = committee.load(tmp_path / "forest.committee")
    np.testing.assert_array_equal(loaded.predict(X), forest.predict(X))
    np.testing.assert_array_equal(loaded.predict_survival_function(X), forest.predict_survival_function(X))


def test_one_row_is_a_row_of_a_batch() -> None:
    X, y = draw_rows()
    forest = RandomSurvivalForest(7, random_state=0).fit(X, y)
    for method in (forest.predict, forest.predict_survival_function, forest.predict_cumulative_hazard_function):
        np.testing.assert_array_equal(np.concatenate([method(X[i : i + 1]) for i in range(20)]), method(X)[:20])


def test_importances_are_by_permutation() -> None:
    from sklearn.inspection import permutation_importance

    X, y = draw_rows()
    forest = RandomSurvivalForest(20, random_state=0).fit(X, y)
    assert not hasattr(forest, "feature_importances_")
    assert permutation_importance(forest, X, y, n_repeats=2, random_state=0).importances_mean.argmax() == 0
