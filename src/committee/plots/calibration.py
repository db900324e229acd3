"""Reliability diagrams of predicted probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.exceptions import DataError, ParameterError
from committee.inspection.resampling import check_count
from committee.plots.display import PanelDisplay
from committee.plots.style import INK, choose_lines, shorten, tidy_axes

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.container import ErrorbarContainer
    from numpy.typing import ArrayLike

    from committee.plots.display import PanelAxes
    from committee.plots.predictions import ClassLabel
    from committee.typing import BoolArray, FloatArray

__all__ = ["CalibrationCurve", "CalibrationDisplay"]

_Z = 1.96
"""Normal quantile of the 95 % intervals."""


@dataclass
class CalibrationCurve:
    """Observed frequency by predicted probability.

    Attributes
    ----------
    name : str
        Name of the model.
    predicted : ndarray of shape (n_bins,)
        Mean of the predicted probabilities in each bin that is not empty.
    observed : ndarray of shape (n_bins,)
        Share of the rows of each bin that are of the class.
    low, high : ndarray of shape (n_bins,)
        95 % confidence interval of `observed` [Wilson1927].
    probabilities : ndarray of shape (n_rows,)
        All predictions.
    brier : float
        Brier score.
    """

    name: str
    predicted: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    probabilities: FloatArray
    brier: float


def find_calibration(
    name: str,
    is_class: BoolArray,
    y_prob: ArrayLike,
    n_bins: int,
    strategy: Literal["uniform", "quantile"],
) -> CalibrationCurve:
    """Compute the curve of one model."""
    truth = np.asarray(is_class, dtype=np.float64)
    probabilities = np.asarray(y_prob, dtype=np.float64)
    if probabilities.shape != truth.shape or truth.ndim != 1 or not len(truth):
        raise DataError(
            f"There must be a probability for each of the {truth.shape} rows; got shape {probabilities.shape}."
        )
    if np.isnan(probabilities).any() or probabilities.min() < 0.0 or probabilities.max() > 1.0:
        raise DataError("Probabilities must be numbers in [0, 1].")
    inner = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    edges = inner if strategy == "uniform" else np.unique(np.quantile(probabilities, inner))
    bins = np.searchsorted(edges, probabilities, side="left")
    n = np.bincount(bins, minlength=n_bins).astype(np.float64)
    filled = n > 0
    n = n[filled]
    predicted = np.bincount(bins, probabilities, minlength=len(filled))[filled] / n
    observed = np.bincount(bins, truth, minlength=len(filled))[filled] / n
    middle = (observed + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(observed * (1 - observed) / n + _Z**2 / (4 * n**2))
    brier = float(((probabilities - truth) ** 2).mean())
    return CalibrationCurve(name, predicted, observed, middle - half, middle + half, probabilities, brier)


@dataclass
class CalibrationDisplay(PanelDisplay):
    """Reliability diagram above a histogram of the predicted probabilities; perfect calibration is the diagonal.

    Parameters
    ----------
    curves : list of CalibrationCurve
        One line each.
    class_name : str
        The class of the probabilities.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib axes
        Axes of the curves and of the histograms.
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

    lines_: list[ErrorbarContainer] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pos_label: ClassLabel | None = None,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        ax: PanelAxes = None,
    ) -> Self:
        """Predict probabilities of held-out rows, and draw.

        Parameters
        ----------
        estimator : fitted classifier, or dict of them by name
            With `predict_proba`.
        X, y : table and array-like
            Held-out rows and their classes.
        pos_label : class label, optional
            The class to show; by default the second of two.
        n_bins : int, default=10
            Number of bins.
        strategy : {"uniform", "quantile"}
            Bins of equal width, or with about equally many rows.
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
                        f"With {len(classes)} classes 'pos_label' must be given: one of {classes.tolist()[:8]}."
                    )
                pos_label = classes[1]
            (column,) = np.nonzero(classes == pos_label)
            if not len(column):
                raise ParameterError(f"{pos_label!r} ('pos_label') is none of the classes of {name}.")
            probabilities[name] = np.asarray(model.predict_proba(X))[:, column[0]]
        assert pos_label is not None
        return cls.from_predictions(y, probabilities, pos_label=pos_label, n_bins=n_bins, strategy=strategy, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: Mapping[str, ArrayLike] | ArrayLike,
        *,
        pos_label: ClassLabel = 1,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        ax: PanelAxes = None,
    ) -> Self:
        """Draw predicted probabilities.

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
        named = dict(y_prob) if isinstance(y_prob, Mapping) else {"predictions": y_prob}
        truth = np.asarray(y_true) == pos_label
        if not truth.any() or truth.all():
            raise DataError(f"y_true must hold {pos_label!r} ('pos_label') and another class.")
        curves = [find_calibration(str(name), truth, own, n_bins, strategy) for name, own in named.items()]
        return cls(curves, str(pos_label)).plot(ax=ax)

    def _draw(self, ax: PanelAxes) -> None:
        upper, lower = self._open_panels(ax, 2, 1, (5.4, 2.9))
        if ax is None:
            grid = upper.get_gridspec()
            assert grid is not None
            grid.set_height_ratios([3.0, 1.0])
        upper.plot([0, 1], [0, 1], color=INK, linestyle=":", linewidth=1.0, label="perfect")
        self.lines_ = []
        for curve, style in zip(self.curves, choose_lines(len(self.curves)), strict=True):
            whiskers = np.stack([curve.observed - curve.low, curve.high - curve.observed]).clip(0.0)
            label = f"{shorten(curve.name)} (Brier {curve.brier:.3f})"
            self.lines_.append(
                upper.errorbar(
                    curve.predicted,
                    curve.observed,
                    whiskers,
                    color=style.color,
                    linestyle=style.linestyle,
                    marker=style.marker,
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
                color=style.color,
                linestyle=style.linestyle,
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
