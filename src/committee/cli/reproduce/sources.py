"""Load the data of the results; nothing is downloaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray
from sklearn.datasets import fetch_california_housing, make_moons
from sklearn.model_selection import train_test_split

from committee.cli.reproduce.results import MissingDataError
from committee.typing import FloatArray

__all__ = ["draw_halves", "draw_moons", "load_housing", "load_parquet_table", "split_target"]


def load_parquet_table(name: str) -> pa.Table:
    """A table from the folder that ``COMMITTEE_DATA`` names.

    Parameters
    ----------
    name : str
        Name of the file, without extension.

    Returns
    -------
    pyarrow.Table
        With a column ``target``.
    """
    folder = os.environ.get("COMMITTEE_DATA")
    if not folder:
        raise MissingDataError(f"needs {name}.parquet; set COMMITTEE_DATA to the folder that holds it")
    path = Path(folder) / f"{name}.parquet"
    if not path.is_file():
        raise MissingDataError(f"the folder that COMMITTEE_DATA names holds no {path.name}")
    return pyarrow.parquet.read_table(path)


def split_target(table: pa.Table) -> tuple[FloatArray, NDArray[Any]]:
    """Split a numeric table into features and target.

    Parameters
    ----------
    table : pyarrow.Table
        With a column ``target``.

    Returns
    -------
    tuple of ndarray
    """
    target = table.column("target")
    if pa.types.is_dictionary(target.type):
        target = target.cast(target.type.value_type)
    columns = [table.column(name).to_numpy() for name in table.column_names if name != "target"]
    return np.column_stack(columns).astype(np.float64), np.asarray(target.to_pylist())


def load_housing() -> tuple[FloatArray, FloatArray, list[str]]:
    """California housing: from scikit-learn's cache if it is there, else from ``COMMITTEE_DATA``.

    Returns
    -------
    tuple of ndarray, ndarray and list of str
        Features, median values in 100,000 dollars, names.
    """
    folder = os.environ.get("COMMITTEE_DATA")
    cache = Path(folder) / "scikit_learn_data" if folder else None
    for home in (None, str(cache) if cache is not None and cache.is_dir() else None):
        try:
            found = fetch_california_housing(data_home=home, download_if_missing=False)
        except OSError:
            continue
        return found.data, found.target, list(found.feature_names)
    try:
        table = load_parquet_table("california_housing")
    except MissingDataError as error:
        raise MissingDataError(
            f"California housing is missing: scikit-learn has not fetched it (fetch_california_housing()), and {error}"
        ) from error
    X, y = split_target(table)
    return X, y.astype(np.float64), [name for name in table.column_names if name != "target"]


def draw_moons(seed: int = 42) -> tuple[FloatArray, FloatArray, NDArray[Any], NDArray[Any]]:
    """Two moons, 500 rows with noise 0.30, split into 375 training and 125 test rows.

    Parameters
    ----------
    seed : int
        Seed of the data and of the split; 42 as published.

    Returns
    -------
    tuple of ndarray
        Training and test features, training and test classes.
    """
    X, y = make_moons(n_samples=500, noise=0.30, random_state=seed)
    train, test, y_train, y_test = train_test_split(X, y, random_state=seed)
    return train, test, y_train, y_test


def draw_halves(n_rows: int, n_features: int, seed: int) -> tuple[FloatArray, NDArray[np.intp]]:
    """Gaussian features with the sign of their sum as class.

    Parameters
    ----------
    n_rows, n_features : int
        Shape of the data.
    seed : int
        Seed of the generator.

    Returns
    -------
    tuple of ndarray
        Features, and classes -1 and 1.
    """
    X = np.random.default_rng([seed, n_rows, n_features]).normal(size=(n_rows, n_features))
    return X, np.where(X.sum(axis=1) > 0.0, 1, -1)
