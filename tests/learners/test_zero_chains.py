"""Deep trees on sparse rows: the ends and predictions of the dense rows, whatever the depth."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import committee as cm
from committee.data import rows
from committee.learners import zero_chains
from committee.learners.tree_rows import apply_trees, find_leaves, predict_trees
from tests.naive.entries import walk_sparse_row


def make_table(rng: np.random.Generator, n_rows: int, n_columns: int, *, missing: bool) -> sparse.csr_array:
    X = np.where(rng.random((n_rows, n_columns)) < 0.06, rng.normal(size=(n_rows, n_columns)).round(1), 0.0)
    if missing:
        X[rng.random(X.shape) < 0.01] = np.nan
    return sparse.csr_array(X)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from(["f4", "f8"]), st.sampled_from(["i4", "i8"]))
def test_rows_end_where_dense_rows_end(seed: int, missing: bool, values: str, indices: str) -> None:
    rng = np.random.default_rng(seed)
    S = make_table(rng, 120, 40, missing=missing)
    forest = cm.RandomForestClassifier(n_estimators=3, random_state=0).fit(S, rng.integers(0, 3, 120))
    trees, asked = forest._trees, make_table(rng, 80, 40, missing=True).astype(values)
    parts = asked.data, asked.indices.astype(indices), asked.indptr.astype(indices)
    found = trees.apply_sparse(*parts, asked.shape, 2)
    np.testing.assert_array_equal(found, trees.apply(asked.toarray(), 1))
    for row in range(0, 80, 9):
        span = slice(asked.indptr[row], asked.indptr[row + 1])
        twin = [walk_sparse_row(trees, t, asked.indices[span], asked.data[span]) for t in range(3)]
        assert found[row].tolist() == twin


@pytest.mark.parametrize(
    ("kind", "combine"),
    [
        (cm.RandomForestClassifier, "mean"),
        (cm.RandomForestClassifier, "vote"),
        (cm.ExtraTreesClassifier, "sum"),
        (cm.RandomForestRegressor, "mean"),
    ],
)
def test_predictions_have_the_bytes_of_dense_rows(kind: Any, combine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    S = make_table(rng, 300, 50, missing=True)
    trees = kind(n_estimators=4, random_state=0).fit(S, rng.integers(0, 3, 300))._trees
    weights = rng.random(trees.n_trees)
    monkeypatch.setattr(rows, "_DENSE_VALUES", 100)
    monkeypatch.setattr(zero_chains, "_NODES_PER_ENTRY", -1)
    monkeypatch.setattr(zero_chains, "_ENDS", 70)
    assert zero_chains.follows_chains(trees, S)
    for span in (None, range(1, 3)):
        for own in (None, weights):
            expected = predict_trees(trees, S.toarray(), combine, 1, tree_weights=own, span=span)
            found = predict_trees(trees, S, combine, 1, tree_weights=own, span=span)
            assert found.tobytes() == expected.tobytes()
    np.testing.assert_array_equal(apply_trees(trees, S, 1), apply_trees(trees, S.toarray(), 1))
    np.testing.assert_array_equal(find_leaves(trees, S, 1), find_leaves(trees, S.toarray(), 1))


def test_several_outputs_and_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    S = make_table(rng, 200, 30, missing=False)
    forest = cm.RandomForestClassifier(n_estimators=3, random_state=0).fit(S, rng.integers(0, 3, (200, 2)))
    numbers = cm.RandomForestRegressor(n_estimators=3, random_state=0).fit(S, rng.normal(size=200))
    slots = np.array([1, 0, 1], np.uint32)
    expected = predict_trees(numbers._trees, S.toarray(), "sum", 1, slots=slots, out_width=2)
    shares = predict_trees(forest._trees, S.toarray(), "mean", 1)
    monkeypatch.setattr(rows, "_DENSE_VALUES", 100)
    monkeypatch.setattr(zero_chains, "_NODES_PER_ENTRY", -1)
    found = predict_trees(numbers._trees, S, "sum", 1, slots=slots, out_width=2)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(predict_trees(forest._trees, S, "mean", 1), shares)


def test_rows_with_entries_twice_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    S = make_table(rng, 100, 20, missing=False)
    trees = cm.RandomForestClassifier(n_estimators=2, random_state=0).fit(S, rng.integers(0, 2, 100))._trees
    twice = sparse.csr_array(
        (np.tile(S.data / 2, 2), (np.tile(S.tocoo().row, 2), np.tile(S.tocoo().col, 2))), shape=S.shape
    )
    monkeypatch.setattr(rows, "_DENSE_VALUES", 100)
    monkeypatch.setattr(zero_chains, "_NODES_PER_ENTRY", -1)
    np.testing.assert_array_equal(apply_trees(trees, twice, 1), apply_trees(trees, S.toarray(), 1))


def test_the_mean_depth_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    S = sparse.csr_array(sparse.eye_array(600))
    chain = cm.RandomForestClassifier(n_estimators=2, random_state=0).fit(S, rng.integers(0, 2, 600))._trees
    flat = cm.DecisionTreeClassifier(max_depth=2).fit(S, rng.integers(0, 2, 600))._trees
    assert flat.measure_mean_depth() <= 2.0
    assert chain.measure_mean_depth() > 50.0
    monkeypatch.setattr(rows, "_DENSE_VALUES", 100)
    assert zero_chains.follows_chains(chain, S)
    assert not zero_chains.follows_chains(flat, S)
    assert not zero_chains.follows_chains(chain, S.toarray())


def test_rows_of_another_width_are_refused() -> None:
    S = make_table(np.random.default_rng(4), 60, 10, missing=False)
    trees = cm.RandomForestClassifier(n_estimators=1, random_state=0).fit(S, np.arange(60) % 2)._trees
    with pytest.raises(ValueError, match="as many columns as the trees"):
        trees.apply_sparse(S.data, S.indices, S.indptr, (60, 11), 1)
    with pytest.raises(ValueError, match="Rows must be compressed"):
        trees.apply_sparse(S.data, S.indices, S.indptr[::-1].copy(), (60, 10), 1)
