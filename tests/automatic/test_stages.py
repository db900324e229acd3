"""Boosting in stages, and the weights of many candidates."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import KFold

from committee import CommitteeClassifier, GradientBoostingClassifier, GradientBoostingRegressor
from committee.automatic.combination import Combination, raise_shares
from committee.automatic.portfolio import list_rounds
from committee.automatic.stages import Course, boost_in_stages
from committee.data.targets import encode_classes
from committee.ensembles.combining.metrics import measure_log_loss
from committee.ensembles.combining.out_of_fold import Candidate
from committee.ensembles.combining.selection import select_greedily, select_likeliest, select_nearest
from committee.ensembles.combining.training_set import TrainingSet


@pytest.mark.parametrize("classify", [True, False])
def test_stages_go_on_while_they_get_better(classify: bool) -> None:
    X, y = (load_breast_cancer if classify else load_diabetes)(return_X_y=True)
    kind = GradientBoostingClassifier if classify else GradientBoostingRegressor
    member = kind(learning_rate=0.3, early_stopping=False, random_state=0, n_jobs=1)
    one = Candidate("boosting", member, "predict_proba" if classify else "predict")
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    classes = [np.arange(2)] if classify else None
    stages = boost_in_stages(one, TrainingSet(X, y), folds, classes, Course([5, 20, 80, 320, 1280]), 1)
    goal = np.eye(2)[y] if classify else y[:, None]
    losses = [
        measure_log_loss(one.answers, goal) if classify else float(((one.answers - goal) ** 2).mean()) for one in stages
    ]
    assert 1 < len(stages) < 5
    assert losses[-1] > 0.997 * losses[-2]
    assert all(later <= 0.997 * earlier for earlier, later in pairwise(losses[:-1]))
    for stage, rounds in zip(stages, [5, 20, 80, 320, 1280], strict=False):
        for (_, test), model in zip(folds, stage.by_fold, strict=True):
            assert model.n_estimators == model.n_estimators_ == rounds
            said = model.predict_proba(X[test]) if classify else model.predict(X[test])[:, None]
            np.testing.assert_array_equal(stage.answers[test], said)


def test_boosting_ends_where_a_rival_is_out_of_reach() -> None:
    rounds = [30, 60, 120]
    assert not Course(rounds, rival=0.01).is_over([0.5])
    assert Course(rounds, rival=0.01).is_over([0.5, 0.4])
    assert not Course(rounds, rival=0.2).is_over([0.5, 0.4])
    assert not Course(rounds, rival=0.01).is_over([0.5, 0.2])
    assert not Course(rounds).is_over([0.5, 0.4])
    assert Course(rounds, deadline=0.0).is_over([0.5])


def test_rounds_are_few_where_trees_are_dear() -> None:
    assert list_rounds(6000, 784, 10)[-1] < 200
    assert list_rounds(10**7, 1000, 100) == [30]
    assert list_rounds(100, 5, 0)[-1] == 960


def test_quick_selections_are_the_slow_one() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        labels = rng.integers(0, 3, size=50)
        goal = np.eye(3)[labels]
        answers = rng.dirichlet(np.ones(3), size=(6, 50)) * 0.7 + 0.3 * goal
        slow = select_greedily(answers, lambda mean, goal=goal: -measure_log_loss(mean, goal), 12, 1)
        quick = select_likeliest(answers[:, np.arange(50), labels], np.full(50, 0.02), 13)
        np.testing.assert_array_equal(quick, slow)
        errors = rng.normal(size=(6, 50)) + 0.3
        slow = select_greedily(errors[:, :, None], lambda mean: -float((mean**2).mean()), 12, 1)
        np.testing.assert_array_equal(select_nearest(errors, np.full(50, 0.02), 13), slow)


def test_means_that_hesitate_are_sharpened() -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(3, 0.7), size=4000)
    labels = np.array([rng.choice(3, p=p) for p in shares])
    hesitant = raise_shares(shares, 1 / 1.5)
    target = encode_classes(labels, "a test")
    jury = Combination(target, None, None, None, "selection", 0)
    assert jury.sharpen(hesitant, np.arange(4000)) == pytest.approx(1.5, abs=0.1)
    assert Combination(target, None, None, "accuracy", "selection", 0).sharpen(hesitant, np.arange(4000)) == 1.0


def test_the_board_tells_the_rounds() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = CommitteeClassifier(n_members=1, random_state=0).fit(X, y)
    board = {row["name"]: row for row in model.leaderboard_}
    assert len(board) == len(model.leaderboard_) == 2
    assert board["boosting"]["rounds"] in list_rounds(*X.shape, 2)
    assert board["prior"]["rounds"] is None
    assert board["boosting"]["weight"] + board["prior"]["weight"] == pytest.approx(1.0)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert 0.5 <= model.power_ <= 2.0
