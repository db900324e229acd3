"""Proximity of rows in a forest: the fraction of the trees in which two rows are in the same leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.inspection.resampling import check_count
from committee.value_checks import read_doubles

if TYPE_CHECKING:
    from committee.typing import EstimatorLike, FloatArray

__all__ = ["measure_proximity", "scale_proximity"]


def measure_proximity(model: EstimatorLike, X: Any) -> FloatArray:
    r"""Fraction of the trees in which two rows are in the same leaf [Breiman2001].

    Proximity does not depend on the units of the features, and little on noise features.

    Parameters
    ----------
    model : fitted estimator
        With `apply`, such as a forest of this library or of scikit-learn.
    X : table
        Rows; the result has the square of their number.

    Returns
    -------
    ndarray of shape (n_rows, n_rows)
        In [0, 1], with ones on the diagonal.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.inspection import measure_proximity
    >>> X, y = load_iris(return_X_y=True)
    >>> near = measure_proximity(RandomForestClassifier(random_state=0).fit(X, y), X)
    >>> bool(near[0, 1] > near[0, 60])
    True
    """
    if isinstance(model, type) or not hasattr(model, "apply"):
        raise ParameterTypeError(
            f"The 'model' argument must be a fitted estimator with the method apply, such as a forest; got "
            f"{type(model).__name__}."
        )
    leaves = np.asarray(model.apply(X))
    leaves = leaves.reshape(len(leaves), -1)
    n_rows, n_trees = leaves.shape
    if not n_rows:
        raise DataError("X must have at least one row.")
    # A column for each leaf of each tree that has a row; two rows have as many ones in common as leaves.
    _, codes = np.unique(leaves + np.arange(n_trees) * (int(leaves.max()) + 1), return_inverse=True)
    codes = codes.reshape(-1)
    ends = csr_matrix((np.ones(codes.size), codes, np.arange(0, codes.size + 1, n_trees)))
    return np.asarray((ends @ ends.T).toarray() / n_trees)


def scale_proximity(proximity: FloatArray, n_dimensions: int = 2) -> tuple[FloatArray, FloatArray]:
    r"""Points whose squared distances are about 1 - proximity: classical multidimensional scaling.

    The eigenvectors of :math:`-\frac12 J (1 - P) J`, :math:`J` the centring matrix, times the roots of their
    eigenvalues. The first coordinates have the largest eigenvalues.

    Parameters
    ----------
    proximity : ndarray of shape (n_rows, n_rows)
        From `measure_proximity`.
    n_dimensions : int, default=2
        Number of coordinates.

    Returns
    -------
    points : ndarray of shape (n_rows, n_dimensions)
        Coordinates; of each, the one that is largest in absolute value is positive.
    fractions : ndarray of shape (n_dimensions,)
        Each eigenvalue relative to the sum of the positive ones.

    Examples
    --------
    >>> import numpy as np
    >>> points, fractions = scale_proximity(np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]))
    >>> ((points[0] - points[2]) ** 2).sum().round(6).item()
    1.0
    """
    proximity = read_doubles(proximity, "Proximities", "a square table of numbers")
    n_rows = len(proximity) if proximity.ndim else 0
    if proximity.ndim != 2 or proximity.shape[1] != n_rows or not np.isfinite(proximity).all():
        raise DataError(f"Proximities must be a square table of finite numbers; got shape {proximity.shape}.")
    if check_count("n_dimensions", n_dimensions, 1) > n_rows:
        raise ParameterError(f"The 'n_dimensions' argument must be an int from 1 to {n_rows}; got {n_dimensions!r}.")
    means = proximity.mean(axis=0)
    centred = (proximity - means - means[:, None] + means.mean()) / 2.0
    values, vectors = np.linalg.eigh(centred)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    points = vectors[:, :n_dimensions] * np.sqrt(values[:n_dimensions])
    signs = np.sign(points[np.abs(points).argmax(axis=0), np.arange(n_dimensions)])
    total = float(values.sum())
    fractions = values[:n_dimensions] / total if total > 0.0 else np.zeros(n_dimensions)
    return points * np.where(signs < 0.0, -1.0, 1.0), fractions
