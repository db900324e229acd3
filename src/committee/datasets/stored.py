"""Public tables that are read from a folder of files: which file each one needs, and what it must hold."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["STORED", "FeatureTable", "StoredTable", "find_table_file", "load_stored_table"]

_VARIABLE = "COMMITTEE_DATA"
_ENDINGS = (".parquet", ".feather", ".csv")
_TARGET = "target"
_UCI = "the UCI Machine Learning Repository"


@dataclass(frozen=True)
class StoredTable:
    """What the file of a table must hold.

    Parameters
    ----------
    task : {"classification", "regression", "multilabel"}
        What the target is.
    n_rows, n_features : int
        The size of the table, without the target and the columns in ``beside``.
    source : str
        Where the table was published.
    beside : tuple of str
        Columns that are no features: they follow from the target, or name or divide the rows.

    Examples
    --------
    >>> from committee.datasets import STORED
    >>> STORED["adult"].n_rows, STORED["titanic"].beside
    (48842, ('boat', 'body'))
    """

    task: Literal["classification", "regression", "multilabel"]
    n_rows: int
    n_features: int
    source: str
    beside: tuple[str, ...] = ()


def _describe(task: str, n_rows: int, n_features: int, source: str, *beside: str) -> StoredTable:
    tasks: dict[str, Any] = {"c": "classification", "r": "regression", "m": "multilabel"}
    return StoredTable(tasks[task], n_rows, n_features, source, beside)


#: By the name of the file, without its ending.
STORED = {
    "abalone": _describe("r", 4_177, 8, f"{_UCI}, Abalone"),
    "adult": _describe("c", 48_842, 14, f"{_UCI}, Adult: adult.data, then adult.test"),
    "airlines_2k": _describe("c", 43_978, 13, "the samples of H2O, allyears2k, columns known before departure"),
    "ames_housing": _describe("r", 2_930, 79, "the R package AmesHousing, ames_raw without Order and PID"),
    "bank_marketing": _describe("c", 45_211, 16, f"{_UCI}, Bank Marketing: bank-full.csv"),
    "boston": _describe("r", 506, 13, "the R package mlbench, BostonHousing"),
    "california_housing": _describe("r", 20_640, 8, "StatLib; sklearn.datasets.fetch_california_housing fetches it"),
    "covertype": _describe("c", 581_012, 54, f"{_UCI}, Covertype; sklearn.datasets.fetch_covtype fetches it"),
    "diamonds": _describe("r", 53_940, 9, "the R package ggplot2, diamonds"),
    "dna": _describe("c", 3_186, 180, "the R package mlbench, DNA"),
    "german_credit": _describe("c", 1_000, 20, f"{_UCI}, Statlog German Credit: german.data"),
    "heart_cleveland": _describe("c", 303, 13, f"{_UCI}, Heart Disease: processed.cleveland.data"),
    "higgs_7500": _describe("c", 7_500, 28, "the examples of LightGBM, binary_classification"),
    "ionosphere": _describe("c", 351, 34, "the R package mlbench, Ionosphere"),
    "letter": _describe("c", 20_000, 16, "the R package mlbench, LetterRecognition"),
    "magic_telescope": _describe("c", 19_020, 10, f"{_UCI}, MAGIC Gamma Telescope"),
    "mnist": _describe("c", 70_000, 784, "MNIST, training rows first; sklearn.datasets.fetch_openml('mnist_784')"),
    "mushroom": _describe("c", 8_124, 22, f"{_UCI}, Mushroom: agaricus-lepiota.data"),
    "pima_diabetes": _describe("c", 768, 8, "the R package mlbench, PimaIndiansDiabetes"),
    "reuters_r52": _describe("c", 9_100, 1, "Reuters-21578, documents of one topic", "split", "newid", "title"),
    "reuters_r90_multilabel": _describe(
        "m", 10_789, 1, "Reuters-21578, topics joined by a bar", "split", "newid", "title"
    ),
    "sa_heart": _describe("c", 462, 9, "the R package ElemStatLearn, SAheart"),
    "sms_spam": _describe("c", 5_574, 1, f"{_UCI}, SMS Spam Collection"),
    "sonar": _describe("c", 208, 60, "the R package mlbench, Sonar"),
    "spambase": _describe("c", 4_601, 57, f"{_UCI}, Spambase"),
    "titanic": _describe("c", 1_309, 11, "titanic3 of the R package PASWR or of Vanderbilt", "boat", "body"),
    "titanic_kaggle": _describe("c", 891, 11, "Kaggle, Titanic: train.csv"),
    "vowel": _describe("c", 990, 9, "the R package mlbench, Vowel", "speaker"),
    "wine_quality": _describe("r", 6_497, 12, f"{_UCI}, Wine Quality: red, then white"),
    "zip_digits": _describe("c", 9_298, 256, "the R package ElemStatLearn, zip.train, then zip.test"),
}


@dataclass(frozen=True)
class FeatureTable:
    """A table that was read from a folder.

    Parameters
    ----------
    name : str
        A key of ``STORED``.
    data : pyarrow.Table
        The features, as every estimator reads them.
    target : ndarray of shape (n_rows,)
        Classes or values.
    beside : pyarrow.Table
        Columns that are no features.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet
    >>> from committee.datasets import STORED, load_stored_table
    >>> columns = {f"V{k}": [0.5] * 208 for k in range(60)} | {"target": ["R", "M"] * 104}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyarrow.parquet.write_table(pa.table(columns), folder + "/sonar.parquet")
    ...     table = load_stored_table("sonar", folder)
    >>> table.data.shape, table.target[:2].tolist()
    ((208, 60), ['R', 'M'])
    """

    name: str
    data: Any
    target: NDArray[Any]
    beside: Any


def find_table_file(name: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """The file of a table.

    Parameters
    ----------
    name : str
        A key of ``STORED``.
    folder : path, optional
        The folder of the files. By default the one that the environment variable COMMITTEE_DATA names.

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> from committee.datasets import find_table_file
    >>> find_table_file("adult", "folder without files")
    Traceback (most recent call last):
    committee.exceptions.DataError: The table 'adult' needs the file adult.parquet (or .feather, .csv) in ...
    """
    if name not in STORED:
        raise ParameterError(f"The 'name' of a stored table must be one of {', '.join(STORED)}; got {name!r}.")
    asked = os.environ.get(_VARIABLE) if folder is None else os.fspath(folder)
    known = STORED[name]
    file = f"{name}{_ENDINGS[0]} (or {', '.join(_ENDINGS[1:])})"
    holds = (
        f"It holds {known.n_rows:,} rows, {known.n_features} features"
        + (f", {', '.join(known.beside)}" if known.beside else "")
        + f" and the column '{_TARGET}', and comes from {known.source}. Nothing is downloaded here."
    )
    if not asked:
        raise DataError(
            f"The table {name!r} needs the file {file} in a folder that 'folder' or the environment variable "
            f"{_VARIABLE} names. {holds}"
        )
    for ending in _ENDINGS:
        path = Path(asked) / f"{name}{ending}"
        if path.is_file():
            return path
    raise DataError(f"The table {name!r} needs the file {file} in the folder {asked!r}, which has none. {holds}")


def load_stored_table(name: str, folder: str | os.PathLike[str] | None = None) -> FeatureTable:
    """Read a public table from a folder; nothing is downloaded.

    Parameters
    ----------
    name : str
        A key of ``STORED``. The file has that name and the ending ``.parquet``, ``.feather`` or ``.csv``; its column
        ``target`` is to be predicted.
    folder : path, optional
        The folder of the files. By default the one that the environment variable COMMITTEE_DATA names.

    Returns
    -------
    FeatureTable
        Features, target, and columns that are no features.

    Raises
    ------
    DataError
        If there is no such file, or if it holds another table: the sentence says what is needed.
    ImportError
        Without pyarrow.

    Examples
    --------
    >>> import os
    >>> from committee.datasets import load_stored_table
    >>> if "COMMITTEE_DATA" in os.environ:  # doctest: +SKIP
    ...     adult = load_stored_table("adult")
    ...     committee.HistGradientBoostingClassifier().fit(adult.data, adult.target)
    >>> load_stored_table("census")
    Traceback (most recent call last):
    committee.exceptions.ParameterError: The 'name' of a stored table must be one of abalone, adult, ...; got 'census'.
    """
    path = find_table_file(name, folder)
    table, known = _open_file(path), STORED[name]
    for column in (_TARGET, *known.beside):
        if column not in table.column_names:
            raise DataError(f"The file {path.name} has no column {column!r}; its columns are {table.column_names[:8]}.")
    apart = {_TARGET, *known.beside}
    features = [column for column in table.column_names if column not in apart]
    if (table.num_rows, len(features)) != (known.n_rows, known.n_features):
        raise DataError(
            f"The file {path.name} holds {table.num_rows:,} rows and {len(features)} features; the table {name!r} has "
            f"{known.n_rows:,} and {known.n_features}. It comes from {known.source}."
        )
    target = table.column(_TARGET)
    if hasattr(target.type, "value_type"):
        target = target.cast(target.type.value_type)
    is_value = known.task == "regression"
    values = target.to_numpy().astype(np.float64) if is_value else np.asarray(target.to_pylist())
    return FeatureTable(name, table.select(features), values, table.select(list(known.beside)))


def _open_file(path: Path) -> Any:
    try:
        from pyarrow import csv, feather, parquet
    except ImportError as error:
        raise ImportError(
            f"load_stored_table needs the package pyarrow for {path.name}; run pip install pyarrow."
        ) from error
    readers: dict[str, Callable[[Path], Any]] = {
        ".parquet": parquet.read_table,
        ".feather": feather.read_table,
        ".csv": csv.read_csv,
    }
    try:
        return readers[path.suffix](path)
    except (OSError, ValueError) as error:
        raise DataError(f"The file {path.name} cannot be read as a table: {error}") from None
