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
    """Root of the library's own errors.

    Examples
    --------
    >>> from committee import DecisionTreeClassifier
    >>> from committee.exceptions import CommitteeError
    >>> for params, X in (({"max_depth": 0}, [[0.0], [1.0]]), ({}, [[0.0], [float("inf")]])):
    ...     try:
    ...         DecisionTreeClassifier(**params).fit(X, ["no", "yes"])
    ...     except CommitteeError as error:
    ...         print(type(error).__name__)
    ParameterError
    DataError
    """


class ParameterError(CommitteeError, ValueError):
    """A constructor parameter has a value that is not allowed.

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.exceptions import ParameterError
    >>> try:
    ...     RandomForestClassifier(n_estimators=0).fit([[0.0], [1.0]], ["no", "yes"])
    ... except ParameterError as error:
    ...     print(error)
    The 'n_estimators' parameter of RandomForestClassifier must be an int >= 1; got 0.
    """


class ParameterTypeError(CommitteeError, TypeError):
    """A constructor parameter has a type that is not allowed.

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.exceptions import ParameterTypeError
    >>> try:
    ...     RandomForestClassifier(n_estimators="many").fit([[0.0], [1.0]], ["no", "yes"])
    ... except ParameterTypeError as error:
    ...     print(error)
    The 'n_estimators' parameter of RandomForestClassifier must be an int >= 1; got 'many'.
    """


class DataError(CommitteeError, ValueError):
    """The data hold something that cannot be learnt from or predicted for.

    Examples
    --------
    >>> from committee import DecisionTreeClassifier
    >>> from committee.exceptions import DataError
    >>> try:
    ...     DecisionTreeClassifier().fit([[0.0], [float("inf")]], ["no", "yes"])
    ... except DataError as error:
    ...     print(error)
    Input X contains infinity or a value too large for dtype('float64') in column 0, row 1.
    """


class DataSizeError(DataError, MemoryError):
    """The data cannot fit in the memory of this machine.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import RandomForestClassifier, memory_limit
    >>> from committee.exceptions import DataSizeError
    >>> X, y = np.zeros((50, 2)), np.arange(50) % 2
    >>> try:
    ...     with memory_limit("100kB"):
    ...         RandomForestClassifier().fit([X[:20], X[20:]], y)
    ... except DataSizeError as error:
    ...     print(error)
    RandomForestClassifier on 50 rows and 2 columns needs about ... of memory besides its files; the limit is ...
    """


class DataTypeError(CommitteeError, TypeError):
    """The data are of a kind that cannot be read.

    Examples
    --------
    >>> from committee import DecisionTreeClassifier
    >>> from committee.exceptions import DataTypeError
    >>> try:
    ...     DecisionTreeClassifier().fit(3, ["no", "yes"])
    ... except DataTypeError as error:
    ...     print(error)
    X must be a table: an array, nested lists, a sparse matrix or a frame; got 3.
    """


class ModelFileError(CommitteeError, ValueError):
    """A model file is damaged or of an unknown kind, or a model holds something that no file can hold.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import committee
    >>> from committee.exceptions import ModelFileError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.txt"
    ...     count = path.write_text("This is no model.")
    ...     try:
    ...         committee.load(path)
    ...     except ModelFileError as error:
    ...         print(str(error).partition("notes.txt ")[2])
    is not a model file: it is too short.
    """


class EngineError(CommitteeError, RuntimeError):
    """An engine is not there, has no room, or does not do what a fit asks of it.

    Examples
    --------
    >>> from committee import GradientBoostingRegressor
    >>> from committee.exceptions import EngineError
    >>> try:
    ...     GradientBoostingRegressor(n_estimators=2, ccp_alpha=0.5, engine="gpu").fit([[0.0], [1.0]], [0.0, 1.0])
    ... except EngineError as error:
    ...     print(error)
    The GPU engine does not support pruning (ccp_alpha) yet. Set engine='cpu'.
    """


class ClusterError(CommitteeError, RuntimeError):
    """A cluster has no workers left, or a block or a task failed on one of them.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from committee import RandomForestClassifier, cluster
    >>> from committee.exceptions import ClusterError
    >>> executor = ThreadPoolExecutor(1)
    >>> executor.shutdown()
    >>> try:
    ...     with cluster(executor, distribute="always"):
    ...         RandomForestClassifier(n_estimators=2).fit([[0.0], [1.0]], ["no", "yes"])
    ... except ClusterError as error:
    ...     print(error)
    No worker of the process pool is left, and an executor that has lost a process starts no other: pass new executors,
    or a number of processes.
    """


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, and blame the line outside this library from which it was called.

    Examples
    --------
    >>> import warnings
    >>> from committee.exceptions import warn_caller
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("The last column is constant.", UserWarning)
    >>> print(caught[0].category.__name__, caught[0].message)
    UserWarning The last column is constant.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "committee":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
