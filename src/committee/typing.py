"""Names for the array types that are passed between the modules of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AnyArray",
    "AnyDType",
    "BoolArray",
    "EstimatorLike",
    "FloatArray",
    "FloatMatrix",
    "IndexArray",
    "SparseMatrix",
    "Task",
]

#: An array, or the type of one, that is known at run time only.
AnyArray: TypeAlias = NDArray[Any]
AnyDType: TypeAlias = np.dtype[Any]
BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
#: A table of raw values: float32 or float64, any strides; a missing value is NaN, a category its code.
FloatMatrix: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.uint32]
#: A SciPy sparse matrix or array in compressed columns (or rows, for prediction); SciPy carries no types.
SparseMatrix: TypeAlias = Any
Task: TypeAlias = Literal["classify", "regress", "survive", "none"]


class EstimatorLike(Protocol):
    """An estimator of any library with scikit-learn's interface."""

    @property
    def fit(self) -> Callable[..., Any]:
        """Fit on a table and its target."""

    @property
    def predict(self) -> Callable[..., Any]:
        """Predict the rows of a table."""
