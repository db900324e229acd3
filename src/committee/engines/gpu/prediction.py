"""Prediction on a device by the trees of any fitted model, with the CPU's bytes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.engines.gpu.binning import BinJob, DeviceTableView, ThresholdTables, count_bin_stride
from committee.engines.gpu.device import open_device
from committee.engines.gpu.tables import take_rows_in
from committee.engines.gpu.tree_layouts import CodedTrees, CompleteTrees, LinkedTrees
from committee.engines.tree_model import present_trees
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from committee.engines.gpu.device import Device, DeviceMemory
    from committee.engines.tree_model import TreeModel
    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = ["GpuPredictor"]

_POINTERS = (
    "x",
    "out",
    "nodes",
    "node_offsets",
    "leaf_offsets",
    "terms",
    "slots",
    "category_offsets",
    "category_words",
    "baseline",
    "heaps",
    "heap_terms",
    "links",
    "link_terms",
    "tree_begins",
    "tree_depths",
    "chunk_ends",
    "slot_offsets",
    "codes",
)
_INTEGERS = (
    "n_rows",
    "n_features",
    "n_trees",
    "width",
    "n_columns",
    "double_x",
    "double_thresholds",
    "n_used",
    "n_chunk",
    "code_stride",
)
_PREDICTION = np.dtype(
    [(name, "u8") for name in _POINTERS] + [(name, "i8") for name in _INTEGERS] + [("divisor", "f8")]
)
_MOST_CODES = 64 << 10
"""Shared memory for the rows of a block; two blocks fit a multiprocessor."""
_MOST_THREADS, _ROWS_EACH = 512, 4
_ROWS_AT_ONCE = 1 << 22
"""Rows whose codes are in memory at a time."""


def _weigh_leaves(model: TreeModel) -> tuple[FloatArray, float]:
    """What each leaf adds to the columns, and what sums are divided by."""
    trees = model.trees
    values: FloatArray = np.asarray(trees.values, np.float64).reshape(-1, trees.width)
    weights = np.ones(trees.n_trees) if model.tree_weights is None else np.asarray(model.tree_weights, np.float64)
    divisor = 1.0
    if model.combine == "mean":
        divisor = 0.0
        for weight in weights.tolist():  # in the order of the trees
            divisor += weight
    ends = np.cumsum([0, *trees.outputs])
    parts = [values[:, first:last] for first, last in pairwise(ends.tolist())]
    if model.combine == "mean" and parts:
        values = np.concatenate([part / np.cumsum(part, axis=1)[:, -1:] for part in parts], axis=1)
    elif model.combine == "vote":
        values = np.concatenate([np.eye(part.shape[1])[part.argmax(axis=1)] for part in parts], axis=1)
    n_leaves: IndexArray = np.diff(trees.leaf_offsets).astype(np.int64)
    return np.ascontiguousarray(np.repeat(weights, n_leaves)[:, None] * values), divisor


class GpuPredictor:
    """The trees of a fitted model on a GPU.

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
        trees, terms = self._model.trees, None
        self._fields = np.zeros(1, _PREDICTION)
        self._kept: list[DeviceMemory] = []
        terms, divisor = _weigh_leaves(self._model)
        self._coded = coded = CodedTrees(self._model, terms)
        self._layout: CompleteTrees | LinkedTrees | None = coded.fill() or coded.link() if coded.is_possible else None
        self._tables: dict[bool, ThresholdTables] = {}
        self._n_threads, defines = _MOST_THREADS, []
        if self._layout is not None:
            while 4 * self._n_threads * len(coded.features) > _MOST_CODES:
                self._n_threads //= 2
            defines = [f"COMMITTEE_THREADS={self._n_threads}"]
        if isinstance(self._layout, CompleteTrees):
            defines.append(f"COMMITTEE_DEPTH={self._layout.depth}")
        self._program = self._device.compile("prediction.cu", defines, ["describe_prediction", self.walk])
        self._check_layout()
        self._fields["n_features"], self._fields["n_trees"] = trees.n_features, trees.n_trees
        self._fields["width"], self._fields["n_columns"] = trees.width, self._model.width
        self._fields["divisor"] = divisor
        if self._model.baseline is not None:
            self._put("baseline", np.asarray(self._model.baseline, np.float64))
        if self._layout is None:
            self._put_trees(terms)
        else:
            self._put_layout(self._layout)

    @property
    def walk(self) -> str:
        """The kernel that walks the trees."""
        if self._layout is None:
            return "sum_trees"
        return "sum_complete_trees" if isinstance(self._layout, CompleteTrees) else "sum_linked_trees"

    def _check_layout(self) -> None:
        memory = self._device.allocate(8)
        self._program.launch("describe_prediction", 1, 32, [np.uint64(memory.address)])
        found = int(self._device.copy_out(memory, np.uint64, 1)[0])
        if found != _PREDICTION.itemsize:
            raise EngineError(f"The compiled kernels describe a prediction in {found} bytes, not in those known here.")

    def _put(self, name: str, array: AnyArray) -> None:
        memory = self._device.allocate(array.nbytes)
        self._device.copy_in(array, memory)
        self._kept.append(memory)
        self._fields[name] = memory.address

    def _put_trees(self, terms: FloatArray) -> None:
        trees = self._model.trees
        nodes = np.ascontiguousarray(trees.nodes)
        self._fields["double_thresholds"] = nodes.dtype["threshold"].itemsize == 8
        self._put("nodes", nodes.view(np.uint8))
        self._put("terms", terms)
        for name in ("node_offsets", "leaf_offsets", "category_offsets", "category_words"):
            self._put(name, np.ascontiguousarray(getattr(trees, name)))
        if self._model.slots is not None:
            self._put("slots", np.asarray(self._model.slots, np.uint32))

    def _put_layout(self, layout: CompleteTrees | LinkedTrees) -> None:
        self._shared_bytes = 4 * self._n_threads * max(1, len(self._coded.features)) + layout.shared_bytes
        self._fields["n_used"], self._fields["n_chunk"] = len(self._coded.features), layout.n_chunk
        for name, array in layout.arrays.items():
            self._put(name, array)

    def predict_raw(self, X: Any) -> Any:
        """The raw prediction: scores of boosting before their link, class shares or means of forests.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            Numbers, categories as codes, as the trees were grown on. An array on the GPU (CuPy, or anything with
            DLPack) stays there, and so does what is returned.

        Returns
        -------
        ndarray of float64 of shape (n_rows, n_columns)
            A CuPy array if X is on the GPU.
        """
        memory, n_rows, is_double, on_device = take_rows_in(self._device, X, self._model.trees.n_features)
        out = self._device.allocate(8 * n_rows * self._model.width)
        self._launch(memory, out, n_rows, is_double)
        if on_device:
            return self._device.lend(out, np.float64, (n_rows, self._model.width))
        return self._device.copy_out(out, np.float64, n_rows * self._model.width).reshape(n_rows, -1)

    def _launch(self, x: DeviceMemory, out: DeviceMemory, n_rows: int, is_double: bool) -> None:
        if self._layout is not None:
            self._walk_shared(x, out, n_rows, is_double)
            return
        fields = self._fields.copy()
        fields["x"], fields["out"], fields["n_rows"], fields["double_x"] = x.address, out.address, n_rows, is_double
        job = self._device.allocate(_PREDICTION.itemsize)
        self._device.copy_in(fields.view(np.uint8), job)
        grid = max(1, min(-(-n_rows // 256), 16 * self._device.n_multiprocessors))
        self._program.launch(self.walk, grid, 256, [np.uint64(job.address)])
        # The description of the job is freed with this call.
        self._device.copy_out(job, np.uint8, 1)

    def _walk_shared(self, x: DeviceMemory, out: DeviceMemory, n_rows: int, is_double: bool) -> None:
        """Rows to codes, and codes down the trees, some millions of rows at a time."""
        tables = self._open_tables(is_double)
        n_features, size = self._model.trees.n_features, 8 if is_double else 4
        stride = count_bin_stride(min(n_rows, _ROWS_AT_ONCE))
        codes = self._device.allocate(max(1, stride * tables.n_used))
        starts = range(0, n_rows, _ROWS_AT_ONCE)
        fields = np.repeat(self._fields, max(1, len(starts)))
        jobs = []
        for own, first in zip(fields, starts, strict=False):
            n = min(_ROWS_AT_ONCE, n_rows - first)
            own["codes"], own["code_stride"], own["n_rows"] = codes.address, stride, n
            own["out"] = out.address + 8 * first * self._model.width
            view = DeviceTableView(x.address + first * n_features * size, n, is_double, n_features, 1)
            jobs.append(BinJob(view, codes.address, stride))
        memory = self._device.allocate(fields.nbytes)
        self._device.copy_in(fields.view(np.uint8), memory)
        for k, find_codes in enumerate(tables.apply(jobs)):
            find_codes()
            n_blocks = -(-int(fields["n_rows"][k]) // (self._n_threads * _ROWS_EACH))
            arguments = [np.uint64(memory.address + k * _PREDICTION.itemsize)]
            grid = min(n_blocks, 8 * self._device.n_multiprocessors)
            shared = self._shared_bytes
            self._program.launch(self.walk, grid, self._n_threads, arguments, shared_bytes=shared)
        # What the kernels read is freed with this call.
        self._device.copy_out(memory, np.uint8, 1)
        tables.forget_jobs()

    def _open_tables(self, is_double: bool) -> ThresholdTables:
        if is_double not in self._tables:
            own = self._coded
            columns = own.features.tolist()
            self._tables[is_double] = ThresholdTables(
                self._device, columns, own.thresholds, [0] * len(columns), is_double
            )
        return self._tables[is_double]
