"""From an ensemble's parameters to plans, and from plans to samples."""

import numpy as np
import pytest

from committee.base import CommitteeEstimator
from committee.data import take_in
from committee.data.sampling import plan_samples, read_groups
from committee.engines import get_engine


def make_dataset(n=60, sample_weight=None, task="classify", seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, size=n, p=[0.6, 0.3, 0.1])
    return take_in(CommitteeEstimator(), rng.normal(size=(n, 2)), y, sample_weight, task=task)


def draw(plan, member=0, seed=1):
    engine = get_engine()
    return engine.draw_rows(plan.fill(engine.RowSampling()), seed, member, plan.n_rows)


def test_a_bootstrap_draws_as_many_rows_and_holds_two_thirds():
    dataset = make_dataset(5000)
    plan = plan_samples("A", dataset, bootstrap=True)
    counts = draw(plan)
    assert counts.sum() == 5000 == plan.total_draws
    assert abs((counts > 0).mean() - (1 - np.exp(-1))) < 0.03
    assert not np.array_equal(counts, draw(plan, member=1))
    np.testing.assert_array_equal(counts, draw(plan))


@pytest.mark.parametrize(("max_samples", "expected"), [(7, 7), (0.5, 30), (1.0, 60), (None, 60), (90, 90)])
def test_max_samples(max_samples, expected):
    plan = plan_samples("A", make_dataset(), bootstrap=True, max_samples=max_samples)
    assert draw(plan).sum() == expected


def test_without_replacement_no_row_comes_twice():
    plan = plan_samples("A", make_dataset(), bootstrap=False, max_samples=0.5)
    counts = draw(plan)
    assert counts.max() == 1
    assert counts.sum() == 30
    assert plan_samples("A", make_dataset(), bootstrap=False).draws_all
    with pytest.raises(ValueError, match=r"'max_samples' parameter of A must be at most the 60.*got 61"):
        plan_samples("A", make_dataset(), bootstrap=False, max_samples=61)


def test_a_tiny_share_warns():
    with pytest.warns(UserWarning, match="gives only 3 to draw"):
        plan_samples("A", make_dataset(), bootstrap=True, max_samples=0.05)


def test_whole_weights_are_repetitions():
    weights = np.random.default_rng(0).integers(0, 4, size=60)
    plan = plan_samples("A", make_dataset(sample_weight=weights), bootstrap=True, sample_weight=weights)
    repeated = plan_samples("A", make_dataset(int(weights.sum())), bootstrap=True)
    pooled = np.add.reduceat(draw(repeated), np.r_[0, np.cumsum(weights[weights > 0])[:-1]])
    np.testing.assert_array_equal(draw(plan)[weights > 0], pooled)
    assert not draw(plan)[weights == 0].any()
    scaled = weights * 0.3
    plan_scaled = plan_samples("A", make_dataset(sample_weight=scaled), bootstrap=True, sample_weight=scaled)
    np.testing.assert_array_equal(draw(plan_scaled), draw(plan))


def test_chances_follow_weights():
    weights = np.random.default_rng(0).random(60) * (np.arange(60) % 4 > 0)
    plan = plan_samples("A", make_dataset(sample_weight=weights), bootstrap=True, sample_weight=weights)
    assert plan.uses_weights
    assert plan.n_draws == (weights > 0).sum()
    total = sum(draw(plan, member).astype(float) for member in range(2000))
    assert not total[weights == 0].any()
    expected = 2000 * plan.n_draws * weights / weights.sum()
    np.testing.assert_array_less(np.abs(total - expected), 5 * np.sqrt(expected) + 1e-9)


def test_one_heavy_row_does_not_blow_up_the_sample():
    weights = np.ones(60)
    weights[0] = 2e6
    plan = plan_samples("A", make_dataset(sample_weight=weights), bootstrap=True, sample_weight=weights)
    assert plan.n_draws == 60


@pytest.mark.parametrize("kind", ["balanced", "stratified"])
@pytest.mark.parametrize("weighted", [False, True])
def test_strata(kind, weighted):
    weights = np.random.default_rng(1).random(60) * (np.arange(60) % 5 > 0) if weighted else None
    dataset = make_dataset(sample_weight=weights)
    labels = dataset.target.labels[:, 0]
    shares = None if weights is None else weights / weights[weights > 0].mean()
    plan = plan_samples("A", dataset, bootstrap=kind, sample_weight=weights)
    drawn = np.bincount(labels, weights=draw(plan), minlength=3)
    own = np.bincount(labels, weights=shares, minlength=3)
    if kind == "balanced":
        np.testing.assert_array_equal(drawn, np.full(3, round(own.min())))
    else:
        assert drawn.sum() == round(own.sum())
        np.testing.assert_array_less(np.abs(drawn - own), 1.0)
    if weighted:
        assert not draw(plan)[weights == 0].any()
    smaller = plan_samples("A", dataset, bootstrap=kind, max_samples=12, sample_weight=weights)
    assert draw(smaller).sum() == 12


def test_groups_stay_together():
    groups = np.repeat(["u", "v", "w", "x", "y", "z"], 10)
    weights = np.ones(60)
    weights[:10] = 0.0
    plan = plan_samples("A", make_dataset(), bootstrap="group", groups=groups)
    for member in range(20):
        counts = draw(plan, member).reshape(6, 10)
        assert (counts == counts[:, :1]).all()
        assert counts[:, 0].sum() == 6
    absent = plan_samples("A", make_dataset(sample_weight=weights), bootstrap="group", groups=groups)
    assert absent.n_draws == 5
    assert not absent.uses_weights
    assert not any(draw(absent, member)[:10].any() for member in range(20))


def test_refusals():
    dataset = make_dataset()
    with pytest.raises(ValueError, match="A needs groups"):
        plan_samples("A", dataset, bootstrap="group")
    with pytest.raises(ValueError, match="only for it"):
        plan_samples("A", dataset, bootstrap=True, groups=np.zeros(60))
    with pytest.raises(ValueError, match="one entry for each of the 60 rows"):
        plan_samples("A", dataset, bootstrap="group", groups=np.zeros(59))
    with pytest.raises(ValueError, match="missing"):
        read_groups([1.0, np.nan], 2)
    with pytest.raises(ValueError, match="no classes"):
        plan_samples("A", make_dataset(task="regress"), bootstrap="balanced")
