"""What "auto" means in `GradientBoosting*`: tuned values, or scikit-learn's beside a number of rounds that is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingRegressor as PeerRegressor
from sklearn.neighbors import KNeighborsRegressor

import committee
from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.ensembles.boosting.settings import resolve_settings
from committee.exceptions import DataError

X, Y = load_breast_cancer(return_X_y=True)
X_VALUES, Y_VALUES = load_diabetes(return_X_y=True)


@pytest.mark.parametrize(
    ("params", "tuned"),
    [
        ({}, True),
        ({"max_depth": 3, "learning_rate": 0.1}, True),
        ({"n_iter_no_change": 5}, True),
        ({"n_estimators": 100}, False),
        ({"n_estimators": 100, "early_stopping": False}, False),
        ({"n_estimators": 100, "n_iter_no_change": 5}, False),
        ({"n_estimators": 100, "early_stopping": True}, True),
        ({"n_estimators": 100, "early_stopping": "oob"}, True),
        ({"n_estimators": 100, "defaults": "tuned"}, True),
        ({"defaults": "scikit-learn"}, False),
    ],
    ids=str,
)
def test_who_chooses_the_rounds_decides(params: dict[str, Any], tuned: bool) -> None:
    settings = resolve_settings(GradientBoostingClassifier(**params))
    assert settings.tuned == tuned
    assert settings.subsample == (0.8 if tuned else 1.0)
    assert settings.max_leaf_nodes == (31 if tuned else None)
    assert settings.max_depth == params.get("max_depth", None if tuned else 3)


def test_scikit_learns_values_are_those_of_its_constructor() -> None:
    settings, peer = resolve_settings(GradientBoostingRegressor(n_estimators=100)), PeerRegressor()
    for name in ("n_estimators", "learning_rate", "subsample", "max_depth", "max_leaf_nodes", "max_features"):
        assert getattr(settings, name) == getattr(peer, name), name
    for name in ("min_samples_leaf", "n_iter_no_change", "tol"):
        assert getattr(settings, name) == getattr(peer, name), name
    assert resolve_settings(GradientBoostingRegressor(n_estimators=100, max_leaf_nodes=6)).max_depth is None


@pytest.mark.parametrize(
    ("n_rows", "n_features", "drawn"),
    [
        (200, 8, (1, 4, 4)),
        (200, 40, (8, 12, 12)),
        (200, 3, (1, 1, 1)),
        (2_500, 8, (2, 4, 4)),
        (5_000, 40, (13, 15, 15)),
        (20_000, 40, (20, 20, 20)),
        (20_000, 7, (3, 3, 3)),
    ],
)
def test_small_tables_draw_fewer_features(n_rows: int, n_features: int, drawn: tuple[int, ...]) -> None:
    table = np.random.default_rng(0).normal(size=(n_rows, n_features))
    rounds: dict[str, Any] = {"n_estimators": 1, "defaults": "tuned", "early_stopping": False}
    values = table[:, 0]
    two = GradientBoostingClassifier(**rounds).fit(table, values > 0.0)
    three = GradientBoostingClassifier(**rounds).fit(table, np.digitize(values, [-0.5, 0.5]))
    numbers = GradientBoostingRegressor(**rounds).fit(table, values)
    assert (two.max_features_, three.max_features_, numbers.max_features_) == drawn
    assert numbers.estimators_[0, 0].max_features == drawn[2]


def test_other_growth_and_written_numbers_of_features_are_left_alone() -> None:
    table = np.random.default_rng(0).normal(size=(200, 40))
    rounds: dict[str, Any] = {"n_estimators": 1, "defaults": "tuned", "early_stopping": False}
    for params, drawn in (({"growth": "symmetric"}, 20), ({"growth": "level"}, 20), ({"max_features": 0.5}, 20)):
        assert GradientBoostingClassifier(**rounds, **params).fit(table, table[:, 0] > 0.0).max_features_ == drawn
    assert GradientBoostingClassifier(n_estimators=1).fit(table, table[:, 0] > 0.0).max_features_ == 40
    # A weight is a number of rows, in the unit that all weights share.
    for weights, drawn in ((np.full(200, 10.0), 8), (np.repeat([1.0, 30.0], 100), 11)):
        model = GradientBoostingClassifier(**rounds).fit(table, table[:, 0] > 0.0, sample_weight=weights)
        assert model.max_features_ == drawn


@pytest.mark.parametrize(
    ("params", "growth"),
    [
        ({}, "mixed"),
        ({"n_estimators": 50, "early_stopping": True}, "mixed"),
        ({"max_depth": 3}, "mixed"),
        ({"n_estimators": 50}, "leaf"),
        ({"defaults": "scikit-learn"}, "leaf"),
        ({"growth": "level"}, "level"),
        ({"n_estimators": 50, "growth": "mixed"}, "mixed"),
        ({"splitter": "random"}, "leaf"),
        ({"boosting": "dart"}, "leaf"),
        ({"boosting": "goss"}, "leaf"),
        ({"multi_strategy": "multi_output_tree"}, "leaf"),
        ({"subsample": 0.8}, "leaf"),
        ({"early_stopping": "oob"}, "leaf"),
        ({"engine": "gpu"}, "mixed"),
    ],
    ids=str,
)
def test_tuned_growth_is_mixed_where_nothing_speaks_against_it(params: dict[str, Any], growth: str) -> None:
    model = GradientBoostingClassifier(**params)
    few, many = (model.take_in(np.zeros((n_rows, 1)), np.arange(n_rows) % 2) for n_rows in (19_999, 20_000))
    settings = resolve_settings(model)
    assert settings.find_growth(few) == growth
    assert settings.find_growth(many) == (growth if params.get("growth") else "leaf")
    assert settings.has_rows_out_of_bag(few) == (settings.subsample < 1.0 and growth != "mixed")
    more = growth == "mixed" and settings.tuned
    assert settings.find_refit_rounds(20, few) == (25 if more else 20)
    assert settings.find_refit_rounds(900, few) == (min(1125, settings.n_estimators) if more else 900)


@pytest.mark.parametrize("folds", [None, 3])
def test_rounds_are_chosen_for_the_growth_of_all_rows(folds: int | None) -> None:
    """Where the rows without those held out would be few enough for mixed growth, and all rows are not."""
    table = np.random.default_rng(0).normal(size=(20_500, 2))
    rounds: dict[str, Any] = {"n_estimators": 3, "early_stopping": True, "stopping_folds": folds, "random_state": 0}
    automatic, written = (
        GradientBoostingRegressor(**rounds, **growth).fit(table, table[:, 0]) for growth in ({}, {"growth": "leaf"})
    )
    assert (automatic.validation_score_ == written.validation_score_).all()
    assert (automatic.predict(table) == written.predict(table)).all()


def test_a_number_of_rounds_is_followed() -> None:
    model = GradientBoostingClassifier(n_estimators=100, random_state=0).fit(X, Y)
    assert model.n_estimators_ == len(model.estimators_) == len(model) == 100
    assert model.learning_rate_ == 0.1
    assert not hasattr(model, "oob_scores_")
    assert model.validation_score_.size == 0
    stopped = GradientBoostingClassifier(n_estimators=100, n_iter_no_change=3, learning_rate=0.5, random_state=0)
    stopped.fit(X, Y)
    # As there, all rounds stay that were grown before the rule stopped.
    assert len(stopped.validation_score_) == stopped.n_estimators_ + 1 == len(stopped.train_score_) + 1 < 100
    chosen = clone(stopped).set_params(early_stopping=True).fit(X, Y)
    assert chosen.n_estimators_ == min(100, round(1.25 * int(np.argmax(chosen.validation_score_))))


def test_trees_are_those_of_scikit_learn_for_squared_error() -> None:
    params = {"n_estimators": 30, "max_depth": 2, "learning_rate": 0.2}
    X = np.round(X_VALUES, 2)  # few enough values for a bin each
    mine = GradientBoostingRegressor(**params).fit(X, Y_VALUES)
    peer = PeerRegressor(**params, random_state=0).fit(X, Y_VALUES)
    np.testing.assert_allclose(mine.train_score_, peer.train_score_, rtol=1e-8)
    np.testing.assert_allclose(mine.predict(X), peer.predict(X), rtol=1e-8)


@pytest.mark.parametrize("params", [{}, {"n_estimators": 50}], ids=str)
def test_six_rows_are_learned(params: dict[str, Any]) -> None:
    few, classes = [[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]], [-1, -1, -1, 1, 1, 1]
    model = GradientBoostingClassifier(random_state=0, **params).fit(few, classes)
    assert model.predict(few).tolist() == classes
    values = GradientBoostingRegressor(random_state=0, **params).fit(few, classes).predict(few)
    assert (np.sign(values) == classes).all()


def test_a_plain_function_is_a_loss_with_any_sample_of_rows() -> None:
    def squares(y: Any, scores: Any) -> Any:
        return scores - y, np.ones_like(y)

    chosen = GradientBoostingRegressor(loss=squares, random_state=0).fit(X_VALUES, Y_VALUES)
    assert chosen.score(X_VALUES, Y_VALUES) > 0.5
    assert 1 < chosen.n_estimators_ < 1000
    assert chosen.train_score_.size == 0
    fixed = GradientBoostingRegressor(loss=squares, n_estimators=20, subsample=0.8).fit(X_VALUES, Y_VALUES)
    assert not hasattr(fixed, "oob_scores_")
    assert fixed.n_estimators_ == 20


def test_trees_know_the_parameters_of_their_round() -> None:
    classes = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=4, max_depth=1, warm_start=True).fit(*classes)
    model.set_params(n_estimators=6, max_depth=2, min_samples_leaf=7).fit(*classes)
    assert [tree.max_depth for tree in model.estimators_[:, 2]] == [1, 1, 1, 1, 2, 2]
    assert [tree.min_samples_leaf for tree in model.estimators_.flat] == [1] * 12 + [7] * 6
    assert model.estimators_[5, 0].tree_.max_depth <= 2
    assert model.estimators_.size == 18
    assert [len(row) for row in model] == [3] * 6
    assert model[-1].shape == (3,)
    assert model.max_features_ == 4


def test_what_a_file_keeps(tmp_path: Any) -> None:
    model = GradientBoostingRegressor(n_estimators=3, max_features="sqrt", random_state=0).fit(X_VALUES, Y_VALUES)
    committee.save(model, tmp_path / "model.committee")
    loaded = committee.load(tmp_path / "model.committee")
    assert loaded.get_params() == model.get_params()
    assert loaded.estimators_[2, 0].max_features == "sqrt"
    assert loaded.max_features_ == model.max_features_ == 3
    # A model from before trees knew their parameters.
    del loaded.__dict__["_tree_params"], loaded.__dict__["defaults"]
    assert loaded.defaults == "auto"
    assert loaded.estimators_[0, 0].tree_.node_count > 1


def test_out_of_bag_rows_may_begin_with_a_warm_start() -> None:
    model = GradientBoostingRegressor(n_estimators=5, warm_start=True, random_state=0).fit(X_VALUES, Y_VALUES)
    model.set_params(n_estimators=8, subsample=0.5).fit(X_VALUES, Y_VALUES)
    assert model.oob_scores_[:5].tolist() == model.oob_improvement_[:5].tolist() == [0.0] * 5
    assert model.oob_scores_[5:].all()
    assert model.oob_score_ == model.oob_scores_[-1]


def test_an_initial_estimator_without_weights_is_refused_only_with_weights() -> None:
    model = GradientBoostingRegressor(init=KNeighborsRegressor(), n_estimators=3)
    assert model.fit(X_VALUES, Y_VALUES).score(X_VALUES, Y_VALUES) > 0.0
    with pytest.raises(DataError, match="The initial estimator KNeighborsRegressor does not support sample weights"):
        model.fit(X_VALUES, Y_VALUES, sample_weight=np.ones(len(Y_VALUES)))


def test_the_table_of_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    GradientBoostingRegressor(n_estimators=30, subsample=0.5, verbose=1).fit(X_VALUES, Y_VALUES)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[-1].strip() == "Remaining Time"
    assert "OOB Improve" in lines[0]
    assert [int(line.split()[0]) for line in lines[1:]] == [*range(1, 11), 20, 30]
    GradientBoostingRegressor(n_estimators=12, verbose=2).fit(X_VALUES, Y_VALUES)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 13
    assert "OOB" not in lines[0]
