"""
Partial dependence and interactions
===================================

Partial dependence of a forest that predicts the progression of diabetes. Grey lines are single patients, the blue line
is their mean, and the ticks at the bottom are deciles of the feature.
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
# Partial dependence on two features.
PartialDependenceDisplay.from_estimator(forest, X, ("bmi", "s5"), grid_resolution=30)

# %%
# Accumulated local effects change each row only slightly, and so avoid unrealistic combinations of features.
LocalEffectsDisplay.from_estimator(forest, X, ["bmi", "bp", "sex"])

# %%
# Second-order effects of two features, without their main effects. White: the effects are additive.
PairEffectsDisplay.from_estimator(forest, X, ("bmi", "s5"))

# %%
# Friedman's H: the share of the joint effect of two features that is due to their interaction.
InteractionDisplay.from_estimator(forest, X, ["bmi", "bp", "s3", "s5", "s6", "sex"], random_state=0)
plt.show()
