"""
Forest proximities
==================

Two rows are close if they fall into the same leaves of many trees. The plots show the proximities in two dimensions,
first for wine, then for the ten classes of digits with 64 pixels each.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, load_wine

from committee import ExtraTreesClassifier, RandomForestClassifier
from committee.plots import ProximityDisplay

wine = load_wine()
forest = RandomForestClassifier(random_state=0).fit(wine.data, wine.target)
ProximityDisplay.from_estimator(forest, wine.data, wine.target, class_names=list(wine.target_names))

# %%
# With many classes colours are reused with different markers.
X, y = load_digits(return_X_y=True)
trees = ExtraTreesClassifier(max_leaf_nodes=60, random_state=0).fit(X[:900], y[:900])
ProximityDisplay.from_estimator(trees, X[900:], y[900:], max_rows=600)
plt.show()
