"""R3, R4 and R11: feature importances of forests."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier as PeerForest

from committee import RandomForestClassifier
from committee.cli.report.charts import draw_bars
from committee.cli.report.markup import make_figure
from committee.cli.reproduce.figures import draw_pixels
from committee.cli.reproduce.results import Line, ReproductionSettings, Result, compare_value, show_spread
from committee.cli.reproduce.sources import load_parquet_table, split_target
from committee.inspection import oob_importance, partial_dependence

__all__ = ["reproduce_iris", "reproduce_mnist", "reproduce_titanic"]


def reproduce_iris(settings: ReproductionSettings) -> Result:
    """R3: a forest of 500 trees on iris."""
    X, y = load_iris(return_X_y=True)
    published = {"sepal length": 0.112, "sepal width": 0.023, "petal length": 0.441, "petal width": 0.423}
    seeds = range(2 * settings.n_seeds)
    forests = [RandomForestClassifier(500, random_state=seed, n_jobs=settings.jobs).fit(X, y) for seed in seeds]
    found = np.array([forest.feature_importances_ for forest in forests])
    peers = [PeerForest(500, random_state=seed, n_jobs=settings.jobs).fit(X, y) for seed in seeds]
    theirs = np.array([forest.feature_importances_ for forest in peers])
    lines = [
        compare_value(f"share of {name}", value, found[:, k], theirs[:, k])
        for k, (name, value) in enumerate(published.items())
    ]
    title = "Impurity importance, mean over seeds ± standard deviation"
    bars = draw_bars(list(published), found.mean(axis=0), "share", title, errors=found.std(axis=0, ddof=1))
    setup = "500 trees on all 150 rows; shares of the decrease of impurity. Two forests for each seed."
    return Result("R3", "Importances of iris", setup, lines, [make_figure(bars, title)])


def reproduce_mnist(settings: ReproductionSettings) -> Result:
    """R4: importances of pixels."""
    X, y = split_target(load_parquet_table("mnist"))
    forest = RandomForestClassifier(100, random_state=0, n_jobs=settings.jobs).fit(X[:60_000], y[:60_000])
    importances = forest.feature_importances_.reshape(28, 28)
    inside = importances[3:-3, 3:-3]
    # Mean importance of a pixel in the outer three rows and columns over that of an inner pixel.
    frame = float((1.0 - inside.sum()) / (importances.size - inside.size) / inside.mean())
    row, column = np.unravel_index(int(importances.argmax()), importances.shape)
    middle = bool(7 <= row < 21 and 7 <= column < 21)
    accuracy = float(forest.score(X[60_000:], y[60_000:]))
    lines = [
        Line(
            "pixels at the edge : inside",
            "close to zero",
            f"{frame:.3f}",
            "a pixel of the outer three rows and columns has less than a tenth of the importance of an inner one",
            frame < 0.1,
        ),
        Line(
            "the most important pixel",
            "in the middle",
            f"row {row}, column {column}",
            "within the middle 14 × 14",
            middle,
        ),
        Line(
            "accuracy on the test rows",
            "–",
            f"{accuracy:.4f}",
            "above 0.96, usual for forests of 100 trees",
            accuracy > 0.96,
        ),
    ]
    setup = "100 trees on the 60,000 training images; one run."
    return Result(
        "R4", "Importance of the pixels of MNIST", setup, lines, [draw_pixels(importances, "Importance of each pixel")]
    )


def reproduce_titanic(settings: ReproductionSettings) -> Result:
    """R11: sex and class are most important; age matters for children."""
    table = load_parquet_table("titanic")
    names = ["sex", "pclass", "age", "sibsp", "parch", "fare", "embarked"]
    features = table.select(names)
    kind = features.schema.field("pclass").type
    if pa.types.is_dictionary(kind):
        position = features.column_names.index("pclass")
        features = features.set_column(position, "pclass", features.column("pclass").cast(kind.value_type))
    y = np.asarray(table.column("target").to_pylist()).astype(str)
    losses, adults, children = [], [], []
    ages = np.array([2.0, 5.0, 8.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0])
    for seed in settings.seeds:
        forest = RandomForestClassifier(300, min_samples_leaf=5, random_state=seed, n_jobs=settings.jobs).fit(
            features, y
        )
        losses.append(oob_importance(forest, features, y, n_repeats=2).importances_mean)
        curve = partial_dependence(forest, features, "age", custom_values={"age": ages}, method="brute")["average"][0]
        children.append(float(curve[:3].mean()))
        adults.append(curve[3:])
    found, grown = np.array(losses), np.array(adults)
    order = [names[k] for k in np.argsort(-found.mean(axis=0))]
    gain = np.array(children) - grown.mean(axis=1)
    span = np.ptp(grown, axis=1)
    lines = [
        Line(
            "most important",
            "sex, then class",
            ", ".join(order[:3]),
            "sex first, class second (means)",
            order[:2] == ["sex", "pclass"],
        ),
        Line(
            "age: children − adults",
            "matters for few",
            f"{show_spread(gain)} > {span.mean():.3f}",
            "partial dependence at ages 2 to 8 above that of adults by more than its range from 20 to 50 (means)",
            bool(gain.mean() > span.mean()),
        ),
    ]
    title = "Out-of-bag permutation importance: loss of accuracy of the trees; mean over seeds ± standard deviation"
    bars = draw_bars(names, found.mean(axis=0), "loss of accuracy", title, errors=found.std(axis=0, ddof=1))
    setup = "1,309 passengers, 300 trees with min_samples_leaf=5; out-of-bag permutation importance."
    return Result("R11", "Titanic", setup, lines, [make_figure(bars, title)])
