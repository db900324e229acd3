"""R10: boosted trees on California housing."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.model_selection import train_test_split

from committee import GradientBoostingRegressor
from committee.cli.report.charts import Axis, draw_bars
from committee.cli.report.markup import make_figure
from committee.cli.reproduce.figures import draw_curves, draw_map
from committee.cli.reproduce.results import Line, ReproductionSettings, Result, show_spread
from committee.cli.reproduce.sources import load_housing
from committee.inspection import partial_dependence
from committee.typing import FloatArray

__all__ = ["reproduce_housing"]

_ROUNDS, _LEAVES, _RATE = 800, 6, 0.1
_CITIES = {"San Francisco": (37.77, -122.42), "Los Angeles": (34.05, -118.40), "Fresno": (36.75, -119.77)}


def _boost(X: FloatArray, y: FloatArray, loss: str, seed: int, jobs: int | None) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(
        loss=loss,
        max_leaf_nodes=_LEAVES,
        learning_rate=_RATE,
        n_estimators=_ROUNDS,
        subsample=1.0,
        max_features=None,
        early_stopping=False,
        defaults="tuned",
        random_state=seed,
        n_jobs=jobs,
    ).fit(X, y)


def reproduce_housing(settings: ReproductionSettings) -> Result:
    """R10: trees of six leaves, learning rate 0.1, 800 rounds, with squared and Huber loss."""
    X, y, names = load_housing()
    scores: dict[str, list[float]] = {"squared": [], "huber": [], "log": [], "peer": []}
    importances, curves = [], []
    for seed in settings.seeds:
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
        squared = _boost(train, y_train, "squared_error", seed, settings.jobs)
        huber = _boost(train, y_train, "huber", seed, settings.jobs)
        logs = _boost(train, np.log(y_train), "huber", seed, settings.jobs)
        scores["squared"].append(squared.score(test, y_test))
        scores["huber"].append(huber.score(test, y_test))
        scores["log"].append(logs.score(test, np.log(y_test)))
        scores["peer"] += _score_lightgbm(train, y_train, test, y_test, settings.jobs)
        importances.append(huber.feature_importances_)
        if seed < 2:
            curves.append([float(np.abs(y_test - predicted).mean()) for predicted in huber.staged_predict(test)])
    lines = [
        _compare_lower_bound("R², squared loss", 0.84, scores["squared"]),
        _compare_lower_bound("R², Huber loss", 0.84, scores["huber"]),
        _compare_lower_bound("R² of log y, Huber loss", 0.86, scores["log"]),
    ]
    if scores["peer"]:
        lines.append(_compare_peer(scores["squared"], scores["peer"]))
    found = np.array(importances)
    lines.append(_check_importances(found, names))
    values, axes, line = _map_values(huber, train, names)
    lines.append(line)
    rounds = np.arange(1, _ROUNDS + 1)
    title = "Impurity importance (squared error), mean over splits ± standard deviation"
    order = np.argsort(-found.mean(axis=0))
    bars = draw_bars(
        [names[k] for k in order], found.mean(axis=0)[order], "share", title, errors=found.std(axis=0, ddof=1)[order]
    )
    figures = [
        draw_curves(
            rounds, [("test rows", np.mean(curves, axis=0))], ("rounds", "mean absolute error"), "Absolute error"
        ),
        make_figure(bars, title),
        draw_map(*axes, values, "Partial dependence on longitude and latitude; lighter is more expensive"),
    ]
    setup = (
        f"20,640 districts, random splits 80 : 20, trees with {_LEAVES} leaves, learning rate {_RATE}, {_ROUNDS} "
        "rounds. The published result is of one split (with Huber loss); ours are of one split per seed."
    )
    return Result("R10", "California housing", setup, lines, figures)


def _compare_lower_bound(what: str, published: float, values: list[float]) -> Line:
    found = np.array(values)
    n, spread = len(found), float(found.std(ddof=1))
    top = found.mean() + float(student.ppf(0.975, n - 1)) * spread * np.sqrt(1.0 + 1.0 / n) + 0.005
    criterion = "published not above the 95 % prediction interval of our splits"
    return Line(what, f"{published:.2f}", show_spread(found), criterion, bool(published <= top))


def _score_lightgbm(
    X: FloatArray, y: FloatArray, X_test: FloatArray, y_test: FloatArray, jobs: int | None
) -> list[float]:
    """R² of LightGBM with the same parameters; empty if it is not installed."""
    try:
        from lightgbm import LGBMRegressor
    except ImportError:
        return []
    params: dict[str, Any] = {"num_leaves": _LEAVES, "learning_rate": _RATE, "n_estimators": _ROUNDS, "verbose": -1}
    return [float(LGBMRegressor(**params, n_jobs=jobs or -1).fit(X, y).score(X_test, y_test))]


def _compare_peer(ours: list[float], peer: list[float]) -> Line:
    less = np.array(ours) - np.array(peer)
    passed = bool(less.mean() > -0.01)
    criterion = "ours with squared loss not more than 0.01 below, on the same splits"
    return Line("R² of LightGBM", "–", show_spread(peer), criterion, passed)


def _check_importances(found: FloatArray, names: list[str]) -> Line:
    order = [names[k] for k in np.argsort(-found.mean(axis=0))]
    passed = order[0] == "MedInc" and set(order[1:4]) == {"Latitude", "Longitude", "AveOccup"}
    criterion = "income first; latitude, longitude and occupancy the next three (means)"
    return Line("importances", "income, location, occupancy", ", ".join(order[:4]), criterion, passed)


def _map_values(
    model: GradientBoostingRegressor, X: FloatArray, names: list[str]
) -> tuple[FloatArray, tuple[Axis, Axis], Line]:
    """Partial dependence on the location: high around the Bay and Los Angeles, low between them."""
    west, north = names.index("Longitude"), names.index("Latitude")
    across, up = np.linspace(-124.3, -114.3, 81), np.linspace(32.6, 41.9, 75)
    found = partial_dependence(model, X, (north, west), custom_values={north: up, west: across}, method="traversal")
    values = found["average"][0]
    there = {
        city: float(values[int(np.abs(up - y).argmin()), int(np.abs(across - x).argmin())])
        for city, (y, x) in _CITIES.items()
    }
    # Only locations near a district; elsewhere trees extrapolate from the nearest one.
    populated = np.zeros_like(values, dtype=bool)
    rows = np.clip(np.searchsorted(up, X[:, north]), 0, len(up) - 1)
    columns = np.clip(np.searchsorted(across, X[:, west]), 0, len(across) - 1)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            populated[np.clip(rows + i, 0, len(up) - 1), np.clip(columns + j, 0, len(across) - 1)] = True
    passed = min(there["San Francisco"], there["Los Angeles"]) > there["Fresno"]
    line = Line(
        "dependence on the location",
        "Bay and Los Angeles",
        ", ".join(f"{city.split()[-1]} {value:.2f}" for city, value in there.items()),
        "San Francisco and Los Angeles above Fresno (in 100,000 dollars)",
        passed,
    )
    axes = Axis(-124.3, -114.3, "longitude"), Axis(32.6, 41.9, "latitude")
    return np.where(populated, values, np.nan), axes, line
