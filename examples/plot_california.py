"""
A map of house prices
=====================

Partial dependence on longitude and latitude, averaged over all other features: the Bay Area and Los Angeles stand out.
The data set is scikit-learn's copy of California housing. It is read from scikit-learn's data folder (or from the
folder in the environment variable ``COMMITTEE_DATA``) and is not downloaded.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import fetch_california_housing

from committee import HistGradientBoostingRegressor
from committee.plots import ImportanceDisplay, PartialDependenceDisplay

folder = os.environ.get("COMMITTEE_DATA")
try:
    housing = fetch_california_housing(
        data_home=None if folder is None else Path(folder, "scikit_learn_data"),
        download_if_missing=False,
        as_frame=True,
    )
except OSError:
    housing = None
    print("California housing was not found; call sklearn.datasets.fetch_california_housing() once to download it.")

if housing is not None:
    order = np.random.default_rng(0).permutation(len(housing.data))
    X, y = housing.data.iloc[order[:8000]], housing.target.iloc[order[:8000]]
    X_test, y_test = housing.data.iloc[order[8000:12000]], housing.target.iloc[order[8000:12000]]
    model = HistGradientBoostingRegressor(max_iter=150, random_state=0).fit(X, y)
    PartialDependenceDisplay.from_estimator(
        model, X, ("Latitude", "Longitude"), grid_resolution=60, percentiles=(0.0, 1.0)
    )

# %%
# Location, income and occupancy have the largest permutation importances on held-out districts.
if housing is not None:
    PartialDependenceDisplay.from_estimator(model, X, ["MedInc", "AveOccup", "HouseAge"], grid_resolution=40)
    ImportanceDisplay.from_estimator(model, X_test, y_test, kind="permutation", random_state=0)
plt.show()
