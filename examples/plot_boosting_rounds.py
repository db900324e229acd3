"""
Boosting round by round
=======================

AdaBoost of stumps on two moons. The area of a point is the weight that the member of the round learnt with: rows that
were answered wrongly grow until a member gets them right.
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
# The weights alone.
RowWeightsDisplay.from_estimator(model, X, y, rounds=(1, 2, 5, 20))

# %%
# As a film: a GIF needs nothing but matplotlib.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "rounds.gif")
    film = animate_rounds(model, X, y, path, rounds=(1, 2, 3, 6, 15, 60), grid_resolution=60)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
plt.show()
