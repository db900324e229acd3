"""Trees against scikit-learn's, on small data that come with it."""

from itertools import pairwise

import numpy as np
import pytest
import sklearn.tree as reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import cross_val_score

import committee
from committee import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
)
from tests.learners.split_agreement import assert_same_splits, break_ties, list_splits

CLASS_DATA = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
CLASS_CRITERIA = ["gini", "entropy", "log_loss"]
VALUE_CRITERIA = ["squared_error", "absolute_error", "poisson"]


def read_classes(name):
    return CLASS_DATA[name](return_X_y=True)


@pytest.mark.parametrize("name", CLASS_DATA)
@pytest.mark.parametrize("criterion", CLASS_CRITERIA)
@pytest.mark.parametrize("shape", [{"max_depth": 3}, {"min_samples_leaf": 5}, {"max_leaf_nodes": 6}])
def test_classes_split_as_in_scikit_learn(name, criterion, shape):
    X, y = read_classes(name)
    X = break_ties(X)
    ours = DecisionTreeClassifier(criterion=criterion, exact=True, random_state=0, **shape).fit(X, y)
    theirs = reference.DecisionTreeClassifier(criterion=criterion, random_state=0, **shape).fit(X, y)
    assert_same_splits(ours, theirs, least=0 if name == "iris" else 2)
    assert abs(ours.score(X, y) - theirs.score(X, y)) < 0.01


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize(
    "shape",
    [{"max_depth": 4}, {"min_samples_leaf": 10}, {"max_leaf_nodes": 12}, {"min_weight_fraction_leaf": 0.05}],
    ids=str,
)
def test_values_split_as_in_scikit_learn(criterion, shape):
    X, y = load_diabetes(return_X_y=True)
    X = break_ties(X)
    ours = DecisionTreeRegressor(criterion=criterion, exact=True, random_state=0, **shape).fit(X, y)
    theirs = reference.DecisionTreeRegressor(criterion=criterion, random_state=0, **shape).fit(X, y)
    assert_same_splits(ours, theirs, least=8)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.01)


def test_poisson_splits_as_in_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = rng.poisson(np.exp(X[:, 0] + 0.5 * X[:, 1]))
    shape = {"criterion": "poisson", "max_depth": 3, "min_samples_leaf": 5}
    ours = DecisionTreeRegressor(exact=True, **shape).fit(X, y)
    theirs = reference.DecisionTreeRegressor(**shape).fit(X, y)
    assert_same_splits(ours, theirs)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    assert_allclose(np.sort(ours.tree_.impurity), np.sort(theirs.tree_.impurity), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CLASS_DATA)
def test_binned_trees_predict_as_well(name):
    X, y = read_classes(name)
    ours = cross_val_score(DecisionTreeClassifier(random_state=0), X, y, cv=5)
    theirs = cross_val_score(reference.DecisionTreeClassifier(random_state=0), X, y, cv=5)
    assert ours.mean() > theirs.mean() - 0.03


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss", "gain_ratio", "error"])
@pytest.mark.parametrize("cls", [DecisionTreeClassifier, ExtraTreeClassifier])
@pytest.mark.parametrize("exact", [False, True])
def test_a_full_tree_knows_its_training_rows(cls, criterion, exact):
    X, y = load_wine(return_X_y=True)
    assert cls(criterion=criterion, exact=exact, random_state=0).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("cls", [DecisionTreeRegressor, ExtraTreeRegressor])
@pytest.mark.parametrize("exact", [False, True])
def test_a_full_regression_tree_knows_its_training_rows(cls, criterion, exact):
    X, y = load_diabetes(return_X_y=True)
    X = X[:, [0, 2, 3, 8]]
    model = cls(criterion=criterion, exact=exact, random_state=0).fit(X, y)
    assert mean_absolute_error(y, model.predict(X)) < 0.5


@pytest.mark.parametrize("cls", [DecisionTreeRegressor, ExtraTreeRegressor, RandomForestRegressor, ExtraTreesRegressor])
def test_friedman_mse_is_the_squared_error(cls):
    with pytest.warns(FutureWarning, match=r'^Value `"friedman_mse"` for `criterion` is deprecated') as caught:
        model = cls(criterion="friedman_mse", random_state=0)
    assert caught[0].filename == __file__
    assert model.criterion == "squared_error"
    # A pickle of an earlier version, and set_params, have the name itself.
    X, y = load_diabetes(return_X_y=True)
    named = cls(random_state=0).set_params(criterion="friedman_mse").fit(X, y)
    assert_array_equal(named.predict(X), model.fit(X, y).predict(X))


def test_probabilities_and_their_logarithms():
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (150, 3)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        assert_allclose(model.predict_log_proba(X), np.log(proba), rtol=1e-15)


@pytest.mark.parametrize("labels", [[3, 7, 11], ["a", "bb", "c"], [-1.0, 0.0, 1.0]])
def test_labels_of_any_type(labels):
    X, y = load_iris(return_X_y=True)
    named = np.array(labels)[y]
    model = DecisionTreeClassifier().fit(X, named)
    assert_array_equal(model.classes_, labels)
    assert_array_equal(model.predict(X), named)
    assert model.predict(X).dtype == named.dtype


def test_several_outputs_of_classes():
    X, y = load_iris(return_X_y=True)
    Y = np.column_stack([y, y > 1])
    ours = DecisionTreeClassifier(max_depth=3).fit(X, Y)
    theirs = reference.DecisionTreeClassifier(max_depth=3).fit(X, Y)
    assert ours.n_outputs_ == 2
    assert_array_equal(ours.n_classes_, theirs.n_classes_)
    assert [list(c) for c in ours.classes_] == [list(c) for c in theirs.classes_]
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.predict(X).dtype == Y.dtype
    proba = ours.predict_proba(X)
    assert isinstance(proba, list)
    for mine, their in zip(proba, theirs.predict_proba(X), strict=True):
        assert_allclose(mine, their)
    logs = ours.predict_log_proba(X)
    assert [part.shape for part in logs] == [(150, 3), (150, 2)]
    assert ours.tree_.value.shape[1:] == (2, 3)
    assert_allclose(ours.tree_.impurity[0], theirs.tree_.impurity[0])


def test_several_outputs_of_values():
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, -2 * y, np.sqrt(y)])
    ours = DecisionTreeRegressor(max_depth=3, exact=True).fit(X, Y)
    theirs = reference.DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, Y)
    assert ours.predict(X).shape == (442, 3)
    assert_same_splits(ours, theirs)
    assert_allclose(ours.predict(X), theirs.predict(X))
    assert ours.tree_.value.shape[1:] == (3, 1)


def test_a_column_target_is_one_output():
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=2).fit(X, y[:, None].astype(float))
    assert model.predict(X).shape == (150,)


def test_sample_weights_as_in_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    X = break_ties(X)
    weights = np.random.default_rng(0).integers(0, 5, size=len(y)).astype(float)
    shape = {"max_depth": 4, "min_weight_fraction_leaf": 0.03}
    ours = DecisionTreeRegressor(exact=True, **shape).fit(X, y, sample_weight=weights)
    theirs = reference.DecisionTreeRegressor(random_state=0, **shape).fit(X, y, sample_weight=weights)
    assert_same_splits(ours, theirs)
    assert_allclose(ours.predict(X), theirs.predict(X))
    assert_allclose(
        np.sort(ours.tree_.weighted_n_node_samples), np.sort(theirs.tree_.weighted_n_node_samples), rtol=1e-12
    )


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 5.0, 2: 2.0}])
def test_class_weights_as_in_scikit_learn(class_weight):
    X, y = load_wine(return_X_y=True)
    X = break_ties(X)
    ours = DecisionTreeClassifier(max_depth=2, class_weight=class_weight, exact=True).fit(X, y)
    theirs = reference.DecisionTreeClassifier(max_depth=2, class_weight=class_weight, random_state=0).fit(X, y)
    assert_allclose(ours.tree_.impurity[0], theirs.tree_.impurity[0])
    assert_allclose(ours.tree_.value[0], theirs.tree_.value[0])
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("max_features", [None, "sqrt", "log2", 1, 3, 0.5, 1.0, 40])
def test_number_of_features_drawn(max_features):
    X, y = load_wine(return_X_y=True)
    ours = DecisionTreeClassifier(max_features=max_features, random_state=0).fit(X, y)
    theirs = reference.DecisionTreeClassifier(max_features=max_features, random_state=0).fit(X, y)
    assert ours.max_features_ == theirs.max_features_
    assert ours.score(X, y) == 1.0


def test_drawn_features_differ_between_seeds_only():
    X, y = load_breast_cancer(return_X_y=True)
    grow = lambda seed: list_splits(DecisionTreeClassifier(max_features=2, random_state=seed).fit(X, y).tree_)  # noqa: E731
    assert grow(1) == grow(1)
    assert grow(1) != grow(2)


@pytest.mark.parametrize("cls", [ExtraTreeClassifier, DecisionTreeClassifier])
def test_random_thresholds_lie_between_values(cls):
    X, y = load_breast_cancer(return_X_y=True)
    model = cls(splitter="random", max_depth=4, random_state=3).fit(X, y)
    tree = model.tree_
    for node in np.flatnonzero(tree.children_left >= 0):
        assert min(tree.n_node_samples[tree.children_left[node]], tree.n_node_samples[tree.children_right[node]]) >= 1
        assert X[:, tree.feature[node]].min() <= tree.threshold[node] < X[:, tree.feature[node]].max()
    assert model.score(X, y) > 0.7


LIMITS = {
    "rows in a leaf": ({"min_samples_leaf": 20}, lambda t, leaf: t.n_node_samples[leaf].min() >= 20),
    "share of rows in a leaf": ({"min_samples_leaf": 0.1}, lambda t, leaf: t.n_node_samples[leaf].min() >= 57),
    "rows to split": ({"min_samples_split": 100}, lambda t, leaf: t.n_node_samples[~leaf].min() >= 100),
    "share of rows to split": ({"min_samples_split": 0.5}, lambda t, leaf: t.n_node_samples[~leaf].min() >= 285),
    "weight in a leaf": (
        {"min_weight_fraction_leaf": 0.2},
        lambda t, leaf: t.weighted_n_node_samples[leaf].min() >= 0.2 * 569,
    ),
    "depth": ({"max_depth": 2}, lambda t, leaf: t.max_depth == 2),
    "leaves": ({"max_leaf_nodes": 5}, lambda t, leaf: t.n_leaves == 5 == leaf.sum()),
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("exact", [False, True])
def test_limits_on_growth_hold(limit, exact):
    params, holds = LIMITS[limit]
    X, y = load_breast_cancer(return_X_y=True)
    tree = DecisionTreeClassifier(exact=exact, **params).fit(X, y).tree_
    assert tree.node_count > 1
    assert holds(tree, tree.children_left < 0)


def test_min_impurity_decrease_as_in_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    X = break_ties(X)
    shape = {"min_impurity_decrease": 20.0, "min_samples_leaf": 10}
    ours = DecisionTreeRegressor(exact=True, **shape).fit(X, y)
    theirs = reference.DecisionTreeRegressor(random_state=0, **shape).fit(X, y)
    assert_same_splits(ours, theirs)


@pytest.mark.parametrize("name", ["iris", "diabetes"])
def test_pruning_path_as_in_scikit_learn(name):
    if name == "iris":
        X, y = load_iris(return_X_y=True)
        X = break_ties(X)
        ours, theirs = DecisionTreeClassifier(exact=True), reference.DecisionTreeClassifier(random_state=0)
        params = {"max_depth": 3}
    else:
        X, y = load_diabetes(return_X_y=True)
        X = break_ties(X)
        ours, theirs = DecisionTreeRegressor(exact=True), reference.DecisionTreeRegressor(random_state=0)
        params = {"max_depth": 5}
    a = ours.set_params(**params).cost_complexity_pruning_path(X, y)
    b = theirs.set_params(**params).cost_complexity_pruning_path(X, y)
    assert_allclose(a.ccp_alphas, b.ccp_alphas, rtol=1e-9, atol=1e-12)
    assert_allclose(a.impurities, b.impurities, rtol=1e-9, atol=1e-12)
    for alpha in b.ccp_alphas[[1, len(b.ccp_alphas) // 2, -2]] + 1e-9:
        small = ours.set_params(ccp_alpha=alpha).fit(X, y)
        assert small.get_n_leaves() == theirs.set_params(ccp_alpha=alpha).fit(X, y).get_n_leaves()
        assert_allclose(small.predict(X), theirs.predict(X))
    ours.set_params(ccp_alpha=0.0)


def test_poisson_needs_counts():
    X = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match="negative"):
        DecisionTreeRegressor(criterion="poisson").fit(X, [1.0, -1.0, 2.0, 0.0])
    with pytest.raises(ValueError, match="not strictly positive"):
        DecisionTreeRegressor(criterion="poisson").fit(X, np.zeros(4))


def test_depth_leaves_paths_and_leaves_of_rows():
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4).fit(X, y)
    tree = model.tree_
    assert model.get_depth() == 4 == tree.max_depth
    assert model.get_n_leaves() == (tree.children_left < 0).sum()
    leaves = model.apply(X)
    assert (tree.children_left[leaves] == -1).all()
    assert_array_equal(
        np.bincount(leaves, minlength=tree.node_count)[tree.children_left < 0],
        tree.n_node_samples[tree.children_left < 0],
    )
    paths = model.decision_path(X)
    assert paths.shape == (len(X), tree.node_count)
    assert_array_equal(np.asarray(paths.sum(axis=0)).ravel(), tree.n_node_samples)
    row = paths[7].indices
    assert row[0] == 0
    assert row[-1] == leaves[7]
    for parent, child in pairwise(row):
        goes_left = X[7, tree.feature[parent]] <= tree.threshold[parent]
        assert child == (tree.children_left if goes_left else tree.children_right)[parent]


def test_constant_target_and_constant_features_make_a_root():
    model = DecisionTreeRegressor().fit(np.arange(5.0)[:, None], np.full(5, 2.5))
    assert model.tree_.node_count == 1
    assert_array_equal(model.predict([[9.0]]), [2.5])
    assert_array_equal(model.feature_importances_, [0.0])
    model = DecisionTreeClassifier().fit(np.ones((4, 2)), [0, 1, 1, 1])
    assert model.get_depth() == 0
    assert_array_equal(model.predict_proba([[1.0, 1.0]]), [[0.25, 0.75]])


def test_fit_dataset_takes_other_weights_and_leaves_the_data_alone():
    from committee.data.intake import take_in

    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3)
    dataset = take_in(
        model, X, y, None, task="classify", class_weight=None, categorical_features="from_dtype", unseen="missing"
    )
    weights = np.random.default_rng(0).integers(0, 3, size=150).astype(float)
    model.fit_dataset(dataset, weights, seed=5)
    bins = dataset.binned(255, 0)
    other = DecisionTreeClassifier(max_depth=3).fit_dataset(dataset, None, seed=5)
    assert dataset.binned(255, 0) is bins
    assert model.tree_.weighted_n_node_samples[0] == weights.sum()
    assert other.tree_.weighted_n_node_samples[0] == 150
    assert_array_equal(other.predict(X), DecisionTreeClassifier(max_depth=3).fit(X, y).predict(X))


def test_trees_of_one_seed_differ_by_their_number():
    from committee.data.intake import take_in

    X, y = load_breast_cancer(return_X_y=True)
    model = ExtraTreeClassifier(max_depth=5)
    dataset = take_in(
        model, X, y, None, task="classify", class_weight=None, categorical_features="from_dtype", unseen="missing"
    )
    first, second, again = (
        list_splits(ExtraTreeClassifier(max_depth=5).fit_dataset(dataset, seed=1, tree=t).tree_) for t in (0, 1, 0)
    )
    assert first == again
    assert first != second


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_array"])
def test_sparse_tables_are_dense_ones(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6)) * (rng.random((120, 6)) < 0.3)
    y = X[:, 0] - X[:, 1] > 0.1
    table = getattr(sparse, kind)(X)
    dense, model = (DecisionTreeClassifier(random_state=0).fit(form, y) for form in (X, table))
    assert list_splits(dense.tree_) == list_splits(model.tree_)
    # A block of two rows at a time.
    monkeypatch.setattr("committee.data.rows._DENSE_VALUES", 12)
    assert_array_equal(model.predict_proba(table), dense.predict_proba(X))
    assert_array_equal(model.apply(table), dense.apply(X))
    assert_array_equal(model.decision_path(table).toarray(), dense.decision_path(X).toarray())


def test_class_weights_of_several_outputs():
    X, y = load_wine(return_X_y=True)
    X = break_ties(X)
    Y = np.column_stack([y, y == 1])
    weights = [{0: 1.0, 1: 2.0, 2: 4.0}, {0: 1.0, 1: 3.0}]
    ours = DecisionTreeClassifier(max_depth=2, class_weight=weights, exact=True).fit(X, Y)
    theirs = reference.DecisionTreeClassifier(max_depth=2, class_weight=weights, random_state=0).fit(X, Y)
    assert_same_splits(ours, theirs)


def test_single_precision_is_enough_for_single_precision():
    X, y = load_breast_cancer(return_X_y=True)
    single = X.astype(np.float32)
    model = DecisionTreeClassifier(random_state=0).fit(single, y)
    assert model.score(single, y) == 1.0
    assert_array_equal(model.predict(single), model.predict(single.astype(np.float64)))


def test_numbers_beyond_all_bounds_are_as_good_as_none():
    X, y = load_iris(return_X_y=True)
    huge = {"max_depth": 10**12, "max_leaf_nodes": 10**12, "max_features": 10**12}
    assert DecisionTreeClassifier(**huge).fit(X, y).score(X, y) == 1.0
    assert DecisionTreeClassifier(min_samples_leaf=10**12).fit(X, y).get_n_leaves() == 1
    assert DecisionTreeClassifier(min_samples_split=10**12).fit(X, y).get_n_leaves() == 1


def test_check_input_is_no_business_of_a_pipeline():
    with config_context(enable_metadata_routing=True):
        model = DecisionTreeClassifier().set_fit_request(sample_weight=True)
        with pytest.raises(TypeError, match="check_input"):
            model.set_fit_request(check_input=True)


@pytest.mark.parametrize("name", ["Decision", "Extra"])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_parameters_and_defaults_are_scikit_learns(name, kind):
    theirs = getattr(reference, f"{name}Tree{kind}")().get_params()
    ours = getattr(committee, f"{name}Tree{kind}")().get_params()
    assert {key: ours[key] for key in theirs} == theirs
