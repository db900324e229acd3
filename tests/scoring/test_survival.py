"""Scores of survival models against their definitions, and against values of scikit-survival 0.28."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

from committee import RandomSurvivalForest, make_survival_target
from committee.exceptions import CommitteeError
from committee.scoring import (
    BrierScorer,
    brier_scores,
    concordance_index,
    concordance_index_ipcw,
    cumulative_dynamic_auc,
    estimate_survival,
    integrated_brier_score,
)
from tests.naive import survival as naive


def draw_rows(seed: int, n: int = 60, ties: bool = True) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    event, time, risk = rng.random(n) < 0.6, rng.exponential(size=n), rng.normal(size=n)
    if ties:
        time, risk = np.ceil(4.0 * time) / 4.0, risk.round(0)
    event[np.argmax(time)] = True  # nothing is censored after the last event
    return event, time, risk


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_concordance_is_the_share_of_pairs(seed: int, ties: bool) -> None:
    event, time, risk = draw_rows(seed, ties=ties)
    y = make_survival_target(event, time)
    assert concordance_index(y, risk) == pytest.approx(naive.find_concordance(event, time, risk), rel=1e-12)
    weights = np.random.default_rng(seed).integers(0, 4, size=len(time))
    repeats = np.repeat(np.arange(len(time)), weights)
    repeated = concordance_index(y[repeats], risk[repeats])
    weighted = naive.find_concordance(event, time, risk, weights, weights)
    assert concordance_index(y, risk, sample_weight=weights) == pytest.approx(weighted, rel=1e-12)
    if not ties:  # copies of a row are not comparable with one another
        assert repeated == pytest.approx(weighted, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_unos_concordance_weights_pairs_by_censoring(seed: int) -> None:
    event, time, risk = draw_rows(seed)
    train_event, train_time, _ = draw_rows(seed + 50, n=90)
    remaining = np.array([naive.remain_uncensored(train_event, train_time, t) for t in time])
    tau = float(np.quantile(train_time, 0.7))
    inverse = np.where(event & (time < tau), 1.0 / np.maximum(remaining, 1e-9) ** 2, 0.0)
    expected = naive.find_concordance(event & (time < tau), time, risk, inverse)
    y_train, y = make_survival_target(train_event, train_time), make_survival_target(event, time)
    assert concordance_index_ipcw(y_train, y, risk, tau=tau) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_brier_scores_and_areas_are_their_definitions(seed: int) -> None:
    event, time, risk = draw_rows(seed)
    train = draw_rows(seed + 50, n=90)[:2]
    y_train, y = make_survival_target(*train), make_survival_target(event, time)
    times = np.quantile(time, [0.2, 0.4, 0.6]) + 0.01
    survival = np.random.default_rng(seed).random((len(time), 3))
    expected = [naive.brier_score(train, event, time, s, t) for s, t in zip(survival.T, times, strict=True)]
    np.testing.assert_allclose(brier_scores(y_train, y, survival, times), expected, rtol=1e-12)
    integral = np.trapezoid(expected, times) / (times[-1] - times[0])
    assert integrated_brier_score(y_train, y, survival, times) == pytest.approx(integral, rel=1e-12)
    areas, _ = cumulative_dynamic_auc(y_train, y, risk, times)
    np.testing.assert_allclose(areas, [naive.dynamic_auc(train, event, time, risk, t) for t in times], rtol=1e-12)


def test_survival_is_the_kaplan_meier_estimate() -> None:
    event, time, _ = draw_rows(0)
    curve = estimate_survival(make_survival_target(event, time))
    for t in (0.0, 0.3, 1.0, 2.5, 100.0):
        assert curve(t) == pytest.approx(naive.kaplan_meier(event, time, np.ones(len(time)), t), rel=1e-12)


def test_values_of_scikit_survival() -> None:
    """Computed once by scikit-survival 0.28 on the same rows."""
    index = np.arange(40)
    event, time = index % 3 != 0, 1.0 + (index * 7 % 40) + (index % 4) * 0.5
    risk = -time + 10.0 * np.sin(index)
    y, times = make_survival_target(event, time), np.array([8.0, 15.0, 22.0, 30.0])
    survival = 1.0 / (1.0 + np.exp((times - 20.0 + risk[:, None] / 3.0) / 8.0))
    assert concordance_index(y, risk) == pytest.approx(SCIKIT_SURVIVAL["concordance"], rel=1e-9)
    assert concordance_index_ipcw(y, y, risk, tau=30.0) == pytest.approx(SCIKIT_SURVIVAL["uno"], rel=1e-9)
    assert integrated_brier_score(y, y, survival, times) == pytest.approx(SCIKIT_SURVIVAL["brier"], rel=1e-9)
    areas, mean = cumulative_dynamic_auc(y, y, risk, times)
    np.testing.assert_allclose(areas, SCIKIT_SURVIVAL["areas"], rtol=1e-9)
    assert mean == pytest.approx(SCIKIT_SURVIVAL["mean area"], rel=1e-9)


SCIKIT_SURVIVAL: dict[str, Any] = {
    "concordance": 0.8301075268817204,
    "uno": 0.8438257789604966,
    "brier": 0.1381607679747413,
    "areas": [0.8083540134629541, 0.9278779938301557, 0.9251367490951532, 0.916764002544207],
    "mean area": 0.90682705039916,
}


def test_every_kind_of_target_is_read() -> None:
    event, time, risk = draw_rows(1)
    y = make_survival_target(event, time)
    expected = concordance_index(y, risk)
    swapped = np.array(list(zip(time, event, strict=True)), dtype=[("days", "f4"), ("died", "?")])
    assert concordance_index(swapped, risk) == expected
    assert concordance_index(np.column_stack([event, time]), risk) == expected
    assert concordance_index(time, risk) == concordance_index(make_survival_target(np.ones(60), time), risk)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_target_may_be_a_frame(library: str) -> None:
    make_frame = pytest.importorskip(library).DataFrame
    event, time, risk = draw_rows(1)
    expected = concordance_index(make_survival_target(event, time), risk)
    assert concordance_index(make_frame({"time": time, "died": event}), risk) == expected
    assert concordance_index(make_frame({"time": time, "event": event.astype(int)}), risk) == expected


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "is None"),
        (make_survival_target([1, 1], [-1.0, 2.0]), "at least 0"),
        (make_survival_target([1, 1], [np.nan, 2.0]), "NaN"),
        (np.array([[2.0, 1.0], [0.0, 2.0]]), "True \\(1\\) or False \\(0\\)"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": [0.5, 1.0]}), "columns a, b"),
        (np.zeros(2, dtype=[("a", "f8"), ("b", "f8")]), "fields a, b"),
    ],
)
def test_other_targets_get_a_sentence(y: Any, message: str) -> None:
    with pytest.raises(CommitteeError, match=message):
        concordance_index(y, [1.0, 2.0])


def test_wrong_arguments_get_a_sentence() -> None:
    y = make_survival_target([1, 0, 1], [1.0, 2.0, 3.0])
    with pytest.raises(CommitteeError, match="one risk for each of the 3 rows"):
        concordance_index(y, [1.0])
    with pytest.raises(CommitteeError, match="no comparable pair"):
        concordance_index(make_survival_target([0, 0], [1.0, 2.0]), [1.0, 2.0])
    with pytest.raises(CommitteeError, match="shape \\(n_rows, n_times\\)"):
        brier_scores(y, y, np.ones((3, 1)), [1.0, 2.0])
    with pytest.raises(CommitteeError, match="ascending"):
        brier_scores(y, y, np.ones((3, 2)), [2.0, 1.0])
    with pytest.raises(CommitteeError, match="two times"):
        integrated_brier_score(y, y, np.ones((3, 1)), [2.0])


def test_scorers_serve_searches() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    time, censoring = rng.exponential(np.exp(-2.0 * X[:, 0])), rng.exponential(2.0, size=150)
    y = make_survival_target(time <= censoring, np.minimum(time, censoring))
    forest = RandomSurvivalForest(n_estimators=10, random_state=0, n_jobs=1)
    for scoring in (None, make_scorer(concordance_index), BrierScorer()):
        search = GridSearchCV(forest, {"max_depth": [1, 5]}, scoring=scoring, cv=3).fit(X, y)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > -0.25
