"""Targets: labels of any type to class indices, numbers to float64, and what is wrong with them in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from committee.constraints import show_value
from committee.data.arrays import check_sparse
from committee.data.columns import read_objects
from committee.data.dataset import ClassTarget, ValueTarget
from committee.exceptions import CommitteeError, DataError, DataTypeError, warn_caller
from committee.typing import FloatArray, IndexArray

if TYPE_CHECKING:
    from committee.typing import AnyArray

__all__ = ["count_target", "encode_classes", "encode_values", "has_several_columns", "read_target"]

_LARGEST = 2.0**480
"""Of a value to predict: its square times 10^18 rows is a finite number."""

#: Integer labels whose range is at most this many times their number are counted, others are sorted.
_DENSE_RANGE = 4
_SMALL_RANGE = 1024


def read_target(y: Any, n_rows: int, estimator_name: str, *, multi_output: bool) -> AnyArray:
    """The target as an array of one or two axes with as many rows as X.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        Array, list, series, frame or sparse matrix.
    n_rows : int
        The number of rows of X.
    estimator_name : str
        For the sentences.
    multi_output : bool
        Whether several outputs are allowed.
    """
    if y is None:
        raise DataError(f"{estimator_name} requires y to be passed, but the target y is None.")
    array = y if type(y) is np.ndarray else _as_array(y)
    if array.ndim not in (1, 2):
        raise DataError(f"y should be a 1d array, or 2d for several outputs; got an array of shape {array.shape}.")
    if array.shape[0] != n_rows:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {array.shape[0]}]. X and y must "
            f"have the same number of rows; got {n_rows} and {array.shape[0]}."
        )
    if array.ndim == 2:
        if array.shape[1] == 0:
            raise DataError(f"y has no column; its shape is {array.shape}.")
        if not multi_output:
            return _flatten(array, estimator_name)
    return array


def has_several_columns(y: Any) -> bool:
    """Whether a target has several columns; one column is read as the targets of a single output.

    Examples
    --------
    >>> has_several_columns([[0, 1], [1, 1]]), has_several_columns([[0], [1]])
    (True, False)
    """
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple) and len(y) and isinstance(y[0], list | tuple | np.ndarray):
        return len(y[0]) > 1
    return shape is not None and len(shape) == 2 and int(shape[1]) > 1


def count_target(target: ClassTarget | ValueTarget) -> int:
    """The number of rows of a target."""
    return len(target.labels if isinstance(target, ClassTarget) else target.values)


def _flatten(array: AnyArray, estimator_name: str) -> AnyArray:
    if array.shape[1] > 1:
        raise DataError(
            f"y should be a 1d array, got an array of shape {array.shape} instead; {estimator_name} predicts one "
            f"output only. MultiOutput{'Regressor' if estimator_name.endswith('Regressor') else 'Classifier'} of "
            "sklearn.multioutput fits one for each output; forests, bags, AdaBoost and gradient boosting take several."
        )
    warn_caller(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
        "(n_samples, ), for example using ravel().",
        DataConversionWarning,
    )
    return array[:, 0]


def _as_array(y: Any) -> AnyArray:
    if hasattr(y, "toarray"):
        check_sparse(y)
        dense: AnyArray = y.toarray()
        return dense
    if isinstance(y, str | bytes | dict | set) or np.isscalar(y):
        raise DataTypeError(f"y must be an array, a list or a series; got {show_value(y)}.")
    if isinstance(y, np.ma.MaskedArray):
        if np.ma.getmaskarray(y).any():
            raise _refuse_missing()
        return np.asarray(y.data)
    try:
        array = np.asarray(y)
        if array.dtype.kind in "US" and isinstance(y, list | tuple):
            # A list that mixes text and numbers would be turned into text by NumPy without a word.
            array = np.array(y, dtype=object)
    except CommitteeError:
        raise
    except Exception as error:
        raise DataError(f"y cannot be read as an array of one or two axes: {error}") from None
    return array


# --- classes -----------------------------------------------------------------------------------------------------


def encode_classes(y: AnyArray, estimator_name: str, min_classes: int = 1) -> ClassTarget:
    """Class indices and the classes of each output."""
    outputs = [y] if y.ndim == 1 else [y[:, k] for k in range(y.shape[1])]
    encoded = [_encode_labels(output) for output in outputs]
    if len(encoded) == 1:
        labels = encoded[0][1].reshape(-1, 1)
    else:
        labels = np.stack([codes for _, codes in encoded], axis=1)
    for classes, _ in encoded:
        if not len(classes):
            raise DataError(f"y is empty; {estimator_name} needs at least one row.")
        if len(classes) < min_classes:
            raise DataError(
                f"y has only {len(classes)} class, {show_value(classes[0])}; {estimator_name} needs at least "
                f"{min_classes} classes."
            )
    return ClassTarget(np.ascontiguousarray(labels), [classes for classes, _ in encoded], y.ndim == 1)


def _encode_labels(y: AnyArray) -> tuple[AnyArray, IndexArray]:
    y = y.astype(y.dtype.newbyteorder("="), copy=False)  # classes are kept in the order of this machine's bytes
    kind = y.dtype.kind
    if kind in "iu":
        return _encode_integers(y)
    if kind == "b":
        classes, labels = _encode_integers(y.view(np.uint8))
        return classes.astype(bool), labels
    if kind == "f":
        return _encode_floats(y)
    if kind in "UST":
        return _encode_text(y)
    if kind == "O":
        return _encode_objects(y)
    raise DataError(f"Unknown label type: y holds values of type {y.dtype}; classes are text, integers or booleans.")


def _encode_integers(y: AnyArray) -> tuple[AnyArray, IndexArray]:
    # Python's integers, because the difference of two int64 may not be one.
    low, high = int(y.min()), int(y.max())
    span = high - low + 1
    if span > max(_SMALL_RANGE, _DENSE_RANGE * len(y)):
        classes, inverse = np.unique(y, return_inverse=True)
        return classes, inverse.reshape(-1).astype(np.uint32)
    offsets = y if low == 0 else y - y.dtype.type(low) if low > 0 else y.astype(np.int64) - low
    # The least and the greatest do occur.
    occurring = np.arange(span) if span <= 2 else np.flatnonzero(np.bincount(offsets.astype(np.intp, copy=False)))
    if len(occurring) == span:
        labels = offsets.astype(np.uint32)
    else:
        renumber = np.zeros(span, dtype=np.uint32)
        renumber[occurring] = np.arange(len(occurring), dtype=np.uint32)
        labels = renumber[offsets]
    classes = np.array([low + int(k) for k in occurring], dtype=y.dtype)
    return classes, labels


def _encode_floats(y: AnyArray) -> tuple[AnyArray, IndexArray]:
    if not np.isfinite(y).all():
        raise _refuse_missing() if np.isnan(y).any() else _refuse_infinite(y)
    fractional = y != np.floor(y)
    if fractional.any():
        raise DataError(
            f"Unknown label type: y holds continuous numbers, such as {y[fractional][0]}, but a classifier needs "
            "classes. Use a regressor, or make classes of the numbers first."
        )
    classes, inverse = np.unique(y, return_inverse=True)
    return classes, inverse.reshape(-1).astype(np.uint32)


def _encode_text(y: AnyArray) -> tuple[AnyArray, IndexArray]:
    texts = y.tolist()
    levels = sorted(set(texts))
    index = {level: code for code, level in enumerate(levels)}
    return np.array(levels, dtype=y.dtype), np.fromiter(map(index.__getitem__, texts), np.uint32, len(texts))


def _encode_objects(y: AnyArray) -> tuple[AnyArray, IndexArray]:
    objects = y.tolist()
    try:
        column = read_objects(objects, "")
    except CommitteeError:
        column = None
    if column is None or column.kind != "number":
        if all(isinstance(v, str | int | np.integer) and not isinstance(v, bool) for v in objects):
            warn_caller(
                "y mixes text and integers; the integers are read as text, so that 1 is the class '1'.", UserWarning
            )
            return _encode_text(np.array([str(v) for v in objects]))
        found = sorted({type(v).__name__ for v in objects})
        raise DataTypeError(
            f"Unknown label type: y holds objects of type {', '.join(found)}; classes must be all text, all "
            "integers or all booleans."
        ) from None
    if column.codes is not None and column.levels is not None:
        if (column.codes < 0).any():
            raise _refuse_missing()
        return column.levels, column.codes.astype(np.uint32)
    if column.neutral:
        return _encode_labels(np.array(objects, dtype=bool))
    if all(isinstance(v, int | np.integer) for v in objects):
        # Beyond int64 NumPy returns floats or objects; such classes have no array type of their own.
        integers = np.array([int(v) for v in objects])
        if integers.dtype.kind in "iu":
            return _encode_integers(integers)
    assert column.values is not None
    return _encode_floats(column.values)


def _refuse_missing() -> DataError:
    return DataError("Input y contains NaN or another missing value; drop the rows that have no target.")


def _refuse_infinite(y: AnyArray) -> DataError:
    return DataError(f"Input y contains infinity or a value too large for dtype('{y.dtype}').")


# --- numbers -----------------------------------------------------------------------------------------------------


def encode_values(y: AnyArray) -> ValueTarget:
    """Numbers as float64 of shape (n_rows, n_outputs), finite and so small that sums of their squares are finite."""
    values = _as_numbers(y)
    # A comparison with NaN is false.
    if values.size and not (values.min() >= -_LARGEST and values.max() <= _LARGEST):
        if not np.isfinite(values).all():
            raise _refuse_missing() if np.isnan(values).any() else _refuse_infinite(values)
        row = int(np.abs(values).reshape(len(values), -1).max(axis=1).argmax())
        largest = values.reshape(len(values), -1)[row]
        raise DataError(
            f"y must hold values between -{_LARGEST:.1e} and {_LARGEST:.1e}, so that sums of their squares are finite "
            f"numbers; row {row} has {largest[np.abs(largest).argmax()]:.4g}. If such values are right, divide y by a "
            "constant or take logarithms; if not, leave the row out."
        )
    flat = values.ndim == 1
    return ValueTarget(np.ascontiguousarray(values[:, None] if flat else values), flat)


def _as_numbers(y: AnyArray) -> FloatArray:
    kind = y.dtype.kind
    if kind in "fiub":
        with np.errstate(over="ignore"):
            return y.astype(np.float64, copy=False)
    if kind == "c":
        raise DataError("Complex data not supported: y holds complex numbers.")
    if kind == "O":
        try:
            columns = [read_objects(part.tolist(), "") for part in np.atleast_2d(y.T)]
        except CommitteeError:
            columns = []
        if columns and all(column.values is not None and column.kind == "number" for column in columns):
            stacked = np.stack([column.as_numbers() for column in columns], axis=1)
            return stacked[:, 0] if y.ndim == 1 else stacked
    sample = next((v for v in y.ravel().tolist() if not isinstance(v, int | float)), None)
    raise DataError(f"y must hold numbers for a regressor; got {show_value(sample)}.")
