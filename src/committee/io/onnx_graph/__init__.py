"""Models as ONNX graphs, for runtimes without Python."""

from __future__ import annotations

from committee.io.onnx_graph.export import to_onnx

__all__ = ["to_onnx"]
