"""
What a model says as a feature varies
=====================================

Partial dependence of a forest on the progress of diabetes: grey lines are patients, the blue one is their mean, marks
at the bottom are deciles of the patients.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes

from committee import RandomForestRegressor
from committee.plots import InteractionDisplay, LocalEffectsDisplay, PairEffectsDisplay, PartialDependenceDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X["sex"] = pd.Categorical.from_codes((X["sex"] - 1).astype(int), ["one", "other"])
forest = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
PartialDependenceDisplay.from_estimator(forest, X, ["bmi", "bp", "sex"], grid_resolution=30)

# %%
# Two features at once.
PartialDependenceDisplay.from_estimator(forest, X, ("bmi", "s5"), grid_resolution=30)

# %%
# Accumulated local effects move each row only a little, so that no patient is made up whom nobody has ever seen.
LocalEffectsDisplay.from_estimator(forest, X, ["bmi", "bp", "sex"])

# %%
# Two features at once, less what each does alone: where it is white their effects add up.
PairEffectsDisplay.from_estimator(forest, X, ("bmi", "s5"))

# %%
# Friedman's H: how much of the effect of two features is due to their acting together.
InteractionDisplay.from_estimator(forest, X, ["bmi", "bp", "s3", "s5", "s6", "sex"], random_state=0)
plt.show()
