"""Whether probabilities mean what they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.exceptions import DataError, ParameterError
from committee.inspection.resampling import check_count
from committee.plots.display import PanelDisplay
from committee.plots.style import INK, choose_lines, shorten, tidy_axes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from committee.typing import FloatArray

__all__ = ["CalibrationCurve", "CalibrationDisplay"]

_Z = 1.96
"""Of the 95 % intervals."""


@dataclass
class CalibrationCurve:
    """How often what was said to have a probability came true.

    Attributes
    ----------
    name : str
        Of the model.
    predicted : ndarray of shape (n_bins,)
        Mean of the predicted probabilities in each bin that is not empty.
    observed : ndarray of shape (n_bins,)
        Share of the rows of each bin that are of the class.
    low, high : ndarray of shape (n_bins,)
        Ends of the interval for `observed` that covers 95 % [Wilson1927].
    probabilities : ndarray of shape (n_rows,)
        All predictions.
    brier : float
        Mean squared distance of prediction and truth.
    """

    name: str
    predicted: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    probabilities: FloatArray
    brier: float


def find_calibration(
    name: str, is_class: Any, probabilities: Any, n_bins: int, strategy: Literal["uniform", "quantile"]
) -> CalibrationCurve:
    """The curve of one model."""
    truth = np.asarray(is_class, dtype=np.float64)
    said = np.asarray(probabilities, dtype=np.float64)
    if said.shape != truth.shape or truth.ndim != 1 or not len(truth):
        raise DataError(f"There must be a probability for each of the {truth.shape} rows; got shape {said.shape}.")
    if np.isnan(said).any() or said.min() < 0.0 or said.max() > 1.0:
        raise DataError("Probabilities must be numbers in [0, 1].")
    inner = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    edges = inner if strategy == "uniform" else np.unique(np.quantile(said, inner))
    bins = np.searchsorted(edges, said, side="left")
    n = np.bincount(bins, minlength=n_bins).astype(np.float64)
    filled = n > 0
    n = n[filled]
    predicted = np.bincount(bins, said, minlength=len(filled))[filled] / n
    observed = np.bincount(bins, truth, minlength=len(filled))[filled] / n
    middle = (observed + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(observed * (1 - observed) / n + _Z**2 / (4 * n**2))
    brier = float(((said - truth) ** 2).mean())
    return CalibrationCurve(name, predicted, observed, middle - half, middle + half, said, brier)


@dataclass
class CalibrationDisplay(PanelDisplay):
    """Reliability curves over a histogram of what was predicted; on the diagonal probabilities mean what they say.

    Parameters
    ----------
    curves : list of CalibrationCurve
        A line each.
    class_name : str
        The class whose probability it is.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib axes
        Of the curves and of the histograms.
    lines_ : list of matplotlib containers
        The curves.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from committee import RandomForestClassifier
    >>> from committee.plots import CalibrationDisplay
    >>> X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> shown = CalibrationDisplay.from_estimator(forest, X_test, y_test)
    >>> shown.curves[0].brier < 0.06
    True
    """

    curves: list[CalibrationCurve]
    class_name: str = ""

    lines_: list[Any] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pos_label: Any = None,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        ax: Any = None,
    ) -> Self:
        """Ask fitted classifiers for probabilities of held-out rows, and draw.

        Parameters
        ----------
        estimator : fitted classifier, or dict of them by name
            With `predict_proba`.
        X, y : table and array-like
            Held-out rows and their classes.
        pos_label : class label, optional
            The class whose probability is looked at; by default the second of two.
        n_bins : int, default=10
            Bins of probabilities.
        strategy : {"uniform", "quantile"}
            Bins of equal width, or of about equally many rows.
        ax : matplotlib axes or sequence of two, optional
            Where to draw; a new figure by default.

        Returns
        -------
        CalibrationDisplay
        """
        models = dict(estimator) if hasattr(estimator, "items") else {type(estimator).__name__: estimator}
        if not models:
            raise ParameterError("The 'estimator' argument must hold at least one fitted classifier.")
        probabilities = {}
        for name, model in models.items():
            if not hasattr(model, "predict_proba"):
                raise ParameterError(f"{type(model).__name__} has no predict_proba.")
            classes = np.asarray(model.classes_)
            if pos_label is None:
                if len(classes) != 2:
                    raise ParameterError(
                        f"With {len(classes)} classes 'pos_label' must say which one is looked at: one of "
                        f"{classes.tolist()[:8]}."
                    )
                pos_label = classes[1]
            (column,) = np.nonzero(classes == pos_label)
            if not len(column):
                raise ParameterError(f"{pos_label!r} ('pos_label') is none of the classes of {name}.")
            probabilities[name] = np.asarray(model.predict_proba(X))[:, column[0]]
        return cls.from_predictions(y, probabilities, pos_label=pos_label, n_bins=n_bins, strategy=strategy, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Mapping[str, Any] | Any,
        *,
        pos_label: Any = 1,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        ax: Any = None,
    ) -> Self:
        """Draw probabilities that were predicted.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
            Classes.
        y_prob : array-like of shape (n_rows,), or dict of them by name
            Probabilities of one class.
        pos_label : class label, default=1
            That class.
        n_bins, strategy, ax
            As in `from_estimator`.

        Returns
        -------
        CalibrationDisplay
        """
        n_bins = check_count("n_bins", n_bins, 2)
        if strategy not in ("uniform", "quantile"):
            raise ParameterError(f"The 'strategy' argument must be 'uniform' or 'quantile'; got {strategy!r}.")
        told = dict(y_prob) if hasattr(y_prob, "items") else {"predictions": y_prob}
        truth = np.asarray(y_true) == pos_label
        if not truth.any() or truth.all():
            raise DataError(f"y_true must hold {pos_label!r} ('pos_label') and another class.")
        curves = [find_calibration(str(name), truth, said, n_bins, strategy) for name, said in told.items()]
        return cls(curves, str(pos_label)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or sequence of two, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
        """
        upper, lower = self._open_panels(ax, 2, 1, (5.4, 2.9))
        if ax is None:
            upper.get_gridspec().set_height_ratios([3.0, 1.0])
        upper.plot([0, 1], [0, 1], color=INK, linestyle=":", linewidth=1.0, label="perfect")
        looks = choose_lines(len(self.curves))
        self.lines_ = []
        for curve, look in zip(self.curves, looks, strict=True):
            whiskers = np.stack([curve.observed - curve.low, curve.high - curve.observed]).clip(0.0)
            label = f"{shorten(curve.name)} (Brier {curve.brier:.3f})"
            self.lines_.append(
                upper.errorbar(
                    curve.predicted,
                    curve.observed,
                    whiskers,
                    color=look.color,
                    linestyle=look.linestyle,
                    marker=look.marker,
                    markersize=5,
                    elinewidth=0.8,
                    capsize=2,
                    label=label,
                )
            )
            lower.hist(
                curve.probabilities,
                bins=np.linspace(0.0, 1.0, 21),
                histtype="step",
                color=look.color,
                linestyle=look.linestyle,
                linewidth=1.5,
            )
        upper.set_ylabel(f"share that are {shorten(self.class_name, 16)}")
        lower.set_xlabel(f"predicted probability of {shorten(self.class_name, 20)}")
        lower.set_ylabel("rows")
        for one in (upper, lower):
            one.set_xlim(-0.02, 1.02)
            tidy_axes(one, grid="both")
        upper.set_ylim(-0.02, 1.02)
        upper.legend(fontsize="small", loc="upper left")
        return self
