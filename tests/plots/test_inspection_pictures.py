"""Pictures of importances, dependence, explanations and proximities show what the functions of inspection find."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris

from committee import (
    AdaBoostClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.inspection import (
    accumulated_local_effects,
    accumulated_pair_effects,
    friedman_h,
    impurity_importance,
    measure_proximity,
    partial_dependence,
    scale_proximity,
    shap_values,
)
from committee.plots import (
    ImportanceDisplay,
    ImportanceMapDisplay,
    InteractionDisplay,
    LocalEffectsDisplay,
    PairEffectsDisplay,
    PartialDependenceDisplay,
    ProximityDisplay,
    ShapSummaryDisplay,
    ShapWaterfallDisplay,
    TreeDisplay,
)

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X.iloc[:150], Y.iloc[:150]
X_IRIS, Y_IRIS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def forest():
    return RandomForestRegressor(n_estimators=10, min_samples_leaf=3, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"Latitude": rng.uniform(32, 42, 300), "Longitude": rng.uniform(-124, -114, 300)})
    frame["kind"] = pd.Categorical(rng.choice(["barn", "castle", "a dwelling of very many words"], 300))
    frame.loc[::9, "Latitude"] = np.nan
    y = np.nan_to_num(frame["Latitude"]) + 3.0 * (frame["kind"] == "castle")
    return frame, RandomForestRegressor(n_estimators=10, random_state=0).fit(frame, y)


def test_bars_are_importances_and_the_rest_is_counted(forest):
    found = impurity_importance(forest)
    shown = ImportanceDisplay.from_estimator(forest, max_features=4)
    np.testing.assert_array_equal(shown.shown_, found.rank()[:4])
    np.testing.assert_allclose([bar.get_width() for bar in shown.bars_], found.importances_mean[shown.shown_])
    low, high = (np.asarray(line.get_xdata(), dtype=float) for line in shown.bars_.errorbar.lines[1])
    np.testing.assert_allclose((high - low) / 2, found.importances_std[shown.shown_])
    assert "6 features of less importance" in shown.ax_.get_xlabel()
    names = [label.get_text() for label in shown.ax_.get_yticklabels()]
    assert names == [X.columns[k] for k in shown.shown_]


@pytest.mark.parametrize("kind", ["permutation", "oob", "shap", "drop column"])
def test_other_kinds_need_rows(forest, kind):
    with pytest.raises(ParameterError, match="needs X"):
        ImportanceDisplay.from_estimator(forest, kind=kind)
    model = RandomForestRegressor(n_estimators=4, random_state=0).fit(X.iloc[:, :3], Y)
    shown = ImportanceDisplay.from_estimator(model, X.iloc[:, :3], Y, kind=kind, random_state=0)
    assert len(shown.bars_) == 3
    assert kind in shown.importance.kind
    with pytest.raises(ParameterError, match="'impurity', 'permutation'"):
        ImportanceDisplay.from_estimator(forest, kind="gain")


def test_many_long_names_and_pixels():
    digits, labels = load_digits(return_X_y=True)
    names = [f"the grey value of the pixel that is number {k} from the upper left corner" for k in range(64)]
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(pd.DataFrame(digits, columns=names), labels)
    shown = ImportanceDisplay.from_estimator(model)
    assert len(shown.bars_) == 20
    texts = [label.get_text() for label in shown.ax_.get_yticklabels()]
    assert len(set(texts)) == 20
    assert max(map(len, texts)) <= 36
    image = ImportanceMapDisplay.from_estimator(model, (8, 8))
    np.testing.assert_allclose(image.image_.get_array().ravel(), model.feature_importances_)
    with pytest.raises(DataError, match="does not have 64 pixels"):
        ImportanceMapDisplay.from_estimator(model, (8, 9))


def test_lines_are_partial_dependence_and_share_a_scale(forest):
    shown = PartialDependenceDisplay.from_estimator(forest, X, ["bmi", "s5", "sex"], grid_resolution=9, max_curves=7)
    wanted = partial_dependence(forest, X, "bmi", grid_resolution=9)
    np.testing.assert_allclose(shown.lines_[0].get_ydata(), wanted["average"][0])
    np.testing.assert_allclose(shown.lines_[0].get_xdata(), wanted["grid_values"][0])
    assert shown.panels[0].individual.shape == (7, 9)
    limits = {ax.get_ylim() for ax in shown.axes_}
    assert len(limits) == 1
    rows = np.linspace(0, 149, 7).astype(int)
    each = partial_dependence(
        forest, X.iloc[rows], "bmi", kind="individual", custom_values={"bmi": wanted["grid_values"][0]}
    )
    np.testing.assert_allclose(shown.panels[0].individual, each["individual"][0])
    with pytest.raises(ParameterError, match="one or two features"):
        PartialDependenceDisplay.from_estimator(forest, X, [("bmi", "s5", "bp")])
    with pytest.raises(ParameterError, match="'average' or 'both'"):
        PartialDependenceDisplay.from_estimator(forest, X, ["bmi"], kind="individual")


def test_maps_have_north_at_the_top_and_no_sea(mixed):
    frame, model = mixed
    shown = PartialDependenceDisplay.from_estimator(model, frame, ("Latitude", "Longitude"), grid_resolution=12)
    assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == ("Longitude", "Latitude")
    wanted = partial_dependence(model, frame, ("Longitude", "Latitude"), grid_resolution=12)
    np.testing.assert_allclose(shown.panels[0].average, wanted["average"][0])
    drawn = shown.images_[0].get_array()
    np.testing.assert_allclose(
        np.ma.filled(drawn, np.nan)[~np.ma.getmaskarray(drawn)], wanted["average"][0].T[~np.ma.getmaskarray(drawn)]
    )
    assert shown.ax_.get_aspect() == pytest.approx(1 / np.cos(np.radians(wanted["grid_values"][1].mean())))
    corner = frame[(frame["Latitude"] > 37) | (frame["Longitude"] > -119)]
    fewer = PartialDependenceDisplay.from_estimator(model, corner, ("Longitude", "Latitude"), grid_resolution=12)
    empty = np.ma.getmaskarray(fewer.images_[0].get_array())
    assert empty[0, 0]
    assert not empty[-1, -1]


def test_categories_are_points_with_names(mixed):
    frame, model = mixed
    shown = PartialDependenceDisplay.from_estimator(model, frame, ["kind", ("kind", "Latitude")], grid_resolution=5)
    labels = [label.get_text() for label in shown.axes_[0].get_xticklabels()]
    assert labels == ["a dwel…y words", "barn", "castle"]
    assert shown.lines_[0].get_linestyle() == "None"
    effects = LocalEffectsDisplay.from_estimator(model, frame, ["kind", "Latitude"])
    wanted = accumulated_local_effects(model, frame, "kind")
    np.testing.assert_allclose([bar.get_height() for bar in effects.lines_[0]], wanted["average"][0])
    wanted = accumulated_local_effects(model, frame, "Latitude")
    np.testing.assert_allclose(effects.lines_[1].get_ydata(), wanted["average"][0])
    assert len({ax.get_ylim() for ax in effects.axes_}) == 1


def test_joint_effects_are_even_about_zero(forest):
    wanted = accumulated_pair_effects(forest, X, ("bmi", "s5"), grid_resolution=6)
    shown = PairEffectsDisplay.from_estimator(forest, X, ("bmi", "s5"), grid_resolution=6)
    np.testing.assert_allclose(shown.image_.get_array(), wanted["average"][0].T)
    assert shown.image_.norm.vmin == -shown.image_.norm.vmax


def test_a_class_is_chosen_where_there_are_several():
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X_IRIS, Y_IRIS)
    shown = PartialDependenceDisplay.from_estimator(model, X_IRIS, [2], target=1, grid_resolution=5)
    wanted = partial_dependence(model, X_IRIS, 2, grid_resolution=5)["average"][1]
    np.testing.assert_allclose(shown.lines_[0].get_ydata(), wanted)
    with pytest.raises(ParameterError, match=r"one of the 3 classes \(0, 1, 2\); got None"):
        PartialDependenceDisplay.from_estimator(model, X_IRIS, [2])
    with pytest.raises(ParameterError, match="one of the 3 classes"):
        LocalEffectsDisplay.from_estimator(model, X_IRIS, [2], target=7)
    two = RandomForestClassifier(n_estimators=3, random_state=0).fit(X_IRIS, Y_IRIS == 1)
    with pytest.raises(ParameterError, match="the second one, True, is shown"):
        PartialDependenceDisplay.from_estimator(two, X_IRIS, [2], target=False)


def test_the_table_of_interactions_is_h(forest):
    found = friedman_h(forest, X, ["bmi", "bp", "s5"], max_rows=40, random_state=0)
    shown = InteractionDisplay.from_interactions(found)
    np.testing.assert_allclose(np.diag(shown.table), found.total[0])
    np.testing.assert_allclose(shown.table[np.triu_indices(3, 1)], found.pairwise[0])
    np.testing.assert_array_equal(shown.image_.get_array(), shown.table)
    np.testing.assert_array_equal(shown.table, shown.table.T)
    with pytest.raises(ParameterError, match="numbered from 0"):
        InteractionDisplay.from_interactions(found, output=1)


def test_swarms_lie_at_their_values(forest):
    found = shap_values(forest, X)
    shown = ShapSummaryDisplay.from_values(found, max_features=3)
    order = np.argsort(-np.abs(found.values).mean(axis=0), kind="stable")
    np.testing.assert_array_equal(shown.shown_, order[:3])
    for place, (swarm, feature) in enumerate(zip(shown.swarms_, order, strict=False)):
        points = np.asarray(swarm.get_offsets())
        np.testing.assert_allclose(points[:, 0], found.values[:, feature])
        assert np.abs(points[:, 1] - place).max() < 0.45
        ranks = np.asarray(swarm.get_array())
        best = found.data[:, feature].argmax()
        assert ranks[best] == 1.0
    assert "7 features" in shown.ax_.get_xlabel()


def test_missing_values_are_grey_and_levels_are_named(mixed):
    frame, model = mixed
    shown = ShapSummaryDisplay.from_estimator(model, frame)
    place = [label.get_text() for label in shown.ax_.get_yticklabels()].index("Latitude")
    assert len(shown.swarms_[place].get_offsets()) == frame["Latitude"].notna().sum()
    drop = ShapWaterfallDisplay.from_estimator(model, frame, row=0)
    texts = [label.get_text() for label in drop.ax_.get_yticklabels()]
    assert "Latitude = missing" in texts
    assert any(text.startswith("kind = ") and "." not in text for text in texts)


@pytest.mark.parametrize("most", [2, 20])
def test_a_waterfall_ends_at_the_prediction(forest, most):
    shown = ShapWaterfallDisplay.from_estimator(forest, X, row=5, max_features=most)
    base = shown.shap.base_values[5]
    prediction = forest.predict(X.iloc[5:6])[0]
    assert base + shown.steps_.sum() == pytest.approx(prediction)
    first, last = shown.bars_[0], shown.bars_[-1]
    assert first.get_x() + first.get_width() == pytest.approx(prediction)
    assert last.get_x() == pytest.approx(base)
    for above, below in zip(shown.bars_, shown.bars_[1:], strict=False):
        assert above.get_x() == pytest.approx(below.get_x() + below.get_width())
    assert len(shown.bars_) == (3 if most == 2 else 10)
    with pytest.raises(ParameterError, match="150 rows"):
        ShapWaterfallDisplay.from_estimator(forest, X, row=150)


def test_outputs_are_chosen_by_name_or_number():
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3).fit(
        X_IRIS, np.array(list("abc"))[Y_IRIS]
    )
    found = shap_values(model, X_IRIS)
    by_name = ShapSummaryDisplay.from_values(found, output="b")
    np.testing.assert_array_equal(by_name.shap.values, found.values[..., 1])
    assert "for b" in by_name.ax_.get_xlabel()
    assert ShapWaterfallDisplay.from_values(found, output=2).shap.output_names == ["c"]
    for output in (None, "d", 3):
        with pytest.raises(ParameterError, match=r"3 outputs \(a, b, c\)"):
            ShapSummaryDisplay.from_values(found, output=output)
    with pytest.raises(DataError, match="interaction values"):
        ShapSummaryDisplay.from_values(shap_values(model, X_IRIS[:5], interactions=True), output=0)


def test_proximities_are_shared_leaves_and_distances_follow():
    model = ExtraTreesClassifier(n_estimators=12, max_leaf_nodes=6, random_state=0).fit(X_IRIS, Y_IRIS)
    leaves = model.apply(X_IRIS)
    naive = np.mean(leaves[:, None, :] == leaves[None, :, :], axis=2)
    near = measure_proximity(model, X_IRIS)
    np.testing.assert_allclose(near, naive)
    points, shares = scale_proximity(near, 150)
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    # 1 - proximity is a squared Euclidean distance: it counts the leaves in which rows differ.
    np.testing.assert_allclose(distances, 1 - near, atol=1e-9)
    assert shares.sum() == pytest.approx(1.0)
    shown = ProximityDisplay.from_estimator(model, X_IRIS, Y_IRIS)
    np.testing.assert_allclose(shown.points, points[:, :2], atol=1e-9)
    for k, cloud in enumerate(shown.points_):
        np.testing.assert_allclose(cloud.get_offsets(), shown.points[k == Y_IRIS])
    with pytest.raises(ParameterTypeError, match="method apply"):
        measure_proximity(BaggingRegressor(), X_IRIS)
    with pytest.raises(DataError, match="a value for each of the 150 rows"):
        ProximityDisplay.from_estimator(model, X_IRIS, Y_IRIS[:3])


def test_numbers_and_very_many_rows_in_the_proximity_map(forest):
    shown = ProximityDisplay.from_estimator(forest, X, Y, max_rows=40)
    rows = np.linspace(0, 149, 40).astype(int)
    np.testing.assert_allclose(shown.points_[0].get_array(), Y.to_numpy()[rows])
    assert ProximityDisplay.from_estimator(forest, X.iloc[:20]).target is None


def test_a_tree_shows_what_is_in_its_nodes(ax):
    tree = DecisionTreeClassifier(max_depth=3).fit(X_IRIS, Y_IRIS)
    shown = TreeDisplay.from_estimator(tree, class_names=["x", "y", "z"], ax=ax)
    counts = tree.tree_.value[:, 0] * tree.tree_.weighted_n_node_samples[:, None]
    assert set(shown.node_axes_) == set(range(tree.tree_.node_count))
    for node, inner in shown.node_axes_.items():
        np.testing.assert_allclose([bar.get_height() for bar in inner.patches], counts[node] / counts[node].sum())
    sent = TreeDisplay.from_estimator(tree, X_IRIS, Y_IRIS)
    for node in range(tree.tree_.node_count):
        np.testing.assert_allclose(sent.distributions[node], counts[node])
    cut = TreeDisplay.from_estimator(tree, max_depth=1)
    assert len(cut.node_axes_) < tree.tree_.node_count
    plt.close(cut.figure_)


def test_a_tree_of_values_shows_their_distribution():
    tree = DecisionTreeRegressor(max_depth=2).fit(X, Y)
    shown = TreeDisplay.from_estimator(tree, X, Y)
    for node, counts in shown.distributions.items():
        assert counts.sum() == tree.tree_.n_node_samples[node]
    shown.figure_.canvas.draw()
    renderer = shown.figure_.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in shown.texts_.values()]
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[k + 1 :])
    with pytest.raises(ParameterError, match="pass X and y"):
        TreeDisplay.from_estimator(tree)
    with pytest.raises(ParameterError, match="come together"):
        TreeDisplay.from_estimator(tree, X)
    with pytest.raises(ParameterTypeError, match="in its estimators_"):
        TreeDisplay.from_estimator(RandomForestRegressor())
    with pytest.raises(DataError, match="one output"):
        TreeDisplay.from_estimator(DecisionTreeRegressor().fit(X, np.stack([Y, Y], axis=1)), X, Y)
