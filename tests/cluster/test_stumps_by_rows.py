"""AdaBoost with stumps over the blocks of a table: the rows stay where they are, and the bytes are the plain fit's."""

import itertools
import logging
from typing import Any

import numpy as np
import pytest

import committee
from tests.cluster.tables import MIXED, Y_CLASS, digest_model

WEIGHTS = np.random.default_rng(3).gamma(0.7, size=len(MIXED))


def fit(X: Any, algorithm: str, weights: Any) -> Any:
    model = committee.AdaBoostClassifier(n_estimators=12, algorithm=algorithm, n_iter_no_change=8, random_state=0)
    return model.fit(X, Y_CLASS, sample_weight=weights)


def describe(model: Any) -> tuple[str, ...]:
    fitted = model.estimator_weights_, model.estimator_errors_, model.exponential_loss_, model.validation_scores_
    return digest_model(model, MIXED), *(values.tobytes().hex() for values in fitted)


@pytest.mark.parametrize("engine", ["executor", "dask", "ray"])
def test_blocks_on_workers(engine: str, make_workers: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="committee")
    cases = [("samme", 1), ("samme.r", 3), ("real", 3), ("discrete", 17)]
    expected = {(name, n): describe(fit(MIXED, name, WEIGHTS if n != 3 else None)) for name, n in cases}
    with committee.cluster(make_workers(engine, 2), n_workers=2, distribute="always"):
        for name, n in cases:
            cuts = np.linspace(0, len(MIXED), n + 1).astype(int)
            blocks = [MIXED.iloc[a:b] for a, b in itertools.pairwise(cuts)]
            assert describe(fit(blocks, name, WEIGHTS if n != 3 else None)) == expected[name, n]
    assert caplog.text.count("AdaBoost with stumps, by rows, is fitted on") == len(cases)
