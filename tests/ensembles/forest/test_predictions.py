"""Quantiles, intervals, variances and calibrated probabilities of forests."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss, log_loss

from committee import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from committee.ensembles.forest.intervals import find_intervals
from committee.learners.tree_rows import apply_trees


def make_values(n=400, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 4))
    return X, X[:, 0] ** 2 + X[:, 1] + noise * (1 + (X[:, 1] > 0)) * rng.normal(size=n)


def weigh_naively(forest, X_train, X):
    """w_i(x): the mean over trees of the fraction of the leaf of x that a training row is."""
    weights = np.zeros((len(X), len(X_train)))
    for member, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        counts = np.bincount(sample, minlength=len(X_train))
        together = (member.apply(X)[:, None] == member.apply(X_train)[None, :]) * counts
        weights += together / together.sum(axis=1, keepdims=True) / len(forest.estimators_)
    return weights


@pytest.mark.parametrize("cls", [RandomForestRegressor, ExtraTreesRegressor])
def test_quantiles_are_the_naive_ones(cls):
    X, y = make_values()
    forest = cls(20, min_samples_leaf=5, keep_leaf_samples=True, random_state=0).fit(X, y)
    rows, _ = make_values(30, seed=1)
    weights = weigh_naively(forest, X, rows)
    np.testing.assert_allclose(weights @ y, forest.predict(rows), rtol=1e-9)
    order = np.argsort(y)
    cumulated = np.cumsum(weights[:, order], axis=1)
    q = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
    found = forest.predict_quantiles(rows, q)
    present = weights[:, order] > 0
    for k, share in enumerate(q):
        reached = (cumulated >= share - 1e-9) & present
        np.testing.assert_array_equal(found[:, k], y[order][reached.argmax(axis=1)])
    np.testing.assert_array_equal(forest.predict_quantiles(rows, 0.5), found[:, 2])
    assert (np.diff(found, axis=1) >= 0).all()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(forest)).predict_quantiles(rows, q), found)


def test_quantiles_find_where_the_noise_is():
    X, y = make_values(3000)
    forest = RandomForestRegressor(60, min_samples_leaf=20, keep_leaf_samples=True, random_state=0).fit(X, y)
    rows, targets = make_values(1000, seed=1)
    low, high = forest.predict_quantiles(rows, [0.1, 0.9]).T
    assert ((targets >= low) & (targets <= high)).mean() == pytest.approx(0.8, abs=0.06)
    width = high - low
    assert width[rows[:, 1] > 0].mean() > 1.4 * width[rows[:, 1] < 0].mean()


def test_quantiles_with_weights_and_sparse_rows():
    X, y = make_values()
    X[np.abs(X) < 0.5] = 0.0
    weights = np.random.default_rng(0).random(len(X))
    params = {"n_estimators": 10, "min_samples_leaf": 5, "keep_leaf_samples": True, "random_state": 0}
    for bootstrap in (True, False):
        forest = RandomForestRegressor(bootstrap=bootstrap, **params).fit(X, y, sample_weight=weights)
        leaves = apply_trees(forest._trees, X, 1)
        mean = forest._leaf_record.row_weights(leaves) @ forest._leaf_record.values
        np.testing.assert_allclose(mean, forest.predict(X), rtol=1e-9)
        sparse = RandomForestRegressor(bootstrap=bootstrap, **params).fit(csr_matrix(X), y, sample_weight=weights)
        np.testing.assert_array_equal(sparse.predict_quantiles(X, 0.3), forest.predict_quantiles(X, 0.3))


def test_intervals_are_the_naive_ones_and_cover():
    X, y = make_values(300)
    forest = RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, y)
    rows, targets = make_values(600, seed=1)
    found = forest.predict_interval(rows, 0.8)
    predictions = np.stack([member.predict(rows) for member in forest.estimators_], axis=1)
    held = np.stack([np.bincount(s, minlength=len(X)) > 0 for s in forest.estimators_samples_], axis=1)
    without = np.stack([predictions[:, ~row].mean(axis=1) for row in held], axis=1)
    errors = np.abs(y - forest.oob_prediction_)
    n = len(X)
    low = np.sort(without - errors, axis=1)[:, int(np.floor(0.2 * (n + 1))) - 1]
    high = np.sort(without + errors, axis=1)[:, int(np.ceil(0.8 * (n + 1))) - 1]
    np.testing.assert_allclose(found, np.stack([low, high], axis=1), rtol=1e-9)
    covered = ((targets >= found[:, 0]) & (targets <= found[:, 1])).mean()
    assert covered >= 0.6
    assert covered == pytest.approx(0.8, abs=0.1)
    wider = forest.predict_interval(rows, 0.95)
    assert (wider[:, 0] <= found[:, 0]).all()
    assert (wider[:, 1] >= found[:, 1]).all()


def test_too_few_rows_for_the_coverage_leave_the_interval_open():
    X, y = make_values(12)
    forest = RandomForestRegressor(50, oob_score=True, random_state=0).fit(X, y)
    assert np.isinf(forest.predict_interval(X, 0.99)).all()


def test_the_variance_is_the_formula_and_falls_with_the_rows():
    X, y = make_values(150)
    forest = RandomForestRegressor(300, min_samples_leaf=3, random_state=0).fit(X, y)
    rows, _ = make_values(20, seed=1)
    predictions = np.stack([member.predict(rows) for member in forest.estimators_], axis=1)
    counts = np.stack([np.bincount(s, minlength=len(X)) for s in forest.estimators_samples_], axis=1)
    expected = np.zeros(len(rows))
    for k, prediction in enumerate(predictions):
        covariances = [np.mean((c - c.mean()) * (prediction - prediction.mean())) for c in counts]
        bias = len(X) / len(prediction) ** 2 * ((prediction - prediction.mean()) ** 2).sum()
        expected[k] = max(0.0, np.sum(np.square(covariances)) - bias)
    np.testing.assert_allclose(forest.predict_variance(rows), expected, rtol=1e-9, atol=1e-12)


def test_the_variance_is_about_right():
    rows, _ = make_values(40, seed=99)
    estimated, predictions = [], []
    for seed in range(25):
        X, y = make_values(200, seed=seed)
        forest = RandomForestRegressor(400, min_samples_leaf=5, random_state=seed).fit(X, y)
        estimated.append(forest.predict_variance(rows))
        predictions.append(forest.predict(rows))
    assert 0.5 < np.mean(estimated) / np.var(predictions, axis=0, ddof=1).mean() < 2.0


def test_predictions_need_what_the_fit_kept():
    X, y = make_values()
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    for ask, need in [(forest.predict_quantiles, "keep_leaf_samples=True"), (forest.predict_interval, "oob_score")]:
        with pytest.raises(NotFittedError, match=need):
            ask(X)
    with pytest.raises(NotFittedError, match="bootstrap=True"):
        ExtraTreesRegressor(5).fit(X, y).predict_variance(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        RandomForestRegressor().predict_interval(X)
    kept = RandomForestRegressor(30, keep_leaf_samples=True, oob_score=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"q must be a number in \[0, 1\]"):
        kept.predict_quantiles(X, 1.5)
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\)"):
        kept.predict_interval(X, 1.0)
    assert not hasattr(kept.set_params(keep_leaf_samples=False).fit(X, y), "_leaf_record")
    with pytest.raises(ValueError, match="several outputs"):
        RandomForestRegressor(3, keep_leaf_samples=True).fit(X, np.stack([y, y], axis=1))


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibration_makes_probabilities_better(method, n_classes):
    X, y = make_classification(
        4000, 12, n_informative=4, n_classes=n_classes, flip_y=0.25, class_sep=0.8, random_state=0
    )
    # Balanced samples give the classes equal weight; calibration must give them back their own.
    rare = (y != 0) & (np.random.default_rng(0).random(len(y)) < 0.7)
    X, y = X[~rare], y[~rare]
    half = len(y) // 2
    params = {"n_estimators": 60, "bootstrap": "balanced", "random_state": 0}
    raw = RandomForestClassifier(**params).fit(X[:half], y[:half])
    fitted = RandomForestClassifier(calibration=method, **params).fit(X[:half], y[:half])
    before, after = raw.predict_proba(X[half:]), fitted.predict_proba(X[half:])
    np.testing.assert_allclose(after.sum(axis=1), 1.0)
    assert ((after >= 0) & (after <= 1)).all()
    assert log_loss(y[half:], np.clip(after, 1e-6, 1)) < log_loss(y[half:], np.clip(before, 1e-6, 1))
    if n_classes == 2:
        assert brier_score_loss(y[half:], after[:, 1]) < brier_score_loss(y[half:], before[:, 1])
    np.testing.assert_array_equal(fitted.predict(X[half:]), fitted.classes_[after.argmax(axis=1)])
    twin = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(twin.predict_proba(X[:50]), fitted.predict_proba(X[:50]))


def test_calibration_needs_rows_that_are_out_of_bag():
    X, y = make_classification(100, random_state=0)
    with pytest.raises(ValueError, match="needs out-of-bag rows"):
        ExtraTreesClassifier(calibration="sigmoid").fit(X, y)
    with pytest.raises(ValueError, match="several outputs"):
        RandomForestClassifier(20, calibration="sigmoid").fit(X, np.stack([y, 1 - y], axis=1))


def test_intervals_count_rows_by_their_weights():
    rng = np.random.default_rng(0)
    predictions, in_bag, errors = rng.normal(size=(7, 9)), rng.random((40, 9)) < 0.6, rng.random(40)
    errors[3] = np.nan
    repeats = rng.integers(0, 4, size=40)
    copies = np.repeat(np.arange(40), repeats)
    for coverage in (0.5, 0.8, 0.99):
        weighted = find_intervals(predictions, in_bag, errors, coverage, repeats.astype(float))
        repeated = find_intervals(predictions, in_bag[copies], errors[copies], coverage)
        np.testing.assert_array_equal(weighted, repeated)


def test_intervals_and_variances_of_weighted_rows_are_those_of_repeated_ones():
    X, y = make_values(120)
    weights = np.random.default_rng(0).integers(1, 6, size=len(X))
    copies, new = np.repeat(np.arange(len(X)), weights), make_values(200, seed=1)[0]
    params = {"n_estimators": 400, "min_samples_leaf": 5, "oob_score": True, "random_state": 0}
    weighted = RandomForestRegressor(**params).fit(X, y, sample_weight=weights * 0.5)
    repeated = RandomForestRegressor(**params).fit(X[copies], y[copies])
    assert weighted.predict_variance(new).mean() == pytest.approx(repeated.predict_variance(new).mean(), rel=0.25)
    # Copies of a row are in the bag one by one, so that the errors of the repeated rows are smaller.
    once = RandomForestRegressor(**params).fit(X, y)
    assert np.isfinite(weighted.predict_interval(new, 0.995)).all()
    assert np.isinf(once.predict_interval(new, 0.995)).all()
