"""The automatic committee: budgets, tiny and odd tables, and an estimate that can be believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.model_selection import TimeSeriesSplit

from committee import CommitteeClassifier, CommitteeRegressor, load, save
from committee.automatic.combination import MemberCombiner
from committee.automatic.portfolio import choose_entries
from committee.automatic.time_limits import PILOT_ROUNDS
from committee.data.targets import encode_values
from committee.exceptions import DataError, ParameterError

NAMES = {
    classify: [entry.name for entry in choose_entries(None, None, 1000, n_classes=2 if classify else 0)]
    for classify in (True, False)
}


def make_noise(n_rows: int, seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, 4)), rng.integers(0, 2, size=n_rows), rng.normal(size=n_rows)


# How members are combined does not depend on who made the folds.
@pytest.mark.parametrize(("combine", "cv"), [("selection", None), ("nonnegative", 4)])
def test_noise_is_estimated_at_chance(combine: str, cv: int | None) -> None:
    found, roots = [], []
    for seed in range(3):
        X, y, values = make_noise(160, seed)
        model = CommitteeClassifier(combine=combine, cv=cv, n_members=5, random_state=seed).fit(X, y)
        found.append(model.score_estimate_)
        numbers = CommitteeRegressor(combine=combine, cv=cv, n_members=5, random_state=seed).fit(X, values)
        roots.append(numbers.score_estimate_)
        assert 0.0 < model.score_error_ < 0.1
    # No better than the frequencies, up to chance over 480 rows; and no disaster either.
    assert -np.log(2) - 0.05 < np.mean(found) < -np.log(2) + 0.01
    assert -1.15 < np.mean(roots) < -0.92


def test_noise_is_at_chance_for_a_metric_that_selection_can_overfit() -> None:
    scores = []
    for seed in range(4):
        X, y, _ = make_noise(150, seed)
        model = CommitteeClassifier(metric="accuracy", portfolio=["neighbours", "linear"], random_state=seed)
        scores.append(model.fit(X, y).score_estimate_)
    assert abs(np.mean(scores) - 0.5) < 0.08


def test_the_estimate_agrees_with_new_rows() -> None:
    X, y = make_classification(3000, 12, n_informative=6, flip_y=0.1, random_state=1)
    model = CommitteeClassifier(random_state=0).fit(X[:600], y[:600])
    probabilities = model.predict_proba(X[600:])
    fresh = float(np.log(probabilities[np.arange(2400), y[600:]]).mean())
    assert abs(fresh - model.score_estimate_) < 4 * model.score_error_
    # The mean is no worse than its best member, as far as rows can tell.
    assert model.score_estimate_ > model.leaderboard_[0]["score"] - model.score_error_


def test_the_error_is_the_one_of_a_mean() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=4000)
    combiner = MemberCombiner(encode_values(values[:, None]), None, None, "neg_mean_absolute_error", "selection", 0)
    estimate = combiner.estimate(np.zeros((4000, 1)), np.arange(4000))
    exact = np.abs(values).std() / np.sqrt(4000)
    assert estimate.score == pytest.approx(-np.abs(values).mean())
    assert 0.5 * exact < estimate.error < 1.7 * exact


def test_groups_are_kept_together() -> None:
    rng = np.random.default_rng(0)
    people = rng.permutation(np.repeat(np.arange(50), 4))
    X, y = rng.normal(size=(50, 4))[people], rng.integers(0, 2, size=50)[people]
    knowing = CommitteeClassifier(random_state=0).fit(X, y, groups=people)
    ignorant = CommitteeClassifier(random_state=0).fit(X, y)
    assert knowing.score_estimate_ < -np.log(2) + 0.05
    assert ignorant.score_estimate_ > -0.4
    with pytest.raises(DataError, match="one group"):
        CommitteeClassifier().fit(X, y, groups=np.zeros(200))
    with pytest.raises(DataError, match="groups must have an entry"):
        CommitteeClassifier().fit(X, y, groups=people[:-1])


# Scorers of scikit-learn take most of the time, and few members need few scores.
@pytest.mark.parametrize(("metric", "n_members"), [(None, None), ("accuracy", 4)])
def test_twenty_rows_with_rare_classes(metric: Any, n_members: int | None) -> None:
    rng = np.random.default_rng(0)
    y = np.array(["a"] * 14 + ["b"] * 3 + ["c"] * 3)
    X = rng.normal(size=(20, 3)) + 3.0 * (y[:, None] == np.array(["a", "b", "c"]))
    model = CommitteeClassifier(metric=metric, n_members=n_members, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (20, 3)
    assert model.score(X, y) > 0.8
    assert np.isfinite([model.score_estimate_, model.score_error_]).all()


@pytest.mark.parametrize("labels", [[0, 1], [0] * 9 + [1], list(range(6)), [3] * 5])
def test_smaller_yet(labels: list[int]) -> None:
    X = np.arange(len(labels), dtype=float)[:, None]
    model = CommitteeClassifier(random_state=0).fit(X, labels)
    assert model.predict(X).shape == (len(labels),)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert np.isfinite(CommitteeRegressor(random_state=0).fit(X, labels).predict(X)).all()


def test_a_rare_class_is_not_lost() -> None:
    X, y = make_classification(1500, 8, weights=[0.96], class_sep=1.5, random_state=0)
    model = CommitteeClassifier(metric="average_precision", n_members=2, random_state=0).fit(X[:1000], y[:1000])
    assert model.score_estimate_ > 5 * y.mean()
    balanced = CommitteeClassifier(class_weight="balanced", n_members=2, random_state=0).fit(X[:1000], y[:1000])
    assert balanced.predict(X[1000:]).mean() >= model.predict(X[1000:]).mean()


def make_mixed(n_rows: int = 400) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(3)
    color = rng.choice(["red", "green", "blue"], size=n_rows)
    size = rng.normal(size=n_rows)
    value = np.where(color == "red", size, -size) + 0.1 * rng.normal(size=n_rows)
    size[rng.random(n_rows) < 0.1] = np.nan
    return pd.DataFrame(
        {"size": size, "color": pd.Categorical(color), "many": [f"name {k % 90}" for k in range(n_rows)]}
    ), value


@pytest.mark.parametrize("name", dict.fromkeys([*NAMES[True], *NAMES[False]]))
def test_every_member_learns_from_a_mixed_table_and_is_held_by_a_file(name: str, tmp_path: Path) -> None:
    X, value = make_mixed()
    for model, y in ((CommitteeClassifier(), value > 0), (CommitteeRegressor(), value)):
        if name not in NAMES[isinstance(model, CommitteeClassifier)]:
            continue
        model.set_params(portfolio=[name], random_state=0).fit(X, y)
        scores = {row["name"]: row["score"] for row in model.leaderboard_}
        assert set(scores) == {"prior", name}
        # Who looks at one feature at a time does not see that a colour turns the size around; it may learn nothing.
        blind = name in ("linear", "naive bayes")
        assert scores[name] > scores["prior"] * (1.3 if blind else 1.0)
        assert np.isfinite(np.asarray(model.predict(X), dtype=float)).all()
        save(model, tmp_path / "model")
        loaded = load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert loaded.leaderboard_ == model.leaderboard_


def test_the_budget_of_members() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = CommitteeClassifier(n_members=2, random_state=0).fit(X, y)
    assert {row["name"] for row in model.leaderboard_} == {"prior", *NAMES[True][:2]}
    assert sum(row["weight"] for row in model.leaderboard_) == pytest.approx(1.0)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert len(model.estimators_) == len(model.weights_)
    scores = [row["score"] for row in model.leaderboard_]
    assert scores == sorted(scores, reverse=True)


def test_the_budget_of_time() -> None:
    X, y = load_diabetes(return_X_y=True)
    hurried = CommitteeRegressor(time_budget=1e-6, random_state=0).fit(X, y)
    assert {row["name"] for row in hurried.leaderboard_} == {"prior", NAMES[False][0]}
    assert [row["rounds"] for row in hurried.leaderboard_ if row["name"] == NAMES[False][0]] == [PILOT_ROUNDS + 1]
    patient = CommitteeRegressor(time_budget=1e6, random_state=0).fit(X, y)
    unhurried = CommitteeRegressor(random_state=0).fit(X, y)  # begins with the cheap ones, not with the best one
    assert {r["name"] for r in patient.leaderboard_} == {r["name"] for r in unhurried.leaderboard_}
    assert patient.score_estimate_ == pytest.approx(unhurried.score_estimate_, rel=0.02)


def test_nothing_is_left_to_boost_for() -> None:
    """Two clouds far apart: the kernel sees all there is to see, and boosting stays at its first stage."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 3)) + 20.0 * y[:, None]
    model = CommitteeClassifier(random_state=0).fit(X, y)
    assert {row["rounds"] for row in model.leaderboard_ if "boosting" in row["name"]} == {30}
    assert model.score(X, y) == 1.0


def test_folds_by_time_leave_early_rows_out() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = CommitteeRegressor(cv=TimeSeriesSplit(3), n_members=2, random_state=0).fit(X, y)
    assert -70 < model.score_estimate_ < -50


# All members once; how they are combined does not depend on which they are.
@pytest.mark.parametrize(("combine", "n_members"), [("selection", None), ("nonnegative", 4)])
def test_threads_change_nothing(combine: str, n_members: int | None) -> None:
    X, y = make_classification(500, 8, random_state=0)
    params = {"combine": combine, "n_members": n_members, "cv": 3, "random_state": 0}
    one, two = (CommitteeClassifier(n_jobs=jobs, **params).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(two.predict_proba(X), one.predict_proba(X))
    assert two.score_estimate_ == one.score_estimate_
    assert two.score_error_ == one.score_error_


def test_progress_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = load_diabetes(return_X_y=True)
    CommitteeRegressor(n_members=1, verbose=1).fit(X, y)
    assert "Committee" in capsys.readouterr().err


def test_the_prior_has_no_weight_where_a_constant_has_no_effect() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = CommitteeClassifier(metric="roc_auc", portfolio=["linear", "extra trees"], random_state=0).fit(X, y)
    assert {row["name"]: row["weight"] for row in model.leaderboard_}["prior"] == 0.0
    assert model.score_estimate_ > 0.98


def test_unknown_members_are_refused() -> None:
    with pytest.raises(ParameterError, match="'portfolio' parameter of CommitteeClassifier must be None or a list"):
        CommitteeClassifier(portfolio=["oracle"]).fit([[0.0], [1.0]], [0, 1])


def test_weights_go_with_every_metric_that_can_count_them() -> None:
    X, y = load_diabetes(return_X_y=True)
    weights = np.random.default_rng(0).random(len(y))
    CommitteeRegressor(n_members=1).fit(X, y, sample_weight=weights)
    CommitteeRegressor(n_members=1, metric="r2").fit(X, y, sample_weight=weights)
    with pytest.raises(ParameterError, match="'metric' parameter"):
        CommitteeRegressor(n_members=1, metric=lambda true, guess: 0.0).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("member", ["linear", "kernel", "neighbours"])
@pytest.mark.parametrize("classify", [True, False])
def test_a_row_alone_is_predicted_as_among_others(member: str, classify: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 13))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=150)
    if classify:
        model: Any = CommitteeClassifier(portfolio=[member], random_state=0).fit(X, np.digitize(signal, [-1.0, 1.0]))
        ask = model.predict_proba
    else:
        model = CommitteeRegressor(portfolio=[member], random_state=0).fit(X, signal)
        ask = model.predict
    np.testing.assert_array_equal(ask(X), np.concatenate([ask(X[i : i + 1]) for i in range(len(X))]))


@pytest.mark.parametrize("classify", [True, False])
def test_sparse_tables_are_as_good_as_dense_ones(classify: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = csr_matrix(np.where(rng.random((300, 12)) < 0.3, rng.normal(size=(300, 12)), 0.0))
    values = np.asarray(X[:, [0]].toarray()[:, 0] - X[:, [1]].toarray()[:, 0]) + 0.1 * rng.normal(size=300)
    kind, y = (CommitteeClassifier, values > 0.0) if classify else (CommitteeRegressor, values)
    sparse, dense = (kind(random_state=0, cv=3).fit(table, y) for table in (X, X.toarray()))
    assert {row["name"] for row in sparse.leaderboard_} == {"prior", *NAMES[classify]}
    method = "predict_proba" if classify else "predict"
    np.testing.assert_allclose(getattr(sparse, method)(X), getattr(dense, method)(X.toarray()), atol=1e-6)
    save(sparse, tmp_path / "model")
    np.testing.assert_array_equal(getattr(load(tmp_path / "model"), method)(X), getattr(sparse, method)(X))


def test_large_sparse_tables_stay_sparse() -> None:
    assert "linear" not in [entry.name for entry in choose_entries(None, None, 1000, 10**9)]
    assert [entry.name for entry in choose_entries(["linear"], None, 1000, 10**9)] == ["linear"]
