"""What out-of-bag answers lack beside the answers that a bag gives later, and columns that make up for it.

A row that B_i of B members left out is answered for by their mean, and later rows by the mean of all. With C_i the
covariance of single members' answers about row i, the out-of-bag columns vary by

    U = mean of C_i (1 / B_i - 1 / B)

too much: with 100 members on bootstrap samples as if there were 37. A meta-model that learns from them trusts bags too
little beside members whose answers came from folds. So it learns from the best linear guess of what the whole bags
would have said, which is regression calibration [Carroll2006]: with mean m and covariance S of the columns

    m + (z - m) S⁻¹ (S - U).

Linear models get right coefficients so. Others, as trees, look at where single values lie, and these move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.intake import take_in_rows
from committee.data.rows import select_rows
from committee.ensembles.combining.meta_models import ShareBlend, ValueBlend

if TYPE_CHECKING:
    from collections.abc import Callable

    from committee.typing import FloatArray

__all__ = ["guess_whole_bags", "is_linear", "measure_noise"]

_N_ROWS = 400
"""Rows that the covariance of single members is measured on."""


def is_linear(model: Any) -> bool:
    """Whether a meta-model is linear in its columns, up to a link: one of scikit-learn's linear models, or a blend.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> is_linear(LogisticRegression()), is_linear(DecisionTreeClassifier())
    (True, False)
    """
    from sklearn import linear_model

    kind = type(model)
    return isinstance(model, ShareBlend | ValueBlend) or getattr(linear_model, kind.__name__, None) is kind


def measure_noise(
    bag: Any, X: Any, n_rows: int, lay_out: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, float]:
    """U above for the columns of one bag, and the mean share of its members that answer for a row.

    Parameters
    ----------
    bag : fitted bag or forest
        It left rows out.
    X : table
        All rows that it was fitted on.
    n_rows : int
        How many these are.
    lay_out : callable
        From answers to the columns of the meta-model.
    """
    rows = np.unique(np.linspace(0, n_rows - 1, min(n_rows, _N_ROWS)).astype(np.intp))
    answers = np.stack([lay_out(said) for said in _predict_each(bag, select_rows(X, rows))])
    left_out = np.stack([np.bincount(own, minlength=n_rows)[rows] == 0 for own in bag.estimators_samples_])
    n_members, n_left = len(left_out), left_out.sum(axis=0)
    judged = n_left > 1
    answers, left_out, n_left = answers[:, judged], left_out[:, judged], n_left[judged]
    width = answers.shape[2]
    if not judged.any():
        return np.zeros((width, width)), 1.0
    apart = np.where(left_out[:, :, None], answers - (left_out[:, :, None] * answers).sum(0) / n_left[:, None], 0.0)
    excess = (1.0 / n_left - 1.0 / n_members) / (n_left - 1.0)
    noise = np.einsum("bri,brj,r->ij", apart, apart, excess) / len(n_left)
    return noise, float(n_left.mean() / n_members)


def _predict_each(bag: Any, X: Any) -> list[FloatArray]:
    """Predictions of each member of a bag."""
    members = bag.__dict__.get("_members")
    if hasattr(members, "predict_each"):  # members of any kind; trees of a bag are one arena
        return list(members.predict_each(X if bag._schema.has_categories else take_in_rows(bag, X, bag._schema)))
    trees, table = bag.to_tree_model().trees, take_in_rows(bag, X, bag._schema)
    table = table if isinstance(table, np.ndarray) else table.toarray()
    return [trees.predict(table, "mean", first=t, last=t + 1, n_jobs=1) for t in range(trees.n_trees)]


def guess_whole_bags(
    columns: FloatArray, noise: FloatArray, least: float, weights: FloatArray | None = None
) -> FloatArray:
    """The columns as whole bags would have filled them, as far as a linear guess can tell.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_columns)
        Out-of-bag answers beside others.
    noise : ndarray of shape (n_columns, n_columns)
        U above; zero for columns that no bag has filled.
    least : float
        The least share of the variance in any direction that is no noise: the members that have answered are among
        those that will.
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Examples
    --------
    >>> columns = np.array([[0.0], [1.0], [0.0], [1.0]])
    >>> guess_whole_bags(columns, np.array([[0.05]]), 0.3).ravel()
    array([0.1, 0.9, 0.1, 0.9])
    """
    share = np.full(len(columns), 1.0 / len(columns)) if weights is None else weights / weights.sum()
    centre = share @ columns
    apart = columns - centre
    values, axes = np.linalg.eigh((share[:, None] * apart).T @ apart)
    # Shares of classes sum to one, so that there are directions without any variance.
    there = values > 1e-12 * max(float(values.max()), 1e-300)
    roots, axes = np.sqrt(values[there]), axes[:, there]
    noisy, turned = np.linalg.eigh((axes / roots).T @ noise @ (axes / roots))
    kept = np.clip(1.0 - noisy, least, 1.0)
    return np.asarray(centre + apart @ (axes / roots @ turned * kept) @ (axes * roots @ turned).T)
