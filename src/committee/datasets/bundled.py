"""The tables inside scikit-learn, by name."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.exceptions import ParameterError

# Name of the table, and of its target column.
BUNDLED = {
    "breast_cancer": "diagnosis",
    "diabetes": "progression",
    "digits": "digit",
    "iris": "species",
    "wine": "cultivar",
}


@dataclass(frozen=True)
class BundledTable:
    """A table with a target column.

    Parameters
    ----------
    name : str
        Name in ``BUNDLED``.
    feature_names : tuple of str
        Names of the columns of ``data``.
    data : ndarray of shape (n_rows, n_features)
        The features.
    target_name : str
        Name of the column to predict.
    target : ndarray of shape (n_rows,)
        Class labels as text where the classes have names, numbers otherwise.

    Examples
    --------
    >>> from committee.datasets import load_table
    >>> table = load_table("wine")
    >>> table.feature_names[0], table.target_name, table.data.shape
    ('alcohol', 'cultivar', (178, 13))
    """

    name: str
    feature_names: tuple[str, ...]
    data: NDArray[np.float64]
    target_name: str
    target: NDArray[Any]


def load_table(name: str = "breast_cancer") -> BundledTable:
    """Load one of the bundled tables.

    Parameters
    ----------
    name : str
        A key of ``BUNDLED``.

    Returns
    -------
    BundledTable
        Features, target and their names.

    Examples
    --------
    >>> from committee.datasets import load_table
    >>> table = load_table("iris")
    >>> table.data.shape, table.target_name, str(table.target[0])
    ((150, 4), 'species', 'setosa')
    """
    if name not in BUNDLED:
        raise ParameterError(
            f"The 'name' of a bundled table must be one of {', '.join(BUNDLED)}; got {name!r}. Others are read from a "
            "folder, by load_stored_table."
        )
    # Loaded here, since sklearn.datasets is slow to import and rarely wanted.
    bunch = getattr(import_module("sklearn.datasets"), f"load_{name}")()
    target = np.asarray(bunch["target"])
    labels = bunch.get("target_names")
    if labels is not None and not np.issubdtype(np.asarray(labels).dtype, np.number):
        target = np.asarray(labels)[target]
    return BundledTable(
        name=name,
        feature_names=tuple(map(str, bunch["feature_names"])),
        data=np.asarray(bunch["data"], dtype=np.float64),
        target_name=BUNDLED[name],
        target=target,
    )
