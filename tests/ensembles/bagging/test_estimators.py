"""Bags of this library's trees: what members see, out-of-bag votes, early stopping, refusals."""

import pickle
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.datasets import load_diabetes, make_classification, make_moons
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, roc_auc_score

from committee import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionStumpClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
)
from committee.data import take_in
from tests.naive.bagging import average_members, vote_out_of_bag


def make_classes(n=200, n_classes=3, seed=0):
    return make_classification(n, 6, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=seed)


def make_values(n=200):
    X, y = load_diabetes(return_X_y=True)
    return X[:n], y[:n]


# --- B1 to B5: which rows and features a member gets -----------------------------------------------------------


def count_samples(bag, n_rows):
    return np.stack([np.bincount(rows, minlength=n_rows) for rows in bag.estimators_samples_])


def test_bagging_draws_all_rows_with_replacement():
    X, y = make_classes()
    counts = count_samples(BaggingClassifier(n_estimators=50, random_state=0).fit(X, y), 200)
    assert (counts.sum(axis=1) == 200).all()
    assert counts.max() > 1
    assert len({tuple(c) for c in counts}) == 50


def test_a_bootstrap_sample_holds_two_thirds_of_the_rows():
    # R13: 1 - (1 - 1/n)^n distinct rows; each row is in a sample with that chance.
    X, y = make_classes(1000)
    bag = BaggingClassifier(DecisionStumpClassifier(), n_estimators=400, random_state=1).fit(X, y)
    counts = count_samples(bag, 1000)
    distinct = (counts > 0).mean(axis=1)
    assert distinct.mean() == pytest.approx(1 - (1 - 1 / 1000) ** 1000, abs=0.002)
    # Draws are Poisson-like: the variance of a count is 1 - 1/n.
    assert counts.var() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    ("options", "n_drawn"),
    [
        ({"bootstrap": False, "max_samples": 50}, 50),
        ({"bootstrap": False, "max_samples": 0.3}, 60),
        ({"bootstrap": "subagging"}, 100),
        ({"bootstrap": "subagging", "max_samples": 0.25}, 50),
        ({"bootstrap": False}, 200),
    ],
)
def test_pasting_and_subagging_draw_without_replacement(options, n_drawn):
    X, y = make_values()
    counts = count_samples(BaggingRegressor(n_estimators=20, random_state=0, **options).fit(X, y), 200)
    assert set(np.unique(counts)) <= {0, 1}
    assert (counts.sum(axis=1) == n_drawn).all()
    if n_drawn < 200:
        assert len({tuple(c) for c in counts}) == 20


@pytest.mark.parametrize(("max_features", "n_drawn"), [(2, 2), (0.5, 3), (0.01, 1)])
def test_subspaces_draw_features_only(max_features, n_drawn):
    X, y = make_classes()
    bag = BaggingClassifier(n_estimators=40, bootstrap=False, max_features=max_features, random_state=0).fit(X, y)
    features = bag.estimators_features_
    assert all(len(own) == n_drawn == len(set(own.tolist())) for own in features)
    assert all(rows.tolist() == list(range(200)) for rows in bag.estimators_samples_)
    assert len({tuple(own) for own in features}) > 4
    assert set(np.concatenate(features)) == set(range(6))
    for member, own in zip(bag.estimators_, features, strict=True):
        assert member.n_features_in_ == len(own)
        assert set(member.tree_.feature[member.tree_.feature >= 0]) <= set(range(len(own)))


def test_patches_draw_rows_and_features():
    X, y = make_classes()
    bag = BaggingClassifier(n_estimators=30, max_samples=80, max_features=4, random_state=0).fit(X, y)
    assert (count_samples(bag, 200).sum(axis=1) == 80).all()
    assert all(len(own) == 4 for own in bag.estimators_features_)
    np.testing.assert_allclose(
        bag.predict_proba(X), average_members(bag.estimators_, bag.estimators_features_, X), rtol=1e-12
    )


def test_features_with_replacement_are_seen_once():
    X, y = make_classes()
    bag = BaggingClassifier(n_estimators=200, bootstrap_features=True, random_state=0).fit(X, y)
    sizes = [len(own) for own in bag.estimators_features_]
    assert np.mean(sizes) / 6 == pytest.approx(1 - (1 - 1 / 6) ** 6, abs=0.05)


def test_balanced_stratified_and_group_samples():
    X, y = make_classes(300)
    y = np.where(np.arange(300) < 30, "rare", np.where(y == 0, "a", "b"))
    sizes = {label: int((y == label).sum()) for label in np.unique(y)}
    balanced = BaggingClassifier(n_estimators=10, bootstrap="balanced", random_state=0).fit(X, y)
    assert all(
        np.unique(y[rows], return_counts=True)[1].tolist() == [30, 30, 30] for rows in balanced.estimators_samples_
    )
    stratified = BaggingClassifier(n_estimators=10, bootstrap="stratified", random_state=0).fit(X, y)
    for rows in stratified.estimators_samples_:
        assert dict(zip(*np.unique(y[rows], return_counts=True), strict=True)) == sizes
    groups = np.repeat(np.arange(60), 5)
    by_group = BaggingClassifier(n_estimators=60, bootstrap="group", oob_score=True, random_state=0).fit(
        X, y, groups=groups
    )
    counts = count_samples(by_group, 300).reshape(60, 60, 5)
    assert (counts == counts[:, :, :1]).all()
    assert (counts[:, :, 0].sum(axis=1) == 60).all()


def test_groups_keep_the_out_of_bag_score_honest():
    # Each group has one label and one place; with rows drawn singly, siblings give the label away.
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(50, 4)), 6, axis=0) + 0.01 * rng.normal(size=(300, 4))
    y, groups = np.repeat(rng.integers(2, size=50), 6), np.repeat(np.arange(50), 6)
    options = {"n_estimators": 80, "oob_score": True, "random_state": 0}
    naive = BaggingClassifier(**options).fit(X, y)
    honest = BaggingClassifier(bootstrap="group", **options).fit(X, y, groups=groups)
    assert naive.oob_score_ > 0.95
    assert honest.oob_score_ < 0.7


# --- shared bins and the generic path --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tree", [DecisionTreeClassifier(max_depth=4), ExtraTreeClassifier(), DecisionStumpClassifier()]
)
def test_members_are_the_trees_that_their_counts_give(tree):
    X, y = make_classes()
    bag = BaggingClassifier(tree, n_estimators=8, random_state=3).fit(X, y)
    dataset = take_in(bag, X, y, task="classify")
    counts = count_samples(bag, 200).astype(float)
    for k, member in enumerate(bag.estimators_):
        alone = type(tree)(**tree.get_params()).fit_dataset(dataset, counts[k], seed=3, tree=k)
        np.testing.assert_array_equal(member.predict_proba(X), alone.predict_proba(X))
        np.testing.assert_array_equal(member.tree_.n_node_samples, alone.tree_.n_node_samples)


class TieTree(DecisionTreeClassifier):
    """A tree in which equal splits go to the lowest feature, whatever the seed."""

    _fixed = MappingProxyType({"shuffle_ties": False})


class PlainTree(TieTree):
    """A tree that reads its table by itself, as any estimator from elsewhere."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("options", [{}, {"max_features": 3}, {"bootstrap": False, "max_samples": 150}])
def test_shared_bins_and_tables_of_their_own_give_the_same_members(options):
    # Few values, all of them in every sample: bins are then the same in any part of the table.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(200, 5)).astype(float)
    y = (X.sum(axis=1) + rng.normal(size=200) > 7.5).astype(int)
    shared = BaggingClassifier(TieTree(), 12, random_state=0, oob_score=True, **options).fit(X, y)
    alone = BaggingClassifier(PlainTree(), 12, random_state=0, oob_score=True, **options).fit(X, y)
    assert isinstance(alone.estimators_, list)
    for a, b, own in zip(shared.estimators_, alone.estimators_, shared.estimators_features_, strict=True):
        np.testing.assert_array_equal(a.predict_proba(X[:, own]), b.predict_proba(X[:, own]))
    np.testing.assert_allclose(shared.predict_proba(X), alone.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(shared.oob_decision_function_, alone.oob_decision_function_, rtol=1e-12)
    assert shared.oob_score_ == alone.oob_score_


@pytest.mark.parametrize("max_features", [1.0, 3])
def test_the_bag_is_the_mean_of_its_members(max_features):
    X, y = make_classes()
    bag = BaggingClassifier(n_estimators=15, max_features=max_features, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        bag.predict_proba(X), average_members(bag.estimators_, bag.estimators_features_, X), rtol=1e-12
    )
    Xr, yr = make_values()
    bag = BaggingRegressor(n_estimators=15, max_features=max_features, random_state=0).fit(Xr, yr)
    np.testing.assert_allclose(bag.predict(Xr), average_members(bag.estimators_, bag.estimators_features_, Xr))


@pytest.mark.parametrize("estimator", [None, PlainTree()])
def test_the_same_bytes_for_any_number_of_jobs(estimator):
    X, y = make_classes(300)
    options = {"n_estimators": 12, "max_samples": 0.8, "max_features": 4, "oob_score": True, "random_state": 0}
    predictions = set()
    for n_jobs, backend in ((1, "loky"), (2, "loky"), (5, "threading")):
        with parallel_config(backend=backend):
            bag = BaggingClassifier(estimator, n_jobs=n_jobs, **options).fit(X, y)
            predictions.add((bag.predict_proba(X).tobytes(), bag.oob_decision_function_.tobytes(), bag.oob_score_))
    assert len(predictions) == 1


def test_class_weights_of_a_tree_count_in_each_sample():
    X, y = make_classes(400, n_classes=2)
    y = np.where((y == 1) & (np.arange(400) % 4 == 0), 1, 0)
    for class_weight in ("balanced", {0: 1.0, 1: 8.0}):
        shared = BaggingClassifier(DecisionTreeClassifier(max_depth=3, class_weight=class_weight), 5, random_state=0)
        alone = BaggingClassifier(PlainTree(max_depth=3, class_weight=class_weight), 5, random_state=0)
        X4 = np.round(X).clip(-1, 1)
        np.testing.assert_allclose(shared.fit(X4, y).predict_proba(X4), alone.fit(X4, y).predict_proba(X4), rtol=1e-12)


# --- B6: out-of-bag ---------------------------------------------------------------------------------------------


def test_out_of_bag_is_a_naive_recomputation():
    X, y = make_classes(60)
    bag = BaggingClassifier(n_estimators=25, max_features=4, oob_score=True, random_state=0).fit(X, y)
    naive = vote_out_of_bag(list(bag.estimators_), bag.estimators_samples_, bag.estimators_features_, X)
    np.testing.assert_allclose(bag.oob_decision_function_, naive, rtol=1e-12)
    assert bag.oob_score_ == np.mean(naive.argmax(axis=1) == y)
    Xr, yr = make_values(60)
    bag = BaggingRegressor(n_estimators=25, bootstrap="subagging", oob_score=True, random_state=0).fit(Xr, yr)
    naive = vote_out_of_bag(list(bag.estimators_), bag.estimators_samples_, bag.estimators_features_, Xr)
    np.testing.assert_allclose(bag.oob_prediction_, naive, rtol=1e-12)
    assert bag.oob_score_ == pytest.approx(1 - np.mean((yr - naive) ** 2) / yr.var())


def test_out_of_bag_by_any_metric():
    X, y = make_classes(n_classes=2)
    y = np.where(y == 1, "yes", "no")
    options = {"n_estimators": 60, "random_state": 0}
    by_name = BaggingClassifier(oob_score="roc_auc", **options).fit(X, y)
    assert by_name.oob_score_ == pytest.approx(roc_auc_score(y, by_name.oob_decision_function_[:, 1]))
    by_loss = BaggingClassifier(DecisionTreeClassifier(min_samples_leaf=5), oob_score="neg_log_loss", **options)
    by_loss.fit(X, y)
    assert by_loss.oob_score_ == pytest.approx(-log_loss(y, by_loss.oob_decision_function_))
    by_function = BaggingClassifier(oob_score=accuracy_score, **options).fit(X, y)
    assert by_function.oob_score_ == BaggingClassifier(oob_score=True, **options).fit(X, y).oob_score_
    Xr, yr = make_values()
    values = BaggingRegressor(oob_score="neg_mean_absolute_error", **options).fit(Xr, yr)
    assert values.oob_score_ == pytest.approx(-mean_absolute_error(yr, values.oob_prediction_))
    with pytest.raises(ValueError, match="get_scorer_names"):
        BaggingClassifier(oob_score="niceness").fit(X, y)


@pytest.mark.parametrize("estimator", [None, PlainTree()])
def test_the_trace_ends_with_the_score_and_begins_like_a_smaller_bag(estimator):
    X, y = make_classes()
    bag = BaggingClassifier(estimator, 30, oob_score=True, random_state=0).fit(X, y)
    assert bag.oob_trace_.n_estimators[-1] == 30
    assert bag.oob_trace_.score[-1] == bag.oob_score_
    at = bag.oob_trace_.n_estimators.tolist().index(15)
    smaller = BaggingClassifier(estimator, 15, oob_score=True, random_state=0).fit(X, y)
    assert bag.oob_trace_.score[at] == smaller.oob_score_


@pytest.mark.parametrize("estimator", [None, PlainTree()])
def test_growing_stops_when_the_score_stands_still(estimator):
    X, y = make_classes(n_classes=2)
    bag = BaggingClassifier(estimator, 300, oob_score=True, oob_patience=15, oob_tol=0.005, random_state=0).fit(X, y)
    n_members = len(bag.estimators_)
    assert 15 < n_members < 300
    scores, sizes = bag.oob_trace_.score, bag.oob_trace_.n_estimators
    assert sizes[-1] == n_members
    # Nothing in the last stretch was better than what was there before it.
    assert scores[sizes > n_members - 15].max() <= scores[sizes <= n_members - 15].max() + 0.005
    plain = BaggingClassifier(estimator, n_members, oob_score=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(X), bag.predict_proba(X))
    assert plain.oob_score_ == bag.oob_score_


def test_rows_in_every_sample_are_warned_about():
    X, y = make_classes()
    with pytest.warns(UserWarning, match="do not have OOB scores"):
        bag = BaggingClassifier(n_estimators=2, oob_score=True, random_state=0).fit(X, y)
    assert np.isnan(bag.oob_decision_function_).any()


# --- warm start, failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [None, PlainTree()])
def test_a_warm_start_adds_members(estimator):
    X, y = make_classes()
    bag = BaggingClassifier(estimator, 6, warm_start=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="OOB"):
        bag.fit(X, y)
    first = bag.estimators_[0].predict_proba(X)
    bag.set_params(n_estimators=20).fit(X, y)
    whole = BaggingClassifier(estimator, 20, oob_score=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(bag.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(bag.estimators_[0].predict_proba(X), first)
    assert bag.oob_score_ == whole.oob_score_
    with pytest.warns(UserWarning, match="without increasing n_estimators"):
        bag.fit(X, y)
    with pytest.raises(ValueError, match="must be larger or equal to len"):
        bag.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="other rows, features or classes"):
        bag.set_params(n_estimators=30).fit(X[:50], y[:50])


class Interrupting(DecisionTreeClassifier):
    calls = 0

    def fit(self, X, y, sample_weight=None):
        type(self).calls += 1
        if type(self).calls > 6:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


def test_an_interrupted_bag_keeps_its_old_members():
    X, y = make_classes()
    bag = BaggingClassifier(Interrupting(), 4, random_state=0).fit(X, y)
    before, predictions = dict(vars(bag)), bag.predict_proba(X)
    with pytest.raises(KeyboardInterrupt):
        bag.fit(X[:100], y[:100])
    assert vars(bag) == before
    np.testing.assert_array_equal(bag.predict_proba(X), predictions)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"estimator": 3}, "The 'estimator' parameter of BaggingClassifier must be an object with the methods fit"),
        ({"estimator": DecisionTreeRegressor()}, "must be a classifier; got DecisionTreeRegressor."),
        ({"n_estimators": 0}, "The 'n_estimators' parameter of BaggingClassifier must be an int >= 1; got 0."),
        ({"max_features": 7}, "must be at most the 6 features of X; got 7."),
        ({"max_features": 0.0}, "The 'max_features' parameter of BaggingClassifier must be"),
        ({"bootstrap": "some"}, "'subagging', 'balanced', 'stratified' or 'group'; got 'some'."),
        ({"bootstrap": False, "max_samples": 300}, "must be at most the 200 there are"),
        ({"bootstrap": False, "oob_score": True}, "Out of bag estimation only available if bootstrap=True"),
        ({"oob_patience": 5}, "needs an out-of-bag score: set 'oob_score'."),
        ({"bootstrap": "group"}, "needs groups, passed to fit"),
        ({"estimator": DecisionTreeClassifier(max_depth=-1)}, "The 'max_depth' parameter of DecisionTreeClassifier"),
    ],
)
def test_bad_wishes_are_refused_with_a_sentence(options, sentence):
    X, y = make_classes()
    with pytest.raises((ValueError, TypeError)) as caught:
        BaggingClassifier(**options).fit(X, y)
    assert sentence in str(caught.value)


def test_numbers_have_no_classes_to_balance():
    X, y = make_values()
    with pytest.raises((ValueError, TypeError), match="'bootstrap' parameter of BaggingRegressor"):
        BaggingRegressor(bootstrap="balanced").fit(X, y)


# --- tables of every kind -------------------------------------------------------------------------------------


def test_missing_values_categories_and_sparse_tables():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=300), "color": pd.Categorical(rng.choice(list("rgb"), 300))})
    frame.loc[::7, "size"] = np.nan
    y = np.where((frame["color"] == "g") ^ frame["size"].isna(), "yes", "no")
    bag = BaggingClassifier(n_estimators=20, oob_score=True, random_state=0).fit(frame, y)
    assert bag.oob_score_ > 0.95
    assert list(bag.feature_names_in_) == ["size", "color"]
    X, labels = make_classes()
    X[np.abs(X) < 0.5] = 0.0
    dense = BaggingClassifier(n_estimators=12, oob_score=True, random_state=0).fit(X, labels)
    for form in (sparse.csr_matrix, sparse.csc_array):
        other = BaggingClassifier(n_estimators=12, oob_score=True, random_state=0).fit(form(X), labels)
        np.testing.assert_array_equal(other.predict_proba(form(X)), dense.predict_proba(X))
        assert other.oob_score_ == dense.oob_score_


def test_several_outputs():
    X, y = make_classes()
    Y = np.stack([y, (X[:, 0] > 0).astype(int)], axis=1)
    for estimator in (None, PlainTree()):
        bag = BaggingClassifier(estimator, 25, oob_score=True, random_state=0).fit(X, Y)
        probabilities = bag.predict_proba(X)
        assert [output.shape for output in probabilities] == [(200, 3), (200, 2)]
        assert bag.predict(X).shape == (200, 2)
        assert (bag.predict(X) == Y).mean() > 0.95
        assert 0.4 < bag.oob_score_ < 1.0
        np.testing.assert_allclose(np.exp(bag.predict_log_proba(X)[1]), probabilities[1])
    Xr, yr = make_values()
    values = BaggingRegressor(n_estimators=25, oob_score=True, random_state=0).fit(Xr, np.stack([yr, -yr], axis=1))
    assert values.oob_prediction_.shape == (200, 2)
    np.testing.assert_allclose(values.predict(Xr)[:, 0], -values.predict(Xr)[:, 1])


def test_a_pickled_bag_draws_the_same_samples():
    X, y = make_classes()
    bag = BaggingClassifier(n_estimators=5, max_features=3, random_state=0).fit(X, y)
    twin = pickle.loads(pickle.dumps(bag))
    for a, b in zip(bag.estimators_samples_, twin.estimators_samples_, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(twin.predict_proba(X), bag.predict_proba(X))
    assert len(pickle.dumps(bag)) < 40_000


def test_weights_are_chances_or_go_to_the_members():
    X, y = make_moons(300, noise=0.3, random_state=0)
    weights = np.where(np.arange(300) < 150, 0.0, np.where(np.arange(300) < 200, 3.0, 1.0))
    drawn = count_samples(BaggingClassifier(n_estimators=100, random_state=0).fit(X, y, weights), 300)
    assert drawn[:, :150].sum() == 0
    assert drawn[:, 150:200].mean() / drawn[:, 200:].mean() == pytest.approx(3.0, rel=0.05)
    pasted = BaggingClassifier(n_estimators=5, bootstrap=False, random_state=0).fit(X, y, weights)
    alone = DecisionTreeClassifier(random_state=0).fit(X, y, weights)
    np.testing.assert_array_equal(pasted.predict_proba(X), alone.predict_proba(X))
