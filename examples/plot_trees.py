"""
Trees as pictures
=================

A tree with what is in its nodes: shares of the classes, or the distribution of the values.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes, load_iris

from committee import DecisionTreeClassifier, DecisionTreeRegressor, plot_tree
from committee.plots import TreeDisplay

iris = load_iris(as_frame=True)
tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(iris.data, iris.target)
TreeDisplay.from_estimator(tree, class_names=list(iris.target_names))

# %%
# A tree of values is sent the rows to show; the dashed line is what the node predicts.
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
tree = DecisionTreeRegressor(max_depth=3, min_samples_leaf=20).fit(X, y)
TreeDisplay.from_estimator(tree, X, y)

# %%
# In numbers, as scikit-learn draws it.
figure, ax = plt.subplots(figsize=(9, 5))
plot_tree(DecisionTreeClassifier(max_depth=2).fit(iris.data, iris.target), filled=True, rounded=True, ax=ax)
plt.show()
