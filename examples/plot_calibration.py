"""
Calibration of predicted probabilities
======================================

Of the rows with a predicted probability of 0.8, about 80 % should belong to the class. The probabilities of a forest
stay away from 0 and 1. AdaBoost keeps increasing the margins, and its probabilities end close to 0 and 1.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from committee import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from committee.plots import CalibrationDisplay

X, y = make_classification(4000, n_features=20, n_informative=6, n_redundant=4, flip_y=0.1, random_state=3)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.6, random_state=0)
models = {
    "random forest": RandomForestClassifier(random_state=0),
    "gradient boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "AdaBoost": AdaBoostClassifier(n_estimators=100),
}
CalibrationDisplay.from_estimator({name: model.fit(X, y) for name, model in models.items()}, X_test, y_test)
plt.show()
