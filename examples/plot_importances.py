"""
Feature importances
===================

Impurity importance, permutation importance and Shapley values of one forest. Error bars are standard deviations over
the trees or the permutations.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from committee import RandomForestClassifier
from committee.plots import ImportanceDisplay, ImportanceMapDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
forest = RandomForestClassifier(random_state=0).fit(X, y)
ImportanceDisplay.from_estimator(forest, max_features=12)

# %%
# Permutation importance on held-out rows: correlated features replace each other, so each has a small importance.
ImportanceDisplay.from_estimator(forest, X_test, y_test, kind="permutation", max_features=12, random_state=0)

# %%
# Mean absolute Shapley values.
ImportanceDisplay.from_estimator(forest, X_test, kind="shap", max_features=12)

# %%
# If the features are pixels, the importances form an image: the digits differ in the centre.
digits = RandomForestClassifier(random_state=0).fit(*load_digits(return_X_y=True))
ImportanceMapDisplay.from_estimator(digits, (8, 8))
plt.show()
