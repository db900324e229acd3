"""The thin layer between the engine and a device: memory, compiled programs, launches.

CuPy is the declared route to a GPU. Nothing outside this module uses it, so that tests can put the kernels compiled
for the CPU in its place.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from committee.engines.gpu.sources import list_parts
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from committee.typing import AnyArray

__all__ = ["Device", "DeviceFeed", "DeviceMemory", "DeviceProgram", "KernelArgument", "open_device"]

KernelArgument = np.generic
"""A number in the type that a kernel's argument has; pointers are uint64."""
_N_BUFFERS = 3
_N_COPYING = min(8, os.cpu_count() or 1)
"""Threads that copy between memory of the host: one alone is slower than the way to the device."""
_LARGE, _SLICE = 64 << 20, 8 << 20
"""Bytes from which on copies to and from the host are shared by threads, and of what each of them copies at a time."""
_NOTHING = 'extern "C" __global__ void do_nothing() {}\n'


@dataclass(frozen=True)
class DeviceMemory:
    """A piece of the device's memory, freed with its last reference.

    Attributes
    ----------
    address : int
        Where it begins.
    n_bytes : int
        Its size.
    owner : object
        What keeps it, of the library that allocated it.
    """

    address: int
    n_bytes: int
    owner: Any


class DeviceProgram(Protocol):
    """A compiled program."""

    def launch(
        self, kernel: str, grid: int, block: int, arguments: Sequence[KernelArgument], *, shared_bytes: int = 0
    ) -> None:
        """Start a kernel, after all that was started before, without waiting for it."""
        ...


class DeviceFeed(Protocol):
    """Sends pieces of a table to the device, a few of which are there at a time."""

    def __enter__(self) -> DeviceFeed: ...

    def __exit__(self, *ended: object) -> None:
        """Wait for what was started."""
        ...

    def find_address(self, number: int) -> int:
        """Where a piece will be."""
        ...

    def send(self, number: int, piece: AnyArray) -> None:
        """Send a piece, after all that was started with those before it; the array may change afterwards."""
        ...


class Device(Protocol):
    """A device with memory of its own."""

    n_multiprocessors: int

    def allocate(self, n_bytes: int) -> DeviceMemory:
        """Memory, not cleared."""
        ...

    def copy_in(self, array: AnyArray, memory: DeviceMemory, offset: int = 0) -> None:
        """Copy a contiguous array to the device, after all that was started before."""
        ...

    def copy_out(
        self, memory: DeviceMemory, dtype: DTypeLike, n: int, offset: int = 0, *, out: AnyArray | None = None
    ) -> AnyArray:
        """Wait for all that was started, and copy n numbers from the device, into `out` if that is given."""
        ...

    def clear(self, memory: DeviceMemory) -> None:
        """Fill memory with zeros."""
        ...

    def count_free_bytes(self) -> int:
        """Memory that can still be allocated."""
        ...

    def compile(self, source: str, defines: Sequence[str], kernels: Sequence[str] = ()) -> DeviceProgram:
        """A program of `committee.engines.gpu.cuda`, compiled or from a cache; the same one at the next call.

        The parts of the program that have one of `kernels` are compiled from now on, beside what the caller does; the
        others when they are needed.
        """
        ...

    def borrow(self, array: Any) -> tuple[DeviceMemory, tuple[int, ...], DTypeLike] | None:
        """The memory, shape and type of an array of floats that is on the device; None if it is not."""
        ...

    def lend(self, memory: DeviceMemory, dtype: DTypeLike, shape: tuple[int, ...]) -> Any:
        """Memory as an array that stays on the device."""
        ...

    def gather_rows(self, memory: DeviceMemory, shape: tuple[int, ...], dtype: DTypeLike, rows: AnyArray) -> AnyArray:
        """Some rows of a table that was borrowed, on the host."""
        ...

    def open_feed(self, n_bytes: int) -> DeviceFeed:
        """What sends pieces of at most so many bytes to the device, one after the other."""
        ...

    def record(self, launches: Callable[[], None]) -> Callable[[], None]:
        """What starts again, at once, all kernels that `launches` starts; it does nothing else, and none runs yet."""
        ...


class _CupyProgram:
    """Kernels of CuPy's modules, looked up once."""

    def __init__(self, parts: dict[frozenset[str], Callable[[], Any]], stream: Any) -> None:
        self._parts, self._stream = parts, stream
        self._started: set[frozenset[str]] = set()
        self._functions: dict[str, Any] = {}
        self._most_shared: dict[str, int] = {}

    def start(self, kernels: Sequence[str]) -> None:
        """Load the parts that have one of these, each by a thread of its own."""
        wanted = [own for own in self._parts if own not in self._started and not own.isdisjoint(kernels)]
        if not wanted:
            return
        self._started.update(wanted)
        threads = ThreadPoolExecutor(len(wanted))
        self._parts |= {own: threads.submit(self._parts[own]).result for own in wanted}
        threads.shutdown(wait=False)

    def launch(
        self, kernel: str, grid: int, block: int, arguments: Sequence[KernelArgument], *, shared_bytes: int = 0
    ) -> None:
        function = self._functions.get(kernel)
        if function is None:
            open_part = next(part for names, part in self._parts.items() if kernel in names)
            function = self._functions[kernel] = open_part().get_function(kernel)
        if shared_bytes > self._most_shared.get(kernel, 48 << 10):
            function.max_dynamic_shared_size_bytes = self._most_shared[kernel] = shared_bytes
        with self._stream:
            function((grid,), (block,), tuple(arguments), shared_mem=shared_bytes)


class _CupyDevice:
    """The current CUDA device, by CuPy."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        # One of its own: what other threads do is not waited for, and launches can be recorded.
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._number = int(cupy.cuda.Device().id)
        self._programs: dict[tuple[str, ...], _CupyProgram] = {}
        self.n_multiprocessors = int(cupy.cuda.Device().attributes["MultiProcessorCount"])

    def allocate(self, n_bytes: int) -> DeviceMemory:
        try:
            with self._stream:
                pointer = self._cupy.cuda.alloc(max(n_bytes, 1))
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise EngineError(
                f"The GPU has no room for {n_bytes / 1e9:.1f} GB: {self.count_free_bytes() / 1e9:.1f} GB are free. "
                "Fit with fewer rows or features, or with engine='cpu'."
            ) from error

        return DeviceMemory(int(pointer.ptr), n_bytes, pointer)

    def copy_in(self, array: AnyArray, memory: DeviceMemory, offset: int = 0) -> None:
        array = np.ascontiguousarray(array)
        if array.nbytes >= _LARGE:
            self._copy_large(memory.owner + offset, array, to_host=False)
            return
        (memory.owner + offset).copy_from_host_async(array.ctypes.data, array.nbytes, self._stream)
        # The array may be gone before the copy is done.
        self._stream.synchronize()

    def copy_out(
        self, memory: DeviceMemory, dtype: DTypeLike, n: int, offset: int = 0, *, out: AnyArray | None = None
    ) -> AnyArray:
        array: AnyArray = np.empty(n, dtype) if out is None else out
        if array.nbytes >= _LARGE:
            self._copy_large(memory.owner + offset, array, to_host=True)
            return array
        (memory.owner + offset).copy_to_host_async(array.ctypes.data, array.nbytes, self._stream)
        self._stream.synchronize()
        return array

    def _copy_large(self, pointer: Any, array: AnyArray, *, to_host: bool) -> None:
        """Copy by several threads, each by a stream and a buffer of its own: pages of the host are slow to touch."""
        self._stream.synchronize()
        raw = array.reshape(-1).view(np.uint8)
        starts = range(0, raw.size, _SLICE)

        def copy(own: range) -> None:
            with self._cupy.cuda.Device(self._number):  # which threads have for themselves
                copy_here(own)

        def copy_here(own: range) -> None:
            stream = self._cupy.cuda.Stream(non_blocking=True)
            pinned = self._cupy.cuda.alloc_pinned_memory(_SLICE)
            buffer: AnyArray = np.frombuffer(pinned, np.uint8, _SLICE)
            for first in own:
                piece = raw[first : first + _SLICE]
                if to_host:
                    (pointer + first).copy_to_host_async(buffer.ctypes.data, piece.size, stream)
                    stream.synchronize()
                    np.copyto(piece, buffer[: piece.size])
                else:
                    np.copyto(buffer[: piece.size], piece)
                    (pointer + first).copy_from_host_async(buffer.ctypes.data, piece.size, stream)
                    stream.synchronize()

        with ThreadPoolExecutor(_N_COPYING) as threads:
            list(threads.map(copy, [starts[k::_N_COPYING] for k in range(_N_COPYING)]))

    def clear(self, memory: DeviceMemory) -> None:
        memory.owner.memset_async(0, memory.n_bytes, self._stream)

    def count_free_bytes(self) -> int:
        pool = self._cupy.get_default_memory_pool()
        return int(self._cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())

    def compile(self, source: str, defines: Sequence[str], kernels: Sequence[str] = ()) -> _CupyProgram:
        key = (source, *defines)
        if key not in self._programs:
            # Contraction would change last bits; the rest of CUDA's arithmetic is IEEE's by default.
            options = ("-std=c++20", "--fmad=false", "--diag-suppress=177,1097", *(f"-D{name}" for name in defines))
            # CuPy asks the compiler about each list of options, once; threads that all do it wait for one another.
            self._load(_NOTHING, options)
            parts: dict[frozenset[str], Callable[[], Any]] = {
                own: cache(partial(self._load, text, options)) for own, text in list_parts(source).items()
            }
            self._programs[key] = _CupyProgram(parts, self._stream)
        self._programs[key].start(kernels)
        return self._programs[key]

    def _load(self, text: str, options: tuple[str, ...]) -> Any:
        with self._cupy.cuda.Device(self._number):  # which threads have for themselves
            module = self._cupy.RawModule(code=text, options=options, backend="nvrtc")
            module.compile()
            return module

    def borrow(self, array: Any) -> tuple[DeviceMemory, tuple[int, ...], DTypeLike] | None:
        if not hasattr(array, "__cuda_array_interface__"):
            # DLPack's number of CUDA devices is 2.
            if not hasattr(array, "__dlpack_device__") or int(array.__dlpack_device__()[0]) != 2:
                return None
            array = self._cupy.from_dlpack(array)
        array = self._cupy.asarray(array)
        narrow = array.dtype == np.float32
        array = self._cupy.ascontiguousarray(array, np.float32 if narrow else np.float64)
        # It may still be in the making, by another stream.
        self._cupy.cuda.get_current_stream().synchronize()
        return DeviceMemory(int(array.data.ptr), int(array.nbytes), array), tuple(array.shape), array.dtype

    def gather_rows(self, memory: DeviceMemory, shape: tuple[int, ...], dtype: DTypeLike, rows: AnyArray) -> AnyArray:
        with self._stream:
            table = self._cupy.ndarray(shape, dtype, memptr=memory.owner.data)
            found: AnyArray = table[self._cupy.asarray(rows.astype(np.int64))].get()
        return found

    def open_feed(self, n_bytes: int) -> _CupyFeed:
        return _CupyFeed(self, self._cupy, self._stream, n_bytes)

    def lend(self, memory: DeviceMemory, dtype: DTypeLike, shape: tuple[int, ...]) -> Any:
        self._stream.synchronize()
        return self._cupy.ndarray(shape, dtype, memptr=memory.owner)

    def record(self, launches: Callable[[], None]) -> Callable[[], None]:
        with self._stream:
            self._stream.begin_capture()
            try:
                launches()
            finally:
                graph = self._stream.end_capture()

        def replay() -> None:
            graph.launch(self._stream)

        return replay


class _CupyFeed:
    """Pieces go through memory that the host does not move, which threads fill while earlier ones are on their way."""

    def __init__(self, device: _CupyDevice, cupy: Any, stream: Any, n_bytes: int) -> None:
        self._cupy, self._stream = cupy, stream
        # One piece, which is large enough to be of use to others once it is free.
        self._memory, self._n_bytes = device.allocate(_N_BUFFERS * n_bytes), n_bytes
        self._buffers = [cupy.cuda.alloc_pinned_memory(n_bytes) for _ in range(_N_BUFFERS)]
        self._events = [cupy.cuda.Event(disable_timing=True) for _ in range(_N_BUFFERS)]

    def __enter__(self) -> _CupyFeed:
        self._threads = ThreadPoolExecutor(_N_COPYING)
        return self

    def __exit__(self, *ended: object) -> None:
        self._threads.shutdown()
        self._stream.synchronize()

    def find_address(self, number: int) -> int:
        return self._memory.address + number % _N_BUFFERS * self._n_bytes

    def send(self, number: int, piece: AnyArray) -> None:
        place = number % _N_BUFFERS
        if number >= _N_BUFFERS:
            self._events[place].synchronize()
        target = np.frombuffer(self._buffers[place], piece.dtype, piece.size).reshape(piece.shape)
        bounds = np.linspace(0, len(piece), _N_COPYING + 1).astype(int).tolist()
        copies = [
            self._threads.submit(np.copyto, target[first:last], piece[first:last]) for first, last in pairwise(bounds)
        ]
        for copy in copies:
            copy.result()
        start = self._memory.owner + place * self._n_bytes
        start.copy_from_host_async(target.ctypes.data, piece.nbytes, self._stream)
        self._events[place].record(self._stream)


def open_device() -> Device:
    """The current CUDA device.

    Raises
    ------
    EngineError
        If CuPy is not installed, or finds no GPU.
    """
    try:
        import cupy
    except ImportError as error:
        raise EngineError(
            "engine='gpu' needs CuPy, which is not installed: install 'committee[gpu]', or set engine='cpu'."
        ) from error
    try:
        n_devices = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise EngineError(f"engine='gpu' needs a CUDA device; CuPy says: {error}. Set engine='cpu'.") from error
    if n_devices == 0:
        raise EngineError("engine='gpu' needs a CUDA device, and CuPy finds none. Set engine='cpu'.")
    return _CupyDevice(cupy)
