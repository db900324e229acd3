"""Prediction on bytes: the same bytes as the plain walk, wherever there is such a form."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee import _core
from tests.core.random_trees import Draw, draw_rows, draw_tree

DRAWS = {
    "values": Draw(n_leaves=60, grid=9),
    "one leaf": Draw(n_leaves=1),
    "stumps": Draw(n_leaves=2, grid=5),
    "wide values": Draw(n_leaves=20, grid=9, width=3),
    "counts": Draw(n_leaves=40, grid=9, outputs=[3], counts=5),
    "weights of classes": Draw(n_leaves=40, grid=9, outputs=[4]),
    "more classes than features": Draw(n_leaves=40, grid=9, outputs=[7], counts=5),
    "outputs": Draw(n_leaves=40, grid=9, outputs=[2, 3], counts=5),
    "double thresholds": Draw(n_leaves=20, exact_floats=False),
    "one feature": Draw(n_leaves=50, n_features=1, grid=30),
    "many features": Draw(n_leaves=50, n_features=300, grid=9),
    "many leaves": Draw(n_leaves=700, grid=250),
}


def make_pure(tree: dict[str, Any], rng: np.random.Generator) -> None:
    """One class a leaf."""
    value = tree["value"]
    kept = rng.integers(value.shape[1], size=len(value))
    value[np.arange(value.shape[1]) != kept[:, None]] = 0.0
    value[np.arange(len(value)), kept] += 1.0


def make(draw: Draw, n_trees: int, seed: int, n_pure: int = 0) -> tuple[_core.Trees, np.random.Generator]:
    rng = np.random.default_rng(seed)
    grown = [draw_tree(rng, draw) for _ in range(n_trees)]
    for tree in grown[:n_pure]:
        make_pure(tree, rng)
    return _core.testing.build_trees(grown, draw.outputs, draw.n_features), rng


def assert_bytes_are_plain(trees: _core.Trees, X: np.ndarray, combine: str, **options: Any) -> None:
    wanted = _core.testing.predict_by_path(trees, X, combine, **options, path="plain")
    assert _core.testing.predict_by_path(trees, X, combine, **options, path="bytes").tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("name", DRAWS)
def test_the_same_bytes_as_the_plain_walk(name: str, missing: float, dtype: type) -> None:
    draw = DRAWS[name]
    for n_pure in (0, 2, 5) if len(draw.outputs) == 1 else (0,):
        trees, rng = make(draw, 5, len(name), n_pure)
        X = draw_rows(rng, 1100, draw, missing, dtype)
        for combine in ("sum", "mean", "vote") if draw.outputs else ("sum", "mean"):
            assert_bytes_are_plain(trees, X, combine)
            assert_bytes_are_plain(trees, X, combine, tree_weights=np.array([1.0, 0.5, -0.25, 3.0, 0.0]))
            assert_bytes_are_plain(trees, X, combine, first=1, last=4)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_leaves=st.integers(1, 90),
    n_rows=st.integers(0, 600),
    n_features=st.integers(1, 70),
    n_classes=st.integers(0, 4),
    n_pure=st.integers(0, 3),
    double=st.booleans(),
)
def test_random_forests(
    seed: int, n_leaves: int, n_rows: int, n_features: int, n_classes: int, n_pure: int, double: bool
) -> None:
    outputs = [n_classes] if n_classes else []
    draw = Draw(n_leaves, n_features, outputs, counts=5, grid=20)
    trees, rng = make(draw, 3, seed, n_pure if outputs else 0)
    X = draw_rows(rng, n_rows, draw, 0.0, np.float64 if double else np.float32)
    assert_bytes_are_plain(trees, X, "mean", n_jobs=1 + seed % 3)


def test_a_byte_names_254_thresholds() -> None:
    """A chain of splits at 0, 1, 2, ..., in which row i ends at its own step."""
    for n in (254, 255):
        inner, leaf = np.arange(n), np.full(n + 1, -1)
        tree = {
            "children_left": np.concatenate([n + inner, leaf]),
            "children_right": np.concatenate([inner[1:], [2 * n], leaf]),
            "feature": np.concatenate([0 * inner, leaf - 1]),
            "threshold": np.concatenate([inner, leaf]).astype(float),
            "n_node_samples": np.ones(2 * n + 1, int),
            "weighted_n_node_samples": np.ones(2 * n + 1),
            "impurity": np.zeros(2 * n + 1),
            "value": np.arange(2 * n + 1, dtype=float),
        }
        trees = _core.testing.build_trees([tree], [], 1)
        X = np.concatenate([[-np.inf], np.arange(0, n, 0.5), [np.inf]])[:, None]
        if n <= 254:
            assert_bytes_are_plain(trees, X, "sum")
            continue
        with pytest.raises(ValueError, match="254 thresholds"):
            _core.testing.predict_by_path(trees, X, path="bytes")
        np.testing.assert_array_equal(
            trees.predict(X, "sum"), _core.testing.predict_by_path(trees, X, "sum", path="plain")
        )


def test_categories_have_no_bytes() -> None:
    trees, rng = make(Draw(categorical=(0,)), 3, 0)
    with pytest.raises(ValueError, match="categories"):
        _core.testing.predict_by_path(trees, draw_rows(rng, 9, Draw(categorical=(0,))), path="bytes")


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_large_forests_take_them_by_themselves(n_jobs: int) -> None:
    draw = Draw(n_leaves=300, grid=250, outputs=[2], counts=5)
    trees, rng = make(draw, 12, 3, 6)
    X = draw_rows(rng, 3000, draw, 0.0)
    X[1500, 2] = np.nan  # one block has a missing value, the others none
    for view in (X, np.asfortranarray(X), X[::-1]):
        assert (
            trees.predict(view, n_jobs=n_jobs).tobytes()
            == _core.testing.predict_by_path(trees, view, path="plain").tobytes()
        )


def test_many_small_batches_take_them_in_the_end() -> None:
    """The words pay when calls have asked for enough rows together; no call can tell."""
    draw = Draw(n_leaves=300, grid=250, outputs=[3], counts=5)
    trees, rng = make(draw, 12, 4, 12)
    X = draw_rows(rng, 640, draw, 0.0)
    wanted = _core.testing.predict_by_path(trees, X, path="plain")
    for first in range(0, 640, 16):
        assert trees.predict(X[first : first + 16], n_jobs=1).tobytes() == wanted[first : first + 16].tobytes()


@pytest.mark.parametrize("n_features", [128, 129, 256, 257])
def test_features_at_the_ends_of_the_layouts(n_features: int) -> None:
    """The last feature is asked for, and the last class is as large as a feature may be."""
    draw = Draw(n_leaves=90, n_features=n_features, grid=9, outputs=[n_features], counts=5)
    trees, rng = make(draw, 6, n_features, 6)
    X = draw_rows(rng, 700, draw, 0.0)
    for combine in ("sum", "mean", "vote"):
        assert_bytes_are_plain(trees, X, combine)
