"""Distributions of margins by round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import ParameterError, ParameterTypeError
from committee.plots.display import Display
from committee.plots.style import INK, choose_lines, tidy_axes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from committee.typing import FloatArray

__all__ = ["MarginDisplay"]


@dataclass
class MarginDisplay(Display):
    """Cumulative distributions of the margins after some rounds; rows with a negative margin are misclassified.

    Boosting increases margins even after the training error is zero [Schapire1998].

    Parameters
    ----------
    margins : dict from int to ndarray
        Margins of all rows by number of rounds.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_ : list of matplotlib lines
        One for each number of rounds.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import AdaBoostClassifier, DecisionTreeClassifier
    >>> from committee.plots import MarginDisplay
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=30, random_state=0).fit(X, y)
    >>> shown = MarginDisplay.from_estimator(model, X, y, rounds=(1, 30))
    >>> bool(shown.margins[30].min() > shown.margins[1].min())
    True
    """

    margins: dict[int, FloatArray]

    lines_: list[Line2D] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, rounds: Sequence[int] = (1, 5, 20, 100, 1000), ax: Axes | None = None
    ) -> Self:
        """Compute margins after some rounds, and draw.

        Parameters
        ----------
        estimator : fitted classifier
            With ``staged_margins``: `AdaBoostClassifier` or `ArcingClassifier`.
        X, y : table and array-like
            Rows, usually those of the fit, and their classes.
        rounds : sequence of int
            Numbers of rounds; larger ones are replaced by the last round.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        MarginDisplay
        """
        if not hasattr(estimator, "staged_margins"):
            raise ParameterTypeError(
                f"The 'estimator' argument must be a boosted classifier with staged_margins, such as "
                f"AdaBoostClassifier; got {type(estimator).__name__}."
            )
        last = len(estimator.estimator_weights_)
        wanted = sorted({min(int(number), last) for number in rounds})
        if not wanted or wanted[0] < 1:
            raise ParameterError(f"The 'rounds' argument must hold numbers of rounds from 1 on; got {list(rounds)!r}.")
        stages = enumerate(estimator.staged_margins(X, y), start=1)
        return cls({number: np.array(margins) for number, margins in stages if number in wanted}).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        axes = self._open(ax)
        self.lines_ = []
        for (number, margins), style in zip(self.margins.items(), choose_lines(len(self.margins)), strict=True):
            ordered = np.sort(margins)
            label = f"{number} round{'s' if number > 1 else ''} (least: {ordered[0]:.2f})"
            proportions = np.arange(1, len(ordered) + 1) / len(ordered)
            (line,) = axes.step(
                np.r_[ordered[0], ordered],
                np.r_[0.0, proportions],
                where="post",
                color=style.color,
                linestyle=style.linestyle,
                linewidth=1.7,
                label=label,
            )
            self.lines_.append(line)
        axes.axvline(0.0, color=INK, linewidth=1.0)
        if all(np.abs(margins).max() <= 1.0 + 1e-9 for margins in self.margins.values()):
            axes.set_xlim(-1.03, 1.03)
        axes.set_ylim(0.0, 1.02)
        axes.set_xlabel("margin")
        axes.set_ylabel("share of rows with at most this margin")
        axes.legend(fontsize="small", loc="upper left")
        tidy_axes(axes, grid="both")
