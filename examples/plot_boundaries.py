"""
Decision boundaries
===================

Two moons with strong noise. A single tree isolates noisy points in small regions. Averaging over bootstrap samples
smooths the boundary. Darker colours mean higher predicted probabilities.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes, load_wine, make_moons
from sklearn.model_selection import train_test_split

from committee import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.plots import DecisionBoundaryDisplay, DecisionBoundaryGridDisplay

X, X_test, y, y_test = train_test_split(*make_moons(500, noise=0.30, random_state=42), random_state=42)
models = {
    "one tree": DecisionTreeClassifier(random_state=42),
    "bagging of 200 trees": BaggingClassifier(DecisionTreeClassifier(), n_estimators=200, random_state=42),
    "AdaBoost of 50 stumps": AdaBoostClassifier(n_estimators=50),
}
fitted = {}
for name, model in models.items():
    model.fit(X, y)
    fitted[f"{name}: {model.score(X_test, y_test):.2f}"] = model
DecisionBoundaryGridDisplay.from_estimators(fitted, X, y)

# %%
# Three wine cultivars and two features.
wine = load_wine(as_frame=True)
X, names = wine.data[["flavanoids", "proline"]], [f"cultivar {k}" for k in (1, 2, 3)]
forest = RandomForestClassifier(min_samples_leaf=3, random_state=0).fit(X, wine.target)
DecisionBoundaryDisplay.from_estimator(forest, X, wine.target, class_names=names)

# %%
# For regression the plot has a colour bar.
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(random_state=0).fit(X[["bmi", "s5"]], y)
DecisionBoundaryDisplay.from_estimator(forest, X[["bmi", "s5"]], y)
plt.show()
