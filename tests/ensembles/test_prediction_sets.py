"""Conformal sets of classes: coverage, order of scores, weights, files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

import committee
from committee import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from committee.ensembles.class_scores import score_classes, score_own_classes
from committee.ensembles.prediction_sets import extrapolate_scores, find_class_sets
from committee.exceptions import DataError, ParameterError

MAKERS = [
    lambda seed: RandomForestClassifier(40, oob_score=True, random_state=seed),
    lambda seed: BaggingClassifier(n_estimators=30, oob_score=True, random_state=seed),
]
FAMILIES = [RandomForestClassifier, BaggingClassifier, partial(BaggingClassifier, GaussianNB(), max_features=0.5)]


def draw(seed: int, n_rows: int = 900) -> tuple[Any, Any]:
    return make_classification(n_rows, 8, n_informative=4, n_classes=3, flip_y=0.2, random_state=seed)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("method", ["lac", "aps"])
def test_sets_cover_as_often_as_they_say_and_not_much_more(make: Any, method: Any) -> None:
    hits = []
    for seed in range(12):
        X, y = draw(seed)
        sets = make(seed).fit(X[:300], y[:300]).predict_set(X[300:], alpha=0.2, method=method)
        hits.append(sets[np.arange(600), y[300:]].mean())
    # The standard error of the mean over twelve tables is about 0.01.
    assert 0.78 < np.mean(hits) < 0.88


def average_halves(model: Any, X: Any, start: int, n_members: int) -> tuple[Any, Any]:
    """Mean out-of-bag vote of every second group of five members for each row, and the number of votes, one by one."""
    votes, members = model.predict_members(X), model.estimators_samples_
    sums, counts = np.zeros(votes[0].shape), np.zeros(len(X))
    for member in range(n_members):
        if member // 5 % 2 == start:
            out = np.setdiff1d(np.arange(len(X)), members[member])
            sums[out] += votes[member][out]
            counts[out] += 1
    with np.errstate(invalid="ignore"):
        return sums / counts[:, None], counts


@pytest.mark.parametrize("n_members", [3, 12, 40])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
def test_halves_are_those_of_every_second_group_of_members(family: Any, n_members: int) -> None:
    X, y = draw(3, 150)
    model = family(n_estimators=n_members, oob_score=True, random_state=0).fit(X, y)
    for half in (0, 1):
        mean, counts = average_halves(model, X, half, n_members)
        np.testing.assert_array_equal(model._oob_halves[:, half], counts)
        for k, method in enumerate(("lac", "aps")):
            voted = np.flatnonzero(counts)
            scores = score_classes(mean[voted], method)[np.arange(len(voted)), y[voted]]
            np.testing.assert_allclose(model._oob_halves[voted, 2 + 2 * k + half], scores, rtol=1e-12, atol=1e-12)
            assert np.isnan(model._oob_halves[counts == 0, 2 + 2 * k + half]).all()


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
def test_halves_depend_on_the_members_only() -> None:
    X, y = draw(4, 200)
    once = RandomForestClassifier(23, oob_score=True, random_state=0, n_jobs=1).fit(X, y)
    threads = RandomForestClassifier(23, oob_score=True, random_state=0, n_jobs=3).fit(X, y)
    warm = RandomForestClassifier(10, oob_score=True, warm_start=True, random_state=0).fit(X, y)
    warm.set_params(n_estimators=23).fit(X, y)
    assert once._oob_halves.tobytes() == threads._oob_halves.tobytes() == warm._oob_halves.tobytes()
    X, y = draw(5, 600)
    stopped = RandomForestClassifier(300, oob_score=True, oob_patience=10, random_state=0).fit(X, y)
    assert 5 < len(stopped) < 300
    first = RandomForestClassifier(len(stopped), oob_score=True, random_state=0).fit(X, y)
    assert stopped._oob_halves.tobytes() == first._oob_halves.tobytes()


def find_limit(pairs: list[tuple[float, float]], n: float, alpha: float) -> float:
    """The smallest score from which on at least (1 - alpha) * (n + 1) rows, some negative, have at most it."""
    needed = np.ceil((1.0 - alpha) * (n + 1) - 1e-9)
    if needed > n:
        return np.inf
    scores = sorted({score for score, _ in pairs})
    enough = [sum(count for own, count in pairs if own <= score) >= needed - 1e-9 for score in scores]
    return min(score for k, score in enumerate(scores) if all(enough[k:]))


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 9), st.integers(0, 9), st.integers(1, 3)),
        min_size=1,
        max_size=25,
    ),
    alpha=st.sampled_from([0.1, 0.25, 0.4]),
    weighted=st.booleans(),
)
def test_extrapolated_sets_are_those_of_the_plain_sum(rows: Any, alpha: float, weighted: bool) -> None:
    n_members, table = 24, np.array(rows, dtype=np.float64)
    halves, votes, counts = table[:, :2] / 8.0, table[:, 2:4], table[:, 4] if weighted else np.ones(len(table))
    own = (halves * votes).sum(axis=1) / np.maximum(votes.sum(axis=1), 1.0)
    pairs = []
    for score, both, (k1, k2), count in zip(own, halves, votes, counts, strict=True):
        share = 0.0
        if min(k1, k2) > 4:
            k = k1 + k2
            share = (1 / k - 1 / n_members) / ((1 / k1 + 1 / k2) / 2 - 1 / k) * (1 - 4 / min(k1, k2))
            pairs += [(both[0], -count * share / 2), (both[1], -count * share / 2)]
        pairs.append((score, count * (1 + share)))
    new = np.linspace(0.01, 0.97, 49)
    found = find_class_sets(
        np.stack([new, 1.0 - new], axis=1),
        *extrapolate_scores(own, halves, votes, n_members, counts if weighted else None),
        alpha,
        "lac",
    )
    limit = find_limit(pairs, float(counts.sum()), alpha)
    clear = np.abs(1.0 - new - limit) > 1e-6
    np.testing.assert_array_equal(found[clear, 0], (1.0 - new <= limit)[clear])


def test_scores_by_all_members_or_by_few_are_as_they_are() -> None:
    rng = np.random.default_rng(0)
    scores, halves, new = rng.random(60), rng.random((60, 2)), rng.dirichlet(np.ones(4), 50)
    for votes, n_members in ((30.0, 60), (4.0, 60)):  # all members are out of bag, or hardly any
        extrapolated = extrapolate_scores(scores, halves, np.full((60, 2), votes), n_members, None)
        for method in ("lac", "aps"):
            for alpha in (0.01, 0.1, 0.5):
                np.testing.assert_array_equal(
                    find_class_sets(new, *extrapolated, alpha, method),
                    find_class_sets(new, scores, None, alpha, method),
                )


def test_sets_of_many_members_are_smaller_than_by_out_of_bag_scores_alone_and_cover() -> None:
    hits, sizes, plain_sizes = [], [], []
    for seed in range(10):
        X, y = draw(seed, 1300)
        forest = RandomForestClassifier(100, oob_score=True, random_state=seed).fit(X[:300], y[:300])
        sets = forest.predict_set(X[300:], alpha=0.1)
        hits.append(sets[np.arange(1000), y[300:]].mean())
        sizes.append(sets.sum())
        del forest._oob_halves
        plain_sizes.append(forest.predict_set(X[300:], alpha=0.1).sum())
    # The standard error of the mean over ten tables is about 0.006.
    assert 0.885 < np.mean(hits) < 0.93
    assert np.mean(sizes) < np.mean(plain_sizes)


def test_own_scores_are_those_among_all_classes() -> None:
    rng = np.random.default_rng(0)
    shares, labels = rng.integers(0, 4, size=(200, 5)) / 10.0, rng.integers(0, 5, size=200).astype(np.int32)
    for method in ("lac", "aps"):
        np.testing.assert_array_equal(
            score_own_classes(shares, labels, method), score_classes(shares, method)[np.arange(200), labels]
        )
    rows = [(row.tolist(), row[label]) for row, label in zip(shares, labels, strict=True)]
    wanted = [sum(p for p in row if p > own) + 0.5 * sum(p for p in row if p == own) for row, own in rows]
    np.testing.assert_allclose(score_own_classes(shares, labels, "aps"), wanted, rtol=1e-12)
    np.testing.assert_array_equal(score_own_classes(shares, labels, "lac"), [1.0 - own for _, own in rows])


def test_scores_rank_classes_by_probability_and_ties_are_equal() -> None:
    shares = np.array([[0.5, 0.2, 0.2, 0.1]])
    for method in ("lac", "aps"):
        scores = score_classes(shares, method)[0]
        assert scores[0] < scores[1] == scores[2] < scores[3]
    np.testing.assert_allclose(score_classes(shares, "aps")[0], [0.25, 0.7, 0.7, 0.95])


def test_a_smaller_rate_of_errors_has_larger_sets_and_one_row_is_as_in_a_batch() -> None:
    X, y = draw(0)
    forest = MAKERS[0](0).fit(X[:300], y[:300])
    wide, narrow = (forest.predict_set(X[300:], alpha=alpha) for alpha in (0.05, 0.3))
    assert (wide >= narrow).all()
    assert wide.sum() > narrow.sum()
    np.testing.assert_array_equal(
        np.concatenate([forest.predict_set(row[None], 0.3) for row in X[300:310]]), narrow[:10]
    )
    assert forest.predict_set(X[300:], alpha=0.001).all()  # too few rows for so rare errors


def test_a_row_of_weight_two_is_two_rows() -> None:
    scores, shares = np.array([0.1, 0.2, 0.6, 0.9]), np.array([[0.35, 0.65]])
    repeats = np.array([1.0, 2.0, 3.0, 1.0])
    for alpha in (0.2, 0.4, 0.6):
        np.testing.assert_array_equal(
            find_class_sets(shares, scores, repeats, alpha, "lac"),
            find_class_sets(shares, np.repeat(scores, repeats.astype(int)), None, alpha, "lac"),
        )


def test_a_model_file_keeps_the_sets(tmp_path: Path) -> None:
    X, y = draw(1, 300)
    for model in (MAKERS[0](0), ExtraTreesClassifier(20, bootstrap=True, oob_score=True, random_state=0)):
        model.fit(X, np.array(["a", "b", "c"])[y])
        committee.save(model, tmp_path / "m.committee")
        again = committee.load(tmp_path / "m.committee")
        np.testing.assert_array_equal(again.predict_set(X), model.predict_set(X))


def test_what_is_wrong_is_said() -> None:
    X, y = draw(2, 300)
    with pytest.raises(NotFittedError, match="oob_score=True"):
        RandomForestClassifier(5, random_state=0).fit(X, y).predict_set(X)
    forest = MAKERS[0](0).fit(X, y)
    with pytest.raises(DataError, match="alpha"):
        forest.predict_set(X, alpha=1.5)
    with pytest.raises(ParameterError, match="'lac' or 'aps'"):
        forest.predict_set(X, method="raps")
    calibrated = RandomForestClassifier(20, oob_score=True, calibration="isotonic", random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="calibration=None"):
        calibrated.predict_set(X)
