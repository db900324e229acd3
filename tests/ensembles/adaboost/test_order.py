"""AdaBoost sums over rows exactly: their order changes no error and no weight of a member."""

import numpy as np
import pytest

from committee import AdaBoostClassifier, DecisionTreeClassifier


@pytest.mark.parametrize("algorithm", ["samme", "samme.r", "real", "discrete"])
@pytest.mark.parametrize("depth", [1, 2])
def test_the_order_of_the_rows_does_not_matter(algorithm, depth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4)).round(1)
    y = (X.sum(axis=1) + rng.normal(size=700) > 0).astype(int)
    weights = rng.gamma(0.5, size=700)
    found = set()
    for order in (np.arange(700), np.arange(700)[::-1], rng.permutation(700)):
        member = DecisionTreeClassifier(max_depth=depth)
        model = AdaBoostClassifier(member, n_estimators=8, algorithm=algorithm, random_state=0)
        model.fit(X[order], y[order], sample_weight=weights[order])
        measured = model.estimator_errors_, model.estimator_weights_, model.exponential_loss_
        found.add(b"".join(values.tobytes() for values in measured))
    assert len(found) == 1
