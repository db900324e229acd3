"""Estimates of entropies are as near as the screen of splits takes them to be, and the screen changes no tree."""

import numpy as np
import pytest

from committee._core import testing
from tests.core.growth_cases import Case, compare, draw_weights
from tests.naive.criteria import WORTHS


def score(left: np.ndarray, total: np.ndarray) -> float:
    sides = [[float(k) for k in side] for side in (left, total - left)]
    return sum(WORTHS["entropy"](side, sum(side)) for side in sides)


def draw_counts(rng: np.random.Generator, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Class weights of a node and of its left side: of all sizes, some of them zero."""
    total = np.floor(2.0 ** rng.uniform(0, 31 - np.log2(n_classes), size=n_classes)).astype(np.int64)
    total[rng.random(n_classes) < 0.2] = 0
    total[rng.integers(n_classes)] += 65
    left = np.floor(total * rng.random(n_classes) ** rng.choice([0.1, 1, 10])).astype(np.int64)
    if rng.random() < 0.2:
        left = total * (rng.random(n_classes) < 0.5)  # pure sides
    return left, total


@pytest.mark.parametrize("n_classes", [2, 4, 8, 40])
def test_estimates_are_as_near_as_they_say(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    worst = 0.0
    for _ in range(3000):
        left, total = draw_counts(rng, n_classes)
        fill = [0] * (-n_classes % 4)
        several, several_error, two, two_error = testing.estimate_entropy([*left, *fill], [*total, *fill])
        wanted = score(left, total)
        worst = max(worst, abs(several - wanted) / several_error)
        if n_classes == 2:
            worst = max(worst, abs(two - wanted) / two_error)
    assert worst < 0.9  # the rest is for the roundings of what is compared with it


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("weights", ["none", "integer", "fraction"])
@pytest.mark.parametrize("exact", [False, True])
def test_screened_trees_equal_their_twins(n_classes: int, missing: float, weights: str, exact: bool) -> None:
    # Nodes of every size: larger and smaller than the table of logarithms, sorted and counted.
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(400, 4))
    X[:, 2:] = X[:, 2:].round(1)  # many ties
    noise = rng.normal(size=400)
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 3] + noise, np.linspace(-1, 1, n_classes - 1))
    X[rng.random(X.shape) < missing] = np.nan
    params = {"criterion": "entropy", "max_depth": 5, "exact": exact}
    case = Case(X, labels=y[:, None].astype(np.uint32), weights=draw_weights(rng, weights, 400), params=params)
    assert compare(case) > 20
