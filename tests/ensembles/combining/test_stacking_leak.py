"""The leak test: rates of true and false alarms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from committee import DecisionTreeClassifier, RandomForestClassifier, StackingClassifier, StackingRegressor

N_DRAWS = 4


def draw(seed: int, n: int, strength: float) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    signal = strength * (X[:, 0] + X[:, 1] * X[:, 2])
    return X, (rng.random(n) < 1 / (1 + np.exp(-signal))).astype(int), signal + rng.normal(size=n)


def list_members() -> list[tuple[str, Any]]:
    return [("nb", GaussianNB()), ("knn", KNeighborsClassifier(5)), ("tree", DecisionTreeClassifier(max_depth=6))]


@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_sound_stacks_raise_no_alarm(strength: float) -> None:
    alarms = []
    for seed in range(N_DRAWS):
        X, y, values = draw(seed, 150, strength)
        alarms.append(StackingClassifier(list_members(), random_state=seed).measure_leak(X, y).alarm)
        numbers = [("ols", LinearRegression()), ("knn", KNeighborsRegressor(5))]
        alarms.append(StackingRegressor(numbers).measure_leak(X, values).alarm)
    # In larger counts 1 of 305 sound stacks raised one; 2 of 8 would be very rare.
    assert sum(alarms) <= 1


def test_out_of_bag_predictions_raise_no_alarm() -> None:
    forest = [("forest", RandomForestClassifier(25, random_state=0)), ("nb", GaussianNB())]
    reports = [StackingClassifier(forest, cv="oob").measure_leak(*draw(seed, 150, 1.0)[:2]) for seed in range(6)]
    assert not any(report.alarm for report in reports)
    assert all(report.inner < report.nested + 0.1 for report in reports)


@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_members_that_have_seen_the_rows_are_found(strength: float) -> None:
    alarms = []
    for seed in range(N_DRAWS):
        X, y, _ = draw(seed, 150, strength)
        seen = [(name, member.fit(X, y)) for name, member in list_members()]
        report = StackingClassifier(seen, cv="prefit").measure_leak(X, y)
        assert report.inner < report.nested
        alarms.append(report.alarm)
        others = [(name, member.fit(*draw(500 + seed, 150, strength)[:2])) for name, member in list_members()]
        assert not StackingClassifier(others, cv="prefit").measure_leak(X, y).alarm
    assert all(alarms)


def test_rows_of_a_group_in_different_folds_are_found_by_outer_folds_that_keep_them_together() -> None:
    rng = np.random.default_rng(0)
    people = rng.permutation(np.repeat(np.arange(40), 4))
    X = rng.normal(size=(40, 5))[people] + 0.01 * rng.normal(size=(160, 5))
    y = rng.integers(0, 2, size=40)[people]
    stack = StackingClassifier(list_members(), random_state=0)
    outer = list(GroupKFold(5).split(X, y, people))
    assert stack.measure_leak(X, y, cv=outer).alarm
    assert not stack.measure_leak(X, y, groups=people).alarm


def test_the_report_adds_up() -> None:
    X, _, values = draw(0, 120, 1.0)
    report = StackingRegressor([("ols", LinearRegression())]).measure_leak(X, values, sample_weight=np.ones(120))
    assert report.naive == pytest.approx(values.var())
    assert report.gap == pytest.approx((report.nested - report.inner) / report.naive)
    assert report.allowed == pytest.approx(0.05 + 2 * 2 / 120)
    assert report == StackingRegressor([("ols", LinearRegression())]).measure_leak(X, values)
    with pytest.raises(ValueError, match="'level' argument"):
        StackingRegressor([("ols", LinearRegression())]).measure_leak(X, values, level=2)
