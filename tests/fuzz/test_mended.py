"""What the fuzzer found, as small as it can be said: each of these was an accident, or nonsense without a word."""

from __future__ import annotations

import datetime
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer

import committee
from committee import inspection
from committee.exceptions import CommitteeError
from committee.scoring.scorer import Scorer
from fuzz.parameters import ESTIMATORS

pa = pytest.importorskip("pyarrow")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
CLASSES = (X[:, 0] > 0).astype(int)
VALUES = X[:, 0] + X[:, 1]
TREE = committee.DecisionTreeClassifier(random_state=0).fit(X, CLASSES)
REGRESSION = committee.DecisionTreeRegressor(random_state=0).fit(X, VALUES)
FOREST = committee.RandomForestRegressor(5, oob_score=True, random_state=0).fit(X, VALUES)
FOREST_OF_SAMPLES = committee.RandomForestRegressor(2, keep_leaf_samples=True).fit(X, VALUES)
SAME = pa.table([[1.0, 2.0], [3.0, 4.0]], names=["same", "same"])


def fit(cls: Any, given: Any = X, y: Any = CLASSES, weights: Any = None, **params: Any) -> Callable[[], Any]:
    return lambda: cls(**params).fit(given, y, sample_weight=weights)


REFUSED: dict[str, Callable[[], Any]] = {
    "more rows to draw than the engine counts": fit(committee.BaggingRegressor, y=VALUES, max_samples=1e300),
    "infinitely many rows to draw": fit(committee.RandomForestClassifier, max_samples=1.7e308),
    "a function that makes no table": fit(committee.DecisionTreeClassifier, given=lambda: None),
    "an ensemble shown as a tree": lambda: committee.export_text(FOREST),
    "no estimator shown as a tree": lambda: committee.export_text(None),
    "decimals below zero": lambda: committee.export_text(TREE, decimals=-1),
    "names of other classes": lambda: committee.export_text(TREE, class_names=["one"]),
    "an edge that is text": lambda: inspection.edge_bound("a", 3),  # type: ignore[arg-type]
    "no number of members": lambda: inspection.vc_bound(None, 2),  # type: ignore[arg-type]
    "a prior that is text": fit(committee.BernoulliNB, class_prior=["a", "b"]),
    "smoothing that is text": fit(committee.BernoulliNB, alpha=["a"]),
    "smoothing beyond doubles": fit(committee.BernoulliNB, alpha=1.7e308),
    "no zeros and ones": fit(committee.BernoulliNB, binarize=None, alpha=0.0),
    "numbers for a vectoriser": fit(committee.BoosTexterClassifier, vectorizer=CountVectorizer()),
    "no documents": fit(committee.BoosTexterClassifier, given=[], y=[], vectorizer=CountVectorizer()),
    "sizes that are a number": lambda: inspection.measure_bag_variance(REGRESSION, X, VALUES, sizes=3),  # type: ignore[arg-type]
    "a jury of a number": lambda: inspection.measure_jury(0.6, sizes=3),  # type: ignore[arg-type]
    "constraints that are nothing": fit(committee.ExtraTreeRegressor, y=VALUES, monotonic_cst=[None] * 3),
    "constraints on one class": fit(committee.ExtraTreeClassifier, y=np.zeros(30), monotonic_cst=[1, 0, 0]),
    "interactions that are a number": fit(committee.ExtraTreeClassifier, interaction_cst=np.array(3)),
    "rows that are text": lambda: committee.estimate_fit("a", 1),  # type: ignore[arg-type]
    "a feature that is nothing": lambda: inspection.partial_dependence(TREE, X, None),  # type: ignore[arg-type]
    "scores that are text": lambda: inspection.weigh_rows(np.array([["a", "b"]]), np.array([0])),
    "margins in units of zero": lambda: inspection.measure_margins(X, CLASSES, 0),
    "a scorer that is a number": lambda: Scorer(3),  # type: ignore[arg-type]
    "a scorer for two classes": fit(
        committee.RandomForestClassifier, y=np.arange(30) % 3, oob_score="roc_auc", n_estimators=30
    ),
    "a score that is text": fit(committee.RandomForestClassifier, oob_score=lambda *_: "a"),
    "nothing left to fit": fit(committee.AdaBoostClassifier, n_iter_no_change=1, validation_fraction=0.999),
    "groups that are too few": lambda: committee.EnsembleSelectionClassifier(
        [("a", committee.DecisionTreeClassifier())]
    ).fit(X, CLASSES, groups=np.arange(29)),
    "proximities that are text": lambda: inspection.scale_proximity("a"),  # type: ignore[arg-type]
    "dimensions that are text": lambda: inspection.scale_proximity(np.eye(3), "a"),  # type: ignore[arg-type]
    "weights that are text": lambda: committee.VotingClassifier(
        [("a", committee.DecisionTreeClassifier())], weights=["a"]
    ).fit(X, CLASSES),
    "weights beyond doubles": lambda: committee.VotingRegressor(
        [("a", committee.DecisionTreeRegressor())], weights=[1e308]
    ).fit(X, VALUES),
    "columns of one name": fit(committee.ExtraTreeClassifier, given=SAME, y=[0, 1]),
    "columns of one name in a batch": fit(committee.ExtraTreeClassifier, given=SAME.to_batches()[0], y=[0, 1]),
    "a card of nothing": lambda: committee.model_card(None),  # type: ignore[arg-type]
    "calibration without rows": fit(committee.RandomForestClassifier, given=X[:1], y=[0], calibration="isotonic"),
    "a coverage that is a list": lambda: FOREST.predict_interval(X, [0.5]),
    "a target of no axis": lambda: inspection.drop_column_importance(TREE, X, None),
    "a table of one axis": lambda: inspection.drop_column_importance(TREE, X[0], CLASSES),
    "labels of several lengths": lambda: inspection.weigh_rows(X, [[1], [1, 2]]),  # type: ignore[arg-type]
    "members that are classes": lambda: inspection.measure_diversity([committee.BernoulliNB], X, CLASSES),
    "residuals beyond doubles": lambda: inspection.measure_diversity([REGRESSION], X, np.r_[1e308, VALUES[1:]]),
    "classes for a target of numbers": lambda: inspection.measure_diversity({"a": ["x"] * 30}, X, VALUES),
    "members on a table of one axis": lambda: inspection.measure_diversity([REGRESSION], X[0], VALUES),
    "times of several lengths": fit(committee.RandomSurvivalForest, y=[[1.0], [1.0, 2.0]] * 15),
    "quantiles that are text": lambda: FOREST_OF_SAMPLES.predict_quantiles(X, "a"),
    "one percentile": lambda: inspection.partial_dependence(TREE, X, 0, percentiles=(0.1,)),  # type: ignore[arg-type]
    "a flag of NumPy as columns": fit(committee.DecisionTreeClassifier, categorical_features=np.True_),
    "a class to be fitted": lambda: inspection.drop_column_importance(committee.BernoulliNB, X, CLASSES),
    "a scorer of classes for numbers": lambda: inspection.permutation_importance(
        REGRESSION, X, VALUES, scoring="roc_auc"
    ),
    "a number as a table": lambda: inspection.friedman_h(TREE, 3.5),
    "a diverging regression": fit(
        committee.HistGradientBoostingRegressor, y=VALUES, learning_rate=10.0, max_iter=1000, min_samples_leaf=2
    ),
    "a diverging sum": fit(committee.GradientBoostingRegressor, y=VALUES, learning_rate=1e300, n_estimators=3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_sentence_says_what_is_wrong(name: str) -> None:
    with pytest.raises(CommitteeError) as caught:
        REFUSED[name]()
    assert str(caught.value).endswith((".", ")"))


@pytest.mark.parametrize("name", [name for name, cls in ESTIMATORS.items() if hasattr(cls, "score")])
@pytest.mark.parametrize("y", [["a"] * 29, {1, 2}, [b"a"] * 30, None], ids=["short", "set", "bytes", "nothing"])
def test_scores_say_what_is_wrong_with_the_target(name: str, y: Any) -> None:
    from fuzz.asking import fit_usual

    model, rows, _ = fit_usual(name, False)
    with pytest.raises(CommitteeError):
        model.score(rows[:30], y)


@pytest.mark.filterwarnings("error")
def test_numbers_of_few_bits_are_parameters() -> None:
    """Their comparison with the limits of doubles warned of an overflow."""
    committee.HistGradientBoostingRegressor(learning_rate=np.float32(0.5), max_iter=2).fit(X, VALUES)
    committee.BaggingClassifier(n_estimators=2, max_samples=np.float16(0.5)).fit(X, CLASSES)


def test_no_address_is_shown() -> None:
    with pytest.raises(CommitteeError, match="got <object object>"):
        committee.RandomForestClassifier(criterion=object()).fit(X, CLASSES)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["HistGradientBoostingRegressor", "GradientBoostingRegressor", "IsolationForest"])
@pytest.mark.parametrize("limit", ["max_depth", "max_leaf_nodes", "min_samples_leaf"])
def test_limits_beyond_the_engine_are_no_limits(name: str, limit: str) -> None:
    cls, few = ESTIMATORS[name], {"n_estimators": 2} if "Hist" not in name else {"max_iter": 2}
    if limit in cls().get_params():
        found, expected = (cls(random_state=0, **few, **{limit: value}).fit(X, VALUES) for value in (2**63, 10**9))
        assert found.predict(X).tobytes() == expected.predict(X).tobytes()


@pytest.mark.parametrize("name", ["GradientBoostingClassifier", "HistGradientBoostingClassifier"])
def test_flags_of_numpy_are_flags(name: str) -> None:
    cls = ESTIMATORS[name]
    for flag in (True, False):
        models = [cls(early_stopping=value, random_state=0).fit(X, CLASSES) for value in (flag, np.bool_(flag))]
        assert models[0].predict_proba(X).tobytes() == models[1].predict_proba(X).tobytes()
    forest = committee.RandomForestClassifier(20, oob_score=np.True_, random_state=0).fit(X, CLASSES)  # type: ignore[arg-type]
    assert forest.oob_score_ > 0.5


def test_weights_far_from_one_are_as_good_as_others() -> None:
    """Products of a weight of 1e300 and a target of 1e19 were infinite."""
    y = VALUES * 1e19
    for cls in (committee.DecisionTreeRegressor, committee.ExtraTreesRegressor, committee.RandomForestRegressor):
        weights = RNG.choice([1e-300, 1.0, 1e300], size=len(y))
        found = cls(random_state=0).fit(X, y, sample_weight=weights).predict(X)
        assert np.isfinite(found).all()
        assert (np.abs(found) <= np.abs(y).max() * (1 + 1e-12)).all()
        near, far = (cls(random_state=0).fit(X, y, sample_weight=CLASSES + factor) for factor in (1, 1))
        assert near.predict(X).tobytes() == far.predict(X).tobytes()
    for scale in (2.0**-900, 2.0**900):
        weights = RNG.random(len(y))
        models = [committee.ExtraTreeRegressor(random_state=0).fit(X, y, sample_weight=weights * s) for s in (1, scale)]
        assert models[0].predict(X).tobytes() == models[1].predict(X).tobytes()


def test_classes_are_in_the_order_of_the_machines_bytes() -> None:
    y = np.where(CLASSES == 1, 1, -1).astype(">i8")
    model = committee.BaggingClassifier(n_estimators=2, random_state=0).fit(X, y)
    assert model.classes_.dtype.isnative
    assert pickle.loads(pickle.dumps(model)).predict(X).tobytes() == model.predict(X).tobytes()


@pytest.mark.filterwarnings("error")
def test_dates_beyond_the_calendar() -> None:
    frame = pd.DataFrame({"when": np.array([0, 2**63 - 1, -(2**63) + 1] * 10, dtype="M8[s]"), "x": X[:, 0]})
    committee.DecisionTreeClassifier().fit(frame, CLASSES).predict(frame)
    assert datetime.datetime.min.year == 1


@pytest.mark.filterwarnings("error")
def test_powers_and_steps_beyond_doubles() -> None:
    for params in ({"power": 2**63}, {"threshold": 1.7e308}, {"learning_rate": 1.7e308, "threshold": 2.0}):
        model = committee.AdaBoostRegressor(n_estimators=3, algorithm="rt", random_state=0, **params).fit(X, VALUES)
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("weights", [None, CLASSES.astype(float)], ids=["plain", "of one class"])
def test_levels_that_weigh_nothing_leave_a_term_of_missing_values(weights: Any) -> None:
    """A category all of whose rows weigh nothing has no cell but that of missing values."""
    frame = pd.DataFrame({"x": X[:, 0], "word": pd.Series([None] * 30, dtype="object")})
    frame.loc[CLASSES == 0, "word"] = "rare"
    model = committee.ExplainableBoostingRegressor(max_iter=2, outer_bags=1).fit(frame, VALUES, sample_weight=weights)
    assert np.isfinite(model.predict(frame)).all()
