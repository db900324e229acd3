"""Targets of any size: finite predictions, or a sentence at the door."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_regressor

import committee
from committee.exceptions import DataError
from tests.io.models import ESTIMATORS, make_model

REGRESSORS = [cls for cls in ESTIMATORS if is_regressor(make_model(cls))]
RNG = np.random.default_rng(0)
X = RNG.random(size=(40, 3))
NOISE = RNG.normal(size=40)
LARGEST = 2.0**480
SIZES = {
    "opposite": np.where(np.arange(40) % 2, LARGEST, -LARGEST),
    "outlier": np.where(np.arange(40) == 3, LARGEST, NOISE),
    "large": 1e100 * NOISE,
    "tiny": 1e-310 * NOISE,
}


@pytest.mark.parametrize("cls", REGRESSORS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("weight", [None, 1e30])
def test_predictions_are_finite(cls, size, weight):
    if weight is not None and cls.__name__ in ("CommitteeRegressor",):
        pytest.skip("fits a portfolio; once is enough")
    model = make_model(cls)
    given = {} if weight is None else {"sample_weight": weight * (1.0 + np.arange(40) % 3)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, SIZES[size], **given)
    assert np.isfinite(model.predict(X)).all()
    for name in ("feature_importances_", "oob_score_"):
        if hasattr(model, name):
            assert np.isfinite(getattr(model, name)).all()


@pytest.mark.parametrize("cls", REGRESSORS)
@pytest.mark.parametrize("value", [1e200, -np.finfo(float).max])
def test_larger_ones_are_refused(cls, value):
    y = NOISE.copy()
    y[7] = value
    model = make_model(cls)
    with pytest.raises(DataError, match=r"^y must hold values between -3.1e\+144 and 3.1e\+144.* row 7 has"):
        model.fit(X, y)


def test_several_outputs():
    y = np.stack([NOISE, NOISE], axis=1)
    y[5, 1] = 1e308
    with pytest.raises(DataError, match="row 5 has 1e\\+308"):
        clone(committee.RandomForestRegressor()).fit(X, y)
