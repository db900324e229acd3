"""Every exported estimator as a small fitted model, what it answers, and the bytes of files taken apart."""

from __future__ import annotations

import json
import struct
import warnings
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError

import committee
from tests.contract.instances import make_instance, shape_target

ESTIMATORS = [
    cls
    for cls in (getattr(committee, name) for name in committee.__all__)
    if isinstance(cls, type) and issubclass(cls, BaseEstimator)
]
# Small, repeatable, and with all that a fit can leave behind.
WANTED = {"random_state": 0, "n_estimators": 5, "max_iter": 5, "n_rounds": 10, "n_bags": 3}
THOROUGH = {"oob_score": True, "keep_leaf_samples": True, "calibration": "isotonic", "bootstrap": True}
ASKING = (
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "apply",
    "decision_path",
    "predict_quantiles",
    "predict_interval",
    "predict_variance",
    "staged_predict",
    "staged_predict_proba",
    "transform",
)
LOOKING = (
    "feature_importances_",
    "estimators_",
    "estimators_samples_",
    "estimators_features_",
    "tree_",
    "threshold_",
    "oob_score_",
    "n_features_in_",
)


def make_model(cls: type[Any], *, thorough: bool = False, **params: Any) -> Any:
    return make_instance(cls, **{**WANTED, **(THOROUGH if thorough else {}), **params})


def make_data(model: Any, n_rows: int = 120) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n_rows)
    return X, np.where(signal > 0, "yes", "no") if is_classifier(model) else shape_target(model, signal)


def make_frame(model: Any, n_rows: int = 120) -> tuple[pd.DataFrame, Any]:
    """Names, a category, missing values."""
    X, y = make_data(model, n_rows)
    frame = pd.DataFrame(X, columns=["größe", "b", "c", "d"])
    frame["colour"] = pd.Categorical(np.where(X[:, 3] > 0.5, "red", np.where(X[:, 3] > -0.5, "green", "blue")))
    frame.loc[::7, "b"] = np.nan
    return frame, y


def fit_model(model: Any, data: tuple[Any, Any] | None = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*(data or make_data(model)))


def ask_model(model: Any, X: Any, names: Iterable[str] = ASKING) -> dict[str, Any]:
    """Every answer of a fitted model, as arrays."""
    answers: dict[str, Any] = {}
    for name in names:
        if not hasattr(model, name):
            continue
        try:
            answers[name] = _flatten(getattr(model, name)(X))
        # Some answers need more than an ordinary fit.
        except NotFittedError as error:
            answers[name] = np.array(str(error))
    return answers


def _flatten(answer: Any) -> Any:
    if isinstance(answer, tuple):
        answer = answer[0]
    if hasattr(answer, "toarray"):
        return answer.toarray()
    if hasattr(answer, "__next__"):
        return np.asarray(list(answer))
    return np.asarray(answer)


def assert_same_answers(model: Any, other: Any, X: Any, names: Iterable[str] = ASKING) -> None:
    answers, others = ask_model(model, X, names), ask_model(other, X, names)
    assert answers.keys() == others.keys()
    for name, answer in answers.items():
        assert answer.dtype == others[name].dtype, name
        if answer.dtype == object:
            assert answer.tolist() == others[name].tolist(), name
        else:
            assert answer.shape == others[name].shape, name
            assert answer.tobytes() == others[name].tobytes(), name


# --- the bytes of a file -----------------------------------------------------------------------------------------

PREAMBLE = struct.Struct("<8sIIQQI24x")


def open_file(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and data of a file, by the description in docs/model_files.md rather than by the library."""
    _, _, _, n_header, n_data, _ = PREAMBLE.unpack_from(content)
    start = -(-(64 + n_header) // 64) * 64
    return json.loads(content[64 : 64 + n_header]), content[start : start + n_data]


def seal_file(header: Any, data: bytes) -> bytes:
    """A file with that header and data, whose lengths and checksums are right."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    fields = PREAMBLE.pack(b"\x89CMT\r\n\x1a\n", 1, zlib.crc32(text), len(text), len(data), zlib.crc32(data))
    body = fields + struct.pack("<I", zlib.crc32(fields)) + text
    return body + bytes(-len(body) % 64) + data
