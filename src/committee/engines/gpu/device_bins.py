"""The binned table of a fit, made and kept on the device: the bins are learnt as the core does, from the same rows."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from committee import _core
from committee.data.device_tables import DeviceTable
from committee.engines.gpu.binning import BinJob, DeviceTableView, ThresholdTables, compile_binning
from committee.engines.gpu.layout import BINS, LANES, count_record_bytes
from committee.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from committee.engines.gpu.device import Device, DeviceMemory
    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = ["LEAST_DEVICE_ROWS", "DeviceBins", "bin_on_device"]

_PLANNED_ROWS = 1 << 18
LEAST_DEVICE_ROWS = _PLANNED_ROWS + 1
"""Rows from which on tables are binned on the device; the host is as fast with smaller ones."""
_SLOTS, _EMPTY = 1024, np.uint64(0xFFFFFFFFFFFFFFFF)
_NOT_EXACT = 0xFFFFFFFF
_MOST_LEVELS = 255
_N_GATHERING = min(8, os.cpu_count() or 1)
"""Threads that copy rows of the sample."""
_PIECE_BYTES = 32 << 20
"""Of the values that are on the device at a time, where the table comes from the host."""


class DeviceBins:
    """A table in bytes on a device; stands in for a `_core.BinnedMatrix`.

    Parameters
    ----------
    device : Device
        Where.
    mapper : BinMapper
        The bins.
    records : DeviceMemory
        A byte a value: 32 columns of a row side by side, all rows of these, and then those of the next columns.
    n_rows : int
        Number of rows.
    """

    has_entries: ClassVar[bool] = False

    def __init__(self, device: Device, mapper: _core.BinMapper, records: DeviceMemory, n_rows: int) -> None:
        self.device, self.mapper, self.records = device, mapper, records
        self.n_rows, self.n_cols = n_rows, len(mapper.n_bins)
        # The plan of a small fit looks at the bytes.
        self.described = self._describe() if n_rows > _PLANNED_ROWS else self.to_host()

    def _describe(self) -> _core.BinnedMatrix:
        """The bins and the number of rows, for the core; a sparse table without entries has no bytes."""
        nothing, starts = np.empty(0), np.zeros(self.n_cols + 1, np.int64)
        return self.mapper.transform_csc(nothing, np.empty(0, np.int64), starts, (self.n_rows, self.n_cols), 1, 0)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self.records.n_bytes

    def to_host(self) -> _core.BinnedMatrix:
        """The same table in the memory of the host."""
        n_bytes = count_record_bytes(self.n_rows, self.n_cols)
        records: AnyArray = self.device.copy_out(self.records, np.uint8, n_bytes)
        columns = records.reshape(-1, self.n_rows, LANES).transpose(0, 2, 1).reshape(-1, self.n_rows)
        builder = _core.BinnedBuilder(self.mapper, self.n_rows)
        builder.write_bins(np.ascontiguousarray(columns[: self.n_cols]), 0, np.empty(0, np.uint32))
        return builder.finish()


class _Source:
    """The values, wherever they are."""

    def __init__(self, device: Device, X: Any) -> None:
        X = X.array if isinstance(X, DeviceTable) else X
        self._device, self._X = device, X
        self.borrowed = device.borrow(X)
        if self.borrowed is not None:
            self._memory, self.shape, self.dtype = self.borrowed
        else:
            self.shape, self.dtype = X.shape, X.dtype
        self.is_double = self.dtype == np.float64

    def take_rows(self, rows: AnyArray) -> AnyArray:
        """Some rows, on the host."""
        if self.borrowed is None:
            return self._gather(rows)
        found: AnyArray = self._device.gather_rows(self._memory, self.shape, self.dtype, rows)
        return found

    def _gather(self, rows: AnyArray) -> AnyArray:
        """Some rows of the host's table, by several threads: one alone waits for memory most of the time."""
        found: AnyArray = np.empty((len(rows), self.shape[1]), self.dtype)
        bounds = np.linspace(0, len(rows), _N_GATHERING + 1).astype(int).tolist()

        def gather(first: int, last: int) -> None:
            np.take(self._X, rows[first:last], axis=0, out=found[first:last], mode="clip")

        with ThreadPoolExecutor(_N_GATHERING) as threads:
            list(threads.map(gather, bounds[:-1], bounds[1:]))
        return found

    def pass_over(self, use: Callable[[list[DeviceTableView]], list[Callable[[], None]]]) -> None:
        """Have all rows looked at; `use` makes of pieces of the table what is to be done with each, in their order."""
        n_rows, n_features = self.shape
        if self.borrowed is not None:
            for step in use([DeviceTableView(self._memory.address, n_rows, self.is_double, n_features, 1)]):
                step()
            return
        X, by_columns = self._X, self._X.flags.f_contiguous and not self._X.flags.c_contiguous
        per_piece = max(32, _PIECE_BYTES // max(1, X.itemsize * n_features) // 32 * 32)
        starts = range(0, n_rows, per_piece)
        pieces = [X[first : first + per_piece].T if by_columns else X[first : first + per_piece] for first in starts]
        with self._device.open_feed(per_piece * n_features * X.itemsize) as feed:
            views = []
            for number, piece in enumerate(pieces):
                n = piece.shape[1] if by_columns else len(piece)
                strides = (1, n) if by_columns else (n_features, 1)
                views.append(DeviceTableView(feed.find_address(number), n, self.is_double, *strides))
            for number, (piece, step) in enumerate(zip(pieces, use(views), strict=True)):
                feed.send(number, piece)
                step()


def bin_on_device(
    device: Device, X: Any, weights: FloatArray | None, n_levels: IndexArray, max_bins: int, n_jobs: int
) -> DeviceBins:
    """Learn the bins of every column and put the table into them, on the device.

    Parameters
    ----------
    device : Device
        Where.
    X : ndarray, or array on the device, of shape (n_rows, n_features)
        float32 or float64; codes where a column is a category, NaN where missing.
    weights, n_levels, max_bins, n_jobs
        As in `committee.data.binning.bin_columns`; no category may have more than 255 levels.
    """
    source = _Source(device, X)
    n_rows, n_features = source.shape
    if (n_levels > _MOST_LEVELS).any():
        raise ValueError("categories of more than 255 levels are not binned on the device")
    compile_binning(device, source.is_double)  # while bins are learnt
    rows, own_weights, complete = _core.choose_bin_sample(n_rows, weights)
    sample = source.take_rows(rows)
    mapper = _core.learn_bins(sample, own_weights, n_levels, max_bins, None, n_jobs)
    records = device.allocate(count_record_bytes(n_rows, n_features))
    counted = None
    if weights is not None and not complete:
        mask = ((weights > 0.0) & np.isfinite(weights)).astype(np.uint8)
        counted = device.allocate(mask.nbytes)
        device.copy_in(mask, counted)
    table = _TableBins(device, source, mapper, n_levels, records)
    if complete:
        table.write(None, None)
        return DeviceBins(device, mapper, records, n_rows)
    summary = _core.TableSummary(source.is_double, n_levels, max_bins)
    summary.add(sample, None, n_jobs)
    found = _OtherRows(n_features, max_bins, mapper, n_levels)
    table.write(found, counted)
    summary.add(found.make_block(source.dtype, n_levels), None, n_jobs)
    if summary.is_all_missing:
        raise DataError("Every value of X is missing; there is nothing to learn from.")
    final = _core.learn_bins(sample, own_weights, n_levels, max_bins, summary, n_jobs)
    if any(len(final.thresholds(c)) != len(mapper.thresholds(c)) for c in range(n_features)):
        # Values that the sample has not got have bins of their own.
        _TableBins(device, source, final, n_levels, records).write(None, None)
    return DeviceBins(device, final, records, n_rows)


class _TableBins:
    """Writes the bins of all rows."""

    def __init__(
        self,
        device: Device,
        source: _Source,
        mapper: _core.BinMapper,
        n_levels: IndexArray,
        records: DeviceMemory,
    ) -> None:
        self._device, self._source, self._records = device, source, records
        n_rows, n_features = source.shape
        self._group_stride = n_rows * LANES
        thresholds = [np.asarray(mapper.thresholds(c)) for c in range(n_features)]
        levels = [int(n) for n in n_levels]
        self._tables = ThresholdTables(device, range(n_features), thresholds, levels, source.is_double)

    def write(self, found: _OtherRows | None, counted: DeviceMemory | None) -> None:
        """Write them; `found` takes what the sample does not say of the rows."""
        if found is not None:
            found.prepare(self._tables)

        def use(views: list[DeviceTableView]) -> list[Callable[[], None]]:
            jobs, first = [], 0
            for view in views:
                mask = 0 if counted is None else counted.address + first
                at = self._records.address + first * LANES
                jobs.append(BinJob(view, at, 0, mask, self._group_stride))
                first += view.n_rows
            return self._tables.apply(jobs)

        self._source.pass_over(use)
        if found is not None:
            found.read(self._device)


class _OtherRows:
    """What all rows say of the columns beyond the sample: ranges, missing values, and values that it has not got."""

    def __init__(self, n_features: int, max_bins: int, mapper: _core.BinMapper, n_levels: IndexArray) -> None:
        self._n_features = n_features
        self._values: FloatArray = np.zeros((n_features, BINS))
        self._n_values: AnyArray = np.full(n_features, _NOT_EXACT, np.uint32)
        for column in range(n_features):
            low, high = np.asarray(mapper.low(column)), np.asarray(mapper.high(column))
            if n_levels[column] == 0 and len(low) <= max_bins and (low == high).all():
                self._values[column, : len(low)], self._n_values[column] = low, len(low)

    def prepare(self, tables: ThresholdTables) -> None:
        """Have the kernels look for it."""
        self._ranges = tables.put("ranges", np.zeros((self._n_features, 3), np.uint64))
        self._slots: DeviceMemory | None = None
        if (self._n_values != _NOT_EXACT).any():
            tables.put("values", self._values)
            tables.put("n_values", self._n_values)
            tables.put("n_slots", np.zeros(self._n_features, np.uint32))
            self._slots = tables.put("slots", np.full((self._n_features, _SLOTS), _EMPTY))

    def read(self, device: Device) -> None:
        """Take what they have found."""
        n = self._n_features
        self._found = device.copy_out(self._ranges, np.uint64, 3 * n).reshape(n, 3)
        others: AnyArray = np.full((n, 1), _EMPTY)
        if self._slots is not None:
            others = device.copy_out(self._slots, np.uint64, _SLOTS * n).reshape(n, _SLOTS)
        self._others = [own[own != _EMPTY].view(np.float64) for own in others]

    def make_block(self, dtype: Any, n_levels: IndexArray) -> AnyArray:
        """Rows that say the same as all rows."""
        n_most = max(map(len, self._others), default=0)
        block = np.full((3 + n_most, self._n_features), np.nan, dtype)
        for column, (high, low, missing) in enumerate(self._found.tolist()):
            if high == 0:  # nothing but missing values
                continue
            if n_levels[column] > 0:  # the range says nothing of a category
                block[:, column] = np.nan if missing else 0.0
                continue
            ends = _read_keys(np.array([high, ~np.uint64(low)], np.uint64))
            own = self._others[column]
            block[:, column] = ends[0]
            block[1, column] = ends[1]
            block[3 : 3 + len(own), column] = own
            if missing:
                block[2, column] = np.nan
        return block


def _read_keys(keys: AnyArray) -> FloatArray:
    """Numbers from keys in their order."""
    top = np.uint64(1 << 63)
    bits = np.where(keys & top != 0, keys ^ top, ~keys)
    return bits.astype(np.uint64).view(np.float64)
