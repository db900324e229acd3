"""Models of other libraries, read into estimators of this one: LightGBM, XGBoost, CatBoost and scikit-learn."""

from __future__ import annotations

from committee.io.readers.catboost import from_catboost
from committee.io.readers.lightgbm import from_lightgbm
from committee.io.readers.scikit_learn import from_sklearn
from committee.io.readers.xgboost import from_xgboost

__all__ = ["from_catboost", "from_lightgbm", "from_sklearn", "from_xgboost"]
