"""Linear model and neighbours beside scikit-learn's, and rows that count twice."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from committee.automatic.encoding import learn_encoding
from committee.automatic.plain_members import LinearMember, NeighbourMember, PlainMember, PriorMember


def test_the_logistic_model_is_scikit_learns() -> None:
    X, y = load_iris(return_X_y=True)
    scaled = StandardScaler().fit_transform(X)
    for rows in (slice(None), slice(0, 100)):
        ours = LinearMember(True).fit(X[rows], y[rows]).predict_proba(X[rows])
        theirs = LogisticRegression(max_iter=1000).fit(StandardScaler().fit_transform(X[rows]), y[rows])
        again = StandardScaler().fit_transform(X[rows])
        np.testing.assert_allclose(ours, theirs.predict_proba(again), atol=2e-3)
    assert scaled.shape == X.shape


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


@pytest.mark.parametrize("kind", [PriorMember, LinearMember, NeighbourMember])
@pytest.mark.parametrize("classify", [True, False])
def test_a_weight_is_so_many_rows(kind: type[PlainMember], classify: bool) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(120, 3)), rng.integers(0, 4, size=120)])
    X[::9, 1] = np.nan
    y = rng.integers(0, 3, size=120) if classify else rng.normal(size=120)
    counts = rng.integers(0, 4, size=120)
    repeats = np.repeat(np.arange(120), counts)
    weighted = kind(classify, [3]).fit(X, y, sample_weight=counts.astype(float))
    repeated = kind(classify, [3]).fit(X[repeats], y[repeats])
    ask = "predict_proba" if classify else "predict"
    atol = 1e-3 if classify and kind is LinearMember else 1e-9
    np.testing.assert_allclose(getattr(weighted, ask)(X), getattr(repeated, ask)(X), atol=atol)


def test_odd_columns_are_encoded_as_finite_numbers() -> None:
    X = np.column_stack(
        [np.full(6, 7.0), np.full(6, np.nan), [1e308, -1e308, 1e308, 0.0, np.nan, 1.0], [0, 1, 2, 0, 0, np.nan]]
    )
    encoding = learn_encoding(X, np.ones(6), [3])
    for rows in (X, np.full((2, 4), np.nan), np.full((2, 4), 1e308)):
        encoded = encoding.encode(rows)
        assert np.isfinite(encoded).all()
        assert encoded.shape == (len(rows), 3 + 3 + 3)
    assert not encoding.encode(X)[:, 0].any()
