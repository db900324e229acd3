"""
The rows as a forest sees them
==============================

Two rows are near if they end in the same leaves of many trees. Ten kinds of digits, of 64 pixels each, in two
dimensions.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, load_wine

from committee import ExtraTreesClassifier, RandomForestClassifier
from committee.plots import ProximityDisplay

wine = load_wine()
forest = RandomForestClassifier(random_state=0).fit(wine.data, wine.target)
ProximityDisplay.from_estimator(forest, wine.data, wine.target, class_names=list(wine.target_names))

# %%
# Many classes: colours come again, with other markers.
X, y = load_digits(return_X_y=True)
trees = ExtraTreesClassifier(max_leaf_nodes=60, random_state=0).fit(X[:900], y[:900])
ProximityDisplay.from_estimator(trees, X[900:], y[900:], max_rows=600)
plt.show()
