"""Diversity: measures by their definitions, row by row, and on ensembles of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef
from sklearn.naive_bayes import GaussianNB

from committee import (
    BaggingClassifier,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    measure_diversity,
)
from committee.exceptions import ParameterTypeError

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["a", "b", "c"])[Y]


def draw(seed: int, n_members: int = 4) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, size=80)
    said = {
        f"m{k}": np.where(rng.random(80) < rng.uniform(0.5, 0.9), truth, rng.integers(0, 3, size=80))
        for k in range(n_members)
    }
    return said, truth


@pytest.mark.parametrize("seed", range(3))
def test_measures_are_those_of_the_definitions(seed: int) -> None:
    said, truth = draw(seed)
    found = measure_diversity(said, None, truth)
    for i, a in enumerate(said.values()):
        np.testing.assert_allclose(found.errors[i], (a != truth).mean())
        for j, b in enumerate(said.values()):
            right, also = a == truth, b == truth
            n11, n10 = (right & also).mean(), (right & ~also).mean()
            n01, n00 = (~right & also).mean(), (~right & ~also).mean()
            np.testing.assert_allclose(found.disagreement[i, j], n10 + n01, atol=1e-12)
            np.testing.assert_allclose(found.double_fault[i, j], n00, atol=1e-12)
            np.testing.assert_allclose(found.q_statistic[i, j], (n11 * n00 - n01 * n10) / (n11 * n00 + n01 * n10))
            np.testing.assert_allclose(found.correlation[i, j], matthews_corrcoef(right, also))
            np.testing.assert_allclose(found.kappa[i, j], cohen_kappa_score(a, b))
    kappa, error = found.kappa_error()
    assert len(kappa) == len(error) == len(found.pairs) == 6
    np.testing.assert_allclose(error[0], found.errors[:2].mean())
    np.testing.assert_allclose(found.average("kappa"), kappa.mean())


def test_weights_are_repetitions() -> None:
    said, truth = draw(0)
    counts = np.random.default_rng(1).integers(0, 3, size=80)
    weighted = measure_diversity(said, None, truth, sample_weight=counts)
    repeated = measure_diversity({n: np.repeat(s, counts) for n, s in said.items()}, None, np.repeat(truth, counts))
    np.testing.assert_allclose(weighted.kappa, repeated.kappa)
    np.testing.assert_allclose(weighted.q_statistic, repeated.q_statistic)


def test_ambiguity_is_the_gain_of_the_mean() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=50)
    said = {f"m{k}": truth + rng.normal(size=50) for k in range(5)}
    found = measure_diversity(said, None, truth)
    mean = np.mean(list(said.values()), axis=0)
    np.testing.assert_allclose(found.errors.mean() - found.ambiguity, ((mean - truth) ** 2).mean())
    np.testing.assert_allclose(found.correlation, np.corrcoef([s - truth for s in said.values()]))
    assert found.kappa is None
    with pytest.raises(ValueError, match="about classes"):
        found.kappa_error()


def test_ensembles_of_every_kind() -> None:
    vote = VotingClassifier([("lr", LogisticRegression(max_iter=500)), ("nb", GaussianNB())]).fit(X, NAMES)
    found = measure_diversity(vote, X, NAMES)
    assert found.names == ["lr", "nb"]
    assert found.errors.max() < 0.1
    bag = BaggingClassifier(n_estimators=5, max_features=2, random_state=0).fit(X, NAMES)
    forest = RandomForestClassifier(5, random_state=0).fit(X, NAMES)
    for ensemble in (bag, forest):
        measured = measure_diversity(ensemble, X, NAMES)
        assert len(measured.names) == 5
        assert measured.errors.max() < 0.3
    values = RandomForestRegressor(5, random_state=0).fit(X[:, :3], X[:, 3])
    assert measure_diversity(values, X[:, :3], X[:, 3]).ambiguity > 0
    alone = measure_diversity([DecisionTreeClassifier(max_depth=1).fit(X, Y)], X, Y)
    assert alone.errors.shape == (1,)


def test_random_features_make_trees_diverse() -> None:
    alike = BaggingClassifier(n_estimators=15, random_state=0).fit(X[::2], Y[::2])
    unlike = RandomForestClassifier(15, max_features=1, random_state=0).fit(X[::2], Y[::2])
    kappas = [measure_diversity(ensemble, X[1::2], Y[1::2]).average("kappa") for ensemble in (alike, unlike)]
    assert kappas[1] < kappas[0]


def test_what_cannot_be_compared() -> None:
    for members, truth in (({}, [0, 1]), ([], [0, 1]), ({"a": [0, 1, 1]}, [0, 1]), ({"a": [0]}, [[0]])):
        with pytest.raises(ValueError, match=r"no predictions|no members|shape"):
            measure_diversity(members, None, truth)


def test_members_without_predictions_are_refused() -> None:
    table, classes = np.arange(20.0)[:, None], np.arange(20) % 2
    boosted = GradientBoostingClassifier(n_estimators=2).fit(table, classes)
    for members in (LogisticRegression().fit(table, classes), boosted, 3, ["a"]):
        with pytest.raises(ParameterTypeError, match=f"members.*got {type(members).__name__}"):
            measure_diversity(members, table, classes)
