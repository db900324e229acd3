"""Several labels beside XGBoost: log-loss within noise of its own."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import log_loss

from committee import GradientBoostingClassifier


def test_labels_are_as_good_as_those_of_xgboost() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, labels = make_multilabel_classification(1500, 15, n_classes=4, n_labels=2, random_state=0)
    options = {"n_estimators": 40, "learning_rate": 0.1, "n_jobs": 2}
    mine = GradientBoostingClassifier(max_leaf_nodes=8, min_child_weight=1.0, reg_lambda=1.0, random_state=0, **options)
    peer = xgboost.XGBClassifier(max_leaves=8, max_depth=0, grow_policy="lossguide", tree_method="hist", **options)
    shares = np.stack([own[:, 1] for own in mine.fit(X[:1000], labels[:1000]).predict_proba(X[1000:])], axis=1)
    theirs = peer.fit(X[:1000], labels[:1000]).predict_proba(X[1000:])
    losses = [np.mean([log_loss(labels[1000:, k], p[:, k]) for k in range(4)]) for p in (shares, theirs)]
    assert losses[0] < 0.55
    assert losses[0] < 1.03 * losses[1] + 0.005
