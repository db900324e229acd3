"""
Boosting and its theory
=======================

The training error is below the exponential loss, which is the bound of Freund and Schapire; the loss falls on when no
row is wrong any more, and so does the test error.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_gaussian_quantiles
from sklearn.model_selection import train_test_split

from committee import AdaBoostClassifier, DecisionTreeClassifier
from committee.plots import EdgeDisplay, ErrorBoundDisplay, MarginDisplay, VCBoundDisplay

X, y = make_gaussian_quantiles(n_samples=2000, n_features=5, n_classes=2, random_state=1)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.75, random_state=1)
model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=150, random_state=0).fit(X, y)
ErrorBoundDisplay.from_estimator(model, X, y, X_test=X_test, y_test=y_test)

# %%
# Each member is only a little better than chance on the weights that it learns from.
EdgeDisplay.from_estimator(model)

# %%
# Margins move to the right long after the training error is zero.
MarginDisplay.from_estimator(model, X, y, rounds=(1, 5, 20, 150))

# %%
# The capacity of the whole grows a little faster than the number of members: a bound that allows overfitting, which
# margins then explain away.
VCBoundDisplay.from_dimensions((2, 5, 20), most_members=1000, n_rows=len(X))
plt.show()
