"""A trial of a loaded model: a few rows of its own columns, to find parts that do not fit although each is in order."""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from committee.data import Schema
from committee.exceptions import CommitteeError, ModelFileError

__all__ = ["try_model"]

# Not decision_path: it makes every tree an estimator, which takes longer than the load.
_METHODS = ("predict", "predict_proba", "decision_function", "transform", "apply")
_N_ROWS = 8
"""As many as are predicted in a batch: single rows count towards a form of the trees that is made for them."""
_MOST_COLUMNS = 1 << 16


def try_model(model: Any) -> None:
    """Refuse a model that fails on rows of its own columns; what it says in a sentence of its own is fine.

    Parameters
    ----------
    model : estimator
        Of this library, and made of its parts alone.
    """
    rows = _make_rows(model)
    if rows is None:
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in _METHODS:
            try:
                method = getattr(model, name, None)
                if method is not None:
                    method(rows)
            except (CommitteeError, NotFittedError):
                continue
            except Exception as error:
                raise ModelFileError(
                    f"The parts of the model do not fit together: {type(model).__name__}.{name} fails on rows of its "
                    f"own columns ({type(error).__name__}: {str(error)[:200]})."
                ) from error


def _make_rows(model: Any) -> Any:
    """Rows of what the columns hold; None if the model does not say what its columns are."""
    schema, n_features = vars(model).get("_schema"), vars(model).get("n_features_in_")
    if not isinstance(n_features, int) or not 0 < n_features <= _MOST_COLUMNS:
        return None
    rows = np.linspace(-2.0, 2.0, _N_ROWS)[:, None] * np.ones(n_features)
    if not isinstance(schema, Schema) or (schema.inputs is None and not schema.has_categories):
        return rows
    table = rows.astype(object)
    for column in range(schema.n_inputs):
        levels = schema.categories[schema.list_features(column)[0]]
        if levels is not None and len(levels):
            table[:, column] = np.resize(levels, _N_ROWS)
        elif schema.inputs is not None:
            kind, parts = schema.inputs.of_column(column)
            for row in range(_N_ROWS if kind != "number" else 0):
                table[row, column] = _make_value(kind, len(parts), row)
    return table


def _make_value(kind: str, width: int, row: int) -> Any:
    """A date, time, duration, list or text."""
    if kind == "text":
        return f"a text of {row} words"
    if kind == "list":
        return [float(row)] * width
    if kind == "time":
        return datetime.time(row)
    if kind == "duration":
        return datetime.timedelta(days=row)
    return datetime.datetime(2020 + row, 1 + row, 1, row, tzinfo=None if kind == "date" else datetime.UTC)
