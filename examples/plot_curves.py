"""
Learning curves
===============

The effect of more rounds, more members and more rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, make_hastie_10_2, make_moons
from sklearn.model_selection import train_test_split

from committee import AdaBoostClassifier, BaggingClassifier, DecisionTreeClassifier, ExtraTreesClassifier
from committee.plots import LearningCurveDisplay, OutOfBagDisplay, StagedCurveDisplay

# Ten Gaussian features; the class depends on the sum of their squares. Hastie, Tibshirani and Friedman (2009, section
# 10.1) report 5.8 % test error for 400 boosted stumps and 24.7 % for a single large tree, both with 2000 training rows.
X, y = make_hastie_10_2(6000, random_state=1)
model = AdaBoostClassifier(n_estimators=400, algorithm="real").fit(X[:2000], y[:2000])
StagedCurveDisplay.from_estimator(
    model,
    {"training": (X[:2000], y[:2000]), "test": (X[2000:], y[2000:])},
    published={"published, 400 stumps": 0.058, "published, one large tree": 0.247},
)

# %%
# The out-of-bag score shows when there are enough members, without a validation set. On these moons Géron (2019,
# chapter 7, and its notebook) reports an out-of-bag accuracy of 0.8987 for bagging with 500 trees.
X, X_test, y, y_test = train_test_split(*make_moons(500, noise=0.30, random_state=42), random_state=42)
forests = {
    "bagging": BaggingClassifier(DecisionTreeClassifier(), 500, oob_score=True, random_state=0).fit(X, y),
    "extra-trees": ExtraTreesClassifier(500, bootstrap=True, oob_score=True, random_state=0).fit(X, y),
}
OutOfBagDisplay.from_estimator(forests, published={"published, 500 trees": 0.8987})

# %%
# The accuracy of an unpruned tree improves over a wide range of training set sizes.
X, y = load_digits(return_X_y=True)
LearningCurveDisplay.from_estimator(DecisionTreeClassifier(random_state=0), X, y, random_state=0)
plt.show()
