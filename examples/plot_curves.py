"""
Curves: rounds, members, rows
=============================

What more rounds, more members or more rows bring.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, make_hastie_10_2, make_moons
from sklearn.model_selection import train_test_split

from committee import AdaBoostClassifier, BaggingClassifier, DecisionTreeClassifier, ExtraTreesClassifier
from committee.plots import LearningCurveDisplay, OutOfBagDisplay, StagedCurveDisplay

# Ten Gaussian features, the sum of whose squares decides. Hastie, Tibshirani and Friedman (2009, section 10.1) report
# 5.8 % test error for 400 boosted stumps and 24.7 % for a single large tree, both from 2000 training rows.
X, y = make_hastie_10_2(6000, random_state=1)
model = AdaBoostClassifier(n_estimators=400, algorithm="real").fit(X[:2000], y[:2000])
StagedCurveDisplay.from_estimator(
    model,
    {"training": (X[:2000], y[:2000]), "test": (X[2000:], y[2000:])},
    published={"published, 400 stumps": 0.058, "published, one large tree": 0.247},
)

# %%
# The out-of-bag score tells when there are enough members, without rows put aside. On these moons Géron (2019, chapter
# 7, and its notebook) reports an out-of-bag accuracy of 0.8987 for a bag of 500 trees.
X, X_test, y, y_test = train_test_split(*make_moons(500, noise=0.30, random_state=42), random_state=42)
forests = {
    "bag of trees": BaggingClassifier(DecisionTreeClassifier(), 500, oob_score=True, random_state=0).fit(X, y),
    "extra-trees": ExtraTreesClassifier(500, bootstrap=True, oob_score=True, random_state=0).fit(X, y),
}
OutOfBagDisplay.from_estimator(forests, published={"published, bag of 500": 0.8987})

# %%
# More rows help a tree that is not pruned for long.
X, y = load_digits(return_X_y=True)
LearningCurveDisplay.from_estimator(DecisionTreeClassifier(random_state=0), X, y, random_state=0)
plt.show()
