"""What the checks of loaded models are made of: a sentence where a part does not fit, and the kinds of parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from committee.exceptions import ModelFileError
from committee.io.registry import name_state

__all__ = ["MOST_FEATURES", "MOST_SEED", "is_a", "is_array", "is_count", "is_table", "require"]

_MOST_ROWS = 1 << 32
MOST_SEED = 1 << 64
"""Seeds are below this."""
MOST_FEATURES = 1 << 28
"""Numbers of features are below this."""


def require(holds: object, sentence: str) -> None:
    """Refuse a model for which the sentence does not hold."""
    if not holds:
        raise ModelFileError(f"The parts of the model do not fit together: {sentence}.")


def is_count(value: Any, below: int = _MOST_ROWS) -> bool:
    """Whether a value is a whole number from 0 to below a limit, by default one of rows."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and 0 <= int(value) < below


def is_array(value: Any, kind: str, *shape: int) -> bool:
    """Whether a value is an array of that kind of NumPy's types and of that shape."""
    return isinstance(value, np.ndarray) and value.dtype.kind == kind and value.shape == shape


def is_table(value: Any, kind: str, *shape: int) -> bool:
    """The same where the array may be sparse."""
    if isinstance(value, csr_array):
        return bool(value.dtype.kind == kind and value.shape == shape)
    return is_array(value, kind, *shape)


def is_a(value: Any, name: str) -> bool:
    """Whether a value is of a class of fitted state, by its name in model files."""
    return name_state(type(value)) == name
