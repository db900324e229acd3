"""Presets, and members by the time of a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import make_classification

from committee import CommitteeClassifier
from committee.automatic.fold_plan import divide_rows
from committee.automatic.latency import choose_fast_members
from committee.automatic.portfolio import PORTFOLIO, FitContext, choose_entries, plan_schedule
from committee.automatic.presets import PRESETS, find_preset
from committee.ensembles.combining.training_set import TrainingSet
from committee.exceptions import ParameterError

X, Y = make_classification(300, 6, n_informative=4, random_state=0)
MICROSECONDS = {"prior": 1.0, "linear": 10.0, "extra trees": 500.0, "naive bayes": 20.0}


class Timed(CommitteeClassifier):  # type: ignore[misc]
    """Takes the times of predictions from a table."""

    def _time_member(self, one: Any, views: Any, context: Any) -> float:
        return MICROSECONDS[one.name]


def test_the_default_is_balanced() -> None:
    model = CommitteeClassifier(portfolio=["linear", "extra trees"], random_state=0).fit(X, Y)
    same = CommitteeClassifier(preset="balanced", portfolio=["linear", "extra trees"], random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    assert PRESETS["balanced"].names is None
    assert PRESETS["balanced"].n_folds == 5


def test_entries_of_presets() -> None:
    def list_names(preset: str, views: tuple[str, ...] = ("table",), n_rows: int = 1001) -> list[str]:
        how = find_preset(preset, n_rows)
        return [e.name for e in choose_entries(None, None, n_rows, n_classes=0, views=views, preset=how)]

    assert list_names("fast") == ["boosting", "extra trees", "linear"]
    assert list_names("fast", n_rows=1000) == ["boosting", "extra trees", "linear", "kernel"]
    assert list_names("fast", ("table", "words")) == ["boosting", "linear of words", "extra trees", "linear"]
    assert list_names("fast", ("table", "logs"))[-1] == "shallow boosting of logs"
    assert "shallow boosting" not in list_names("balanced", ("table", "logs"))
    assert "shallow boosting" in list_names("best", ("table", "logs"))
    assert "boosting by code of logs" in list_names("best", ("table", "logs"), 3000)
    assert "boosting by code of logs" not in list_names("best", ("table", "logs"), 2999)
    assert "boosting by code of logs" not in list_names("balanced", ("table", "logs"), 3000)
    assert set(PRESETS["fast"].names or ()) <= {entry.name for entry in PORTFOLIO}


@pytest.mark.parametrize("classify", [True, False])
def test_repeated_folds(classify: bool) -> None:
    """Each repeat divides all rows of weight, in another order; the first is that of a single division."""
    y = np.random.default_rng(0).integers(0, 3, 50)
    kept = np.flatnonzero(np.arange(50) % 7)
    folds = divide_rows(y, kept, PRESETS["best"], range(3), 5, classify=classify)
    assert len(folds) == 30
    for first in (0, 10, 20):
        tests = [test for _, test in folds[first : first + 10]]
        np.testing.assert_array_equal(np.sort(np.concatenate(tests)), kept)
    for train, test in folds:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), kept)
        assert not classify or np.ptp(np.bincount(y[test], minlength=3) - np.bincount(y[kept]) / 10) < 2
    assert len({test.tobytes() for _, test in folds}) == 30
    once = divide_rows(y, kept, PRESETS["best"], [0], 5, classify=classify)
    assert [test.tolist() for _, test in once] == [test.tolist() for _, test in folds[:10]]
    assert len(divide_rows(y, kept[:6], PRESETS["best"], range(3), 5, classify=classify)) == 6


def test_the_best_preset_repeats_its_folds() -> None:
    def count_models(preset: str, **params: Any) -> dict[str, int]:
        names = ["network", "shallow boosting"]
        groups = params.pop("groups", None)
        model = CommitteeClassifier(preset=preset, portfolio=names, random_state=0, **params).fit(X, Y, groups=groups)
        assert np.isfinite(model.oof_decision_function_).all()
        means = [one.models for one in model.estimators_ if hasattr(one, "models")]
        return {type(models[0]).__name__: len(models) for models in means}

    network, boosting = "NeuralMember", "GradientBoostingClassifier"
    assert count_models("balanced")[network] == 5
    few = count_models("best")
    assert few[network] == few[boosting] == 30
    assert count_models("best", cv=4)[network] == 4
    assert count_models("best", groups=np.arange(len(X)) % 60)[network] == 10


def test_networks_are_repeated_on_more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.automatic.presets._MANY_ROWS", 100)
    model = CommitteeClassifier(preset="best", portfolio=["network", "linear"], random_state=0).fit(X, Y)
    assert [len(one.models) for one in model.estimators_ if hasattr(one, "models")] == [30]
    # A budget that leaves time has the same first three orders.
    monkeypatch.setattr("committee.automatic.further_divisions.MOST_DIVISIONS", 3)
    again = CommitteeClassifier(preset="best", portfolio=["network", "linear"], random_state=0, time_budget=1e6)
    np.testing.assert_array_equal(again.fit(X, Y).predict_proba(X), model.predict_proba(X))


def test_the_fast_preset_on_few_rows() -> None:
    model = CommitteeClassifier(preset="fast", random_state=0).fit(X, Y)
    assert {row["name"] for row in model.leaderboard_} == {"prior", "boosting", "extra trees", "linear", "kernel"}
    rounds = next(row["rounds"] for row in model.leaderboard_ if row["name"] == "boosting")
    assert rounds <= 120
    assert np.isfinite(model.oof_decision_function_).all()
    named = CommitteeClassifier(preset="fast", portfolio=["naive bayes"], random_state=0).fit(X, Y)
    assert {row["name"] for row in named.leaderboard_} == {"prior", "naive bayes"}


@pytest.mark.parametrize("grouped", [False, True])
def test_the_fast_preset_fits_two_of_four_folds(grouped: bool) -> None:
    many, labels = make_classification(1200, 5, random_state=0)
    groups = np.arange(1200) // 2 if grouped else None
    model = CommitteeClassifier(preset="fast", portfolio=["boosting", "linear", "extra trees"], random_state=0)
    model.fit(many, labels, groups=groups)
    known = np.isfinite(model.oof_decision_function_).all(axis=1)
    assert abs(int(known.sum()) - 600) <= 2
    boosted = [member for member in model.estimators_ if hasattr(member, "models")]
    assert {len(member.models) for member in boosted} == {2}
    sizes = {(one.learning_rate, one.max_leaf_nodes) for member in boosted for one in member.models}
    assert sizes == {(0.2, 16)}
    assert model.score_estimate_ > -0.5
    # What needs the predictions of all rows takes those that there are.
    small = model.distill(many, labels, groups=groups, n_estimators=10)
    assert small.distillation_["n_rows"] == 300
    assert CommitteeClassifier(preset="fast", cv=3, portfolio=["linear"]).fit(many, labels).score_estimate_ < 0.0


def test_the_fast_preset_fits_two_folds_of_more_than_two_classes_on_few_rows() -> None:
    for n_classes, n_fitted in ((2, 4), (3, 2)):
        few, labels = make_classification(300, 6, n_informative=4, n_classes=n_classes, random_state=0)
        model = CommitteeClassifier(preset="fast", portfolio=["linear"], random_state=0).fit(few, labels)
        known = np.isfinite(model.oof_decision_function_).all(axis=1)
        assert abs(int(known.sum()) - 75 * n_fitted) <= 2


@pytest.mark.parametrize(
    ("preset", "n_columns", "expected"), [("fast", 40, True), ("fast", 39, False), ("best", 40, False)]
)
def test_trees_of_the_fast_preset_look_at_less_of_wide_tables(preset: str, n_columns: int, expected: bool) -> None:
    context = FitContext(0, [], n_columns, False, False, 1, 0, preset=find_preset(preset, 5000))
    entries = {entry.name: entry for entry in PORTFOLIO}
    boosting, extra = (context.make_member(entries[name], 1) for name in ("boosting", "extra trees"))
    assert (boosting.max_bins == 63, extra.max_features == 1.0 / 6.0) == (expected, expected)
    classes = FitContext(2, [], n_columns, False, False, 1, 0, preset=find_preset(preset, 5000))
    assert classes.make_member(entries["extra trees"], 1).max_features != 1.0 / 6.0


def test_a_stage_of_the_fast_preset_must_bring_more() -> None:
    gained = [1.0, 0.995]
    schedules = []
    for preset in ("fast", "balanced"):
        context = FitContext(2, [], 2, False, False, 1, 0, preset=find_preset(preset, 5000))
        schedules.append(plan_schedule(TrainingSet(np.zeros((9, 2)), np.zeros(9)), context, []))
    assert [one.should_stop(gained) for one in schedules] == [True, False]


@pytest.mark.parametrize(
    ("preset", "n_columns", "n_classes", "is_sparse", "expected"),
    [
        ("balanced", 12, 3, False, True),
        ("balanced", 12, 2, False, False),
        ("balanced", 9, 3, False, False),
        ("balanced", 12, 3, True, False),
        ("best", 12, 3, False, False),
    ],
)
def test_the_balanced_preset_fits_less_to_wide_tables_of_several_classes(
    preset: str, n_columns: int, n_classes: int, is_sparse: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("committee.automatic.presets._WIDE_COLUMNS", 10)
    monkeypatch.setattr("committee.automatic.presets._WIDE_CELLS", 2000)
    wide, labels = make_classification(200, n_columns, n_informative=6, n_classes=n_classes, random_state=0)
    model = CommitteeClassifier(preset=preset, portfolio=["boosting"], random_state=0)
    model.fit(csr_matrix(wide) if is_sparse else wide, labels)
    boosted = [member for member in model.estimators_ if hasattr(member, "models")]
    assert ({len(member.models) for member in boosted} == {2}) == expected
    assert ({one.colsample_bytree for member in boosted for one in member.models} == {0.2}) == expected
    found = find_preset(preset, 200, 0 if is_sparse else n_columns, n_classes)
    names = {entry.name for entry in choose_entries(None, None, 200, n_classes=n_classes, preset=found)}
    assert ("boosting by code" in names) == (not expected)
    by_name = choose_entries(["boosting by code"], None, 200, n_classes=n_classes, preset=found)
    assert [entry.name for entry in by_name] == ["boosting by code"]


def test_boosting_of_wide_tables_of_several_classes_draws_columns_for_a_tree() -> None:
    for preset, n_columns, n_classes, drawn in (
        ("fast", 500, 3, 0.2),
        ("balanced", 500, 3, 0.2),
        ("best", 500, 3, 1.0),
        ("fast", 500, 2, 1.0),
        ("fast", 99, 3, 1.0),
    ):
        found = find_preset(preset, 5000, n_columns, n_classes)
        context = FitContext(n_classes, [], 2, False, False, 1, 0, preset=found)
        member = context.make_member(next(e for e in PORTFOLIO if e.name == "boosting"), 1)
        assert member.colsample_bytree == drawn
        assert member.max_features == 0.5
        assert found.boosting.get("max_leaf_nodes") == (16 if preset == "fast" else None)


def test_linear_members_of_few_steps_are_the_same_on_threads() -> None:
    many, labels = make_classification(1200, 6, n_informative=4, n_classes=3, random_state=0)
    models = [
        CommitteeClassifier(preset="fast", portfolio=["linear"], n_jobs=n, random_state=0).fit(many, labels)
        for n in (1, 3)
    ]
    one, several = (model.oof_decision_function_ for model in models)
    np.testing.assert_array_equal(one, several)
    np.testing.assert_array_equal(models[0].predict_proba(many), models[1].predict_proba(many))


def test_a_row_of_weight_zero_does_not_count_for_the_size_of_the_table() -> None:
    many, labels = make_classification(1020, 4, random_state=0)
    weights = np.repeat([1.0, 0.0], [1000, 20])
    model = CommitteeClassifier(preset="fast", portfolio=["linear"], random_state=0).fit(many, labels, weights)
    assert np.isfinite(model.oof_decision_function_[:1000]).all()


def test_linear_models_of_the_fast_preset_take_fewer_steps() -> None:
    models = [CommitteeClassifier(preset=preset, portfolio=["linear"], random_state=0) for preset in ("fast", "best")]
    steps = [[member.max_steps for member in one.fit(X, Y).estimators_ if hasattr(member, "coef_")] for one in models]
    assert steps == [[40], [200]]
    assert find_preset("fast", 5000).linear_steps == 12


def test_linear_models_of_the_fast_preset_are_fitted_once() -> None:
    def list_sources(n_classes: int, preset: str) -> set[str]:
        entries = choose_entries(None, None, 500, n_classes=n_classes, preset=find_preset(preset, 500))
        return {entry.source for entry in entries if entry.name == "linear"}

    assert [list_sources(n_classes, "fast") for n_classes in (0, 2, 3)] == [{"loo"}, {"loo"}, {"folds"}]
    assert list_sources(2, "balanced") == {"folds"}
    fast = find_preset("fast", 500)
    entry = next(e for e in choose_entries(["linear"], None, 500, preset=fast) if e.name == "linear")
    contexts = [FitContext(2, list(range(n)), n, False, False, 1, 0, preset=fast) for n in (10, 90)]
    assert [context.uses_folds(entry) for context in contexts] == [False, True]
    weighted = CommitteeClassifier(preset="fast", portfolio=["linear"], random_state=0)
    weighted.fit(X, Y, np.linspace(1.0, 2.0, len(Y)))
    assert np.isfinite(weighted.oof_decision_function_).all()


def test_the_best_preset_has_thirty_folds_and_large_forests() -> None:
    model = CommitteeClassifier(preset="best", portfolio=["extra trees", "boosting"], random_state=0).fit(X, Y)
    sizes = {len(member.models) for member in model.estimators_ if hasattr(member, "models")}
    trees = {member.n_estimators for member in model.estimators_ if type(member).__name__ == "ExtraTreesClassifier"}
    assert sizes <= {30}
    assert trees <= {500}
    assert sizes or trees


def test_a_model_from_before_the_presets_can_be_cloned() -> None:
    model = CommitteeClassifier(portfolio=["linear"], random_state=0).fit(X, Y)
    for name in ("preset", "extra_members", "max_latency_us"):
        del model.__dict__[name]
    again = clone(model).fit(X, Y)
    assert again.get_params()["preset"] == "balanced"
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(ParameterError, match="'preset' parameter"):
        CommitteeClassifier(preset="quick").fit(X, Y)


@pytest.mark.parametrize(("most", "allowed"), [(1000.0, set(MICROSECONDS)), (40.0, {"prior", "linear", "naive bayes"})])
def test_members_stay_within_the_latency(most: float, allowed: set[str]) -> None:
    names = ["linear", "extra trees", "naive bayes"]
    model = Timed(portfolio=names, max_latency_us=most, random_state=0).fit(X, Y)
    used = {row["name"] for row in model.leaderboard_ if row["weight"] > 0.0}
    assert used <= allowed
    assert model.latency_us_ == sum(MICROSECONDS[name] for name in used) <= most
    assert len(model.estimators_) == len(used)
    assert model.weights_.sum() == pytest.approx(1.0)
    if most == 1000.0:
        assert "extra trees" in used
    assert not hasattr(model.set_params(max_latency_us=None).fit(X, Y), "latency_us_")


def test_a_metric_without_the_prior() -> None:
    model = Timed(portfolio=["linear", "extra trees"], metric="roc_auc", max_latency_us=40.0, random_state=0).fit(X, Y)
    assert {row["name"] for row in model.leaderboard_ if row["weight"] > 0.0} == {"linear"}
    with pytest.raises(ParameterError, match="the fastest takes 10 microseconds for a row, and 5 are allowed"):
        model.set_params(max_latency_us=5.0).fit(X, Y)


def test_the_least_weight_for_its_time_goes_first() -> None:
    shares = np.array([0.5, 0.2, 0.3])
    kept, weights = choose_fast_members(
        np.array([10.0, 10.0, 30.0]), 45.0, lambda some: shares[some] / shares[some].sum()
    )
    assert kept == [0, 1]
    np.testing.assert_allclose(weights, [5 / 7, 2 / 7])


def test_times_are_measured() -> None:
    model = CommitteeClassifier(portfolio=["linear", "naive bayes"], max_latency_us=1e9, random_state=0).fit(X, Y)
    assert 0.0 < model.latency_us_ < 1e9
