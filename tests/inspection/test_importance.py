"""Importance of features, of every kind."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestRegressor as PeerForest
from sklearn.inspection import permutation_importance as peer_permutation
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import KFold, StratifiedKFold

import committee
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.inspection import (
    drop_column_importance,
    impurity_importance,
    oob_importance,
    permutation_importance,
    shap_importance,
    shap_values,
)
from tests.naive import importance as naive

X, Y = load_diabetes(return_X_y=True)
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
SMALL = {"n_estimators": 20, "random_state": 0}


def test_impurity_averages_to_the_attribute():
    forest = committee.RandomForestRegressor(**SMALL).fit(X, Y)
    found = impurity_importance(forest)
    assert found.importances.shape == (10, 20)
    np.testing.assert_allclose(found.importances_mean, forest.feature_importances_)
    np.testing.assert_allclose(found.importances[:, 3], forest.estimators_[3].feature_importances_)
    tree = committee.DecisionTreeClassifier(max_depth=2).fit(X_IRIS, Y_IRIS)
    np.testing.assert_allclose(impurity_importance(tree).importances_mean, tree.feature_importances_)
    bag = committee.BaggingClassifier(max_features=2, **SMALL).fit(X_IRIS, Y_IRIS)
    np.testing.assert_allclose(impurity_importance(bag).importances.sum(axis=0), 1.0)
    peer = PeerForest(n_estimators=5, random_state=0).fit(X, Y)
    np.testing.assert_allclose(impurity_importance(peer).importances_mean, peer.feature_importances_)
    with pytest.raises(ParameterTypeError, match="made of trees; got Ridge"):
        impurity_importance(Ridge().fit(X, Y))


@pytest.mark.parametrize("task", ["classify", "regress"])
def test_permutation_is_that_of_scikit_learn_in_distribution(task):
    if task == "classify":
        forest, table, y = committee.RandomForestClassifier(**SMALL), X_IRIS, Y_IRIS
    else:
        forest, table, y = committee.RandomForestRegressor(**SMALL), X, Y
    forest.fit(table[::2], y[::2])
    mine = permutation_importance(forest, table[1::2], y[1::2], n_repeats=40, random_state=0)
    wanted = peer_permutation(forest, table[1::2], y[1::2], n_repeats=40, random_state=1)
    error = np.sqrt((mine.importances_std**2 + wanted.importances_std**2) / 40)
    assert mine.baseline == pytest.approx(forest.score(table[1::2], y[1::2]))
    assert (np.abs(mine.importances_mean - wanted.importances_mean) <= 4 * error + 1e-12).all()


@pytest.mark.parametrize("scoring", [None, "neg_log_loss", "accuracy"])
def test_permutation_in_the_core_is_that_of_any_model(scoring):
    """The same shuffles by the core's way and by asking the model about tables."""
    forest = committee.RandomForestClassifier(**SMALL).fit(X_IRIS[::2], Y_IRIS[::2])

    class Stranger(type(forest)):
        """The same model, with no trees to show."""

        @property
        def to_tree_model(self):
            raise AttributeError

    stranger = Stranger()
    vars(stranger).update(vars(forest))
    options = {"scoring": scoring, "n_repeats": 3, "random_state": 5, "sample_weight": np.arange(75.0)}
    mine = permutation_importance(forest, X_IRIS[1::2], Y_IRIS[1::2], **options)
    wanted = permutation_importance(stranger, X_IRIS[1::2], Y_IRIS[1::2], **options)
    np.testing.assert_allclose(mine.importances, wanted.importances, atol=1e-12)


def test_permutation_of_frames_other_models_and_other_scores():
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(10)])
    ridge = Ridge().fit(frame, Y)
    found = permutation_importance(ridge, frame, Y, random_state=0)
    assert found.feature_names == list(frame.columns)
    assert found.baseline == pytest.approx(ridge.score(frame, Y))
    forest = committee.RandomForestRegressor(**SMALL).fit(frame, Y)
    scored = permutation_importance(forest, frame, Y, scoring="neg_mean_absolute_error", random_state=0)
    assert scored.baseline == pytest.approx(-mean_absolute_error(Y, forest.predict(frame)))
    both = committee.DecisionTreeRegressor(max_depth=4).fit(X, np.column_stack([Y, -Y]))
    assert permutation_importance(both, X, np.column_stack([Y, -Y])).baseline == pytest.approx(
        both.score(X, np.column_stack([Y, -Y]))
    )


def test_p_values_tell_noise_from_signal():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=(400, 2)), rng.normal(size=(400, 4))])
    y = table[:, 0] + table[:, 1] > 0
    forest = committee.RandomForestClassifier(**SMALL).fit(table[:200], y[:200])
    found = permutation_importance(forest, table[200:], y[200:], n_repeats=30, random_state=0)
    assert (found.p_values[:2] == 1 / 31).all()
    assert found.p_values[2:].min() > 1 / 31
    assert found.rank()[:2].tolist() in ([0, 1], [1, 0])


def test_out_of_bag_importance():
    forest = committee.RandomForestClassifier(**SMALL).fit(X_IRIS, Y_IRIS)
    found = oob_importance(forest, X_IRIS, Y_IRIS, n_repeats=4)
    np.testing.assert_array_equal(
        found.importances, forest.oob_permutation_importance(X_IRIS, Y_IRIS, n_repeats=4).importances
    )
    assert found.p_values.shape == (4,)
    debiased = oob_importance(forest, X_IRIS, Y_IRIS, kind="impurity")
    np.testing.assert_array_equal(debiased.importances_mean, forest.oob_impurity_importance(X_IRIS, Y_IRIS))
    with pytest.raises(ParameterError, match="'kind' argument"):
        oob_importance(forest, X_IRIS, Y_IRIS, kind="gain")
    with pytest.raises(ParameterTypeError, match="forests only"):
        oob_importance(Ridge(), X, Y)


def test_shapley_values_are_averaged_by_size():
    forest = committee.RandomForestClassifier(**SMALL).fit(X_IRIS, Y_IRIS)
    found = shap_importance(forest, X_IRIS)
    values = shap_values(forest, X_IRIS).values
    np.testing.assert_allclose(found.importances_mean, np.abs(values).mean(axis=(0, 2)))
    one = shap_importance(committee.DecisionTreeRegressor(max_depth=3).fit(X, Y), X, background=X[:10])
    assert one.importances.shape == (10, len(X))


def test_dropped_columns_on_shared_bins_are_refits():
    """A tree without ties and with few values has the same bins whatever rows they are made of."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 30, size=(300, 4)).astype(float)
    y = table[:, 0] + 0.5 * table[:, 1] + rng.normal(size=300)
    tree, folds = committee.DecisionTreeRegressor(max_depth=4, exact=True), list(KFold(3).split(table))
    found = drop_column_importance(tree, table, y, cv=folds, random_state=0)
    wanted = naive.drop_columns(tree.set_params(random_state=0), table, y, folds)
    np.testing.assert_allclose(found.importances, wanted, atol=0.05)
    assert found.rank()[0] == 0


def test_dropped_columns_of_forests_and_other_models():
    frame = pd.DataFrame(X_IRIS, columns=list("abcd"))
    frame["kind"] = pd.Categorical(np.where(Y_IRIS == 2, "x", "y"))
    forest = drop_column_importance(committee.RandomForestClassifier(**SMALL), frame, Y_IRIS, cv=3, random_state=0)
    assert forest.feature_names == [*"abcd", "kind"]
    assert forest.importances.shape == (5, 3)
    assert forest.rank()[0] == 4
    plain = drop_column_importance(LogisticRegression(max_iter=500), X_IRIS, Y_IRIS, cv=3)
    folds = list(StratifiedKFold(3).split(X_IRIS, Y_IRIS))
    np.testing.assert_allclose(
        plain.importances, naive.drop_columns(LogisticRegression(max_iter=500), X_IRIS, Y_IRIS, folds), atol=1e-9
    )
    weighted = drop_column_importance(
        committee.DecisionTreeClassifier(max_depth=2), X_IRIS, Y_IRIS, sample_weight=np.arange(150.0), random_state=0
    )
    assert weighted.importances.shape == (4, 5)


def test_invalid_arguments_are_refused():
    tree = committee.DecisionTreeRegressor(max_depth=2).fit(X, Y)
    with pytest.raises(DataError, match="same number of rows"):
        permutation_importance(tree, X, Y[:-1])
    with pytest.raises(ParameterError, match="'n_repeats'"):
        permutation_importance(tree, X, Y, n_repeats=0)
    with pytest.raises(DataError, match="not constant"):
        permutation_importance(tree, X, np.ones(len(X)))
    with pytest.raises(DataError, match="at least two features"):
        drop_column_importance(tree, X[:, :1], Y)
