"""Prepared predictors: a model whose columns were checked once, for servers that predict one row at a time."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from committee.base import resolve_jobs
from committee.data.binning import all_finite_or_missing
from committee.engines.formula import present_formula, refuse_formula
from committee.exceptions import DataError, DataTypeError
from committee.learners.formula_rows import FormulaFunction

if TYPE_CHECKING:
    from committee.engines.formula import ModelFormula
    from committee.typing import AnyArray, FloatArray, FloatMatrix

__all__ = ["PredictorMixin", "PreparedPredictor", "SingleRow"]

SingleRow: TypeAlias = "Mapping[str, Any] | Sequence[Any] | AnyArray"
"""A row: values by name, or in the order of the columns."""


class PreparedPredictor:
    """A fitted model that is ready to predict; `predictor` of an estimator makes it.

    The columns and their categories were read once. Nothing changes afterwards, so that threads may share it. Results
    are those of the estimator, to the bit (to rounding for single rows if a committee or linear model is part of it).
    Arrays and frames of many rows are predicted by the model itself.

    Parameters
    ----------
    model : fitted estimator
        As for `committee.io.to_c`: trees, forests, bags, boosting, AdaBoost, isolation forests, voting, stacking and
        committees.

    Attributes
    ----------
    columns : list of str
        The names of the columns, in their order; ``x0``, ``x1``, ... if they have none.
    classes_ : ndarray, or a list of them with several outputs
        Of a classifier.
    """

    def __init__(self, model: Any) -> None:
        formula = present_formula(model)
        schema = formula.schema
        if schema.inputs is not None:
            raise refuse_formula(model, "was fitted on dates, times, lists or text")
        self._model, self._schema = model, schema
        self._fitted, self._twins = dict(vars(model)), dict[int | None, Any]()
        self.columns = schema.name_features("x{}")
        self._codes: list[tuple[int, dict[Any, float]]] = [
            (k, {level: float(code) for code, level in enumerate(levels.tolist())})
            for k, levels in enumerate(schema.categories)
            if levels is not None
        ]
        self._allows_infinity = bool(getattr(model, "accepts_infinity", False))
        self._functions = {name: FormulaFunction(term) for name, term in formula.results.items()}
        self._set_classes(formula)

    def _set_classes(self, formula: ModelFormula) -> None:
        self._classes = formula.classes
        if formula.classes:
            self.classes_ = formula.classes[0] if len(formula.classes) == 1 else list(formula.classes)
        self._n_outputs = formula.value.width
        self._sizes = [len(own) for own in formula.classes]

    def __repr__(self) -> str:
        return f"<PreparedPredictor of {type(self._model).__name__}, {len(self.columns)} columns>"

    # One row.

    def predict_one(self, row: SingleRow) -> Any:
        """The label or value of one row; a list of them for several outputs.

        Parameters
        ----------
        row : dict, tuple, list or ndarray of shape (n_features,)
            Values by name, all of them, or in the order of `columns`. None and NaN are missing values, and a category
            is given by its level.

        Returns
        -------
        label, float, or a list of them
        """
        values = self._functions["predict"](self.encode(row), 1)[0].tolist()
        if self._classes:
            values = [own[int(k)] for own, k in zip(self._classes, values, strict=True)]
            values = [label.item() if isinstance(label, np.generic) else label for label in values]
        return values[0] if len(values) == 1 else values

    def predict_proba_one(self, row: SingleRow) -> FloatArray:
        """The probabilities of one row; of the classes of all outputs side by side."""
        shares: FloatArray = self._find("predict_proba")(self.encode(row), 1)[0]
        return shares

    def encode(self, row: SingleRow) -> FloatMatrix:
        """One row as the engine reads it, of shape (1, n_features)."""
        values: Any = row
        if isinstance(row, Mapping):
            values = self._order(row)
        elif isinstance(row, np.ndarray):
            if row.ndim != 1:
                raise DataError(f"One row must have one axis; its shape is {row.shape}. predict takes several.")
            values = row.tolist()
        if len(values) != len(self.columns):
            raise DataError(f"The row has {len(values)} values; {len(self.columns)} are needed.")
        if self._codes:
            values = list(values)
            for column, codes in self._codes:
                values[column] = self._find_code(values[column], codes, column)
        try:
            numbers = array("d", values)
        except TypeError:
            numbers = array("d", [self._read_number(value, k) for k, value in enumerate(values)])
        encoded = np.frombuffer(numbers).reshape(1, -1)
        if not self._allows_infinity and not all_finite_or_missing(encoded):
            raise DataError(f"The row holds an infinite value, which {type(self._model).__name__} does not take.")
        return encoded

    def _order(self, row: Mapping[str, Any]) -> list[Any]:
        try:
            values = [row[name] for name in self.columns]
        except KeyError as error:
            raise DataError(f"The row has no value for the column {error.args[0]!r}; None means missing.") from None
        if len(row) != len(values):
            unknown = sorted(str(name) for name in row if name not in self.columns)
            raise DataError(f"The row has a value for {unknown[0]!r}, which is none of the columns: {self.columns}.")
        return values

    def _find_code(self, value: Any, codes: dict[Any, float], column: int) -> float:
        if value is None or value != value:
            return np.nan
        code = codes.get(value)
        if code is not None:
            return code
        if isinstance(value, str) != any(isinstance(level, str) for level in codes):
            then, now = ("numbers", "text") if isinstance(value, str) else ("text", "numbers")
            raise DataTypeError(f"Column {self.columns[column]!r} held categories that are {then} at fit; got {now}.")
        if self._schema.unseen == "error":
            raise DataError(
                f"Column {self.columns[column]!r} holds the category {value!r}, which did not occur in training."
            )
        return np.nan

    def _read_number(self, value: Any, column: int) -> float:
        if value is None:
            return np.nan
        try:
            return float(array("d", [value])[0])
        except TypeError:
            raise DataTypeError(
                f"Column {self.columns[column]!r} holds numbers; got {value!r} of type {type(value).__name__}."
            ) from None

    # Many rows.

    def predict(self, rows: Any, n_jobs: int | None = 1) -> AnyArray:
        """Labels or values of many rows, as the estimator gives them.

        Parameters
        ----------
        rows : list of rows, array or data frame
            As for `predict_one`, or as for the estimator.
        n_jobs : int or None, default=1
            Number of threads, as in the estimators.
        """
        if not _is_list_of_rows(rows):
            found: AnyArray = self._ask_model("predict", rows, n_jobs)
            return found
        values = self._functions["predict"](self._encode_rows(rows), resolve_jobs(n_jobs))
        if self._classes:
            labels = [own.take(values[:, k].astype(np.intp)) for k, own in enumerate(self._classes)]
            return labels[0] if len(labels) == 1 else np.stack(labels, axis=1)
        if "score_samples" in self._functions:  # an isolation forest says -1 or 1
            values = values.astype(np.intp)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict_proba(self, rows: Any, n_jobs: int | None = 1) -> FloatArray | list[FloatArray]:
        """Probabilities of many rows, as the estimator gives them; arguments as for `predict`."""
        compute = self._find("predict_proba")
        if not _is_list_of_rows(rows):
            found: FloatArray | list[FloatArray] = self._ask_model("predict_proba", rows, n_jobs)
            return found
        shares = compute(self._encode_rows(rows), resolve_jobs(n_jobs))
        return shares if len(self._sizes) == 1 else np.split(shares, np.cumsum(self._sizes)[:-1], axis=1)

    def decision_function(self, rows: Any, n_jobs: int | None = 1) -> FloatArray:
        """Decision function of many rows, as the estimator gives it; arguments as for `predict`."""
        return self._score("decision_function", rows, n_jobs)

    def score_samples(self, rows: Any, n_jobs: int | None = 1) -> FloatArray:
        """Scores of an isolation forest for many rows; arguments as for `predict`."""
        return self._score("score_samples", rows, n_jobs)

    def _score(self, method: str, rows: Any, n_jobs: int | None) -> FloatArray:
        compute = self._find(method)
        if not _is_list_of_rows(rows):
            found: FloatArray = self._ask_model(method, rows, n_jobs)
            return found
        scores = compute(self._encode_rows(rows), resolve_jobs(n_jobs))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _find(self, method: str) -> FormulaFunction:
        if method not in self._functions:
            raise AttributeError(f"{type(self._model).__name__!r} object has no {method}.")
        return self._functions[method]

    def _encode_rows(self, rows: Sequence[SingleRow]) -> FloatMatrix:
        return np.concatenate([self.encode(row) for row in rows])

    def _ask_model(self, method: str, rows: Any, n_jobs: int | None) -> Any:
        """The model's own method, whose kernels are made for many rows, on so many threads."""
        twin = self._twins.get(n_jobs)
        if twin is None:
            twin = object.__new__(type(self._model))
            twin.__dict__.update(self._fitted)
            if "n_jobs" in self._fitted:
                twin.n_jobs = n_jobs
            self._twins[n_jobs] = twin
        return getattr(twin, method)(rows)


def _is_list_of_rows(rows: Any) -> bool:
    return isinstance(rows, list | tuple) and len(rows) > 0 and isinstance(rows[0], Mapping | Sequence)


class PredictorMixin:
    """Estimators that can be prepared for prediction."""

    def predictor(self) -> PreparedPredictor:
        """The fitted model made ready for single rows: columns checked once, dicts and tuples, safe for threads.

        Returns
        -------
        PreparedPredictor

        Examples
        --------
        >>> from committee import DecisionTreeClassifier
        >>> predictor = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"]).predictor()
        >>> predictor.predict_one((0.9,)), predictor.predict_one({"x0": 0.1})
        ('yes', 'no')
        """
        return PreparedPredictor(self)
