"""
Shape tables of an additive model
=================================

An additive model of the progression of diabetes: a table for each feature and for the pairs that interact most. Every
prediction is the sum of one cell of each table. Bands are one standard deviation over the outer bags.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes

from committee import ExplainableBoostingRegressor
from committee.plots import ShapeDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X["sex"] = pd.Categorical.from_codes((X["sex"] - 1).astype(int), ["one", "other"])
model = ExplainableBoostingRegressor(interactions=[("bmi", "bp")], random_state=0).fit(X, y)
ShapeDisplay.from_estimator(model, ["bmi", "s5", "sex"])

# %%
# The table of a pair: what the two features add together, beyond their own tables.
ShapeDisplay.from_estimator(model, [("bmi", "bp")])

# %%
# An edited copy: body mass indices above 35 count as 35.
shape = model.shape("bmi")
values = shape.values.copy()
last = int((shape.axes[0].thresholds < 35.0).sum())
values[:, last:-1] = values[:, last : last + 1]
edited = model.edit("bmi", values)
ShapeDisplay.from_estimator(edited, ["bmi"])
plt.show()
