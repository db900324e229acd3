"""Folds of cross-validation: training and test rows, from a number, a splitter or pairs of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv

from committee.constraints import show_value
from committee.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from committee.params import CrossValidation
    from committee.typing import BoolArray, FloatArray

    Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
    Folds = list[Fold]

__all__ = ["plan_folds", "restrict_folds"]

_N_FOLDS = 5


def plan_folds(
    cv: CrossValidation,
    X: Any,
    y: NDArray[Any],
    groups: ArrayLike | None,
    classify: bool,
    weights: FloatArray | None = None,
    *,
    subject: str = "The 'cv' parameter",
) -> Folds:
    """Training and test rows of each fold, the same for all members.

    Parameters
    ----------
    cv : int, None, splitter or iterable of (train, test)
        As in scikit-learn; a number (None is five) makes stratified folds for classes, and keeps groups together
        where groups are given.
    X, y, groups
        What is to be split.
    classify : bool
        Whether y holds classes.
    weights : ndarray of shape (n_rows,), optional
        Rows of weight zero are in no fold, unless the folds are given row by row.
    subject : str
        What the caller's parameter is called, as the subject of an error message.

    Examples
    --------
    >>> y = np.array([0, 0, 1, 1])
    >>> [test.tolist() for _, test in plan_folds(2, np.zeros((4, 1)), y, None, True)]
    [[0, 2], [1, 3]]
    """
    single = y.ndim == 1
    n_folds = _N_FOLDS if cv is None else int(cv) if isinstance(cv, int | np.integer) else None
    kept = np.arange(len(y))
    if n_folds is None and not hasattr(cv, "split"):
        splits = list(cast("Iterable[Iterable[ArrayLike]]", cv))
    else:
        if weights is not None:
            kept = np.flatnonzero(weights)
        stratify = classify and single
        if groups is not None and n_folds is not None:
            splitter = (StratifiedGroupKFold if stratify else GroupKFold)(n_folds)
        else:
            splitter = check_cv(n_folds or cv, y if single else None, classifier=stratify)
        labels, names = y[kept], None if groups is None else _read_group_labels(groups, len(y))[kept]
        try:
            # Splitters only count the rows of X, which may be a table of any kind.
            splits = list(splitter.split(np.zeros((len(kept), 1)), labels, names))
        except ValueError as error:
            said, need = str(error).strip().rstrip("."), _describe_need(cv, n_folds, labels, names, stratify)
            raise DataError(f"{said}. {subject} {need}") from error
    folds = [_read_fold(pair, len(y), subject) for pair in splits]
    if not folds:
        raise DataError(f"{subject} must make at least one fold; it makes none.")
    return [(kept[train], kept[test]) for train, test in folds]


def restrict_folds(folds: Folds, known: BoolArray) -> Folds:
    """The same folds over some of the rows, by their new numbers; folds without training or test rows are dropped.

    Examples
    --------
    >>> ends = [(np.array([0, 1]), np.array([2, 3])), (np.array([2, 3]), np.array([0, 1]))]
    >>> restrict_folds(ends, np.array([False, True, True, True]))
    [(array([0]), array([1, 2])), (array([1, 2]), array([0]))]
    """
    numbers = np.cumsum(known) - 1
    restricted = [(numbers[train[known[train]]], numbers[test[known[test]]]) for train, test in folds]
    left = [(train, test) for train, test in restricted if len(train) and len(test)]
    if not left:
        raise DataError("No fold is left for a further layer: too few rows have out-of-fold predictions.")
    return left


def _describe_need(
    cv: CrossValidation, n_folds: int | None, labels: NDArray[Any], groups: NDArray[Any] | None, stratify: bool
) -> str:
    """What the folds need, and what there is: the end of a sentence about the parameter."""
    counts = [f"{len(labels)} row" + "s" * (len(labels) != 1)]
    if stratify and len(labels):
        counts.append(f"at most {np.unique(labels, return_counts=True)[1].max()} of a class")
    if groups is not None:
        counts.append(f"{len(np.unique(groups))} groups")
    came = ", ".join(counts)
    if n_folds is None:
        return f"is {show_value(cv)}, which cannot split the rows that there are ({came})."
    needed = f"{n_folds} rows" + (" of at least one class" if stratify else "")
    needed += "" if groups is None else f" and {n_folds} groups"
    return f"makes {n_folds} folds, which need {needed}; got {came}. Set it to a smaller number."


def _read_group_labels(groups: ArrayLike, n_rows: int) -> NDArray[Any]:
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise DataError(f"groups must have one entry for each of the {n_rows} rows; got shape {labels.shape}.")
    return labels


def _read_fold(pair: Iterable[ArrayLike], n_rows: int, subject: str) -> Fold:
    try:
        train, test = (_read_rows(np.asarray(rows)) for rows in pair)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{subject} must hold pairs of training and test rows, each an array of row numbers or a mask; "
            f"got {show_value(pair)}."
        ) from None
    if not len(train) or not len(test):
        raise DataError(f"{subject} must make folds with training and test rows; one has none.")
    for rows in (train, test):
        if rows.min() < 0 or rows.max() >= n_rows:
            raise DataError(f"{subject} has a fold that names rows beyond the {n_rows} that there are.")
    in_training = np.zeros(n_rows, dtype=bool)
    in_training[train] = True
    if in_training[test].any():
        raise DataError(f"{subject} has a fold with rows that are both training and test rows; these would leak.")
    return train, test


def _read_rows(rows: NDArray[Any]) -> NDArray[np.intp]:
    if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "biu"):
        raise ValueError("not the numbers of rows")
    return np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.intp)
