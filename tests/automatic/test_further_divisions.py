"""Further divisions into folds while a time budget lasts: who has them, means over them, and when they end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

from committee import CommitteeClassifier, CommitteeRegressor, GradientBoostingRegressor, load, save
from committee.automatic import further_divisions
from committee.automatic.fold_plan import divide_rows
from committee.automatic.further_divisions import MOST_DIVISIONS, EntryFit, FittedMembers, divide_further
from committee.automatic.neural_member import NeuralMember
from committee.automatic.presets import PRESETS, Preset
from committee.automatic.stages import BoostingSchedule, boost_in_stages
from committee.ensembles.combining.out_of_fold import MemberFit, predict_out_of_fold
from committee.ensembles.combining.training_set import TrainingSet

X, Y = make_classification(240, 6, n_informative=4, random_state=0)
RNG = np.random.default_rng(0)
VALUES = X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=len(X))
LONG = 1e6


def divide(*orders: int) -> Any:
    return divide_rows(VALUES, np.arange(len(X)), Preset(n_folds=3), orders, 7, classify=False)


def make_context(**changed: Any) -> Any:
    found = {"divide": divide, "deadline": 100.0, "preset": PRESETS["best"], "classes": None}
    return SimpleNamespace(**{**found, **changed})


def fit_boosting() -> EntryFit:
    one = MemberFit("boosting", GradientBoostingRegressor(early_stopping=False, random_state=0, n_jobs=1), "predict")
    training = TrainingSet(X, VALUES)
    stages = boost_in_stages(one, training, divide(0), None, BoostingSchedule([5, 10, 20]), 1)
    return EntryFit(stages, training, lambda fitted: fitted, True, 1, 4.0, [1, 1, 1])


def fit_networks() -> EntryFit:
    one = MemberFit("network", NeuralMember(False, n_epochs=2), "predict")
    training = TrainingSet(X, VALUES)
    predict_out_of_fold(training, [one], divide(0), None, refit=False)
    return EntryFit([one], training, lambda fitted: fitted, False, 1, 2.0, [1])


def test_stages_are_those_of_a_fit_on_all_divisions() -> None:
    entry = fit_boosting()
    assert entry.can_divide()
    assert entry.estimate_seconds(np.array([0, 1])) == 2.0
    entry.fit_further(np.array([1, 2]), divide(1), None)
    assert entry.n_divisions == [1, 2, 2]
    one = MemberFit("boosting", clone(entry.fitted[0].estimator), "predict")
    schedule = BoostingSchedule([5, 10, 20], runs_all=True)
    wanted = boost_in_stages(one, entry.training, divide(0, 1), None, schedule, 1)
    for k in (1, 2):
        sizes = {model.n_estimators for model in entry.fitted[k].fold_models}
        assert (sizes, len(entry.fitted[k].fold_models)) == ({(5, 10, 20)[k]}, 6)
        np.testing.assert_allclose(entry.fitted[k].predictions, wanted[k].predictions, rtol=0, atol=1e-12)
        for model, other in zip(entry.fitted[k].fold_models, wanted[k].fold_models, strict=True):
            np.testing.assert_array_equal(model.predict(X), other.predict(X))


def test_networks_are_those_of_a_fit_on_all_divisions() -> None:
    entry = fit_networks()
    assert entry.estimate_seconds(np.array([0])) == 2.0
    for order in (1, 2):
        entry.fit_further(np.array([0]), divide(order), None)
    wanted = MemberFit("network", NeuralMember(False, n_epochs=2), "predict")
    predict_out_of_fold(entry.training, [wanted], divide(0, 1, 2), None, refit=False)
    assert len(entry.fitted[0].fold_models) == 9
    np.testing.assert_allclose(entry.fitted[0].predictions, wanted.predictions, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("deadline", "counts"), [(100.0, (6, 6)), (5.5, (1, 2)), (4.7, (2, 1)), (2.0, (1, 1))])
def test_members_of_weight_are_divided_until_it_is_late(
    deadline: float, counts: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that a fit moves by what it is expected to take; the network has the larger weight at first."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(further_divisions, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    fit_further = EntryFit.fit_further

    def fit(self: EntryFit, chosen: Any, folds: Any, classes: Any) -> None:
        clock.now += self.estimate_seconds(chosen)
        fit_further(self, chosen, folds, classes)

    monkeypatch.setattr(EntryFit, "fit_further", fit)
    done = FittedMembers()
    for entry in (fit_boosting(), fit_networks()):
        entry.fitted = entry.fitted[-1:]
        entry.n_divisions = [1]
        done.add(entry, 0.0)
    done.entries[0].seconds, done.entries[1].seconds = 4.0, 2.0
    # At 4.7 the boosting's four seconds and a tenth fit in, after which it is late for the network.
    weights = np.array([0.4, 0.6] if deadline != 4.7 else [0.6, 0.4])
    divide_further(done, lambda members: weights, make_context(deadline=deadline))
    assert tuple(entry.n_divisions[0] for entry in done.entries) == counts
    assert [len(one.fold_models) for one in done.members] == [3 * count for count in counts]
    assert clock.now <= deadline


def test_members_without_weight_or_folds_are_not_divided() -> None:
    done = FittedMembers()
    done.add(fit_boosting(), 0.0)
    whole = fit_networks()
    whole.fitted[0].fitted = whole.fitted[0].fold_models[0]
    done.add(whole, 0.0)
    divide_further(done, lambda members: np.array([0.0, 0.5, 0.0, 0.5]), make_context(deadline=float("inf")))
    assert done.entries[0].n_divisions == [1, MOST_DIVISIONS, 1]
    assert done.entries[1].n_divisions == [1]
    assert [len(one.fold_models) for one in done.members] == [3, 3 * MOST_DIVISIONS, 3, 3]
    divide_further(done, lambda members: np.ones(4), make_context(divide=None))
    divide_further(done, lambda members: np.ones(4), make_context(deadline=None))
    assert done.entries[0].n_divisions == [1, MOST_DIVISIONS, 1]


def count_models(model: Any) -> set[int]:
    return {len(member.models) for member in model.estimators_ if hasattr(member, "models")}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best preset with few folds and rounds."""
    preset = replace(PRESETS["best"], n_folds=3, network_repeats=2, rounds=(10,))
    monkeypatch.setattr("committee.automatic.base.find_preset", lambda *table: preset)


def test_a_committee_with_a_budget(small: None, tmp_path: Path) -> None:
    def fit(**params: Any) -> Any:
        groups = params.pop("groups", None)
        usual = {"preset": "best", "portfolio": ["network", "boosting"], "random_state": 0, "time_budget": LONG}
        return CommitteeClassifier(**{**usual, **params}).fit(X, Y, groups=groups)

    model = fit(n_jobs=1)
    assert count_models(model) == {3 * MOST_DIVISIONS}
    wanted = model.predict_proba(X)
    np.testing.assert_array_equal(fit(n_jobs=2).predict_proba(X), wanted)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), wanted)
    assert np.isfinite(model.oof_decision_function_).all()
    # A network has two orders without a budget.
    assert max(count_models(fit(time_budget=None))) == 6
    assert count_models(fit(max_latency_us=1e9)) == {3}
    assert count_models(fit(cv=2)) == {2}
    assert count_models(fit(groups=np.arange(len(X)) // 2)) == {3}


def test_members_of_logarithms(small: None) -> None:
    names, prices = ["shallow boosting of logs"], np.exp(2.0 * VALUES)
    model = CommitteeRegressor(preset="best", portfolio=names, random_state=0, time_budget=LONG).fit(X, prices)
    assert count_models(model) == {3 * MOST_DIVISIONS}
    assert np.corrcoef(np.log(model.predict(X)), VALUES)[0, 1] > 0.7


def test_rows_that_are_folds_have_one_order(small: None) -> None:
    model = CommitteeRegressor(preset="best", portfolio=["boosting"], random_state=0, time_budget=LONG)
    assert count_models(model.fit(X[:3], VALUES[:3])) <= {3}


def test_only_the_best_preset_fills_its_budget() -> None:
    assert [name for name, preset in PRESETS.items() if preset.fills_budget] == ["best"]
