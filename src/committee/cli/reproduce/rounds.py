"""R6, R7, R8 and R12: AdaBoost over many rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from committee import AdaBoostClassifier, DecisionStumpClassifier, DecisionTreeClassifier
from committee.cli.reproduce.figures import draw_curves
from committee.cli.reproduce.results import Line, MissingDataError, ReproductionSettings, Result, show_spread
from committee.cli.reproduce.sources import draw_halves, load_parquet_table, split_target
from committee.typing import FloatArray

__all__ = ["reproduce_letters", "reproduce_long_run", "reproduce_plane", "reproduce_ten_dimensions"]

_N_TEST = 5_000


def _boost_stumps(X: Any, y: Any, n_rounds: int) -> AdaBoostClassifier:
    stump = DecisionStumpClassifier(criterion="error", exact=True)
    return AdaBoostClassifier(stump, n_estimators=n_rounds, algorithm="discrete").fit(X, y)


def _trace_errors(model: Any, X: Any, y: Any) -> FloatArray:
    return np.array([1.0 - score for score in model.staged_score(X, y)])


def reproduce_plane(settings: ReproductionSettings) -> Result:
    """R6: a diagonal boundary in two dimensions, which stumps can only approximate."""
    n_rounds, limit = 200, 50
    curves = []
    for seed in settings.seeds:
        X, y = draw_halves(1000, 2, seed)
        X_test, y_test = draw_halves(_N_TEST, 2, seed + 1000)
        curves.append(_trace_errors(_boost_stumps(X, y, n_rounds), X_test, y_test))
    traces = np.array(curves)
    first = (traces < 0.10).argmax(axis=1) + 1
    worst = float(traces[:, :limit].min(axis=1).max())
    lines = [
        Line(
            "test error falls below 10 %",
            "quickly",
            f"after {show_spread(first, 1)} rounds",
            f"below 10 % within {limit} rounds with every seed",
            worst < 0.10,
        ),
        Line(
            "one stump alone",
            "–",
            show_spread(traces[:, 0]),
            "worse than 10 % with every seed",
            bool((traces[:, 0] > 0.10).all()),
        ),
    ]
    rounds = np.arange(1, n_rounds + 1)
    curve = draw_curves(
        rounds, [("test error", traces.mean(axis=0))], ("rounds", "error"), "Mean test error over seeds"
    )
    setup = f"Gaussian features, label sign(x₁ + x₂), 1,000 training and {_N_TEST:,} test rows; AdaBoost of stumps."
    return Result("R6", "Boosted stumps in the plane", setup, lines, [curve])


def reproduce_ten_dimensions(settings: ReproductionSettings) -> Result:
    """R7: ten dimensions, 2,000 rows; boosted stumps against a large tree."""
    n_rounds = 1000
    curves, trees = [], []
    for seed in settings.seeds:
        X, y = draw_halves(2000, 10, seed)
        X_test, y_test = draw_halves(_N_TEST, 10, seed + 1000)
        curves.append(_trace_errors(_boost_stumps(X, y, n_rounds), X_test, y_test))
        trees.append(1.0 - DecisionTreeClassifier(random_state=seed).fit(X, y).score(X_test, y_test))
    traces, alone = np.array(curves), np.array(trees)
    last, ratio = traces[:, -1], alone / traces[:, -1]
    lines = [
        Line(
            "boosted stumps: test error",
            "below 10 %",
            show_spread(last),
            "below 10 % with every seed",
            bool((last < 0.1).all()),
        ),
        Line(
            "large tree: test error",
            "far worse",
            show_spread(alone),
            "above 20 % with every seed",
            bool((alone > 0.2).all()),
        ),
        Line(
            "error of the tree : boosted",
            "nearly ten",
            show_spread(ratio, 1),
            "mean ratio of the errors at least 5",
            bool(ratio.mean() >= 5.0),
        ),
    ]
    rounds = np.arange(1, n_rounds + 1)
    flat = np.full(n_rounds, alone.mean())
    title = "Mean test error over seeds"
    curve = draw_curves(
        rounds, [("boosted stumps", traces.mean(axis=0)), ("a large tree", flat)], ("rounds", "error"), title
    )
    setup = f"Gaussian features, label sign(x₁ + … + x₁₀), 2,000 training rows, {n_rounds:,} rounds; no pruning."
    return Result("R7", "Boosted stumps in ten dimensions", setup, lines, [curve])


def reproduce_long_run(settings: ReproductionSettings) -> Result:
    """R8: after the training error is zero, the exponential loss and the test error still fall."""
    n_rounds = 600
    training, losses, testing, zero = [], [], [], []
    for seed in settings.seeds:
        X, y = draw_halves(200, 10, seed)
        X_test, y_test = draw_halves(_N_TEST, 10, seed + 1000)
        model = _boost_stumps(X, y, n_rounds)
        training.append(_trace_errors(model, X, y))
        testing.append(_trace_errors(model, X_test, y_test))
        losses.append(model.exponential_loss_)
        zero.append(int(_find_last_error(training[-1]) + 1))
    reached = all(k < n_rounds - 1 for k in zero)
    fell = np.array([loss[-1] / loss[min(k, n_rounds - 1)] for loss, k in zip(losses, zero, strict=True)])
    change = np.array([test[-1] - test[min(k, n_rounds - 1)] for test, k in zip(testing, zero, strict=True)])
    error = float(change.std(ddof=1) / np.sqrt(len(change)))
    lines = [
        Line(
            "training error is zero",
            "from some M on",
            f"from round {show_spread(np.array(zero) + 1, 0)}",
            "reached with every seed",
            reached,
        ),
        Line(
            "exponential loss, end : then",
            "still falls",
            f"{fell.mean():.1e} on average",
            "smaller at the end than when the error became zero, with every seed",
            bool((fell < 1.0).all()),
        ),
        Line(
            "test error, end − then",
            "still falls",
            show_spread(change, 4),
            "mean change below zero by two standard errors",
            bool(change.mean() < -2.0 * error),
        ),
    ]
    rounds = np.arange(1, n_rounds + 1)
    curves = [
        ("training error", np.mean(training, axis=0)),
        ("exponential loss", np.mean(losses, axis=0)),
        ("test error", np.mean(testing, axis=0)),
    ]
    figure = draw_curves(rounds, curves, ("rounds", "error or loss"), "Means over seeds")
    setup = f"The data of R7 with 200 training rows, which stumps can fit without error; {n_rounds} rounds of AdaBoost."
    return Result("R8", "Loss and errors by round", setup, lines, [figure])


def _find_last_error(errors: FloatArray) -> int:
    """The last round with a training error, counted from 0; -1 if there is none."""
    wrong = np.flatnonzero(errors > 0.0)
    return int(wrong[-1]) if len(wrong) else -1


def reproduce_letters(settings: ReproductionSettings) -> Result:
    """R12: the test error of boosted trees does not rise within a thousand rounds."""
    n_rounds = 1000
    name, n_leaves, parts = _find_letters()
    X, X_test, y, y_test = parts
    member = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0)
    model = AdaBoostClassifier(member, n_estimators=n_rounds, random_state=0, n_jobs=settings.jobs).fit(X, y)
    errors = _trace_errors(model, X_test, y_test)
    # Compared with a fixed round, 100: the minimum of a thousand noisy errors is biased downwards.
    last, early, middle = (float(errors[min(k, len(errors)) - 1]) for k in (n_rounds, 5, 100))
    spread = float(np.sqrt(max(middle * (1.0 - middle), 1e-9) / len(y_test)))
    lines = [
        Line(
            "test error after 1000 rounds",
            "does not rise",
            f"{last:.4f} (round 100: {middle:.4f}, least {errors.min():.4f})",
            "at most one binomial standard error above the error after 100 rounds",
            last <= middle + spread and len(errors) == n_rounds,
        ),
        Line(
            "test error after 5 rounds",
            "larger",
            f"{early:.4f}",
            "larger than after 1000 rounds",
            early > last,
        ),
    ]
    rounds = np.arange(1, len(errors) + 1)
    figure = draw_curves(rounds, [("test error", errors)], ("rounds", "error"), f"Test error on {name}")
    setup = (
        f"{name}: {len(y):,} training and {len(y_test):,} test rows; SAMME of trees with {n_leaves} leaves, one run."
    )
    return Result("R12", "A thousand rounds of trees", setup, lines, [figure])


def _find_letters() -> tuple[str, int, Any]:
    """Name of the table, leaves of a tree, and training and test rows."""
    try:
        X, y = split_target(load_parquet_table("letter"))
    except MissingDataError:
        X, y = load_digits(return_X_y=True)
        # 256 leaves would fit these few rows without an error, and boosting would end with the first tree.
        return "digits of scikit-learn (no letter.parquet found)", 32, train_test_split(X, y, random_state=0)
    return "letter", 256, (X[:16_000], X[16_000:], y[:16_000], y[16_000:])
