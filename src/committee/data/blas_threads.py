"""BLAS on one thread: the order of its sums, and so their last bits, depends on the number of its threads."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["limit_blas"]


def limit_blas() -> AbstractContextManager[Any]:
    """One thread for BLAS while the context lasts.

    Returns
    -------
    context manager
    """
    limiter: AbstractContextManager[Any] = _find_libraries().limit(limits=1, user_api="blas")
    return limiter


@cache
def _find_libraries() -> ThreadpoolController:
    """The loaded libraries, looked for once: that takes as long as the fit of a small model."""
    import_module("scipy.linalg")  # SciPy has a BLAS of its own, which is found once it is loaded
    return ThreadpoolController()
