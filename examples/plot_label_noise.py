"""
Rows that boosting cannot get right
===================================

Some labels were turned round on purpose. Boosting gives such rows ever more weight, so that the heaviest rows are the
ones whose labels to look at again.
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
