"""Small tables for clusters, and digests of models."""

import hashlib
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

# Workers need not be able to import the tests.
cloudpickle = pytest.importorskip("cloudpickle", reason="comes with joblib 1.6, Dask and Ray")
cloudpickle.register_pickle_by_value(sys.modules[__name__])

N_ROWS = 240


def make_mixed(n_rows: int = N_ROWS, seed: int = 0) -> pd.DataFrame:
    """Numbers with missing values, categories and a truth value."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 2)).round(2)
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    kinds = np.array(["red", "green", "blue", None], dtype=object)[rng.integers(0, 4, n_rows)]
    return pd.DataFrame(
        {"a": numbers[:, 0], "b": numbers[:, 1], "kind": pd.Categorical(kinds), "flag": rng.random(n_rows) < 0.5}
    )


def make_targets(table: pd.DataFrame, seed: int = 0) -> tuple[Any, Any]:
    """Classes as text, and values."""
    rng = np.random.default_rng(seed + 100)
    score = table["a"].fillna(0.3) + (table["kind"] == "red") + 0.3 * rng.normal(size=len(table))
    return np.where(score > 0.4, "yes", "no").astype(object), score.to_numpy().round(3)


MIXED = make_mixed()
Y_CLASS, Y_VALUE = make_targets(MIXED)


def digest_model(model: Any, table: Any = None) -> str:
    """Predictions and what is known from the fit, to the byte."""
    if table is None:
        table = MIXED if getattr(model, "n_features_in_", 4) == 4 else np.nan_to_num(MIXED[["a", "b"]].to_numpy())
    digest = hashlib.sha256()
    for method in ("predict_proba", "decision_function", "predict", "score_samples"):
        if hasattr(model, method):
            digest.update(
                np.asarray(getattr(model, method)(table)).astype("U32" if method == "predict" else float).tobytes()
            )
    for name in ("oob_score_", "oob_decision_function_", "oob_prediction_", "feature_importances_", "weights_"):
        if hasattr(model, name):
            digest.update(np.asarray(getattr(model, name), dtype=float).tobytes())
    return digest.hexdigest()
