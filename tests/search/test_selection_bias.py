"""The estimate of the winner's score: honest on noise, and equal to the scorers it replaces."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import get_scorer

from committee import DecisionTreeClassifier
from committee.scoring import KnownProbabilities, KnownValues
from committee.search import IntegerRange, RandomSearch
from committee.search.selection_bias import _call_scorer, _draw_counts, _find_fast, correct_selection


def draw_noise(seed: int, n_rows: int = 120, n_candidates: int = 40) -> tuple[list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    second = rng.random((n_candidates, n_rows))
    return [np.stack([1.0 - own, own], axis=1) for own in second], rng.integers(2, size=n_rows)


@pytest.mark.parametrize("name", ["accuracy", "roc_auc"])
def test_on_noise_the_best_score_is_too_good_and_the_estimate_is_not(name: str) -> None:
    naive, honest, covered = [], [], 0
    for seed in range(8):
        tables, y = draw_noise(seed)
        scorer = get_scorer(name)
        scores = [scorer(KnownProbabilities(np.arange(2), own), np.arange(len(y)), y) for own in tables]
        estimate, (low, high) = correct_selection(tables, y, np.arange(2), (name, scorer), seed=seed)
        naive.append(max(scores))
        honest.append(estimate)
        covered += low <= 0.5 <= high
    assert np.mean(naive) > 0.58
    assert abs(np.mean(honest) - 0.5) < 0.03
    assert covered >= 7


def test_a_search_on_noise_says_so() -> None:
    space = {"min_samples_leaf": IntegerRange(1, 40), "random_state": list(range(99))}
    tree, found = DecisionTreeClassifier(max_features=3, random_state=0), []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(120, 20)), rng.permutation(120) % 2
        found.append(RandomSearch(tree, space, n_candidates=25, cv=3, random_state=seed).fit(X, y))
    naive, honest = (np.mean([getattr(one, name) for one in found]) for name in ("best_score_", "honest_score_"))
    assert naive > 0.57
    assert abs(honest - 0.5) < abs(naive - 0.5) / 2.0
    assert sum(one.honest_interval_[0] <= 0.5 <= one.honest_interval_[1] for one in found) >= 5


@pytest.mark.parametrize("name", ["accuracy", "neg_log_loss", "roc_auc"])
def test_fast_metrics_of_classes_are_those_of_scikit_learn(name: str) -> None:
    tables, y = draw_noise(0, 60, 4)
    tables[0] = np.round(tables[0], 1)  # ties
    tables[0][:, 0] = 1.0 - tables[0][:, 1]
    (counts,) = _draw_counts(60, 5, 1)
    fast = _find_fast(name, tables, y, np.arange(2))
    assert fast is not None
    slow = _call_scorer(get_scorer(name), tables, y, np.arange(2))
    np.testing.assert_allclose(fast(counts), slow(counts), rtol=1e-9)


@pytest.mark.parametrize(
    "name", ["r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error"]
)
def test_fast_metrics_of_values_are_those_of_scikit_learn(name: str) -> None:
    rng = np.random.default_rng(0)
    y, tables = rng.normal(size=50), [rng.normal(size=(50, 1)) for _ in range(3)]
    (counts,) = _draw_counts(50, 4, 2)
    fast = _find_fast(name, tables, y, None)
    assert fast is not None
    slow = _call_scorer(get_scorer(name), tables, y, None)
    np.testing.assert_allclose(fast(counts), slow(counts), rtol=1e-9)


def test_any_other_metric_is_called() -> None:
    tables, y = draw_noise(1, 60, 5)
    estimate, _ = correct_selection(tables, y, np.arange(2), ("f1", get_scorer("f1")), np.full(60, 2.0))
    assert 0.2 < estimate < 0.7
    rng = np.random.default_rng(0)
    known = [KnownValues(rng.normal(size=(40, 1))).values for _ in range(3)]
    scorer = get_scorer("neg_median_absolute_error")
    assert correct_selection(known, rng.normal(size=40), None, (None, scorer))[0] < 0.0
