"""Explanations of models of dates and lists are by the user's columns."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import r2_score

import committee
from committee import inspection
from committee.exceptions import DataError, ParameterError

pd = pytest.importorskip("pandas")
plots = pytest.importorskip("committee.plots")
pyplot = pytest.importorskip("matplotlib.pyplot")

N_ROWS = 300


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 730, N_ROWS), unit="D")
    table = pd.DataFrame({"size": rng.normal(size=N_ROWS), "when": when, "vector": list(rng.normal(size=(N_ROWS, 2)))})
    return table, np.where(table["when"].dt.month > 6, 2.0, 0.0) + 0.5 * table["size"]


@pytest.fixture(scope="module")
def forest(data: tuple[Any, Any]) -> Any:
    return committee.RandomForestRegressor(20, random_state=0).fit(*data)


def test_shapley_values_are_summed_by_column(data: tuple[Any, Any], forest: Any) -> None:
    table = data[0].head(20)
    found = inspection.shap_values(forest, table)
    assert found.feature_names == ["size", "when", "vector"]
    assert found.values.shape == (20, 3)
    np.testing.assert_allclose(found.predictions, forest.predict(table))
    np.testing.assert_array_equal(found.data[:, 1], (table["when"] - pd.Timestamp("1970-01-01")).dt.total_seconds())
    assert np.isnan(found.data[:, 2]).all()
    assert found.display_data is not None
    assert found.display_data[:, 1].tolist() == table["when"].dt.strftime("%Y-%m-%d").tolist()
    pairs = inspection.shap_values(forest, table, interactions=True)
    assert pairs.values.shape == (20, 3, 3)
    np.testing.assert_allclose(pairs.values.sum(axis=2), found.values, atol=1e-9)
    against = inspection.shap_values(forest, table, background=table)
    np.testing.assert_allclose(against.predictions, forest.predict(table))
    assert inspection.shap_importance(forest, table).rank()[0] == 1


def test_a_date_is_shuffled_as_a_whole(data: tuple[Any, Any], forest: Any) -> None:
    table, y = data
    found = inspection.permutation_importance(forest, table, y, n_repeats=3, random_state=0)
    assert found.feature_names == ["size", "when", "vector"]
    assert found.rank()[0] == 1
    order = np.random.default_rng([0, 1]).permutation(N_ROWS)
    shuffled = table.assign(when=table["when"].to_numpy()[order])
    np.testing.assert_allclose(found.importances[1, 0], found.baseline - r2_score(y, forest.predict(shuffled)))


def test_dropping_a_date_drops_its_features(data: tuple[Any, Any]) -> None:
    table, y = data[0][["size", "when"]], data[1]
    model = committee.DecisionTreeRegressor(max_depth=4, random_state=0)
    found = inspection.drop_column_importance(model, table, np.asarray(y), cv=2, random_state=0)
    assert found.rank().tolist() == [1, 0]


@pytest.mark.parametrize("method", ["brute", "traversal"])
def test_partial_dependence_moves_all_parts(data: tuple[Any, Any], forest: Any, method: str) -> None:
    table = data[0].head(60)
    months = np.array(["2020-03-05", "2020-09-05", "2021-03-05", "2021-09-05"], "M8[D]")
    found = inspection.partial_dependence(forest, table, "when", custom_values={"when": months}, method=method)
    assert found["grid_values"][0].dtype.kind == "M"
    np.testing.assert_array_equal(found["grid_values"][0], months)
    march, september, next_march, next_september = found["average"][0]
    assert min(september, next_september) - max(march, next_march) > 1.5
    if method == "brute":
        means = [forest.predict(table.assign(when=month)).mean() for month in months]
        np.testing.assert_allclose(found["average"][0], means)


def test_dependence_of_other_models_on_dates(data: tuple[Any, Any]) -> None:
    table, y = data[0][["size", "when"]].head(100), data[1].head(100)
    vote = committee.VotingRegressor([("tree", committee.DecisionTreeRegressor(random_state=0))]).fit(table, y)
    tree = committee.DecisionTreeRegressor(random_state=0).fit(table, y)
    for X in (table, table.assign(when=table["when"].dt.tz_localize("Europe/Paris"))):
        vote.fit(X, y)
        tree.fit(X, y)
        found = inspection.partial_dependence(vote, X, "when", grid_resolution=5, method="brute")
        expected = inspection.partial_dependence(tree, X, "when", grid_resolution=5, method="brute")
        np.testing.assert_array_equal(found["grid_values"][0], expected["grid_values"][0])
        np.testing.assert_allclose(found["average"], expected["average"])


def test_local_effects_and_interactions(data: tuple[Any, Any], forest: Any) -> None:
    table = data[0].head(100)
    found = inspection.accumulated_local_effects(forest, table, "when", grid_resolution=8)
    assert found["grid_values"][0].dtype.kind == "M"
    for method in ("brute", "traversal"):
        pairs = inspection.friedman_h(forest, data[0].head(40), method=method)
        assert pairs.feature_names == ["size", "when", "vector"]
        assert pairs.pairwise.shape == (1, 3)


def test_what_lists_and_dates_do_not_allow(data: tuple[Any, Any], forest: Any) -> None:
    with pytest.raises(DataError, match="Feature 'vector' holds lists"):
        inspection.partial_dependence(forest, data[0], "vector")
    with pytest.raises(ParameterError, match="The 'custom_values' of feature 'when' must be dates"):
        inspection.partial_dependence(forest, data[0], "when", custom_values={"when": ["soon"]})


def test_plots_show_dates(data: tuple[Any, Any], forest: Any) -> None:
    table = data[0].head(60)
    shown = plots.PartialDependenceDisplay.from_estimator(forest, table, ["when", "size"], kind="both")
    shown.figure_.canvas.draw()
    labels = [label.get_text() for label in shown.lines_[0].axes.get_xticklabels()]
    assert any("202" in label for label in labels) or "202" in shown.lines_[0].axes.xaxis.get_offset_text().get_text()
    effects = plots.LocalEffectsDisplay.from_estimator(forest, table, ["when"])
    effects.figure_.canvas.draw()
    waterfall = plots.ShapWaterfallDisplay.from_estimator(forest, table, row=0)
    waterfall.figure_.canvas.draw()
    import matplotlib.pyplot as plt

    plt.close("all")


def test_pair_effects_of_a_date_are_at_dates() -> None:
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=200, freq="D")
    frame = pd.DataFrame({"day": days, "x": rng.normal(size=200)})
    forest = committee.RandomForestRegressor(10, random_state=0).fit(frame, frame["x"] * np.arange(200) / 100)
    found = inspection.accumulated_pair_effects(forest, frame, ["day", "x"], grid_resolution=4)
    dates, values = found.grid_values
    assert dates.dtype.kind == "M"
    assert (dates[0], dates[-1]) == (days[0], days[-1])
    assert values.dtype.kind == "f"
    shown = committee.plots.PairEffectsDisplay.from_estimator(forest, frame, ["day", "x"], grid_resolution=4)
    assert shown.across.dtype.kind == "M"
    # The marks of the deciles lie on the axis of dates.
    low, high = shown.ax_.get_xlim()
    assert ((shown.observed[0] >= low) & (shown.observed[0] <= high)).all()
    pyplot.close(shown.figure_)
