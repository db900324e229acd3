"""Isolation forests: scores, weights, categories, missing values, members, warm starts."""

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble as theirs
from scipy.sparse import csr_matrix
from sklearn.metrics import roc_auc_score

from committee import ExtraTreeRegressor, IsolationForest
from committee.exceptions import DataError, NotFittedError, ParameterError
from committee.inspection import shap_values


def make_data(n=600, n_features=4, share=0.03, seed=0):
    """A blob, and rows that are scattered around it."""
    rng = np.random.default_rng(seed)
    X, odd = rng.normal(size=(n, n_features)), rng.random(n) < share
    X[odd] = rng.uniform(-6, 6, size=(odd.sum(), n_features))
    return X, odd


def test_scores_are_the_formula_over_the_members():
    X, _ = make_data()
    forest = IsolationForest(n_estimators=9, max_samples=100, max_features=0.5, random_state=0).fit(X)
    paths = [tree.predict(X[:, own]) for tree, own in zip(forest, forest.estimators_features_, strict=True)]
    n = 100
    scale = 2 * (np.log(n - 1) + np.euler_gamma) - 2 * (n - 1) / n
    np.testing.assert_allclose(forest.score_samples(X), -(2 ** (-np.mean(paths, axis=0) / scale)), rtol=1e-12)
    assert forest.offset_ == -0.5
    np.testing.assert_array_equal(forest.decision_function(X), forest.score_samples(X) + 0.5)
    np.testing.assert_array_equal(forest.predict(X), np.where(forest.decision_function(X) < 0, -1, 1))
    np.testing.assert_array_equal(
        IsolationForest(random_state=0).fit_predict(X), IsolationForest(random_state=0).fit(X).predict(X)
    )


@pytest.mark.parametrize("bootstrap", [False, True])
def test_members_are_trees_on_their_samples(bootstrap):
    X, _ = make_data()
    forest = IsolationForest(n_estimators=5, max_samples=64, bootstrap=bootstrap, random_state=0).fit(X)
    assert (len(forest), forest.max_samples_) == (5, 64)
    for tree, sample in zip(forest, forest.estimators_samples_, strict=True):
        assert isinstance(tree, ExtraTreeRegressor)
        assert len(sample) == 64
        assert (len(np.unique(sample)) == 64) is not bootstrap
        assert tree.get_depth() <= tree.max_depth == 6
        leaves, counts = np.unique(tree.apply(X[sample]), return_counts=True)
        np.testing.assert_array_equal(tree.tree_.n_node_samples[leaves], counts)
        # A row alone in its leaf has its depth as its path; in a leaf of two there is one step more.
        extra = {1: 0.0, 2: 1.0}
        for leaf, count in zip(leaves, counts, strict=True):
            if count in extra:
                assert tree.tree_.value[leaf].item() == tree.tree_.node_depth[leaf] + extra[count]
    with pytest.raises(NotFittedError):
        IsolationForest().estimators_  # noqa: B018


def test_detection_is_as_good_as_scikit_learn_s():
    found = []
    for seed in range(5):
        X, odd = make_data(1500, 6, 0.03, seed)
        X = X * [1, 1, 1, 1, 5, 100]
        scores = [
            roc_auc_score(odd, -f(random_state=seed).fit(X).score_samples(X))
            for f in (IsolationForest, theirs.IsolationForest)
        ]
        found.append(scores)
    ours, peers = np.mean(found, axis=0)
    assert ours > 0.9
    assert abs(ours - peers) < 0.01


def test_contamination_is_the_share_of_anomalies():
    X, _ = make_data(1000)
    forest = IsolationForest(contamination=0.1, random_state=0).fit(X)
    assert (forest.predict(X) == -1).mean() == pytest.approx(0.1, abs=0.002)
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = IsolationForest(contamination=0.1, random_state=0).fit(X, sample_weight=weights)
    assert np.average(weighted.predict(X) == -1, weights=weights) == pytest.approx(0.1, abs=0.005)
    shares = np.random.default_rng(0).random(len(X))
    weighted = IsolationForest(contamination=0.1, random_state=0).fit(X, sample_weight=shares)
    assert np.average(weighted.predict(X) == -1, weights=shares) == pytest.approx(0.1, abs=0.005)


@pytest.mark.parametrize("n", [60, 900])
@pytest.mark.parametrize("params", [{}, {"bootstrap": True}, {"contamination": 0.2}, {"max_samples": 0.3}])
def test_weights_are_repetitions(n, params):
    X, _ = make_data(n)
    counts = np.random.default_rng(1).integers(0, 4, size=n)
    forest = IsolationForest(n_estimators=10, random_state=0, **params)
    weighted = forest.fit(X, sample_weight=counts)
    scores, offset, size = weighted.score_samples(X), weighted.offset_, weighted.max_samples_
    for twin in (
        forest.fit(np.repeat(X, counts, axis=0)),
        forest.fit(X, sample_weight=counts * 0.125),
        forest.fit(X[counts > 0], sample_weight=counts[counts > 0]),
    ):
        np.testing.assert_array_equal(twin.score_samples(X), scores)
        assert (twin.offset_, twin.max_samples_) == (offset, size)


def test_a_rare_category_and_a_rare_gap_are_anomalies():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], size=500)
    colour[:5] = "mauve"
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "size": rng.integers(0, 3, 500).astype(float)})
    scores = IsolationForest(random_state=0).fit(frame).score_samples(frame)
    assert scores[:5].max() < scores[5:].min()
    flat = pd.DataFrame({"a": np.ones(500), "b": rng.integers(0, 3, 500).astype(float)})
    flat.loc[:4, "a"] = np.nan
    scores = IsolationForest(random_state=0).fit(flat).score_samples(flat)
    assert scores[:5].max() < scores[5:].min()
    unseen = frame.iloc[:3].copy()
    unseen["colour"] = "grey"
    with pytest.raises(ValueError, match="grey"):
        IsolationForest(unseen="error").fit(frame).predict(unseen)


def test_gaps_in_numbers_do_not_hide_anomalies():
    X, odd = make_data(2000, 6)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    assert roc_auc_score(odd, -IsolationForest(random_state=0).fit(X).score_samples(X)) > 0.9


def test_sparse_input_gives_the_same_forest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 9)) * (rng.random((500, 9)) < 0.3)
    dense = IsolationForest(random_state=0, contamination=0.1).fit(X)
    sparse = IsolationForest(random_state=0, contamination=0.1).fit(csr_matrix(X))
    np.testing.assert_array_equal(dense.score_samples(X), sparse.score_samples(csr_matrix(X)))
    assert dense.offset_ == sparse.offset_


def test_warm_starts_grow_the_same_forest():
    X, _ = make_data()
    warm = IsolationForest(n_estimators=4, warm_start=True, random_state=np.random.RandomState(3)).fit(X)
    samples = [sample.tolist() for sample in warm.estimators_samples_]
    warm.set_params(n_estimators=10).fit(X)
    assert [sample.tolist() for sample in warm.estimators_samples_[:4]] == samples
    np.testing.assert_array_equal(
        warm.score_samples(X),
        IsolationForest(n_estimators=10, random_state=np.random.RandomState(3)).fit(X).score_samples(X),
    )
    with pytest.warns(UserWarning, match="does not fit new trees"):
        warm.set_params(contamination=0.2).fit(X)
    assert warm.offset_ == pytest.approx(np.percentile(warm.score_samples(X), 20))
    with pytest.raises(ParameterError, match="n_estimators=2 must be larger or equal to"):
        warm.set_params(n_estimators=2).fit(X)
    for other in (X[:, :3], X[:50]):
        with pytest.raises(DataError, match="keeps the trees of the last fit"):
            warm.set_params(n_estimators=12).fit(other)


def test_samples_are_limited_by_the_table():
    X, _ = make_data(40)
    with pytest.warns(UserWarning, match=r"max_samples \(41\) is greater than the total number of samples \(40\)"):
        assert IsolationForest(max_samples=41).fit(X).max_samples_ == 40
    assert IsolationForest(max_samples=1e-9).fit(X).max_samples_ == 1
    alone = IsolationForest(n_estimators=3).fit(X[:1])
    np.testing.assert_array_equal(alone.score_samples(X), np.full(40, -0.5))
    with pytest.raises(ParameterError, match="'max_features' parameter of IsolationForest must be at most the 4"):
        IsolationForest(max_features=5).fit(X)
    for name, value in {"max_samples": 1.5, "contamination": 0.6, "max_features": 0.0, "bootstrap": "group"}.items():
        with pytest.raises((ValueError, TypeError), match=f"The '{name}' parameter of IsolationForest must be"):
            IsolationForest(**{name: value}).fit(X)


def test_path_lengths_are_explained():
    X, _ = make_data(200)
    forest = IsolationForest(n_estimators=20, random_state=0).fit(X)
    found = shap_values(forest, X[:10])
    paths = np.mean([tree.predict(X[:10]) for tree in forest], axis=0)
    np.testing.assert_allclose(found.predictions, paths, rtol=1e-12)
