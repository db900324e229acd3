"""Missing values and categories: what training saw decides where they go."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from committee import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, export_text

both_ways = pytest.mark.parametrize("exact", [False, True])


@both_ways
@pytest.mark.parametrize("gap_class", [0, 1])
def test_gaps_go_where_training_says(exact, gap_class):
    X = np.r_[np.arange(10.0), np.arange(10.0, 20.0), np.full(6, np.nan)][:, None]
    y = np.r_[np.zeros(10), np.ones(10), np.full(6, gap_class)]
    model = DecisionTreeClassifier(exact=exact).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.get_depth() == 1
    assert model.tree_.missing_go_to_left[0] == (gap_class == 0)
    assert_array_equal(model.predict([[np.nan], [-5.0], [50.0]]), [gap_class, 0, 1])


@both_ways
def test_a_gap_may_be_a_side_of_its_own(exact):
    X = np.r_[np.arange(10.0), np.full(10, np.nan)][:, None]
    y = np.r_[np.zeros(10), np.ones(10)]
    model = DecisionTreeClassifier(exact=exact).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.get_depth() == 1
    assert_array_equal(model.predict([[np.nan], [3.0], [1e9], [-1e9]]), [1, 0, 0, 0])


@both_ways
def test_gaps_never_seen_in_training_are_no_error(exact):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X[:, 0] > 0.5
    model = DecisionTreeClassifier(exact=exact).fit(X, y)
    gap = X[:1].copy()
    gap[0, 0] = np.nan
    # The larger child takes them, as in scikit-learn.
    assert model.predict(gap)[0] == (np.bincount(y).argmax() == 1)


@both_ways
def test_gaps_among_random_thresholds(exact):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    y = np.isnan(X[:, 1]) ^ (np.nan_to_num(X[:, 0]) > 0)
    model = ExtraTreeClassifier(max_features=None, exact=exact, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95


def make_levels(n_levels, n=2000, seed=0):
    """A target whose mean depends on a hidden value of each level, in no order of the codes."""
    rng = np.random.default_rng(seed)
    effect = rng.permutation(n_levels).astype(float)
    codes = rng.integers(0, n_levels, size=n)
    return codes, effect[codes]


@both_ways
@pytest.mark.parametrize("n_levels", [3, 40, 300, 1000])
def test_categories_of_any_number_of_levels(exact, n_levels):
    codes, y = make_levels(n_levels, n=20 * n_levels)
    frame = pd.DataFrame({"level": pd.Categorical(codes, categories=range(n_levels))})
    model = DecisionTreeRegressor(exact=exact, max_depth=1).fit(frame, y)
    # Ordered by its mean target, a category splits as a number would [Fisher1958]: the best of all subsets.
    best = DecisionTreeRegressor(exact=True, max_depth=1).fit(y[:, None], y)
    assert model.score(frame, y) == pytest.approx(best.score(y[:, None], y), abs=1e-9)
    assert DecisionTreeRegressor(exact=exact).fit(frame, y).score(frame, y) == pytest.approx(1.0)


@both_ways
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_levels_of_a_few_rows_stay_together(exact, criterion):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 400, size=1200)
    codes[:600] = rng.integers(400, 420, size=600)  # twenty levels of thirty rows, four hundred of one or two
    frame, y = pd.DataFrame({"level": pd.Categorical(codes)}), np.where(codes == 400, 3.0, 0.0) + rng.normal(size=1200)
    model = DecisionTreeRegressor(exact=exact, criterion=criterion, max_leaf_nodes=10).fit(frame, y)
    rare = np.bincount(codes)[codes] < 5
    assert len(np.unique(model.apply(frame[rare]))) == 1
    assert len(np.unique(model.apply(frame))) > 2
    # With few levels in a node each speaks for itself, be it of one row.
    few = pd.DataFrame({"level": pd.Categorical(range(10))})
    assert DecisionTreeRegressor(exact=exact, criterion=criterion).fit(few, y[:10]).score(few, y[:10]) == 1.0


def test_categories_with_several_classes():
    rng = np.random.default_rng(0)
    level = rng.choice(list("abcdefgh"), size=400)
    y = pd.Series(level).map(dict(zip("abcdefgh", [2, 0, 1, 2, 0, 1, 1, 0], strict=True))).to_numpy()
    frame = pd.DataFrame({"level": level})
    model = DecisionTreeClassifier().fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model.get_n_leaves() <= 5


@pytest.mark.parametrize("features", [[1], ["level"], [False, True]])
def test_numbers_may_be_called_categories(features):
    codes, y = make_levels(12, n=500)
    frame = pd.DataFrame({"noise": np.arange(500.0), "level": codes.astype(float)})
    model = DecisionTreeRegressor(max_depth=1, categorical_features=features).fit(frame, y)
    assert np.isnan(model.tree_.threshold[0])
    left = model.tree_.left_categories[0]
    assert 0 < len(left) < 12
    table = DecisionTreeRegressor(max_depth=1, categorical_features=None).fit(frame, y)
    assert not np.isnan(table.tree_.threshold[0])


def test_categories_are_named_in_the_text():
    frame = pd.DataFrame({"color": ["red", "green", "blue"] * 10})
    y = [0, 1, 0] * 10
    model = DecisionTreeClassifier().fit(frame, y)
    text = export_text(model)
    assert text.splitlines() in (
        ["|--- color in {blue, red}", "|   |--- class: 0", "|--- color not in {blue, red}", "|   |--- class: 1"],
        ["|--- color in {green}", "|   |--- class: 1", "|--- color not in {green}", "|   |--- class: 0"],
    )
