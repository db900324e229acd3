"""No leak: with labels that are pure noise, every way of combining members is at chance on rows it has not seen.

Members that copy their training rows (one neighbour, full trees) would make a leaking combination look perfect to
itself; its own out-of-fold estimate, if it has one, must be at chance as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from committee import (
    CommitteeClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    SuperLearnerClassifier,
    SuperLearnerRegressor,
    VotingClassifier,
    VotingRegressor,
)

N = 240
RNG = np.random.default_rng(20)
X = RNG.normal(size=(3 * N, 4))
Y = RNG.integers(0, 2, size=3 * N)
V = RNG.normal(size=3 * N)
GROUPS = np.arange(3 * N) // 3

COPIES = [
    ("copy", KNeighborsClassifier(1)),
    ("tree", DecisionTreeClassifier()),
    ("forest", RandomForestClassifier(20)),
    ("extra", ExtraTreesClassifier(10, bootstrap=True)),
    ("nb", GaussianNB()),
]
LAYER = [("nb", GaussianNB()), ("forest", RandomForestClassifier(10))]
VALUES = [
    ("copy", KNeighborsRegressor(1)),
    ("tree", DecisionTreeRegressor()),
    ("forest", RandomForestRegressor(20)),
]
CLASS_WAYS: dict[str, Any] = {
    "hard vote": VotingClassifier(COPIES, random_state=0),
    "learned vote": VotingClassifier(COPIES, voting="soft", weights="learned", random_state=0),
    "learned hard vote": VotingClassifier(COPIES, weights="learned", random_state=0),
    "folds": StackingClassifier(COPIES, random_state=0),
    "repeated folds": StackingClassifier(
        COPIES, cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0), random_state=0
    ),
    "folds by time": StackingClassifier(COPIES, cv=TimeSeriesSplit(4), random_state=0),
    "classes": StackingClassifier(COPIES, stack_method="predict", random_state=0),
    "passthrough": StackingClassifier(COPIES, passthrough=True, random_state=0),
    "out of bag": StackingClassifier(COPIES, cv="oob", random_state=0),
    "out of bag, passthrough": StackingClassifier(COPIES, cv="oob", passthrough=True, random_state=0),
    "kept folds": StackingClassifier(COPIES, refit=False, random_state=0),
    "layers": StackingClassifier(COPIES, layers=[LAYER], random_state=0),
    "layers out of bag": StackingClassifier(COPIES, "mean", cv="oob", layers=[LAYER], random_state=0),
    "convex meta": StackingClassifier(COPIES, "nonnegative", random_state=0),
    "convex meta, out of bag": StackingClassifier(COPIES, "nonnegative", cv="oob", random_state=0),
    "layers by time, kept": StackingClassifier(
        COPIES, layers=[LAYER], cv=TimeSeriesSplit(3), refit=False, random_state=0
    ),
    "super learner": SuperLearnerClassifier(COPIES, random_state=0),
    "super learner, kept folds": SuperLearnerClassifier(COPIES, refit=False, random_state=0),
    "super learner, out of bag": SuperLearnerClassifier(COPIES, cv="oob", random_state=0),
    "selection": EnsembleSelectionClassifier(COPIES, n_rounds=10, n_bags=3, random_state=0),
    "selection, kept folds": EnsembleSelectionClassifier(COPIES, n_rounds=5, n_bags=2, refit=False, random_state=0),
    "selection, out of bag": EnsembleSelectionClassifier(
        COPIES, cv="oob", metric="accuracy", n_rounds=5, n_bags=2, random_state=0
    ),
}
VALUE_WAYS: dict[str, Any] = {
    "learned vote": VotingRegressor(VALUES, weights="learned", random_state=0),
    "folds": StackingRegressor(VALUES, random_state=0),
    "out of bag": StackingRegressor(VALUES, cv="oob", random_state=0),
    "kept folds": StackingRegressor(VALUES, refit=False, cv=KFold(3), random_state=0),
    "layers": StackingRegressor(VALUES, layers=[VALUES[1:]], random_state=0),
    "super learner": SuperLearnerRegressor(VALUES, random_state=0),
    "super learner, out of bag": SuperLearnerRegressor(VALUES, cv="oob", random_state=0),
    "selection": EnsembleSelectionRegressor(VALUES, n_rounds=10, n_bags=3, random_state=0),
}


@pytest.mark.parametrize("way", CLASS_WAYS)
def test_noise_is_not_learnt(way: str) -> None:
    model = CLASS_WAYS[way].fit(X[:N], Y[:N])
    found = model.score(X[N:], Y[N:])
    # 480 fresh rows: chance is 0.5 with a standard error of 0.023.
    assert abs(found - 0.5) < 0.08


@pytest.mark.parametrize("way", VALUE_WAYS)
def test_noisy_values_are_not_learnt(way: str) -> None:
    assert VALUE_WAYS[way].fit(X[:N], V[:N]).score(X[N:], V[N:]) < 0.05


@pytest.mark.parametrize("way", ["folds", "out of bag", "kept folds", "layers", "passthrough", "classes"])
def test_the_meta_model_sees_nothing_in_noise(way: str) -> None:
    # Answers that leak would let the meta-model fit its own rows nearly perfectly, as copying members can.
    model = CLASS_WAYS[way]
    training, _ = model._fit_stack(X[:N], Y[:N], None, None, {})
    assert (model.final_estimator_.predict(training.X) == training.y).mean() < 0.65


@pytest.mark.parametrize("way", ["super learner", "super learner, out of bag"])
def test_cross_validated_risks_are_at_chance(way: str) -> None:
    model = CLASS_WAYS[way].fit(X[:N], Y[:N])
    assert min(model.cv_risks_.values()) > np.log(2) - 0.03
    assert model.cv_risk_ > np.log(2) - 0.03


def test_groups_that_share_a_label_are_not_recognised() -> None:
    rng = np.random.default_rng(0)
    people = rng.permutation(np.repeat(np.arange(60), 4))
    table = rng.normal(size=(60, 4))[people]
    labels = rng.integers(0, 2, size=60)[people]
    bags = [("forest", RandomForestClassifier(20, bootstrap="group")), ("copy", KNeighborsClassifier(1))]
    for model in (
        StackingClassifier(COPIES, random_state=0),
        StackingClassifier(bags, cv="oob", random_state=0),
        SuperLearnerClassifier(COPIES, random_state=0),
        VotingClassifier(COPIES, voting="soft", weights="learned", random_state=0),
        CommitteeClassifier(n_members=4, random_state=0),
    ):
        if isinstance(model, SuperLearnerClassifier):
            assert model.fit(table, labels, groups=people).cv_risk_ > np.log(2) - 0.1
            continue
        if isinstance(model, CommitteeClassifier):
            assert -model.fit(table, labels, groups=people).score_estimate_ > np.log(2) - 0.1
            continue
        if isinstance(model, VotingClassifier):
            # The copy knows every label within a group, and would be all that counts.
            assert model.fit(table, labels, groups=people).weights_[0] < 0.7
            continue
        # A meta-model that fits its own 60 people gets two thirds right by luck; one that recognised them, all.
        training, _ = model._fit_stack(table, labels, None, people, {})
        assert (model.final_estimator_.predict(training.X) == training.y).mean() < 0.8
