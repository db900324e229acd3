"""R1, R2 and R5: voting, bagging and AdaBoost on two moons."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from committee import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionStumpClassifier,
    DecisionTreeClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from committee.cli.reproduce.figures import draw_boundary
from committee.cli.reproduce.results import Line, ReproductionSettings, Result, compare_value, show_spread
from committee.cli.reproduce.sources import draw_moons

# Data sets per seed for the comparison of two AdaBoost variants, whose difference is small.
_MOONS = 5

__all__ = ["reproduce_bags", "reproduce_overfitting", "reproduce_votes"]


def reproduce_votes(settings: ReproductionSettings) -> Result:
    """R1: three different members, with hard and soft voting."""
    X, X_test, y, y_test = draw_moons()
    published = {"logistic": 0.864, "forest": 0.896, "SVC": 0.896, "hard vote": 0.912, "soft vote": 0.920}
    found: dict[str, list[float]] = {name: [] for name in published}
    for seed in settings.seeds:
        forest = RandomForestClassifier(random_state=seed, n_jobs=settings.jobs)
        members = [("logistic", LogisticRegression()), ("forest", forest), ("SVC", SVC(random_state=42))]
        hard = VotingClassifier(members).fit(X, y)
        soft = VotingClassifier(members, voting="soft", calibration="sigmoid").fit(X, y)
        for (name, _), member in zip(members, hard.estimators_, strict=True):
            found[name].append(float((member.predict(X_test) == y_test).mean()))
        found["hard vote"].append(float(hard.score(X_test, y_test)))
        found["soft vote"].append(float(soft.score(X_test, y_test)))
    lines = [compare_value(f"accuracy: {name}", value, found[name]) for name, value in published.items()]
    best = max(float(np.mean(found[name])) for name in ("logistic", "forest", "SVC"))
    votes = [float(np.mean(found[name])) for name in ("hard vote", "soft vote")]
    ours = f"{min(votes):.3f} and {max(votes):.3f} against {best:.3f}"
    lines.append(
        Line(
            "both votes beat the members",
            "yes",
            ours,
            "mean of each vote ≥ mean of the best member",
            min(votes) >= best,
        )
    )
    setup = (
        "500 rows, noise 0.30, seed 42; 375 training and 125 test rows. Only the forest depends on the seed; the other "
        "members are scikit-learn's and deterministic. For soft voting the SVC is calibrated by Platt scaling."
    )
    return Result("R1", "Hard and soft votes on moons", setup, lines, [draw_boundary(soft, X, y, "The soft vote")])


def reproduce_bags(settings: ReproductionSettings) -> Result:
    """R2: a single tree, bagging of trees on 100 rows each, bagging on full bootstrap samples."""
    X, X_test, y, y_test = draw_moons()
    member = DecisionTreeClassifier(exact=True)  # 375 rows have more values than there are bins
    trees, small, full = [], [], []
    for seed in settings.seeds:
        params: dict[str, Any] = {"n_estimators": 500, "random_state": seed, "n_jobs": settings.jobs}
        trees.append(DecisionTreeClassifier(exact=True, random_state=seed).fit(X, y))
        small.append(BaggingClassifier(member, max_samples=100, **params).fit(X, y))
        full.append(BaggingClassifier(member, oob_score=True, **params).fit(X, y))
    lines = [
        compare_value("accuracy: tree", 0.856, [tree.score(X_test, y_test) for tree in trees]),
        compare_value("tree, training rows", 1.0, [tree.score(X, y) for tree in trees]),
        compare_value("bag on 100 rows each", 0.904, [bag.score(X_test, y_test) for bag in small]),
        compare_value("the same, training rows", 0.939, [bag.score(X, y) for bag in small]),
        compare_value("bag of bootstraps, out of bag", 0.8987, [bag.oob_score_ for bag in full], 4),
        compare_value("bag of bootstraps, test", 0.912, [bag.score(X_test, y_test) for bag in full]),
    ]
    figures = [
        draw_boundary(trees[0], X, y, "A single tree overfits single rows"),
        draw_boundary(full[0], X, y, "Bagging of 500 trees has a smoother boundary"),
    ]
    setup = "The data of R1. Bagging of 500 trees with exact thresholds and no pruning."
    return Result("R2", "Bagging trees on moons", setup, lines, figures)


def reproduce_overfitting(settings: ReproductionSettings) -> Result:
    """R5: AdaBoost of 200 stumps with learning rate 0.5, SAMME and SAMME.R."""
    gaps: dict[Literal["samme", "samme.r"], list[float]] = {"samme": [], "samme.r": []}
    figures = []
    for seed in (42, *range(1, _MOONS * settings.n_seeds)):
        X, X_test, y, y_test = draw_moons(seed)
        for algorithm, found in gaps.items():
            stump = DecisionStumpClassifier(exact=True)
            model = AdaBoostClassifier(stump, n_estimators=200, learning_rate=0.5, algorithm=algorithm).fit(X, y)
            found.append(float(model.score(X, y) - model.score(X_test, y_test)))
            if seed == 42:
                figures.append(draw_boundary(model, X, y, f"{algorithm.upper()}, 200 stumps, η = 0.5"))
    more = np.array(gaps["samme.r"]) - np.array(gaps["samme"])
    error = float(more.std(ddof=1) / np.sqrt(len(more)))
    lines = [
        Line(
            "SAMME.R overfits more",
            "yes",
            f"{show_spread(gaps['samme.r'])} > {show_spread(gaps['samme'])}",
            "mean of (training − test accuracy) larger for SAMME.R, by two standard errors of the paired difference "
            f"(here {more.mean():.4f}, standard error {error:.4f})",
            bool(more.mean() > 2.0 * error),
        )
    ]
    setup = (
        "200 stumps, learning rate 0.5. Stumps are deterministic, so each seed stands for five data sets and splits; "
        "the first is the published one (seed 42), which is shown."
    )
    return Result("R5", "AdaBoost on moons: SAMME.R against SAMME", setup, lines, figures)
