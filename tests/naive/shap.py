"""Shapley values by the definition: every set of features, every order of entering."""

from itertools import combinations
from math import factorial

import numpy as np


def goes_left(tree, node, x):
    if np.isnan(x):
        return bool(tree["missing_go_to_left"][node])
    if node in tree["left_categories"]:
        return int(x) in tree["left_categories"][node]
    return x <= tree["threshold"][node]


def expect(tree, leaf_values, row, known, node=0):
    """Mean over the training weights of what the leaves say, where only some features of the row are known."""
    left, right = tree["children_left"][node], tree["children_right"][node]
    if left < 0:
        return leaf_values[node]
    feature = tree["feature"][node]
    if feature in known:
        side = left if goes_left(tree, node, row[feature]) else right
        return expect(tree, leaf_values, row, known, side)
    weights = tree["weighted_n_node_samples"]
    share = weights[left] / weights[node]
    below = [expect(tree, leaf_values, row, known, side) for side in (left, right)]
    return share * below[0] + (1 - share) * below[1]


def mix(tree, leaf_values, row, known, background):
    """Mean over the rows of the background, which give the features that are not known."""
    mixed = np.where(np.isin(np.arange(len(row)), list(known)), row, background)
    return np.mean([expect(tree, leaf_values, r, range(len(row))) for r in mixed], axis=0)


def weigh(n_known, n_features):
    return factorial(n_known) * factorial(n_features - n_known - 1) / factorial(n_features)


def explain(worth, features, n_features):
    """Shapley value of each feature in the game `worth`, a function of a set of features."""
    values = np.zeros((n_features, *np.shape(worth(()))))
    for i in features:
        others = [f for f in features if f != i]
        for size in range(len(others) + 1):
            for known in combinations(others, size):
                values[i] += weigh(size, len(features)) * (worth((*known, i)) - worth(known))
    return values


def explain_pairs(worth, features, n_features):
    """Interaction values: half the joint effect off the diagonal, the rest of the Shapley value on it."""
    single = explain(worth, features, n_features)
    values = np.zeros((n_features, *single.shape))
    for i, j in combinations(features, 2):
        others = [f for f in features if f not in (i, j)]
        for size in range(len(others) + 1):
            for known in combinations(others, size):
                joint = worth((*known, i, j)) - worth((*known, i)) - worth((*known, j)) + worth(known)
                values[i, j] += 0.5 * weigh(size, len(features) - 1) * joint
        values[j, i] = values[i, j]
    for i in features:
        values[i, i] = single[i] - values[i].sum(axis=0)
    return values
