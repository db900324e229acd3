"""Feature importances as bars, and as an image if features are pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.exceptions import DataError, ParameterError
from committee.inspection.drop_column import drop_column_importance
from committee.inspection.importance import (
    Importance,
    impurity_importance,
    oob_importance,
    permutation_importance,
    shap_importance,
)
from committee.inspection.resampling import check_count
from committee.plots.display import Display
from committee.plots.style import COLORS, INK, choose_map, shorten_all, tidy_axes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

    from committee.params import RandomState
    from committee.typing import FloatArray

__all__ = ["ImportanceDisplay", "ImportanceMapDisplay"]

ImportanceKind = Literal["impurity", "permutation", "oob", "shap", "drop column"]
_MEASURES = {
    "impurity": "mean decrease of impurity",
    "permutation": "loss of score when shuffled",
    "oob permutation": "growth of out-of-bag loss when shuffled",
    "oob impurity": "mean decrease of impurity, out of bag",
    "shap": "mean size of Shapley values",
    "drop column": "loss of score when left out",
}


@dataclass
class ImportanceDisplay(Display):
    """The most important features as bars, the largest on top; error bars are standard deviations over repetitions.

    Parameters
    ----------
    importance : Importance
        The importances.
    max_features : int
        Maximum number of bars; the number of omitted features is shown below them.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    bars_ : matplotlib bars
        One for each feature shown, from the top.
    shown_ : ndarray of int
        Indices of these features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.plots import ImportanceDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> shown = ImportanceDisplay.from_estimator(forest)
    >>> len(shown.bars_), shown.importance.kind
    (4, 'impurity')
    """

    importance: Importance
    max_features: int = 20

    bars_: BarContainer | None = field(init=False, repr=False, default=None)
    shown_: NDArray[np.intp] = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        kind: ImportanceKind = "impurity",
        max_features: int = 20,
        random_state: RandomState = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute importances, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            Must support the kind of importance.
        X, y : table and target, optional
            Held-out rows for "permutation", those of the fit for "oob", any rows for "shap" (no y), all rows for "drop
            column" (a clone of the estimator is fitted). "impurity" needs none.
        kind : {"impurity", "permutation", "oob", "shap", "drop column"}
            See `committee.inspection`. For other options compute the importances and use `from_importance`.
        max_features : int, default=20
            Maximum number of bars.
        random_state : int, RandomState, Generator or None
            Seed of permutations and fits.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ImportanceDisplay
        """
        needs = {"impurity": "", "permutation": "Xy", "oob": "Xy", "shap": "X", "drop column": "Xy"}
        if kind not in needs:
            raise ParameterError(f"The 'kind' argument must be one of {', '.join(map(repr, needs))}; got {kind!r}.")
        if ("X" in needs[kind] and X is None) or ("y" in needs[kind] and y is None):
            raise ParameterError(f"kind={kind!r} needs {' and '.join(needs[kind])}.")
        if kind == "impurity":
            found = impurity_importance(estimator)
        elif kind == "permutation":
            found = permutation_importance(estimator, X, y, n_repeats=10, random_state=random_state)
        elif kind == "oob":
            found = oob_importance(estimator, X, y)
        elif kind == "shap":
            found = shap_importance(estimator, X)
        else:
            found = drop_column_importance(estimator, X, y, random_state=random_state)
        return cls.from_importance(found, max_features=max_features, ax=ax)

    @classmethod
    def from_importance(cls, importance: Importance, *, max_features: int = 20, ax: Axes | None = None) -> Self:
        """Draw computed importances.

        Parameters
        ----------
        importance : Importance
            From a function of `committee.inspection`.
        max_features : int, default=20
            Maximum number of bars.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ImportanceDisplay
        """
        return cls(importance, check_count("max_features", max_features, 1)).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        found = self.importance
        self.shown_ = found.rank()[: self.max_features]
        n_bars, n_left_out = len(self.shown_), len(found.feature_names) - len(self.shown_)
        axes = self._open(ax, (6.4, 1.3 + 0.27 * n_bars))
        means, positions = found.importances_mean[self.shown_], np.arange(n_bars)
        spread = found.importances_std[self.shown_] if found.importances.shape[1] > 1 else None
        self.bars_ = axes.barh(
            positions, means, xerr=spread, height=0.7, color=COLORS[4], ecolor=INK, error_kw={"capsize": 2.5, "lw": 1.0}
        )
        names = shorten_all([found.feature_names[k] for k in self.shown_])
        axes.set_yticks(positions, names, fontsize="medium" if n_bars <= 20 else "small")
        axes.set_ylim(n_bars - 0.4, -0.6)
        axes.axvline(0.0, color=INK, linewidth=0.8)
        # These importances are not negative, but the lower ends of error bars may be.
        if spread is not None and means.min() >= 0.0 and found.kind in ("impurity", "shap"):
            axes.set_xlim(left=0.0)
        label = _MEASURES.get(found.kind, found.kind)
        note = f"\n{n_left_out} features of less importance are not shown" if n_left_out else ""
        axes.set_xlabel(label + note)
        tidy_axes(axes, grid="x")


@dataclass
class ImportanceMapDisplay(Display):
    """Importances of pixels as an image.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Importances as an image.
    measure : str
        Label of the colour bar.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    image_ : matplotlib image
        The image.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from committee import RandomForestClassifier
    >>> from committee.plots import ImportanceMapDisplay
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(*load_digits(return_X_y=True))
    >>> shown = ImportanceMapDisplay.from_estimator(forest, (8, 8))
    >>> shown.values.shape
    (8, 8)
    """

    values: FloatArray
    measure: str = ""

    image_: AxesImage | None = field(init=False, repr=False, default=None)

    @classmethod
    def from_estimator(cls, estimator: Any, shape: Sequence[int], *, ax: Axes | None = None) -> Self:
        """Draw the impurity importances of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            Must consist of trees.
        shape : pair of int
            Rows and columns of the images whose pixels, row by row, are the features.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ImportanceMapDisplay
        """
        return cls.from_importance(impurity_importance(estimator), shape, ax=ax)

    @classmethod
    def from_importance(cls, importance: Importance, shape: Sequence[int], *, ax: Axes | None = None) -> Self:
        """Draw computed importances.

        Parameters
        ----------
        importance : Importance
            From a function of `committee.inspection`.
        shape : pair of int
            Rows and columns of the images.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ImportanceMapDisplay
        """
        values = importance.importances_mean
        if len(shape) != 2 or shape[0] * shape[1] != len(values):
            raise DataError(
                f"An image of shape {tuple(shape)} does not have {len(values)} pixels, one for each feature."
            )
        return cls(values.reshape(shape), _MEASURES.get(importance.kind, importance.kind)).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        axes = self._open(ax, (5.0, 4.2))
        self.image_ = axes.imshow(self.values, cmap=choose_map(), interpolation="nearest")
        axes.set_xticks([])
        axes.set_yticks([])
        self.figure_.colorbar(self.image_, ax=axes, label=self.measure)
