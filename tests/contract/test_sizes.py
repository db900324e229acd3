"""The contracts at sizes and shapes where other paths through the engine are taken; small tables never see these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from committee import (
    BernoulliNB,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    _core,
)

PLAIN: dict[str, Any] = {
    "n_estimators": 6,
    "learning_rate": 0.2,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 1,
    "subsample": 1.0,
    "early_stopping": False,
    "random_state": 0,
}
VECTORS = {"multi_strategy": "multi_output_tree"}
LEVELS = {"categorical_features": [0, 1, 2]}


def draw_table(n_rows: int, n_cols: int, kind: str) -> tuple[Any, Any]:
    rng = np.random.default_rng([n_rows, n_cols])
    if kind == "numbers":
        X = rng.normal(size=(n_rows, n_cols))
    else:
        X = rng.integers(0, {"bits": 2, "levels": 7}[kind], size=(n_rows, n_cols)).astype(float)
    return X, X[:, 0] - X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n_rows)


def cut(signal: Any, n_classes: int) -> Any:
    """Classes of equal size; none: the signal itself."""
    if n_classes == 0:
        return np.round(signal, 3)
    return np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]))


def make_boosting(n_classes: int, **options: Any) -> Any:
    cls = GradientBoostingClassifier if n_classes else GradientBoostingRegressor
    return cls(**{**PLAIN, **options})


def ask(model: Any, X: Any) -> Any:
    """Scores of rows that miss values where no row of the training did: where these go is part of the model."""
    X = X[:300].copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


#: (rows, columns, kind of columns, classes, parameters), and what is different there.
SIZES: dict[str, tuple[int, int, str, int, dict[str, Any]]] = {
    "few rows": (900, 6, "numbers", 2, {}),
    "residuals that are followed": (6000, 6, "numbers", 0, {}),
    "words of 16 bits a half": (1500, 58, "numbers", 2, {}),
    "words of 16 bits a half, many rows": (50_000, 12, "numbers", 0, {"n_estimators": 2}),
    "slopes rounded by chance": (20_000, 5, "numbers", 2, {"n_estimators": 3}),
    "joint columns": (5000, 12, "bits", 2, {}),
    "joint columns by repetition": (2600, 12, "bits", 0, {}),
    "levels": (900, 5, "levels", 2, LEVELS),
    "levels of few rows": (150, 5, "levels", 0, {**LEVELS, "min_samples_leaf": 2, "min_child_weight": 4.0}),
    "levels and vectors": (900, 5, "levels", 4, LEVELS | VECTORS),
    "vectors": (3000, 5, "numbers", 3, VECTORS),
    "leaves of few rows": (2000, 5, "levels", 0, {"max_leaf_nodes": 200}),
    "medians": (900, 5, "numbers", 0, {"loss": "absolute_error"}),
    "symmetric trees": (900, 5, "levels", 2, {**LEVELS, "growth": "symmetric"}),
    "mixed growth": (900, 5, "levels", 2, {**LEVELS, "growth": "mixed"}),
    "mixed growth, rows left out": (900, 5, "numbers", 4, {"growth": "mixed", "subsample": 0.6}),
    "random thresholds": (900, 5, "levels", 0, {**LEVELS, "splitter": "random"}),
}
every_size = pytest.mark.parametrize("size", SIZES)


# A limit on rows counts rows, whatever they weigh, and a sample of rows draws a row once.
@pytest.mark.parametrize(
    "size", [size for size in SIZES if not {"min_samples_leaf", "subsample"} & set(SIZES[size][-1])]
)
def test_a_weight_is_repetition(size: str) -> None:
    n_rows, n_cols, kind, n_classes, options = SIZES[size]
    X, signal = draw_table(n_rows, n_cols, kind)
    y = cut(signal, n_classes)
    weights = np.random.default_rng(1).integers(0, 4, size=n_rows)
    rows = np.repeat(np.arange(n_rows), weights)
    weighted = make_boosting(n_classes, **options).fit(X, y, sample_weight=weights)
    repeated = make_boosting(n_classes, **options).fit(X[rows], y[rows])
    np.testing.assert_allclose(ask(weighted, X), ask(repeated, X), rtol=0, atol=1e-10)
    np.testing.assert_allclose(weighted.feature_importances_, repeated.feature_importances_, rtol=1e-9)


@every_size
@pytest.mark.parametrize("whole", [True, False])
def test_weight_zero_is_absence(size: str, whole: bool) -> None:
    n_rows, n_cols, kind, n_classes, options = SIZES[size]
    X, signal = draw_table(n_rows, n_cols, kind)
    y = cut(signal, n_classes)
    rng = np.random.default_rng(1)
    weights = np.ones(n_rows) if whole else rng.random(n_rows) + 0.1
    weights[rng.random(n_rows) < 0.3] = 0.0
    there = weights > 0.0
    absent = make_boosting(n_classes, **options).fit(X[there], y[there], sample_weight=weights[there])
    answer = ask(absent, X)
    X = np.where(there[:, None], X, np.where(X == 0.0, np.nan, X + 1.0))
    model = make_boosting(n_classes, **options).fit(X, np.where(there, y, y[::-1]), sample_weight=weights)
    np.testing.assert_array_equal(ask(model, draw_table(n_rows, n_cols, kind)[0]), answer)
    np.testing.assert_array_equal(model.feature_importances_, absent.feature_importances_)


def test_the_learning_rate_goes_by_rows_and_their_repetition() -> None:
    X, signal = draw_table(3000, 4, "numbers")
    weights = np.random.default_rng(1).integers(0, 4, size=3000)
    rows = np.repeat(np.arange(3000), weights)
    options = {"learning_rate": "auto", "n_estimators": 2}
    weighted = make_boosting(0, **options).fit(X, signal, sample_weight=weights)
    assert weighted.learning_rate_ == make_boosting(0, **options).fit(X[rows], signal[rows]).learning_rate_


@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize(
    "options",
    [{}, VECTORS, {"boosting": "dart"}, {"boosting": "goss"}, {"growth": "mixed"}, {"splitter": "random"}],
    ids=str,
)
def test_the_last_stage_is_the_prediction(n_classes: int, options: dict[str, Any]) -> None:
    X, signal = draw_table(3000, 5, "numbers")
    model = make_boosting(n_classes, n_estimators=25, **options).fit(X, cut(signal, n_classes))
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    if n_classes:
        np.testing.assert_array_equal(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))


@pytest.mark.parametrize("n_classes", [0, 3])
@pytest.mark.parametrize("subsample", [1.0, 0.6])
def test_a_warm_start_draws_what_one_fit_draws(n_classes: int, subsample: float) -> None:
    X, signal = draw_table(5000, 6, "numbers")
    y = cut(signal, n_classes)
    options = {"max_features": 0.5, "subsample": subsample, "n_estimators": 9}
    whole = make_boosting(n_classes, **options).fit(X, y)
    grown = make_boosting(n_classes, **options | {"n_estimators": 4}, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=9).fit(X, y)
    np.testing.assert_allclose(ask(grown, X), ask(whole, X), rtol=0, atol=1e-6)
    for name in ("train_score_", "oob_scores_", "oob_improvement_"):
        if hasattr(whole, name):
            np.testing.assert_allclose(getattr(grown, name), getattr(whole, name), rtol=1e-6)


def test_medians_of_leaves_do_not_know_the_scale_of_weights() -> None:
    # Halves of the weight are equal or not, whatever all of it is multiplied by.
    X, signal = draw_table(1200, 4, "levels")
    weights = np.random.default_rng(1).integers(1, 5, size=1200).astype(float)
    trees = [
        DecisionTreeRegressor(criterion="absolute_error", max_depth=6).fit(X, signal, sample_weight=weights * factor)
        for factor in (1.0, 0.1, 3.7)
    ]
    for tree in trees[1:]:
        np.testing.assert_array_equal(tree.predict(X), trees[0].predict(X))


@pytest.mark.parametrize(("n_features", "n_classes"), [(9, 2), (70, 3), (500, 12)])
def test_naive_bayes_says_of_a_row_what_it_says_of_a_batch(n_features: int, n_classes: int) -> None:
    X, signal = draw_table(400, n_features, "bits")
    model = BernoulliNB().fit(X, cut(signal, n_classes))
    for table in (X, np.asfortranarray(X), csr_array(X)):
        whole = model.predict_joint_log_proba(table)
        for size in (1, 3, 64):
            parts = [model.predict_joint_log_proba(table[i : i + size]) for i in range(0, 192, size)]
            np.testing.assert_array_equal(np.concatenate(parts), whole[:192])


@pytest.mark.parametrize("n_levels", [40, 300])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_levels_of_few_rows_do_not_know_the_scale_of_weights(n_levels: int, n_classes: int) -> None:
    # Where there are more than ten levels, those of less than five rows stay together.
    rng = np.random.default_rng(n_levels)
    X = np.column_stack([rng.integers(0, n_levels, size=1500), rng.normal(size=1500)])
    y = cut((X[:, 0] % 5 > 2) * 2.0 + X[:, 1] + rng.normal(size=1500), n_classes)
    cls: Any = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    for weights in (rng.integers(1, 4, size=1500).astype(float), rng.random(1500) + 0.1):
        answers = [
            cls(max_depth=9, categorical_features=[0]).fit(X, y, sample_weight=weights * factor).predict(X)
            for factor in (1.0, 0.1, 7.0)
        ]
        np.testing.assert_allclose(answers[1:], [answers[0]] * 2, rtol=1e-9)


def test_bins_of_many_rows_hold_a_weight_for_repetition() -> None:
    # Quantiles of more than 200,000 rows are those of a sample: of copies, where weights stand for such.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120_000, 1))
    weights = rng.integers(0, 5, size=len(X)).astype(float)
    rows = np.repeat(np.arange(len(X)), weights.astype(int))
    n_levels = np.zeros(1, dtype=np.uint32)
    whole = _core.BinMapper.fit(X[rows], None, n_levels, 255, 1).thresholds(0)
    for factor in (1.0, 0.1):
        np.testing.assert_array_equal(_core.BinMapper.fit(X, weights * factor, n_levels, 255, 1).thresholds(0), whole)
    present = weights > 0.0
    absent = _core.BinMapper.fit(X[present], weights[present], n_levels, 255, 1).thresholds(0)
    np.testing.assert_array_equal(absent, whole)
