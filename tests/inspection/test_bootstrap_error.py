"""The .632 and .632+ estimates of error."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1, make_moons
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import mean_absolute_error, mean_squared_error, zero_one_loss
from sklearn.neighbors import KNeighborsClassifier

from committee import DecisionTreeClassifier, DecisionTreeRegressor, estimate_bootstrap_error
from committee.inspection.bootstrap_error import combine_errors
from committee.inspection.resampling import draw_bootstrap
from tests.naive.bagging import estimate_632_plus


@pytest.mark.parametrize("member", [KNeighborsClassifier(1), DecisionTreeClassifier()])
def test_labels_by_the_toss_of_a_coin_are_half_wrong(member):
    plus, plain = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(120, 5)), rng.permutation(np.repeat([0, 1], 60))
        found = estimate_bootstrap_error(member, X, y, n_rounds=40, random_state=seed)
        assert found.apparent == 0.0
        assert found.no_information == pytest.approx(0.5)
        plus.append(found.error_632_plus)
        plain.append(found.error_632)
    assert np.mean(plus) == pytest.approx(0.5, abs=0.05)
    assert np.mean(plain) < 0.36


def test_the_error_of_each_row_is_that_of_the_fits_without_it():
    X, y = make_moons(60, noise=0.3, random_state=0)
    member = LogisticRegression()
    found = estimate_bootstrap_error(member, X, y, n_rounds=30, random_state=3)
    wrong = [[] for _ in y]
    for k in range(30):
        rows = draw_bootstrap(60, 3, k)
        fitted = LogisticRegression().fit(X[rows], y[rows])
        for i in set(range(60)) - set(rows.tolist()):
            wrong[i].append(fitted.predict(X[i : i + 1])[0] != y[i])
    leave_one_out = np.mean([np.mean(own) for own in wrong])
    predicted = member.fit(X, y).predict(X)
    gamma = np.mean([[a != b for b in predicted] for a in y])
    assert found.leave_one_out == pytest.approx(leave_one_out)
    assert found.no_information == pytest.approx(gamma)
    assert found.error_632_plus == pytest.approx(estimate_632_plus(np.mean(predicted != y), leave_one_out, gamma))


@pytest.mark.parametrize(
    ("loss", "pairwise"), [("squared", lambda a, b: (a - b) ** 2), ("absolute", lambda a, b: np.abs(a - b))]
)
def test_without_information_all_pairs_count(loss, pairwise):
    X, y = make_friedman1(50, noise=1.0, random_state=0)
    found = estimate_bootstrap_error(LinearRegression(), X, y, loss=loss, n_rounds=10, random_state=0)
    predicted = LinearRegression().fit(X, y).predict(X)
    assert found.no_information == pytest.approx(pairwise(y[:, None], predicted[None, :]).mean())
    assert found.apparent == pytest.approx(pairwise(y, predicted).mean())


def test_the_estimate_is_near_the_truth():
    X, y = make_friedman1(2200, noise=1.0, random_state=1)
    found = estimate_bootstrap_error(DecisionTreeRegressor(min_samples_leaf=5), X[:200], y[:200], random_state=0)
    truth = mean_squared_error(
        y[200:], DecisionTreeRegressor(min_samples_leaf=5).fit(X[:200], y[:200]).predict(X[200:])
    )
    assert found.error_632_plus == pytest.approx(truth, rel=0.25)
    assert found.apparent < found.error_632 < found.error_632_plus <= found.leave_one_out


@pytest.mark.parametrize(("metric", "loss"), [(zero_one_loss, "zero_one")])
def test_a_metric_agrees_with_the_loss_of_its_name(metric, loss):
    X, y = make_moons(150, noise=0.3, random_state=0)
    by_metric = estimate_bootstrap_error(DecisionTreeClassifier(max_depth=3), X, y, loss=metric, random_state=0)
    by_loss = estimate_bootstrap_error(DecisionTreeClassifier(max_depth=3), X, y, loss=loss, random_state=0)
    assert by_metric.apparent == pytest.approx(by_loss.apparent)
    assert by_metric.error_632_plus == pytest.approx(by_loss.error_632_plus, rel=0.05)
    assert by_metric.no_information == pytest.approx(by_loss.no_information, rel=0.05)


def test_any_metric_of_the_error_kind_will_do():
    X, y = make_friedman1(80, noise=1.0, random_state=0)
    found = estimate_bootstrap_error(LinearRegression(), X, y, loss=mean_absolute_error, n_rounds=20, random_state=0)
    assert 0 < found.apparent < found.error_632 <= found.error_632_plus


@pytest.mark.parametrize(
    "errors", [(0.0, 0.5, 0.5), (0.1, 0.3, 0.5), (0.1, 0.6, 0.5), (0.2, 0.1, 0.5), (0.3, 0.4, 0.2), (0.0, 0.0, 0.0)]
)
def test_the_combination_is_the_papers(errors):
    found = combine_errors(*errors)
    assert found.error_632_plus == pytest.approx(estimate_632_plus(*errors))
    assert found.error_632 == pytest.approx(0.368 * errors[0] + 0.632 * errors[1])
    assert 0.0 <= found.overfitting <= 1.0
    assert 0.632 <= found.weight <= 1.0


def test_threads_and_processes_do_not_change_it():
    X, y = make_moons(80, noise=0.3, random_state=0)
    one, two = (
        estimate_bootstrap_error(DecisionTreeClassifier(), X, y, n_rounds=20, random_state=0, n_jobs=k) for k in (1, 2)
    )
    assert one == two


def test_bad_wishes_are_refused_with_a_sentence():
    X, y = make_moons(20, random_state=0)
    with pytest.raises(
        TypeError, match="'loss' argument must be 'zero_one', 'squared', 'absolute', a callable or None"
    ):
        estimate_bootstrap_error(LogisticRegression(), X, y, loss="hinge")
    with pytest.raises(ValueError, match="'n_rounds' argument must be an int >= 1; got 0"):
        estimate_bootstrap_error(LogisticRegression(), X, y, n_rounds=0)
    with pytest.raises(ValueError, match="needs numbers"):
        estimate_bootstrap_error(LogisticRegression(), X, y.astype(str), loss="squared")
