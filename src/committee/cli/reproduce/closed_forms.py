"""R9 and R13: results with a closed form."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_friedman1

from committee import AdaBoostClassifier, BaggingClassifier, DecisionStumpClassifier, DecisionTreeRegressor
from committee.cli.reproduce.figures import draw_curves
from committee.cli.reproduce.results import Line, ReproductionSettings, Result, show_spread
from committee.inspection import measure_bag_variance

__all__ = ["reproduce_bootstrap", "reproduce_toy"]

# The ten points of the example of Freund and Schapire, which three stumps separate.
_TOY_X = np.array(
    [[1, 1.5], [2, 3.5], [4, 9], [5.5, 8], [7, 9.5], [3, 1], [5, 3], [6, 4.5], [9, 9.2], [9.5, 0.5]], dtype=np.float64
)
_TOY_Y = np.array([1] * 5 + [-1] * 5)


def reproduce_toy(settings: ReproductionSettings) -> Result:
    """R9: ten points, three stumps."""
    del settings  # nothing is random
    stump = DecisionStumpClassifier(criterion="error", exact=True)
    model = AdaBoostClassifier(stump, n_estimators=3, algorithm="discrete").fit(_TOY_X, _TOY_Y)
    lines = [
        Line(f"α of stump {k}", f"{alpha:.2f}", f"{found:.4f}", "equal to two decimals", abs(found - alpha) <= 0.005)
        for k, (alpha, found) in enumerate(zip((0.42, 0.65, 0.92), model.estimator_weights_.tolist(), strict=True), 1)
    ]
    score = float(model.score(_TOY_X, _TOY_Y))
    lines.append(Line("training error", "0", f"{1.0 - score:.4f}", "zero", score == 1.0))
    return Result("R9", "Ten points, three stumps", "Discrete AdaBoost; nothing is random.", lines)


def reproduce_bootstrap(settings: ReproductionSettings) -> Result:
    """R13: distinct rows of a bootstrap sample, and the variance of bagging by number of members."""
    n_rows = 1000
    exact = 1.0 - (1.0 - 1.0 / n_rows) ** n_rows
    X, y = np.arange(n_rows, dtype=np.float64)[:, None], np.arange(n_rows) % 2
    proportions = []
    for seed in settings.seeds:
        bag = BaggingClassifier(DecisionStumpClassifier(), n_estimators=20, random_state=seed).fit(X, y)
        proportions += [len(np.unique(rows)) / n_rows for rows in bag.estimators_samples_]
    found = np.array(proportions)
    error = float(found.std(ddof=1) / np.sqrt(len(found)))
    close = bool(abs(found.mean() - exact) <= 3.0 * error)
    X, y = make_friedman1(600, noise=1.0, random_state=0)
    sizes = (1, 2, 5, 10, 20, 50)
    spread = measure_bag_variance(
        DecisionTreeRegressor(random_state=0),
        X,
        y,
        sizes=sizes,
        n_repeats=max(20, 3 * settings.n_seeds),
        random_state=0,
    )
    falls = bool((np.diff(spread.bagged) < 0.0).all())
    lines = [
        Line(
            "distinct rows of a bootstrap",
            f"{exact:.4f}",
            show_spread(found, 4),
            "mean within three standard errors",
            close,
        ),
        Line(
            "independent, m = 50 : m = 1",
            f"{1 / 50:.3f}",
            f"{spread.independent[-1] / spread.independent[0]:.3f}",
            "within 20 % of 1/m",
            bool(abs(50.0 * spread.independent[-1] / spread.independent[0] - 1.0) < 0.2),
        ),
        Line(
            "bagged, m = 50 : m = 1",
            "falls, but less",
            f"{spread.bagged[-1] / spread.bagged[0]:.3f}",
            "falls at every size, and stays above 1/m",
            falls and bool(spread.bagged[-1] / spread.bagged[0] > 1.0 / 50.0),
        ),
    ]
    curves = [("bagged", spread.bagged), ("independent", spread.independent), ("σ²/m", spread.ideal)]
    figure = draw_curves(np.array(sizes), curves, ("members m", "variance"), "Variance of the mean of m trees")
    setup = (
        f"Samples of {n_rows:,} rows, 20 per seed. Variance of regression trees on Friedman's first problem: members "
        "fitted on independent training sets, and members fitted on bootstrap samples of one training set."
    )
    return Result("R13", "Bootstrap samples and the variance of bagging", setup, lines, [figure])
