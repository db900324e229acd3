"""Rows of weight zero are absent: the committee is the one of the other rows, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

from committee import CommitteeClassifier, CommitteeRegressor
from committee.exceptions import DataError

N_ROWS = 120
X, LABELS = make_classification(N_ROWS, 4, n_informative=3, n_redundant=0, random_state=0)
PRESENT = np.random.default_rng(0).random(N_ROWS) < 0.8
# Members whose predictions come from samples, from leaving rows out, from folds and from stages.
MEMBERS = ["extra trees", "kernel", "linear", "boosting"]


def make_case(classify: bool, **params: Any) -> tuple[Any, Any]:
    kind = CommitteeClassifier if classify else CommitteeRegressor
    y = LABELS if classify else X[:, 0] ** 2 + 0.1 * LABELS
    return kind(preset="fast", random_state=0, **params), y


def predict(model: Any) -> Any:
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


def read_nested(model: Any) -> Any:
    return model.oof_decision_function_ if hasattr(model, "classes_") else model.oof_prediction_


@pytest.mark.parametrize("classify", [True, False])
@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_the_other_rows_alone_give_the_same_committee(classify: bool, factor: float) -> None:
    model, y = make_case(classify, portfolio=MEMBERS)
    expected = model.fit(X[PRESENT], y[PRESENT])
    names, probabilities = [row["name"] for row in expected.leaderboard_], predict(expected)
    nested, score = read_nested(expected), expected.score_estimate_
    # What stands in absent rows does not matter.
    table = np.where(PRESENT[:, None], X, 1e6)
    model.fit(table, y, sample_weight=factor * PRESENT)
    assert [row["name"] for row in model.leaderboard_] == names
    np.testing.assert_array_equal(predict(model), probabilities)
    np.testing.assert_array_equal(read_nested(model)[PRESENT], nested)
    assert np.isnan(read_nested(model)[~PRESENT]).all()
    assert model.score_estimate_ == score


def test_unequal_weights_groups_and_given_folds() -> None:
    weights = PRESENT * np.random.default_rng(1).integers(1, 3, N_ROWS)
    groups = np.arange(N_ROWS) // 3
    folds = [(np.flatnonzero(groups % 2 == k), np.flatnonzero(groups % 2 != k)) for k in range(2)]
    numbers = np.cumsum(PRESENT) - 1
    own = [tuple(numbers[rows[PRESENT[rows]]] for rows in fold) for fold in folds]
    for all_folds, own_folds in ((None, None), (folds, own)):
        model, y = make_case(True, portfolio=["linear", "extra trees"], cv=own_folds)
        expected = predict(model.fit(X[PRESENT], y[PRESENT], weights[PRESENT], groups=groups[PRESENT]))
        model.set_params(cv=all_folds).fit(X, y, weights, groups=groups)
        np.testing.assert_array_equal(predict(model), expected)


def test_a_class_without_weight_stays_one_of_the_classes() -> None:
    model, _ = make_case(True, portfolio=["extra trees", "kernel"])
    model.fit(X, np.where(PRESENT, LABELS, 2), sample_weight=PRESENT.astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert predict(model)[:, 2].max() < 1e-9


def test_a_fold_needs_a_row_to_learn_from() -> None:
    halves = np.flatnonzero(PRESENT), np.flatnonzero(~PRESENT)
    model, y = make_case(True, portfolio=["linear"], cv=[halves, halves[::-1]])
    with pytest.raises(DataError, match="no row of positive weight to learn from"):
        model.fit(X, y, sample_weight=PRESENT.astype(float))
