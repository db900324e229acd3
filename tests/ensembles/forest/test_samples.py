"""What a forest makes of groups, classes and weights."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from committee import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor

FORESTS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]


def make_data(n=300):
    return make_classification(n, 8, n_informative=5, n_classes=3, random_state=0)


def test_groups_are_in_or_out_as_a_whole():
    X, y = make_data()
    groups = np.arange(len(X)) // 7
    forest = RandomForestClassifier(40, bootstrap="group", oob_score=True, random_state=0).fit(X, y, groups=groups)
    rows = np.arange(len(X))
    sums, n_votes = np.zeros((len(X), 3)), np.zeros((len(X), 1))
    for member, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.setdiff1d(rows, sample)
        assert not np.intersect1d(groups[sample], groups[out]).size
        sums[out] += member.predict_proba(X[out])
        n_votes[out] += 1
    np.testing.assert_allclose(forest.oob_decision_function_, sums / n_votes, rtol=1e-12)


def test_groups_take_the_leak_out_of_the_score():
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(60, 5)), 8, axis=0), np.repeat(rng.integers(0, 2, 60), 8)
    groups = np.repeat(np.arange(60), 8)
    leaking = RandomForestClassifier(100, oob_score=True, random_state=0).fit(X, y)
    honest = RandomForestClassifier(100, bootstrap="group", oob_score=True, random_state=0).fit(X, y, groups=groups)
    assert leaking.oob_score_ > 0.95
    assert honest.oob_score_ < 0.7


def test_balanced_bootstrap_sees_classes_alike():
    X, y = make_classification(800, 8, weights=[0.95], random_state=0)
    forest = RandomForestClassifier(30, bootstrap="balanced", random_state=0, oob_score=True).fit(X, y)
    for sample in forest.estimators_samples_:
        assert (np.bincount(y[sample]) == np.bincount(y).min()).all()
    plain = RandomForestClassifier(30, random_state=0, oob_score=True).fit(X, y)
    rare = y == 1
    assert forest.oob_decision_function_[rare, 1].mean() > plain.oob_decision_function_[rare, 1].mean()


def test_class_weights():
    X, y = make_classification(600, 8, weights=[0.9], flip_y=0.1, random_state=0)
    held = {}
    for weight in (None, "balanced", "balanced_subsample", {0: 1.0, 1: 9.0}):
        forest = RandomForestClassifier(60, class_weight=weight, max_depth=3, random_state=0).fit(X, y)
        held[str(weight)] = forest.predict_proba(X)[:, 1].mean()
    assert min(held[w] for w in held if w != "None") > held["None"] + 0.1
    whole = ExtraTreesClassifier(20, class_weight="balanced_subsample", random_state=0).fit(X, y)
    same = ExtraTreesClassifier(20, class_weight="balanced", random_state=0).fit(X, y)
    np.testing.assert_array_equal(whole.predict_proba(X), same.predict_proba(X))
    with pytest.warns(UserWarning, match="not recommended for warm_start"):
        RandomForestClassifier(2, class_weight="balanced", warm_start=True).fit(X, y)


def test_balanced_subsample_weighs_by_the_tree_s_own_sample():
    X, y = make_classification(200, 5, weights=[0.8], random_state=1)
    forest = RandomForestClassifier(4, class_weight="balanced_subsample", random_state=0, max_depth=2).fit(X, y)
    for member, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        np.testing.assert_allclose(member.tree_.class_weights[0], len(sample) / 2, rtol=1e-6)


@pytest.mark.parametrize("cls", FORESTS, ids=lambda c: c.__name__)
def test_rows_without_weight_are_absent(cls):
    X, y = make_data()
    weights = np.random.default_rng(0).random(len(X)) * (np.arange(len(X)) % 3 > 0)
    params = {"n_estimators": 40, "bootstrap": True, "oob_score": True, "random_state": 0}
    forest = cls(**params).fit(X, y, sample_weight=weights)
    present = weights > 0
    assert not any((weights[sample] == 0).any() for sample in forest.estimators_samples_)
    other = cls(**params).fit(X[present], y[present], sample_weight=weights[present])
    np.testing.assert_array_equal(forest.predict(X), other.predict(X))
    assert forest.oob_score_ == other.oob_score_


def test_heavy_rows_are_drawn_more_often():
    X, y = make_data()
    weights = np.where(np.arange(len(X)) < 30, 10.7, 1.0)
    forest = RandomForestClassifier(200, max_depth=1, random_state=0).fit(X, y, sample_weight=weights)
    drawn = np.bincount(np.concatenate(forest.estimators_samples_), minlength=len(X))
    assert drawn[:30].mean() / drawn[30:].mean() == pytest.approx(10.7, rel=0.05)
