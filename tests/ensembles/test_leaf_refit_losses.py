"""Leaf values that follow new rows, for every kind of loss, beside a twin that goes from leaf to leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from scipy.special import polygamma
from scipy.stats import norm
from sklearn.datasets import load_diabetes

import committee
from committee import (
    DistributionalBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvivalAnalysis,
    HistGradientBoostingRegressor,
    OrdinalGradientBoostingClassifier,
    RandomSurvivalForest,
    make_survival_target,
)
from committee.ensembles.boosting.ordinal_loss import OrdinalLoss
from committee.exceptions import DataError, ParameterError
from committee.learners.tree_rows import apply_trees
from tests.naive import boosting, distributions, ordinal, ranking, survival

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
FindValue: TypeAlias = Callable[[int, Any], float]
X_VALUES, Y_VALUES = load_diabetes(return_X_y=True)
FEW = {"n_estimators": 6, "max_leaf_nodes": 5, "max_depth": None, "min_samples_leaf": 8, "random_state": 0}


def follow_rows(model: Any, X: Any, start: Floats, decay: float, begin_round: Callable[[Floats], FindValue]) -> Floats:
    """Scores of new rows by leaves that follow them. `begin_round` finds, from the scores, values of leaves by rows."""
    trees, scores = model.fitted_trees(), start.copy()
    leaves, per_round = apply_trees(trees, X, 1), model._count_trees_per_round()
    for first in range(0, trees.n_trees, per_round):
        find = begin_round(scores.copy())
        for tree in range(first, first + per_round):
            old = np.asarray(trees.select(tree, tree + 1).predict(X, "sum")).reshape(len(X), -1)
            for leaf in np.unique(leaves[:, tree]):
                rows = leaves[:, tree] == leaf
                for k in range(old.shape[1]):
                    slot = k if trees.width > 1 else tree - first
                    scores[rows, slot] += decay * old[rows][0, k] + (1.0 - decay) * find(slot, rows)
    return scores


def find_steps(g: Floats, h: Floats, weights: Floats, rate: float, lam: float) -> FindValue:
    def find(slot: int, rows: Any) -> float:
        own = weights[rows]
        return float(-rate * (own @ g[rows, slot]) / (own @ h[rows, slot] + lam))

    return find


def split_rows(n: int, seed: int = 5) -> tuple[Any, Any, Any]:
    """Old rows, new rows, and weights of the new ones."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    return order[: n // 2], order[n // 2 :], rng.integers(0, 4, n - n // 2).astype(float)


# --- quantiles of residuals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber"])
@pytest.mark.parametrize("decay", [0.0, 0.7])
def test_residuals_of_new_rows_renew_the_leaves(loss: str, decay: float) -> None:
    old, new, weights = split_rows(len(X_VALUES))
    model = GradientBoostingRegressor(loss=loss, alpha=0.3, **FEW).fit(X_VALUES[old], Y_VALUES[old])
    X, y = X_VALUES[new], 1.5 * Y_VALUES[new] + 20.0

    def begin_round(scores: Floats) -> FindValue:
        residuals = y - scores[:, 0]
        present = weights > 0.0
        delta = boosting.find_quantile(np.abs(residuals)[present], weights[present], 0.3)

        def find(_: int, rows: Any) -> float:
            if not weights[rows].any():
                return float(np.nan)  # no row: the leaf stays
            own = residuals[rows & present], weights[rows & present]
            if loss == "huber":
                return 0.1 * boosting.find_huber_step(*own, delta)
            return 0.1 * boosting.find_quantile(*own, 0.3 if loss == "quantile" else 0.5)

        return find

    expected = follow_rows(model, X, np.tile(model._baseline, (len(X), 1)), decay, begin_round)
    found = model.refit_leaves(X, y, weights, decay_rate=decay).predict(X)
    known = np.isfinite(expected[:, 0])
    assert known.mean() > 0.9
    np.testing.assert_allclose(found[known], expected[known, 0], rtol=1e-9)


class Squared:
    """Half of the squared error as a user writes it."""

    def gradient(self, y: Floats, scores: Floats) -> Floats:
        return scores - y

    def hessian(self, y: Floats, scores: Floats) -> Floats:
        return np.ones_like(scores)

    def value(self, y: Floats, scores: Floats) -> Floats:
        return np.asarray((scores - y) ** 2 / 2.0)


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(loss="absolute_error", **FEW),
        GradientBoostingRegressor(loss="huber", **FEW),
        GradientBoostingRegressor(loss="quantile", alpha=[0.1, 0.5, 0.9], **FEW),
        GradientBoostingRegressor(loss="absolute_error", multi_strategy="multi_output_tree", **FEW),
        GradientBoostingRegressor(loss=Squared(), **FEW),
        GradientBoostingRegressor(reg_alpha=30.0, reg_lambda=2.0, **FEW),
        HistGradientBoostingRegressor(loss="quantile", quantile=0.8, max_iter=6),
    ],
    ids=["absolute", "huber", "levels", "vectors", "custom", "l1", "hist"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_training_rows_give_the_leaves_that_there_are(model: Any, weighted: bool) -> None:
    vectors = getattr(model, "multi_strategy", "") == "multi_output_tree"
    y = np.column_stack([Y_VALUES, -2.0 * Y_VALUES]) if vectors else Y_VALUES
    weights = np.random.default_rng(0).integers(0, 3, len(y)) * 0.5 if weighted else None
    model.fit(X_VALUES, y, weights)
    again = model.refit_leaves(X_VALUES, y, weights, decay_rate=0.0)
    np.testing.assert_allclose(again.predict(X_VALUES), model.predict(X_VALUES), rtol=1e-6)
    same = model.refit_leaves(X_VALUES, y, weights, decay_rate=1.0)
    np.testing.assert_array_equal(same.predict(X_VALUES), model.predict(X_VALUES))


def test_several_class_targets() -> None:
    X, y = X_VALUES, np.column_stack([Y_VALUES > 150.0, np.digitize(Y_VALUES, [100.0, 200.0])])
    model = GradientBoostingClassifier(**FEW).fit(X, y)
    again = model.refit_leaves(X, y, decay_rate=0.0)
    for found, expected in zip(again.predict_proba(X), model.predict_proba(X), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-7)
    with pytest.raises(DataError, match="1 targets and the model 2"):
        model.refit_leaves(X, y[:, 0])


# --- rankings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["lambdarank", "pairwise", "listwise"])
def test_leaves_follow_new_queries(loss: str) -> None:
    rng = np.random.default_rng(1)
    X, qid = rng.normal(size=(400, 4)), np.repeat(np.arange(40), 10)
    y = np.clip(np.round(X[:, 0] + X[:, 1]), 0, 4)
    model = GradientBoostingRanker(loss=loss, reg_lambda=0.5, learning_rate=0.3, **FEW)
    model.fit(X[:200], y[:200], qid=qid[:200])
    again = model.refit_leaves(X[:200], y[:200], qid=qid[:200], decay_rate=0.0)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-6, atol=1e-8)
    order = 200 + rng.permutation(200)
    X_new, y_new, q_new = X[order], 4.0 - y[order], qid[order]
    weights = 1.0 + q_new % 3.0

    def begin_round(scores: Floats) -> FindValue:
        g, h = np.zeros((200, 1)), np.zeros((200, 1))
        for q in np.unique(q_new):
            rows = q_new == q
            g[rows, 0], h[rows, 0] = getattr(ranking, loss)(y_new[rows], scores[rows, 0])
        return find_steps(g, h, weights, 0.3, 0.5)

    expected = follow_rows(model, X_new, np.zeros((200, 1)), 0.4, begin_round)
    moved = model.refit_leaves(X_new, y_new, weights, qid=[f"q{q:02d}" for q in q_new], decay_rate=0.4)
    np.testing.assert_allclose(moved.predict(X_new), expected[:, 0], rtol=1e-6, atol=1e-8)
    turned = model.refit_leaves(X_new, y_new, qid=q_new, decay_rate=0.0)
    assert turned.score(X_new, y_new, qid=q_new) > model.score(X_new, y_new, qid=q_new) + 0.2
    with pytest.raises(DataError, match="'qid'"):
        model.refit_leaves(X_new, y_new, qid=q_new[:5])
    with pytest.raises(DataError, match="relevances from 0"):
        model.refit_leaves(X_new, -y_new, qid=q_new)


# --- levels and distributions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["logit", "cloglog"])
def test_leaves_and_thresholds_follow_new_levels(link: str, tmp_path: Any) -> None:
    names = np.array(["low", "mid", "high"])
    labels = np.digitize(Y_VALUES, [100.0, 200.0])
    old, new, weights = split_rows(len(labels))
    model = OrdinalGradientBoostingClassifier(link=link, levels=names, reg_lambda=1.0, learning_rate=0.2, **FEW)
    model.fit(X_VALUES[old], names[labels[old]])
    again = model.refit_leaves(X_VALUES[old], names[labels[old]], decay_rate=0.0)
    for found, wanted in zip(again.staged_predict_proba(X_VALUES), model.staged_predict_proba(X_VALUES), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-7)
    X, y = X_VALUES[new], np.minimum(labels[new] + (X_VALUES[new, 0] > 0.0), 2)
    bound: Any = OrdinalLoss(link, 3).bind(y[:, None].astype(float), weights)
    history = []

    def begin_round(scores: Floats) -> FindValue:
        thresholds = bound.fit_thresholds(scores)
        history.append(thresholds)
        pairs = np.array([ordinal.differentiate(link, k, s, thresholds) for k, s in zip(y, scores[:, 0], strict=True)])
        return find_steps(pairs[:, :1], pairs[:, 1:], weights, 0.2, 1.0)

    expected = follow_rows(model, X, np.tile(model._baseline, (len(X), 1)), 0.6, begin_round)
    moved = model.refit_leaves(X, names[y], weights, decay_rate=0.6)
    np.testing.assert_allclose(moved.predict_score(X), expected[:, 0], rtol=1e-4, atol=1e-6)
    last = np.stack([*history[1:], bound.fit_thresholds(expected)])
    blended = 0.6 * model._ordinal_link.thresholds + 0.4 * last
    np.testing.assert_allclose(moved._ordinal_link.thresholds, blended, atol=1e-4)
    np.testing.assert_array_equal(moved.thresholds_, moved._ordinal_link.thresholds[-1])
    committee.save(moved, tmp_path / "m")
    np.testing.assert_array_equal(committee.load(tmp_path / "m").predict_proba(X), moved.predict_proba(X))
    with pytest.raises(DataError, match=r"every level.*none of 'high'"):
        model.refit_leaves(X, names[np.minimum(y, 1)])
    same = model.refit_leaves(X, names[y], decay_rate=1.0)
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", ["normal", "lognormal", "negative_binomial"])
def test_leaves_of_distributions_follow_new_rows(name: Any) -> None:
    old, new, weights = split_rows(len(Y_VALUES))
    model = DistributionalBoostingRegressor(distribution=name, reg_lambda=1.0, learning_rate=0.2, **FEW)
    model.fit(X_VALUES[old], Y_VALUES[old])
    again = model.refit_leaves(X_VALUES[old], Y_VALUES[old], decay_rate=0.0)
    np.testing.assert_allclose(again._raw_predict(X_VALUES), model._raw_predict(X_VALUES), rtol=1e-6, atol=1e-8)
    X, y = X_VALUES[new], np.round(0.5 * Y_VALUES[new])

    def begin_round(scores: Floats) -> FindValue:
        slopes = np.array([distributions.differentiate(name, v, *own) for v, own in zip(y, scores, strict=True)])
        m, r = np.exp(scores[:, 0]), np.exp(-scores[:, 1])
        if name == "negative_binomial":
            bound = (m / (r + m)) ** 2 * r * (r * polygamma(1, r) - 1.0)
            return find_steps(slopes, np.column_stack([m * r / (r + m), bound]), weights, 0.2, 1.0)
        information = np.array([distributions.find_information(name, *own) for own in scores])
        return find_steps(slopes / information, np.ones_like(slopes), weights, 0.2, 1.0)

    expected = follow_rows(model, X, np.tile(model._baseline, (len(X), 1)), 0.3, begin_round)
    found = model.refit_leaves(X, y, weights, decay_rate=0.3)._raw_predict(X)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


# --- censored times ------------------------------------------------------------------------------------------------


def draw_times(n: int = 300, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    time, censoring = rng.exponential(np.exp(-X[:, 0])), rng.exponential(1.5, size=n)
    event, time = time <= censoring, np.minimum(time, censoring).round(2) + 0.01
    return X, make_survival_target(event, time), event, time


def differentiate_cox(event: Any, time: Any, weights: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Gradients and hessians of Cox's partial likelihood with Breslow's ties, row by row and event by event."""
    hazards = np.exp(scores[:, 0])
    g, h = np.where(event, -1.0, 0.0), np.zeros(len(time))
    for j in np.flatnonzero(event):
        at_risk = time >= time[j]
        share = at_risk * hazards / (weights * hazards)[at_risk].sum()
        g += weights[j] * share
        h += weights[j] * share * (1.0 - share)
    return g[:, None], h[:, None]


def differentiate_aft(event: Any, time: Any, scores: Floats) -> tuple[Floats, Floats]:
    """Of log-normal times with the scale 0.7, by differences."""

    def lose(f: Floats) -> Floats:
        z = (np.log(time) + f) / 0.7
        return np.asarray(np.where(event, -norm.logpdf(z), -norm.logsf(z)))

    f, step = scores[:, 0], 1e-4
    up, at, down = lose(f + step), lose(f), lose(f - step)
    return ((up - down) / (2 * step))[:, None], ((up - 2 * at + down) / step**2)[:, None]


def differentiate_hazards(event: Any, time: Any, ends: Floats, scores: Floats) -> tuple[Floats, Floats]:
    g, h = np.zeros_like(scores), np.zeros_like(scores)
    for i, own in enumerate(time):
        for k, end in enumerate(ends):
            died = event[i] and own <= end and (k == 0 or own > ends[k - 1])
            if own > end or died:
                p = 1.0 / (1.0 + np.exp(-scores[i, k]))
                g[i, k], h[i, k] = p - died, p * (1.0 - p)
    return g, h


SURVIVAL = {
    "cox": {"loss": "cox"},
    "aft": {"loss": "aft", "scale": 0.7},
    "hazard": {"loss": "hazard", "n_intervals": 4},
}


@pytest.mark.parametrize("kind", SURVIVAL)
def test_leaves_and_curves_follow_new_events(kind: str, tmp_path: Any) -> None:
    X, y, _, _ = draw_times()
    options = {"n_estimators": 5, "learning_rate": 0.2, "l2_regularization": 1.0, "max_depth": 2}
    model: Any = GradientBoostingSurvivalAnalysis(**SURVIVAL[kind], **options).fit(X, y)
    at = np.quantile(y["time"], [0.2, 0.5, 0.8])
    again = model.refit_leaves(X, y, decay_rate=0.0)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-6, atol=1e-8)
    curves = model.predict_survival_function(X, at)
    np.testing.assert_allclose(again.predict_survival_function(X, at), curves, rtol=1e-6)
    X_new, y_new, event, time = draw_times(120, 1)
    weights = np.random.default_rng(2).integers(1, 3, 120).astype(float)

    def begin_round(scores: Floats) -> FindValue:
        if kind == "cox":
            g, h = differentiate_cox(event, time, weights, scores)
        elif kind == "aft":
            g, h = differentiate_aft(event, time, scores)
        else:
            g, h = differentiate_hazards(event, time, model.event_times_, scores)
        return find_steps(g, h, weights, 0.2, 1.0)

    expected = follow_rows(model, X_new, np.tile(model._baseline, (120, 1)), 0.3, begin_round)
    moved = model.refit_leaves(X_new, y_new, weights, decay_rate=0.3)
    np.testing.assert_allclose(moved._raw_predict(X_new), expected, rtol=1e-4, atol=1e-5)
    same = model.refit_leaves(X_new, y_new, decay_rate=1.0)
    np.testing.assert_array_equal(same.predict_survival_function(X, at), curves)
    if kind == "cox":
        hazards = np.exp(expected[:, 0])
        steps = [
            weights[event & (time == t)].sum() / (weights * hazards)[time >= t].sum() * (t <= at[1])
            for t in np.unique(time[event])
        ]
        base = 0.3 * model._link.find_hazards(np.zeros((1, 1)), at[1:2])[0, 0] + 0.7 * np.sum(steps)
        found = moved.predict_cumulative_hazard_function(X_new, at[1:2])
        np.testing.assert_allclose(found[:, 0], base * hazards, rtol=1e-5)
        known = np.union1d(model.event_times_, time[event])
        np.testing.assert_array_equal(moved.event_times_, known)
    committee.save(moved, tmp_path / "m")
    np.testing.assert_array_equal(committee.load(tmp_path / "m").predict(X), moved.predict(X))
    with pytest.raises(DataError, match="at least one observed event"):
        model.refit_leaves(X_new, make_survival_target(np.zeros(120, bool), time))


@pytest.mark.parametrize("n_trees", [1, 4])
def test_hazards_in_leaves_follow_new_events(n_trees: int, tmp_path: Any) -> None:
    X, y, _, _ = draw_times()
    forest = RandomSurvivalForest(n_trees, bootstrap=False, min_samples_leaf=15, random_state=0).fit(X, y)
    again = forest.refit_leaves(X, y, decay_rate=0.0)
    np.testing.assert_array_equal(again.event_times_, forest.event_times_)
    np.testing.assert_allclose(again.predict(X), forest.predict(X), rtol=1e-12)
    np.testing.assert_allclose(again.predict_survival_function(X), forest.predict_survival_function(X), atol=1e-12)
    X_new, y_new, event, time = draw_times(150, 1)
    weights = np.random.default_rng(2).integers(0, 3, 150).astype(float)
    at, leaves = np.quantile(time, [0.1, 0.4, 0.9]), forest.apply(X_new).reshape(150, -1)
    moved = forest.refit_leaves(X_new, y_new, weights, decay_rate=0.25)
    fresh = forest.refit_leaves(X_new, y_new, weights, decay_rate=0.0)
    old = forest.predict_cumulative_hazard_function(X_new, at)
    known = np.array([[weights[own == row].sum() > 0 for own, row in zip(leaves.T, r, strict=True)] for r in leaves])
    rows = np.flatnonzero(known.all(axis=1))
    assert len(rows) > 100
    for i in rows[::7]:
        for k, t in enumerate(at):
            new = [
                survival.nelson_aalen(event[own == leaf], time[own == leaf], weights[own == leaf], t)
                for own, leaf in zip(leaves.T, leaves[i], strict=True)
            ]
            wanted = 0.25 * old[i, k] + 0.75 * np.mean(new)
            assert moved.predict_cumulative_hazard_function(X_new[i : i + 1], [t])[0, 0] == pytest.approx(wanted)
            if n_trees == 1:
                own = leaves[:, 0] == leaves[i, 0]
                kept = survival.kaplan_meier(event[own], time[own], weights[own], t)
                assert fresh.predict_survival_function(X_new[i : i + 1], [t])[0, 0] == pytest.approx(kept)
    risks = moved.predict_cumulative_hazard_function(X_new).sum(axis=1)
    np.testing.assert_allclose(moved.predict(X_new), risks)
    assert moved.score(X_new, y_new) > forest.score(X_new, y_new)
    committee.save(moved, tmp_path / "m")
    np.testing.assert_array_equal(committee.load(tmp_path / "m").predict(X), moved.predict(X))
    same = forest.refit_leaves(X_new, y_new, decay_rate=1.0)
    np.testing.assert_array_equal(same.predict_survival_function(X), forest.predict_survival_function(X))


def test_what_cannot_follow_is_refused() -> None:
    model = GradientBoostingRegressor(boosting="dart", n_estimators=3, random_state=0).fit(X_VALUES, Y_VALUES)
    with pytest.raises(ParameterError, match="boosting='dart', whose later rounds"):
        model.refit_leaves(X_VALUES, Y_VALUES)
    counts = DistributionalBoostingRegressor(distribution="negative_binomial", n_estimators=2).fit(X_VALUES, Y_VALUES)
    with pytest.raises(DataError, match="counts 0, 1, 2"):
        counts.refit_leaves(X_VALUES, -Y_VALUES)
    plain = GradientBoostingRegressor(n_estimators=2).fit(X_VALUES, Y_VALUES)
    with pytest.raises(DataError, match="2 outputs and the model 1"):
        plain.refit_leaves(X_VALUES, np.column_stack([Y_VALUES, Y_VALUES]))
    for other in (plain, RandomSurvivalForest(2).fit(X_VALUES, Y_VALUES)):
        with pytest.raises(DataError, match=r"positive weight|not all|sample_weight"):
            other.refit_leaves(X_VALUES, Y_VALUES, np.zeros(len(Y_VALUES)))
        with pytest.raises(DataError, match=r"442"):
            other.refit_leaves(X_VALUES[:10], Y_VALUES)
