"""Path-dependent Shapley values on a device, of the trees of any fitted model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee import _core
from committee.engines.gpu.device import open_device
from committee.engines.gpu.explanation_plan import (
    EXPLAINED_SPLIT,
    MOST_POINTS,
    describe_point_split,
    find_point_splits,
    group_trees,
)
from committee.engines.gpu.tables import take_rows_in
from committee.engines.tree_model import present_trees
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from committee.engines.gpu.device import Device, DeviceMemory, DeviceProgram
    from committee.engines.gpu.explanation_plan import TreeGroup
    from committee.typing import AnyArray, FloatArray

__all__ = ["GpuExplainer"]

_POINTERS = (
    "x",
    "splits",
    "roots",
    "sizes",
    "leaves",
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
    "n_passes",
    "first_split",
    "n_splits",
    "n_staged",
    "n_trees",
    "n_columns",
    "column",
    "partial_stride",
    "double_x",
    "n_outputs",
)
_EXPLANATION = np.dtype([(name, "u8") for name in _POINTERS] + [(name, "i8") for name in _INTEGERS])
_MOST_LEVELS, _ROW_BLOCK = 64, 128
_MOST_STAGED = 600
"""Splits of trees that are brought into shared memory."""
_MOST_SHARED = 128 << 10
"""Bytes of shared memory for rows; the splits of trees may take the rest of what a block may have."""
_PARTIAL_BYTES = 256 << 20
"""Sums of the points of the rows that are explained at a time."""
_AHEAD_BYTES = describe_point_split(MOST_POINTS).itemsize
"""What kernels read of the split after the last one."""


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
        self._in_shared = self._count_shared(len(self._features), 8) <= _MOST_SHARED
        self._fields = np.zeros(1, _EXPLANATION)
        self._kept: list[DeviceMemory] = []
        splits, roots, self._groups = group_trees(plan["splits"].view(EXPLAINED_SPLIT), plan["roots"])
        self._staged = max((int(group.sizes.max()) for group in self._groups), default=0) <= _MOST_STAGED
        self._programs = {deep: self._compile(deep) for deep in {group.is_deep for group in self._groups}}
        self._put_plan(plan)
        listed = [(group, self._list_jobs(group, splits, roots, plan)) for group in self._groups]
        self._jobs = [job for _, jobs in listed for job in jobs]
        self._groups_of_jobs = [group for group, jobs in listed for _ in jobs]

    @staticmethod
    def _count_shared(n_used: int, x_bytes: int) -> int:
        """Bytes of shared memory that the rows of a block take."""
        return _ROW_BLOCK * (8 + x_bytes) * n_used

    def _compile(self, deep: bool) -> DeviceProgram:
        defines = [f"COMMITTEE_SHARED_ROWS={int(self._in_shared)}", f"COMMITTEE_STAGED={int(self._staged)}"]
        defines += [f"COMMITTEE_ROW_BLOCK={_ROW_BLOCK}", *(["COMMITTEE_DEEP"] if deep else [])]
        sizes = {group.points.shape[1] for group in self._groups if group.is_deep == deep}
        kernels = ["describe_explanation", *(f"explain_at_{n}" for n in sizes)]
        program = self._device.compile("explanation.cu", defines, kernels)
        known = [_EXPLANATION.itemsize, *(describe_point_split(n + 1).itemsize for n in range(MOST_POINTS))]
        memory = self._device.allocate(8 * len(known))
        program.launch("describe_explanation", 1, 32, [np.uint64(memory.address)])
        found = self._device.copy_out(memory, np.uint64, len(known)).tolist()
        if found != known:
            raise EngineError(
                f"The compiled kernels describe an explanation in {found} bytes, not in those known here."
            )
        return program

    def _put(self, name: str | None, array: AnyArray) -> DeviceMemory:
        memory = self._device.allocate(array.nbytes + _AHEAD_BYTES)
        if array.nbytes:
            self._device.copy_in(array, memory)
        self._kept.append(memory)
        if name is not None:
            self._fields[name] = memory.address
        return memory

    def _put_plan(self, plan: dict[str, Any]) -> None:
        fields, trees = self._fields, self._model.trees
        self._put("features", self._features)
        self._put("words", np.ascontiguousarray(trees.category_words))
        values = plan["values"].reshape(-1, len(self._columns)).T
        self._values = [self._put(None, np.ascontiguousarray(own)) for own in values]
        if self._model.combine != "sum" and len(trees.outputs):
            self._put("outputs", np.array(trees.outputs, np.uint32))
            fields["n_outputs"] = len(trees.outputs)
        fields["n_features"], fields["n_used"] = trees.n_features, len(self._features)
        fields["n_columns"] = self._model.width

    def _list_jobs(self, group: TreeGroup, splits: AnyArray, roots: AnyArray, plan: dict[str, Any]) -> list[AnyArray]:
        """What is launched for a group of trees: the fields of the kernels, for each column of the sum."""
        fields = self._fields.copy()
        fields["splits"] = self._put(None, find_point_splits(splits, group).view(np.uint8)).address
        fields["weights"] = self._put(None, group.weights).address
        fields["n_passes"], fields["first_split"] = len(group.points), group.first_split
        fields["n_splits"] = group.n_splits
        # Trees by the column that they add to, or all of them to every column.
        columns = plan["first_columns"][group.trees]
        order = np.argsort(columns, kind="stable")
        listed = {"roots": roots[group.trees], "sizes": group.sizes, "leaves": group.leaves}
        addresses = {name: self._put(None, array[order]).address for name, array in listed.items()}
        fields["n_staged"] = int(group.sizes.max()) + 1 if self._staged else 0
        jobs = []
        if self._model.slots is None:
            places = [
                (c, values, 0, len(order)) for c, values in zip(self._columns.tolist(), self._values, strict=True)
            ]
        else:
            ends = np.searchsorted(columns[order], np.arange(self._model.width + 1)).tolist()
            places = [(c, self._values[0], ends[c], ends[c + 1] - ends[c]) for c in range(self._model.width)]
        for column, values, first, n_trees in places:
            job = fields.copy()
            job["column"], job["values"], job["n_trees"] = column, values.address, n_trees
            for name, address in addresses.items():
                job[name] = address + 4 * first
            if n_trees:
                jobs.append(job)
        return jobs

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
        per_row = 8 * len(self._features) * max(len(group.points) for group in self._groups)
        step = max(1, _PARTIAL_BYTES // per_row // _ROW_BLOCK) * _ROW_BLOCK
        stride = -(-min(step, n_rows) // _ROW_BLOCK) * _ROW_BLOCK
        partial = device.allocate(stride * per_row)
        starts = range(0, n_rows, step)
        jobs = np.concatenate([job for _ in starts for job in self._jobs])
        jobs["partial"], jobs["partial_stride"], jobs["double_x"] = partial.address, stride, is_double
        for job, first in zip(jobs, np.repeat(starts, len(self._jobs)).tolist(), strict=True):
            job["n_rows"] = min(step, n_rows - first)
            job["x"] = x + first * int(job["n_features"]) * size
            job["out"] = out + 8 * first * int(job["n_features"]) * self._model.width
        memory = device.allocate(jobs.nbytes)
        device.copy_in(jobs.view(np.uint8), memory)
        for k, job in enumerate(jobs):
            last = (k + 1) % len(self._jobs) == 0
            address = memory.address + k * _EXPLANATION.itemsize
            group = self._groups_of_jobs[k % len(self._jobs)]
            self._launch(address, job, group, completes=last and bool(job["n_outputs"]))
        # What the kernels read is freed with this call.
        device.copy_out(memory, np.uint8, 1)

    def _launch(self, address: int, job: Any, group: TreeGroup, *, completes: bool) -> None:
        n_rows, arguments = int(job["n_rows"]), [np.uint64(address)]
        program, x_bytes = self._programs[group.is_deep], 8 if job["double_x"] else 4
        n_points = group.points.shape[1]
        grid = -(-n_rows // _ROW_BLOCK) * len(group.points)
        n_used = len(self._features) if self._in_shared else 0
        shared = self._count_shared(n_used, x_bytes)
        if self._staged:
            shared += int(job["n_staged"]) * (describe_point_split(n_points).itemsize + 8) + 8
        program.launch(f"explain_at_{n_points}", grid, _ROW_BLOCK, arguments, shared_bytes=shared)
        most = 16 * self._device.n_multiprocessors
        grid = max(1, min(-(-n_rows * len(self._features) // 256), most))
        program.launch("sum_points", grid, 256, arguments)
        if completes:
            grid = max(1, min(-(-n_rows * int(job["n_features"]) // 256), most))
            program.launch("complete_classes", grid, 256, arguments)
