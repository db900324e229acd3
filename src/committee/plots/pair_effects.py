"""Second-order accumulated local effects as a heat map."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.exceptions import ParameterError
from committee.inspection.model_access import find_features, make_response
from committee.inspection.pair_effects import accumulated_pair_effects
from committee.plots.dependence import choose_output, mark_deciles, read_observed
from committee.plots.display import Display
from committee.plots.style import INK, choose_map, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

    from committee.plots.plane import Feature
    from committee.plots.predictions import ClassLabel
    from committee.typing import FloatArray

__all__ = ["PairEffectsDisplay"]


@dataclass
class PairEffectsDisplay(Display):
    """The second-order accumulated local effect of two features; white where there is no interaction.

    Parameters
    ----------
    feature_names : tuple of two str
        The features, horizontal and vertical.
    across, up : ndarray
        Bin edges.
    effect : ndarray of shape (len(across), len(up))
        The joint effect beyond the two main effects.
    observed : tuple of two ndarray
        Values of the features in the rows, for the decile marks along the axes.
    response : str
        Label of the prediction.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    image_ : matplotlib mesh
        The heat map.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import HistGradientBoostingRegressor
    >>> from committee.plots import PairEffectsDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> model = HistGradientBoostingRegressor(max_iter=30, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    >>> shown = PairEffectsDisplay.from_estimator(model, X, (0, 1), grid_resolution=10)
    >>> shown.effect.shape
    (11, 11)
    """

    feature_names: tuple[str, str]
    across: FloatArray
    up: FloatArray
    effect: FloatArray
    observed: tuple[FloatArray, FloatArray]
    response: str = "prediction"

    image_: QuadMesh | None = field(init=False, repr=False, default=None)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        features: Sequence[Feature],
        *,
        target: ClassLabel | None = None,
        grid_resolution: int = 20,
        response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
        ax: Axes | None = None,
    ) -> Self:
        """Compute the effect, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            Of any library.
        X : array-like or data frame
            Rows to compute the effect on.
        features : pair of int or str
            Two numeric features.
        target : class label or int, optional
            The class if there are more than two, or the number of the output if there are several.
        grid_resolution, response_method
            As in `committee.inspection.accumulated_pair_effects`.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        PairEffectsDisplay
        """
        output, label = choose_output(estimator, target, response_method)
        found = accumulated_pair_effects(
            estimator, X, features, grid_resolution=grid_resolution, response_method=response_method
        )
        if output >= len(found["average"]):
            raise ParameterError(f"There are {len(found['average'])} outputs, numbered from 0; got {output}.")
        reader = make_response(estimator, X, response_method=response_method)
        one, other = find_features(reader, features)
        names = (reader.names[one], reader.names[other])
        observed = (read_observed(reader, one), read_observed(reader, other))
        across, up = found["grid_values"]
        return cls(names, across, up, found["average"][output], observed, label).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        axes = self._open(ax, (5.8, 4.4))
        # The scale is symmetric, so that zero is white.
        most = float(np.abs(self.effect).max()) or 1.0
        self.image_ = axes.pcolormesh(
            self.across,
            self.up,
            self.effect.T,
            cmap=choose_map("diverging"),
            vmin=-most,
            vmax=most,
            shading="gouraud",
            rasterized=True,
        )
        if np.ptp(self.effect) > 0.0 and min(self.effect.shape) > 2:
            # Negative contours are dashed, since both ends of the scale are dark in greyscale.
            lines = axes.contour(self.across, self.up, self.effect.T, levels=6, colors=INK, linewidths=0.6)
            axes.clabel(lines, fontsize=7, fmt=lambda value: f"{value:.2g}")
        axes.set_xlim(self.across[0], self.across[-1])
        axes.set_ylim(self.up[0], self.up[-1])
        mark_deciles(axes, self.observed[0])
        mark_deciles(axes, self.observed[1], upright=True)
        axes.set_xlabel(shorten(self.feature_names[0]))
        axes.set_ylabel(shorten(self.feature_names[1]))
        self.figure_.colorbar(self.image_, ax=axes, label=f"joint effect on {self.response}")
