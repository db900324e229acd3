"""One layer of a stack: members, how each is asked, and what they say as the columns of the next layer's table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from committee.data.rows import count_rows, select_rows
from committee.ensembles.combining.member_predictions import Classes, predict_member
from committee.ensembles.combining.oob_correction import guess_whole_bags, measure_noise
from committee.ensembles.combining.out_of_fold import can_judge_itself

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.ensembles.combining.training_set import TrainingSet
    from committee.typing import BoolArray, FloatArray

__all__ = ["Layer", "join_columns"]


@dataclass
class Layer:
    """Fitted members of one layer.

    Attributes
    ----------
    names : list of str
        Their names.
    members : list of estimators
        Fitted.
    methods : list of str
        How each is asked.
    classes : list of ndarray, or None
        As the members know them.
    widths : list of int
        Columns that each contributes.
    """

    names: list[str]
    members: list[Any]
    methods: list[str]
    classes: Classes
    widths: list[int]

    def ask(self, X: Any) -> FloatArray:
        """What the members say about rows, side by side."""
        pairs = zip(self.members, self.methods, strict=True)
        return self.lay_out([predict_member(member, X, method, self.classes) for member, method in pairs])

    def lay_out(self, answers: list[FloatArray]) -> FloatArray:
        """The answers as columns: of shares that sum to one, one is left out where it would say nothing new."""
        parts = [_thin_out(a, method, self.classes) for a, method in zip(answers, self.methods, strict=True)]
        self.widths = [part.shape[1] for part in parts]
        return np.hstack(parts)

    def quieten(self, columns: FloatArray, training: TrainingSet, known: BoolArray) -> FloatArray:
        """Columns for the meta-model with what the members' out-of-bag answers lack made up for (`bag_noise.py`).

        Parameters
        ----------
        columns : ndarray of shape (n_known, n_columns)
            From `lay_out`.
        training : TrainingSet
            What the members have learnt from.
        known : ndarray of bool
            Which of its rows the columns are about.
        """
        noise, least, first = np.zeros((columns.shape[1],) * 2), 1.0, 0
        for member, method, width in zip(self.members, self.methods, self.widths, strict=True):
            span = slice(first, first + width)
            first += width
            # Numbers of classes have no mean to be near to.
            if not can_judge_itself(member) or (method == "predict" and self.classes is not None):
                continue
            own = partial(_thin_out, method=method, classes=self.classes)
            noise[span, span], share = measure_noise(member, training.X, training.n_rows, own)
            least = min(least, share)
        if least == 1.0:
            return columns
        quiet = guess_whole_bags(columns, noise, least, None if training.weights is None else training.weights[known])
        shares = np.repeat([m == "predict_proba" for m in self.methods], self.widths)
        return np.where(shares, np.clip(quiet, 0.0, 1.0), quiet)


def _thin_out(answers: FloatArray, method: str, classes: Classes) -> FloatArray:
    if method != "predict_proba" or classes is None or answers.shape[1] != sum(len(c) for c in classes):
        return answers
    if len(classes) == 1:
        # As in scikit-learn: all columns for more than two classes.
        return answers[:, 1:] if len(classes[0]) == 2 else answers
    firsts = np.cumsum([0, *(len(c) for c in classes)])[:-1]
    return np.delete(answers, firsts, axis=1)


def join_columns(answers: FloatArray, X: Any, rows: NDArray[np.intp] | None = None) -> Any:
    """The members' answers and, behind them, the columns of the table itself, whole or of some rows.

    Examples
    --------
    >>> join_columns(np.array([[0.5], [0.25]]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[0.5 , 1.  , 2.  ],
           [0.25, 3.  , 4.  ]])
    """
    if rows is not None and len(rows) < count_rows(X):
        X = select_rows(X, rows)
    if sparse.issparse(X):
        return sparse.hstack([answers, X], format=X.format)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    return np.hstack([answers, np.asarray(X)])
