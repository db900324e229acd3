"""Model files: data, never code. The format is described in ``docs/model_files.md``."""

from __future__ import annotations

from committee.io.description import ModelDescription, describe_file
from committee.io.model_file import load, save
from committee.io.onnx_export import to_onnx

__all__ = ["ModelDescription", "describe_file", "load", "save", "to_onnx"]
