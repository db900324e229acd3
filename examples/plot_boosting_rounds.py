"""
Boosting round by round
=======================

AdaBoost with stumps on two moons. The area of a point is its sample weight in the shown round: the weight of a
misclassified sample increases until a stump classifies it correctly.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from committee import AdaBoostClassifier
from committee.plots import DecisionBoundaryGridDisplay, RowWeightsDisplay, animate_rounds

X, y = make_moons(120, noise=0.25, random_state=7)
model = AdaBoostClassifier(n_estimators=60, keep_sample_weights=True).fit(X, y)
DecisionBoundaryGridDisplay.from_rounds(model, X, y, rounds=(1, 2, 3, 6, 15, 60))

# %%
# The sample weights alone.
RowWeightsDisplay.from_estimator(model, X, y, rounds=(1, 2, 5, 20))

# %%
# An animation: writing a GIF needs only matplotlib.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "rounds.gif")
    animation = animate_rounds(model, X, y, path, rounds=(1, 2, 3, 6, 15, 60), grid_resolution=60)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
plt.show()
