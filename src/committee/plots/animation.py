"""Boosting as a film: boundary and weights, round by round."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from committee.exceptions import ParameterError
from committee.plots.boundary import DecisionBoundaryGridDisplay
from committee.plots.display import check_axes, load_pyplot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.animation import FuncAnimation

__all__ = ["animate_rounds"]


def animate_rounds(
    estimator: Any,
    X: Any,
    y: Any,
    path: str | Path | None = None,
    *,
    rounds: Sequence[int] | None = None,
    features: Sequence[Any] | None = None,
    class_names: Sequence[str] | None = None,
    grid_resolution: int = 120,
    seconds: float = 0.5,
    dpi: int = 90,
    ax: Any = None,
) -> FuncAnimation:
    """The decision boundary of a boosted model as rounds go by; areas of points are their weights, if these were kept.

    Parameters
    ----------
    estimator : fitted estimator
        With staged predictions; a classifier fitted with ``keep_sample_weights=True`` for the weights.
    X, y : table and array-like
        The rows of the fit.
    path : str or Path, optional
        File to write: ".gif" (by Pillow, which comes with matplotlib) or ".mp4" (needs the program ffmpeg).
    rounds : sequence of int, optional
        Rounds that are shown; by default all up to the tenth, then ever fewer.
    features : pair of int or str, optional
        The columns to show if there are more than two.
    class_names : sequence of str, optional
        In the order of ``classes_``.
    grid_resolution : int, default=120
        Points along each axis.
    seconds : float, default=0.5
        How long a round is shown.
    dpi : int, default=90
        Pixels an inch.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.animation.FuncAnimation
        To be shown or saved; keep it as long as it is to run.

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
    writer: Any = None
    if path is not None:
        kind = Path(path).suffix.lower()
        if kind not in (".gif", ".mp4"):
            raise ParameterError(f"The 'path' argument must end in .gif or .mp4; got {str(path)!r}.")
        if kind == ".mp4" and not FFMpegWriter.isAvailable():
            raise ParameterError("Writing .mp4 needs the program ffmpeg, which was not found; write a .gif instead.")
        rate: Any = 1.0 / seconds  # no whole number, though the writers say so
        writer = PillowWriter(fps=rate) if kind == ".gif" else FFMpegWriter(fps=rate)
    chosen = _choose_rounds(estimator) if rounds is None else rounds
    frames = DecisionBoundaryGridDisplay.collect_rounds(
        estimator, X, y, rounds=chosen, features=features, grid_resolution=grid_resolution, class_names=class_names
    )
    axes = plt.subplots(figsize=(5.2, 4.2), layout="constrained")[1] if ax is None else check_axes("animate_rounds", ax)

    def draw(frame: int) -> list[Any]:
        axes.clear()
        # A colour bar would be added to the figure in every frame.
        shown = frames[frame].plot(ax=axes, legend=frames[frame].class_names is not None)
        return [shown.surface_, *shown.points_]

    film = FuncAnimation(axes.get_figure(), draw, frames=len(frames), interval=1000.0 * seconds, blit=False)
    draw(len(frames) - 1)
    if writer is not None:
        film.save(str(path), writer=writer, dpi=dpi)
    else:
        # A film that is neither saved nor shown is no mistake: examples and tests look at it only.
        film._draw_was_started = True  # type: ignore[attr-defined]
    return film


def _choose_rounds(estimator: Any) -> list[int]:
    """The first ten rounds, then each about a fifth further than the one before."""
    last = len(getattr(estimator, "estimator_weights_", ())) or int(getattr(estimator, "n_estimators", 100))
    chosen = list(range(1, min(last, 10) + 1))
    while chosen[-1] < last:
        chosen.append(min(last, max(chosen[-1] + 1, round(1.2 * chosen[-1]))))
    return chosen
