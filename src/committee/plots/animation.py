"""An animation of boosting: decision boundary and sample weights by round."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from committee.exceptions import ParameterError
from committee.plots.boundary import DecisionBoundaryGridDisplay
from committee.plots.display import check_axes, load_pyplot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.animation import AbstractMovieWriter, FuncAnimation
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from committee.plots.plane import Feature

__all__ = ["animate_rounds"]


def animate_rounds(
    estimator: Any,
    X: Any,
    y: Any,
    path: str | Path | None = None,
    *,
    rounds: Sequence[int] | None = None,
    features: Sequence[Feature] | None = None,
    class_names: Sequence[str] | None = None,
    grid_resolution: int = 120,
    seconds: float = 0.5,
    dpi: int = 90,
    ax: Axes | None = None,
) -> FuncAnimation:
    """Animate the decision boundary of a boosted model over its rounds; areas of points are their sample weights.

    Parameters
    ----------
    estimator : fitted estimator
        With staged predictions; weights are shown if it was fitted with ``keep_sample_weights=True``.
    X, y : table and array-like
        The rows of the fit.
    path : str or Path, optional
        File to write: ".gif" (by Pillow, which comes with matplotlib) or ".mp4" (needs the program ffmpeg).
    rounds : sequence of int, optional
        Rounds to show; by default all up to the tenth, then each about a fifth later than the last.
    features : pair of int or str, optional
        The columns to show if there are more than two.
    class_names : sequence of str, optional
        In the order of ``classes_``.
    grid_resolution : int, default=120
        Points along each axis.
    seconds : float, default=0.5
        Duration of a frame.
    dpi : int, default=90
        Pixels per inch.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.animation.FuncAnimation
        To be shown or saved; keep a reference to it while it runs.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_moons
    >>> from committee import AdaBoostClassifier
    >>> from committee.plots import animate_rounds
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> model = AdaBoostClassifier(n_estimators=5, keep_sample_weights=True).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     film = animate_rounds(model, X, y, Path(folder, "rounds.gif"), rounds=(1, 5), grid_resolution=20)
    ...     (Path(folder) / "rounds.gif").read_bytes()[:6]
    b'GIF89a'
    """
    plt = load_pyplot("animate_rounds")
    from matplotlib.animation import FFMpegWriter, FuncAnimation, PillowWriter

    if not seconds > 0.0:
        raise ParameterError(f"The 'seconds' argument must be a number > 0; got {seconds!r}.")
    writer: AbstractMovieWriter | None = None
    if path is not None:
        kind = Path(path).suffix.lower()
        if kind not in (".gif", ".mp4"):
            raise ParameterError(f"The 'path' argument must end in .gif or .mp4; got {str(path)!r}.")
        if kind == ".mp4" and not FFMpegWriter.isAvailable():
            raise ParameterError("Writing .mp4 needs the program ffmpeg, which was not found; write a .gif instead.")
        rate: Any = 1.0 / seconds  # the writers are annotated with int but accept a float
        writer = PillowWriter(fps=rate) if kind == ".gif" else FFMpegWriter(fps=rate)
    chosen = _choose_rounds(estimator) if rounds is None else rounds
    frames = DecisionBoundaryGridDisplay.collect_rounds(
        estimator, X, y, rounds=chosen, features=features, grid_resolution=grid_resolution, class_names=class_names
    )
    axes = plt.subplots(figsize=(5.2, 4.2), layout="constrained")[1] if ax is None else check_axes("animate_rounds", ax)

    def draw(frame: int) -> list[Artist]:
        axes.clear()
        # No colour bar, which would be added to the figure in every frame.
        shown = frames[frame].plot(ax=axes, legend=frames[frame].class_names is not None)
        assert shown.surface_ is not None
        return [shown.surface_, *shown.points_]

    figure = axes.get_figure(root=True)
    assert figure is not None
    film = FuncAnimation(figure, draw, frames=len(frames), interval=1000.0 * seconds, blit=False)
    draw(len(frames) - 1)
    if writer is not None:
        film.save(str(path), writer=writer, dpi=dpi)
    else:
        # matplotlib warns if an animation is deleted that was never shown or saved, as in examples and tests.
        vars(film)["_draw_was_started"] = True
    return film


def _choose_rounds(estimator: Any) -> list[int]:
    """The first ten rounds, then each about a fifth later than the last."""
    last = len(getattr(estimator, "estimator_weights_", ())) or int(getattr(estimator, "n_estimators", 100))
    chosen = list(range(1, min(last, 10) + 1))
    while chosen[-1] < last:
        chosen.append(min(last, max(chosen[-1] + 1, round(1.2 * chosen[-1]))))
    return chosen
