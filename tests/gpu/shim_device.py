"""A device whose kernels are compiled for the CPU: memory is NumPy's, a launch is a call."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike, NDArray

from committee.engines.gpu.device import DeviceMemory
from committee.engines.gpu.sources import list_include_folders, read_program

HERE = Path(__file__).parent
GUARD = 4096
"""Bytes before and after each piece of memory that nothing may write to."""
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")


class ShimProgram:
    def __init__(self, library: ctypes.CDLL) -> None:
        self._launch = library.launch_kernel

    def launch(
        self, kernel: str, grid: int, block: int, arguments: Sequence[np.generic], *, shared_bytes: int = 0
    ) -> None:
        kept = [np.array([argument]) for argument in arguments]
        pointers = (ctypes.c_void_p * len(kept))(*(array.ctypes.data for array in kept))
        assert self._launch(kernel.encode(), grid, block, pointers) == 0, kernel


def build_library(source: str, defines: Sequence[str]) -> Path:
    """The shared library of all kernels; built once for each state of what it includes."""
    assert COMPILER is not None
    folders, entry = [*list_include_folders(), HERE], HERE / f"{Path(source).stem}_shim.cpp"
    own = b"".join(path.read_bytes() for path in [entry, *sorted(HERE.glob("*.hpp"))])
    text = own + read_program(source).encode() + " ".join([source, *defines]).encode()
    place = Path(tempfile.gettempdir()) / f"committee_kernels_{hashlib.sha256(text).hexdigest()[:16]}.so"
    if not place.exists():
        options = ["-std=c++20", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-U_FORTIFY_SOURCE", "-w"]
        if sys.platform == "linux" and "clang" not in Path(COMPILER).name:
            # All shared memory in one section, which the variables of inline functions share only if they are no
            # weak symbols.
            options += ["-DCOMMITTEE_SPOIL_SHARED", "-fno-weak"]
        options += ["-DCOMMITTEE_DEVICE_SHIM", *(f"-D{name}" for name in defines)]
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "kernels.so"
            command = [
                COMPILER,
                *options,
                *(f"-I{path}" for path in folders),
                str(entry),
                "-o",
            ]
            subprocess.run([*command, str(made)], check=True, capture_output=True, text=True)
            shutil.copy(made, f"{place}.{os.getpid()}")
            Path(f"{place}.{os.getpid()}").replace(place)
    return place


class ShimArray:
    """A table that is on the device."""

    def __init__(self, device: ShimDevice, array: NDArray[np.generic]) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        self.memory = device.allocate(array.nbytes)
        device.copy_in(array, self.memory)


class ShimFeed:
    """Two places for pieces, which are overwritten by the next ones."""

    def __init__(self, device: ShimDevice, n_bytes: int) -> None:
        self._device = device
        self._places = [device.allocate(n_bytes), device.allocate(n_bytes)]

    def __enter__(self) -> ShimFeed:
        return self

    def __exit__(self, *ended: object) -> None:
        self._device.check_guards()

    def find_address(self, number: int) -> int:
        return self._places[number % 2].address

    def send(self, number: int, piece: NDArray[np.generic]) -> None:
        self._device.copy_in(np.ascontiguousarray(piece), self._places[number % 2])


class ShimDevice:
    """The kernels on the CPU, as `committee.engines.gpu.device.Device`.

    `rubbish` is what memory begins with, in every byte: a device does not clear it, and may have what looks right.
    """

    def __init__(self, n_multiprocessors: int = 2, free_bytes: int = 1 << 34, rubbish: int = 0xA5) -> None:
        self.n_multiprocessors, self.free_bytes = n_multiprocessors, free_bytes
        self._rubbish = rubbish
        self._guards: list[NDArray[np.uint8]] = []

    def allocate(self, n_bytes: int) -> DeviceMemory:
        room = np.full(n_bytes + 2 * GUARD + 64, self._rubbish, np.uint8)
        skipped = GUARD + -room.ctypes.data % 64
        self._guards += [room[:skipped], room[skipped + n_bytes :]]
        return DeviceMemory(room.ctypes.data + skipped, n_bytes, room[skipped:][:n_bytes])

    def check_guards(self) -> None:
        """Make sure that no kernel has written beside the memory it was given."""
        assert all((guard == self._rubbish).all() for guard in self._guards)

    def copy_in(self, array: NDArray[np.generic], memory: DeviceMemory, offset: int = 0) -> None:
        raw = np.ascontiguousarray(array).view(np.uint8).ravel()
        assert offset + raw.size <= memory.n_bytes
        memory.owner[offset:][: raw.size] = raw

    def copy_out(
        self,
        memory: DeviceMemory,
        dtype: DTypeLike,
        n: int,
        offset: int = 0,
        *,
        out: NDArray[np.generic] | None = None,
    ) -> NDArray[np.generic]:
        n_bytes = n * np.dtype(dtype).itemsize
        assert offset + n_bytes <= memory.n_bytes
        self.check_guards()
        found = memory.owner[offset:][:n_bytes].view(dtype)
        if out is None:
            return found.copy()
        out[:] = found
        return out

    def clear(self, memory: DeviceMemory) -> None:
        memory.owner[:] = 0

    def count_free_bytes(self) -> int:
        return self.free_bytes

    def borrow(self, array: object) -> tuple[DeviceMemory, tuple[int, ...], DTypeLike] | None:
        if hasattr(array, "__cuda_array_interface__"):
            array = ShimArray(self, np.ascontiguousarray(array.array))
        if not isinstance(array, ShimArray):
            return None
        return array.memory, array.shape, array.dtype

    def lend(self, memory: DeviceMemory, dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[np.generic]:
        return memory.owner.view(dtype).reshape(shape)

    def gather_rows(
        self, memory: DeviceMemory, shape: tuple[int, ...], dtype: DTypeLike, rows: NDArray[np.integer]
    ) -> NDArray[np.generic]:
        return memory.owner.view(dtype).reshape(shape)[rows]

    def open_feed(self, n_bytes: int) -> ShimFeed:
        return ShimFeed(self, n_bytes)

    def record(self, launches: Callable[[], None]) -> Callable[[], None]:
        return launches

    def compile(self, source: str, defines: Sequence[str], kernels: Sequence[str] = ()) -> ShimProgram:
        return ShimProgram(ctypes.CDLL(str(build_library(source, defines))))
