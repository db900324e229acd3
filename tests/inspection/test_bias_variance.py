"""Bias and variance from the bootstrap, and the variance of a bag against its size."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier

from committee import DecisionTreeClassifier, DecisionTreeRegressor, estimate_bias_variance, measure_bag_variance
from committee.base import seed_estimator
from committee.inspection.resampling import draw_bootstrap
from tests.naive.bagging import decompose_error


class MeanOfTarget(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class ConstantClass(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


def make_values(n=60):
    return make_friedman1(n, noise=0.5, random_state=0)


def test_squared_loss_is_that_of_the_naive_twin():
    X, y = make_values()
    found = estimate_bias_variance(DecisionTreeRegressor(max_depth=3), X, y, n_rounds=40, random_state=5)
    predictions = [[] for _ in y]
    for k in range(40):
        rows = draw_bootstrap(len(y), 5, k)
        member = seed_estimator(DecisionTreeRegressor(max_depth=3), 5, k).fit(X[rows], y[rows])
        for i in set(range(len(y))) - set(rows.tolist()):
            predictions[i].append(member.predict(X[i : i + 1])[0])
    means, biases, variances = decompose_error(predictions, y)
    np.testing.assert_array_equal(found.n_predictions, [len(own) for own in predictions])
    np.testing.assert_allclose(found.mean, means, rtol=1e-12)
    np.testing.assert_allclose(found.bias, biases, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.variance, variances, rtol=1e-9)
    assert found.mean_squared_bias == pytest.approx(np.mean(biases**2))


def test_squared_error_is_bias_and_variance():
    X, y = make_values()
    found = estimate_bias_variance(DecisionTreeRegressor(), X, y, n_rounds=50, random_state=0)
    k = found.n_predictions
    np.testing.assert_allclose(found.error, found.bias**2 + (k - 1) / k * found.variance, rtol=1e-10)


def test_zero_one_error_is_bias_and_variance_exactly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] + rng.normal(size=80) > 0, "yes", "no")
    found = estimate_bias_variance(DecisionTreeClassifier(), X, y, n_rounds=60, random_state=1)
    assert found.loss == "zero_one"
    np.testing.assert_allclose(found.bias**2 + found.variance, found.error, atol=1e-15)
    np.testing.assert_allclose(found.error, 1 - found.mean, atol=1e-15)
    assert found.mean_error == pytest.approx(found.mean_squared_bias + found.mean_variance)


def test_the_variance_of_a_mean_is_the_textbooks():
    # The mean of a bootstrap sample of n rows has variance s²/n given the rows.
    rng = np.random.default_rng(2)
    y = rng.normal(size=100)
    found = estimate_bias_variance(MeanOfTarget(), np.zeros((100, 1)), y, n_rounds=600, random_state=0)
    assert found.mean_variance == pytest.approx(y.var() / 100, rel=0.15)


def test_rigid_models_have_bias_and_flexible_ones_variance():
    X, y = make_values(200)
    deep = estimate_bias_variance(DecisionTreeRegressor(), X, y, n_rounds=40, random_state=0)
    line = estimate_bias_variance(LinearRegression(), X, y, n_rounds=40, random_state=0)
    assert deep.mean_variance > 5 * line.mean_variance


@pytest.mark.parametrize("member", [KNeighborsClassifier(3), Perceptron(), LogisticRegression()])
def test_any_classifier_can_be_studied(member):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    frame = pd.DataFrame(X, columns=list("abc"))
    y = (X[:, 0] > 0).astype(int)
    found = estimate_bias_variance(member, X, y, n_rounds=20, random_state=0)
    other = estimate_bias_variance(member, frame, y, n_rounds=20, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(found.mean, other.mean)
    assert 0.0 <= found.mean_error < 0.35


def test_rows_in_every_sample_give_a_warning():
    X, y = make_values(10)
    with pytest.warns(UserWarning, match="use more rounds"):
        found = estimate_bias_variance(MeanOfTarget(), X, y, n_rounds=2, random_state=0)
    assert np.isnan(found.variance[found.n_predictions < 2]).all()


# --- B8 -------------------------------------------------------------------------------------------------------


def test_independent_members_divide_the_variance_and_bagged_ones_do_not():
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    found = measure_bag_variance(
        DecisionTreeRegressor(), X, y, X[:60], y[:60], sizes=(1, 4, 16), n_repeats=40, random_state=0
    )
    np.testing.assert_allclose(found.independent, found.ideal, rtol=0.25)
    assert found.bagged[2] > 1.5 * found.ideal[2]
    assert 0.05 < found.correlation < 0.9
    # Averaging keeps the bias.
    one, many = found.bias_independent[0], found.bias_independent[-1]
    assert many == pytest.approx(one, rel=0.3)


def test_the_law_holds_for_the_mean_of_a_sample():
    # Variance of a mean of n_train draws is s²/n_train, and of an average of m of them 1/m of that.
    rng = np.random.default_rng(1)
    y = rng.normal(size=50)
    X = np.zeros((50, 1))
    found = measure_bag_variance(
        MeanOfTarget(), X, y, X[:1], sizes=(1, 5, 10), n_repeats=1000, n_train=20, random_state=3
    )
    np.testing.assert_allclose(found.independent, y.var() / 20 / np.array([1, 5, 10]), rtol=0.12)
    # Two bootstrap means of one training set share its mean: total variance s²/n (1 + (1 - 1/n)/m), about.
    expected = y.var() / 20 * (1 + (1 - 1 / 20) / np.array([1, 5, 10]))
    np.testing.assert_allclose(found.bagged, expected, rtol=0.12)
    assert found.bias_bagged is None


def test_votes_stand_in_for_probabilities():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, "b", "a")
    found = measure_bag_variance(Perceptron(), X, y, sizes=(1, 8), n_repeats=10, random_state=0)
    assert found.independent[1] < found.independent[0]
    silent = measure_bag_variance(ConstantClass(), X, y, sizes=(1, 8), n_repeats=5, random_state=0)
    assert silent.bagged.tolist() == [0.0, 0.0]
    assert np.isnan(silent.correlation)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_rounds": 1}, "The 'n_rounds' argument must be an int >= 2; got 1."),
        ({"n_rounds": 2.5}, "The 'n_rounds' argument must be an int >= 2; got 2.5."),
        ({"loss": "hinge"}, "The 'loss' argument must be 'squared', 'zero_one' or None; got 'hinge'."),
        ({"random_state": "x"}, "random_state"),
    ],
)
def test_bad_wishes_are_refused_with_a_sentence(options, sentence):
    X, y = make_values()
    with pytest.raises((ValueError, TypeError)) as caught:
        estimate_bias_variance(LinearRegression(), X, y, **options)
    assert sentence in str(caught.value)


def test_bad_data_are_refused_with_a_sentence():
    X, y = make_values()
    with pytest.raises(ValueError, match="same number of rows; got 60 and 59"):
        estimate_bias_variance(LinearRegression(), X, y[:-1])
    with pytest.raises(ValueError, match="Squared loss needs numbers"):
        estimate_bias_variance(LinearRegression(), X, y.astype(str))
    with pytest.raises(TypeError, match="must be an object with the methods fit, predict and get_params"):
        estimate_bias_variance(LinearRegression, X, y)
    with pytest.raises(ValueError, match="at least one int"):
        measure_bag_variance(LinearRegression(), X, y, sizes=())
