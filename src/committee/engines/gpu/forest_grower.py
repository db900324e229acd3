"""The host's part of growing the trees of a forest: memory, and which kernel comes when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from committee.engines.gpu.device_bins import DeviceBins
from committee.engines.gpu.forest_layout import FEW_WARPS, FOREST, FOREST_NODE, GROWTH_STATE, QUEUES, read_forest_sizes
from committee.engines.gpu.layout import BINS, BLOCK, LANES
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from committee import _core
    from committee.engines.gpu.device import Device, DeviceMemory, DeviceProgram, KernelArgument
    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = ["ForestGrower", "GrownForest", "compile_forest", "foresee_kind"]

_BINARY, _CLASSES, _MOMENTS = 0, 1, 3
_CRITERIA = {
    "gini": "Gini",
    "entropy": "Entropy",
    "gain_ratio": "GainRatio",
    "error": "ZeroOneError",
    "squared_error": "SquaredError",
    "friedman_mse": "SquaredError",
    "poisson": "Poisson",
}
_KERNELS = ("describe_forest", "grow_few", "grow_some", "grow_many")
"""Of all parts of the program."""
_SOME_BLOCK, _SOME_ROWS, _FEW = 128, 2048, 32
"""Threads of a block for nodes of some rows, and how many rows these have at most."""
_SOME_SHARED, _MANY_SHARED, _MOST_SHARED = 24 << 10, 100 << 10, 200 << 10
_FREE_SHARE = 0.8
"""Share of the free memory that a batch of trees may take."""
_FAILURES = ("", "there was no room for open nodes", "it has more nodes than were planned")
"""By their numbers in `cuda/forest.cuh`."""


def compile_forest(device: Device, kind: int, params: _core.GrowParams) -> DeviceProgram:
    """The program that grows trees from samples of a kind."""
    defines = [f"COMMITTEE_KIND={kind}", f"COMMITTEE_CRITERION={_CRITERIA[params.criterion]}"]
    return device.compile("forest.cu", [*defines, "COMMITTEE_RANDOM"] if params.random_splits else defines, _KERNELS)


def foresee_kind(n_classes: int | None, params: _core.GrowParams) -> int | None:
    """The kind of the samples of rows without weights, as the core chooses it; None where it is not known before.

    Parameters
    ----------
    n_classes : int or None
        Number of classes; None: numbers are predicted.
    params : GrowParams
        Parameters of a tree.
    """
    if params.criterion not in _CRITERIA or params.min_samples_leaf > 1:
        return None
    if n_classes is None:
        return _MOMENTS
    return _BINARY if n_classes == 2 else _CLASSES


class GrownForest(TypedDict):
    """What the device has grown, as the last arguments of `_core.assemble_forest`."""

    kind: int
    nodes: NDArray[np.uint8]
    node_offsets: NDArray[np.uint64]
    totals: NDArray[np.uint8]
    n_elements: int
    rows: NDArray[np.uint32]
    row_offsets: NDArray[np.uint64]
    weight_unit: FloatArray
    offset: FloatArray


class ForestGrower:
    """Grows trees of one forest.

    Parameters
    ----------
    device : Device
        Where.
    data : BinnedMatrix or DeviceBins
        The table; numeric columns only.
    labels : ndarray of uint32 or None
        Classes.
    values : ndarray of float64 or None
        Numbers.
    params : GrowParams
        Parameters of a tree.
    n_classes : int
        Number of classes.
    """

    def __init__(
        self,
        device: Device,
        data: _core.BinnedMatrix | DeviceBins,
        labels: IndexArray | None,
        values: FloatArray | None,
        params: _core.GrowParams,
        n_classes: int,
    ) -> None:
        self._device, self._params, self._n_rows, self._n_features = device, params, data.n_rows, data.n_cols
        self._n_classes = n_classes
        self._has_numbers = values is not None
        self._programs: dict[int, tuple[DeviceProgram, dict[str, int]]] = {}
        self._memories: dict[str, DeviceMemory] = {}
        self._job = np.zeros(1, FOREST)
        self._room: list[AnyArray] = []
        self.some_rows = _SOME_ROWS
        self._set_params()
        self._upload(data, labels, values)

    def _set_params(self) -> None:
        job, params = self._job, self._params
        wanted = min(params.max_features, self._n_features)
        job["n_rows"], job["n_features"], job["n_classes"] = self._n_rows, self._n_features, self._n_classes
        job["n_groups"] = -(-self._n_features // LANES)
        job["max_features"], job["draws"] = wanted, wanted < self._n_features
        job["shuffles"], job["max_depth"] = params.shuffle_ties, params.max_depth
        job["min_leaf"] = params.min_samples_leaf
        job["min_split"] = max(params.min_samples_split, 2 * params.min_samples_leaf)
        job["least_decrease"] = params.min_impurity_decrease
        seed = int(params.seed)
        job["seed"] = seed - (1 << 64) if seed >= 1 << 63 else seed

    # Memory.

    def _take(self, name: str, n_bytes: int) -> DeviceMemory:
        """Memory of at least this size; what was taken for an earlier batch if it is large enough."""
        memory = self._memories.get(name)
        if memory is None or memory.n_bytes < n_bytes:
            self._memories.pop(name, None)
            memory = self._memories[name] = self._device.allocate(n_bytes)
        if name in FOREST.fields:  # type: ignore[operator]
            self._job[name] = memory.address
        return memory

    def _put(self, name: str, array: AnyArray) -> None:
        self._device.copy_in(array, self._take(name, array.nbytes))

    def _upload(
        self, data: _core.BinnedMatrix | DeviceBins, labels: IndexArray | None, values: FloatArray | None
    ) -> None:
        self._upload_table(data)
        if labels is not None:
            self._put("labels", np.ascontiguousarray(labels, np.uint32).ravel())
        if values is not None:
            self._put("y", np.ascontiguousarray(values, np.float64).ravel())
        if self._params.random_splits:
            for name in ("low", "high"):
                ends = np.zeros((self._n_features, BINS))
                for feature in range(self._n_features):
                    own = getattr(data.mapper, name)(feature)
                    ends[feature, : len(own)] = own
                self._put(name, ends)

    def _upload_table(self, data: _core.BinnedMatrix | DeviceBins) -> None:
        """Columns from the host, or records that are here; kernels make the other of both."""
        stride = -(-self._n_rows // LANES) * LANES
        self._job["column_stride"] = stride
        columns = self._take("columns", stride * self._n_features)
        if isinstance(data, DeviceBins):
            self._memories["records"] = data.records
            self._job["records"], self._lacking = data.records.address, "columns"
            return
        for feature in range(self._n_features):
            column = data.column(feature) if data.has_entries else data.columns[feature]
            self._device.copy_in(column, columns, feature * stride)
        self._take("records", int(self._job["n_groups"][0]) * self._n_rows * LANES)
        self._lacking = "records"

    def _choose_program(self, kind: int) -> dict[str, int]:
        if kind not in self._programs:
            program = compile_forest(self._device, kind, self._params)
            self._programs[kind] = program, read_forest_sizes(self._device, program)
        self._program, sizes = self._programs[kind]
        return sizes

    # How much.

    def _count_nodes(self, n_items: int) -> int:
        """Nodes of a tree, at most."""
        most_leaves = max(1, n_items // max(1, self._params.min_samples_leaf))
        if self._params.max_depth < 31:
            most_leaves = min(most_leaves, 1 << self._params.max_depth)
        return 2 * most_leaves

    def _count_elements(self, kind: int, counted: bool) -> int:
        return 2 if kind in (_BINARY, _MOMENTS) else self._n_classes + counted

    def _count_queues(self, n_items: int, n_trees: int) -> tuple[int, int, int]:
        """Open nodes of one depth by the number of their rows, at most."""
        rows = n_items * n_trees
        return rows // 2 + n_trees, rows // (_FEW + 1) + n_trees, rows // (self.some_rows + 1) + n_trees

    def _list_memory(self, n_items: int, n_trees: int, n_elements: int, sizes: dict[str, int]) -> dict[str, int]:
        n_nodes = self._count_nodes(n_items)
        listed = {
            "items": 2 * n_trees * n_items * sizes["item"],
            "nodes": n_trees * n_nodes * sizes["node"],
            "totals": n_trees * n_nodes * n_elements * sizes["element"],
            "queues": 2 * sum(self._count_queues(n_items, n_trees)) * sizes["open"],
        }
        if self._has_numbers:
            listed["leaf_rows"] = 4 * n_trees * n_items
        return listed

    def count_trees_at_once(self, most: int) -> int:
        """Trees that the device's memory holds together, at least one."""
        wide = {"item": 16, "node": FOREST_NODE.itemsize, "element": 8, "open": 32}
        narrow = {"item": 8, "node": FOREST_NODE.itemsize, "element": 4, "open": 32}
        n_elements = 2 if self._n_classes <= 2 else self._n_classes + 1
        listed = self._list_memory(self._n_rows, 1, n_elements, wide if self._has_numbers else narrow)
        # What is packed for the host is as large as nodes and totals, and each row has a weight.
        packed = listed["nodes"] + listed["totals"] + 4 * self._n_rows
        held = [*listed, "packed_nodes", "packed_totals", "packed_rows", "weights"]
        free = self._device.count_free_bytes() + self._count_held(held)
        return int(max(1, min(most, _FREE_SHARE * free // (sum(listed.values()) + packed))))

    def _count_held(self, names: Iterable[str]) -> int:
        """Bytes of memory that an earlier batch has taken."""
        return sum(self._memories[name].n_bytes for name in names if name in self._memories)

    # Growth.

    def grow(self, sample: _core.ForestSample, start: int, end: int, first_tree: int) -> GrownForest:
        """Trees ``start`` to ``end - 1`` of a sample, all of one kind; the first is ``first_tree`` of the forest."""
        kind, n_trees = int(sample.kinds[start]), end - start
        sizes = self._choose_program(kind)
        n_elements = self._count_elements(kind, sample.counted)
        n_items = int(sample.n_items[start:end].max())
        self._prepare(sample, slice(start, end), n_items, n_elements, sizes)
        self._job["first_tree"] = first_tree
        self._send()
        if self._lacking:
            self._launch(f"make_forest_{self._lacking}", self._count_blocks(256, self._n_rows), 256)
            self._lacking = ""
        parts = max(1, min(-(-self._n_rows // 256), 16 * self._device.n_multiprocessors // n_trees))
        self._launch("make_sample", n_trees * parts, 256, shared_bytes=n_elements * sizes["element"])
        self._launch("open_roots", -(-n_trees // 32), 32)
        self._grow_levels(kind, n_elements, sizes)
        return self._read(sample, slice(start, end), kind, n_elements, sizes)

    def _prepare(
        self, sample: _core.ForestSample, trees: slice, n_items: int, n_elements: int, sizes: dict[str, int]
    ) -> None:
        job, n_trees = self._job, trees.stop - trees.start
        listed = self._list_memory(n_items, n_trees, n_elements, sizes)
        needed, free = sum(listed.values()), self._device.count_free_bytes() + self._count_held(listed)
        if needed > free:
            raise EngineError(
                f"A forest needs {needed / 1e9:.3g} GB of the GPU's memory beside the table for {n_trees} trees; "
                f"{free / 1e9:.3g} GB are free. Draw fewer rows for each tree, or set engine='cpu'."
            )
        for name, n_bytes in listed.items():
            self._take(name, n_bytes)
        job["n_trees"], job["max_items"], job["max_nodes"] = n_trees, n_items, self._count_nodes(n_items)
        job["n_elements"], job["counted"] = n_elements, sample.counted
        job["weight_bytes"], job["some_rows"] = sample.weight_bytes, self.some_rows
        capacities = self._count_queues(n_items, n_trees)
        for name, capacity in zip(("few", "some", "many"), capacities, strict=True):
            job[f"capacity_{name}"] = capacity
        if sample.weight_bytes:
            width = sample.weight_bytes * self._n_rows
            self._put("weights", np.asarray(sample.weights)[trees.start * width : trees.stop * width])
        self._put("offsets", sample.offset[trees])
        # Units are powers of two: a half times two to the power of the exponent.
        self._put(
            "shifts", (1 - np.frexp(np.where(sample.target_unit == 0, 1, sample.target_unit)[trees])[1]).astype(float)
        )
        self._put("min_weights", sample.min_weight_leaf[trees])
        factors: FloatArray = np.stack([sample.decrease_unit[trees], sample.total_weight[trees]], axis=1)
        self._put("decrease_factors", np.ascontiguousarray(factors))
        self._take("tree_keys", 8 * n_trees)
        self._put("n_items", np.zeros(n_trees, np.uint32))
        self._take("n_nodes", 4 * n_trees)
        self._put("state", np.zeros(1, GROWTH_STATE).view(np.uint8))
        stride = int(job["max_nodes"][0]) * n_elements * sizes["element"]
        zeros = np.zeros(n_elements * sizes["element"], np.uint8)
        for tree in range(n_trees):
            self._device.copy_in(zeros, self._memories["totals"], tree * stride)
        self._choose_chunks(n_elements * sizes["element"] * BINS)

    def _choose_chunks(self, histogram: int) -> None:
        wanted = int(self._job["max_features"][0])
        for name, most in (("some", _SOME_SHARED), ("many", _MANY_SHARED)):
            self._job[f"chunk_{name}"] = max(1, min(wanted, most // histogram))

    def _send(self) -> None:
        self._device.copy_in(self._job.view(np.uint8), self._take("job", FOREST.itemsize))

    def _count_shared(self, chunk: int, n_elements: int, element: int) -> int:
        cells = (chunk * BINS + 2) * n_elements * element
        return cells + 4 * chunk * (BINS // LANES) + 4 * self._n_features

    def _grow_levels(self, kind: int, n_elements: int, sizes: dict[str, int]) -> None:
        element, n = sizes["element"], self._device.n_multiprocessors
        in_cells = 0 if kind in (_BINARY, _MOMENTS) else 2 * n_elements * LANES * element
        of_warp = in_cells + -(-4 * self._n_features // element) * element
        launches: list[tuple[str, int, int, int]] = [
            ("grow_few", FEW_WARPS * LANES, FEW_WARPS * of_warp, 16 * n),
            (
                "grow_some",
                _SOME_BLOCK,
                self._count_shared(int(self._job["chunk_some"][0]), n_elements, element),
                16 * n,
            ),
            ("grow_many", BLOCK, self._count_shared(int(self._job["chunk_many"][0]), n_elements, element), 2 * n),
        ]
        parity = 0
        while True:
            state: Any = self._device.copy_out(self._memories["state"], np.uint8, GROWTH_STATE.itemsize)
            state = state.view(GROWTH_STATE)[0]
            if state["failure"]:
                raise EngineError(f"The GPU engine has failed to grow a forest: {_FAILURES[state['failure']]}.")
            n_open = state["n_open"][parity]
            if not n_open.any():
                return
            # Large nodes first: they take longest.
            for which in range(QUEUES - 1, -1, -1):
                if n_open[which]:
                    kernel, block, shared_bytes, most = launches[which]
                    groups = FEW_WARPS if which == 0 else 1
                    grid = int(min(-(-int(n_open[which]) // groups), most))
                    self._launch(kernel, grid, block, (np.int32(parity),), shared_bytes=shared_bytes)
            self._launch("end_level", 1, 32, (np.int32(parity),))
            parity = 1 - parity

    def _read(
        self, sample: _core.ForestSample, trees: slice, kind: int, n_elements: int, sizes: dict[str, int]
    ) -> GrownForest:
        n_trees, device = trees.stop - trees.start, self._device
        n_nodes = device.copy_out(self._memories["n_nodes"], np.uint32, n_trees)
        node_offsets = np.concatenate([[0], np.cumsum(n_nodes, dtype=np.uint64)]).astype(np.uint64)
        n_items = sample.n_items[trees] if kind == _MOMENTS else np.zeros(n_trees, np.uint64)
        row_offsets = np.concatenate([[0], np.cumsum(n_items, dtype=np.uint64)]).astype(np.uint64)
        self._put("node_offsets", node_offsets)
        self._put("row_offsets", row_offsets)
        total, cell = int(node_offsets[-1]), n_elements * sizes["element"] if kind != _MOMENTS else 0
        self._take("packed_nodes", total * FOREST_NODE.itemsize)
        self._take("packed_totals", total * cell)
        self._take("packed_rows", 4 * int(row_offsets[-1]))
        self._send()
        self._launch("pack_forest", n_trees * max(1, 16 * device.n_multiprocessors // n_trees), 256)
        return GrownForest(
            kind=kind,
            nodes=self._read_packed("packed_nodes", total * FOREST_NODE.itemsize),
            node_offsets=node_offsets,
            totals=self._read_packed("packed_totals", total * cell),
            n_elements=n_elements,
            rows=device.copy_out(self._memories["packed_rows"], np.uint32, int(row_offsets[-1])),
            row_offsets=row_offsets,
            weight_unit=sample.weight_unit[trees],
            offset=sample.offset[trees],
        )

    def _read_packed(self, name: str, n_bytes: int) -> NDArray[np.uint8]:
        """What the device has packed, in memory of the host that an earlier batch has left if there is any."""
        rooms = [k for k, room in enumerate(self._room) if room.size >= n_bytes]
        room = self._room.pop(rooms[0]) if rooms else np.empty(n_bytes, np.uint8)
        found = room[:n_bytes]
        self._device.copy_out(self._memories[name], np.uint8, n_bytes, out=found)
        return found

    def take_back(self, grown: GrownForest) -> None:
        """Use the memory of a batch, which nobody looks at any more, for the next ones: fresh pages cost much time."""
        for array in (grown["nodes"], grown["totals"]):
            self._room.append(array if array.base is None else array.base)

    def _count_blocks(self, block: int, n: int) -> int:
        return max(1, min(-(-n // block), 16 * self._device.n_multiprocessors))

    def _launch(
        self, kernel: str, grid: int, block: int, arguments: tuple[KernelArgument, ...] = (), *, shared_bytes: int = 0
    ) -> None:
        job = np.uint64(self._memories["job"].address)
        self._program.launch(kernel, grid, block, (job, *arguments), shared_bytes=shared_bytes)
