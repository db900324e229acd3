"""Importance by rows that the trees did not see."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError

from committee import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from tests.naive import oob_importance as naive


def make_data(n=150, classes=True, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.normal(size=n), rng.normal(size=n)])
    signal = 2 * X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n)
    return X, np.digitize(signal, [0, 2]) if classes else signal


FORESTS = [(RandomForestClassifier, True), (RandomForestRegressor, False), (ExtraTreesRegressor, False)]


@pytest.mark.parametrize(("cls", "classes"), FORESTS)
def test_the_debiased_impurity_is_the_naive_one(cls, classes):
    X, y = make_data(classes=classes)
    X[::7, 2] = np.nan
    forest = cls(8, bootstrap=True, random_state=0).fit(X, y)
    found = forest.oob_impurity_importance(X, y)
    np.testing.assert_allclose(found, naive.debias_impurity(forest, X, y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("cls", "classes"), FORESTS)
def test_permutation_agrees_with_the_naive_one(cls, classes):
    X, y = make_data(classes=classes)
    forest = cls(30, bootstrap=True, random_state=0).fit(X, y)
    found = forest.oob_permutation_importance(X, y, n_repeats=20)
    expected = naive.permute_out_of_bag(forest, X, y, 20)
    error = np.hypot(found.importances_std, expected.std(axis=1)) / np.sqrt(20)
    assert (np.abs(found.importances_mean - expected.mean(axis=1)) <= 4 * error + 1e-9).all()
    assert found.importances.shape == (4, 20)
    assert found.importances_mean[:2].min() > 5 * np.abs(found.importances_mean[2:]).max()


def test_noise_has_impurity_importance_and_no_debiased_one():
    X, y = make_data(400)
    forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    plain, debiased = forest.feature_importances_, forest.oob_impurity_importance(X, y)
    assert plain[2:].min() > 0.05
    assert np.abs(debiased[2:]).max() < 0.03 * debiased.max()


def test_threads_categories_sparse_rows_and_weights():
    X, y = make_data(300)
    forests = [RandomForestClassifier(12, random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 2, 5)]
    found = [f.oob_permutation_importance(X, y).importances for f in forests]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(forests[0].oob_permutation_importance(csr_matrix(X), y).importances, found[0])
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["b"] = pd.Categorical(np.array(["u", "v", "w"])[X[:, 1].astype(int)])
    by_name = RandomForestClassifier(40, random_state=0).fit(frame, y).oob_permutation_importance(frame, y)
    assert by_name.importances_mean[1] > 0.05
    weights = np.where(np.arange(len(X)) % 4 == 0, 0.0, 1.0)
    kept = weights > 0
    part = RandomForestClassifier(12, random_state=0).fit(X[kept], y[kept])
    whole = RandomForestClassifier(12, random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(
        whole.oob_impurity_importance(X, y, weights), part.oob_impurity_importance(X[kept], y[kept])
    )


def test_invalid_arguments_are_refused():
    X, y = make_data()
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="fitted on 150 rows"):
        forest.oob_permutation_importance(X[:10], y[:10])
    with pytest.raises(ValueError, match="other classes"):
        forest.oob_impurity_importance(X, y + 1)
    with pytest.raises(ValueError, match="n_repeats must be an int >= 1"):
        forest.oob_permutation_importance(X, y, n_repeats=0)
    with pytest.raises(NotFittedError, match="bootstrap=True"):
        RandomForestClassifier(5, bootstrap=False).fit(X, y).oob_impurity_importance(X, y)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        RandomForestClassifier().oob_impurity_importance(X, y)
