"""Theory of boosting: training error, exponential loss and their bounds; edges; VC dimension."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.inspection.bounds import vc_bound
from committee.plots.display import Display
from committee.plots.style import ACCENT, COLORS, INK, choose_lines, tidy_axes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["EdgeDisplay", "ErrorBoundDisplay", "VCBoundDisplay"]


def check_boosted(name: str, estimator: Any) -> None:
    """Check that a classifier has errors and losses of its rounds."""
    if not hasattr(estimator, "training_error_bound") or not hasattr(estimator, "exponential_loss_"):
        raise ParameterTypeError(
            f"The 'estimator' argument of {name} must be a fitted AdaBoostClassifier (or another classifier with "
            f"training_error_bound and exponential_loss_); got {type(estimator).__name__}."
        )


@dataclass
class ErrorBoundDisplay(Display):
    r"""Training error after each round, with the exponential loss and theoretical bounds.

    For two classes and no shrinkage the exponential loss is the bound :math:`\prod_t 2\sqrt{\varepsilon_t(1 -
    \varepsilon_t)}` itself, which is below :math:`e^{-2 \sum_t \gamma_t^2}` [FreundSchapire1997].

    Parameters
    ----------
    training_error : ndarray of shape (n_rounds,)
        Share of misclassified training rows.
    exponential_loss : ndarray of shape (n_rounds,)
        Mean over the training rows.
    bound : ndarray of shape (n_rounds,) or None
        Upper bound of the training error, if there is one.
    edge_bound : ndarray of shape (n_rounds,) or None
        The weaker bound from the edges, for two classes.
    test_error : ndarray of shape (n_rounds,) or None
        Share of misclassified test rows.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_ : dict from str to matplotlib line
        "training error", "exponential loss", "bound", "edge bound", "test error": those that are drawn.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import AdaBoostClassifier
    >>> from committee.plots import ErrorBoundDisplay
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> shown = ErrorBoundDisplay.from_estimator(AdaBoostClassifier(n_estimators=30).fit(X, y), X, y)
    >>> bool((shown.training_error <= shown.bound).all())
    True
    """

    training_error: FloatArray
    exponential_loss: FloatArray
    bound: FloatArray | None = None
    edge_bound: FloatArray | None = None
    test_error: FloatArray | None = None

    lines_: dict[str, Line2D] = field(init=False, repr=False, default_factory=dict)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        X_test: Any = None,
        y_test: Any = None,
        log_scale: bool = False,
        ax: Axes | None = None,
    ) -> Self:
        """Measure a boosted classifier after each round, and draw.

        Parameters
        ----------
        estimator : fitted classifier
            `AdaBoostClassifier`.
        X, y : table and array-like
            The rows of the fit.
        X_test, y_test : table and array-like, optional
            Test rows.
        log_scale : bool, default=False
            Whether errors are on a logarithmic scale, which does not show zero.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ErrorBoundDisplay
        """
        check_boosted("ErrorBoundDisplay", estimator)
        if (X_test is None) != (y_test is None):
            raise ParameterError("'X_test' and 'y_test' come together.")
        try:
            bound = estimator.training_error_bound()
        except DataError:  # no bound is known for this algorithm and number of classes
            bound = None
        by_edges = None
        if estimator.n_classes_ == 2 and bound is not None:
            by_edges = np.exp(-2.0 * np.cumsum((0.5 - estimator.estimator_errors_) ** 2))
            # With a learning rate below one the product may exceed the bound by the edges.
            by_edges = by_edges if (by_edges >= bound - 1e-9).all() else None
        trained = 1.0 - np.array(list(estimator.staged_score(X, y)))
        tested = None if X_test is None else 1.0 - np.array(list(estimator.staged_score(X_test, y_test)))
        found = cls(trained, np.asarray(estimator.exponential_loss_), bound, by_edges, tested)
        return found.plot(log_scale=log_scale, ax=ax)

    def plot(self, *, log_scale: bool = False, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        log_scale : bool, default=False
            Whether errors are on a logarithmic scale.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
        """
        axes = self._open(ax)
        rounds = np.arange(1, len(self.training_error) + 1)
        # Bound and loss often coincide, so the bound is a wide line below a narrow one.
        curves: list[tuple[str, FloatArray | None, str, dict[str, Any]]] = [
            ("bound", self.bound, "bound of the training error", {"color": COLORS[4], "linewidth": 5.0, "alpha": 0.6}),
            ("edge bound", self.edge_bound, "bound by the edges", {"color": INK, "linestyle": ":", "zorder": 3}),
            ("exponential loss", self.exponential_loss, "exponential loss", {"color": COLORS[1], "linestyle": "--"}),
            ("test error", self.test_error, "test error", {"color": COLORS[2], "linestyle": "-."}),
            ("training error", self.training_error, "training error", {"color": COLORS[3], "linewidth": 1.8}),
        ]
        self.lines_ = {}
        for key, values, label, style in curves:
            if values is not None:
                shown = np.where(values > 0.0, values, np.nan) if log_scale else values
                (self.lines_[key],) = axes.plot(rounds, shown, label=label, **style)
        if log_scale:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0.0)
        axes.set_xlabel("rounds")
        axes.set_ylabel("error or loss")
        axes.legend(fontsize="small")
        tidy_axes(axes, grid="y")
        return self


@dataclass
class EdgeDisplay(Display):
    r"""The edge of each member over chance, on the sample weights of its round.

    The edge is :math:`\gamma_t = 1 - 1/K - \varepsilon_t`. Edges shrink over the rounds, since reweighting makes each
    problem harder than the last.

    Parameters
    ----------
    edges : ndarray of shape (n_rounds,)
        Edges of the members.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    line_ : matplotlib line
        The edges.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import AdaBoostClassifier
    >>> from committee.plots import EdgeDisplay
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> shown = EdgeDisplay.from_estimator(AdaBoostClassifier(n_estimators=30).fit(X, y))
    >>> len(shown.line_.get_ydata())
    30
    """

    edges: FloatArray

    line_: Line2D | None = field(init=False, repr=False, default=None)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the edges of a boosted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            `AdaBoostClassifier` or `ArcingClassifier`.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        EdgeDisplay
        """
        check_boosted("EdgeDisplay", estimator)
        return cls(1.0 - 1.0 / estimator.n_classes_ - np.asarray(estimator.estimator_errors_)).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        axes = self._open(ax)
        rounds = np.arange(1, len(self.edges) + 1)
        many = len(self.edges) > 150
        (self.line_,) = axes.plot(
            rounds, self.edges, color=ACCENT, marker="o", markersize=2 if many else 4, linewidth=0.6 if many else 1.0
        )
        least = float(self.edges.min())
        axes.axhline(0.0, color=INK, linewidth=1.0, label="chance")
        axes.axhline(least, color=COLORS[3], linewidth=1.0, linestyle="--", label=f"least edge: {least:.3g}")
        axes.set_xlabel("rounds")
        axes.set_ylabel("edge over chance")
        axes.legend(fontsize="small")
        tidy_axes(axes, grid="y")


@dataclass
class VCBoundDisplay(Display):
    """The bound of the VC dimension of a boosted ensemble by number of members, for several VC dimensions of a member.

    Parameters
    ----------
    n_members : ndarray of int
        Numbers of members.
    bounds : dict from int to ndarray
        Bounds by the VC dimension of a member.
    n_rows : int or None
        Training rows, drawn as a horizontal line: bounds far above it are vacuous.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_ : list of matplotlib lines
        One for each dimension.

    Examples
    --------
    >>> from committee.plots import VCBoundDisplay
    >>> shown = VCBoundDisplay.from_dimensions((2, 10), most_members=1000, n_rows=5000)
    >>> round(float(shown.bounds[2][shown.n_members == 100][0]))
    5733
    """

    n_members: NDArray[np.intp]
    bounds: dict[int, FloatArray]
    n_rows: int | None = None

    lines_: list[Line2D] = field(init=False, repr=False, default_factory=list)

    @classmethod
    def from_dimensions(
        cls,
        vc_dimensions: Sequence[int] = (2, 5, 20),
        *,
        most_members: int = 1000,
        n_rows: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute the bounds, and draw.

        Parameters
        ----------
        vc_dimensions : sequence of int
            VC dimensions of one member; a stump on one feature has 2.
        most_members : int, default=1000
            The largest number of members.
        n_rows : int, optional
            Number of training rows to mark.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        VCBoundDisplay
        """
        if most_members < 1 or not len(vc_dimensions):
            raise ParameterError("There must be at least one VC dimension, and 'most_members' at least 1.")
        numbers = np.unique(np.geomspace(1, most_members, 121).round().astype(np.intp))
        bounds = {int(d): np.array([vc_bound(int(m), int(d)) for m in numbers]) for d in vc_dimensions}
        return cls(numbers, bounds, n_rows).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        axes = self._open(ax)
        self.lines_ = []
        for (dimension, values), style in zip(self.bounds.items(), choose_lines(len(self.bounds)), strict=True):
            (line,) = axes.plot(
                self.n_members,
                values,
                color=style.color,
                linestyle=style.linestyle,
                linewidth=1.8,
                label=f"members of VC dimension {dimension}",
            )
            self.lines_.append(line)
        if self.n_rows is not None:
            axes.axhline(self.n_rows, color=INK, linestyle=(0, (1, 2)), label=f"{self.n_rows:,} training rows")
        axes.set(xscale="log", yscale="log", xlabel="members M", ylabel="bound of the VC dimension")
        axes.legend(fontsize="small")
        tidy_axes(axes, grid="both")
