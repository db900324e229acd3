"""Predictions of a fitted model for rows that are on a GPU; they stay there, and so do the predictions."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.engines.gpu.prediction import GpuPredictor
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from committee.data.device_tables import DeviceTable

__all__ = ["apply_device_link", "predict_device_rows"]

_opened: weakref.WeakKeyDictionary[Any, tuple[Any, GpuPredictor]] = weakref.WeakKeyDictionary()
"""The trees of models that have predicted, with the arena that they were opened for."""


def predict_device_rows(model: Any, rows: DeviceTable) -> Any:
    """The raw prediction of rows on a GPU, with the bytes of the CPU's.

    Parameters
    ----------
    model : estimator
        Made of trees, with numbers only; its trees are sent to the GPU once.
    rows : DeviceTable
        As many columns as the model was fitted on.

    Returns
    -------
    cupy.ndarray of float64 of shape (n_rows, n_columns)
    """
    arena, predictor = _opened.get(model, (None, None))
    trees = model.fitted_trees()
    if predictor is None or arena is not trees:
        predictor = GpuPredictor(model)
        _opened[model] = (trees, predictor)
    return predictor.predict_raw(rows.array)


def apply_device_link(link: str, raw: Any, *, two_classes: bool = False) -> Any:
    """Predictions from raw ones, by the GPU's own exponential: equal to the CPU's up to the last places.

    Parameters
    ----------
    link : {"identity", "logit", "softmax", "log"}
        As a `TreeModel` names it.
    raw : cupy.ndarray of shape (n_rows, n_columns)
        Scores.
    two_classes : bool
        Whether there is a column for the first of two classes as well.
    """
    if link == "identity":
        means = raw
    elif link == "logit":
        means = 1.0 / (1.0 + np.exp(-raw))
    elif link == "softmax":
        shares = np.exp(raw - raw.max(axis=1, keepdims=True))
        means = shares / shares.sum(axis=1, keepdims=True)
    elif link == "log":
        means = np.exp(raw)
    else:
        raise EngineError(
            "The GPU engine does not support the link of this loss yet. Take decision_function, or copy X to the host."
        )
    return np.concatenate((1.0 - means, means), axis=1) if two_classes else means
