"""
Plotting trees
==============

A tree with the content of its nodes: class proportions, or the distribution of the target.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes, load_iris

from committee import DecisionTreeClassifier, DecisionTreeRegressor, plot_tree
from committee.plots import TreeDisplay

iris = load_iris(as_frame=True)
tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(iris.data, iris.target)
TreeDisplay.from_estimator(tree, class_names=list(iris.target_names))

# %%
# For a regression tree, pass the rows to show. The dashed line is the prediction of the node.
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
tree = DecisionTreeRegressor(max_depth=3, min_samples_leaf=20).fit(X, y)
TreeDisplay.from_estimator(tree, X, y)

# %%
# The plot with numbers, as in scikit-learn.
figure, ax = plt.subplots(figsize=(9, 5))
plot_tree(DecisionTreeClassifier(max_depth=2).fit(iris.data, iris.target), filled=True, rounded=True, ax=ax)
plt.show()
