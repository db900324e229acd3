"""R14 to R16: trees of few leaves, naive Bayes and calibrated probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, make_classification, make_moons
from sklearn.ensemble import RandomForestClassifier as PeerForest
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB as PeerBayes
from sklearn.tree import DecisionTreeClassifier as PeerTree

from committee import (
    AdaBoostClassifier,
    BernoulliNB,
    DecisionTreeClassifier,
    RandomForestClassifier,
    SingleFeatureNB,
)
from committee.cli.report.charts import draw_bars
from committee.cli.report.markup import make_figure
from committee.cli.reproduce.figures import draw_curves
from committee.cli.reproduce.results import AGREES, Line, ReproductionSettings, Result, compare_value, show_spread
from committee.typing import FloatArray

__all__ = ["reproduce_calibration", "reproduce_naive_bayes", "reproduce_small_trees"]

_LEAVES, _TREES, _ROWS = 17, 1000, 100
_CALIBRATED_TREES = 60
_SIZES = (2, 4, 8, 17, 40, 100, 300, 1000)


def _show_fall(what: str, before: FloatArray, after: FloatArray) -> Line:
    """Whether numbers fall from one model to another, by their differences for each seed."""
    fall = before - after
    error = float(fall.std(ddof=1) / np.sqrt(len(fall)))
    ours = f"{before.mean():.3f} to {after.mean():.3f}"
    criterion = f"mean fall above two standard errors of it (here {fall.mean():.4f}, standard error {error:.4f})"
    return Line(what, "falls", ours, criterion, bool(fall.mean() > 2.0 * error))


def _score_small_trees(tree: Any, seed: int) -> list[float]:
    """Accuracy of one tree, mean accuracy of trees on few rows each, and that of their majority."""
    X, X_test, y, y_test = _draw_many_moons(seed)
    rng = np.random.default_rng(seed)
    votes = np.zeros(len(y_test))
    accuracies = []
    for _ in range(_TREES):
        rows = rng.choice(len(y), _ROWS, replace=False)
        predicted = tree.fit(X[rows], y[rows]).predict(X_test)
        votes += predicted
        accuracies.append((predicted == y_test).mean())
    alone = float(tree.fit(X, y).score(X_test, y_test))
    return [alone, float(np.mean(accuracies)), float(((votes > _TREES / 2) == y_test).mean())]


def _draw_many_moons(seed: int) -> list[Any]:
    published = seed or 42  # the first data set is the published one
    X, y = make_moons(n_samples=10_000, noise=0.4, random_state=published)
    return list(train_test_split(X, y, test_size=0.2, random_state=published))


def reproduce_small_trees(settings: ReproductionSettings) -> Result:
    """R14: a tree of 17 leaves, a thousand such trees on 100 rows each, and error by number of leaves."""
    params: dict[str, Any] = {"max_leaf_nodes": _LEAVES, "random_state": 0}
    found = np.array([_score_small_trees(DecisionTreeClassifier(exact=True, **params), s) for s in settings.seeds])
    peers = np.array([_score_small_trees(PeerTree(**params), s) for s in settings.seeds])
    published = [("accuracy: 17 leaves", 0.8695), ("mean of trees on 100 rows", 0.8054), ("their majority", 0.872)]
    lines = [compare_value(what, value, found[:, k], peers[:, k]) for k, (what, value) in enumerate(published)]
    curves = np.zeros((2, settings.n_seeds, len(_SIZES)))
    for seed in settings.seeds:
        X, X_test, y, y_test = _draw_many_moons(seed)
        for k, n_leaves in enumerate(_SIZES):
            tree = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0).fit(X, y)
            curves[:, seed, k] = 1.0 - tree.score(X, y), 1.0 - tree.score(X_test, y_test)
    lines.append(_show_fall("error: 1000 leaves, 17 leaves", curves[1, :, -1], curves[1, :, _SIZES.index(_LEAVES)]))
    means = curves.mean(axis=1)
    title = "Mean error over seeds by number of leaves"
    shown = [("training error", means[0]), ("test error", means[1])]
    setup = (
        "10,000 rows of moons, noise 0.4, 2,000 of them for the test; the first data set is the published one (seed "
        "42), other seeds draw others. 17 leaves are what the published search chose. 1,000 trees on 100 rows each."
    )
    figure = draw_curves(_SIZES, shown, ("leaves", "error"), title)
    return Result("R14", "Trees of few leaves on moons", setup, lines, [figure])


def reproduce_naive_bayes(settings: ReproductionSettings) -> Result:
    """R15: naive Bayes is accurate, too sure [DomingosPazzani1997], and boosted on single features better."""
    X, y = load_breast_cancer(return_X_y=True)
    scores: dict[str, list[float]] = {name: [] for name in ("all", "peer", "sure", "one", "boosted")}
    for seed in settings.seeds:
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
        middle = np.median(train, axis=0)
        model = BernoulliNB().fit(train > middle, y_train)
        scores["all"].append(1.0 - model.score(test > middle, y_test))
        scores["peer"].append(1.0 - PeerBayes().fit(train > middle, y_train).score(test > middle, y_test))
        scores["sure"].append(1.0 - float(model.predict_proba(test > middle).max(axis=1).mean()))
        one = SingleFeatureNB()
        scores["one"].append(1.0 - one.fit(train, y_train).score(test, y_test))
        scores["boosted"].append(1.0 - AdaBoostClassifier(one, n_estimators=40).fit(train, y_train).score(test, y_test))
    found = {name: np.array(values) for name, values in scores.items()}
    same = bool(np.allclose(found["all"], found["peer"], atol=1e-12))
    error = Line("error of Bernoulli NB", "–", show_spread(found["all"]), AGREES, same, show_spread(found["peer"]))
    lines = [
        error,
        _show_fall("its error, and as it believes", found["all"], found["sure"]),
        _show_fall("one feature: alone, boosted", found["one"], found["boosted"]),
        _show_fall("all features, boosted single", found["all"], found["boosted"]),
    ]
    names = ["Bernoulli NB", "as it believes", "one feature", "boosted"]
    bars = np.array([found[name] for name in ("all", "sure", "one", "boosted")])
    title = "Test error, mean over seeds ± standard deviation"
    chart = draw_bars(names, bars.mean(axis=1), "error", title, errors=bars.std(axis=1, ddof=1))
    setup = (
        "Breast cancer, half of the rows for the test. Bernoulli naive Bayes learns whether a feature is above its "
        "median. The error as it believes is 1 − the mean probability of the predicted class: published is that it is "
        "too small (Domingos and Pazzani 1997), and that boosting beats naive Bayes (Schapire and Singer 2000). "
        "40 rounds of AdaBoost."
    )
    return Result("R15", "Naive Bayes, alone and boosted", setup, lines, [make_figure(chart, title)])


def _measure_brier(model: Any, parts: list[Any]) -> float:
    train, test, y_train, y_test = parts
    return float(((model.fit(train, y_train).predict_proba(test)[:, 1] - y_test) ** 2).mean())


def reproduce_calibration(settings: ReproductionSettings) -> Result:
    """R16: the Brier score of forests, AdaBoost and naive Bayes falls by calibration [NiculescuMizilCaruana2005]."""
    rows = []
    for seed in settings.seeds:
        X, y = make_classification(4000, 20, n_informative=6, n_redundant=4, flip_y=0.1, random_state=seed)
        parts = list(train_test_split(X, y, train_size=1500, random_state=seed))
        params: dict[str, Any] = {"n_estimators": _CALIBRATED_TREES, "random_state": seed}
        forest = RandomForestClassifier(**params, n_jobs=settings.jobs)
        boosted = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=50)
        models = [
            forest,
            RandomForestClassifier(**params, calibration="isotonic", n_jobs=settings.jobs),
            PeerForest(**params),
            CalibratedClassifierCV(PeerForest(**params), method="isotonic", ensemble=False),
            boosted,
            CalibratedClassifierCV(boosted, ensemble=False),
            BernoulliNB(),
            CalibratedClassifierCV(BernoulliNB(), method="isotonic", ensemble=False),
        ]
        rows.append([_measure_brier(model, parts) for model in models])
    found = np.array(rows).T
    lines = [_show_fall("forest, isotonic out of bag", found[0], found[1])]
    for what, ours, theirs in (("Brier score: forest", 0, 2), ("forest, calibrated", 1, 3)):
        near = compare_value(what, 0.0, found[ours], found[theirs])
        lines.append(Line(what, "–", near.ours, near.criterion, near.passed, near.scikit_learn))
    lines.append(_show_fall("AdaBoost of trees, Platt", found[4], found[5]))
    lines.append(_show_fall("Bernoulli NB, isotonic", found[6], found[7]))
    shown = found[[0, 1, 4, 5, 6, 7]]
    names = ["forest", "calibrated", "AdaBoost", "with Platt", "naive Bayes", "isotonic"]
    title = "Brier score, mean over seeds ± standard deviation"
    chart = draw_bars(names, shown.mean(axis=1), "Brier score", title, errors=shown.std(axis=1, ddof=1))
    setup = (
        "Niculescu-Mizil and Caruana (2005) find that calibration lowers the squared error of probabilities of "
        "boosting, forests and naive Bayes. Here with drawn tables, a new one for each seed: 20 features, 10 % of the "
        "classes drawn anew, 1,500 training and 2,500 test rows. AdaBoost has 50 trees of depth 3. With stumps "
        "Platt scaling changes nothing here, since the probabilities are a logistic function of the scores already."
    )
    return Result("R16", "Brier scores before and after calibration", setup, lines, [make_figure(chart, title)])
