"""A feed-forward network on encoded features: layers of rectified linear units, trained by mini-batches.

A number is standardised, and also cut at quantiles into pieces in each of which the encoding rises from zero to one
[Gorishniy2022]: so a first layer can bend at any of them. Rows that are equal are joined and count as often, in a fixed
order, so that a row of weight two gives the same network as two rows.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.automatic.baseline_members import BaselineMember, softmax
from committee.automatic.encoding import fit_encoding, has_three_values, make_dense
from committee.engines.formula import (
    Arithmetic,
    ConstantTerm,
    JoinedTerms,
    LinearTerm,
    RowFunction,
    TableRow,
    TakenColumns,
)
from committee.engines.networks import NetworkParams, train_network
from committee.engines.row_products import multiply_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.engines.formula import FormulaTerm, ModelFormula
    from committee.typing import FloatArray

__all__ = ["NeuralMember"]

_HIDDEN: tuple[int, ...] = (128, 128)
_N_PIECES, _MAX_PIECES = 32, 256
"""Pieces of a number, and of all of them together: a column has fewer in a wide table."""
_N_EPOCHS, _MAX_USES, _LEAST_EPOCHS = 16, 400_000, 8
"""How often each row is used; less in large tables, so that all are used so often together, but not below the last."""
_BATCH_ROWS, _LEAST_BATCHES = 256, 8
"""Rows of a step; fewer in small tables, so that an epoch has some steps."""
_RATE, _DROPOUT, _WEIGHT_DECAY = 6e-3, 0.3, 1.0


class NeuralMember(BaselineMember):
    """A network of hidden layers; probabilities are the softmax of its outputs.

    Parameters
    ----------
    classify, categories
        As in `BaselineMember`.
    seed : int, default=0
        Of first weights, order of rows and dropout, together with the target.
    n_epochs : int, default=16
        How often each row is used; fewer in large tables.
    rate : float, default=6e-3
        The highest learning rate.
    dropout : float, default=0.3
        The share of units that are left out of a step.
    weight_decay : float, default=1.0
        By how much weights shrink in a step, in learning rates.
    hidden : tuple of int, default=(128, 128)
        Units of the hidden layers, multiples of four.
    """

    # Of members from model files, which do not hold them.
    seed, n_epochs, rate, dropout, weight_decay, hidden = 0, _N_EPOCHS, _RATE, _DROPOUT, _WEIGHT_DECAY, _HIDDEN

    def __init__(
        self,
        classify: bool,
        categories: Sequence[int] = (),
        seed: int = 0,
        n_epochs: int = _N_EPOCHS,
        rate: float = _RATE,
        dropout: float = _DROPOUT,
        weight_decay: float = _WEIGHT_DECAY,
        hidden: tuple[int, ...] = _HIDDEN,
    ) -> None:
        super().__init__(classify, categories)
        self.seed, self.n_epochs, self.hidden = seed, n_epochs, hidden
        self.rate, self.dropout, self.weight_decay = rate, dropout, weight_decay

    def _fit(self, X: NDArray[Any], y_true: FloatArray, counts: FloatArray) -> None:
        X, target, counts = _join_equal_rows(make_dense(X), _find_target(y_true, self.classify), counts)
        self.n_columns_ = int(X.shape[1])
        self.encoding_ = fit_encoding(X, counts, self.categories)
        self.piece_columns_, self.piece_starts_, self.piece_widths_ = _cut_columns(X, counts, self.encoding_.numbers)
        centre, scale = 0.0, 1.0
        if not self.classify:
            centre, scale = _measure_values(target, counts)
        params = NetworkParams()
        # The models of folds begin with other weights, although they have the same seed.
        params.seed = (self.seed << 32) + zlib.crc32(target.astype("<f8").tobytes())
        params.dropout, params.weight_decay = self.dropout, self.weight_decay
        layers = train_network(
            self._encode(X),
            (target - centre) / scale,
            counts,
            self.hidden,
            n_classes=y_true.shape[1] if self.classify else 0,
            n_epochs=min(self.n_epochs, max(_LEAST_EPOCHS, _MAX_USES // len(X))),
            batch_rows=min(_BATCH_ROWS, max(1, len(X) // _LEAST_BATCHES)),
            rate=self.rate,
            params=params,
        )
        self.coefs_: list[NDArray[Any]] = [np.ascontiguousarray(layer[:-1].T) for layer in layers]
        self.intercepts_: list[NDArray[Any]] = [layer[-1] for layer in layers]
        # Doubles where the scale of the target comes in.
        self.coefs_[-1] = self.coefs_[-1].astype(np.float64) * scale
        self.intercepts_[-1] = self.intercepts_[-1].astype(np.float64) * scale + centre

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the member computes for a row; the mean of the folds' models asks for it without one."""
        return super().to_formula(TableRow(self.n_columns_) if row is None else row)

    def _encode(self, X: NDArray[Any]) -> FloatArray:
        X = make_dense(X)
        values = np.asarray(X[:, self.piece_columns_], dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            pieces = (values - self.piece_starts_) / self.piece_widths_
        pieces[np.isnan(pieces)] = 0.0
        return np.hstack([self.encoding_.encode(X), np.clip(pieces, 0.0, 1.0)])

    def _predict_columns(self, X: NDArray[Any]) -> FloatArray:
        units = self._encode(X)
        for coef, intercept in zip(self.coefs_[:-1], self.intercepts_[:-1], strict=True):
            units = np.maximum(multiply_rows(units, coef) + intercept, 0.0)
        scores = multiply_rows(units, self.coefs_[-1]) + self.intercepts_[-1]
        return softmax(scores) if self.classify else scores

    def _to_term(self, row: FormulaTerm) -> FormulaTerm:
        zero, one = (ConstantTerm(np.array([bound])) for bound in (0.0, 1.0))
        units = self.encoding_.to_term(row)
        if len(self.piece_columns_):
            values = TakenColumns(row, tuple(self.piece_columns_.tolist()))
            offset = Arithmetic("-", values, ConstantTerm(self.piece_starts_))
            pieces = RowFunction("known", Arithmetic("/", offset, ConstantTerm(self.piece_widths_)))
            units = JoinedTerms((units, Arithmetic("min", Arithmetic("max", pieces, zero), one)))
        for k, (coef, intercept) in enumerate(zip(self.coefs_, self.intercepts_, strict=True)):
            units = LinearTerm(units, coef.astype(np.float64), intercept.astype(np.float64))
            if k + 1 < len(self.coefs_):
                units = Arithmetic("max", units, zero)
        return RowFunction("softmax", units, is_exact=False) if self.classify else units


def _find_target(y_true: FloatArray, classify: bool) -> FloatArray:
    return y_true.argmax(axis=1).astype(np.float64) if classify else y_true[:, 0]


def _join_equal_rows(
    X: NDArray[Any], target: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows that differ, in the order of their bits, and how often each occurs."""
    rows = np.column_stack([X, target]).astype(np.float64) + 0.0  # one zero
    rows[np.isnan(rows)] = np.nan  # one NaN
    bits, place = np.unique(rows.view(np.uint64), axis=0, return_inverse=True)
    joined = np.ascontiguousarray(bits).view(np.float64)
    return joined[:, :-1], joined[:, -1], np.bincount(place.ravel(), weights=counts).astype(np.float64)


def _measure_values(values: FloatArray, counts: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation; one for equal values."""
    largest = float(np.abs(values).max()) or 1.0
    scaled = values / largest  # so that squares do not overflow
    mean = float(np.average(scaled, weights=counts))
    deviation = float(np.sqrt(np.average((scaled - mean) ** 2, weights=counts)))
    return mean * largest, (deviation if deviation > 1e-9 else 1.0) * largest


def _cut_columns(
    X: FloatArray, counts: FloatArray, numbers: NDArray[np.intp]
) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
    """Column, start and width of each piece; a column of two values has none."""
    cut = [column for column in numbers.tolist() if has_three_values(X[:, column])]
    n_pieces = min(_N_PIECES, _MAX_PIECES // max(1, len(cut)))
    columns: list[int] = []
    starts: list[FloatArray] = [np.zeros(0)]
    widths: list[FloatArray] = [np.zeros(0)]
    for column in cut if n_pieces > 1 else []:
        values = X[:, column]
        order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
        below = np.cumsum(counts[order])
        wanted = np.searchsorted(below, np.arange(1, n_pieces) * (below[-1] / n_pieces))
        cuts = np.unique(values[order[np.concatenate([[0], wanted, [len(order) - 1]])]])
        if len(cuts) > 2:
            columns += [column] * (len(cuts) - 1)
            starts.append(cuts[:-1])
            widths.append(np.diff(cuts))
    return np.array(columns, dtype=np.intp), np.concatenate(starts), np.concatenate(widths)
