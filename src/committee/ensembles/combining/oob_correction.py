"""Correction of out-of-bag predictions, which are noisier than the predictions that the whole bag makes later.

The out-of-bag prediction of a row is the mean of the B_i of B members that left it out; new rows get the mean of all B.
With C_i the covariance of single members' predictions for row i, the out-of-bag columns vary by

    U = mean of C_i (1 / B_i - 1 / B)

too much: with 100 members on bootstrap samples as if there were 37. A meta-model that is fitted to them gives bags too
little weight beside members with out-of-fold predictions. It is therefore fitted to the best linear estimate of the
whole bags' predictions, which is regression calibration [Carroll2006]: with mean m and covariance S of the columns

    m + (z - m) S⁻¹ (S - U).

This gives linear models unbiased coefficients. It is not used for others, such as trees, which depend on the
distribution of single values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.rows import select_rows
from committee.ensembles.combining.member_predictions import Classes, drop_redundant_columns
from committee.ensembles.combining.meta_models import ConvexClassifier, ConvexRegressor

if TYPE_CHECKING:
    from committee.ensembles.combining.out_of_fold import BaggedEnsemble
    from committee.typing import EstimatorLike, FloatArray

__all__ = ["correct_oob_columns", "estimate_oob_noise", "is_linear_model"]

_N_ROWS = 400
"""Number of rows from which the covariance of single members is estimated."""


def is_linear_model(model: EstimatorLike) -> bool:
    """Whether a meta-model is linear in its columns, up to a link: a linear model of scikit-learn, or convex weights.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> is_linear_model(LogisticRegression()), is_linear_model(DecisionTreeClassifier())
    (True, False)
    """
    from sklearn import linear_model

    kind = type(model)
    return isinstance(model, ConvexClassifier | ConvexRegressor) or getattr(linear_model, kind.__name__, None) is kind


def estimate_oob_noise(
    bag: BaggedEnsemble, X: Any, n_rows: int, method: str = "predict", classes: Classes = None
) -> tuple[FloatArray, float]:
    """U above for the meta-model's columns of one bag, and the mean fraction of its members that leave a row out.

    Parameters
    ----------
    bag : fitted bag or forest
        With samples that leave rows out.
    X : table
        All rows that it was fitted on.
    n_rows : int
        Their number.
    method, classes
        Which columns the meta-model gets (`drop_redundant_columns`).
    """
    rows = np.unique(np.linspace(0, n_rows - 1, min(n_rows, _N_ROWS)).astype(np.intp))
    by_member = bag.predict_members(select_rows(X, rows))
    predictions = np.stack([drop_redundant_columns(predicted, method, classes) for predicted in by_member])
    left_out = np.stack([np.bincount(own, minlength=n_rows)[rows] == 0 for own in bag.estimators_samples_])
    n_members, n_left = len(left_out), left_out.sum(axis=0)
    usable = n_left > 1
    predictions, left_out, n_left = predictions[:, usable], left_out[:, usable], n_left[usable]
    width = predictions.shape[2]
    if not usable.any():
        return np.zeros((width, width)), 1.0
    means = (left_out[:, :, None] * predictions).sum(0) / n_left[:, None]
    deviations = np.where(left_out[:, :, None], predictions - means, 0.0)
    excess = (1.0 / n_left - 1.0 / n_members) / (n_left - 1.0)
    noise = np.einsum("bri,brj,r->ij", deviations, deviations, excess) / len(n_left)
    return noise, float(n_left.mean() / n_members)


def correct_oob_columns(
    columns: FloatArray, noise: FloatArray, min_signal: float, weights: FloatArray | None = None
) -> FloatArray:
    """The best linear estimate of the columns that the whole bags would predict.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_columns)
        Out-of-bag predictions beside others.
    noise : ndarray of shape (n_columns, n_columns)
        U above; zero for columns that are not out-of-bag.
    min_signal : float
        Lower bound of the fraction of the variance, in any direction, that is not noise: the members of an out-of-bag
        mean are part of the whole bag.
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Examples
    --------
    >>> columns = np.array([[0.0], [1.0], [0.0], [1.0]])
    >>> correct_oob_columns(columns, np.array([[0.05]]), 0.3).ravel()
    array([0.1, 0.9, 0.1, 0.9])
    """
    row_weights = np.full(len(columns), 1.0 / len(columns)) if weights is None else weights / weights.sum()
    mean = row_weights @ columns
    deviations = columns - mean
    values, axes = np.linalg.eigh((row_weights[:, None] * deviations).T @ deviations)
    # Class probabilities sum to one, so that some directions have no variance.
    positive = values > 1e-12 * max(float(values.max()), 1e-300)
    roots, axes = np.sqrt(values[positive]), axes[:, positive]
    noise_fractions, rotation = np.linalg.eigh((axes / roots).T @ noise @ (axes / roots))
    kept = np.clip(1.0 - noise_fractions, min_signal, 1.0)
    return np.asarray(mean + deviations @ (axes / roots @ rotation * kept) @ (axes * roots @ rotation).T)
