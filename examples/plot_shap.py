"""
Shapley values
==============

The exact contribution of each feature to the prediction of each row. Each dot is a row. Its horizontal position is the
contribution, its colour is the value of the feature.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_diabetes

from committee import AdaBoostClassifier, DecisionTreeClassifier, RandomForestRegressor
from committee.plots import ShapSummaryDisplay, ShapWaterfallDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(n_estimators=50, min_samples_leaf=3, random_state=0).fit(X, y)
ShapSummaryDisplay.from_estimator(forest, X)

# %%
# One patient: from the mean prediction to the prediction for this patient.
ShapWaterfallDisplay.from_estimator(forest, X, row=9)

# %%
# AdaBoost is a sum of trees as well. The plot explains its decision function with a background set of about 100 rows.
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=30, random_state=0).fit(X, y)
ShapSummaryDisplay.from_estimator(model, X, background=X[::6], max_features=10)
plt.show()
