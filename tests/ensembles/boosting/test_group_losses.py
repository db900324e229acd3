"""Losses of groups of rows: gradients beside their plain twins, weights, threads, and a boosted fit from them."""

import numpy as np
import pytest

from committee.engines import get_engine
from committee.ensembles.boosting.ranking_loss import RankingLoss
from tests.naive import ranking as naive

OBJECTIVES = ["lambdarank", "pairwise", "listwise"]


def make_queries(rng, n_rows=300, n_queries=20, n_labels=5):
    queries = rng.integers(0, n_queries, n_rows).astype(float)
    labels = np.minimum(rng.geometric(0.5, n_rows) - 1, n_labels - 1).astype(float)
    labels[queries == 0] = 0.0
    queries[7] = n_queries  # a query of one row
    return np.stack([labels, queries], axis=1)


def find_twin(objective, target, scores, **options):
    twin = getattr(naive, objective)
    g, h = np.zeros(len(target)), np.zeros(len(target))
    for query in np.unique(target[:, 1]):
        rows = np.flatnonzero(target[:, 1] == query)
        g[rows], h[rows] = twin(target[rows, 0], scores[rows], **options)
    return g, h


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kind", ["equal", "tied", "spread", "far"])
def test_gradients_are_those_of_the_twin(objective, kind):
    rng = np.random.default_rng(3)
    target = make_queries(rng)
    normal = rng.normal(size=len(target))
    scores = {"equal": 0 * normal, "tied": np.round(normal), "spread": 3 * normal, "far": 400 * normal}[kind]
    g, h = RankingLoss(objective).bind(target, None).find_gradients(scores[:, None])
    twin_g, twin_h = find_twin(objective, target, scores)
    np.testing.assert_allclose(g[:, 0], twin_g, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(h[:, 0], twin_h, rtol=1e-8, atol=1e-9)
    assert (h >= 0).all()


@pytest.mark.parametrize("objective", ["lambdarank", "pairwise"])
@pytest.mark.parametrize("options", [{"truncation_level": 3}, {"normalize": False}, {"sigmoid": 2.0}])
def test_options_of_pairs(objective, options):
    rng = np.random.default_rng(4)
    target = make_queries(rng)
    scores = rng.normal(size=len(target))
    g, h = RankingLoss(objective, **options).bind(target, None).find_gradients(scores[:, None])
    named = {"level" if name == "truncation_level" else name: value for name, value in options.items()}
    twin_g, twin_h = find_twin(objective, target, scores, **named)
    np.testing.assert_allclose(g[:, 0], twin_g, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(h[:, 0], twin_h, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_loss_is_the_mean_over_queries(objective):
    rng = np.random.default_rng(5)
    target = make_queries(rng)
    scores = rng.normal(size=len(target))
    value = {
        "lambdarank": lambda y, s: 1.0 - naive.find_ndcg(y, s, 30),
        "pairwise": naive.pairwise_value,
        "listwise": naive.listwise_value,
    }[objective]
    rows = [np.flatnonzero(target[:, 1] == query) for query in np.unique(target[:, 1])]
    values = [value(target[own, 0], scores[own]) for own in rows]
    assert RankingLoss(objective).measure(target, scores[:, None], None) == pytest.approx(np.mean(values), rel=1e-10)
    weights = rng.integers(1, 4, len(rows))[np.searchsorted(np.unique(target[:, 1]), target[:, 1])].astype(float)
    mean = np.average(values, weights=[weights[own[0]] for own in rows])
    assert RankingLoss(objective).measure(target, scores[:, None], weights) == pytest.approx(mean, rel=1e-10)


@pytest.mark.parametrize("scale", [0.0, 1.0, 300.0])
@pytest.mark.parametrize("level", [3, 2000])
def test_pairwise_loss_of_a_long_query(scale, level):
    rng = np.random.default_rng(12)
    labels, scores = rng.integers(0, 3, 1100).astype(float), scale * rng.normal(size=1100)
    loss = RankingLoss("pairwise", sigmoid=0.7, truncation_level=level)
    found = loss.measure(np.stack([labels, np.zeros(1100)], axis=1), scores[:, None], None)
    place = np.argsort(np.argsort(-scores, kind="stable"))
    kept = (labels[:, None] > labels) & (np.minimum(place[:, None], place) < level)
    losses = np.logaddexp(0.0, 0.7 * (scores - scores[:, None]))
    assert found == pytest.approx(losses[kept].sum() / (1100 * 1099), rel=1e-9)


@pytest.mark.parametrize(("objective", "level"), [("pairwise", 30), ("pairwise", 3), ("listwise", 30)])
def test_gradients_are_derivatives_of_the_loss(objective, level):
    rng = np.random.default_rng(6)
    target = make_queries(rng, n_rows=40, n_queries=4)
    target = target[target[:, 1] == 2.0]
    scores, loss = rng.normal(size=(len(target), 1)), RankingLoss(objective, truncation_level=level, normalize=False)
    g, _ = loss.bind(target, None).find_gradients(np.asfortranarray(scores))
    for row in range(len(target)):
        step = np.zeros_like(scores)
        step[row] = 1e-5
        slope = (loss.measure(target, scores + step, None) - loss.measure(target, scores - step, None)) / 2e-5
        assert len(target) * slope == pytest.approx(g[row, 0], rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_rows_of_weight_zero_are_absent(objective):
    rng = np.random.default_rng(7)
    target = make_queries(rng)
    scores, weights = rng.normal(size=(len(target), 1)), rng.integers(0, 3, len(target)).astype(float)
    there = weights > 0
    g, h = RankingLoss(objective).bind(target, weights).find_gradients(scores)
    kept = RankingLoss(objective).bind(target[there], None).find_gradients(np.asfortranarray(scores[there]))
    assert not g[~there].any()
    assert not h[~there].any()
    np.testing.assert_array_equal(g[there], kept[0])
    np.testing.assert_array_equal(h[there], kept[1])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_threads_do_not_matter(objective):
    rng = np.random.default_rng(8)
    target = make_queries(rng, n_rows=5000, n_queries=99)
    scores, bound = rng.normal(size=(5000, 1)), RankingLoss(objective).bind(target, None)
    expected = bound.find_gradients(scores, 1)
    for n_jobs in (2, 3, 8):
        for one, other in zip(expected, bound.find_gradients(scores, n_jobs), strict=True):
            np.testing.assert_array_equal(one, other)
        assert bound.measure(scores, n_jobs) == bound.measure(scores, 1)


def test_what_does_not_fit_is_refused():
    rng = np.random.default_rng(9)
    bound = RankingLoss().bind(make_queries(rng), None)
    with pytest.raises(ValueError, match="scores must be"):
        bound.find_gradients(np.zeros((299, 1)))
    rows, numbers = np.arange(3, dtype=np.uint32), np.zeros(3)
    options = (numbers, numbers, np.empty(0), 1.0, 30, True)
    for offsets in ([0, 2], [0, 3, 3], [0, 4], [0]):
        with pytest.raises(ValueError, match="queries must have rows"):
            get_engine().make_rank_loss("pairwise", rows, np.array(offsets, dtype=np.uint64), *options)
    with pytest.raises(ValueError, match="unknown ranking loss"):
        get_engine().make_rank_loss("other", rows, np.array([0, 3], dtype=np.uint64), *options)
