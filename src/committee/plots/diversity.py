"""Diversity of members (kappa-error diagram), and accuracy of majority votes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import ParameterError
from committee.inspection.diversity import Diversity, measure_diversity
from committee.inspection.majority_vote import JuryCurve, measure_jury
from committee.plots.display import Display
from committee.plots.style import INK, add_legend, choose_colors, choose_lines, choose_marker, shorten, tidy_axes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D

    from committee.params import RandomState

__all__ = ["JuryDisplay", "KappaErrorDisplay"]

_MOST_NAMED_PAIRS = 10


@dataclass
class KappaErrorDisplay(Display):
    """A point for each pair of members: kappa on the horizontal axis, mean error on the vertical axis.

    Accurate and diverse pairs are at the lower left [MargineantuDietterich1997].

    Parameters
    ----------
    studies : dict from name to Diversity
        One cloud of points each.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    clouds_ : list of matplotlib collections
        One for each ensemble.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import BaggingClassifier
    >>> from committee.plots import KappaErrorDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bag = BaggingClassifier(n_estimators=10, random_state=0).fit(X[:400], y[:400])
    >>> shown = KappaErrorDisplay.from_estimator(bag, X[400:], y[400:])
    >>> len(shown.clouds_[0].get_offsets())
    45
    """

    studies: dict[str, Diversity]

    clouds_: list[PathCollection] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Measure the members of one or several ensembles, and draw.

        Parameters
        ----------
        estimator : fitted ensemble, or dict of them by name
            With ``estimators_``.
        X, y : table and array-like
            Rows, preferably held out, and their classes.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        KappaErrorDisplay
        """
        models = dict(estimator) if hasattr(estimator, "items") else {type(estimator).__name__: estimator}
        return cls.from_diversity({str(name): measure_diversity(one, X, y) for name, one in models.items()}, ax=ax)

    @classmethod
    def from_diversity(cls, diversity: Diversity | Mapping[str, Diversity], *, ax: Axes | None = None) -> Self:
        """Draw measured diversities.

        Parameters
        ----------
        diversity : Diversity, or dict of them by name
            From `committee.measure_diversity`, of classifiers.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        KappaErrorDisplay
        """
        studies = {"": diversity} if isinstance(diversity, Diversity) else dict(diversity)
        if not studies:
            raise ParameterError("There must be at least one ensemble.")
        return cls(studies).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        axes = self._open(ax)
        self.clouds_ = []
        clouds = zip(self.studies.items(), choose_colors(len(self.studies)), strict=True)
        for number, ((name, study), color) in enumerate(clouds):
            kappa, error = study.kappa_error()
            n_pairs = len(kappa)
            style: dict[str, Any] = {"marker": choose_marker(number), "edgecolors": INK, "linewidths": 0.3}
            area, alpha = float(np.clip(6000.0 / max(n_pairs, 1), 7.0, 40.0)), 0.45 if n_pairs > 300 else 0.85
            self.clouds_.append(axes.scatter(kappa, error, s=area, c=color, alpha=alpha, label=shorten(name), **style))
            if n_pairs <= _MOST_NAMED_PAIRS and len(self.studies) == 1:
                middle = (kappa.min() + kappa.max()) / 2.0
                for pair, x, y in zip(study.pairs, kappa, error, strict=True):
                    text = " + ".join(shorten(member, 14) for member in pair)
                    side: dict[str, Any] = {"ha": "left", "xytext": (5, 3)}
                    if x > middle:
                        side = {"ha": "right", "xytext": (-5, 3)}
                    axes.annotate(text, (x, y), textcoords="offset points", fontsize="x-small", **side)
        axes.set_xlabel("kappa: agreement of the pair beyond chance")
        axes.set_ylabel("mean error of the pair")
        axes.margins(0.08)
        axes.annotate(
            "accurate and diverse",
            (0.01, 0.01),
            xycoords="axes fraction",
            fontsize="x-small",
            style="italic",
            color=INK,
        )
        if any(self.studies):
            add_legend(axes, len(self.studies))
        tidy_axes(axes, grid="both")


@dataclass
class JuryDisplay(Display):
    """Accuracy of a majority vote by number of members: exact lines, and simulated points with two standard errors.

    Parameters
    ----------
    curves : dict from name to JuryCurve
        One line each.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_ : list of matplotlib lines
        The exact probabilities.

    Examples
    --------
    >>> from committee.plots import JuryDisplay
    >>> shown = JuryDisplay.from_correlations(0.6, (0.0, 0.2), random_state=0)
    >>> [round(curve.limit, 2) for curve in shown.curves.values()]
    [1.0, 0.67]
    """

    curves: dict[str, JuryCurve]

    lines_: list[Line2D] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_correlations(
        cls,
        p: float,
        correlations: Sequence[float] = (0.0, 0.05, 0.2),
        *,
        sizes: Sequence[int] = (1, 3, 5, 11, 21, 51, 101, 201, 501),
        random_state: RandomState = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute the accuracy of majority votes of correlated members, and draw.

        Parameters
        ----------
        p : float
            Accuracy of a member.
        correlations : sequence of float
            Correlations of the votes of two members, one curve each.
        sizes : sequence of int
            Numbers of members.
        random_state : int, RandomState, Generator or None
            Seed of the simulation.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        JuryDisplay
        """
        if not len(correlations):
            raise ParameterError("The 'correlations' argument must hold at least one number in [0, 1].")
        named = {("independent" if rho == 0 else f"correlation {rho:g}"): rho for rho in correlations}
        curves = {
            name: measure_jury(p, correlation=rho, sizes=sizes, random_state=random_state)
            for name, rho in named.items()
        }
        return cls(curves).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        axes = self._open(ax)
        self.lines_ = []
        for (name, curve), style in zip(self.curves.items(), choose_lines(len(self.curves)), strict=True):
            (line,) = axes.plot(
                curve.sizes, curve.exact, color=style.color, linestyle=style.linestyle, label=name, linewidth=1.8
            )
            axes.errorbar(
                curve.sizes,
                curve.simulated,
                2.0 * curve.standard_error,
                color=style.color,
                linestyle="none",
                marker=style.marker,
                markersize=5,
                capsize=2,
            )
            self.lines_.append(line)
        axes.set_xscale("log")
        axes.set_xlabel("members M")
        axes.set_ylabel("probability that the majority is right")
        axes.set_ylim(top=1.01)
        axes.legend(fontsize="small")
        tidy_axes(axes, grid="y")
