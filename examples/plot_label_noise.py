"""
Detecting wrong labels with AdaBoost
====================================

Some labels were flipped. AdaBoost increases the weights of such rows, so the rows with the largest weights should be
checked for wrong labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from committee import AdaBoostClassifier
from committee.plots import HeaviestRowsDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
wrong = np.isin(np.arange(len(y)), np.random.default_rng(0).choice(len(y), 20, replace=False))
recorded = np.where(wrong, 1 - y, y)
model = AdaBoostClassifier(n_estimators=60).fit(X, recorded)
HeaviestRowsDisplay.from_estimator(model, X, recorded, n_rows=20, marked=wrong)
plt.show()
