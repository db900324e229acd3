"""The out-of-fold predictions that a fitted AutoML estimator keeps."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import log_loss, root_mean_squared_error

import committee
from committee import CommitteeClassifier, CommitteeRegressor
from committee.automatic.intervals import find_half_width, rank_errors
from committee.exceptions import DataError

SMALL = {"portfolio": ["linear", "extra trees"], "random_state": 0}


def test_the_estimate_is_the_score_of_the_out_of_fold_predictions() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = CommitteeClassifier(**SMALL).fit(X, y)
    assert model.oof_decision_function_.shape == (len(y), 2)
    assert -model.score_estimate_ == pytest.approx(log_loss(y, model.oof_decision_function_))
    X, y = load_diabetes(return_X_y=True)
    model = CommitteeRegressor(**SMALL).fit(X, y)
    assert -model.score_estimate_ == pytest.approx(root_mean_squared_error(y, model.oof_prediction_))


def test_intervals_hold_about_what_they_promise(tmp_path: Path) -> None:
    X, y = load_diabetes(return_X_y=True)
    rest = np.random.default_rng(0).permutation(len(y))
    train, test = rest[:300], rest[300:]
    model = CommitteeRegressor(**SMALL).fit(X[train], y[train])
    for coverage in (0.6, 0.9):
        ends = model.predict_interval(X[test], coverage)
        np.testing.assert_allclose(ends.mean(axis=1), model.predict(X[test]))
        assert np.mean((ends[:, 0] <= y[test]) & (y[test] <= ends[:, 1])) == pytest.approx(coverage, abs=0.09)
    with pytest.raises(DataError, match="coverage"):
        model.predict_interval(X[test], 1.0)
    # A model for prediction only has no out-of-fold predictions, but it has the intervals.
    committee.save(model, tmp_path / "m.committee", strip=True)
    loaded = committee.load(tmp_path / "m.committee")
    np.testing.assert_array_equal(loaded.predict_interval(X[test], 0.9), ends)
    assert not hasattr(loaded, "oof_prediction_")


def test_a_row_of_weight_three_is_three_rows() -> None:
    errors, weights = np.array([3.0, 1.0, 2.0, 5.0]), np.array([1.0, 3.0, 0.0, 2.0])
    for coverage in (0.3, 0.5, 0.7, 0.85):
        assert find_half_width(rank_errors(errors, weights), coverage) == find_half_width(
            rank_errors(np.repeat(errors, weights.astype(int)), None), coverage
        )
    assert find_half_width(rank_errors(np.array([np.nan]), None), 0.5) == np.inf
