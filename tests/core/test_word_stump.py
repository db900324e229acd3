"""The search for the best word and the reweighting of labels, beside their NumPy twins."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_matrix, csr_matrix

from committee import _core
from tests.naive.boostexter import boost_words, judge_word

KINDS = ("real", "abstaining", "discrete")
every_kind = pytest.mark.parametrize("kind", KINDS)


def make_table(X: Any, Y: Any) -> Any:
    columns, labels = csc_matrix(X), csr_matrix(Y > 0)
    return _core.WordTable(
        columns.indptr.astype(np.uint64),
        columns.indices.astype(np.uint32),
        labels.indptr.astype(np.uint64),
        labels.indices.astype(np.uint32),
        Y.shape[1],
    )


def draw_case(seed: int, n: int = 40, d: int = 12, k: int = 3) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < rng.uniform(0.05, 0.6, size=d)).astype(float)
    Y = np.where(rng.random((n, k)) < 0.3, 1, -1)
    return X, Y, rng.random(n) + 0.01


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.sampled_from(KINDS))
def test_rounds_equal_those_of_the_twin(seed: int, k: int, kind: str) -> None:
    X, Y, weights = draw_case(seed, k=k)
    words, votes, normalizers = boost_words(X, Y, kind, 6, weights)
    table = make_table(X, Y)
    D = _core.LabelWeights(table, weights)
    for t in range(6):
        stump = table.find_best_word(D, kind, 1 / Y.size, 1)
        if stump.word != words[t]:
            # Equally good to the twin, whose sums are not exact: both words must have the same normaliser.
            values = D.list_values(table)
            scores = [judge_word(X[:, w] > 0, Y, values, kind, 1 / Y.size)[1] for w in (stump.word, words[t])]
            assert scores[0] == pytest.approx(scores[1], abs=1e-9)
            return
        np.testing.assert_allclose(stump.votes, votes[t], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(stump.factors, np.exp(stump.votes), rtol=1e-12)
        assert table.reweight(D, stump, 1) == pytest.approx(normalizers[t], rel=1e-10)


@every_kind
def test_threads_do_not_change_a_bit(kind: str) -> None:
    X, Y, weights = draw_case(1, n=700, d=300, k=9)
    results = []
    for n_jobs in (1, 2, 5):
        table = make_table(X, Y)
        D = _core.LabelWeights(table, weights)
        found = []
        for _ in range(8):
            stump = table.find_best_word(D, kind, 1e-4, n_jobs)
            found += [stump.word, stump.votes.tobytes(), table.reweight(D, stump, n_jobs)]
        results.append((found, D.list_values(table).tobytes()))
    assert results[0] == results[1] == results[2]


# Written on one machine and compared on all others: only products, roots and our own logarithm are taken.
DIGESTS = {"real": "78ac8b78a8ab8210", "abstaining": "cc9e4ca08205ac49", "discrete": "4770e5dfce8ebd4f"}


@every_kind
def test_bytes_are_those_of_every_machine(kind: str) -> None:
    rng = np.random.default_rng(20)
    X = (rng.integers(0, 100, size=(500, 80)) < rng.integers(3, 50, size=80)).astype(float)
    Y = np.where(rng.integers(0, 100, size=(500, 6)) < 20 + 30 * X[:, :6], 1, -1)
    table = make_table(X, Y)
    D = _core.LabelWeights(table, rng.integers(1, 9, size=500).astype(float))
    digest = hashlib.sha256()
    for _ in range(40):
        stump = table.find_best_word(D, kind, 2.0**-12, 1)
        digest.update(stump.votes.tobytes())
        digest.update(np.float64(table.reweight(D, stump, 1)).tobytes())
    assert digest.hexdigest()[:16] == DIGESTS[kind]


@every_kind
def test_sums_that_are_kept_are_those_added_up_anew(kind: str) -> None:
    X, Y, weights = draw_case(6, n=300, d=60, k=11)
    X[:, 0] = np.arange(300) % 20 > 0  # a word of nearly all documents
    results = []
    for most_sums in (2**25, 0):
        table = make_table(X, Y)
        D = _core.LabelWeights(table, weights, most_sums)
        found = []
        for _ in range(60):
            stump = table.find_best_word(D, kind, 1e-4, 1)
            found += [stump.word, stump.votes.tobytes(), table.reweight(D, stump, 1)]
        results.append((found, D.list_values(table).tobytes()))
    assert results[0] == results[1]


@pytest.mark.parametrize("size", [0.1, 3.0, 40.0])
def test_votes_of_any_size_and_sense_are_taken(size: float) -> None:
    X, Y, weights = draw_case(7, k=5)
    rng = np.random.default_rng(7)
    table = make_table(X, Y)
    D = _core.LabelWeights(table, weights)
    expected = np.repeat(weights[:, None] / weights.sum() / 5, 5, axis=1)
    for t in range(12):
        votes = size * rng.normal(size=(2, 5))
        Z = table.reweight(D, _core.WordStump(t, votes.ravel(), np.exp(votes).ravel()), 1)
        expected = expected * np.exp(-Y * votes[X[:, t].astype(int)])
        assert pytest.approx(expected.sum(), rel=1e-9) == Z
        expected /= expected.sum()
        np.testing.assert_allclose(D.list_values(table), expected, rtol=1e-8, atol=1e-300)


@every_kind
def test_the_normaliser_is_that_of_the_formula_without_smoothing(kind: str) -> None:
    X, Y, weights = draw_case(2)
    table = make_table(X, Y)
    D = _core.LabelWeights(table, weights)
    stump = table.find_best_word(D, kind, 1e-15, 1)
    before = D.list_values(table).copy()
    Z = table.reweight(D, stump, 1)
    assert pytest.approx(stump.score, rel=1e-6) == Z
    h = stump.votes[X[:, stump.word].astype(int)]
    np.testing.assert_allclose(D.list_values(table), before * np.exp(-Y * h) / Z, rtol=1e-9)
    assert D.list_values(table).sum() == pytest.approx(1.0)


@every_kind
def test_equal_words_go_to_the_first_and_words_of_no_document_to_none(kind: str) -> None:
    X, Y, weights = draw_case(3, d=4)
    doubled = np.hstack([np.zeros((40, 1)), X, X])
    table = make_table(doubled, Y)
    stump = table.find_best_word(_core.LabelWeights(table, weights), kind, 1e-3, 2)
    assert 1 <= stump.word <= 4
    empty = make_table(np.zeros((40, 3)), Y)
    assert empty.find_best_word(_core.LabelWeights(empty, weights), kind, 1e-3, 2).word == 0


def test_weights_of_very_different_size_are_kept() -> None:
    X, Y, _ = draw_case(4)
    weights = 10.0 ** np.linspace(-40, 0, 40)
    table = make_table(X, Y)
    D = _core.LabelWeights(table, weights)
    np.testing.assert_allclose(D.list_values(table)[:, 0], weights / weights.sum() / 3, rtol=1e-12)
    for _ in range(5):
        table.reweight(D, table.find_best_word(D, "real", 1e-3, 1), 1)
    assert (D.list_values(table) > 0).all()


def test_nonsense_is_refused() -> None:
    X, Y, weights = draw_case(5)
    table = make_table(X, Y)
    D = _core.LabelWeights(table, weights)
    with pytest.raises(ValueError, match="kind must be"):
        table.find_best_word(D, "imaginary", 1e-3, 1)
    with pytest.raises(ValueError, match="one weight for each document"):
        _core.LabelWeights(table, weights[:-1])
    other = make_table(X[:-1], Y[:-1])
    with pytest.raises(ValueError, match="another table"):
        other.find_best_word(D, "real", 1e-3, 1)
    with pytest.raises(ValueError, match="another table"):
        table.reweight(D, _core.WordStump(99, np.zeros(6), np.ones(6)), 1)
    offsets = np.array([0, 2], dtype=np.uint64)
    with pytest.raises(ValueError, match="out of range"):
        _core.WordTable(offsets, np.array([0, 5], np.uint32), offsets, np.array([0, 1], np.uint32), 2)
    with pytest.raises(ValueError, match="must rise"):
        _core.WordTable(offsets, np.array([0], np.uint32), offsets, np.array([0, 1], np.uint32), 2)
