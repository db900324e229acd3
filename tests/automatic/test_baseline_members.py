"""Linear model and neighbours beside scikit-learn's, and rows that count twice."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from committee.automatic.baseline_members import (
    BaselineMember,
    LinearMember,
    NeighbourMember,
    PriorMember,
    _leave_out_of_values,
    fit_few_steps,
    fit_two_classes,
)
from committee.automatic.bayes_member import BayesMember
from committee.automatic.encoding import fit_encoding
from committee.automatic.kernel_member import (
    KernelMember,
    _choose_width,
    _LandmarkDistances,
    _measure_distances,
    _Ridge,
)
from committee.typing import FloatArray


def test_the_logistic_model_is_scikit_learns() -> None:
    X, y = load_iris(return_X_y=True)
    scaled = StandardScaler().fit_transform(X)
    for rows in (slice(None), slice(0, 100)):
        ours = LinearMember(True).fit(X[rows], y[rows]).predict_proba(X[rows])
        theirs = LogisticRegression(max_iter=1000).fit(StandardScaler().fit_transform(X[rows]), y[rows])
        again = StandardScaler().fit_transform(X[rows])
        np.testing.assert_allclose(ours, theirs.predict_proba(again), atol=2e-3)
    assert scaled.shape == X.shape


@pytest.mark.parametrize(("n_rows", "n_columns"), [(50, 3), (300, 20), (30, 60), (2, 1)])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_newton_steps_find_scikit_learns_model(n_rows: int, n_columns: int, scale: float) -> None:
    rng = np.random.default_rng(0)
    table, counts = scale * rng.normal(size=(n_rows, n_columns)), rng.uniform(0.5, 2.0, n_rows)
    labels = (table[:, 0] / scale + rng.normal(size=n_rows) > 0.0).astype(float)
    labels[:2] = 0.0, 1.0
    coef, intercept = fit_two_classes(table, labels, counts)
    theirs = LogisticRegression(tol=1e-8, max_iter=5000, solver="newton-cholesky").fit(table, labels, counts)
    ours = 1.0 / (1.0 + np.exp(-(table @ coef + intercept)))
    np.testing.assert_allclose(ours, theirs.predict_proba(table)[:, 1], atol=5e-3)


def test_few_steps_of_two_classes_are_newtons() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    few, many = (LinearMember(True, max_steps=steps).fit(X, y).predict_proba(X) for steps in (40, 200))
    np.testing.assert_allclose(few, many, atol=2e-3)
    assert not np.array_equal(few, many)


def test_the_kernel_has_at_most_so_many_landmarks() -> None:
    X, y = load_diabetes(return_X_y=True)
    assert len(KernelMember(False, n_landmarks=100).fit(X, y).landmarks_) == 100
    assert len(KernelMember(False).fit(X, y).landmarks_) == len(X)


def test_the_ridge_is_one_of_scikit_learns() -> None:
    X, y = load_diabetes(return_X_y=True)
    member = LinearMember(False).fit(X, y)
    Z = member.encoding_.encode(X)
    fits = [Ridge(alpha).fit(Z, y).predict(Z) for alpha in np.logspace(-3, 6, 19)]
    assert min(float(np.abs(fit - member.predict(X)).max()) for fit in fits) < 1e-8


def test_more_columns_than_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 80)), rng.normal(size=30)
    assert np.isfinite(LinearMember(False).fit(X, y).predict(X)).all()


def test_neighbours_are_scikit_learns() -> None:
    X, y = load_diabetes(return_X_y=True)
    ours = NeighbourMember(False).fit(X, y)
    Z = ours.encoding_.encode(X)
    np.testing.assert_allclose(ours.predict(X[:50]), KNeighborsRegressor(15).fit(Z, y).predict(Z[:50]), rtol=1e-12)


@pytest.mark.parametrize("kind", [PriorMember, LinearMember, NeighbourMember, KernelMember, BayesMember])
@pytest.mark.parametrize("classify", [True, False])
def test_a_weight_is_so_many_rows(kind: type[BaselineMember], classify: bool) -> None:
    if kind is BayesMember and not classify:
        pytest.skip("naive Bayes is for classes")
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(120, 3)), rng.integers(0, 4, size=120)])
    X[::9, 1] = np.nan
    y = rng.integers(0, 3, size=120) if classify else rng.normal(size=120)
    counts = rng.integers(0, 4, size=120)
    repeats = np.repeat(np.arange(120), counts)
    weighted = kind(classify, [3]).fit(X, y, sample_weight=counts.astype(float))
    repeated = kind(classify, [3]).fit(X[repeats], y[repeats])
    method = "predict_proba" if classify else "predict"
    # The logistic model stops where little is to be gained, and kernels that copy their rows are nearly singular.
    atol = 1e-3 if kind is KernelMember or (classify and kind is LinearMember) else 1e-9
    np.testing.assert_allclose(getattr(weighted, method)(X), getattr(repeated, method)(X), atol=atol)


def test_the_kernel_member_is_a_ridge_with_leave_one_out_predictions() -> None:
    rng = np.random.default_rng(0)
    table, y_true = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    ridge = _Ridge(_LandmarkDistances.measure(table, table[:15]), 4.0, y_true, np.ones(40))
    near, far = (np.exp(_measure_distances(rows, table[:15]) / -4.0) for rows in (table[:15], table))
    root = np.linalg.cholesky(near + 1e-8 * 15 * np.eye(15))
    features = np.linalg.solve(root, far.T).T

    def fit(rows: np.ndarray) -> np.ndarray:
        centre, mean = features[rows].mean(axis=0), y_true[rows].mean(axis=0)
        shifted = features[rows] - centre
        coef = np.linalg.solve(shifted.T @ shifted + ridge._penalty * np.eye(15), shifted.T @ (y_true[rows] - mean))
        return np.asarray((features - centre) @ coef + mean)

    coef, intercept = ridge.find_coefficients()
    np.testing.assert_allclose(far @ coef + intercept, fit(np.arange(40)), atol=1e-6)
    without = np.array([fit(np.delete(np.arange(40), k))[k] for k in range(40)])
    # The centre of the features moves a little with the row, which the leverage counts as well.
    np.testing.assert_allclose(ridge.predict_loo(), without, atol=1e-6)


def test_the_kernel_sees_rings() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = ((X**2).sum(axis=1) > 1.4).astype(int)
    member = KernelMember(True).fit(X[:400], y[:400])
    assert (member.predict(X[400:]) == y[400:]).mean() > 0.95
    predictions = member.pop_loo_predictions()
    assert predictions.shape == (400, 2)
    np.testing.assert_allclose(predictions.sum(axis=1), 1.0)
    assert (LinearMember(True).fit(X[:400], y[:400]).predict(X[400:]) == y[400:]).mean() < 0.7


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_the_kernel_of_a_few_rows(n_rows: int) -> None:
    X, y = np.zeros((n_rows, 2)), np.arange(n_rows) % 2
    assert np.isfinite(KernelMember(False).fit(X, y.astype(float)).predict(X)).all()
    assert np.isfinite(KernelMember(True).fit(X, y).predict_proba(X)).all()


def test_odd_columns_are_encoded_as_finite_numbers() -> None:
    X = np.column_stack(
        [np.full(6, 7.0), np.full(6, np.nan), [1e308, -1e308, 1e308, 0.0, np.nan, 1.0], [0, 1, 2, 0, 0, np.nan]]
    )
    encoding = fit_encoding(X, np.ones(6), [3])
    for rows in (X, np.full((2, 4), np.nan), np.full((2, 4), 1e308)):
        encoded = encoding.encode(rows)
        assert np.isfinite(encoded).all()
        assert encoded.shape == (len(rows), 3 + 3 + 3)
    assert not encoding.encode(X)[:, 0].any()


def make_bins(n_rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=n_rows)
    X = np.column_stack(
        [rng.normal(size=n_rows) + y, (y + rng.integers(0, 2, size=n_rows)) % 4, rng.normal(size=n_rows)]
    )
    X[::7, 0] = np.nan
    return X, y


def test_naive_bayes_is_the_formula() -> None:
    X, y = make_bins()
    member = BayesMember(True, [1]).fit(X, y)

    def find_bin(column: int, value: float) -> float:
        if np.isnan(value):
            return -1.0
        return value if column == 1 else float((value > member.cuts_[column]).sum())

    bins = np.array([[find_bin(f, X[i, f]) for f in range(3)] for i in range(len(X))])

    def score(row: int, others: np.ndarray) -> np.ndarray:
        logs = np.zeros(3)
        for c in range(3):
            own = others & (y == c)
            logs[c] = np.log((own.sum() + 1.0) / (len(y) + 3.0))
            for f in range(3):
                here, q = (own & (bins[:, f] == bins[row, f])).sum(), (bins[:, f] == bins[row, f]).mean()
                logs[c] += member.slope_ * np.log((here + 2.0 * q) / (own.sum() + 2.0))
        return np.exp(logs) / np.exp(logs).sum()

    everyone = np.ones(len(y), dtype=bool)
    np.testing.assert_allclose(member.predict_proba(X), [score(i, everyone) for i in range(len(y))], atol=1e-12)
    left_out = [score(i, np.arange(len(y)) != i) for i in range(len(y))]
    np.testing.assert_allclose(member.pop_loo_predictions(), left_out, atol=1e-12)
    assert 0.2 < member.slope_ < 1.5


def test_naive_bayes_takes_levels_and_gaps_it_has_not_met() -> None:
    X, y = make_bins()
    member = BayesMember(True, [1]).fit(X, y)
    strange = np.array([[np.nan, 9.0, np.nan], [0.0, np.nan, 99.0]])
    np.testing.assert_allclose(member.predict_proba(strange).sum(axis=1), 1.0)
    assert BayesMember(True).fit(X[:, [2]], np.zeros(150, dtype=int)).predict_proba(X[:3, [2]]).tolist() == [[1.0]] * 3


@pytest.mark.parametrize("n_classes", [2, 4])
def test_few_steps_are_those_of_scikit_learn(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    table, counts = rng.normal(size=(300, 6)), rng.integers(1, 4, size=300).astype(float)
    labels = (table @ rng.normal(size=(6, n_classes)) + rng.gumbel(size=(300, n_classes))).argmax(axis=1)
    coef, intercept = fit_few_steps(table, np.eye(n_classes)[labels], counts, 200)
    model = LogisticRegression(max_iter=200).fit(table, labels, sample_weight=counts)
    np.testing.assert_allclose(coef, model.coef_, atol=1e-4)
    np.testing.assert_allclose(intercept, model.intercept_, atol=1e-4)
    early, _ = fit_few_steps(table, np.eye(n_classes)[labels], counts, 2)
    assert np.abs(early - coef).max() > 1e-3


@pytest.mark.parametrize("classify", [True, False])
def test_linear_members_leave_folds_out(classify: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    values = X @ rng.normal(size=5) + rng.normal(size=200)
    y = (values > 0.0).astype(np.intp) if classify else values

    def predict(member: LinearMember, rows: FloatArray) -> FloatArray:
        return member.predict_proba(rows) if classify else member.predict(rows)[:, None]

    member, tests = LinearMember(classify, max_steps=40), [np.arange(0, 200, 4), np.arange(1, 200, 4)]
    left_out = member.fit_and_leave_out(X, y, tests)
    alone = LinearMember(classify, max_steps=40).fit(X, y)
    np.testing.assert_allclose(member.coef_, alone.coef_, rtol=1e-4)
    assert vars(member).keys() == vars(alone).keys()
    assert np.isnan(left_out[2::4]).all()
    for test in tests:
        others = np.setdiff1d(np.arange(200), test)
        slow = predict(LinearMember(classify, max_steps=40).fit(X[others], y[others]), X[test])
        # The encoding and the penalty are those of all rows, and one step of Newton's is nearly the end.
        assert np.abs(left_out[test] - slow).max() < 0.2 * np.abs(predict(member, X[test]) - slow).max()


def test_ridge_leaves_out_what_a_fit_on_the_others_does_not_see() -> None:
    rng = np.random.default_rng(1)
    rows, values, test = rng.normal(size=(40, 3)), rng.normal(size=40), np.arange(10)
    rows -= rows.mean(axis=0)
    values -= values.mean()
    left_out = _leave_out_of_values(rows, values, np.ones(40), rows.T @ rows, 2.0, [test])
    slow = Ridge(alpha=2.0).fit(rows[10:], values[10:]).predict(rows[:10])
    np.testing.assert_allclose(left_out[:10], slow)
    assert np.isnan(left_out[10:]).all()


def test_a_last_step_ends_a_fit_of_many_columns() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 60)) @ rng.normal(size=(60, 60))
    y = (X[:, 0] + 5.0 * rng.normal(size=2000) > 0.0).astype(np.intp)
    one, few, many = (LinearMember(True, max_steps=steps) for steps in (12, 12, 400))
    one.fit_and_leave_out(X, y, [np.arange(500)])
    distances = [np.abs(member.coef_ - many.fit(X, y).coef_).max() for member in (one, few.fit(X, y))]
    assert distances[0] < 0.3 * distances[1]


@pytest.mark.parametrize("best", [0.05, 0.15, 0.5, 1.5])
def test_the_width_with_the_least_score_is_found_by_three_fits(best: float) -> None:
    asked: list[float] = []

    def measure(width: float) -> float:
        asked.append(width)
        return float(np.abs(np.log(width / best)))

    assert _choose_width(measure) == best
    assert len(asked) == 3
    assert _choose_width(lambda _: 1.0) == 0.05
