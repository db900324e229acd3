"""The curves that a fit has recorded, under one set of names for all ensembles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import committee
from committee.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["FitHistory", "HistoryCurve", "read_history"]

#: Fitted attributes that are curves: the name of the curve, and the round of its first value.
_CURVES = {
    "train_score_": ("training_loss", 1),
    "validation_score_": ("validation_score", 0),
    "oob_scores_": ("oob_loss", 1),
    "estimator_errors_": ("member_error", 1),
    "exponential_loss_": ("exponential_loss", 1),
}


@dataclass(frozen=True)
class HistoryCurve:
    """One curve.

    Attributes
    ----------
    rounds : ndarray of int of shape (n_values,)
        Numbers of rounds or members; zero is before the first.
    values : ndarray of shape (n_values,)
        What was recorded after each.
    """

    rounds: NDArray[np.intp]
    values: FloatArray


@dataclass(frozen=True)
class FitHistory:
    """The curves of a fitted ensemble, as ``model.history_``.

    Attributes
    ----------
    curves : dict from name to HistoryCurve
        ``training_loss``, ``validation_score`` (larger is better), ``oob_loss`` of gradient boosting, for each
        evaluation set and metric ``set_metric``; ``member_error`` and ``exponential_loss`` of AdaBoost;
        ``oob_score`` of bags and forests. Only what the fit has recorded is there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=4, early_stopping=False)
    >>> history = model.fit(X, y, eval_set=[(X, y)], eval_names=["all"]).history_
    >>> list(history), history.rounds
    (['training_loss', 'all_loss'], range(0, 5))
    >>> len(history["all_loss"]), history.to_frame().shape
    (4, (4, 2))
    """

    curves: Mapping[str, HistoryCurve] = field(default_factory=dict)

    @property
    def history(self) -> dict[str, list[float]]:
        """The values of each curve as a list, as in Keras."""
        return {name: list(curve.values) for name, curve in self.curves.items()}

    @property
    def rounds(self) -> range:
        """All numbers of rounds, from before the first one to the last."""
        last = max((int(curve.rounds[-1]) for curve in self.curves.values()), default=0)
        return range(last + 1)

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self.curves:
            known = ", ".join(self.curves) or "nothing"
            raise KeyError(f"The fit recorded no curve {name!r}; it recorded {known}.")
        return self.curves[name].values

    def __iter__(self) -> Any:
        return iter(self.curves)

    def __len__(self) -> int:
        return len(self.curves)

    def __contains__(self, name: object) -> bool:
        return name in self.curves

    def to_frame(self) -> Any:
        """A pandas frame with a row for each round and a column for each curve; missing where nothing was recorded.

        Returns
        -------
        pandas.DataFrame
            Its index is ``round``.
        """
        try:
            import pandas as pd
        except ImportError:
            raise DataError("to_frame needs pandas. Install it, or use `history`, a dict of lists.") from None
        columns = {name: pd.Series(one.values, index=one.rounds) for name, one in self.curves.items()}
        frame = pd.DataFrame(columns).sort_index()
        return frame.rename_axis("round")

    def plot(self, names: list[str] | None = None, ax: Any = None) -> Any:
        """Draw the curves by round.

        Parameters
        ----------
        names : list of str, optional
            Which; by default all.
        ax : matplotlib axes, optional
            Where; by default a new figure.

        Returns
        -------
        StagedCurveDisplay
            See `committee.plots`.
        """
        chosen = list(self.curves) if names is None else names
        if not chosen:
            raise DataError("The fit recorded no curve. Pass eval_set to fit, or set early_stopping or oob_score.")
        for name in chosen:
            self[name]
        curves = {name: (self.curves[name].rounds, self.curves[name].values) for name in chosen}
        measure = chosen[0].replace("_", " ") if len(chosen) == 1 else "value"
        # Plots are a layer above, which the package loads when it is asked for.
        return committee.plots.StagedCurveDisplay(curves, measure).plot(ax=ax)


def read_history(fitted: Mapping[str, Any], first_training: int = 1) -> FitHistory:
    """The curves among the fitted attributes of an ensemble.

    Parameters
    ----------
    fitted : mapping
        Attributes by name.
    first_training : int, default=1
        The round of the first training score; 0 if that is before the first round.

    Returns
    -------
    FitHistory
    """
    curves: dict[str, HistoryCurve] = {}
    for attribute, (name, first) in _CURVES.items():
        values = np.asarray(fitted.get(attribute, ()))
        start = first_training if attribute == "train_score_" else first
        if values.ndim == 1 and len(values):
            curves[name] = HistoryCurve(np.arange(start, start + len(values)), values.astype(np.float64))
    for table, metrics in fitted.get("evals_result_", {}).items():
        for metric, values in metrics.items():
            curves[f"{table}_{metric}"] = HistoryCurve(np.arange(1, len(values) + 1), np.asarray(values))
    trace = fitted.get("oob_trace_")
    if trace is not None:
        curves["oob_score"] = HistoryCurve(np.asarray(trace["n_estimators"]), np.asarray(trace["score"]))
    return FitHistory(curves)
