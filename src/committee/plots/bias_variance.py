"""Bias-variance decomposition, and the variance of averages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.exceptions import ParameterError
from committee.inspection.bias_variance import BagVariance, BiasVariance, estimate_bias_variance, measure_bag_variance
from committee.plots.display import Display
from committee.plots.style import COLORS, GREY, INK, shorten_all, tidy_axes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.lines import Line2D

    from committee.params import RandomState
    from committee.typing import FloatArray

__all__ = ["BagVarianceDisplay", "BiasVarianceDisplay"]


@dataclass
class BiasVarianceDisplay(Display):
    """The error of estimators as stacked bars of squared bias and variance.

    Parameters
    ----------
    studies : dict from name to BiasVariance
        One bar each.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    bias_, variance_ : matplotlib bars
        The lower and the upper parts.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from committee import DecisionTreeRegressor
    >>> from committee.plots import BiasVarianceDisplay
    >>> X, y = make_friedman1(100, random_state=0)
    >>> trees = {f"depth {depth}": DecisionTreeRegressor(max_depth=depth) for depth in (1, 8)}
    >>> shown = BiasVarianceDisplay.from_estimators(trees, X, y, n_rounds=30, random_state=0)
    >>> bool(shown.bias_[0].get_height() > shown.bias_[1].get_height())
    True
    """

    studies: dict[str, BiasVariance]

    bias_: BarContainer | None = field(init=False, repr=False, default=None)
    variance_: BarContainer | None = field(init=False, repr=False, default=None)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        loss: Literal["squared", "zero_one"] | None = None,
        n_rounds: int = 100,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Estimate bias and variance of estimators by the bootstrap, and draw.

        Parameters
        ----------
        estimators : dict from name to estimator
            Cloned before the fit.
        X, y : table and target
            All rows.
        loss, n_rounds, random_state, n_jobs
            As in `committee.estimate_bias_variance`.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        BiasVarianceDisplay
        """
        if not hasattr(estimators, "items") or not estimators:
            raise ParameterError("The 'estimators' argument must be a dict from names to at least one estimator.")
        studies = {
            str(name): estimate_bias_variance(
                one, X, y, loss=loss, n_rounds=n_rounds, random_state=random_state, n_jobs=n_jobs
            )
            for name, one in estimators.items()
        }
        return cls(studies).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        names = shorten_all(list(self.studies), 18)
        axes = self._open(ax, (max(4.4, 1.6 + 1.0 * len(names)), 4.2))
        positions = np.arange(len(names))
        bias = np.array([study.mean_squared_bias for study in self.studies.values()])
        variance = np.array([study.mean_variance for study in self.studies.values()])
        self.bias_ = axes.bar(positions, bias, width=0.62, color=COLORS[1], label="squared bias (with the noise)")
        self.variance_ = axes.bar(
            positions, variance, bottom=bias, width=0.62, color=COLORS[0], hatch="//", edgecolor=INK, label="variance"
        )
        for position, high in zip(positions, bias + variance, strict=True):
            axes.annotate(
                f"{high:.3g}", (position, high), (0, 3), textcoords="offset points", ha="center", fontsize="small"
            )
        long: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(positions, names, **(long if sum(map(len, names)) > 45 else {}))
        losses = {study.loss for study in self.studies.values()}
        axes.set_ylabel("error rate" if losses == {"zero_one"} else "mean squared error")
        axes.set_ylim(0.0, 1.28 * float((bias + variance).max()))
        axes.legend(fontsize="small", ncols=2, loc="upper center")
        tidy_axes(axes, grid="y")


@dataclass
class BagVarianceDisplay(Display):
    """The variance of an average by number of members: 1/m if they are independent, bounded below if not.

    Parameters
    ----------
    study : BagVariance
        The measured variances.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_ : dict from str to matplotlib line
        "ideal", "independent", "bagged", "floor".

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from committee import DecisionTreeRegressor
    >>> from committee.plots import BagVarianceDisplay
    >>> X, y = make_friedman1(200, noise=1.0, random_state=0)
    >>> shown = BagVarianceDisplay.from_estimator(
    ...     DecisionTreeRegressor(), X, y, sizes=(1, 4, 16), n_repeats=15, random_state=0
    ... )
    >>> bool(shown.study.bagged[-1] > shown.study.ideal[-1])
    True
    """

    study: BagVariance

    lines_: dict[str, Line2D] = field(init=False, repr=False, default_factory=dict)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sizes: Sequence[int] = (1, 2, 5, 10, 20, 50),
        n_repeats: int = 30,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Measure the variance of averages, and draw.

        Parameters
        ----------
        estimator : estimator
            Cloned before the fit.
        X, y : table and target
            The population.
        sizes, n_repeats, random_state, n_jobs
            As in `committee.measure_bag_variance`.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        BagVarianceDisplay
        """
        found = measure_bag_variance(
            estimator, X, y, sizes=sizes, n_repeats=n_repeats, random_state=random_state, n_jobs=n_jobs
        )
        return cls(found).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        axes, study = self._open(ax), self.study
        styles: dict[str, tuple[FloatArray, str, dict[str, Any]]] = {
            "ideal": (study.ideal, "σ²/m, the law for independent members", {"color": INK, "linestyle": ":"}),
            "independent": (
                study.independent,
                "measured: independent training sets",
                {"color": COLORS[1], "linestyle": "none", "marker": "o", "markersize": 6},
            ),
            "bagged": (
                study.bagged,
                "measured: bootstrap samples of one set",
                {"color": COLORS[3], "linestyle": "--", "marker": "^", "markersize": 6},
            ),
        }
        self.lines_ = {}
        for key, (values, label, style) in styles.items():
            (self.lines_[key],) = axes.plot(study.sizes, values, label=label, **style)
        if np.isfinite(study.correlation):
            floor = study.correlation * float(study.bagged[0])
            label = f"ρσ², with ρ = {study.correlation:.2f}"
            if floor > 0.0:
                self.lines_["floor"] = axes.axhline(floor, color=GREY, linewidth=1.0, label=label)
        axes.set(xscale="log", yscale="log", xlabel="members m", ylabel="variance of their average")
        axes.set_xticks(study.sizes, [str(size) for size in study.sizes])
        axes.minorticks_off()
        axes.legend(fontsize="small")
        tidy_axes(axes, grid="both")
