"""Importance of features, refitted and predicted anew each time."""

import numpy as np
from sklearn.base import clone


def predict_permuted(predict, X, feature, orders):
    """Predictions with the feature of other rows, for each order of them."""
    answers = []
    for order in orders:
        shuffled = X.copy()
        shuffled[:, feature] = X[order, feature]
        answers.append(predict(shuffled))
    return np.stack(answers)


def drop_columns(model, X, y, folds):
    """Loss of score without each feature: (feature, fold)."""
    found = []
    for train, test in folds:
        whole = clone(model).fit(X[train], y[train]).score(X[test], y[test])
        rest = [np.delete(X, k, axis=1) for k in range(X.shape[1])]
        found.append([whole - clone(model).fit(r[train], y[train]).score(r[test], y[test]) for r in rest])
    return np.array(found).T
