"""The work behind ``committee predict``: a table goes through a model piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from numpy.typing import NDArray

from committee.cli.errors import USAGE, CommandError
from committee.cli.model_rows import ModelRows

if TYPE_CHECKING:
    from committee.cli.explanations import Explainer
    from committee.cli.stream import TableStream

__all__ = ["Predictor", "Wanted", "name_answers"]

# Names of columns that predictions come in.
_TAKEN = ("prediction", "probability_", "lower", "upper", "base_value", "reason_", "effect_")


@dataclass(frozen=True)
class Wanted:
    """What is wanted besides the prediction.

    Parameters
    ----------
    probabilities : bool
        The probability of each class.
    calibrated : bool
        Only if they are calibrated on out-of-bag rows.
    interval : float or None
        Share of targets that an interval around the prediction should hold.
    reasons : int
        How many of the features that moved the prediction most.
    """

    probabilities: bool = False
    calibrated: bool = False
    interval: float | None = None
    reasons: int = 0


class Predictor:
    """A model beside the table that it is to predict.

    Parameters
    ----------
    model : estimator
        Fitted.
    stream : TableStream
        The table.
    wanted : Wanted
        What besides the prediction.
    keep : sequence of str
        Columns of the table that are copied to the answer.
    """

    def __init__(self, model: Any, stream: TableStream, wanted: Wanted, keep: Sequence[str] = ()) -> None:
        self.model = model
        self.wanted = wanted
        self.keep = list(keep)
        self.rows = ModelRows(model, stream, keep)
        for name in self.keep:
            if name.startswith(_TAKEN):
                raise CommandError(
                    f"The column '{name}' cannot be kept beside a prediction of that name.", "Rename it first.", USAGE
                )
        self._check_wanted()

    def predict_chunks(self) -> Iterator[pa.Table]:
        """The answers in the order of the rows.

        Yields
        ------
        pyarrow.Table
            Columns that are kept, then the prediction, then what else is wanted.
        """
        explainer: Explainer | None = None
        for chunk, rows in self.rows.read():
            answers = {name: chunk.column(name) for name in self.keep}
            predicted = self.model.predict(rows)
            answers |= name_answers(predicted)
            if self.wanted.probabilities or self.wanted.calibrated:
                answers |= _name_probabilities(self.model, rows)
            if self.wanted.interval is not None:
                answers |= _name_interval(self.model, rows, self.wanted.interval)
            if self.wanted.reasons:
                from committee.cli.explanations import Explainer

                explainer = explainer or Explainer(self.model, rows)
                answers |= explainer.explain(rows, predicted).name_strongest(self.wanted.reasons)
            yield pa.table(answers)

    def _check_wanted(self) -> None:
        name, wanted = type(self.model).__name__, self.wanted
        if (wanted.probabilities or wanted.calibrated) and not hasattr(self.model, "predict_proba"):
            option = "--probabilities" if wanted.probabilities else "--calibrated"
            raise CommandError(f"{name} does not predict probabilities.", f"Leave out {option}.", USAGE)
        if wanted.calibrated and getattr(self.model, "calibration", None) is None:
            raise CommandError(
                f"The probabilities of this {name} are not calibrated on out-of-bag rows.",
                "Fit it with -e random-forest --set calibration=isotonic, or use --probabilities as they are.",
                USAGE,
            )
        if wanted.interval is not None and not hasattr(self.model, "predict_interval"):
            raise CommandError(
                f"{name} predicts no intervals.",
                "CommitteeRegressor does, and a forest for quantities fitted with --set oob_score=True.",
                USAGE,
            )


def name_answers(predicted: NDArray[Any]) -> dict[str, pa.Array]:
    """Predictions as columns.

    Parameters
    ----------
    predicted : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        As a model says.

    Returns
    -------
    dict of str to pyarrow.Array
        One column, or one for each output.
    """
    if predicted.ndim == 1:
        return {"prediction": pa.array(predicted.tolist() if predicted.dtype.kind in "OU" else predicted)}
    return {f"prediction_{k}": pa.array(column.tolist()) for k, column in enumerate(predicted.T)}


def _name_probabilities(model: Any, rows: Any) -> dict[str, pa.Array]:
    shares = model.predict_proba(rows)
    if isinstance(shares, list):
        raise CommandError("The model has several outputs.", "Leave out --probabilities.", USAGE)
    return {f"probability_{label}": pa.array(shares[:, k]) for k, label in enumerate(model.classes_)}


def _name_interval(model: Any, rows: Any, coverage: float) -> dict[str, pa.Array]:
    from sklearn.exceptions import NotFittedError

    try:
        ends = model.predict_interval(rows, coverage)
    except NotFittedError as error:
        if not getattr(model, "keep_leaf_samples", False):
            raise CommandError(
                f"This {type(model).__name__} has not kept what intervals need.",
                "Fit it again with --set oob_score=True (or --set keep_leaf_samples=True).",
                USAGE,
            ) from error
        ends = model.predict_quantiles(rows, [(1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0])
    return {"lower": pa.array(ends[:, 0]), "upper": pa.array(ends[:, 1])}
