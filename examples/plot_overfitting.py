"""
Tree depth and overfitting
==========================

Training and test accuracy of a single tree as a function of its depth. The training accuracy keeps increasing with the
depth; the test accuracy soon does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_validate

from committee import DecisionTreeClassifier
from committee.datasets import load_table

table = load_table("breast_cancer")
depths = np.arange(1, 9)
scores = [
    cross_validate(
        DecisionTreeClassifier(max_depth=int(depth), random_state=0),
        table.data,
        table.target,
        cv=5,
        return_train_score=True,
    )
    for depth in depths
]
figure, ax = plt.subplots(layout="constrained")
for part, line in (("train", "--"), ("test", "-")):
    values = np.array([score[f"{part}_score"] for score in scores])
    error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
    ax.errorbar(depths, values.mean(axis=1), error, label=part, capsize=3, linestyle=line)
ax.set(xlabel="max_depth", ylabel="accuracy")
ax.legend()
plt.show()
