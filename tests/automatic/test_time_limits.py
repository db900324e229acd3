"""A time budget cuts members; by a clock that the tests set."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from committee import CommitteeRegressor, ExtraTreesRegressor, GradientBoostingRegressor
from committee.automatic import stages, time_limits
from committee.automatic.baseline_members import LinearMember
from committee.automatic.portfolio import PORTFOLIO, PortfolioEntry
from committee.automatic.time_limits import PILOT_ROUNDS, afford_trees, find_member_deadline, has_time, limit_rounds
from committee.ensembles.combining.out_of_fold import MemberFit
from committee.ensembles.combining.training_set import TrainingSet

X, Y = load_diabetes(return_X_y=True)
ENTRIES = {entry.name: entry for entry in PORTFOLIO}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock on which every fit of a member takes as many seconds as it has trees or rounds, others a second."""
    found = SimpleNamespace(now=0.0)
    fit_member, continue_fit = TrainingSet.fit_member, GradientBoostingRegressor.continue_fit

    def fit(self: TrainingSet, member: Any, rows: Any, params: Any) -> Any:
        found.now += getattr(member, "n_estimators", 1)
        return fit_member(self, member, rows, params)

    def boost_further(self: Any, dataset: Any, booster: Any) -> Any:
        found.now += self.n_estimators - getattr(self, "n_estimators_", 0)
        return continue_fit(self, dataset, booster)

    monkeypatch.setattr(TrainingSet, "fit_member", fit)
    monkeypatch.setattr(GradientBoostingRegressor, "continue_fit", boost_further)
    fake = SimpleNamespace(perf_counter=lambda: found.now)
    monkeypatch.setattr(time_limits, "time", fake)
    monkeypatch.setattr(stages, "time", fake)
    return found


def boost(deadline: float | None) -> list[MemberFit]:
    member = GradientBoostingRegressor(learning_rate=0.02, early_stopping=False, random_state=0, n_jobs=1)
    folds = list(KFold(2).split(X))
    schedule = stages.BoostingSchedule([30, 60, 120], deadline)
    return stages.boost_in_stages(MemberFit("boosting", member, "predict"), TrainingSet(X, Y), folds, None, schedule, 1)


def count_rounds(found: list[MemberFit]) -> list[int]:
    return [stage.fold_models[0].n_estimators for stage in found]


def test_rounds_that_end_in_time(clock: SimpleNamespace) -> None:
    whole = boost(None)
    assert count_rounds(whole) == [30, 60, 120]
    # Two folds, so that a round takes two seconds.
    for seconds, rounds in ((1e9, [30, 60, 120]), (160.0, [30, 60, 80]), (130.0, [30, 60]), (40.0, [20]), (0.0, [5])):
        clock.now = 0.0
        found = boost(seconds)
        assert count_rounds(found) == rounds
        assert clock.now <= max(seconds, 2.0 * (PILOT_ROUNDS + 1))
        # The rounds that were timed are the first ones of the same fit.
        for one, other in zip(found, whole, strict=False):
            if count_rounds([one]) == count_rounds([other]):
                np.testing.assert_array_equal(one.predictions, other.predictions)


def test_rounds_of_a_stage_too_few_to_matter() -> None:
    assert limit_rounds(60, 30, 30.0, 6.0, is_first=False) == 30
    assert limit_rounds(60, 30, 30.0, 8.0, is_first=False) == 38
    assert limit_rounds(32, 30, 30.0, 2.5, is_first=False) == 32
    assert limit_rounds(30, 4, 0.0, 1.0, is_first=True) == 30


def test_trees_that_end_in_time(clock: SimpleNamespace) -> None:
    forest = ExtraTreesRegressor(n_estimators=150, bootstrap=True, n_jobs=1)
    training = TrainingSet(X, Y)
    assert afford_trees(forest, training, {}, 1, 1e9) == 150
    for n_fits, left, n_trees in ((1, 84.0, 80), (2, 84.0, 40), (1, 5.0, 10), (1, -5.0, 10)):
        clock.now = 0.0
        assert afford_trees(forest, training, {}, n_fits, left) == n_trees


def test_the_deadline_of_a_member() -> None:
    assert find_member_deadline(None, 3.0, is_last=False) is None
    assert find_member_deadline(10.0, 4.0, is_last=False) == 7.0
    assert find_member_deadline(10.0, 12.0, is_last=False) == 12.0


def test_members_that_end_in_time(clock: SimpleNamespace) -> None:
    def ask(entry: PortfolioEntry, estimator: Any, n_rows: int, n_fits: int, deadline: float) -> bool:
        clock.now = 0.0
        training = TrainingSet(np.resize(X, (n_rows, X.shape[1])), np.resize(Y, n_rows))
        return has_time(entry, estimator, training, {}, n_fits, [0.0, 8.0, 6.0], deadline)

    linear, boosting = ENTRIES["linear"], ENTRIES["boosting"]
    # Every fourth row takes a second: six fits of all rows take 24, beside the first one.
    assert ask(linear, LinearMember(False), 8000, 6, 25.0)
    assert not ask(linear, LinearMember(False), 8000, 6, 24.5)
    assert ask(linear, LinearMember(False), 400, 6, 6.0)
    assert not ask(linear, LinearMember(False), 400, 6, 5.5)
    assert ask(boosting, None, 8000, 6, 3.0)
    assert not ask(boosting, None, 8000, 6, 2.5)
    # A tenth of the least time before, six seconds, for a forest, of which a few trees are timed.
    assert ask(ENTRIES["forest"], None, 8000, 1, 0.7)
    assert not ask(ENTRIES["forest"], None, 8000, 1, 0.5)
    foreign = PortfolioEntry("ridge", (None, None), "folds", estimator=Ridge())
    assert ask(foreign, Ridge(), 8000, 6, 6.0)


def test_other_members_get_their_time_beside_boosting(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which a call takes a hundredth of a second: half of the time is for those after boosting."""
    ticks = iter(range(10**9))
    fake = SimpleNamespace(perf_counter=lambda: 0.01 * next(ticks))
    for module in ("base", "portfolio_fits", "further_divisions", "stacked_member", "stages", "time_limits"):
        monkeypatch.setattr(f"committee.automatic.{module}.time", fake)
    model = CommitteeRegressor(portfolio=["boosting", "extra trees", "linear"], time_budget=5.0, random_state=0)
    model.fit(X[:150], Y[:150])
    assert {row["name"] for row in model.leaderboard_} == {"prior", "boosting", "extra trees", "linear"}


def test_folds_that_are_fitted_at_once_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network, of which half of the time must hold so many fits, and a linear model, which uses threads itself."""
    asked: dict[str, tuple[int, float]] = {}

    def ask(entry: PortfolioEntry, *about: Any) -> bool:
        *_, n_fits, _, until = about
        asked[entry.name] = (n_fits, until)
        return False

    monkeypatch.setattr("committee.automatic.portfolio_fits.has_time", ask)
    names = ["kernel", "network", "linear", "neighbours"]
    CommitteeRegressor(portfolio=names, cv=5, time_budget=1e6, n_jobs=2, random_state=0).fit(X[:60], Y[:60])
    assert asked["network"][0] == 3
    assert asked["linear"][0] == 6
    assert asked["network"][1] < asked["linear"][1] - 0.49e6


def test_members_without_time_are_named() -> None:
    names = ["boosting", "linear", "forest"]
    early = CommitteeRegressor(portfolio=names, time_budget=1e-9, n_jobs=1, random_state=0).fit(X, Y)
    assert early.skipped_members_ == ["linear", "forest"]
    assert {row["name"] for row in early.leaderboard_} == {"prior", "boosting"}
    whole = CommitteeRegressor(portfolio=names, n_jobs=1, random_state=0).fit(X, Y)
    assert whole.skipped_members_ == []
