"""R1, R2 and R5: voting, bagging and AdaBoost on two moons."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier as PeerBag
from sklearn.ensemble import RandomForestClassifier as PeerForest
from sklearn.ensemble import VotingClassifier as PeerVote
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier as PeerTree

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


def _score_members(hard: Any, soft: Any) -> dict[str, float]:
    """Fit both votes; the accuracy of the members and of the votes."""
    X, X_test, y, y_test = draw_moons()
    hard.fit(X, y)
    found = {
        name: float((member.predict(X_test) == y_test).mean())
        for (name, _), member in zip(hard.estimators, hard.estimators_, strict=True)
    }
    found["hard vote"] = float(hard.score(X_test, y_test))
    found["soft vote"] = float(soft.fit(X, y).score(X_test, y_test))
    return found


def _score_votes(seed: int, jobs: int | None) -> tuple[VotingClassifier, dict[str, float]]:
    forest = RandomForestClassifier(random_state=seed, n_jobs=jobs)
    members = [("logistic", LogisticRegression()), ("forest", forest), ("SVC", SVC(random_state=42))]
    soft = VotingClassifier(members, voting="soft", calibration="sigmoid")
    return soft, _score_members(VotingClassifier(members), soft)


def _score_peer_votes(seed: int) -> dict[str, float]:
    """The same with scikit-learn's classes."""
    members = [("logistic", LogisticRegression()), ("forest", PeerForest(random_state=seed)), ("SVC", SVC())]
    platt = [*members[:2], ("SVC", CalibratedClassifierCV(SVC(), ensemble=False))]
    return _score_members(PeerVote(members), PeerVote(platt, voting="soft"))


def reproduce_votes(settings: ReproductionSettings) -> Result:
    """R1: three different members, with hard and soft voting."""
    published = {"logistic": 0.864, "forest": 0.896, "SVC": 0.896, "hard vote": 0.912, "soft vote": 0.920}
    runs = [_score_votes(seed, settings.jobs) for seed in settings.seeds]
    peers = [_score_peer_votes(seed) for seed in settings.seeds]
    found = {name: [scores[name] for _, scores in runs] for name in published}
    lines = [
        compare_value(f"accuracy: {name}", value, found[name], [scores[name] for scores in peers])
        for name, value in published.items()
    ]
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
    X, _, y, _ = draw_moons()
    return Result(
        "R1", "Hard and soft votes on moons", setup, lines, [draw_boundary(runs[-1][0], X, y, "The soft vote")]
    )


def _fit_bags(tree: Any, bag: Any, **params: Any) -> tuple[list[Any], list[float]]:
    """A tree, a bag on 100 rows each and one on bootstrap samples; the six numbers that are published of them."""
    X, X_test, y, y_test = draw_moons()
    seed = params["random_state"]
    alone = clone(tree).set_params(random_state=seed).fit(X, y)
    small = bag(clone(tree), n_estimators=500, max_samples=100, **params).fit(X, y)
    full = bag(clone(tree), n_estimators=500, oob_score=True, **params).fit(X, y)
    scores = [model.score(rows, labels) for model in (alone, small) for rows, labels in ((X_test, y_test), (X, y))]
    return [alone, small, full], [*scores, full.oob_score_, full.score(X_test, y_test)]


def reproduce_bags(settings: ReproductionSettings) -> Result:
    """R2: a single tree, bagging of trees on 100 rows each, bagging on full bootstrap samples."""
    member = DecisionTreeClassifier(exact=True)  # 375 rows have more values than there are bins
    runs = [_fit_bags(member, BaggingClassifier, random_state=s, n_jobs=settings.jobs) for s in settings.seeds]
    found = np.array([scores for _, scores in runs])
    peers = np.array([_fit_bags(PeerTree(), PeerBag, random_state=s)[1] for s in settings.seeds])
    published = [
        ("accuracy: tree", 0.856),
        ("tree, training rows", 1.0),
        ("bag on 100 rows each", 0.904),
        ("the same, training rows", 0.939),
        ("bootstraps, out of bag", 0.899),
        ("bootstraps, test rows", 0.912),
    ]
    lines = [compare_value(what, value, found[:, k], peers[:, k]) for k, (what, value) in enumerate(published)]
    X, _, y, _ = draw_moons()
    figures = [
        draw_boundary(runs[0][0][0], X, y, "A single tree overfits single rows"),
        draw_boundary(runs[0][0][2], X, y, "Bagging of 500 trees has a smoother boundary"),
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
