"""Ranking beside LightGBM on generated queries: NDCG within noise of its own."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.ranking import LIGHTGBM, OURS, make_queries, make_ranker
from committee.scoring import mean_ndcg


@pytest.mark.parametrize("loss", ["lambdarank", "listwise"])
def test_order_is_as_good_as_that_of_lightgbm(loss: str) -> None:
    pytest.importorskip("lightgbm")
    X, y, qid = make_queries(150, 0)
    X_new, y_new, qid_new = make_queries(150, 1)
    # One thread: those of OpenMP wait for one another beside the other tests.
    mine = make_ranker(OURS, loss, 40, 15, 1).fit(X, y, qid=qid)
    peer = make_ranker(LIGHTGBM, loss, 40, 15, 1).fit(X, y, group=np.bincount(qid))
    found, theirs = (mean_ndcg(y_new, model.predict(X_new), qid=qid_new, k=10) for model in (mine, peer))
    assert found > mean_ndcg(y_new, 0.0 * y_new, qid=qid_new, k=10) + 0.2
    assert found > theirs - 0.02
