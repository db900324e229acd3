"""Model files: data, never code. The format is described in ``docs/model_files.md``. And models in other forms."""

from __future__ import annotations

from committee.io.c_code import CSource, build_python_module, to_c
from committee.io.description import ModelDescription, describe_file
from committee.io.model_file import load, save
from committee.io.onnx_graph import to_onnx
from committee.io.readers import from_catboost, from_lightgbm, from_sklearn, from_xgboost
from committee.io.xgboost_json import to_xgboost

__all__ = [
    "CSource",
    "ModelDescription",
    "build_python_module",
    "describe_file",
    "from_catboost",
    "from_lightgbm",
    "from_sklearn",
    "from_xgboost",
    "load",
    "save",
    "to_c",
    "to_onnx",
    "to_xgboost",
]
