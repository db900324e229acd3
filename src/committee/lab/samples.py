"""The points of a state, and the code that makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.model_selection import train_test_split

from committee.exceptions import DataError
from committee.lab.state import MOST_CLASSES, MOST_POINTS, LabState

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["SampleSet", "draw_sample_set", "parse_points"]

#: The test set of a drawn set has the seed of the training set plus this.
TEST_SEED = 1000
_TEST_SHARE = 0.3
_FEWEST_TO_SPLIT = 40
_MARGIN = 0.08


@dataclass(frozen=True)
class SampleSet:
    """Training and test points of a state.

    Parameters
    ----------
    X, y : ndarray
        Training rows: two columns and classes, or one column and values.
    X_test, y_test : ndarray
        Test rows; none for few points.
    class_names : tuple of str
        Empty for values.
    feature_names : tuple of two str
        Labels of the axes.
    box : tuple of float
        Ends of the axes: left, right, bottom, top.
    code : tuple of str
        Lines of Python that make X, y, X_test and y_test.
    """

    X: FloatArray
    y: NDArray[np.generic]
    X_test: FloatArray
    y_test: NDArray[np.generic]
    class_names: tuple[str, ...]
    feature_names: tuple[str, str]
    box: tuple[float, float, float, float]
    code: tuple[str, ...]


def draw_sample_set(state: LabState) -> SampleSet:
    """The points of a state.

    Parameters
    ----------
    state : LabState
        Its data, n, noise, flip, seed, points and box count.

    Returns
    -------
    SampleSet
    """
    if state.data.endswith("points"):
        return _take_points(state)
    if state.data == "iris":
        return _take_iris(state)
    return _draw_shape(state)


def _make_spirals(n: int, noise: float, seed: int) -> tuple[FloatArray, NDArray[np.intp]]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    t = 3 * np.pi * np.sqrt(rng.random(n)) + 0.5
    X = np.column_stack([t * np.cos(t + np.pi * y), t * np.sin(t + np.pi * y)]) / 5
    return X + noise * rng.normal(size=(n, 2)) / 2, y


_SPIRALS = """
def make_spirals(n, noise, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    t = 3 * np.pi * np.sqrt(rng.random(n)) + 0.5
    X = np.column_stack([t * np.cos(t + np.pi * y), t * np.sin(t + np.pi * y)]) / 5
    return X + noise * rng.normal(size=(n, 2)) / 2, y

""".splitlines()


def _make_curve(wave: bool, n: int, noise: float, seed: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 6, n))
    truth = np.sin(2 * x) + x / 3 if wave else np.floor(x) % 3
    return x[:, None], truth + noise * rng.normal(size=n)


def _write_curve(wave: bool) -> list[str]:
    truth = "np.sin(2 * x) + x / 3" if wave else "np.floor(x) % 3"
    return [
        "",
        "def make_curve(n, noise, seed):",
        "    rng = np.random.default_rng(seed)",
        "    x = np.sort(rng.uniform(0, 6, n))",
        f"    return x[:, None], {truth} + noise * rng.normal(size=n)",
        "",
        "",
    ]


def _draw_shape(state: LabState) -> SampleSet:
    n, noise = state.n, state.noise
    draws: dict[str, Callable[[int], tuple[FloatArray, NDArray[np.generic]]]] = {
        "moons": lambda seed: make_moons(n, noise=noise, random_state=seed),
        "circles": lambda seed: make_circles(n, noise=noise / 2, factor=0.45, random_state=seed),
        "spirals": lambda seed: _make_spirals(n, noise, seed),
        "sine": lambda seed: _make_curve(True, n, noise, seed),
        "steps": lambda seed: _make_curve(False, n, noise, seed),
    }
    calls = {
        "moons": f"make_moons({n}, noise={noise:g}, random_state={{}})",
        "circles": f"make_circles({n}, noise={noise:g} / 2, factor=0.45, random_state={{}})",
        "spirals": f"make_spirals({n}, {noise:g}, {{}})",
    }
    before = {
        "moons": ["from sklearn.datasets import make_moons", ""],
        "circles": ["from sklearn.datasets import make_circles", ""],
        "spirals": _SPIRALS,
    }
    call = calls.get(state.data, f"make_curve({n}, {noise:g}, {{}})")
    lines = [*before.get(state.data, _write_curve(state.data == "sine"))]
    test_seed = state.seed + TEST_SEED
    lines += [f"X, y = {call.format(state.seed)}", f"X_test, y_test = {call.format(test_seed)}"]
    (X, y), (X_test, y_test) = draws[state.data](state.seed), draws[state.data](test_seed)
    if state.task == "classification" and state.flip:
        wrong = np.random.default_rng(state.seed).random(len(y)) < state.flip
        y = np.where(wrong, 1 - y, y)
        lines += [
            f"wrong = np.random.default_rng({state.seed}).random(len(y)) < {state.flip:g}",
            "y = np.where(wrong, 1 - y, y)  # wrong labels, in the training set only",
        ]
    return _arrange(state, X, y, X_test, y_test, lines)


def _take_iris(state: LabState) -> SampleSet:
    iris = load_iris()
    split = train_test_split(
        iris.data[:, 2:], iris.target, test_size=0.4, stratify=iris.target, random_state=state.seed
    )
    X, X_test, y, y_test = split
    lines = [
        "from sklearn.datasets import load_iris",
        "from sklearn.model_selection import train_test_split",
        "",
        "iris = load_iris()",
        "X, X_test, y, y_test = train_test_split(",
        f"    iris.data[:, 2:], iris.target, test_size=0.4, stratify=iris.target, random_state={state.seed}",
        ")",
    ]
    if state.flip:
        wrong = np.random.default_rng(state.seed).random(len(y)) < state.flip
        y = np.where(wrong, (y + 1) % 3, y)
        lines += [
            f"wrong = np.random.default_rng({state.seed}).random(len(y)) < {state.flip:g}",
            "y = np.where(wrong, (y + 1) % 3, y)  # wrong labels, in the training set only",
        ]
    names = tuple(str(name) for name in iris.target_names)
    return _arrange(state, X, y, X_test, y_test, lines, names, ("petal length", "petal width"))


def parse_points(text: str, n_columns: int) -> FloatArray:
    """Numbers of ``x,y,class_x,y,class``.

    Parameters
    ----------
    text : str
        Points, joined by underscores.
    n_columns : int
        Numbers of a point.

    Returns
    -------
    ndarray of shape (n_points, n_columns)
    """
    rows = [point.split(",") for point in text.split("_") if point]
    if len(rows) > MOST_POINTS:
        raise DataError(f"The lab takes at most {MOST_POINTS} points; got {len(rows)}.")
    try:
        points = np.array([[float(value) for value in row] for row in rows], dtype=np.float64)
    except ValueError:
        points = np.full((0, 0), np.nan)
    if points.ndim != 2 or points.shape[1:] != (n_columns,) or not np.isfinite(points).all():
        raise DataError(f"Each point of the lab is {n_columns} numbers with commas between them.")
    if np.abs(points).max(initial=0.0) > 1e9:
        raise DataError("Coordinates of the lab's points must lie between -1e9 and 1e9.")
    return points


def _take_points(state: LabState) -> SampleSet:
    is_plane = state.task == "classification"
    points = parse_points(state.points, 3 if is_plane else 2)
    X, y = (points[:, :2], points[:, 2].astype(np.intp)) if is_plane else (points[:, :1], points[:, 1])
    if (is_plane and (points[:, 2] != y).any()) or (is_plane and not ((y >= 0) & (y < MOST_CLASSES)).all()):
        raise DataError(f"Classes of the lab's points are whole numbers from 0 to {MOST_CLASSES - 1}.")
    if len(X) < 4 or (is_plane and len(np.unique(y)) < 2):
        what = "points of two classes" if is_plane else "points"
        raise DataError(f"A fit needs {what}, four or more; got {len(X)}. Add some with the mouse or the keyboard.")
    lines = ["points = np.array(", *_write_rows(points), ")"]
    lines.append("X, y = points[:, :2], points[:, 2].astype(int)" if is_plane else "X, y = points[:, :1], points[:, 1]")
    if len(X) < _FEWEST_TO_SPLIT or (is_plane and np.unique(y, return_counts=True)[1].min() < 2):
        lines.append("X_test, y_test = X[:0], y[:0]  # too few points to hold some out")
        return _arrange(state, X, y, X[:0], y[:0], lines)
    stratify = y if is_plane else None
    X, X_test, y, y_test = train_test_split(X, y, test_size=_TEST_SHARE, stratify=stratify, random_state=state.seed)
    lines[:0] = ["from sklearn.model_selection import train_test_split", ""]
    kept = ", stratify=y" if is_plane else ""
    lines.append(
        f"X, X_test, y, y_test = train_test_split(X, y, test_size={_TEST_SHARE}{kept}, random_state={state.seed})"
    )
    return _arrange(state, X, y, X_test, y_test, lines)


def _write_rows(points: FloatArray) -> list[str]:
    texts = ["[" + ", ".join(f"{value:.10g}" for value in row) + "]" for row in points]
    per_line = 6
    rows = [", ".join(texts[at : at + per_line]) for at in range(0, len(texts), per_line)]
    return ["    [", *(f"        {row}," for row in rows), "    ]"]


def _arrange(
    state: LabState,
    X: FloatArray,
    y: NDArray[np.generic],
    X_test: FloatArray,
    y_test: NDArray[np.generic],
    lines: list[str],
    class_names: tuple[str, ...] = (),
    feature_names: tuple[str, str] = ("x", "y"),
) -> SampleSet:
    if state.task == "classification" and not class_names:
        class_names = tuple(f"class {k}" for k in range(int(np.max(y)) + 1))
    if state.box:
        box = _read_box(state.box)
    else:
        values = np.vstack([X, X_test]) if X.shape[1] == 2 else _stack_curve(X, y, X_test, y_test)
        box = _find_box(values)
    return SampleSet(X, y, X_test, y_test, class_names, feature_names, box, tuple(lines))


def _stack_curve(X: FloatArray, y: NDArray[np.generic], X_test: FloatArray, y_test: NDArray[np.generic]) -> FloatArray:
    return np.column_stack([np.concatenate([X, X_test])[:, 0], np.concatenate([y, y_test])])


def _find_box(values: FloatArray) -> tuple[float, float, float, float]:
    low, high = values.min(axis=0), values.max(axis=0)
    room = np.maximum(high - low, 1e-9) * _MARGIN
    return float(low[0] - room[0]), float(high[0] + room[0]), float(low[1] - room[1]), float(high[1] + room[1])


def _read_box(text: str) -> tuple[float, float, float, float]:
    (ends,) = parse_points(text, 4) if "_" not in text else np.full((1, 4), np.nan)
    left, right, bottom, top = (float(end) for end in ends)
    if not (left < right and bottom < top):
        raise DataError(f"The lab's 'box' is left,right,bottom,top in rising order; got {text!r}.")
    return left, right, bottom, top
