"""Pictures of trees: every node is there, none covers another, all lie inside."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from committee import DecisionTreeClassifier, DecisionTreeRegressor, plot_tree


@pytest.fixture
def ax():
    figure, axes = plt.subplots(figsize=(14, 8))
    yield axes
    plt.close(figure)


def test_boxes_do_not_overlap_and_lie_inside(ax):
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier().fit(X, y)
    boxes = plot_tree(tree, filled=True, rounded=True, class_names=True, ax=ax)
    assert len(boxes) == tree.tree_.node_count
    ax.figure.canvas.draw()
    renderer = ax.figure.canvas.get_renderer()
    extents = [box.get_bbox_patch().get_window_extent(renderer) for box in boxes]
    for k, one in enumerate(extents):
        assert all(not one.overlaps(other) for other in extents[k + 1 :])
    room = ax.get_window_extent(renderer)
    for extent in extents:
        assert room.x0 - 2 <= extent.x0 < extent.x1 <= room.x1 + 2
        assert room.y0 - 2 <= extent.y0 < extent.y1 <= room.y1 + 2


def test_text_colors_and_answers(ax):
    X, y = load_iris(return_X_y=True)
    boxes = plot_tree(DecisionTreeClassifier(max_depth=1).fit(X, y), ax=ax, feature_names=list("abcd"), filled=True)
    assert boxes[0].get_text() == "c ≤ 2.45\ngini = 0.667\nsamples = 150\nvalue = [50, 50, 50]"
    faces = [matplotlib.colors.to_hex(box.get_bbox_patch().get_facecolor()) for box in boxes]
    assert faces == ["#ffffff", "#e58139", "#ffffff"]
    assert {text.get_text().strip() for text in ax.texts} >= {"True", "False"}


def test_deep_levels_are_left_out(ax):
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_depth=5).fit(X, y)
    boxes = plot_tree(tree, max_depth=1, ax=ax, fontsize=7)
    assert len(boxes) == 7
    assert [box.get_text() for box in boxes[3:]] == ["(...)"] * 4
    assert {box.get_fontsize() for box in boxes} == {7}


def test_a_root_alone(ax):
    boxes = plot_tree(DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 2.0]), ax=ax)
    assert [box.get_text() for box in boxes] == ["squared_error = 0.0\nsamples = 2\nvalue = 2.0"]


def test_the_current_axes_are_the_default():
    plt.figure()
    X, y = load_iris(return_X_y=True)
    boxes = plot_tree(DecisionTreeClassifier(max_depth=2).fit(X, y))
    assert boxes[0].axes is plt.gca()
    assert np.isfinite([box.xy for box in boxes]).all()
    plt.close("all")
