"""
Why this answer: Shapley values
===============================

What each feature adds to the score of each row, exactly. A dot is a row; far from the middle it matters much, and its
colour says whether the feature is high or low there.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_diabetes

from committee import AdaBoostClassifier, DecisionTreeClassifier, RandomForestRegressor
from committee.plots import ShapSummaryDisplay, ShapWaterfallDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(n_estimators=50, min_samples_leaf=3, random_state=0).fit(X, y)
ShapSummaryDisplay.from_estimator(forest, X)

# %%
# One patient: from the mean of all to the prediction.
ShapWaterfallDisplay.from_estimator(forest, X, row=9)

# %%
# AdaBoost is a sum of trees too; explained is its decision function, here against a background of a hundred rows.
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=30, random_state=0).fit(X, y)
ShapSummaryDisplay.from_estimator(model, X, background=X[::6], max_features=10)
plt.show()
