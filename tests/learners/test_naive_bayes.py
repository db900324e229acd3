"""Naive Bayes: scikit-learn's numbers to the last digits, and the one feature that errs least."""

from __future__ import annotations

import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_matrix, csr_array, csr_matrix
from sklearn.ensemble import AdaBoostClassifier as TheirAdaBoost
from sklearn.naive_bayes import BernoulliNB as TheirBernoulliNB
from sklearn.naive_bayes import CategoricalNB

from committee import AdaBoostClassifier, BaggingClassifier, BernoulliNB, SingleFeatureNB
from committee.data import take_in

FITTED = ("class_count_", "feature_count_", "class_log_prior_", "feature_log_prob_")


def assert_equal_models(ours: Any, theirs: Any, X: Any) -> None:
    for name in FITTED:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12, atol=1e-12)
    for name in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        np.testing.assert_allclose(getattr(ours, name)(X), getattr(theirs, name)(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.3, None]),
    st.sampled_from([1.0, 0.01, 7.5]),
    st.booleans(),
    st.sampled_from(["dense", "sparse matrix", "sparse array"]),
)
def test_bernoulli_equals_scikit_learn(
    seed: int, n_classes: int, binarize: float | None, alpha: float, fit_prior: bool, kind: str
) -> None:
    rng = np.random.default_rng(seed)
    X: Any = rng.random((40, 12)) * (rng.random((40, 12)) < 0.3)
    if binarize is None:
        X = (X > 0).astype(float)
    y = rng.integers(0, n_classes, size=40)
    weights = rng.random(40) if seed % 2 else None
    X = {"dense": np.asarray, "sparse matrix": csr_matrix, "sparse array": csr_array}[kind](X)
    params = {"binarize": binarize, "alpha": alpha, "fit_prior": fit_prior}
    if seed % 3 == 0:
        params["class_prior"] = rng.dirichlet(np.ones(len(np.unique(y))))
    ours, theirs = BernoulliNB(**params).fit(X, y, weights), TheirBernoulliNB(**params).fit(X, y, weights)
    assert_equal_models(ours, theirs, X)


@pytest.mark.parametrize("sparse", [False, True])
def test_parts_add_up(sparse: bool) -> None:
    rng = np.random.default_rng(0)
    X: Any = (rng.random((90, 8)) < 0.3).astype(float)
    X = csr_matrix(X) if sparse else X
    y = rng.choice(["a", "b", "c"], size=90)
    y[:30] = "b"  # the first part has one class only
    weights = rng.random(90)
    ours, theirs = BernoulliNB(), TheirBernoulliNB()
    for start in range(0, 90, 30):
        rows = slice(start, start + 30)
        classes = ["c", "a", "b"] if start == 0 else None
        for model in (ours, theirs):
            model.partial_fit(
                X[rows], y[rows], classes=sorted(classes) if classes else None, sample_weight=weights[rows]
            )
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12, atol=1e-12)
    whole = BernoulliNB().fit(X, y, weights)
    np.testing.assert_allclose(whole.feature_count_, ours.feature_count_, rtol=1e-12)
    np.testing.assert_allclose(whole.predict_proba(X), ours.predict_proba(X), rtol=1e-10)


def test_parts_that_do_not_fit_are_refused_and_change_nothing() -> None:
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        BernoulliNB().partial_fit(X, y)
    model = BernoulliNB().partial_fit(X, y, classes=[0, 1])
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"target label\(s\) \[2\] in y do not exist"):
        model.partial_fit(X, [0, 1, 2, 0])
    with pytest.raises(ValueError, match="is not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="X has 3 features"):
        model.partial_fit(X[:, :3], y)
    assert vars(model) == before


def test_a_smoothing_for_each_feature() -> None:
    rng = np.random.default_rng(1)
    X, y = (rng.random((50, 3)) < 0.4).astype(float), rng.integers(0, 3, size=50)
    alpha = np.array([0.5, 1.0, 3.0])
    model = BernoulliNB(alpha=alpha).fit(X, y)
    for j, one in enumerate(alpha):
        alone = BernoulliNB(alpha=one).fit(X[:, [j]], y)
        np.testing.assert_allclose(model.feature_log_prob_[:, [j]], alone.feature_log_prob_, rtol=1e-14)
    with pytest.raises(ValueError, match="'alpha' parameter of BernoulliNB must be"):
        BernoulliNB(alpha=alpha[:2]).fit(X, y)


def test_without_smoothing_the_impossible_is_impossible() -> None:
    X, y = np.array([[1, 1], [1, 0], [0, 1], [0, 0]]), np.array([0, 0, 1, 1])
    model = BernoulliNB(alpha=0.0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), [[1, 0], [1, 0], [0, 1], [0, 1]])
    # A feature that is in every row of class 0, none of class 1, and one that is in no row at all.
    strange = BernoulliNB(alpha=0.0).fit(np.c_[X, np.zeros(4)], y).predict_proba([[1, 1, 1]])
    np.testing.assert_array_equal(strange, [[0.5, 0.5]])  # the prior: this row is possible in neither
    with pytest.warns(UserWarning, match="alpha too small"):
        raised = BernoulliNB(alpha=0.0, force_alpha=False).fit(X, y)
    np.testing.assert_allclose(raised.feature_log_prob_, BernoulliNB(alpha=1e-10).fit(X, y).feature_log_prob_)


@pytest.mark.parametrize("fit_prior", [True, False])
def test_a_class_without_rows_and_without_smoothing_is_impossible(fit_prior: bool) -> None:
    X = np.array([[1, 0], [0, 0], [1, 1], [0, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BernoulliNB(alpha=0.0, fit_prior=fit_prior).fit(X, [0, 0, 1, 2], sample_weight=[1, 1, 1, 0])
        found = model.predict_proba(X[:3])
    assert np.isneginf(model.feature_log_prob_[2]).all()
    np.testing.assert_array_equal(found, [[1, 0, 0], [1, 0, 0], [0, 1, 0]])


def test_wrong_priors_and_thresholds_are_refused() -> None:
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="'class_prior' parameter of BernoulliNB must be one number >= 0 for each of"):
        BernoulliNB(class_prior=[0.2, 0.3, 0.5]).fit(X, y)
    with pytest.raises(ValueError, match="'binarize' parameter of BernoulliNB must be >= 0 for a sparse X"):
        BernoulliNB(binarize=-1.0).fit(csr_matrix(X), y)


def test_a_sparse_table_larger_than_memory_is_fine() -> None:
    rng = np.random.default_rng(0)
    n_rows, n_words = 2_000_000, 60
    X = csr_matrix((np.ones(n_rows), rng.integers(0, n_words, n_rows), np.arange(n_rows + 1)), (n_rows, 200_000))
    model = BernoulliNB().fit(X, X.indices < 30)
    assert model.score(X[:1000], X.indices[:1000] < 30) == 1.0


# --- one feature ---------------------------------------------------------------------------------------------------


def fit_categories(column: Any, y: Any, weights: Any, alpha: float = 1.0) -> tuple[float, Any]:
    """Error and probabilities of scikit-learn's categorical naive Bayes on one column of codes."""
    model = CategoricalNB(alpha=alpha).fit(column[:, None], y, weights)
    wrong = model.predict(column[:, None]) != y
    return float(np.average(wrong, weights=weights)), model.predict_proba(column[:, None])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.sampled_from([0.2, 1.0, 5.0]))
def test_one_feature_equals_the_best_of_scikit_learns(seed: int, n_classes: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(60, 4))
    X[:6] = np.arange(6)[:, None]
    y = rng.integers(0, n_classes, size=60)
    weights = rng.permutation(np.tile([1.0, 2.0, 3.0], 20))
    model = SingleFeatureNB(alpha=alpha).fit(X, y, weights)
    found = [fit_categories(X[:, j], y, weights, alpha) for j in range(4)]
    # Which of two equally probable classes is said, the last bit decides.
    assume(all(np.diff(np.sort(probabilities, axis=1)[:, -2:]).min() > 1e-9 for _, probabilities in found))
    np.testing.assert_allclose(model.errors_, [error for error, _ in found], atol=1e-12)
    assert model.feature_ == int(np.argmin(model.errors_))
    np.testing.assert_allclose(model.predict_proba(X), found[model.feature_][1], rtol=1e-10)
    assert model.error_ == pytest.approx(np.average(model.predict(X) != y, weights=weights))


def test_bins_of_numbers_are_those_of_training() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 3))
    y = (np.abs(X[:, 1]) > 0.7).astype(int)  # no threshold tells these apart, bins do
    model = SingleFeatureNB().fit(X, y)
    assert model.feature_ == 1
    assert model.score(X, y) > 0.93
    assert model.error_ == pytest.approx(1 - model.score(X, y))
    assert len(model.thresholds_) == 15
    table = [np.bincount(y[np.searchsorted(model.thresholds_, X[:, 1]) == v], minlength=2) for v in range(16)]
    expected = np.log(np.array(table) + 1) - np.log(np.bincount(y) + 16)
    np.testing.assert_allclose(model.value_log_prob_.T[:16], expected)


def test_missing_is_a_value_where_it_occurred_and_says_nothing_elsewhere() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=200)
    y = (rng.random(200) < 0.3).astype(int)
    x[y == 1] = np.nan
    model = SingleFeatureNB().fit(x[:, None], y)
    assert model.score(x[:, None], y) == 1.0
    full = SingleFeatureNB().fit(rng.normal(size=(200, 1)), y)
    np.testing.assert_allclose(full.predict_proba([[np.nan]])[0], [(y == 0).mean(), (y == 1).mean()])


@pytest.mark.parametrize("n_levels", [5, 700])
def test_categories_of_any_number(n_levels: int) -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, n_levels, size=4000)
    codes[:n_levels] = np.arange(n_levels)
    frame = pd.DataFrame({"number": rng.normal(size=4000), "kind": pd.Categorical([f"k{c:03}" for c in codes])})
    y = codes % 3
    model = SingleFeatureNB().fit(frame, y)
    assert model.feature_ == 1
    assert model.thresholds_ is None
    assert model.score(frame, y) == 1.0
    stranger = pd.DataFrame({"number": [0.0], "kind": ["none of these"]})
    np.testing.assert_allclose(np.log(model.predict_proba(stranger)[0]), model.class_log_prior_)
    with pytest.raises(ValueError, match="none of these"):
        SingleFeatureNB(unseen="error").fit(frame, y).predict(stranger)


def test_sparse_tables_give_the_dense_model() -> None:
    rng = np.random.default_rng(6)
    X = rng.integers(0, 4, size=(150, 6)) * (rng.random((150, 6)) < 0.3).astype(float)
    y = rng.integers(0, 2, size=150)
    dense, sparse = SingleFeatureNB().fit(X, y), SingleFeatureNB().fit(csr_matrix(X), y)
    np.testing.assert_array_equal(dense.predict_proba(X), sparse.predict_proba(csr_matrix(X)))


def test_class_weights_are_used() -> None:
    rng = np.random.default_rng(7)
    X, y = rng.integers(0, 5, size=(100, 3)), rng.integers(0, 2, size=100)
    by_class = SingleFeatureNB(class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    by_row = SingleFeatureNB().fit(X, y, np.where(y == 1, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    even = SingleFeatureNB(fit_prior=False).fit(X, y)
    np.testing.assert_allclose(even.class_log_prior_, np.log([0.5, 0.5]))


def test_other_weights_on_one_data_set() -> None:
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 3, size=200)
    weights = rng.random(200)
    dataset = take_in(SingleFeatureNB(), X, y, task="classify")
    shared = SingleFeatureNB().fit_dataset(dataset, weights)
    np.testing.assert_allclose(shared.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_allclose(shared.error_, np.average(shared.predict(X) != y, weights=weights))


def test_it_boosts_and_bags() -> None:
    rng = np.random.default_rng(9)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] ** 2 + X[:, 1] > 1).astype(int)
    alone = SingleFeatureNB().fit(X, y).score(X, y)
    for boost in (AdaBoostClassifier, TheirAdaBoost):
        boosted = boost(SingleFeatureNB(), n_estimators=50, random_state=0).fit(X, y)
        assert boosted.score(X, y) > alone + 0.1
    bagged = BaggingClassifier(SingleFeatureNB(), n_estimators=10, random_state=0).fit(X, y)
    assert bagged.score(X, y) > alone - 0.05


def test_single_feature_of_a_very_wide_sparse_table() -> None:
    """Equal empty columns are counted once; the result is that of the dense table, whatever their number."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(3000, size=20, replace=False))
    X = csc_matrix((np.ones(40), (np.arange(40), columns[np.arange(40) % 20])), shape=(40, 3000))
    y = (np.arange(40) % 20 > 12).astype(int)
    wide, dense = SingleFeatureNB().fit(X, y), SingleFeatureNB().fit(X.toarray(), y)
    np.testing.assert_array_equal(wide.errors_, dense.errors_)
    np.testing.assert_array_equal(wide.predict_proba(X), dense.predict_proba(X.toarray()))
    assert wide.feature_ == dense.feature_
    with patch.object(SingleFeatureNB, "_smooth", autospec=True, side_effect=SingleFeatureNB._smooth) as smooth:
        SingleFeatureNB().fit(X, y)
    assert smooth.call_count <= 21
