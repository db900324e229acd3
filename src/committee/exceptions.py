"""Every error that the library raises on purpose.

::

    CommitteeError
    ├── ParameterError       (also ValueError)   a constructor parameter has a value that is not allowed
    ├── ParameterTypeError   (also TypeError)    a constructor parameter has a type that is not allowed
    ├── DataError            (also ValueError)   X, y or the weights hold something that cannot be learnt from
    │   └── DataSizeError    (also MemoryError)  the data cannot fit in the memory of this machine
    ├── DataTypeError        (also TypeError)    X, y or the weights are of a kind that cannot be read
    ├── ModelFileError       (also ValueError)   a model file is damaged or unknown, or a model cannot be written
    ├── EngineError          (also RuntimeError) an engine is not there, or does not do what a fit asks of it
    └── ClusterError         (also RuntimeError) workers of a cluster were lost, or what they were sent failed there

``NotFittedError`` is scikit-learn's own, so that code written for scikit-learn catches it.

A sentence names who complains, what is allowed and what came; a hint may follow.
"""

from __future__ import annotations

import sys
import warnings

from sklearn.exceptions import NotFittedError

__all__ = [
    "ClusterError",
    "CommitteeError",
    "DataError",
    "DataSizeError",
    "DataTypeError",
    "EngineError",
    "ModelFileError",
    "NotFittedError",
    "ParameterError",
    "ParameterTypeError",
    "warn_caller",
]


class CommitteeError(Exception):
    """Root of the library's own errors."""


class ParameterError(CommitteeError, ValueError):
    """A constructor parameter has a value that is not allowed."""


class ParameterTypeError(CommitteeError, TypeError):
    """A constructor parameter has a type that is not allowed."""


class DataError(CommitteeError, ValueError):
    """The data hold something that cannot be learnt from or predicted for."""


class DataSizeError(DataError, MemoryError):
    """The data cannot fit in the memory of this machine."""


class DataTypeError(CommitteeError, TypeError):
    """The data are of a kind that cannot be read."""


class ModelFileError(CommitteeError, ValueError):
    """A model file is damaged or of an unknown kind, or a model holds something that no file can hold."""


class EngineError(CommitteeError, RuntimeError):
    """An engine is not there, has no room, or does not do what a fit asks of it."""


class ClusterError(CommitteeError, RuntimeError):
    """A cluster has no workers left, or a block or a task failed on one of them."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, and blame the line outside this library from which it was called."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "committee":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
