"""Limits of trees by scikit-learn's names, several quantiles, one tree for all scores, and shared data sets."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss, mean_pinball_loss
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor as PeerTree

from committee import (
    DistributionalBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    StackingClassifier,
)
from committee.data.intake import take_in
from committee.ensembles.boosting.booster import check_row_count
from committee.ensembles.combining.training_set import can_fit_dataset
from committee.exceptions import DataError, DataSizeError, ParameterError
from committee.inspection import shap_values

X_VALUES, Y_VALUES = load_diabetes(return_X_y=True)
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
FEW: dict[str, Any] = {"n_estimators": 15, "early_stopping": False, "learning_rate": 0.1, "random_state": 0}
FEW |= {"subsample": 1.0, "max_features": None}
ALONE = FEW | {"n_estimators": 1, "learning_rate": 1.0, "reg_lambda": 0.0, "max_leaf_nodes": None, "max_bins": 255}


def grow_both(weights: Any = None, **params: Any) -> tuple[Any, Any]:
    """One tree of ours, whose leaves are means, beside scikit-learn's: predictions of both, up to the baseline."""
    params = {"min_samples_leaf": 1, **params}
    ours = GradientBoostingRegressor(**ALONE, **params).fit(X_VALUES, Y_VALUES, sample_weight=weights)
    peer = PeerTree(**params, random_state=0).fit(X_VALUES, Y_VALUES, sample_weight=weights)
    return ours, peer


@pytest.mark.parametrize(
    "params",
    [
        {"min_samples_split": 60},
        {"min_samples_split": 0.2},
        {"min_samples_leaf": 0.1},
        {"min_weight_fraction_leaf": 0.15},
        {"min_impurity_decrease": 60.0},
        {"ccp_alpha": 45.0},
        {"ccp_alpha": 45.0, "max_depth": 4},
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_limits_mean_what_they_mean_in_scikit_learn(params: dict[str, Any], weighted: bool) -> None:
    weights = np.random.default_rng(0).integers(1, 4, len(Y_VALUES)).astype(float) if weighted else None
    ours, peer = grow_both(weights, **params)
    assert 2 < peer.get_n_leaves() < 200
    assert int(ours._trees.leaf_offsets[-1]) == peer.get_n_leaves()
    np.testing.assert_allclose(ours.predict(X_VALUES), peer.predict(X_VALUES), rtol=1e-6)


def test_min_weight_fraction_leaf_holds_where_hessians_differ() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(600, 3)), rng.integers(0, 2, 600)
    y[X[:, 0] > 0.3] = 1
    weights = np.where(rng.random(600) < 0.5, 0.1, 3.0)
    params = FEW | {"min_samples_leaf": 1, "min_weight_fraction_leaf": 0.07, "n_estimators": 8}
    model = GradientBoostingClassifier(**params).fit(X, y, sample_weight=weights)
    for leaf in model.apply(X)[:, :, 0].T:
        fractions = np.bincount(leaf, weights) / weights.sum()
        assert fractions[fractions > 0.0].min() >= 0.07 * (1 - 1e-9)


def test_pruned_splits_are_not_important() -> None:
    params = FEW | {"n_estimators": 5}
    whole = GradientBoostingRegressor(**params).fit(X_VALUES, Y_VALUES)
    pruned = GradientBoostingRegressor(**params, ccp_alpha=40.0).fit(X_VALUES, Y_VALUES)
    bare = GradientBoostingRegressor(**params, ccp_alpha=1e9).fit(X_VALUES, Y_VALUES)
    assert bare._trees.leaf_offsets[-1] == 5
    assert not bare.feature_importances_.any()
    assert 5 < pruned._trees.leaf_offsets[-1] < whole._trees.leaf_offsets[-1]
    assert pruned._gains.sum() < whole._gains.sum()
    sums = pruned._trees.predict(X_VALUES, "sum", None, pruned._slots, 1)[:, 0] + pruned._baseline
    np.testing.assert_allclose(pruned.train_score_[-1], np.mean((Y_VALUES - sums) ** 2), rtol=1e-9)


def test_a_monitor_is_called_and_stops() -> None:
    calls = []

    def monitor(i: int, model: Any, seen: dict[str, Any]) -> bool:
        calls.append((i, type(model).__name__, sorted(seen)))
        return i == 3

    model = GradientBoostingRegressor(**FEW).fit(X_VALUES, Y_VALUES, None, monitor)
    assert calls == [(i, "GradientBoostingRegressor", ["evals", "params"]) for i in range(4)]
    assert model.n_estimators_ == 4


def test_no_patience_is_no_early_stopping() -> None:
    model = GradientBoostingRegressor(n_estimators=12, n_iter_no_change=None, random_state=0).fit(X_VALUES, Y_VALUES)
    assert model.n_estimators_ == 12
    with pytest.raises(ParameterError, match="n_iter_no_change"):
        GradientBoostingRegressor(n_iter_no_change=None, early_stopping=True).fit(X_VALUES, Y_VALUES)


# --- several quantiles -------------------------------------------------------------------------------------------

LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]


@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_quantiles_are_fitted_together_and_never_cross(strategy: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 2))
    y = X[:, 0] + rng.normal(size=3000) * (0.2 + np.abs(X[:, 1]))
    params = FEW | {"n_estimators": 60, "multi_strategy": strategy, "min_samples_leaf": 20, "max_leaf_nodes": 8}
    model = GradientBoostingRegressor(loss="quantile", alpha=LEVELS, **params).fit(X[:2000], y[:2000])
    found = model.predict(X[2000:])
    assert found.shape == (1000, 5)
    assert (np.diff(found, axis=1) >= 0.0).all()
    np.testing.assert_allclose((y[2000:, None] <= found).mean(axis=0), LEVELS, atol=0.06)
    assert model.score(X[2000:], y[2000:]) > 0.15
    assert pickle.loads(pickle.dumps(model)).predict(X[2000:]).tobytes() == found.tobytes()
    last = [*model.staged_predict(X[2000:2010])][-1]
    np.testing.assert_allclose(last, found[:10], atol=1e-12)


def test_each_of_several_quantiles_is_as_good_as_alone() -> None:
    X, X_new, y, y_new = train_test_split(X_VALUES, Y_VALUES, random_state=0)
    params = {"max_iter": 40, "max_leaf_nodes": 6, "random_state": 0}
    joint = HistGradientBoostingRegressor(loss="quantile", quantile=[0.2, 0.8], **params).fit(X, y).predict(X_new)
    for k, level in enumerate((0.2, 0.8)):
        alone = HistGradientBoostingRegressor(loss="quantile", quantile=level, **params).fit(X, y).predict(X_new)
        losses = mean_pinball_loss(y_new, joint[:, k], alpha=level), mean_pinball_loss(y_new, alone, alpha=level)
        assert losses[0] <= losses[1] * 1.001


def test_levels_are_checked() -> None:
    for levels in ([0.9, 0.1], [0.5, 0.5], [0.0, 0.5], []):
        with pytest.raises(ParameterError, match="ascend"):
            HistGradientBoostingRegressor(loss="quantile", quantile=levels).fit(X_VALUES, Y_VALUES)
    with pytest.raises(ParameterError, match="loss='quantile' only"):
        GradientBoostingRegressor(loss="huber", alpha=[0.1, 0.9]).fit(X_VALUES, Y_VALUES)
    both = np.column_stack([Y_VALUES, Y_VALUES])
    with pytest.raises(DataError, match="one output"):
        GradientBoostingRegressor(loss="quantile", alpha=[0.1, 0.9]).fit(X_VALUES, both)


def test_early_stopping_scores_all_levels() -> None:
    model = GradientBoostingRegressor(loss="quantile", alpha=[0.3, 0.7], random_state=0, n_iter_no_change=5)
    model.fit(X_VALUES, Y_VALUES)
    assert 1 <= model.n_estimators_ < 1000
    assert np.isfinite(model.validation_score_).all()


# --- one tree for all scores -------------------------------------------------------------------------------------


def test_one_tree_serves_all_classes() -> None:
    params = FEW | {"n_estimators": 40, "multi_strategy": "multi_output_tree"}
    X, X_new, y, y_new = train_test_split(X_IRIS, Y_IRIS, random_state=0, stratify=Y_IRIS)
    model = GradientBoostingClassifier(**params).fit(X, y)
    assert model._trees.n_trees == 40
    assert model.n_trees_per_iteration_ == 1
    assert log_loss(y_new, model.predict_proba(X_new)) < 0.25
    assert model.apply(X_new).shape == (len(X_new), 40, 1)
    np.testing.assert_allclose([*model.staged_predict_proba(X_new)][-1], model.predict_proba(X_new), atol=1e-12)
    explained = shap_values(model, X_new[:5])
    total = explained.values.sum(axis=1) + explained.base_values
    np.testing.assert_allclose(total, model.decision_function(X_new[:5]), atol=1e-9)
    assert pickle.loads(pickle.dumps(model)).predict_proba(X_new).tobytes() == model.predict_proba(X_new).tobytes()


@pytest.mark.parametrize(
    "more", [{}, {"boosting": "dart"}, {"boosting": "goss"}, {"subsample": 0.7}, {"reg_alpha": 0.5}]
)
def test_one_tree_serves_all_outputs(more: dict[str, Any]) -> None:
    both = np.column_stack([Y_VALUES, -2.0 * Y_VALUES + X_VALUES[:, 2] * 500])
    params = FEW | {"n_estimators": 60, "multi_strategy": "multi_output_tree", **more}
    model = GradientBoostingRegressor(**params).fit(X_VALUES, both)
    assert model._trees.width == 2
    assert model.score(X_VALUES, both) > 0.6
    assert model.predict(X_VALUES).shape == both.shape


def test_one_tree_for_all_goes_on_from_earlier_ones() -> None:
    params = FEW | {"multi_strategy": "multi_output_tree", "warm_start": True}
    model = GradientBoostingClassifier(**params).fit(X_IRIS, Y_IRIS)
    before = log_loss(Y_IRIS, model.predict_proba(X_IRIS))
    model.set_params(n_estimators=30).fit(X_IRIS, Y_IRIS)
    assert model._trees.n_trees == 30
    assert log_loss(Y_IRIS, model.predict_proba(X_IRIS)) < before


def test_what_vectors_cannot_have() -> None:
    params = FEW | {"multi_strategy": "multi_output_tree"}
    with pytest.raises(ParameterError, match="monotone"):
        GradientBoostingClassifier(**params, monotonic_cst=[1, 0, 0, 0]).fit(X_IRIS, Y_IRIS)
    weights = np.arange(150.0) + 1
    with pytest.raises(ParameterError, match="min_weight_fraction_leaf"):
        GradientBoostingClassifier(**params, min_weight_fraction_leaf=0.1).fit(X_IRIS, Y_IRIS, sample_weight=weights)


# --- shared data sets --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [GradientBoostingClassifier, HistGradientBoostingClassifier])
def test_a_fold_of_a_shared_data_set_is_a_fit_on_its_rows(cls: Any) -> None:
    rng = np.random.default_rng(2)
    X = np.floor(rng.normal(size=(400, 4)) * 5)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    rows = np.flatnonzero(rng.random(400) < 0.7)
    params = FEW if cls is GradientBoostingClassifier else {"max_iter": 15, "random_state": 0}
    shared = take_in(cls(**params), X, y, None, task="classify")
    weights = np.bincount(rows, minlength=400).astype(float)
    fold = cls(**params).fit_dataset(shared, weights)
    alone = cls(**params).fit(X[rows], y[rows])
    np.testing.assert_allclose(fold.decision_function(X[rows]), alone.decision_function(X[rows]), atol=1e-7)


def test_committees_share_bins_with_boosting() -> None:
    assert can_fit_dataset(HistGradientBoostingClassifier())
    assert can_fit_dataset(GradientBoostingClassifier())
    assert not can_fit_dataset(GradientBoostingRegressor(init=Ridge()))
    members = [
        ("plain", GradientBoostingClassifier(**FEW)),
        ("histograms", HistGradientBoostingClassifier(max_iter=10)),
    ]
    stack = StackingClassifier(members, cv=3).fit(X_IRIS, Y_IRIS)
    assert stack.score(X_IRIS, Y_IRIS) > 0.95


def test_a_class_for_every_row_says_what_to_do() -> None:
    X = np.arange(240.0).reshape(120, 2)
    model = GradientBoostingClassifier(n_estimators=3, early_stopping=True, random_state=0)
    with pytest.raises(DataError, match=r"No class has two rows.*'early_stopping' to False"):
        model.fit(X, np.arange(120))
    assert model.set_params(early_stopping=False).fit(X, np.arange(120)).predict(X).shape == (120,)


def test_more_rows_than_sums_of_gradients_can_hold_are_refused():
    check_row_count(1 << 30)
    with pytest.raises(DataSizeError, match="at most 1,073,741,824 rows; X has 1,073,741,825"):
        check_row_count((1 << 30) + 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("settings", [{}, {"defaults": "tuned"}, {"early_stopping": True}])
@pytest.mark.parametrize(
    "model", [DistributionalBoostingRegressor(), GradientBoostingClassifier(), GradientBoostingRegressor()]
)
def test_scores_beyond_all_bounds_are_refused_without_a_warning(model: Any, settings: dict[str, Any]) -> None:
    """Also where rows are held out to find the number of rounds."""
    target = Y_VALUES > 140 if isinstance(model, GradientBoostingClassifier) else Y_VALUES
    with pytest.raises(DataError, match="grew beyond all bounds"):
        clone(model).set_params(learning_rate=1.797e308, **settings).fit(X_VALUES, target)
