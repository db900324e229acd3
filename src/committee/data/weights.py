"""Weights of rows: reading them, and the unit in which they count as rows."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from committee.constraints import show_value
from committee.exceptions import DataError, DataTypeError
from committee.typing import FloatArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "count_as_rows",
    "find_row_weight",
    "find_unit",
    "read_sample_weight",
    "weigh_scores",
]

#: Weights mean repeated rows as long as they amount to at most this many rows for each that is there, or to so many
#: rows in all; beyond, they mean importance, and drawing so often would only cost time.
_MOST_REPEATS = 32
_MOST_ROWS = 2**20
_EXACT = 2.0**53
_ROUNDING = 1e-12
_FAR = 100  # powers of two from one beyond which weights are scaled
"""Relative: weights may be products of decimals."""


def read_sample_weight(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Sample weights as float64: one for each row, finite, none negative, not all zero."""
    if hasattr(sample_weight, "toarray"):
        raise DataTypeError("Sparse sample_weight is not supported; pass an array of shape (n_samples,).")
    try:
        raw = np.asarray(sample_weight)
        if raw.dtype.kind not in "fiubO":
            raise TypeError
        with np.errstate(over="ignore"):
            weights = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataTypeError(
            f"sample_weight must be an array of numbers of shape (n_samples,); got {show_value(sample_weight)}."
        ) from None
    if isinstance(sample_weight, np.ma.MaskedArray):
        weights[np.ma.getmaskarray(sample_weight)] = np.nan
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar; got an array of shape {weights.shape}.")
    if len(weights) != n_rows:
        raise DataError(
            f"sample_weight.shape == {weights.shape}, expected ({n_rows},): X and sample_weight must have the same "
            f"number of rows."
        )
    if not np.isfinite(weights).all():
        row = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise DataError(f"Input sample_weight contains NaN or infinity; row {row} has {weights[row]}.")
    if weights.min() < 0:
        row = int(np.flatnonzero(weights < 0)[0])
        raise DataError(
            f"Negative values in data passed to `sample_weight`: row {row} has {weights[row]}; weights must be >= 0."
        )
    if not weights.any():
        raise DataError("All values of sample_weight are zero; at least one row must count.")
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            raise DataError("The sum of sample_weight is beyond the largest float; divide all weights by one number.")
    return _scale_far(weights)


def _scale_far(weights: FloatArray) -> FloatArray:
    """Weights near one, since only their ratios count: products of far ones with targets would overflow or vanish.

    Weights of the usual sizes stay as they are, so that whole numbers stay whole; for others, a power of two changes
    only the exponent.
    """
    exponent = int(np.frexp(weights.max())[1])
    if abs(exponent) <= _FAR:
        return weights
    # What vanishes beside the heaviest is kept as the smallest number: a row of weight zero would be absent.
    scaled: FloatArray = np.ldexp(weights, -exponent)
    return np.where((weights > 0.0) & (scaled == 0.0), np.nextafter(0.0, 1.0), scaled)


def weigh_scores(sample_weight: ArrayLike | None, weights: FloatArray | None) -> FloatArray | None:
    """Weights of the rows in a score: those of the rows without class weights, zero where a class is absent.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,), number or None
        As ``fit`` got it.
    weights : ndarray of shape (n_rows,) or None
        The same times class weights; None if all are equal.

    Returns
    -------
    ndarray of shape (n_rows,), or None where all are equal
    """
    if weights is None:
        return None
    own = np.ones(len(weights)) if sample_weight is None else read_sample_weight(sample_weight, len(weights))
    own = np.where(weights > 0.0, own, 0.0)
    return None if (own == own[0]).all() else own


def find_unit(weights: FloatArray, copies: FloatArray | None = None) -> float:
    """The weight that counts as one row: the unit that the weights share, or their mean if they share none.

    The unit of whole numbers is their greatest common factor. That of other weights is the lightest one if all are
    multiples of it, or a simple fraction of it (0.2 and 0.3 are 2 and 3 times 0.1). So a factor of all weights is a
    factor of the unit, with one exception: whole numbers without a common factor that are not multiples of the lightest
    and more than 32 on average mean repetition, and the same weights as fractions do not. Fractions such as 0.63 and
    0.41 are measured or computed; nobody means 63 and 41 rows by them.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,)
        None negative, not all zero.
    copies : ndarray of shape (n_rows,), optional
        How often each row is there, by default once.

    Returns
    -------
    float

    Examples
    --------
    >>> find_unit(np.array([4.0, 6.0])), find_unit(np.array([0.5, 0.0, 1.5]))
    (2.0, 0.5)
    >>> round(float(find_unit(np.array([0.31, 0.0, 0.69]))), 6)
    0.5
    """
    present = weights > 0.0
    own = weights[present]
    times = np.ones(len(own)) if copies is None else copies[present]
    n_rows, lightest = times.sum(), float(own.min())
    with np.errstate(over="ignore"):
        ratios: FloatArray = own / lightest
        n_lightest = float((ratios * times).sum())
    most = max(_MOST_REPEATS * n_rows, _MOST_ROWS)
    if own.max() < _EXACT and (own == np.floor(own)).all():
        factor = float(np.gcd.reduce(own.astype(np.int64)))
        if n_lightest * (lightest / factor) <= most:
            return factor
    parts = 1
    while n_lightest * parts <= (most if parts == 1 else _MOST_REPEATS * n_rows):
        multiples = ratios * parts
        off = np.flatnonzero(np.abs(multiples - np.round(multiples)) > _ROUNDING * multiples)
        if not len(off):
            return lightest / parts
        multiple = float(multiples[off[0]])
        fraction = Fraction(multiple).limit_denominator(_MOST_REPEATS)
        if fraction.denominator == 1 or abs(multiple - float(fraction)) > _ROUNDING * multiple:
            break
        parts *= fraction.denominator
    heaviest = float(own.max())  # in which no sum overflows
    return heaviest * float((own / heaviest * times).sum() / n_rows)


def find_row_weight(sample_weight: FloatArray | None, weights: FloatArray | None) -> float:
    """The weight that counts as one row, where the weights of the rows may include class weights.

    A row of sample weight 3 among such of weight 1 and 2 is three rows, and its class weight is that of each of them.

    Parameters
    ----------
    sample_weight : ndarray of shape (n_rows,) or None
        Weights without class weights; None if all are equal.
    weights : ndarray of shape (n_rows,) or None
        The same times class weights; None if all are equal.

    Examples
    --------
    >>> find_row_weight(np.array([2.0, 4.0, 6.0]), np.array([2.0, 4.0, 3.0]))
    1.0
    """
    if weights is None:
        return 1.0
    if sample_weight is None:
        return find_unit(weights)
    unit = find_unit(sample_weight)
    present = sample_weight > 0.0
    factors = np.divide(weights, sample_weight, out=np.zeros_like(weights), where=present)
    largest = float(factors.max())
    if (np.abs(factors[present] - largest) <= _ROUNDING * largest).all():
        return unit * largest
    return unit * find_unit(factors, sample_weight / unit)


def count_as_rows(weights: FloatArray, unit: float | None = None) -> FloatArray:
    """As how many rows each row counts: its weight in the unit that the weights share.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,)
        None negative, not all zero.
    unit : float, optional
        The weight of one row, by default from `find_unit`.

    Examples
    --------
    >>> count_as_rows(np.array([0.5, 0.0, 1.5]))
    array([1., 0., 3.])
    >>> count_as_rows(np.array([0.31, 0.0, 0.69]))
    array([0.62, 0.  , 1.38])
    """
    ratios: FloatArray = weights / (find_unit(weights) if unit is None else unit)
    whole: FloatArray = np.round(ratios)
    return whole if (np.abs(ratios - whole) <= _ROUNDING * ratios).all() else ratios
