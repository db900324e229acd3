"""
Error bounds and margins of AdaBoost
====================================

The exponential loss is an upper bound on the training error, the bound of Freund and Schapire. After the training error
has reached zero, the loss keeps decreasing, and so does the test error.
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
# Each weak learner is only a little better than chance on its weighted training set.
EdgeDisplay.from_estimator(model)

# %%
# The margins continue to increase long after the training error is zero.
MarginDisplay.from_estimator(model, X, y, rounds=(1, 5, 20, 150))

# %%
# The VC dimension of the ensemble grows slightly faster than the number of members. The VC bound therefore permits
# overfitting; the margins explain why it does not occur.
VCBoundDisplay.from_dimensions((2, 5, 20), most_members=1000, n_rows=len(X))
plt.show()
