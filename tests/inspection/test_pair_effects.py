"""Effects of pairs: what is left when the effects of both alone are taken off."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_iris

from committee import HistGradientBoostingRegressor, RandomForestClassifier
from committee.exceptions import DataError, ParameterError
from committee.inspection import accumulated_pair_effects

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))


class Formula(RegressorMixin, BaseEstimator):
    def __init__(self, formula=None):
        self.formula = formula

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def predict(self, X):
        return self.formula(np.asarray(X, dtype=float))


def naive(predict, table, j, k, edges_j, edges_k):
    """[ApleyZhu2020], equations (16) to (18), one loop after another."""
    n_j, n_k = len(edges_j) - 1, len(edges_k) - 1
    cell = {}
    for row in table:
        a = min(max(int(np.searchsorted(edges_j, row[j])) - 1, 0), n_j - 1)
        b = min(max(int(np.searchsorted(edges_k, row[k])) - 1, 0), n_k - 1)
        total = 0.0
        for p, q, sign in ((1, 1, 1), (0, 1, -1), (1, 0, -1), (0, 0, 1)):
            moved = row.copy()
            moved[j], moved[k] = edges_j[a + p], edges_k[b + q]
            total += sign * predict(moved[None])[0]
        cell.setdefault((a, b), []).append(total)
    n = np.array([[len(cell.get((a, b), ())) for b in range(n_k)] for a in range(n_j)], dtype=float)
    g = np.zeros((n_j + 1, n_k + 1))
    for a in range(n_j):
        for b in range(n_k):
            g[a + 1, b + 1] = g[a, b + 1] + g[a + 1, b] - g[a, b] + np.mean(cell[a, b])
    along_j, along_k = np.zeros(n_j + 1), np.zeros(n_k + 1)
    for a in range(n_j):
        mean = sum(n[a, b] * (g[a + 1, b] - g[a, b] + g[a + 1, b + 1] - g[a, b + 1]) / 2 for b in range(n_k))
        along_j[a + 1] = along_j[a] + mean / n[a].sum()
    for b in range(n_k):
        mean = sum(n[a, b] * (g[a, b + 1] - g[a, b] + g[a + 1, b + 1] - g[a + 1, b]) / 2 for a in range(n_j))
        along_k[b + 1] = along_k[b] + mean / n[:, b].sum()
    g = g - along_j[:, None] - along_k
    corners = (g[1:, 1:] + g[:-1, 1:] + g[1:, :-1] + g[:-1, :-1]) / 4
    return g - (corners * n).sum() / n.sum()


def test_the_loops_of_the_paper_agree():
    model = HistGradientBoostingRegressor(max_iter=20).fit(X, X[:, 0] * X[:, 1] + np.sin(X[:, 2]))
    found = accumulated_pair_effects(model, X, (0, 1), grid_resolution=4)
    wanted = naive(model.predict, X, 0, 1, *found["grid_values"])
    np.testing.assert_allclose(found["average"][0], wanted, atol=1e-9)
    turned = accumulated_pair_effects(model, X, (1, 0), grid_resolution=4)
    np.testing.assert_allclose(turned["average"][0], found["average"][0].T, atol=1e-9)
    assert found["weights"].sum() == 400


def test_sums_have_none_and_products_have_their_own():
    apart = Formula(lambda t: np.exp(t[:, 0]) + t[:, 1] ** 3 + t[:, 2]).fit(X)
    assert np.abs(accumulated_pair_effects(apart, X, (0, 1))["average"]).max() < 1e-9
    product = Formula(lambda t: t[:, 0] * t[:, 1] + 5 * t[:, 0]).fit(X)
    found = accumulated_pair_effects(product, X, (0, 1), grid_resolution=8)
    across, up = found["grid_values"]
    steps = np.diff(np.diff(found["average"][0], axis=0), axis=1)
    np.testing.assert_allclose(steps, np.outer(np.diff(across), np.diff(up)), atol=1e-9)


def test_empty_cells_take_their_neighbours_and_missing_rows_none():
    table = np.repeat(RNG.normal(size=(200, 1)), 3, axis=1)  # on a line: most cells are empty
    table[:5, 0] = np.nan
    model = Formula(lambda t: t[:, 0] * t[:, 1]).fit(table)
    found = accumulated_pair_effects(model, table, (0, 1), grid_resolution=6)
    assert (found["weights"] == 0).any()
    assert np.isfinite(found["average"]).all()
    assert found["weights"].sum() == 195
    weighted = accumulated_pair_effects(model, table, (0, 1), grid_resolution=6, sample_weight=np.full(200, 2.0))
    np.testing.assert_allclose(weighted["average"], found["average"], atol=1e-12)


def test_classes_constants_and_what_is_refused():
    iris, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(iris, y)
    found = accumulated_pair_effects(forest, iris, (2, 3), grid_resolution=5)
    assert found["average"].shape[0] == 3
    np.testing.assert_allclose(found["average"].sum(axis=0), 0.0, atol=1e-12)
    flat = np.column_stack([np.ones(20), np.arange(20.0)])
    assert not accumulated_pair_effects(Formula(lambda t: t[:, 1]).fit(flat), flat, (0, 1))["average"].any()
    with pytest.raises(ParameterError, match="two features"):
        accumulated_pair_effects(forest, iris, (1,))
    with pytest.raises(DataError, match="No row"):
        accumulated_pair_effects(Formula(lambda t: t[:, 0]).fit(flat), np.full((3, 2), np.nan), (0, 1))
    frame = pd.DataFrame({"a": np.arange(40.0), "b": pd.Categorical(list("xy") * 20)})
    model = HistGradientBoostingRegressor(max_iter=2).fit(frame, frame["a"])
    with pytest.raises(DataError, match="'b' is a category"):
        accumulated_pair_effects(model, frame, ("a", "b"))
