"""Reading a table as a fit does, and comparing what was read."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from committee.base import CommitteeEstimator
from committee.data import Dataset, take_in

NAN = float("nan")
NUMBERS = [[1, 0, 3], [4, 5, 0]]
TEXT = ["pear", None, "apple", "pear"]


class Estimator(CommitteeEstimator):
    pass


def take(X: Any, **options: Any) -> Dataset:
    return take_in(Estimator(), X, task="none", **options)


def assert_same(data: Dataset, X: Any, categories: list[Any]) -> None:
    found = data.X.toarray() if sp.issparse(data.X) else data.X
    np.testing.assert_array_equal(found, np.asarray(X, dtype=np.float64))
    assert [None if c is None else c.tolist() for c in data.schema.categories] == categories
    assert data.n_levels.dtype == np.uint32
    assert data.n_levels.tolist() == [0 if c is None else len(c) for c in categories]
    assert data.X.dtype == data.schema.dtype
    assert (data.n_rows, data.n_features) == found.shape


class Stream:
    """An Arrow stream and nothing else."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.frame.__arrow_c_stream__(requested_schema)


class NotAnArray:
    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.data
