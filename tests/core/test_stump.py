"""The stump trainer beside its twin and beside the grower, round after round."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee import _core
from committee.data.binning import bin_columns, sort_columns
from tests.naive.adaboost import find_stump, measure_error, measure_gini

IMPURITY = {"gini": measure_gini, "error": measure_error}


def make_trainer(X, y, n_classes, weights=None, levels=None, criterion="gini", exact=False, n_jobs=1):
    levels = np.zeros(X.shape[1], np.uint32) if levels is None else np.asarray(levels, np.uint32)
    bins = bin_columns(X, weights, levels, 255, 1)
    presort = sort_columns(X, levels, 1) if exact else None
    return _core.StumpTrainer(bins, presort, y.astype(np.uint32), n_classes, weights, criterion, n_jobs), bins, presort


def draw(seed, n, d, n_classes, n_values=None, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) if n_values is None else rng.integers(0, n_values, size=(n, d)).astype(float)
    y = np.digitize(X.sum(axis=1) + rng.normal(size=n), np.linspace(-1.5, 1.5, n_classes - 1)) if n_classes > 1 else 0
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.broadcast_to(y, n).astype(np.int64)


def boost(trainer, n_rounds, n_classes):
    """SAMME: what the trainer grew, and the weights that it grew it on."""
    for _ in range(n_rounds):
        weights = trainer.weights
        trees, importances, shares = trainer.grow()
        yield trees, importances, shares, weights
        wrong = shares.argmax(axis=1)[:, None] != np.arange(n_classes)
        error = (shares * wrong).sum()
        if not 0.0 < error < 1.0 - 1.0 / n_classes:
            return
        trainer.multiply(np.exp((np.log((1 - error) / error) + np.log(n_classes - 1)) * wrong))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(5, 80),
    n_classes=st.integers(2, 6),
    n_values=st.sampled_from([None, 3, 12]),
    missing=st.sampled_from([0.0, 0.2]),
    criterion=st.sampled_from(["gini", "error"]),
    exact=st.booleans(),
    weighted=st.sampled_from(["no", "whole", "real"]),
)
def test_no_question_is_better(seed, n, n_classes, n_values, missing, criterion, exact, weighted):
    X, y = draw(seed, n, 3, n_classes, n_values, missing)
    rng = np.random.default_rng(seed)
    weights = {"no": None, "whole": rng.integers(0, 4, n).astype(float), "real": rng.random(n)}[weighted]
    if weights is not None:
        weights[:2] = 1.0
    trainer, _, _ = make_trainer(X, y, n_classes, weights, criterion=criterion, exact=exact)
    for trees, _, shares, current in boost(trainer, 5, n_classes):
        best, *_ = find_stump(X, y, current, IMPURITY[criterion], n_classes)
        own = sum(IMPURITY[criterion](leaf) for leaf in shares)
        assert own <= min(best, IMPURITY[criterion](shares.sum(axis=0))) + 1e-9
        leaves = trees.apply(X)[:, 0]
        for leaf, node in enumerate(np.unique(leaves)):
            counted = np.bincount(y[leaves == node], weights=current[leaves == node], minlength=n_classes)
            np.testing.assert_allclose(shares[leaf], counted, atol=1e-12)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("criterion", ["gini", "error", "entropy", "gain_ratio"])
def test_stumps_are_those_of_the_grower(criterion, n_classes, exact):
    X, y = draw(1, 3000, 5, n_classes, missing=0.03)
    trainer, bins, presort = make_trainer(X, y, n_classes, criterion=criterion, exact=exact)
    params = _core.GrowParams()
    params.criterion, params.max_depth, params.exact = criterion, 1, exact
    labels = y.astype(np.uint32)[:, None]
    for trees, importances, _, weights in boost(trainer, 8, n_classes):
        grown, expected = _core.grow_tree(bins, presort, labels, [n_classes], None, weights, params)
        np.testing.assert_array_equal(trees.nodes, grown.nodes)
        np.testing.assert_allclose(trees.values, grown.values, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(importances, expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(trees.leaf_samples, grown.leaf_samples)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("criterion", ["gini", "error", "entropy"])
def test_stumps_of_many_rows(criterion, n_classes, weighted, exact):
    """Classes have scales of their own: of equal stumps any may be the best, but none is better."""
    X, y = draw(3, 20_000, 4, n_classes, missing=0.03)
    X[:, 3] = np.digitize(X[:, 3], [-1.0, 0.0, 1.0])
    levels = [0, 0, 0, 4]
    weights = np.random.default_rng(0).integers(1, 4, 20_000).astype(float) if weighted else None
    trainer, bins, presort = make_trainer(X, y, n_classes, weights, levels, criterion, exact)
    params = _core.GrowParams()
    params.criterion, params.max_depth, params.exact = criterion, 1, exact
    labels = y.astype(np.uint32)[:, None]
    for trees, importances, shares, current in boost(trainer, 12, n_classes):
        _, expected = _core.grow_tree(bins, presort, labels, [n_classes], None, current, params)
        np.testing.assert_allclose(importances.sum(), expected.sum(), rtol=1e-9, atol=1e-12)
        leaves = trees.apply(X)[:, 0] - 1
        for leaf in range(2):
            counted = np.bincount(y[leaves == leaf], weights=current[leaves == leaf], minlength=n_classes)
            np.testing.assert_allclose(shares[leaf], counted, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("n_levels", [6, 300])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_categories(n_levels, n_classes):
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(0, n_levels, 2000).astype(float), rng.normal(size=2000)], axis=1)
    y = ((X[:, 0] % 3 == 0) + (X[:, 1] > 1) + (rng.random(2000) < 0.2)).astype(np.int64) % n_classes
    X[rng.random(2000) < 0.05, 0] = np.nan
    for exact in (False, True):
        trainer, bins, presort = make_trainer(X, y, n_classes, levels=[n_levels, 0], exact=exact)
        params = _core.GrowParams()
        params.max_depth, params.exact = 1, exact
        for trees, _, _, weights in boost(trainer, 6, n_classes):
            labels = y.astype(np.uint32)[:, None]
            grown, _ = _core.grow_tree(bins, presort, labels, [n_classes], None, weights, params)
            np.testing.assert_array_equal(trees.nodes, grown.nodes)
            np.testing.assert_array_equal(trees.category_words, grown.category_words)


def test_two_classes_and_categories_find_the_best_subset():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 5, size=(60, 2)).astype(float)
    y = ((X[:, 0] == 1) | (X[:, 1] == 4) | (rng.random(60) < 0.2)).astype(np.int64)
    trainer, _, _ = make_trainer(X, y, 2, levels=[5, 5])
    for _, _, shares, weights in boost(trainer, 6, 2):
        best, *_ = find_stump(X, y, weights, measure_gini, 2, [5, 5])
        assert abs(sum(map(measure_gini, shares)) - best) < 1e-12


@pytest.mark.parametrize("n", [500, 20_000])
def test_many_rounds_and_extreme_factors_keep_sums_exact(n):
    X, y = draw(5, n, 3, 2)
    trainer, _, _ = make_trainer(X, y, 2)
    expected = np.full(n, 1 / n)
    rng = np.random.default_rng(0)
    for _ in range(200):
        trees, _, _ = trainer.grow()
        leaves = trees.apply(X)[:, 0] - 1
        factors = np.exp(rng.normal(scale=4.0, size=(2, 2)))
        trainer.multiply(factors)
        expected = expected * factors[leaves, y]
        expected = np.maximum(expected / expected.sum(), 1e-250)
        np.testing.assert_allclose(trainer.weights, expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("n_classes", [2, 6])
def test_threads_change_nothing(exact, n_classes):
    X, y = draw(2, 30_000, 20, n_classes)
    runs = []
    for n_jobs in (1, 2, 3):
        trainer, _, _ = make_trainer(X, y, n_classes, exact=exact, n_jobs=n_jobs)
        runs.append([(t.nodes.tobytes(), s.tobytes(), w.tobytes()) for t, _, s, w in boost(trainer, 4, n_classes)])
    assert runs[0] == runs[1] == runs[2]


def test_weights_are_repetition_and_scale_drops_out():
    X, y = draw(4, 300, 4, 3, n_values=6)
    counts = np.random.default_rng(1).integers(0, 5, 300)
    repeated, _, _ = make_trainer(X.repeat(counts, axis=0), y.repeat(counts), 3)
    plain = [(t.nodes.tobytes(), s.tobytes()) for t, _, s, _ in boost(repeated, 20, 3)]
    for scale in (1.0, 0.37, 1e9):
        trainer, _, _ = make_trainer(X, y, 3, counts * scale)
        assert plain == [(t.nodes.tobytes(), s.tobytes()) for t, _, s, _ in boost(trainer, 20, 3)]


def test_one_class_or_nothing_to_ask_gives_a_root():
    X, y = draw(0, 20, 2, 1)
    trees, _, shares = make_trainer(X, y, 2)[0].grow()
    assert len(trees.nodes) == 1
    np.testing.assert_array_equal(shares, [[1.0, 0.0]])
    trainer, _, _ = make_trainer(np.ones((10, 2)), np.arange(10) % 2, 2, exact=True)
    trees, _, shares = trainer.grow()
    assert len(trees.nodes) == 1
    trainer.multiply(np.array([[1.0, 3.0]]))
    np.testing.assert_allclose(trainer.weights, np.where(np.arange(10) % 2, 0.15, 0.05))


def test_misuse_is_refused():
    X, y = draw(0, 20, 2, 2)
    with pytest.raises(ValueError, match="not below the number"):
        make_trainer(X, y + 1, 2)
    with pytest.raises(ValueError, match="unknown criterion"):
        make_trainer(X, y, 2, criterion="nonsense")
    trainer, _, _ = make_trainer(X, y, 2)
    trainer.grow()
    for factors in (np.ones((3, 2)), np.zeros((2, 2)), np.full((2, 2), np.inf)):
        with pytest.raises(ValueError, match="factors must"):
            trainer.multiply(factors)
