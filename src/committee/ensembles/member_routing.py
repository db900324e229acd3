"""scikit-learn's metadata routing for ensembles whose members are clones of one estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn import get_config
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import process_routing

from committee.data.rows import count_rows, select_rows
from committee.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from committee.typing import AnyArray

__all__ = ["route_to_members", "select_entries"]


def route_to_members(ensemble: Any, method: str, params: Mapping[str, object]) -> Bunch:
    """Arguments of the members' methods.

    Parameters
    ----------
    ensemble : estimator
        Whose `get_metadata_routing` names its member ``estimator``.
    method : str
        The method of the ensemble that was called.
    params : mapping
        Its arguments that are for the members.

    Returns
    -------
    Bunch
        With the attribute ``estimator``, the arguments of each method of the members.
    """
    if not params:
        return Bunch(estimator=Bunch(fit={}))
    if not get_config()["enable_metadata_routing"]:
        raise DataError(
            f"Passing extra keyword arguments to {type(ensemble).__name__}.{method} is only supported if "
            "enable_metadata_routing=True, which you can set using `sklearn.set_config`."
        )
    return process_routing(ensemble, method, **params)


def select_entries(params: Mapping[str, object], rows: AnyArray | None, n_rows: int) -> Mapping[str, object]:
    """Arguments of `fit` for some rows: those with an entry for each row have the entries of these rows.

    Parameters
    ----------
    params : mapping
        Arguments for all rows.
    rows : ndarray of int, or None
        Numbers of the rows, repeated where a row is wanted more than once; None for all.
    n_rows : int
        The number of all rows.

    Returns
    -------
    mapping

    Examples
    --------
    >>> import numpy as np
    >>> select_entries({"groups": ["a", "b", "c"], "note": "x"}, np.array([2, 0, 0]), 3)
    {'groups': array(['c', 'a', 'a'], dtype='<U1'), 'note': 'x'}
    """
    if rows is None:
        return params
    return {
        name: select_rows(value, rows) if _has_entry_per_row(value, n_rows) else value for name, value in params.items()
    }


def _has_entry_per_row(value: object, n_rows: int) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict)) and count_rows(value) == n_rows
