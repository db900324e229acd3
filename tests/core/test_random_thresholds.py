"""Boosted trees with random thresholds beside their twin in NumPy, and what no option may change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.exceptions import ParameterError
from committee.losses import LossFunction
from tests.core.test_boosting import draw_table, start
from tests.naive import boosting as naive

RANDOM: dict[str, Any] = {"random_thresholds": True, "seed": 7}


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("lam", [0.0, 2.5])
@pytest.mark.parametrize("n_values", [0, 8])
def test_trees_are_those_of_the_textbook(missing: float, lam: float, n_values: int) -> None:
    X, y = draw_table(150, 0, n_values=n_values, missing=missing)
    state = start(X, y, min_samples_leaf=5, max_leaf_nodes=9, reg_lambda=lam, **RANDOM)
    state.boost(4)
    tree = {"n_leaves": 9, "lam": lam, "min_leaf": 5, "seed": 7}
    expected = naive.boost(X, lambda f: (f - y, np.ones_like(y)), y.mean(), 4, 0.1, **tree)
    np.testing.assert_allclose(state.scores[:, 0], expected, atol=1e-7)


def test_newton_steps_are_those_of_the_textbook() -> None:
    X, signal = draw_table(120, 1)
    y = (signal > 0.0).astype(float)
    loss = LossFunction("logistic")

    def slopes(scores: NDArray[Any]) -> tuple[Any, Any]:
        gradients, hessians = loss.find_gradients(y, scores[:, None])
        return gradients[:, 0], hessians[:, 0]

    options = {"min_samples_leaf": 1, "max_leaf_nodes": 8, "reg_lambda": 1.0, "min_child_weight": 0.0}
    state = start(X, y, "logistic", **options, **RANDOM)
    state.boost(3)
    expected = naive.boost(X, slopes, state.find_baseline()[0], 3, 0.1, n_leaves=8, lam=1.0, min_leaf=1, seed=7)
    np.testing.assert_allclose(state.scores[:, 0], expected, atol=1e-7)


def test_how_many_categories_go_left_is_drawn_of_either_end() -> None:
    """In the order of their means: one to all of four, of the least or of the largest, whichever gains more."""
    codes = np.arange(400) % 4
    y = np.array([0.0, 1.0, 2.0, 10.0])[codes]
    sides = set()
    for seed in range(60):
        state = start(codes[:, None].astype(float), y, levels=[4], max_leaf_nodes=2, random_thresholds=True, seed=seed)
        state.boost(1)
        scores = state.scores[:, 0]
        sides.add(tuple(np.unique(codes[scores > scores.min()]).tolist()))
    # With one or three of an end the split of the largest from the others gains most; with all there is no split.
    assert sides == {(), (3,), (2, 3)}


def test_residuals_that_are_kept_give_the_same_trees() -> None:
    X, y = draw_table(3000, 3, missing=0.1)
    samples = []
    for follows in (True, False):
        state = start(X, y, follow_residuals=follows, **RANDOM)
        state.boost(5)
        samples.append(state.finish().leaf_samples.tolist())
    assert samples[0] == samples[1]


def test_estimators_draw_thresholds() -> None:
    X, y = draw_table(1500, 7, missing=0.05)
    model = GradientBoostingRegressor(n_estimators=60, random_state=0, monotonic_cst=[0, 0, 1, 0])
    models = [clone(model).set_params(splitter=splitter).fit(X, y) for splitter in ("best", "random", "random")]
    found = [model.predict(X) for model in models]
    assert (found[1] == found[2]).all()
    assert (found[0] != found[1]).any()
    assert models[1].score(X, y) > 0.1
    rows = np.zeros((50, 4))
    rows[:, 2] = np.linspace(-3.0, 3.0, 50)
    assert (np.diff(models[1].predict(rows)) >= 0.0).all()


def test_a_warm_start_goes_on_with_the_same_draws() -> None:
    X, y = draw_table(400, 9)
    whole = GradientBoostingRegressor(n_estimators=20, splitter="random", random_state=0).fit(X, y)
    parts = GradientBoostingRegressor(n_estimators=8, splitter="random", random_state=0, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=20).fit(X, y)
    assert (whole.predict(X) == parts.predict(X)).all()


@pytest.mark.parametrize("other", [{"growth": "symmetric"}, {"multi_strategy": "multi_output_tree"}])
def test_what_does_not_go_with_them_is_refused(other: dict[str, Any]) -> None:
    X, signal = draw_table(200, 8)
    with pytest.raises(ParameterError, match="draws no thresholds"):
        GradientBoostingClassifier(splitter="random", **other).fit(X, np.digitize(signal, [-0.5, 0.5]))
