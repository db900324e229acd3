"""Pictures of boosting show what the model knows of its rounds."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_iris, make_moons

from committee import AdaBoostClassifier, DecisionTreeClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.inspection import suspect_labels, weigh_rows
from committee.plots import (
    DecisionBoundaryDisplay,
    DecisionBoundaryGridDisplay,
    EdgeDisplay,
    ErrorBoundDisplay,
    HeaviestRowsDisplay,
    MarginDisplay,
    RowWeightsDisplay,
    StagedCurveDisplay,
    VCBoundDisplay,
    animate_rounds,
)

X, Y = make_moons(80, noise=0.25, random_state=0)
X_IRIS, Y_IRIS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def model():
    return AdaBoostClassifier(n_estimators=12, algorithm="discrete", keep_sample_weights=True).fit(X, Y)


def test_the_boundary_is_where_the_answer_changes(model):
    shown = DecisionBoundaryDisplay.from_estimator(model, X, Y, grid_resolution=40, class_names=["up", "down"])
    points = np.stack([part.ravel() for part in np.meshgrid(shown.across, shown.up)], axis=1)
    np.testing.assert_allclose(shown.answers.reshape(-1, 2), model.predict_proba(points))
    for k, cloud in enumerate(shown.points_):
        np.testing.assert_array_equal(cloud.get_offsets(), X[k == Y])
    (contour,) = shown.boundary_
    lead = np.abs(model.decision_function(contour.get_paths()[0].vertices))
    # Stumps jump from one side to the other, so that the line is within a step of the grid of both answers.
    image = shown.surface_.get_array()
    left, right = (points[:, 0].reshape(40, 40) < 0), shown.answers.argmax(axis=2)
    assert lead.size > 10
    assert left.any()
    blue = image[..., 2] - image[..., 0]
    assert (np.sign(blue) == np.where(right == 1, 1.0, -1.0))[np.abs(blue) > 1e-9].all()
    assert [text.get_text() for text in shown.ax_.get_legend().get_texts()] == ["up", "down"]


def test_other_features_are_held_at_typical_values():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90), "c": rng.normal(size=90)})
    frame["kind"] = pd.Categorical(rng.choice(["x", "y", "y"], 90))
    frame.loc[::7, "a"] = np.nan
    y = np.where((frame["kind"] == "y") & (frame["b"] > 0), "yes", "no")
    model = RandomForestClassifier(n_estimators=9, random_state=0).fit(frame, y)
    shown = DecisionBoundaryDisplay.from_estimator(model, frame, y, features=("a", "b"), grid_resolution=9)
    row = frame.iloc[[0]].assign(a=shown.across[3], b=shown.up[7], c=frame["c"].median(), kind="y")
    row["kind"] = pd.Categorical(row["kind"], categories=frame["kind"].cat.categories)
    np.testing.assert_allclose(shown.answers[7, 3], model.predict_proba(row)[0])
    assert sum(len(cloud.get_offsets()) for cloud in shown.points_) == frame["a"].notna().sum()
    for wrong, sentence in [
        (None, "choose the two"),
        (("a",), "two names"),
        (("a", "a"), "different"),
        (("a", 9), "0 to 3"),
    ]:
        with pytest.raises(ParameterError, match=sentence):
            DecisionBoundaryDisplay.from_estimator(model, frame, y, features=wrong)
    with pytest.raises(DataError, match="does not hold numbers"):
        DecisionBoundaryDisplay.from_estimator(model, frame, y, features=("a", "kind"))
    with pytest.raises(DataError, match="'maybe', which is none of the classes"):
        DecisionBoundaryDisplay.from_estimator(model, frame, ["maybe"] * 90, features=("a", "b"))
    with pytest.raises(ParameterError, match="each of the 2 classes; got 1"):
        DecisionBoundaryDisplay.from_estimator(model, frame, y, features=("a", "b"), class_names=["one"])


def test_numbers_have_a_colour_bar():
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, X[:, 0])
    shown = DecisionBoundaryDisplay.from_estimator(model, X, X[:, 0], grid_resolution=12)
    np.testing.assert_allclose(shown.surface_.get_array(), shown.answers)
    assert len(shown.figure_.axes) == 2
    np.testing.assert_allclose(shown.points_[0].get_array(), X[:, 0])


def test_rounds_are_those_of_the_model(model):
    shown = DecisionBoundaryGridDisplay.from_rounds(model, X, Y, rounds=(1, 4, 99), grid_resolution=15)
    assert [ax.get_title() for ax in shown.axes_] == ["after 1 round", "after 4 rounds"]
    grid = np.stack([part.ravel() for part in np.meshgrid(shown.displays[1].across, shown.displays[1].up)], axis=1)
    wanted = list(model.staged_predict_proba(grid))[3]
    np.testing.assert_allclose(shown.displays[1].answers.reshape(-1, 2), wanted)
    np.testing.assert_array_equal(shown.displays[1].weights, model.sample_weights_trace_[3])
    with pytest.raises(ParameterError, match="ended before round 40"):
        DecisionBoundaryGridDisplay.from_rounds(model, X, Y, rounds=(40,))
    forest = RandomForestClassifier(n_estimators=2).fit(X, Y)
    with pytest.raises(ParameterError, match="has no predictions by round"):
        DecisionBoundaryGridDisplay.from_rounds(forest, X, Y)


def test_areas_are_weights(model):
    shown = RowWeightsDisplay.from_estimator(model, X, Y, rounds=(1, 5, 12))
    for panel, number in zip(shown.points_, (1, 5, 12), strict=True):
        areas = np.empty(80)
        for k, cloud in enumerate(panel):
            areas[k == Y] = cloud.get_sizes()
        np.testing.assert_allclose(areas / areas.sum(), model.sample_weights_trace_[number - 1])
    with pytest.raises(ParameterError, match="keep_sample_weights=True"):
        RowWeightsDisplay.from_estimator(AdaBoostClassifier(n_estimators=2).fit(X, Y), X, Y)
    with pytest.raises(DataError, match="80 rows of the fit; it has 9"):
        RowWeightsDisplay.from_estimator(model, X[:9], Y[:9])
    with pytest.raises(ParameterError, match="from 1 to 12"):
        RowWeightsDisplay.from_estimator(model, X, Y, rounds=(13,))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_heaviest_rows_are_the_suspected_ones(n_classes):
    table, y = (X, Y) if n_classes == 2 else (X_IRIS, Y_IRIS)
    model = AdaBoostClassifier(n_estimators=8, keep_sample_weights=True).fit(table, y)
    shown = HeaviestRowsDisplay.from_estimator(model, table, y, n_rows=6, marked=np.arange(len(y)) % 2 == 0)
    np.testing.assert_array_equal(shown.rows, model.suspected_labels(table, y, 6))
    np.testing.assert_allclose([bar.get_width() for bar in shown.bars_], shown.weights[shown.rows])
    assert [bool(bar.get_hatch()) for bar in shown.bars_] == [row % 2 == 0 for row in shown.rows.tolist()]
    # What a ninth member would have been fitted on.
    longer = AdaBoostClassifier(n_estimators=9, keep_sample_weights=True).fit(table, y)
    np.testing.assert_allclose(shown.weights, longer.sample_weights_trace_[8], rtol=1e-9)
    scores = np.array([[2.0, -2.0], [-1.0, 1.0]])
    assert suspect_labels(scores, np.array([0, 0]))[0] == weigh_rows(scores, np.array([0, 0])).argmax()
    with pytest.raises(DataError, match="an entry for each"):
        HeaviestRowsDisplay.from_estimator(model, table, y, row_names=["a"])
    with pytest.raises(ParameterTypeError, match="such as AdaBoostClassifier; got RandomForest"):
        HeaviestRowsDisplay.from_estimator(RandomForestClassifier(n_estimators=2).fit(X, Y), X, Y)


def test_errors_and_bounds(model):
    shown = ErrorBoundDisplay.from_estimator(model, X, Y, X_test=X[:20], y_test=Y[:20])
    np.testing.assert_allclose(shown.lines_["training error"].get_ydata(), 1 - np.array(list(model.staged_score(X, Y))))
    np.testing.assert_allclose(shown.lines_["bound"].get_ydata(), model.training_error_bound())
    np.testing.assert_allclose(shown.lines_["exponential loss"].get_ydata(), model.exponential_loss_)
    by_edges = np.exp(-2 * np.cumsum(model.edges_**2))
    np.testing.assert_allclose(shown.lines_["edge bound"].get_ydata(), by_edges)
    assert (shown.training_error <= shown.bound + 1e-12).all()
    assert (shown.bound <= by_edges + 1e-12).all()
    assert "test error" in shown.lines_
    many = AdaBoostClassifier(n_estimators=3, algorithm="samme.r").fit(X_IRIS, Y_IRIS)
    assert set(ErrorBoundDisplay.from_estimator(many, X_IRIS, Y_IRIS).lines_) == {"exponential loss", "training error"}
    with pytest.raises(ParameterError, match="come together"):
        ErrorBoundDisplay.from_estimator(model, X, Y, X_test=X)
    np.testing.assert_allclose(EdgeDisplay.from_estimator(model).line_.get_ydata(), model.edges_)


def test_margins_are_a_distribution(model):
    shown = MarginDisplay.from_estimator(model, X, Y, rounds=(2, 500))
    assert list(shown.margins) == [2, 12]
    np.testing.assert_allclose(shown.margins[12], model.margins(X, Y))
    line = shown.lines_[1]
    np.testing.assert_allclose(line.get_xdata()[1:], np.sort(model.margins(X, Y)))
    np.testing.assert_allclose(line.get_ydata()[[0, -1]], [0.0, 1.0])
    with pytest.raises(ParameterError, match="from 1 on"):
        MarginDisplay.from_estimator(model, X, Y, rounds=(0,))


def test_capacity_and_staged_curves(model):
    shown = VCBoundDisplay.from_dimensions((2, 3), most_members=50, n_rows=99)
    assert shown.lines_[0].get_ydata()[0] == pytest.approx(3 * (3 * np.log(3) + 2))
    with pytest.raises(ParameterError, match="at least one VC dimension"):
        VCBoundDisplay.from_dimensions(())
    published = {"a book": 0.05}
    curve = StagedCurveDisplay.from_estimator(model, {"training": (X, Y)}, published=published)
    np.testing.assert_allclose(curve.lines_[0].get_ydata(), 1 - np.array(list(model.staged_score(X, Y))))
    assert curve.published_[0].get_ydata()[0] == 0.05
    assert "a book: 0.05" in [text.get_text() for text in curve.ax_.get_legend().get_texts()]
    boosted = HistGradientBoostingRegressor(max_iter=4).fit(X, X[:, 0])
    values = StagedCurveDisplay.from_estimator({"boosting": boosted}, {"all": (X, X[:, 0])})
    assert values.measure == "mean squared error"
    with pytest.raises(ParameterError, match="must be numbers"):
        StagedCurveDisplay.from_estimator(model, {"training": (X, Y)}, published="good")
    with pytest.raises(ParameterTypeError, match="has no staged_predict"):
        StagedCurveDisplay.from_estimator(DecisionTreeClassifier().fit(X, Y), {"training": (X, Y)})


def test_a_film_has_a_frame_for_each_round(model, tmp_path):
    path = tmp_path / "film.gif"
    animate_rounds(model, X, Y, path, rounds=(1, 2, 12), grid_resolution=12, seconds=0.25, dpi=40)
    with Image.open(path) as film:
        assert film.n_frames == 3
        assert film.info["duration"] == 250
    assert len(plt.get_fignums()) == 1
    with pytest.raises(ParameterError, match=r"end in .gif or .mp4"):
        animate_rounds(model, X, Y, tmp_path / "film.avi")
    with pytest.raises(ParameterError, match="'seconds'"):
        animate_rounds(model, X, Y, path, seconds=0)
