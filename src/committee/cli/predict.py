"""The work behind ``committee predict``: predict a table chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from numpy.typing import NDArray

from committee.cli.errors import USAGE, CommandError
from committee.cli.model_rows import ModelRows

if TYPE_CHECKING:
    from committee.cli.explanations import TargetExplainer
    from committee.cli.stream import TableStream

__all__ = ["PredictOptions", "Predictor", "make_prediction_columns"]

# Names of the output columns.
_RESERVED = ("prediction", "probability_", "lower", "upper", "base_value", "reason_", "effect_", "survival_")


@dataclass(frozen=True)
class PredictOptions:
    """What to compute besides the prediction.

    Parameters
    ----------
    probabilities : bool
        The probability of each class.
    calibrated : bool
        The same; the model must have calibrated them on out-of-bag rows.
    interval : float or None
        Coverage of a prediction interval.
    reasons : int
        Number of features with the largest SHAP values to add.
    times : sequence of float
        Times for which the probability to survive them is added.
    targets : sequence of str
        Names of the targets of a model of several ones.
    """

    probabilities: bool = False
    calibrated: bool = False
    interval: float | None = None
    reasons: int = 0
    times: Sequence[float] = ()
    targets: Sequence[str] = ()


class Predictor:
    """Predicts the rows of a table.

    Parameters
    ----------
    model : estimator
        Fitted.
    stream : TableStream
        The table.
    options : PredictOptions
        What to compute besides the prediction.
    keep : sequence of str
        Columns of the table to copy to the output.
    """

    def __init__(self, model: Any, stream: TableStream, options: PredictOptions, keep: Sequence[str] = ()) -> None:
        self.model = model
        self.options = options
        self.keep = list(keep)
        self.rows = ModelRows(model, stream, keep)
        for name in self.keep:
            if name.startswith(_RESERVED):
                raise CommandError(
                    f"The column '{name}' cannot be kept: the output has a column of that name.",
                    "Rename it first.",
                    USAGE,
                )
        self._check_options()

    def predict_chunks(self) -> Iterator[pa.Table]:
        """The predictions in the order of the rows.

        Yields
        ------
        pyarrow.Table
            Copied columns, then the prediction, then the other requested columns.
        """
        explainer: TargetExplainer | None = None
        for chunk, rows in self.rows.read():
            columns = {name: chunk.column(name) for name in self.keep}
            predicted = self.model.predict(rows)
            columns |= make_prediction_columns(predicted, self.options.targets)
            if self.options.probabilities or self.options.calibrated:
                columns |= _make_probability_columns(self.model, rows, self.options.targets)
            if self.options.interval is not None:
                columns |= _make_interval_columns(self.model, rows, self.options.interval, self.options.targets)
            if self.options.times:
                curves = self.model.predict_survival_function(rows, self.options.times)
                columns |= {f"survival_{t:g}": pa.array(curves[:, k]) for k, t in enumerate(self.options.times)}
            if self.options.reasons:
                from committee.cli.explanations import TargetExplainer

                explainer = explainer or TargetExplainer(self.model, rows, self.options.targets)
                columns |= explainer.make_columns(rows, predicted, self.options.reasons)
            yield pa.table(columns)

    def _check_options(self) -> None:
        name, options = type(self.model).__name__, self.options
        if (options.probabilities or options.calibrated) and not hasattr(self.model, "predict_proba"):
            option = "--probabilities" if options.probabilities else "--calibrated"
            raise CommandError(f"{name} does not predict probabilities.", f"Leave out {option}.", USAGE)
        if options.calibrated and getattr(self.model, "calibration", None) is None:
            raise CommandError(
                f"The probabilities of this {name} are not calibrated on out-of-bag rows.",
                "Fit it with -e random-forest --set calibration=isotonic, or use --probabilities.",
                USAGE,
            )
        if options.times and not hasattr(self.model, "predict_survival_function"):
            raise CommandError(f"{name} predicts no survival curves.", "--times is for --task survival.", USAGE)
        if options.interval is not None and not hasattr(self.model, "predict_interval"):
            raise CommandError(
                f"{name} predicts no intervals.",
                "CommitteeRegressor does, and a regression forest fitted with --set oob_score=True.",
                USAGE,
            )


def make_prediction_columns(predicted: NDArray[Any], targets: Sequence[str] = ()) -> dict[str, pa.Array]:
    """Predictions as columns.

    Parameters
    ----------
    predicted : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Predictions of a model.
    targets : sequence of str
        Names of several outputs; by default their numbers.

    Returns
    -------
    dict of str to pyarrow.Array
        One column, or one for each output.
    """
    if predicted.ndim == 1:
        return {"prediction": pa.array(predicted.tolist() if predicted.dtype.kind in "OU" else predicted)}
    names = targets or range(predicted.shape[1])
    return {f"prediction_{name}": pa.array(column.tolist()) for name, column in zip(names, predicted.T, strict=True)}


def _make_probability_columns(model: Any, X: Any, targets: Sequence[str]) -> dict[str, pa.Array]:
    probabilities = model.predict_proba(X)
    if isinstance(probabilities, list):
        parts = zip(targets or range(len(probabilities)), probabilities, model.classes_, strict=True)
        return {
            f"probability_{name}_{label}": pa.array(own[:, k])
            for name, own, classes in parts
            for k, label in enumerate(classes)
        }
    return {f"probability_{label}": pa.array(probabilities[:, k]) for k, label in enumerate(model.classes_)}


def _make_interval_columns(model: Any, X: Any, coverage: float, targets: Sequence[str]) -> dict[str, pa.Array]:
    from sklearn.exceptions import NotFittedError

    try:
        ends = model.predict_interval(X, coverage)
    except NotFittedError as error:
        if not getattr(model, "keep_leaf_samples", False):
            raise CommandError(
                f"This {type(model).__name__} was fitted without what intervals need.",
                "Fit it again with --set oob_score=True (or --set keep_leaf_samples=True).",
                USAGE,
            ) from error
        ends = model.predict_quantiles(X, [(1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0])
    if ends.ndim == 3:
        sides = (("lower", 0), ("upper", 1))
        return {f"{side}_{name}": pa.array(ends[:, at, k]) for k, name in enumerate(targets) for side, at in sides}
    return {"lower": pa.array(ends[:, 0]), "upper": pa.array(ends[:, 1])}
