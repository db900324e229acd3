"""Exact forgetting: the model of a fit without some of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from committee.constraints import show_value
from committee.data.rows import select_rows
from committee.exceptions import DataError, ParameterError
from committee.io.certificates.certificate import GivenData, fit_seeded, make_certificate, open_data
from committee.io.certificates.verification import compare_data, read_certificate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from committee.base import CommitteeEstimator
    from committee.typing import AnyArray, BoolArray

__all__ = ["forget"]


def forget(
    model: CommitteeEstimator,
    X: Any,
    y: Any,
    rows: ArrayLike,
    sample_weight: ArrayLike | str | None = None,
    **fit_params: object,
) -> Any:
    """The model that a fit without some rows gives, byte for byte, with a certificate of its own.

    The model is fitted again without the rows, with the same parameters and seed: nothing of them is left in it,
    neither in its trees nor in its bins, categories or out-of-bag predictions. Who has the other rows can verify it.

    Parameters
    ----------
    model : estimator
        With a certificate (`committee.certify`). It is not changed.
    X, y, sample_weight
        The training data, with the rows to be forgotten; they are compared with the certificate.
    rows : array-like of int, or of bool with an entry for each row
        The rows to be forgotten, by number from 0.
    **fit_params
        Further arguments that ``fit`` had, such as ``groups``.

    Returns
    -------
    estimator
        Fitted on the other rows.

    Examples
    --------
    >>> import committee
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = committee.certify(committee.RandomForestClassifier(n_estimators=10, random_state=0), X, y)
    >>> without = committee.forget(model, X, y, rows=[3, 77])
    >>> without.certificate_["table"]["rows"]
    148
    >>> import numpy as np
    >>> bool(committee.verify(without, np.delete(X, [3, 77], axis=0), np.delete(y, [3, 77])))
    True
    """
    certificate = read_certificate(model)
    with open_data(X, y, sample_weight, fit_params) as given:
        gone = _read_rows(rows, given.n_rows)
        differences = compare_data(certificate, given.describe())
        if differences:
            raise DataError(
                "The data are not those that the model was fitted on, so that the rows cannot be found in them: "
                + " ".join(differences)
            )
        kept = _keep(given, np.flatnonzero(~gone))
        forgetful = fit_seeded(clone(model), kept, certificate["seed"])
        forgetful.certificate_ = make_certificate(forgetful, kept, certificate["seed"])
    return forgetful


def _read_rows(rows: ArrayLike, n_rows: int) -> BoolArray:
    """Which rows are to be forgotten."""
    given: AnyArray = np.asarray(rows)
    if given.dtype == bool and given.shape == (n_rows,):
        gone = given.copy()
    elif given.ndim == 1 and (given.dtype.kind in "iu" or given.size == 0):
        if given.size and not (int(given.min()) >= 0 and int(given.max()) < n_rows):
            raise ParameterError(f"'rows' must be numbers from 0 to {n_rows - 1}; got {show_value(rows)}.")
        gone = np.zeros(n_rows, dtype=bool)
        gone[given.astype(np.intp)] = True
    else:
        raise ParameterError(
            f"'rows' must be a list of row numbers, or a truth value for each of the {n_rows} rows; got "
            f"{show_value(rows)}."
        )
    if gone.all():
        raise ParameterError("'rows' names every row; a model of no rows cannot be fitted.")
    return gone


def _keep(given: GivenData, rows: AnyArray) -> GivenData:
    """The data of some rows; of further arguments, groups belong to rows."""
    arguments = {
        name: _select(value, rows) if name == "groups" and value is not None else value
        for name, value in given.arguments.items()
    }
    weights: Any = given.sample_weight
    weights = weights if np.ndim(weights) == 0 else _select(weights, rows)
    y = None if given.y is None else _select(given.y, rows)
    return GivenData(_select(given.X, rows), y, weights, arguments)


def _select(values: Any, rows: AnyArray) -> Any:
    if isinstance(values, list):
        return [values[row] for row in rows]
    return select_rows(values, rows)
