"""Path-dependent Shapley values on a device, of the trees of any fitted model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee import _core
from committee.engines.gpu.device import open_device
from committee.engines.gpu.tables import take_rows_in
from committee.engines.tree_model import present_trees
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from committee.engines.gpu.device import Device, DeviceMemory
    from committee.typing import AnyArray, FloatArray

__all__ = ["GpuExplainer"]

_POINTERS = (
    "x",
    "splits",
    "factors",
    "roots",
    "values",
    "features",
    "words",
    "weights",
    "partial",
    "out",
    "outputs",
)
_INTEGERS = (
    "n_rows",
    "n_features",
    "n_used",
    "n_points",
    "n_splits",
    "n_trees",
    "n_columns",
    "column",
    "partial_stride",
    "double_x",
    "n_outputs",
)
_EXPLANATION = np.dtype([(name, "u8") for name in _POINTERS] + [(name, "i8") for name in _INTEGERS])
_SPLIT = np.dtype(
    [
        ("threshold", "f8"),
        ("share", "f8"),
        ("share_above", "f8"),
        ("child", "u4", 2),
        ("slot", "u4"),
        ("above", "u4"),
        ("first_word", "u4"),
        ("flags", "u4"),
    ]
)
_AGAIN = 4
_MOST_LEVELS, _ROW_BLOCK = 64, 128
_MOST_SHARED = 100 << 10
_PARTIAL_BYTES = 256 << 20
"""Sums of the points of the rows that are explained at a time."""


def _find_factors(splits: AnyArray, points: FloatArray) -> FloatArray:
    """What splits do at the points, of shape (n_points, n_splits, 4); the formula of the core's `Factor`."""
    t, above, share = points[:, None], splits["share_above"][None], splits["share"][None]
    again = ((splits["flags"] & _AGAIN) != 0)[None]
    still, moved = (1.0 - t) * above * share, np.broadcast_to(t, (len(points), len(splits)))
    before = (1.0 - t) * above + t
    still, moved = np.where(again, still / before, still), np.where(again, moved / before, moved)
    gain = np.where(again, above / (before * before), 1.0)
    return np.ascontiguousarray(np.stack([still + moved, still, gain, np.zeros_like(gain)], axis=2))


class GpuExplainer:
    """The trees of a fitted model on a GPU, for path-dependent Shapley values.

    Values are those of `committee.inspection.shap_values` up to the order of sums: they differ by a few units in the
    last place of the largest sum that is added up. They do not depend on the device, nor on how many rows are explained
    together.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library that is made of trees, whichever engine has fitted it.
    device : Device, optional
        By default the current CUDA device.
    """

    def __init__(self, model: Any, device: Device | None = None) -> None:
        self._model = present_trees(model)
        self._device = open_device() if device is None else device
        own = self._model
        plan = _core.plan_explanation(own.trees, own.combine, own.tree_weights, own.slots, own.width, 0)
        if plan["n_levels"] > _MOST_LEVELS:
            raise EngineError(
                f"The GPU engine explains trees of at most {_MOST_LEVELS} levels; this model has one of "
                f"{plan['n_levels']}. Explain it with engine='cpu'."
            )
        self._features, self._columns, self.base = plan["features"], plan["columns"], plan["base"]
        self._in_shared = 16 * _ROW_BLOCK * len(self._features) <= _MOST_SHARED
        levels = max(4, -(-plan["n_levels"] // 4) * 4)
        defines = [f"COMMITTEE_LEVELS={levels}", f"COMMITTEE_SHARED_ROWS={int(self._in_shared)}"]
        self._program = self._device.compile("explanation.cu", defines)
        self._check_layout()
        self._fields = np.zeros(1, _EXPLANATION)
        self._kept: list[DeviceMemory] = []
        self._put_plan(plan)

    def _check_layout(self) -> None:
        memory = self._device.allocate(16)
        self._program.launch("describe_explanation", 1, 32, [np.uint64(memory.address)])
        found = self._device.copy_out(memory, np.uint64, 2).tolist()
        if found != [_EXPLANATION.itemsize, _SPLIT.itemsize]:
            raise EngineError(
                f"The compiled kernels describe an explanation in {found} bytes, not in those known here."
            )

    def _put(self, name: str | None, array: AnyArray) -> DeviceMemory:
        memory = self._device.allocate(max(1, array.nbytes))
        if array.nbytes:
            self._device.copy_in(array, memory)
        self._kept.append(memory)
        if name is not None:
            self._fields[name] = memory.address
        return memory

    def _put_plan(self, plan: dict[str, Any]) -> None:
        fields, trees = self._fields, self._model.trees
        splits = plan["splits"].view(_SPLIT)
        self._put("splits", splits.view(np.uint8))
        self._put("factors", _find_factors(splits, plan["points"]))
        self._put("features", self._features)
        self._put("words", np.ascontiguousarray(trees.category_words))
        self._put("weights", plan["point_weights"])
        values = plan["values"].reshape(-1, len(self._columns)).T
        self._values = [self._put(None, np.ascontiguousarray(own)) for own in values]
        order = np.argsort(plan["first_columns"], kind="stable")
        self._roots = self._put(None, plan["roots"][order])
        self._tree_columns = plan["first_columns"][order]
        if self._model.combine != "sum" and len(trees.outputs):
            self._put("outputs", np.array(trees.outputs, np.uint32))
            fields["n_outputs"] = len(trees.outputs)
        fields["n_features"], fields["n_used"] = trees.n_features, len(self._features)
        fields["n_points"], fields["n_splits"] = len(plan["points"]), len(splits)
        fields["n_columns"] = self._model.width

    def _list_columns(self) -> list[tuple[int, DeviceMemory, int, int]]:
        """Columns of the sum: number, values of the leaves, first tree, trees."""
        if self._model.slots is None:
            n_trees = len(self._tree_columns)
            pairs = zip(self._columns.tolist(), self._values, strict=True)
            return [(column, values, 0, n_trees) for column, values in pairs]
        ends = np.searchsorted(self._tree_columns, np.arange(self._model.width + 1)).tolist()
        return [(c, self._values[0], ends[c], ends[c + 1] - ends[c]) for c in range(self._model.width)]

    def explain(self, X: Any) -> tuple[Any, FloatArray]:
        """Shapley values and the base of each column.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            Numbers, categories as codes, as the trees were grown on. An array on the GPU (CuPy, or anything with
            DLPack) stays there, and so do the values.

        Returns
        -------
        values : ndarray of float64 of shape (n_rows, n_features, n_columns)
            A CuPy array if X is on the GPU.
        base : ndarray of float64 of shape (n_columns,)
            The prediction when no feature is known, without the baseline of boosting.
        """
        device, n_features, width = self._device, self._model.trees.n_features, self._model.width
        memory, n_rows, is_double, on_device = take_rows_in(device, X, n_features)
        out = device.allocate(max(1, 8 * n_rows * n_features * width))
        device.clear(out)
        if len(self._features) and n_rows:
            self._explain_batches(memory.address, out.address, n_rows, is_double)
        shape = (n_rows, n_features, width)
        if on_device:
            return device.lend(out, np.float64, shape), self.base
        return device.copy_out(out, np.float64, n_rows * n_features * width).reshape(shape), self.base

    def _explain_batches(self, x: int, out: int, n_rows: int, is_double: bool) -> None:
        device, size = self._device, 8 if is_double else 4
        per_row = 8 * len(self._features) * int(self._fields["n_points"][0])
        step = max(1, _PARTIAL_BYTES // per_row // _ROW_BLOCK) * _ROW_BLOCK
        stride = -(-min(step, n_rows) // _ROW_BLOCK) * _ROW_BLOCK
        partial = device.allocate(stride * per_row)
        columns, starts = self._list_columns(), range(0, n_rows, step)
        jobs = np.repeat(self._fields, len(columns) * len(starts))
        jobs["partial"], jobs["partial_stride"], jobs["double_x"] = partial.address, stride, is_double
        places = [(first, column) for first in starts for column in columns]
        for job, (first, (column, values, first_tree, n_trees)) in zip(jobs, places, strict=True):
            job["n_rows"], job["column"], job["values"] = min(step, n_rows - first), column, values.address
            job["roots"], job["n_trees"] = self._roots.address + 4 * first_tree, n_trees
            job["x"] = x + first * int(job["n_features"]) * size
            job["out"] = out + 8 * first * int(job["n_features"]) * self._model.width
        memory = device.allocate(jobs.nbytes)
        device.copy_in(jobs.view(np.uint8), memory)
        for k, job in enumerate(jobs):
            last = (k + 1) % len(columns) == 0
            self._launch(memory.address + k * _EXPLANATION.itemsize, job, completes=last and bool(job["n_outputs"]))
        # What the kernels read is freed with this call.
        device.copy_out(memory, np.uint8, 1)

    def _launch(self, address: int, job: Any, *, completes: bool) -> None:
        n_rows, n_points, arguments = int(job["n_rows"]), int(job["n_points"]), [np.uint64(address)]
        grid = -(-n_rows // _ROW_BLOCK) * n_points
        shared = 16 * _ROW_BLOCK * len(self._features) if self._in_shared else 0
        self._program.launch("explain_trees", grid, _ROW_BLOCK, arguments, shared_bytes=shared)
        most = 16 * self._device.n_multiprocessors
        grid = max(1, min(-(-n_rows * len(self._features) // 256), most))
        self._program.launch("sum_points", grid, 256, arguments)
        if completes:
            grid = max(1, min(-(-n_rows * int(job["n_features"]) // 256), most))
            self._program.launch("complete_classes", grid, 256, arguments)
