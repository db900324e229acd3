"""Dependence of a prediction on a few features, point by point and row by row."""

import numpy as np

from tests.naive.shap import expect


def average_by_weight(trees, leaf_values, features, points, n_features):
    """Weighted traversal: features that are not asked about are not known [Friedman2001]."""
    means = []
    for point in points:
        row = np.zeros(n_features)
        row[features] = point
        means.append(sum(expect(t, v, row, features) for t, v in zip(trees, leaf_values, strict=True)))
    return np.array(means)


def trace_rows(predict, X, features, points):
    """Every row with some features replaced by those of every point: (row, point, column)."""
    answers = []
    for point in points:
        changed = X.copy()
        changed[:, features] = point
        answers.append(predict(changed))
    return np.stack(answers, axis=1)


def accumulate_effects(predict, X, feature, edges):
    """Accumulated local effects [ApleyZhu2020] of a number: mean differences over bins, summed up and centred."""
    x = X[:, feature]
    place = np.clip(np.searchsorted(edges, x, side="left"), 1, len(edges) - 1)
    effects, counts = [], []
    for k in range(1, len(edges)):
        low, high = X[place == k].copy(), X[place == k].copy()
        low[:, feature], high[:, feature] = edges[k - 1], edges[k]
        effects.append((predict(high) - predict(low)).mean(axis=0))
        counts.append((place == k).sum())
    curve = np.concatenate([np.zeros((1, effects[0].shape[0])), np.cumsum(effects, axis=0)])
    middles = (curve[1:] + curve[:-1]) / 2
    return curve - np.average(middles, axis=0, weights=counts), np.array(counts)


def measure_interaction(predict, X, first, second):
    """Friedman's H of two features [FriedmanPopescu2008], means over all rows."""

    def depend(features):
        points = X[:, features]
        means = trace_rows(predict, X, features, points).mean(axis=0)
        return means - means.mean(axis=0)

    joint = depend([first, second])
    rest = joint - depend([first]) - depend([second])
    return np.sqrt((rest**2).sum(axis=0) / (joint**2).sum(axis=0))
