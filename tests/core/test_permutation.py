"""Predictions under permutation, and columns of a binned table, against their twins."""

import numpy as np
import pytest

from committee import _core
from tests.core.random_trees import draw_rows
from tests.core.test_shap import CASES, N_FEATURES, make_case
from tests.naive.importance import predict_permuted


@pytest.mark.parametrize(("name", "combine"), CASES)
def test_predictions_are_those_of_the_permuted_table(name, combine):
    arena, draw, _, weights, rng = make_case(name, 11)
    X = draw_rows(rng, 60, draw, 0.1, np.float64)
    study = _core.PermutationStudy(arena, X, combine, weights, None, arena.width, 1)
    for feature in range(N_FEATURES):
        orders = np.stack([rng.permutation(60) for _ in range(3)]).astype(np.uint32)
        wanted = predict_permuted(lambda rows: arena.predict(rows, combine, weights), X, feature, orders)
        np.testing.assert_array_equal(study.predict(feature, orders), wanted)


def test_threads_and_blocks_do_not_matter():
    arena, draw, _, weights, rng = make_case("values", 12)
    X = draw_rows(rng, 1700, draw, 0.1, np.float32)
    slots = np.array([1, 0, 1], dtype=np.uint32)
    orders = np.stack([rng.permutation(1700) for _ in range(2)]).astype(np.uint32)
    one, many = (_core.PermutationStudy(arena, X, "sum", weights, slots, 2, n).predict(1, orders) for n in (1, 3))
    np.testing.assert_array_equal(one, many)
    wanted = predict_permuted(lambda rows: arena.predict(rows, "sum", weights, slots, 2), X, 1, orders)
    np.testing.assert_array_equal(one, wanted)


def test_misfits_are_refused():
    arena, _, X, _, _ = make_case("values", 13)
    study = _core.PermutationStudy(arena, X, "sum", None, None, 1, 1)
    orders = np.zeros((1, 5), dtype=np.uint32)
    with pytest.raises(ValueError, match="a column of X"):
        study.predict(9, orders)
    with pytest.raises(ValueError, match="does not exist"):
        study.predict(0, orders + 5)
    with pytest.raises(ValueError, match="one column for each row"):
        study.predict(0, orders[:, :4].copy())
    with pytest.raises(ValueError, match="X must have 4 columns"):
        _core.PermutationStudy(arena, X[:, :2], "sum", None, None, 1, 1)


def test_selected_columns_are_those_of_the_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 70))
    X[:, 3] = rng.integers(0, 400, 300)
    X[::7, 5] = np.nan
    n_levels = np.zeros(70, dtype=np.uint32)
    n_levels[3] = 400
    whole = _core.BinMapper.fit(X, None, n_levels, 255, 1).transform(X, 1)
    chosen = np.array([5, 3, 69, 0], dtype=np.uint32)
    some = _core.select_columns(whole, chosen)
    columns = np.ascontiguousarray(X[:, chosen])
    wanted = _core.BinMapper.fit(columns, None, n_levels[chosen], 255, 1).transform(columns, 1)
    assert (some.n_rows, some.n_cols) == (300, 4)
    np.testing.assert_array_equal(some.columns, wanted.columns)
    np.testing.assert_array_equal(some.wide_codes(1), wanted.wide_codes(1))
    with pytest.raises(ValueError, match="below 70"):
        _core.select_columns(whole, np.array([70], dtype=np.uint32))
