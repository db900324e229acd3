"""NDCG and mean average precision beside their plain twins and scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from committee.exceptions import CommitteeError
from committee.scoring import mean_average_precision, mean_ndcg
from tests.naive import ranking as naive


def make_scores(seed=0, n_rows=200):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 5, n_rows).astype(float), rng.normal(size=n_rows), rng.integers(0, 15, n_rows)


@pytest.mark.parametrize("k", [None, 1, 3, 10, 500])
@pytest.mark.parametrize(
    ("measure", "twin"), [(mean_ndcg, naive.find_ndcg), (mean_average_precision, naive.find_average_precision)]
)
def test_measures_are_those_of_the_twin(measure, twin, k):
    y, scores, qid = make_scores()
    y[qid == 4] = 0.0
    values = [twin(y[qid == q], scores[qid == q], 10**9 if k is None else k) for q in range(15)]
    assert measure(y, scores, qid=qid, k=k) == pytest.approx(np.mean(values))
    weights = np.arange(15.0)
    assert measure(y, scores, qid=qid, k=k, sample_weight=weights[qid]) == pytest.approx(
        np.average(values, weights=weights)
    )


def test_rows_of_the_same_score_share_their_places_as_in_scikit_learn():
    y, scores, _ = make_scores()
    scores = np.round(scores)
    expected = ndcg_score([2.0**y - 1.0], [scores], k=10)
    assert mean_ndcg(y, scores, k=10) == pytest.approx(expected)
    order = np.random.default_rng(1).permutation(len(y))
    assert mean_ndcg(y[order], scores[order], k=10) == pytest.approx(expected)
    assert mean_average_precision([1, 0, 0], [0, 0, 0]) == pytest.approx(1 / 3)


def test_rows_of_weight_zero_are_absent():
    y, scores, qid = make_scores()
    weights = (np.arange(200) % 3).astype(float)
    there = weights > 0
    for measure in (mean_ndcg, mean_average_precision):
        found = measure(y, scores, qid=qid, sample_weight=there.astype(float))
        assert found == pytest.approx(measure(y[there], scores[there], qid=qid[there]))


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(CommitteeError, match="entry for each row"):
        mean_ndcg([1, 0], [1.0])
    with pytest.raises(CommitteeError, match="must not be negative"):
        mean_ndcg([1, -1], [1.0, 2.0])
    with pytest.raises(CommitteeError, match="int >= 1"):
        mean_ndcg([1, 0], [1.0, 2.0], k=0)
    with pytest.raises(CommitteeError, match="weight zero"):
        mean_ndcg([1, 0], [1.0, 2.0], sample_weight=[0, 0])
    with pytest.raises(CommitteeError, match="finite"):
        mean_ndcg([1, 0], [1.0, np.nan])
