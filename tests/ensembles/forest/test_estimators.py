"""Forests: out-of-bag, threads, warm starts, members, settings."""

import pickle
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier as PeerForest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score, log_loss, mean_absolute_error, r2_score, roc_auc_score

from committee import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from committee.data import ValueTarget
from committee.ensembles.out_of_bag import make_score_function

FORESTS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]
CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
every_forest = pytest.mark.parametrize("cls", FORESTS, ids=lambda c: c.__name__)


def make_data(cls=RandomForestClassifier, n=300, seed=0):
    X, y = make_classification(n, 8, n_informative=5, n_classes=3, random_state=seed)
    return (X, y) if cls in CLASSIFIERS else (X, X[:, 0] * 3 + X[:, 1] ** 2 + y)


def vote_naively(forest, X, width):
    """Sums and numbers of votes, member by member, from what the forest shows of itself."""
    sums, n_votes = np.zeros((len(X), width)), np.zeros(len(X))
    for member, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(X)), sample)
        prediction = member.predict_proba(X[out]) if hasattr(member, "predict_proba") else member.predict(X[out])
        sums[out] += np.reshape(prediction, (len(out), width))
        n_votes[out] += 1
    return sums, n_votes


def read_bytes(forest):
    return pickle.dumps((forest._trees, forest._importances, forest.oob_score_, forest.oob_trace_.score))


# Out-of-bag.


@every_forest
@pytest.mark.parametrize("max_samples", [None, 0.4, 40])
def test_out_of_bag_is_the_naive_one(cls, max_samples):
    X, y = make_data(cls)
    forest = cls(60, bootstrap=True, oob_score=True, max_samples=max_samples, random_state=1).fit(X, y)
    sums, n_votes = vote_naively(forest, X, 3 if cls in CLASSIFIERS else 1)
    mean = sums / n_votes[:, None]
    if cls in CLASSIFIERS:
        np.testing.assert_allclose(forest.oob_decision_function_, mean, rtol=1e-12)
        assert forest.oob_score_ == (mean.argmax(axis=1) == y).mean()
    else:
        np.testing.assert_allclose(forest.oob_prediction_, mean[:, 0], rtol=1e-12)
        residual = ((y - mean[:, 0]) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        assert forest.oob_score_ == pytest.approx(1 - residual, rel=1e-12)


@pytest.mark.parametrize("n_rows", [2, 50])
def test_the_measure_of_values_is_r2(n_rows):
    rng = np.random.default_rng(n_rows)
    values, mean = rng.normal(size=(2, n_rows, 4))
    values[:, 2:], mean[:, 3] = 1.0, 1.0  # nothing to explain: all is explained, or nothing
    measure = make_score_function(True, ValueTarget(values, False))
    assert measure(slice(None), mean) == pytest.approx(r2_score(values, mean), rel=1e-12)
    assert measure(np.arange(n_rows), mean) == pytest.approx(r2_score(values, mean), rel=1e-12)
    assert np.isnan(measure(np.arange(1), mean[:1]))


def test_the_trace_is_what_smaller_forests_score():
    X, y = make_data()
    forest = RandomForestClassifier(33, oob_score=True, random_state=1).fit(X, y)
    assert forest.oob_trace_.n_estimators.tolist() == [5, 10, 15, 20, 25, 30, 33]
    assert forest.oob_trace_.score[-1] == forest.oob_score_
    smaller = RandomForestClassifier(20, oob_score=True, random_state=1).fit(X, y)
    assert smaller.oob_score_ == forest.oob_trace_.score[3]


@pytest.mark.parametrize(
    ("score", "metric"),
    [
        ("balanced_accuracy", lambda y, p: balanced_accuracy_score(y, p.argmax(axis=1))),
        ("neg_log_loss", lambda y, p: -log_loss(y, p)),
        ("roc_auc_ovr", lambda y, p: roc_auc_score(y, p, multi_class="ovr")),
        (balanced_accuracy_score, lambda y, p: balanced_accuracy_score(y, p.argmax(axis=1))),
    ],
)
def test_any_metric_scores(score, metric):
    X, y = make_data()
    names = np.array(["a", "b", "c"])
    forest = RandomForestClassifier(60, oob_score=score, random_state=0).fit(X, names[y])
    assert forest.oob_score_ == pytest.approx(metric(y, forest.oob_decision_function_), rel=1e-12)


def test_any_metric_scores_numbers():
    X, y = make_data(RandomForestRegressor)
    forest = RandomForestRegressor(60, oob_score="neg_mean_absolute_error", random_state=0).fit(X, y)
    assert forest.oob_score_ == pytest.approx(-mean_absolute_error(y, forest.oob_prediction_))
    with pytest.raises(ValueError, match=r"'oob_score' parameter must be.*got 'no_such'"):
        RandomForestRegressor(oob_score="no_such").fit(X, y)


def test_rows_that_every_tree_saw_have_no_score():
    X, y = make_data()
    with pytest.warns(UserWarning, match="do not have OOB scores"):
        forest = RandomForestClassifier(2, oob_score=True, random_state=0).fit(X, y)
    missing = np.isnan(forest.oob_decision_function_).any(axis=1)
    assert 0 < missing.sum() < len(X)
    right = forest.oob_decision_function_[~missing].argmax(axis=1) == y[~missing]
    assert forest.oob_score_ == right.mean()


@pytest.mark.parametrize("patience", [10, 40])
def test_growing_stops_when_the_score_stands_still(patience):
    X, y = make_data()
    params = {"oob_score": True, "oob_tol": 0.005, "oob_patience": patience, "random_state": 0}
    forest = RandomForestClassifier(500, **params).fit(X, y)
    stopped, trace = len(forest.estimators_), forest.oob_trace_
    assert stopped < 500
    assert trace.n_estimators[-1] == stopped
    best, best_at = -np.inf, 0
    for n_members, score in zip(trace.n_estimators, trace.score, strict=True):
        if score > best + 0.005:
            best, best_at = score, n_members
        assert (n_members - best_at >= patience) == (n_members == stopped)
    plain = RandomForestClassifier(stopped, oob_score=True, random_state=0).fit(X, y)
    assert read_bytes(plain) == read_bytes(forest)
    patient = RandomForestClassifier(30, **{**params, "oob_patience": 1000}).fit(X, y)
    assert len(patient.estimators_) == 30


def test_several_outputs():
    X, Y = make_multilabel_classification(200, 6, n_classes=3, random_state=0)
    forest = RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, Y)
    assert forest.oob_decision_function_.shape == (200, 2, 3)
    assert forest.oob_score_ == (forest.oob_decision_function_.argmax(axis=1) == Y).all(axis=1).mean()
    assert [part.shape for part in forest.predict_proba(X)] == [(200, 2)] * 3
    values = RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, Y.astype(float))
    assert values.oob_prediction_.shape == Y.shape == values.predict(X).shape
    uneven = np.column_stack([Y[:, 0], Y.sum(axis=1)])
    parts = RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, uneven).oob_decision_function_
    assert [part.shape[1] for part in parts] == [2, 4]


def test_sparse_tables_are_dense_ones(monkeypatch):
    monkeypatch.setattr("committee.data.rows._DENSE_VALUES", 500)
    X, y = make_data()
    X[np.abs(X) < 0.7] = 0.0
    dense = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    sparse = RandomForestClassifier(20, oob_score=True, random_state=0).fit(csr_matrix(X), y)
    np.testing.assert_array_equal(dense.oob_decision_function_, sparse.oob_decision_function_)
    np.testing.assert_array_equal(dense.predict_proba(X), sparse.predict_proba(csr_matrix(X)))


# The same forest, however it is grown.


@every_forest
def test_threads_do_not_change_a_byte(cls):
    X, y = make_data(cls, n=3000)
    forests = [cls(23, bootstrap=True, oob_score=True, random_state=3, n_jobs=jobs).fit(X, y) for jobs in (1, 2, 5, 16)]
    first, prediction = read_bytes(forests[0]), forests[0].predict(X)
    for forest in forests[1:]:
        assert read_bytes(forest) == first
        np.testing.assert_array_equal(forest.predict(X), prediction)


@every_forest
def test_warm_starts_grow_the_same_forest(cls):
    X, y = make_data(cls)
    warm = cls(7, bootstrap=True, oob_score=True, warm_start=True, random_state=5).fit(X, y)
    warm.set_params(n_estimators=24).fit(X, y)
    cold = cls(24, bootstrap=True, oob_score=True, random_state=5).fit(X, y)
    assert read_bytes(warm) == read_bytes(cold)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        warm.fit(X, y)
    assert read_bytes(warm) == read_bytes(cold)
    with pytest.raises(ValueError, match="n_estimators=3 must be larger or equal to"):
        warm.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="keeps the trees"):
        warm.set_params(n_estimators=30).fit(X[:, :4], y)


def test_a_warm_start_without_more_trees_changes_nothing():
    X, y = make_data()
    forest = RandomForestClassifier(5, warm_start=True, random_state=0).fit(X, y)
    before = dict(vars(forest))
    with pytest.warns(UserWarning, match="does not fit new trees. Those of the last fit stay"):
        forest.fit(X[:50, :3], np.stack([y, 2 * y], axis=1)[:50])
    assert vars(forest) == before
    with pytest.warns(UserWarning, match="does not fit new trees"):
        forest.set_params(oob_score=True).fit(X, y)
    assert forest.oob_score_ == RandomForestClassifier(5, oob_score=True, random_state=0).fit(X, y).oob_score_
    with pytest.warns(UserWarning, match="does not fit new trees"):
        calibrated = forest.set_params(calibration="isotonic").fit(X, y).predict_proba(X)
    assert (calibrated != RandomForestClassifier(5, random_state=0).fit(X, y).predict_proba(X)).any()
    with pytest.raises(ValueError, match="keeps the trees of the last fit"):
        forest.set_params(n_estimators=8).fit(X, np.stack([y, 2 * y], axis=1))


def test_a_warm_start_without_a_seed_keeps_the_first_one():
    X, y = make_data()
    forest = RandomForestClassifier(8, warm_start=True).fit(X, y)
    before = [sample.tolist() for sample in forest.estimators_samples_]
    forest.set_params(n_estimators=12).fit(X, y)
    assert [sample.tolist() for sample in forest.estimators_samples_[:8]] == before


def test_an_interrupted_warm_start_leaves_the_old_forest(monkeypatch):
    X, y = make_data()
    forest = RandomForestClassifier(15, warm_start=True, oob_score=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=60, oob_patience=50)
    before = dict(vars(forest))

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("committee._core.add_out_of_bag", interrupt)
    with pytest.raises(KeyboardInterrupt):
        forest.fit(X, y)
    assert vars(forest) == before


def test_a_pickle_keeps_samples_and_is_small():
    X, y = make_data(n=2000)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    stored = pickle.dumps(forest)
    twin = pickle.loads(stored)
    np.testing.assert_array_equal(twin.estimators_samples_[7], forest.estimators_samples_[7])
    np.testing.assert_array_equal(twin.predict_proba(X), forest.predict_proba(X))
    assert len(stored) * 5 < len(pickle.dumps(PeerForest(30, random_state=0).fit(X, y)))


# Members.


@every_forest
def test_members_are_trees(cls):
    X, y = make_data(cls)
    forest = cls(9, random_state=0, max_depth=4).fit(X, y)
    members = forest.estimators_
    assert len(members) == len(list(members)) == 9
    assert type(members[0]) is type(forest.estimator_) is type(members[-1])
    assert members[2].max_depth == 4
    assert members[2].get_depth() <= 4
    mean = np.mean([m.predict_proba(X) if cls in CLASSIFIERS else m.predict(X) for m in members], axis=0)
    prediction = forest.predict_proba(X) if cls in CLASSIFIERS else forest.predict(X)
    np.testing.assert_allclose(prediction, mean, rtol=1e-12)
    np.testing.assert_array_equal(forest.apply(X), np.stack([m.apply(X) for m in members], axis=1))
    path, starts = forest.decision_path(X)
    assert path.shape[1] == starts[-1] == sum(m.tree_.node_count for m in members)
    np.testing.assert_array_equal(path[:, starts[3] : starts[4]].toarray(), members[3].decision_path(X).toarray())
    importances = np.mean([m.feature_importances_ for m in members], axis=0)
    np.testing.assert_allclose(forest.feature_importances_, importances, rtol=1e-12)
    assert forest.feature_importances_.sum() == pytest.approx(1.0)
    with pytest.raises(IndexError):
        members[9]


@every_forest
def test_members_are_grown_again_from_their_samples(cls):
    X, y = make_data(cls, n=200)  # as many bins as values, for the table and for a sample of it
    for bootstrap in (True, False):
        forest = cls(5, bootstrap=bootstrap, max_features=0.5).fit(X, y)
        assert len({tree.random_state for tree in forest}) == 5
        for tree, sample in zip(forest, forest.estimators_samples_, strict=True):
            assert sample.dtype == np.int32
            again = clone(tree).fit(X[sample], y[sample])
            np.testing.assert_array_equal(again.tree_.feature, tree.tree_.feature)
            np.testing.assert_allclose(again.tree_.value, tree.tree_.value, rtol=1e-9)


@every_forest
def test_the_prototype_of_the_members_needs_no_fit(cls):
    tree = cls(max_depth=3, max_features=2).estimator
    assert (tree.max_depth, tree.max_features) == (3, 2)
    assert not hasattr(tree, "tree_")


def test_before_the_fit_there_is_nothing_to_see():
    forest = RandomForestClassifier()
    for name in ("estimators_", "estimators_samples_", "estimator_", "feature_importances_"):
        assert not hasattr(forest, name)
        with pytest.raises(NotFittedError):
            getattr(forest, name)


def test_samples_without_bootstrap_hold_every_row():
    X, y = make_data()
    forest = ExtraTreesClassifier(3, random_state=0).fit(X, y)
    assert all(sample.tolist() == list(range(len(X))) for sample in forest.estimators_samples_)


def test_two_thirds_of_the_rows_are_in_a_sample():
    X, y = make_data(n=2000)
    forest = RandomForestClassifier(30, max_depth=1, random_state=0).fit(X, y)
    held = np.mean([len(np.unique(sample)) / len(X) for sample in forest.estimators_samples_])
    assert held == pytest.approx(1 - (1 - 1 / len(X)) ** len(X), abs=0.005)


def test_importances_of_iris_are_the_published_ones():
    X, y = load_iris(return_X_y=True)
    found = [RandomForestClassifier(500, random_state=s).fit(X, y).feature_importances_ for s in range(8)]
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    published = np.array([0.112, 0.023, 0.441, 0.423])
    # The published forest is one draw from such a spread, and its last digit is rounded.
    assert (np.abs(mean - published) <= 3 * spread + 0.0005).all()


# Settings.


def test_parameters_that_contradict_each_other():
    X, y = make_data()
    with pytest.raises(ValueError, match="`max_sample` cannot be set"):
        RandomForestClassifier(bootstrap=False, max_samples=10).fit(X, y)
    with pytest.raises(ValueError, match="Out of bag estimation only available"):
        ExtraTreesClassifier(oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="needs an out-of-bag score"):
        RandomForestClassifier(oob_patience=5).fit(X, y)
    with pytest.raises(ValueError, match="'bootstrap' parameter of RandomForestRegressor"):
        RandomForestRegressor(bootstrap="balanced").fit(X, y)


@pytest.mark.parametrize("params", [{"exact": True}, {"max_bins": 16}, {"ccp_alpha": 0.01}, {"max_leaf_nodes": 5}])
def test_members_obey_the_settings_of_trees(params):
    X, y = make_data()
    plain = RandomForestClassifier(5, random_state=0).fit(X, y)
    forest = RandomForestClassifier(5, random_state=0, **params).fit(X, y)
    if "max_leaf_nodes" in params:
        assert all(member.get_n_leaves() <= 5 for member in forest.estimators_)
    if "ccp_alpha" in params:
        assert forest.estimators_[0].get_n_leaves() < plain.estimators_[0].get_n_leaves()
    assert forest.score(X, y) > 0.6
    assert not np.array_equal(forest.predict_proba(X), plain.predict_proba(X))


def test_a_share_of_the_weight_in_a_leaf():
    X, y = make_data()
    weights = np.random.default_rng(0).random(len(X)) * 100
    forest = RandomForestClassifier(5, min_weight_fraction_leaf=0.2, random_state=0).fit(X, y, sample_weight=weights)
    for member in forest.estimators_:
        tree = member.tree_
        leaves = tree.children_left == -1
        assert (tree.weighted_n_node_samples[leaves] >= 0.2 * tree.weighted_n_node_samples[0] - 1e-9).all()
        assert leaves.sum() > 1


def test_monotonic_forests_rise():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(20, monotonic_cst=[0, 0, 1] + [0] * 7, random_state=0).fit(X, y)
    grid = np.repeat(X[:50], 30, axis=0)
    grid[:, 2] = np.tile(np.linspace(X[:, 2].min(), X[:, 2].max(), 30), 50)
    assert (np.diff(forest.predict(grid).reshape(50, 30), axis=1) >= -1e-9).all()


def test_progress_is_shown_if_verbose(capsys, monkeypatch):
    X, y = make_data()
    RandomForestClassifier(3, random_state=0).fit(X, y)
    assert capsys.readouterr() == ("", "")
    RandomForestClassifier(3, random_state=0, verbose=1).fit(X, y)
    drawn = capsys.readouterr()
    assert drawn.out == ""
    assert "Growing trees" in drawn.err
    monkeypatch.setitem(sys.modules, "rich.console", None)
    RandomForestClassifier(3, random_state=0, verbose=1).fit(X, y)
    assert "Growing trees: 3 of 3" in capsys.readouterr().err
