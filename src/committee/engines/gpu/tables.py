"""Rows for the kernels, from the host or from the device's own memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import DataError

if TYPE_CHECKING:
    from committee.engines.gpu.device import Device, DeviceMemory

__all__ = ["take_rows_in"]


def take_rows_in(device: Device, X: Any, n_features: int) -> tuple[DeviceMemory, int, bool, bool]:
    """Rows in the device's memory, one after the other.

    Parameters
    ----------
    device : Device
        Where.
    X : array of shape (n_rows, n_features)
        Of the host, or of the device.
    n_features : int
        The columns that it must have.

    Returns
    -------
    memory : DeviceMemory
        The rows.
    n_rows : int
        Their number.
    is_double : bool
        float64; else float32.
    on_device : bool
        Whether X was there already.
    """
    borrowed = device.borrow(X)
    if borrowed is None:
        X = np.asarray(X)
        X = np.ascontiguousarray(X, np.float32 if X.dtype == np.float32 else np.float64)
        shape, dtype = X.shape, X.dtype
    else:
        memory, shape, dtype = borrowed
    if len(shape) != 2 or shape[1] != n_features:
        raise DataError(f"X must have the {n_features} columns that the model was fitted on; its shape is {shape}.")
    if borrowed is None:
        memory = device.allocate(max(1, X.nbytes))
        device.copy_in(X, memory)
    return memory, int(shape[0]), dtype == np.float64, borrowed is not None
