"""Explainable boosting: tables, their sums, edits, pairs, constraints, weights and scores."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LinearRegression

import committee
from committee import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from committee.ensembles.additive.fit import confirm_gain, confirm_terms, draw_held_out
from committee.ensembles.additive.tables import TermTables, center_tables, group_cells
from committee.exceptions import DataError, ParameterError
from committee.inspection import shap_values
from committee.plots import ShapeDisplay

FEW = {"outer_bags": 2, "random_state": 0}


def make_frame(n_rows=1500, seed=0):
    """A curve, a step that two features make together, levels of a category, and missing values that matter."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.uniform(-1, 1, size=(n_rows, 3)), columns=["a", "b", "c"])
    frame["level"] = pd.Categorical(rng.choice(["low", "mid", "high"], n_rows))
    y = np.sin(3 * frame["a"]) + (frame["b"] * frame["c"] > 0) + 0.5 * (frame["level"] == "high")
    frame.loc[rng.random(n_rows) < 0.1, "a"] = np.nan
    y = np.where(frame["a"].isna(), 2.0, y) + 0.1 * rng.normal(size=n_rows)
    return frame, y


@pytest.fixture(scope="module")
def fitted():
    X, y = make_frame()
    return ExplainableBoostingRegressor(interactions=2, **FEW).fit(X, y), X, y


def test_tables_find_what_made_the_data(fitted):
    model = fitted[0]
    new, target = make_frame(seed=1)
    assert model.score(new, target) > 0.94
    assert model.term_names_[:5] == ["a", "b", "c", "level", "b x c"]
    a = model.shape("a")
    assert a.values[0, -1] > 1.0  # missing values have a cell of their own
    level = dict(zip(model.shape("level").axes[0].list_labels(), model.shape("level").values[0], strict=True))
    assert level["high"] - level["low"] == pytest.approx(0.5, abs=0.1)
    pair = model.shape(("c", "b"))
    # A single cell holds a row or two; the means of the quarters are what made the data.
    low, high = slice(0, 5), slice(-6, -1)
    assert pair.values[0, low, low].mean() > 0.3
    assert pair.values[0, high, high].mean() > 0.3
    assert pair.values[0, low, high].mean() < -0.3


def test_pairs_without_a_gain_on_rows_held_out_are_left_out():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 4))
    y = X[:, 0] + rng.normal(size=150)
    options = {"outer_bags": 4, "random_state": 0, "max_iter": 60}
    ranked = ExplainableBoostingRegressor(interactions=3, **options).fit(X, y)
    assert ranked.term_names_ == ["x0", "x1", "x2", "x3"]
    assert ranked.bag_cycles_.shape == (1, 4)
    named = ExplainableBoostingRegressor(interactions=[(0, 1)], **options).fit(X, y)
    assert named.term_names_[4:] == ["x0 x x1"]
    assert named.bag_cycles_.shape == (2, 4)


@pytest.mark.parametrize(
    ("after", "confirmed"),
    [
        ([[0.9, 0.5], [0.9, 0.6]], True),  # both bags agree on the second cycle
        ([[0.1, 1.0], [1.5, 1.0]], False),  # the mean falls, by less than its error
        ([[0.1, 1.2], [1.2, 0.1]], False),  # each bag has a cycle of its own
        ([[], []], True),  # no rows are held out
        ([[2.0]], True),  # one bag
    ],
)
def test_a_gain_is_beyond_its_standard_error(after, confirmed):
    assert confirm_gain(np.ones((len(after), 3)), np.array(after)) is confirmed


def test_terms_gain_more_than_their_standard_error():
    gains = np.random.default_rng(0).normal(0.4, 1.0, size=(6, 40))
    errors = gains.std(axis=0, ddof=1) / np.sqrt(6)
    found = confirm_terms(gains)
    assert found.tolist() == (gains.mean(axis=0) > errors).tolist()
    assert 0 < found.sum() < 40
    assert confirm_terms(1e200 * gains).tolist() == found.tolist()
    assert not confirm_terms(np.zeros((3, 2))).any()


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_noise_are_left_out_and_those_that_act_stay(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 8))
    y = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + np.sign(X[:, 3] * X[:, 4]) + rng.normal(size=1500)
    model = ExplainableBoostingRegressor(interactions=20, outer_bags=6, random_state=0).fit(X, y)
    pairs = model.term_names_[8:]
    assert {"x1 x x2", "x3 x x4"} <= set(pairs)
    assert len(pairs) < 8


def test_where_most_pairs_act_those_that_the_trial_leaves_out_stay_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 5))
    pairs = [(i, j) for i in range(5) for j in range(i)]
    sizes = np.linspace(0.02, 1.0, len(pairs))  # the smallest are within the noise
    y = sum(size * X[:, i] * X[:, j] for size, (i, j) in zip(sizes, pairs, strict=True)) + rng.normal(size=900)
    model = ExplainableBoostingRegressor(interactions=10, outer_bags=6, random_state=0)
    assert len(model.fit(X, y).term_names_) == 5 + 10
    few = np.where(sizes > 0.5, sizes, 0.0)
    y = sum(size * X[:, i] * X[:, j] for size, (i, j) in zip(few, pairs, strict=True)) + rng.normal(size=900)
    assert 5 <= len(model.fit(X, y).term_names_) - 5 < 10


def test_parts_add_up_to_the_score(fitted):
    model, X, _ = fitted
    parts = model.explain(X)
    np.testing.assert_allclose(parts.sum(axis=1) + model.intercept_, model.predict(X), atol=1e-12)
    rows = X.assign(level=X["level"].cat.codes.map(dict(enumerate(["high", "low", "mid"])).get))
    codes = np.column_stack([X[["a", "b", "c"]], X["level"].cat.codes]).astype(float)
    assert rows["level"].tolist() == X["level"].tolist()
    found = np.column_stack([shape.find_values(codes)[:, 0] for shape in model.shapes_])
    np.testing.assert_array_equal(found, parts)
    np.testing.assert_allclose(model.term_importances_, np.abs(parts).mean(axis=0), rtol=1e-9)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_terms_share_nothing(fitted):
    model, _, y = fitted
    assert model.intercept_ == pytest.approx(y.mean(), abs=0.05)
    for shape in model.shapes_:
        table, weights = shape.values[0], shape.weights
        assert abs((table * weights).sum()) < 1e-6 * weights.sum()
        if table.ndim == 2:
            for axis in (0, 1):
                assert np.abs((table * weights).sum(axis=axis)).max() < 1e-6 * weights.sum()


def test_centred_tables_give_the_same_scores():
    rng = np.random.default_rng(0)
    cells = {0: np.array([0, 0, 1, 2]), 1: np.array([0, 1, 1, 2, 3])}
    codes = rng.integers(0, 4, 300), rng.integers(0, 5, 300)
    weights = [np.bincount(own, minlength=n).astype(float) for own, n in zip(codes, (4, 5), strict=True)]
    grid = np.zeros((3, 4))
    np.add.at(grid, (cells[0][codes[0]], cells[1][codes[1]]), 1.0)
    features = {f: TermTables((f,), rng.normal(size=(2, 1, n)), weights[f]) for f, n in ((0, 4), (1, 5))}
    pair = TermTables((0, 1), rng.normal(size=(2, 1, 3, 4)), grid)
    baselines = np.zeros((2, 1))

    def score():
        own = pair.values[:, 0, cells[0][codes[0]], cells[1][codes[1]]]
        return baselines + features[0].values[:, 0, codes[0]] + features[1].values[:, 0, codes[1]] + own

    before = score()
    center_tables(features, [pair], cells, baselines)
    np.testing.assert_allclose(score(), before, atol=1e-9)
    assert np.abs(features[0].values @ weights[0]).max() < 1e-9
    assert np.abs((pair.values[:, 0] * grid).sum(axis=1)).max() < 1e-8


def test_an_edit_changes_a_copy(fitted):
    model, X, _ = fitted
    before = model.predict(X)
    table = model.shape("b").values
    other = model.edit("b", table + 1.0)
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_allclose(other.predict(X), before + 1.0, atol=1e-12)
    gone = model.edit(("b", "c"), 0.0)
    np.testing.assert_allclose(gone.predict(X), before - model.explain(X)[:, 4], atol=1e-12)
    assert (gone.shape("b x c").deviations == 0.0).all()
    assert (model.shape("b x c").deviations > 0.0).any()
    with pytest.raises(DataError, match="shape"):
        model.edit("b", [1.0, 2.0])
    with pytest.raises(DataError, match="finite"):
        model.edit("b", np.full_like(table, np.nan))


def test_unknown_terms_are_named(fitted):
    model = fitted[0]
    for term in ("z", 99, ("a", "z")):
        with pytest.raises(ParameterError, match="term"):
            model.shape(term)


@pytest.mark.parametrize("sign", [1, -1])
def test_monotone_tables(sign):
    X, y = make_frame()
    model = ExplainableBoostingRegressor(monotonic_cst={"a": sign}, interactions=3, **FEW).fit(X, y)
    assert (sign * np.diff(model.shape("a").values[0, :-1]) >= 0.0).all()
    assert all("a" not in shape.names for shape in model.shapes_ if len(shape.names) == 2)
    with pytest.raises(ParameterError, match="monotonic"):
        ExplainableBoostingRegressor(monotonic_cst={"a": sign}, interactions=[("a", "b")], **FEW).fit(X, y)


def test_named_pairs_become_terms():
    X, y = make_frame(300)
    model = ExplainableBoostingRegressor(interactions=[("a", "level"), (1, 0)], **FEW).fit(X, y)
    assert model.term_names_[4:] == ["a x level", "b x a"]
    for wrong in ([("a", "z")], [("a", "a")], ["ab"], [(0, 1, 2)]):
        with pytest.raises(ParameterError, match="interactions"):
            ExplainableBoostingRegressor(interactions=wrong, **FEW).fit(X, y)


def test_two_classes_and_several():
    X, y = load_breast_cancer(return_X_y=True)
    model = ExplainableBoostingClassifier(interactions=3, **FEW).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.92
    odds = model.explain(X).sum(axis=1) + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), odds, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)), atol=1e-12)
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = ExplainableBoostingClassifier(interactions=[(0, 1), (2, 3)], **FEW).fit(X[::2], names[::2])
    assert model.score(X[1::2], names[1::2]) > 0.9
    assert model.explain(X).shape == (150, 6, 3)
    assert model.intercept_.shape == (3,)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_losses_with_a_logarithm(loss):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 2))
    mean = np.exp(1.0 + X[:, 0] - 2.0 * (X[:, 1] > 0.5))
    y = rng.poisson(mean).astype(float) if loss == "poisson" else rng.gamma(3.0, mean / 3.0)
    model = ExplainableBoostingRegressor(loss, interactions=0, **FEW).fit(X, y)
    assert np.corrcoef(np.log(model.predict(X)), np.log(mean))[0, 1] > 0.97
    with pytest.raises(DataError, match=loss):
        ExplainableBoostingRegressor(loss).fit(X, -y)


def test_threads_do_not_matter_and_seeds_do():
    X, y = make_frame(600)
    models = [
        ExplainableBoostingRegressor(outer_bags=3, random_state=s, n_jobs=j).fit(X, y)
        for s, j in ((0, 1), (0, 4), (1, 1))
    ]
    tables = [np.concatenate([shape.values.ravel() for shape in model.shapes_[:4]]) for model in models]
    assert tables[0].tobytes() == tables[1].tobytes() != tables[2].tobytes()


def test_without_early_stopping_every_row_is_learnt_from():
    X, y = make_frame(300)
    model = ExplainableBoostingRegressor(early_stopping=False, outer_bags=1, max_iter=7, interactions=1, random_state=0)
    model.fit(X, y)
    assert model.bag_cycles_.tolist() == [[7], [7]]
    assert len(model.validation_loss_) == 0
    other = ExplainableBoostingRegressor(early_stopping=False, outer_bags=2, max_iter=7, interactions=1, random_state=5)
    np.testing.assert_allclose(other.fit(X, y).predict(X), model.predict(X))


def test_held_out_rows_are_a_share_of_each_class():
    model = ExplainableBoostingClassifier()
    y = np.repeat([0, 1, 2], [80, 19, 1])
    dataset = model.take_in(np.arange(100.0)[:, None], y)
    out = draw_held_out(dataset, 4, 0.25, 3)
    assert (out[:, y == 0].sum(axis=1) == 20).all()
    assert (out[:, y == 1].sum(axis=1) == 5).all()
    assert (out[:, y == 2] == 0.0).all()
    assert len({row.tobytes() for row in out}) == 4
    assert not draw_held_out(dataset, 2, None, 0).any()


def test_cells_are_of_equal_weight():
    weights = np.array([5.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert group_cells(weights, 2).tolist() == [0, 1, 1, 1, 1, 1]
    assert group_cells(np.ones(3), 8, np.array([2, 0, 1])).tolist() == [1, 2, 0]
    assert len(np.unique(group_cells(np.ones(255), 32))) == 32


def test_many_levels_and_a_column_without_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"many": pd.Categorical(rng.integers(0, 400, 3000).astype(str)), "none": np.nan, "x": rng.normal(size=3000)}
    )
    y = 1.0 * (X["many"].astype(int) % 2) + X["x"]
    model = ExplainableBoostingRegressor(interactions=1, **FEW).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.shape("many").values.shape == (1, len(X["many"].unique()) + 1)
    assert np.abs(model.explain(X)[:, 1]).max() < 1e-12
    unseen = X[:2].assign(many=pd.Categorical(["new", None]))
    assert np.ptp(model.explain(unseen)[:, 0]) == 0.0


def test_shapley_values_share_the_parts(fitted):
    model, X, _ = fitted
    alone = model.edit("b x c", 0.0)
    alone = alone.edit(alone.term_names_[5], 0.0)
    found = shap_values(alone, X[:20])
    np.testing.assert_allclose(found.values, alone.explain(X[:20])[:, :4], atol=1e-6)


def test_a_saved_model_has_its_tables(fitted, tmp_path):
    model, X, _ = fitted
    committee.save(model, tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.explain(X), model.explain(X))
    for own, other in zip(model.shapes_, loaded.shapes_, strict=True):
        assert own.names == other.names
        assert own.values.tobytes() == other.values.tobytes()
        assert own.axes[0].list_labels() == other.axes[0].list_labels()


def test_pictures_of_tables(fitted):
    shown = ShapeDisplay.from_estimator(fitted[0], ["a", "level", ("b", "c")])
    assert len(shown.artists_) == 3
    assert shown.axes_[1].get_xlabel() == "level"
    assert len(ShapeDisplay.from_estimator(fitted[0]).artists_) == 6
    X, y = load_iris(return_X_y=True)
    several = ExplainableBoostingClassifier(max_iter=3, interactions=0, **FEW).fit(X, y)
    assert ShapeDisplay.from_estimator(several, 0, target=2).score == 2
    with pytest.raises(ParameterError, match="target"):
        ShapeDisplay.from_estimator(several, 0)
    with pytest.raises(TypeError, match="ExplainableBoosting"):
        ShapeDisplay.from_estimator(LinearRegression())
    plt.close("all")


def test_progress_is_reported(capsys):
    X, y = load_diabetes(return_X_y=True)
    ExplainableBoostingRegressor(max_iter=20, interactions=1, verbose=1, **FEW).fit(X, y)
    assert "Cycles" in capsys.readouterr().err


def test_classes_without_errors_do_not_take_all_cycles():
    # The loss falls for ever, by a like share of itself in every cycle, which soon is little of the first loss.
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = ExplainableBoostingClassifier(max_iter=5000, interactions=0, outer_bags=1, random_state=0)
    assert model.fit(X, X[:, 0] > 0).n_iter_ < 2500
    assert model.set_params(tol=0.0).fit(X, X[:, 0] > 0).n_iter_ == 5000
