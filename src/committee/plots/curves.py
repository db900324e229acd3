"""Scores by number of rounds, members or rows, with published values as horizontal lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer, mean_squared_error, zero_one_loss
from sklearn.model_selection import learning_curve

from committee.exceptions import ParameterError, ParameterTypeError
from committee.plots.display import Display
from committee.plots.style import INK, add_legend, choose_lines, shorten, tidy_axes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike, NDArray
    from sklearn.model_selection import BaseCrossValidator

    from committee.params import RandomState
    from committee.typing import FloatArray

    Published: TypeAlias = float | Mapping[str, float] | None

__all__ = ["LearningCurveDisplay", "OutOfBagDisplay", "StagedCurveDisplay"]


@dataclass
class _CurveDisplay(Display):
    """Curves, and published values as horizontal lines."""

    curves: dict[str, tuple[NDArray[Any], FloatArray]]
    measure: str
    published: dict[str, float] = field(default_factory=dict)

    lines_: list[Line2D] = field(init=False, repr=False, default_factory=list)
    published_: list[Line2D] = field(init=False, repr=False, default_factory=list)

    def _draw_curves(self, ax: Axes | None, across: str, markers: bool) -> Axes:
        axes = self._open(ax)
        self.lines_, self.published_ = [], []
        for (name, (numbers, values)), style in zip(self.curves.items(), choose_lines(len(self.curves)), strict=True):
            few = markers or len(numbers) <= 25
            (line,) = axes.plot(
                numbers,
                values,
                color=style.color,
                linestyle=style.linestyle,
                marker=style.marker if few else None,
                markersize=4,
                linewidth=1.8,
                label=shorten(name),
            )
            self.lines_.append(line)
        for name, value in self.published.items():
            self.published_.append(axes.axhline(value, color=INK, linewidth=1.1, linestyle=(0, (1, 2)), label=name))
        axes.set_xlabel(across)
        axes.set_ylabel(self.measure)
        tidy_axes(axes, grid="y")
        n_entries = len(self.curves) + len(self.published)
        if n_entries > 1:
            add_legend(axes, n_entries)
        return axes


def read_published(published: Published) -> dict[str, float]:
    """Published values by label; a single number has the label "published"."""
    if published is None:
        return {}
    named = dict(published) if isinstance(published, Mapping) else {"published": published}
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise ParameterError(f"Published values must be numbers; got {value!r} for {name!r}.")
    return {f"{shorten(name)}: {value:g}": float(value) for name, value in named.items()}


@dataclass
class StagedCurveDisplay(_CurveDisplay):
    """Error, or any other metric, after each round of a boosted model.

    Parameters
    ----------
    curves : dict from name to (rounds, values)
        One line each.
    measure : str
        Name of the metric.
    published : dict from name to float
        Values drawn as horizontal lines.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_, published_ : list of matplotlib lines
        The curves, and the published values.

    Examples
    --------
    >>> from sklearn.datasets import make_hastie_10_2
    >>> from committee import AdaBoostClassifier
    >>> from committee.plots import StagedCurveDisplay
    >>> X, y = make_hastie_10_2(1000, random_state=0)
    >>> model = AdaBoostClassifier(n_estimators=50).fit(X[:500], y[:500])
    >>> rows = {"training": (X[:500], y[:500]), "test": (X[500:], y[500:])}
    >>> shown = StagedCurveDisplay.from_estimator(model, rows)
    >>> [len(values) for _, values in shown.curves.values()], shown.measure
    ([50, 50], 'error rate')
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        data: Mapping[str, tuple[Any, Any]],
        *,
        metric: Callable[[Any, Any], float] | None = None,
        measure: str | None = None,
        published: Published = None,
        ax: Axes | None = None,
    ) -> Self:
        """Score one or several models after each round, and draw.

        Parameters
        ----------
        estimator : fitted estimator, or dict of them by name
            With ``staged_predict``.
        data : dict from name to (X, y)
            Data sets, such as "training" and "test".
        metric : callable, optional
            A function of y_true and y_pred; by default the error rate, or the mean squared error.
        measure : str, optional
            Name of the metric.
        published : float or dict from name to float, optional
            Values to draw as horizontal lines.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        StagedCurveDisplay
        """
        models = dict(estimator) if hasattr(estimator, "items") else {"": estimator}
        if not models or not data:
            raise ParameterError("There must be at least one estimator and one pair of X and y.")
        curves = {}
        for name, model in models.items():
            if not hasattr(model, "staged_predict"):
                raise ParameterTypeError(f"{type(model).__name__} has no staged_predict.")
            chosen = metric or (zero_one_loss if is_classifier(model) else mean_squared_error)
            measure = measure or (_label_metric(chosen))
            for data_name, (X, y) in data.items():
                values = np.array([float(chosen(y, predicted)) for predicted in model.staged_predict(X)])
                label = ", ".join(text for text in (str(name), str(data_name)) if text)
                curves[label] = (np.arange(1, len(values) + 1), values)
        return cls(curves, str(measure), read_published(published)).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        axes = self._draw_curves(ax, "rounds", markers=False)
        if all((values >= 0.0).all() for _, values in self.curves.values()) and axes.get_ylim()[0] < 0.0:
            axes.set_ylim(bottom=0.0)


def _label_metric(metric: Callable[..., float]) -> str:
    known = {zero_one_loss: "error rate", mean_squared_error: "mean squared error"}
    return known.get(metric, getattr(metric, "__name__", "score").replace("_", " "))


@dataclass
class OutOfBagDisplay(_CurveDisplay):
    """The out-of-bag score by number of members.

    Parameters
    ----------
    curves : dict from name to (numbers of members, scores)
        One line each.
    measure : str
        Name of the score.
    published : dict from name to float
        Values drawn as horizontal lines.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_, published_ : list of matplotlib lines
        The curves, and the published values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.plots import OutOfBagDisplay
    >>> forest = RandomForestClassifier(oob_score=True, random_state=0).fit(*load_iris(return_X_y=True))
    >>> shown = OutOfBagDisplay.from_estimator(forest)
    >>> members, scores = shown.curves["RandomForestClassifier"]
    >>> int(members[-1]), bool(scores[-1] == forest.oob_score_)
    (100, True)
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, published: Published = None, ax: Axes | None = None) -> Self:
        """Draw the out-of-bag scores of one or several fitted ensembles.

        Parameters
        ----------
        estimator : fitted estimator, or dict of them by name
            Bagging and forests fitted with ``oob_score=True``; gradient boosting with ``subsample < 1``, whose loss is
            shown.
        published : float or dict from name to float, optional
            Values to draw as horizontal lines.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        OutOfBagDisplay
        """
        models = dict(estimator) if hasattr(estimator, "items") else {type(estimator).__name__: estimator}
        if not models:
            raise ParameterError("There must be at least one estimator.")
        curves = {}
        measure = "score"
        for name, model in models.items():
            trace = getattr(model, "oob_trace_", None)
            losses = getattr(model, "oob_scores_", None)
            if losses is not None:
                measure = "out-of-bag loss"
                curves[str(name)] = (np.arange(1, len(losses) + 1), np.asarray(losses))
                continue
            if trace is None:
                raise ParameterError(
                    f"This {type(model).__name__} has no out-of-bag trace; fit bagging or a forest with "
                    "oob_score=True, or gradient boosting with subsample < 1."
                )
            scoring = getattr(model, "oob_score", True)
            default = "accuracy" if is_classifier(model) else "R²"
            measure = f"out-of-bag {getattr(scoring, '__name__', 'score') if callable(scoring) else default}"
            known = np.isfinite(trace["score"])
            curves[str(name)] = (trace["n_estimators"][known], trace["score"][known])
        return cls(curves, measure.replace("_", " "), read_published(published)).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        self._draw_curves(ax, "rounds" if self.measure.endswith("loss") else "members", markers=False)


@dataclass
class LearningCurveDisplay(_CurveDisplay):
    """Training and validation score by number of training rows, with standard errors over the folds.

    Parameters
    ----------
    curves : dict from name to (numbers of rows, mean scores)
        One line each.
    measure : str
        Name of the score.
    published : dict from name to float
        Values drawn as horizontal lines.
    spreads : dict from name to ndarray
        Standard error of each mean, drawn as bands.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_, published_ : list of matplotlib lines
        The curves, and the published values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.plots import LearningCurveDisplay
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0)
    >>> shown = LearningCurveDisplay.from_estimator(forest, *load_iris(return_X_y=True), random_state=0)
    >>> list(shown.curves)
    ['training', 'validation']
    """

    spreads: dict[str, FloatArray] = field(default_factory=dict)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        train_sizes: Sequence[float] = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0),
        cv: int | BaseCrossValidator | Iterable[tuple[ArrayLike, ArrayLike]] | None = 5,
        scoring: str | Callable[..., float] | None = None,
        published: Published = None,
        random_state: RandomState = None,
        ax: Axes | None = None,
    ) -> Self:
        """Fit on increasing numbers of rows with cross-validation, and draw.

        Parameters
        ----------
        estimator : estimator
            Cloned before the fit.
        X, y : table and target
            All rows.
        train_sizes : sequence of float or int
            Shares, or numbers, of training rows.
        cv : int or splitter, default=5
            Cross-validation folds.
        scoring : str or callable, optional
            A scorer of scikit-learn; by default the estimator's own score.
        published : float or dict from name to float, optional
            Values to draw as horizontal lines.
        random_state : int, optional
            Seed of the shuffling before subsets are taken.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        LearningCurveDisplay
        """
        sizes, trained, held_out = learning_curve(
            estimator,
            X,
            y,
            train_sizes=np.asarray(train_sizes),
            cv=cv,
            scoring=scoring,
            shuffle=True,
            random_state=random_state,
        )[:3]
        default = "accuracy" if is_classifier(estimator) else "R²"
        measure = default if scoring is None else scoring if isinstance(scoring, str) else "score"
        if isinstance(scoring, str):
            get_scorer(scoring)
        curves, spreads = {}, {}
        for name, scores in (("training", trained), ("validation", held_out)):
            curves[name] = (sizes, scores.mean(axis=1))
            spreads[name] = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
        return cls(curves, measure.replace("_", " "), read_published(published), spreads).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        axes = self._draw_curves(ax, "training rows", markers=True)
        for line, (name, (sizes, means)) in zip(self.lines_, self.curves.items(), strict=True):
            spread = self.spreads[name]
            axes.fill_between(sizes, means - spread, means + spread, color=line.get_color(), alpha=0.18, linewidth=0)
