"""Dependence on a few features, in the core against its twin."""

import numpy as np
import pytest

from committee import _core
from tests.core.random_trees import draw_rows
from tests.core.test_shap import CASES, N_FEATURES, combine_leaves, make_case
from tests.naive import dependence as naive


@pytest.mark.parametrize("features", [[2], [3, 1], [0, 1, 2, 3]])
@pytest.mark.parametrize(("name", "combine"), CASES)
def test_both_averages_are_those_of_the_twin(name, combine, features):
    arena, draw, X, weights, rng = make_case(name, 7)
    points = np.ascontiguousarray(draw_rows(rng, 9, draw, 0.1, np.float64)[:, features])
    asked, what = np.array(features, dtype=np.uint32), (combine, weights, None, arena.width)
    trees, leaves = zip(*combine_leaves(arena, draw.outputs, combine, weights), strict=True)
    by_weight = _core.average_by_weight(arena, asked, points, *what, 1)
    wanted = naive.average_by_weight(trees, leaves, features, points, N_FEATURES)
    np.testing.assert_allclose(by_weight, wanted, atol=1e-13)
    traced = _core.average_by_rows(arena, X, None, asked, points, *what, True, 1)
    wanted = naive.trace_rows(lambda rows: arena.predict(rows, combine, weights), X, features, points)
    np.testing.assert_allclose(traced, wanted, atol=1e-13)
    counts = rng.random(len(X))
    mean = _core.average_by_rows(arena, X, counts, asked, points, *what, False, 1)
    np.testing.assert_allclose(mean, np.average(wanted, axis=0, weights=counts), atol=1e-13)


def test_threads_do_not_matter():
    arena, draw, _, weights, rng = make_case("two outputs", 8, n_trees=90)
    X = draw_rows(rng, 300, draw, 0.1, np.float64)
    points, asked = np.ascontiguousarray(X[:40, [1, 3]]), np.array([1, 3], dtype=np.uint32)
    what = ("mean", weights, None, arena.width)
    one, many = (_core.average_by_weight(arena, asked, points, *what, n) for n in (1, 3))
    np.testing.assert_array_equal(one, many)
    for individual in (False, True):
        one, many = (_core.average_by_rows(arena, X, None, asked, points, *what, individual, n) for n in (1, 3))
        np.testing.assert_array_equal(one, many)


def test_misfits_are_refused():
    arena, _, X, _, _ = make_case("values", 9)
    points = np.zeros((3, 2))
    for features in ([0, 0], [0, 9]):
        with pytest.raises(ValueError, match="each at most once"):
            _core.average_by_weight(arena, np.array(features, dtype=np.uint32), points, "sum", None, None, 1, 1)
    asked = np.array([0, 1], dtype=np.uint32)
    with pytest.raises(ValueError, match="one column for each feature"):
        _core.average_by_weight(arena, asked[:1], points, "sum", None, None, 1, 1)
    with pytest.raises(ValueError, match="stripped"):
        _core.average_by_weight(arena.stripped(), asked, points, "sum", None, None, 1, 1)
    with pytest.raises(ValueError, match="positive sum"):
        _core.average_by_rows(arena, X, np.zeros(5), asked, points, "sum", None, None, 1, False, 1)
