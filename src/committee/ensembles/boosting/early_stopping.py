"""Choosing the number of rounds by folds: each is held out once, and the best mean score decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.data.dataset import ClassTarget
from committee.ensembles.boosting.validation import HeldOut, Judge
from committee.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from committee.data import Dataset
    from committee.ensembles.boosting.rounds import Rounds
    from committee.typing import FloatArray

__all__ = ["choose_rounds", "draw_folds"]


def draw_folds(
    dataset: Dataset, n_folds: int, seed: int, offset: FloatArray | None
) -> Iterator[tuple[Dataset, HeldOut, FloatArray | None]]:
    """Training rows, rows held out, and what the scores of the former start from, for each fold.

    Classes are spread evenly over the folds; a class of a single row is always learnt from, as are rows of weight zero.

    Parameters
    ----------
    dataset : Dataset
        All rows.
    n_folds : int
        How many parts; at least two.
    seed : int
        Of the drawing.
    offset : ndarray of shape (n_rows, n_scores) or None
        What the scores of all rows start from.
    """
    n_rows, target = dataset.n_rows, dataset.target
    order = np.random.default_rng([seed, 4]).permutation(n_rows)
    if isinstance(target, ClassTarget):
        labels = target.labels[:, 0]
        order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(n_rows, dtype=np.intp)
    fold[order] = np.arange(n_rows) % n_folds
    if isinstance(target, ClassTarget):
        fold[np.bincount(labels, minlength=len(target.classes[0]))[labels] == 1] = -1
    if dataset.weights is not None:
        fold[dataset.weights == 0.0] = -1
    for k in range(n_folds):
        out = fold == k
        if not out.any() or out.all():
            continue
        part, rest = dataset.take_rows(np.flatnonzero(out)), dataset.take_rows(np.flatnonzero(~out))
        assert part.target is not None
        held_out = HeldOut(part.X, part.target, part.weights, None if offset is None else offset[out])
        yield rest, held_out, None if offset is None else offset[~out]


def choose_rounds(
    folds: list[tuple[Rounds, HeldOut]], last: int, judge: Judge, patience: int, tol: float
) -> tuple[int, FloatArray]:
    """Boost all folds side by side until their mean score has settled.

    Returns
    -------
    int
        The number of rounds with the best mean score, at least one.
    ndarray
        The mean scores, before the first round and after each.
    """
    if not folds:
        raise DataError(
            "No class has two rows, one of which could be held out to find the number of rounds; set 'early_stopping' "
            "to False."
        )
    curve: list[float] = []
    judge.prepare(folds[0][0])
    sizes = np.array([held_out.X.shape[0] for _, held_out in folds], dtype=np.float64)
    for m in range(last + 1):
        for rounds, _ in folds:
            rounds.boost(m, None)
        scores = [judge.judge(h.target, h.catch_up(rounds), h.weights) for rounds, h in folds]
        curve.append(float(np.average(scores, weights=sizes)))
        if m >= patience and not max(curve[-patience:]) > curve[-patience - 1] + tol:
            break
    return max(1, int(np.argmax(curve))), np.array(curve)
