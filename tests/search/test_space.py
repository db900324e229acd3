"""Spaces, the Parzen estimator, and default spaces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import randint, uniform

import committee
from committee.exceptions import ParameterError
from committee.search import IntegerRange, RealRange, default_space
from committee.search.space import SearchSpace
from committee.search.tpe import TPESampler


def test_ranges_are_even_and_have_their_ends() -> None:
    whole = IntegerRange(3, 6)
    values = [whole.ppf(u) for u in np.linspace(0.0, 1.0, 4001)]
    assert set(values) == {3, 4, 5, 6}
    assert np.bincount(values)[3:].min() > 990
    real = RealRange(0.1, 10.0, log=True)
    assert real.ppf(0.0) == pytest.approx(0.1)
    assert 0.1 <= real.ppf(0.0) < real.ppf(1.0) <= 10.0
    assert real.ppf(0.5) == pytest.approx(1.0)
    assert 1 <= IntegerRange(1, 9, log=True).rvs(np.random.RandomState(0)) <= 9
    assert 0.1 <= real.rvs(np.random.RandomState(0)) <= 10.0


def test_ranges_that_are_none_are_refused() -> None:
    with pytest.raises(ParameterError, match="low < high"):
        IntegerRange(3, 3)
    with pytest.raises(ParameterError, match="low > 0"):
        RealRange(0.0, 1.0, log=True)


def test_distributions_of_scipy_are_taken_by_their_quantiles() -> None:
    space = SearchSpace({"a": uniform(2.0, 4.0), "b": randint(0, 3), "c": [None, "x"]}, "RandomSearch")
    found = space.decode({"a": 0.5, "b": 0.99, "c": 1})
    assert found == {"a": 4.0, "b": 2, "c": "x"}
    assert type(found["a"]) is float


def test_the_parzen_estimator_finds_a_valley_that_chance_misses() -> None:
    space = SearchSpace({"x": RealRange(0.0, 1.0), "y": RealRange(0.0, 1.0), "kind": ["a", "b", "c"]}, "TPESearch")

    def measure(point: dict[str, float]) -> float:
        return -((point["x"] - 0.2) ** 2) - (point["y"] - 0.9) ** 2 - 0.3 * (point["kind"] != 2)

    guided, chance = [], []
    for seed in range(8):
        sampler = TPESampler(space, seed)
        for _ in range(60):
            point = sampler.ask()
            sampler.tell(point, measure(point))
        guided.append(max(measure(dict(point)) for point in sampler.points))
        rng = np.random.default_rng(seed)
        chance.append(max(measure(space.draw_point(rng)) for _ in range(60)))
    assert np.mean(guided) > np.mean(chance) / 3.0  # both negative: at most a third of the distance


def test_a_failed_point_is_a_bad_one() -> None:
    sampler = TPESampler(SearchSpace({"x": [0, 1]}, "TPESearch"), 0)
    for _ in range(40):
        point = sampler.ask()
        sampler.tell(point, np.nan if point["x"] == 0 else 1.0)
    assert np.mean([point["x"] for point in sampler.points[-20:]]) > 0.7


@pytest.mark.parametrize(
    "family", ["GradientBoosting", "HistGradientBoosting", "RandomForest", "ExtraTrees", "Bagging"]
)
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_default_spaces_name_parameters(family: str, kind: str) -> None:
    estimator = getattr(committee, family + kind)()
    assert set(default_space(estimator)) <= set(estimator.get_params())
    space = SearchSpace(default_space(estimator), "RandomSearch")
    rng = np.random.default_rng(0)
    for _ in range(20):
        estimator.set_params(**space.decode(space.draw_point(rng))).validate_params()


def test_a_forest_without_bootstrap_has_no_samples_to_search() -> None:
    assert "max_samples" not in default_space(committee.RandomForestClassifier(bootstrap=False))


def test_growth_is_searched_where_boosting_chooses_it() -> None:
    boosting = committee.GradientBoostingClassifier
    assert default_space(boosting())["growth"] == ["mixed", "leaf"]
    for given in ({"growth": "symmetric"}, {"engine": "gpu"}, {"boosting": "goss"}, {"defaults": "scikit-learn"}):
        assert "growth" not in default_space(boosting(**given))
