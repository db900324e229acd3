"""
Bias, variance and diversity
============================

Averaging does not change the bias but reduces the variance. The reduction is larger if the members are less correlated.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.model_selection import train_test_split

from committee import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
)
from committee.plots import BagVarianceDisplay, BiasVarianceDisplay, JuryDisplay, KappaErrorDisplay

X, y = make_friedman1(200, noise=1.0, random_state=0)
models = {
    "stump": DecisionTreeRegressor(max_depth=1),
    "depth 3": DecisionTreeRegressor(max_depth=3),
    "full tree": DecisionTreeRegressor(),
    "bagging of 20": BaggingRegressor(n_estimators=20),
}
BiasVarianceDisplay.from_estimators(models, X, y, n_rounds=50, random_state=0)

# %%
# The variance of an average of m independent members is σ²/m. Bootstrap samples of one training set overlap, so the
# variance has a lower limit.
BagVarianceDisplay.from_estimator(DecisionTreeRegressor(), X, y, n_repeats=20, random_state=0)

# %%
# Condorcet's jury theorem is the corresponding result for majority votes.
JuryDisplay.from_correlations(0.6, (0.0, 0.05, 0.2), random_state=0)

# %%
# Pairs of members: boosted members are diverse but individually weak, bagged members are accurate but similar.
X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
ensembles = {
    "bagging": BaggingClassifier(n_estimators=25, random_state=0),
    "extra-trees": ExtraTreesClassifier(n_estimators=25, random_state=0),
    "AdaBoost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=25, random_state=0),
}
KappaErrorDisplay.from_estimator({name: model.fit(X, y) for name, model in ensembles.items()}, X_test, y_test)
plt.show()
