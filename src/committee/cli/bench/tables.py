"""Synthetic benchmark data, reproducible from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["N_COLUMNS", "BenchmarkData", "make_feature_table", "make_problem", "make_sparse", "make_wide", "score_rows"]

N_COLUMNS = 28
N_FACTORS = 6
#: Columns of each kind: mixtures of latent factors, heavy-tailed, discrete, counts.
N_MIXED, N_HEAVY, N_DISCRETE, N_COUNTS = 12, 8, 4, 4


@dataclass(frozen=True)
class BenchmarkData:
    """Training and test rows; float32, dense or sparse."""

    X: Any
    y: NDArray[np.float64] | NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.float64] | NDArray[np.int64]


def make_feature_table(n_rows: int, seed: int = 0) -> NDArray[np.float32]:
    """Correlated, heavy-tailed, discrete and count columns, 28 in all, in C order.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    seed : int, default=0
        Seed of the rows; the correlations of the columns do not depend on it.

    Returns
    -------
    ndarray of shape (n_rows, 28)
    """
    shape = np.random.default_rng(20240)
    mixing = shape.normal(size=(N_FACTORS, N_MIXED + N_HEAVY))
    rng = np.random.default_rng((seed, n_rows))
    factors = rng.normal(size=(n_rows, N_FACTORS))
    X = np.empty((n_rows, N_COLUMNS), dtype=np.float32)
    mixed = factors @ mixing[:, :N_MIXED]
    X[:, :N_MIXED] = 0.4 * mixed + rng.normal(size=mixed.shape)
    # Half of the heavy tails are log-normal (positive and skewed), half are Student's t with three degrees of freedom.
    heavy = 0.4 * factors @ mixing[:, N_MIXED:] + rng.normal(size=(n_rows, N_HEAVY))
    half = N_MIXED + N_HEAVY // 2
    X[:, N_MIXED:half] = np.exp(heavy[:, : N_HEAVY // 2])
    tails = rng.chisquare(3, size=(n_rows, N_HEAVY // 2)) / 3.0
    X[:, half : N_MIXED + N_HEAVY] = heavy[:, N_HEAVY // 2 :] / np.sqrt(tails)
    first = N_MIXED + N_HEAVY
    for k in range(N_DISCRETE):
        cuts = np.linspace(-0.8, 0.8, 2 + k % 2)
        X[:, first + k] = np.searchsorted(cuts, factors[:, k] + rng.normal(size=n_rows))
    rates = np.exp(0.5 * factors[:, :N_COUNTS] + 1.0)
    X[:, first + N_DISCRETE :] = rng.poisson(rates)
    return X


def score_rows(X: NDArray[np.float32]) -> NDArray[np.float64]:
    """The signal in each row: sums, products, thresholds and sines of a third of the columns."""
    x = X.astype(np.float64)
    signal = 0.7 * x[:, 0] - 0.5 * x[:, 1] + 0.6 * x[:, 2] * (x[:, 20] > 0) - 0.4 * x[:, 3] * x[:, 4]
    signal += 0.8 * np.sin(1.5 * x[:, 5]) + 0.5 * np.log1p(x[:, 12]) - 0.6 * (x[:, 13] > 2.0)
    signal += 0.5 * np.tanh(x[:, 16]) + 0.4 * (x[:, 21] == 1) + 0.15 * np.minimum(x[:, 24], 8.0)
    return signal


def make_problem(kind: str, n_rows: int, n_test: int) -> BenchmarkData:
    """A table with a target.

    Parameters
    ----------
    kind : {"binary", "classes", "values"}
        Two classes, seven, or numbers.
    n_rows, n_test : int
        Training and test rows.

    Returns
    -------
    BenchmarkData
    """
    X = make_feature_table(n_rows + n_test)
    signal = score_rows(X)
    signal = (signal - signal.mean()) / signal.std()
    rng = np.random.default_rng((1, n_rows))
    y: NDArray[np.float64] | NDArray[np.int64]
    if kind == "binary":
        y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-1.85 * signal))).astype(np.int64)
    elif kind == "classes":
        cuts = np.array([-1.2, -0.7, -0.2, 0.2, 0.7, 1.2])
        y = np.searchsorted(cuts, signal + 0.3 * rng.normal(size=len(X))).astype(np.int64)
    else:
        y = signal + 0.5 * rng.normal(size=len(X))
    return BenchmarkData(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def make_wide(n_rows: int, n_columns: int, n_test: int) -> BenchmarkData:
    """Two classes that depend on twenty of many columns."""
    rng = np.random.default_rng((2, n_rows, n_columns))
    X = rng.normal(size=(n_rows + n_test, n_columns)).astype(np.float32)
    signal = X[:, :20].sum(axis=1) + 2.0 * X[:, 0] * X[:, 1]
    y = (signal + rng.normal(size=len(X)) > 0.0).astype(np.int64)
    return BenchmarkData(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def make_sparse(n_rows: int, n_columns: int, n_test: int) -> BenchmarkData:
    """Word counts with 1 % non-zero entries: CSC for training, CSR for testing."""
    from scipy.sparse import random as draw_sparse

    rng = np.random.default_rng((3, n_rows, n_columns))
    X = draw_sparse(n_rows + n_test, n_columns, density=0.01, format="csr", random_state=rng, dtype=np.float32)
    X.data = np.ceil(-np.log(1.0 - X.data) * 2.0).astype(np.float32)
    weights = np.where(np.arange(n_columns) % 5 == 0, rng.normal(size=n_columns), 0.0)
    signal = X @ weights
    y = (signal + 0.3 * rng.normal(size=len(signal)) > 0.0).astype(np.int64)
    return BenchmarkData(X[:n_rows].tocsc(), y[:n_rows], X[n_rows:], y[n_rows:])
