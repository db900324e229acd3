"""Members that are fitted to logarithms of prices, and their predictions as prices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import skew

from committee import CommitteeRegressor, load, save
from committee.automatic.baseline_members import LinearMember
from committee.automatic.log_scale import _measure_skewness, back_transform, is_skewed
from committee.ensembles.combining.out_of_fold import MemberFit
from committee.ensembles.combining.training_set import TrainingSet
from committee.exceptions import ParameterError

LOGS = {"shallow boosting of logs"}


def make_prices(n_rows: int = 500) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    return X, np.exp(X @ [0.8, -0.5, 0.3, 0.0] + 0.3 * rng.normal(size=n_rows) + 3.0)


def test_what_counts_as_a_long_tail() -> None:
    rng = np.random.default_rng(0)
    tail, bell = np.exp(rng.normal(size=500)), rng.normal(size=500)
    assert _measure_skewness(tail, None) == pytest.approx(skew(tail))
    assert is_skewed(tail, None)
    # Two signs, none at all, a tail to the left, and logarithms that are worse.
    for values in (bell, tail - tail.min(), np.full(9, 2.0), 50.0 - tail[tail < 40], np.append(tail, 1e-300)):
        assert not is_skewed(values, None)
    weights = np.ones(501)
    weights[-1] = 0.0
    assert is_skewed(np.append(tail, -1.0), weights)
    twice = np.repeat([2.0, 1.0], 250)
    assert _measure_skewness(tail, twice) == pytest.approx(skew(np.append(tail, tail[:250])))


def test_predictions_are_transformed_back() -> None:
    X, y = make_prices()
    training = TrainingSet(X, y)
    member = LinearMember(False).fit(X, np.log(y))
    logs = member.predict(X)[:, None]
    logs[0] = 99.0
    logs[1] = np.nan
    one = back_transform(MemberFit("line", None, fitted=member, fold_models=[member], predictions=logs), training)
    known = np.isfinite(one.predictions[:, 0])
    assert known.sum() == len(y) - 1
    assert one.predictions[known].mean() == pytest.approx(y[known].mean())
    assert one.predictions[0] == pytest.approx(2.0 * y.max() * one.fitted.factor)
    np.testing.assert_allclose(one.fitted.predict(X)[2:], one.predictions[2:, 0])
    np.testing.assert_allclose(one.fold_models[0].predict(X), one.fitted.predict(X))


def test_logs_are_chosen_where_they_help_and_only_there(tmp_path: Path) -> None:
    X, y = make_prices()
    model = CommitteeRegressor(random_state=0).fit(X, y)
    board = {row["name"]: row for row in model.leaderboard_}
    assert set(board) > LOGS
    assert "shallow boosting" not in board
    assert board["shallow boosting of logs"]["score"] > board["boosting"]["score"]
    assert board["shallow boosting of logs"]["weight"] > 0.1
    assert model.score_estimate_ > board["boosting"]["score"]
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    shifted = CommitteeRegressor(random_state=0, n_members=6).fit(X, y - y.mean())
    assert not LOGS & {row["name"] for row in shifted.leaderboard_}


def test_logs_have_to_be_there() -> None:
    X, y = make_prices(60)
    with pytest.raises(ParameterError, match="of logs', which needs a positive target with a long tail"):
        CommitteeRegressor(portfolio=["shallow boosting of logs"]).fit(X, -y)
