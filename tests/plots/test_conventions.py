"""What every display has in common: axes that are respected, figures, errors, names, laziness."""

import inspect
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.naive_bayes import GaussianNB

import committee
from committee import plots
from committee.exceptions import ParameterError, ParameterTypeError
from committee.plots.display import PanelDisplay
from committee.plots.style import COLORS, choose_colors, choose_lines, choose_marker, shorten, shorten_all

X, Y = make_moons(60, noise=0.25, random_state=0)
FRAME = pd.DataFrame(X, columns=["a feature with a name so long that no axis could hold all of it", "b"])
DISPLAYS = [getattr(plots, name) for name in plots.__all__ if name.endswith("Display")]


@pytest.fixture(scope="module")
def boosted():
    return committee.AdaBoostClassifier(n_estimators=6, keep_sample_weights=True).fit(FRAME, Y)


@pytest.fixture(scope="module")
def forest():
    return committee.RandomForestClassifier(n_estimators=25, oob_score=True, random_state=0).fit(FRAME, Y)


@pytest.fixture(scope="module")
def tree():
    return committee.DecisionTreeRegressor(max_depth=2).fit(FRAME, X[:, 0] ** 2)


@pytest.fixture(scope="module")
def additive():
    options = {"outer_bags": 2, "max_iter": 5, "interactions": 1, "min_samples_leaf": 2}
    return committee.ExplainableBoostingClassifier(random_state=0, **options).fit(FRAME, Y)


@pytest.fixture
def draw(boosted, forest, tree, additive):
    """A call for each display that draws it on given axes."""
    regression = {"stump": committee.DecisionTreeRegressor(max_depth=1), "deep": committee.DecisionTreeRegressor()}
    grid = {"grid_resolution": 15}
    return {
        "BagVarianceDisplay": lambda ax: plots.BagVarianceDisplay.from_estimator(
            regression["deep"], X, X[:, 0], sizes=(1, 3), n_repeats=3, random_state=0, ax=ax
        ),
        "BiasVarianceDisplay": lambda ax: plots.BiasVarianceDisplay.from_estimators(
            regression, X, X[:, 0], n_rounds=20, random_state=0, ax=ax
        ),
        "CalibrationDisplay": lambda ax: plots.CalibrationDisplay.from_estimator(forest, FRAME, Y, ax=ax),
        "DecisionBoundaryDisplay": lambda ax: plots.DecisionBoundaryDisplay.from_estimator(
            forest, FRAME, Y, ax=ax, **grid
        ),
        "DecisionBoundaryGridDisplay": lambda ax: plots.DecisionBoundaryGridDisplay.from_estimators(
            [forest, boosted], FRAME, Y, ax=ax, **grid
        ),
        "EdgeDisplay": lambda ax: plots.EdgeDisplay.from_estimator(boosted, ax=ax),
        "ErrorBoundDisplay": lambda ax: plots.ErrorBoundDisplay.from_estimator(boosted, FRAME, Y, ax=ax),
        "HeaviestRowsDisplay": lambda ax: plots.HeaviestRowsDisplay.from_estimator(boosted, FRAME, Y, ax=ax),
        "ImportanceDisplay": lambda ax: plots.ImportanceDisplay.from_estimator(forest, ax=ax),
        "ImportanceMapDisplay": lambda ax: plots.ImportanceMapDisplay.from_estimator(forest, (1, 2), ax=ax),
        "InteractionDisplay": lambda ax: plots.InteractionDisplay.from_estimator(forest, FRAME, max_rows=20, ax=ax),
        "JuryDisplay": lambda ax: plots.JuryDisplay.from_correlations(0.6, sizes=(1, 3, 5), random_state=0, ax=ax),
        "KappaErrorDisplay": lambda ax: plots.KappaErrorDisplay.from_estimator(forest, FRAME, Y, ax=ax),
        "LearningCurveDisplay": lambda ax: plots.LearningCurveDisplay.from_estimator(
            committee.DecisionTreeClassifier(), FRAME, Y, train_sizes=(0.5, 1.0), cv=2, random_state=0, ax=ax
        ),
        "LocalEffectsDisplay": lambda ax: plots.LocalEffectsDisplay.from_estimator(tree, FRAME, [0, 1], ax=ax),
        "MarginDisplay": lambda ax: plots.MarginDisplay.from_estimator(boosted, FRAME, Y, ax=ax),
        "OutOfBagDisplay": lambda ax: plots.OutOfBagDisplay.from_estimator(forest, ax=ax),
        "PairEffectsDisplay": lambda ax: plots.PairEffectsDisplay.from_estimator(tree, FRAME, (0, 1), ax=ax),
        "PartialDependenceDisplay": lambda ax: plots.PartialDependenceDisplay.from_estimator(
            tree, FRAME, [0, (0, 1)], ax=ax, **grid
        ),
        "ProximityDisplay": lambda ax: plots.ProximityDisplay.from_estimator(forest, FRAME, Y, ax=ax),
        "RowWeightsDisplay": lambda ax: plots.RowWeightsDisplay.from_estimator(boosted, FRAME, Y, rounds=(1, 3), ax=ax),
        "ShapSummaryDisplay": lambda ax: plots.ShapSummaryDisplay.from_estimator(tree, FRAME, ax=ax),
        "ShapeDisplay": lambda ax: plots.ShapeDisplay.from_estimator(additive, [0, (0, 1)], ax=ax),
        "ShapWaterfallDisplay": lambda ax: plots.ShapWaterfallDisplay.from_estimator(tree, FRAME, row=3, ax=ax),
        "StagedCurveDisplay": lambda ax: plots.StagedCurveDisplay.from_estimator(boosted, {"all": (FRAME, Y)}, ax=ax),
        "TreeDisplay": lambda ax: plots.TreeDisplay.from_estimator(tree, FRAME, X[:, 0] ** 2, ax=ax),
        "VCBoundDisplay": lambda ax: plots.VCBoundDisplay.from_dimensions((2,), ax=ax),
    }


@pytest.mark.parametrize("cls", DISPLAYS, ids=lambda cls: cls.__name__)
def test_displays_open_one_figure_or_draw_on_the_given_axes(cls, draw):
    shown = draw[cls.__name__](None)
    assert plt.get_fignums() == [shown.figure_.number]
    assert isinstance(shown, cls)
    assert shown.ax_.get_figure() is shown.figure_
    shown.figure_.canvas.draw()
    plt.close(shown.figure_)
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    again = draw[cls.__name__](right)
    assert plt.get_fignums() == [figure.number]
    assert again.figure_ is figure
    assert not left.has_data()
    if issubclass(cls, PanelDisplay):
        assert right not in set(again.axes_)
        assert not right.axison
        panels = plt.subplots(1, len(again.axes_))[1]
        third = draw[cls.__name__](np.atleast_1d(panels))
        assert list(third.axes_) == list(np.atleast_1d(panels))
        with pytest.raises(ParameterError, match="as many; got 7"):
            draw[cls.__name__](plt.subplots(1, 7)[1])
    else:
        assert again.ax_ is right
    with pytest.raises(ParameterTypeError, match="must be axes of matplotlib"):
        draw[cls.__name__]("here")


@pytest.mark.parametrize("cls", DISPLAYS, ids=lambda cls: cls.__name__)
def test_text_lies_inside_the_figure_and_labels_apart(cls, draw):
    shown = draw[cls.__name__](None)
    figure = shown.figure_
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    room = figure.bbox
    for axes in figure.axes:
        texts = [axes.title, axes.xaxis.label, axes.yaxis.label]
        for text in texts:
            if text.get_text() and text.get_visible():
                box = text.get_window_extent(renderer)
                assert room.x0 - 2 <= box.x0, text.get_text()
                assert box.x1 <= room.x1 + 2, text.get_text()
                assert room.y0 - 2 <= box.y0, text.get_text()
                assert box.y1 <= room.y1 + 2, text.get_text()
        low, high = sorted(axes.get_ylim())
        # Shared axes have places without labels, and labels beyond the ends are not drawn.
        ticks = [t for t, place in zip(axes.get_yticklabels(), axes.get_yticks(), strict=False) if low <= place <= high]
        boxes = [t.get_window_extent(renderer) for t in ticks if t.get_text()]
        for one, other in pairwise(boxes):
            assert not one.overlaps(other)


@pytest.mark.parametrize("cls", DISPLAYS, ids=lambda cls: cls.__name__)
def test_displays_are_explained(cls):
    makers = [name for name in vars(cls) if name.startswith("from_")]
    assert makers
    for heading in ("Parameters", "Attributes", "Examples"):
        assert f"{heading}\n    ---" in cls.__doc__
    for name in [*makers, "plot"]:
        method = getattr(cls, name)
        text = inspect.getdoc(method)
        assert "Returns" in text
        signature = inspect.signature(method)
        assert "ax" in signature.parameters
        assert signature.parameters["ax"].default is None


def test_the_room_is_sorted_and_complete():
    assert sorted(plots.__all__) == plots.__all__
    assert len(DISPLAYS) == 27


def test_nothing_is_drawn_or_loaded_before_it_is_asked_for():
    code = "import sys, json, committee, committee.plots; print(json.dumps('matplotlib' in sys.modules))"
    env = os.environ | {"PYTHONPATH": str(Path(committee.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert json.loads(done.stdout) is False


def test_a_sentence_says_what_to_install(monkeypatch, boosted):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"EdgeDisplay needs matplotlib; install committee\[plot\]"):
        plots.EdgeDisplay.from_estimator(boosted)


def test_neighbours_differ_in_two_ways():
    looks = choose_lines(35)
    assert len({(look.color, str(look.linestyle), look.marker) for look in looks}) == 35
    classes = list(zip(choose_colors(24), map(choose_marker, range(24)), strict=True))
    assert len(set(classes)) == 24

    def lightness(color):
        return sum(w * int(color[k : k + 2], 16) for w, k in ((0.2126, 1), (0.7152, 3), (0.0722, 5))) / 255

    # The first two, which most pictures have, are apart in grey too.
    assert abs(lightness(COLORS[0]) - lightness(COLORS[1])) > 0.2


def test_names_are_cut_in_the_middle_and_stay_apart():
    assert shorten("short") == "short"
    assert shorten("x" * 20 + "y" * 20, 11) == "xxxxx…yyyyy"
    twins = ["a" * 40 + "1" + "b" * 40, "a" * 40 + "2" + "b" * 40]
    assert len(set(shorten_all(twins, 12))) == 2


def test_foreign_models_are_drawn_where_no_trees_are_needed():
    X_iris, y_iris = load_iris(return_X_y=True, as_frame=True)
    model = GaussianNB().fit(X_iris, y_iris)
    shown = plots.DecisionBoundaryDisplay.from_estimator(model, X_iris, y_iris, features=(0, 3), grid_resolution=12)
    assert shown.answers.shape == (12, 12, 3)
    dependence = plots.PartialDependenceDisplay.from_estimator(
        model, X_iris, ["petal length (cm)"], target=2, grid_resolution=6
    )
    assert dependence.response == "probability of 2"
    plots.CalibrationDisplay.from_estimator(model, X_iris, y_iris, pos_label=1)
    with pytest.raises(ParameterTypeError, match="made of trees; got GaussianNB"):
        plots.ShapSummaryDisplay.from_estimator(model, X_iris)
    with pytest.raises(ParameterTypeError, match="fitted AdaBoostClassifier"):
        plots.EdgeDisplay.from_estimator(model)


def test_frames_of_polars_are_drawn():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.arange(60) % 3})
    model = committee.RandomForestClassifier(n_estimators=5, random_state=0).fit(frame, Y)
    shown = plots.DecisionBoundaryDisplay.from_estimator(model, frame, Y, features=("a", "b"), grid_resolution=8)
    assert shown.feature_names == ("a", "b")
    lines = plots.PartialDependenceDisplay.from_estimator(model, frame, ["a"], grid_resolution=5, max_curves=9)
    assert lines.panels[0].individual.shape == (9, 5)
    plots.ShapSummaryDisplay.from_estimator(model, frame, output=1)
    plots.ProximityDisplay.from_estimator(model, frame, Y, max_rows=30)
