"""Rounds that alternate between trees by leaves and symmetric ones, beside their twin in NumPy."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from committee import GradientBoostingClassifier, GradientBoostingRegressor, _core
from committee.engines.gpu.limits import find_obstacle
from committee.exceptions import ParameterError
from committee.losses import LossFunction
from tests.core.test_boosting import bin_table, draw_table, start
from tests.core.test_symmetric_trees import list_splits
from tests.naive import boosting as naive

MIXED: dict[str, Any] = {"mixed": True, "mixed_depth": 4, "max_leaf_nodes": 6}


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("lam", [0.0, 2.5])
def test_trees_are_those_of_the_textbook(missing: float, lam: float) -> None:
    X, y = draw_table(150, 0, missing=missing)
    state = start(X, y, reg_lambda=lam, min_samples_leaf=5, **MIXED)
    state.boost(5)
    tree = {"n_leaves": 6, "depth": 4, "lam": lam, "min_leaf": 5}
    expected = naive.boost(X, lambda f: (f - y, np.ones_like(y)), y.mean(), 5, 0.1, **tree)
    np.testing.assert_allclose(state.scores[:, 0], expected, atol=1e-7)


def test_newton_steps_are_those_of_the_textbook() -> None:
    X, signal = draw_table(120, 1)
    y = (signal > 0.0).astype(float)
    loss = LossFunction("logistic")

    def slopes(scores: NDArray[Any]) -> tuple[Any, Any]:
        gradients, hessians = loss.find_gradients(y, scores[:, None])
        return gradients[:, 0], hessians[:, 0]

    state = start(X, y, "logistic", min_samples_leaf=1, reg_lambda=1.0, min_child_weight=0.0, **MIXED)
    state.boost(4)
    tree = {"n_leaves": 6, "depth": 4, "lam": 1.0, "min_leaf": 1}
    expected = naive.boost(X, slopes, state.find_baseline()[0], 4, 0.1, **tree)
    np.testing.assert_allclose(state.scores[:, 0], expected, atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_have_the_step_of_all_rows(weighted: bool) -> None:
    X, signal = draw_table(400, 2, missing=0.1)
    y = (signal > 0.0).astype(float)
    weights = np.random.default_rng(3).integers(1, 4, len(y)).astype(float) if weighted else None
    loss = LossFunction("logistic")
    state = start(X, y, "logistic", weights=weights, subsample=0.6, reg_lambda=1.5, seed=4, **MIXED)
    for number in range(4):
        gradients, hessians = loss.find_gradients(y, state.scores)
        before = state.scores[:, 0].copy()
        state.boost(1)
        leaves = state.finish(number).apply(X)[:, 0]
        expected = naive.find_steps(leaves, gradients[:, 0], hessians[:, 0], 1.5, weights)
        np.testing.assert_allclose(state.scores[:, 0] - before, 0.1 * expected, atol=1e-7)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_every_second_round_is_symmetric(classes: int) -> None:
    X, signal = draw_table(1500, 7, missing=0.05)
    options: dict[str, Any] = {"n_estimators": 6, "defaults": "tuned", "early_stopping": False, "growth": "mixed"}
    if classes:
        y = np.digitize(signal, [0.0] if classes == 2 else [-0.5, 0.5])
        model: Any = GradientBoostingClassifier(**options, random_state=0).fit(X, y)
    else:
        model = GradientBoostingRegressor(**options, random_state=0).fit(X, signal)
    for number, trees in enumerate(model.estimators_):
        for tree in trees:
            splits = list_splits(tree.tree_)
            if number % 2 == 0:
                assert tree.tree_.n_leaves == 31
                continue
            # No more splits in all than depths, which trees by leaves with so many leaves cannot have.
            assert len(splits) <= 6
            assert len(set().union(*splits)) <= 6


@pytest.mark.parametrize(
    ("params", "depth"), [({}, 6), ({"max_depth": 2}, 2), ({"max_leaf_nodes": 9}, 3), ({"max_leaf_nodes": None}, 6)]
)
def test_limits_that_were_asked_for_are_those_of_symmetric_trees_too(params: dict[str, Any], depth: int) -> None:
    X, y = draw_table(1500, 8)
    model = GradientBoostingRegressor(defaults="tuned", n_estimators=20, early_stopping=False, growth="mixed", **params)
    model.set_params(random_state=0, max_features=None).fit(X, y)
    deepest = max(tree.tree_.max_depth for tree in model.estimators_[1::2, 0])
    assert depth - 1 <= deepest <= depth  # no node may be worth the split of every depth


def test_a_warm_start_goes_on_with_the_other_kind() -> None:
    X, y = draw_table(400, 9)
    options: dict[str, Any] = {"growth": "mixed", "defaults": "tuned", "early_stopping": False, "random_state": 0}
    whole = GradientBoostingRegressor(n_estimators=10, **options).fit(X, y)
    parts = GradientBoostingRegressor(n_estimators=3, warm_start=True, **options).fit(X, y)
    parts.set_params(n_estimators=10).fit(X, y)
    assert (whole.predict(X) == parts.predict(X)).all()


def test_dart_and_staged_predictions_know_both_kinds() -> None:
    X, y = draw_table(400, 10)
    model = GradientBoostingRegressor(n_estimators=12, growth="mixed", boosting="dart", random_state=0).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == 12
    assert (stages[-1] == model.predict(X)).all()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"multi_strategy": "multi_output_tree"}, "no symmetric trees"),
        ({"splitter": "random"}, "draws no thresholds"),
        ({"early_stopping": "oob"}, "no rows out of bag"),
    ],
)
def test_what_does_not_go_with_it_is_refused(other: dict[str, Any], message: str) -> None:
    X, signal = draw_table(200, 8)
    with pytest.raises(ParameterError, match=message):
        GradientBoostingClassifier(growth="mixed", **other).fit(X, np.digitize(signal, [-0.5, 0.5]))


def test_the_gpu_engine_refuses_it_in_a_sentence() -> None:
    X, _ = draw_table(60, 11)
    params = _core.BoostingParams()
    params.mixed = True
    plan = _core.plan_boosting(bin_table(X), None, _core.Loss.make("squared_error", nan, 1, []), params)
    assert "mixed growth" in str(find_obstacle(params, plan, 60))
