"""Tables and options on which boosting over blocks is compared with boosting over one table."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee import _core
from committee.engines.block_boosting import BlockBoosting
from committee.engines.hosts import LocalHosts

N_ROWS = 5000
CUTS: dict[int, list[int]] = {
    1: [0, N_ROWS],
    3: [0, 700, 700, N_ROWS],  # one is empty
    17: sorted({0, N_ROWS, *np.random.default_rng(7).integers(1, N_ROWS, 16).tolist()}),
}


def make_table(n_rows: int = N_ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, missing values, columns of few values, categories and a category of many levels; levels of each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 9))
    X[rng.random(n_rows) < 0.1, 1] = np.nan
    for column, n_levels in ((2, 2), (3, 3), (4, 12), (5, 2), (6, 2)):
        X[:, column] = rng.integers(0, n_levels, n_rows)
    X[:, 7] = rng.integers(0, 400, n_rows)
    X[rng.random(n_rows) < 0.05, 7] = np.nan
    levels = np.zeros(9, dtype=np.uint32)
    levels[4], levels[7] = 12, 400
    return X, levels


def make_target(X: np.ndarray, loss: str, n_scores: int = 1) -> np.ndarray:
    """A target that the loss takes, of all outputs one after another."""
    rng = np.random.default_rng(1)
    signal = np.nan_to_num(X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.3 * X[:, 4] + 0.01 * X[:, 7])
    signal = signal + 0.5 * rng.normal(size=len(X))
    if loss == "softmax":
        return np.digitize(signal, np.quantile(signal, np.arange(1, n_scores) / n_scores)).astype(float)
    if loss in ("logistic", "exponential"):
        return (signal > np.median(signal)).astype(float)
    if loss in ("poisson", "gamma", "tweedie"):
        signal = np.exp(signal / 4.0)
    return np.concatenate([signal + 0.3 * k * rng.normal(size=len(X)) for k in range(n_scores)])


def make_bins(X: np.ndarray, levels: np.ndarray) -> _core.BinnedMatrix:
    return _core.BinMapper.fit(X, None, levels, 255, 1).transform(X, 1)


def make_params(**options: Any) -> _core.BoostingParams:
    params = _core.BoostingParams()
    params.n_jobs = 1
    for name, value in options.items():
        setattr(params, name, value)
    return params


def boost_plain(bins, y, weights, loss, params, rounds=4):
    name, parameter, n_scores, levels = loss
    state = _core.Boosting(bins, y, weights, name, parameter, n_scores, params, list(levels))
    state.add_constant(state.find_baseline())
    return state, [np.asarray(part) for part in state.boost_measured(rounds, params.subsample < 1.0)]


def open_blocks(bins, y, weights, loss, params, cuts, hosts=None, **how) -> BlockBoosting:
    return BlockBoosting(hosts or LocalHosts(), bins, cuts, y, weights, loss, params, **how)


def boost_blocks(bins, y, weights, loss, params, cuts, rounds=4, **how):
    blocks = open_blocks(bins, y, weights, loss, params, cuts, **how)
    blocks.state.add_constant(blocks.state.find_baseline())
    return blocks, [np.asarray(part) for part in blocks.state.boost_measured(rounds, params.subsample < 1.0)]


def assert_same(plain, state) -> None:
    """The same trees, scores and gains, to the byte."""
    one, other = plain.finish(), state.finish()
    for name in ("nodes", "node_offsets", "values", "leaf_samples", "leaf_weights", "category_words"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert np.asarray(plain.scores).tobytes() == np.asarray(state.scores).tobytes()
    assert np.asarray(plain.gains).tobytes() == np.asarray(state.gains).tobytes()


X, LEVELS = make_table()
BINS = make_bins(X, LEVELS)
NAN = float("nan")
LOGISTIC = ("logistic", NAN, 1, [])
SQUARED = ("squared_error", NAN, 1, [])
WHOLE = np.random.default_rng(3).integers(0, 4, N_ROWS).astype(float)
FRACTIONS = np.random.default_rng(4).random(N_ROWS)
