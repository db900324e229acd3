"""Boosting in stages, and the weights of many candidates."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import KFold

from committee import CommitteeClassifier, GradientBoostingClassifier, GradientBoostingRegressor
from committee.automatic.combination import MemberCombiner, sharpen_probabilities
from committee.automatic.portfolio import list_stages
from committee.automatic.stages import BoostingSchedule, boost_in_stages
from committee.data.targets import encode_classes
from committee.ensembles.combining.metrics import measure_log_loss
from committee.ensembles.combining.out_of_fold import MemberFit
from committee.ensembles.combining.selection import (
    _add_greedily,
    select_by_log_loss,
    select_by_squared_error,
    select_greedily,
)
from committee.ensembles.combining.training_set import TrainingSet


@pytest.mark.parametrize("classify", [True, False])
def test_stages_go_on_while_they_get_better(classify: bool) -> None:
    X, y = (load_breast_cancer if classify else load_diabetes)(return_X_y=True)
    kind = GradientBoostingClassifier if classify else GradientBoostingRegressor
    member = kind(learning_rate=0.3, early_stopping=False, random_state=0, n_jobs=1)
    one = MemberFit("boosting", member, "predict_proba" if classify else "predict")
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    classes = [np.arange(2)] if classify else None
    stages = boost_in_stages(one, TrainingSet(X, y), folds, classes, BoostingSchedule([5, 20, 80, 320, 1280]), 1)
    y_true = np.eye(2)[y] if classify else y[:, None]
    losses = [
        measure_log_loss(one.predictions, y_true) if classify else float(((one.predictions - y_true) ** 2).mean())
        for one in stages
    ]
    assert 1 < len(stages) < 5
    assert losses[-1] > 0.997 * losses[-2]
    assert all(later <= 0.997 * earlier for earlier, later in pairwise(losses[:-1]))
    for stage, rounds in zip(stages, [5, 20, 80, 320, 1280], strict=False):
        for (_, test), model in zip(folds, stage.fold_models, strict=True):
            assert model.n_estimators == model.n_estimators_ == rounds
            predicted = model.predict_proba(X[test]) if classify else model.predict(X[test])[:, None]
            np.testing.assert_array_equal(stage.predictions[test], predicted)


def test_boosting_ends_where_a_rival_is_out_of_reach() -> None:
    rounds = [30, 60, 120]
    assert not BoostingSchedule(rounds, best_loss=0.01).should_stop([0.5])
    assert BoostingSchedule(rounds, best_loss=0.01).should_stop([0.5, 0.4])
    assert not BoostingSchedule(rounds, best_loss=0.2).should_stop([0.5, 0.4])
    assert not BoostingSchedule([*rounds, 240], best_loss=0.01).should_stop([0.5, 0.2])
    # The last stage would bring 0.08 at best.
    assert BoostingSchedule(rounds, best_loss=0.03).should_stop([0.5, 0.2])
    assert not BoostingSchedule(rounds, best_loss=0.05).should_stop([0.5, 0.2])
    assert not BoostingSchedule(rounds).should_stop([0.5, 0.4])
    assert BoostingSchedule(rounds, deadline=0.0).should_stop([0.5])


def test_rounds_are_few_where_trees_are_dear() -> None:
    assert list_stages(6000, 784, 10)[-1] < 200
    assert list_stages(10**7, 1000, 100) == [30]
    assert list_stages(100, 5, 0)[-1] == 960


def test_quick_selections_are_the_slow_one() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        labels = rng.integers(0, 3, size=50)
        y_true = np.eye(3)[labels]
        predictions = rng.dirichlet(np.ones(3), size=(6, 50)) * 0.7 + 0.3 * y_true
        slow = select_greedily(predictions, lambda mean, y_true=y_true: -measure_log_loss(mean, y_true), 12, 1)
        quick = select_by_log_loss(predictions[:, np.arange(50), labels], np.full(50, 0.02), 13)
        np.testing.assert_array_equal(quick, slow)
        # Rows of weight two are two rows each.
        weights = rng.integers(1, 3, size=50)
        likelihood = predictions[:, np.arange(50), labels]
        repeated = np.repeat(likelihood, weights, axis=1)
        np.testing.assert_array_equal(
            select_by_log_loss(likelihood, weights / weights.sum(), 13),
            select_by_log_loss(repeated, np.full(weights.sum(), 1.0 / weights.sum()), 13),
        )
        errors = rng.normal(size=(6, 50)) + 0.3
        slow = select_greedily(errors[:, :, None], lambda mean: -float((mean**2).mean()), 12, 1)
        np.testing.assert_array_equal(select_by_squared_error(errors, np.full(50, 0.02), 13), slow)


@pytest.mark.parametrize("n_rows", [2, 15, 16, 17, 128, 300])
def test_the_core_selects_as_numpy_does(n_rows: int) -> None:
    likelihood = np.random.default_rng(n_rows).uniform(0.01, 1.0, size=(5, n_rows))
    slow = _add_greedily(likelihood, 40, lambda sums, size: np.log(sums / size).mean(axis=1))
    np.testing.assert_array_equal(select_by_log_loss(likelihood, np.full(n_rows, 1.0 / n_rows), 40), slow)


def test_means_that_hesitate_are_sharpened() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.full(3, 0.7), size=4000)
    labels = np.array([rng.choice(3, p=p) for p in probabilities])
    hesitant = sharpen_probabilities(probabilities, 1 / 1.5)
    target = encode_classes(labels, "a test")
    combiner = MemberCombiner(target, None, None, None, "selection", 0)
    assert combiner.fit_power(hesitant, np.arange(4000)) == pytest.approx(1.5, abs=0.1)
    assert MemberCombiner(target, None, None, "accuracy", "selection", 0).fit_power(hesitant, np.arange(4000)) == 1.0


def test_the_board_tells_the_rounds() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = CommitteeClassifier(n_members=1, random_state=0).fit(X, y)
    board = {row["name"]: row for row in model.leaderboard_}
    assert len(board) == len(model.leaderboard_) == 2
    assert board["boosting"]["rounds"] in list_stages(*X.shape, 2)
    assert board["prior"]["rounds"] is None
    assert board["boosting"]["weight"] + board["prior"]["weight"] == pytest.approx(1.0)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert 0.5 <= model.power_ <= 2.0
