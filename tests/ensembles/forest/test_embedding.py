"""The leaves of random trees as a table: encoding, names, weights, kinds of tables."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, issparse
from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from committee import ExtraTreeRegressor, RandomTreesEmbedding, load, save
from committee.exceptions import DataError


def make_data(n=300, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4))


@pytest.mark.parametrize("params", [{}, {"max_leaf_nodes": 6}, {"max_depth": None, "min_samples_leaf": 10}])
def test_rows_are_encoded_as_their_leaves(params):
    X = make_data()
    embedding = RandomTreesEmbedding(n_estimators=7, random_state=0, **params)
    encoded = embedding.fit_transform(X)
    assert issparse(encoded)
    leaves = embedding.apply(X)
    # Every leaf holds a training row, so that an encoder that learns from the leaves of the rows finds all of them.
    np.testing.assert_array_equal(encoded.toarray(), OneHotEncoder().fit_transform(leaves).toarray())
    fresh = make_data(50, seed=1)
    expected = embedding.one_hot_encoder_.transform(embedding.apply(fresh)).toarray()
    np.testing.assert_array_equal(embedding.transform(fresh).toarray(), expected)
    dense = embedding.set_params(sparse_output=False).transform(fresh)
    np.testing.assert_array_equal(dense, expected)
    names = embedding.get_feature_names_out()
    trees = range(7)
    assert names.tolist() == [f"randomtreesembedding_{t}_{leaf}" for t in trees for leaf in np.unique(leaves[:, t])]


def test_splits_are_random_and_not_learnt():
    X = make_data(2000)
    embedding = RandomTreesEmbedding(n_estimators=400, max_depth=1, random_state=0).fit(X)
    roots = np.array([tree.tree_.feature[0] for tree in embedding])
    assert np.bincount(roots, minlength=4).min() > 60
    thresholds = np.array([tree.tree_.threshold[0] for tree, root in zip(embedding, roots, strict=True) if root == 0])
    low, high = X[:, 0].min(), X[:, 0].max()
    # Uniform over the range, which squared error on any smooth target would not choose.
    assert np.histogram(thresholds, bins=4, range=(low, high))[0].min() > 0.12 * len(thresholds)
    assert all(isinstance(tree, ExtraTreeRegressor) and tree.max_features == 1 for tree in embedding)


def test_a_linear_model_on_the_leaves_is_not_linear():
    X, y = make_circles(400, factor=0.5, noise=0.05, random_state=0)
    model = make_pipeline(RandomTreesEmbedding(n_estimators=30, random_state=0), LogisticRegression(C=100.0))
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.95
    assert LogisticRegression().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) < 0.7


@pytest.mark.parametrize("params", [{}, {"max_leaf_nodes": 8}, {"min_impurity_decrease": 0.001}])
def test_weights_are_repetitions_and_the_order_of_rows_does_not_matter(params):
    frame = pd.DataFrame(make_data(150), columns=list("abcd"))
    frame["e"] = pd.Categorical(np.random.default_rng(2).choice(list("uvwxyz"), 150))
    frame.loc[::9, "b"] = np.nan
    counts = np.random.default_rng(1).integers(0, 4, len(frame))
    embedding = RandomTreesEmbedding(n_estimators=10, random_state=0, **params)
    weighted = embedding.fit(frame, sample_weight=counts).apply(frame)
    repeats = np.repeat(np.arange(len(frame)), counts)
    np.testing.assert_array_equal(embedding.fit(frame.iloc[repeats]).apply(frame), weighted)
    shuffled = np.random.default_rng(3).permutation(repeats)
    np.testing.assert_array_equal(embedding.fit(frame.iloc[shuffled]).apply(frame), weighted)
    np.testing.assert_array_equal(embedding.fit(frame, sample_weight=counts / 8).apply(frame), weighted)


def test_sparse_tables_and_precision_do_not_change_the_trees():
    X = np.round(make_data(), 1)
    X[np.abs(X) < 0.5] = 0.0
    X = X.astype(np.float32)
    for kind in (lambda x: x, csr_matrix, lambda x: x.astype(np.float64), np.asfortranarray):
        encoded = RandomTreesEmbedding(n_estimators=5, max_leaf_nodes=9, random_state=0).fit_transform(kind(X))
        expected = RandomTreesEmbedding(n_estimators=5, max_leaf_nodes=9, random_state=0).fit_transform(X)
        np.testing.assert_array_equal(encoded.toarray(), expected.toarray())


def test_names_are_checked():
    frame = pd.DataFrame(make_data(), columns=list("abcd"))
    embedding = RandomTreesEmbedding(n_estimators=2, sparse_output=False, random_state=0).set_output(transform="pandas")
    table = embedding.fit_transform(frame)
    assert table.columns.tolist() == embedding.get_feature_names_out(list("abcd")).tolist()
    with pytest.raises(DataError, match="input_features is not equal to feature_names_in_"):
        embedding.get_feature_names_out(list("abcz"))
    with pytest.raises(DataError, match=r"number of features \(4\), got 2"):
        RandomTreesEmbedding(n_estimators=2).fit(make_data()).get_feature_names_out(["a", "b"])


def test_a_warm_start_adds_trees(tmp_path):
    X = make_data()
    warm = RandomTreesEmbedding(n_estimators=4, warm_start=True, random_state=0).fit(X)
    first = warm.transform(X).toarray()
    warm.set_params(n_estimators=9).fit(X)
    cold = RandomTreesEmbedding(n_estimators=9, random_state=0).fit(X)
    np.testing.assert_array_equal(warm.transform(X).toarray(), cold.transform(X).toarray())
    np.testing.assert_array_equal(warm.transform(X).toarray()[:, : first.shape[1]], first)
    save(warm, tmp_path / "embedding", strip=True)
    np.testing.assert_array_equal(load(tmp_path / "embedding").transform(X).toarray(), cold.transform(X).toarray())


def test_the_trees_of_an_embedding_predict_nothing():
    model = RandomTreesEmbedding(n_estimators=2, random_state=0).fit([[0.0], [1.0], [2.0]])
    assert not hasattr(model, "predict_members")
    with pytest.raises(AttributeError, match=r"has no attribute 'predict_members': its trees predict nothing\. Their"):
        model.predict_members([[0.0]])
