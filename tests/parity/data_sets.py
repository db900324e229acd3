"""The public data sets that parity is measured on, read from the folder that COMMITTEE_DATA names."""

import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MOST_ROWS, MOST_CELLS = 8000, 500_000
"""Larger sets are sampled down to this, so that all of parity runs in minutes on one core."""

GIVE_AWAY = {"titanic": ["boat", "body"]}
"""Columns that are only known with the answer."""
FREE_TEXT = {"titanic": ["name", "ticket"]}
"""Columns that are nearly different in every row, which neither library can learn from."""

BINARY = ("higgs_7500", "magic_telescope", "spambase", "pima_diabetes", "ionosphere", "sonar", "sa_heart")
MULTICLASS = ("letter", "covertype", "vowel", "dna", "zip_digits")
REGRESSION = ("california_housing", "abalone", "boston", "diamonds", "wine_quality", "ames_housing")
CATEGORICAL = ("adult", "mushroom", "titanic", "german_credit", "airlines_2k")
"""Sets whose columns are categories for the most part, some of them with missing values."""

CLASSES = BINARY + MULTICLASS + ("adult", "german_credit", "titanic", "bank_marketing")


@dataclass(frozen=True)
class DataSet:
    """A table as its file holds it, and its target."""

    name: str
    frame: Any
    y: np.ndarray

    @cached_property
    def is_regression(self) -> bool:
        return self.name in REGRESSION

    @cached_property
    def numbers(self) -> np.ndarray:
        """The table in numbers alone, as scikit-learn takes it: categories by their codes, NaN where missing."""
        columns = (column for _, column in self.frame.items())
        return np.column_stack([_read_codes(c) if c.dtype == "category" else c.to_numpy(np.float64) for c in columns])

    @cached_property
    def filled(self) -> np.ndarray:
        """The same with a number of its own in place of what is missing."""
        return np.where(np.isnan(self.numbers), -999.0, self.numbers)


def _read_codes(column: Any) -> np.ndarray:
    codes = column.cat.codes.to_numpy(np.float64)
    return np.where(codes < 0, np.nan, codes)


@lru_cache(maxsize=4)
def load_data_set(name: str) -> DataSet:
    """Read a set, or skip the test that asks for it with the reason."""
    pandas = pytest.importorskip("pandas", reason="pandas reads the data sets")
    pytest.importorskip("pyarrow", reason="pyarrow reads the data sets")
    folder = os.environ.get("COMMITTEE_DATA")
    if not folder:
        pytest.skip("COMMITTEE_DATA is not set: it names the folder of the data sets")
    path = Path(folder) / f"{name}.parquet"
    if not path.is_file():
        pytest.skip(f"the folder that COMMITTEE_DATA names holds no {path.name}")
    table = pandas.read_parquet(path)
    n_rows = min(MOST_ROWS, MOST_CELLS // table.shape[1])
    if len(table) > n_rows:
        table = table.sample(n_rows, random_state=0).reset_index(drop=True)
    target = table.pop("target")
    y = target.cat.codes.to_numpy() if target.dtype == "category" else target.to_numpy()
    table = table.drop(columns=GIVE_AWAY.get(name, []) + FREE_TEXT.get(name, []))
    return DataSet(name, table, y)
