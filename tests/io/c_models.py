"""Models of every kind that can be exported, and tables for them: for the tests of the exports."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression, Ridge

import committee

ROWS = 240
N_CLASSES = 4


def draw_table(seed: int = 0, n_rows: int = ROWS) -> np.ndarray:
    """Five columns with gaps: the second and the fourth are categories, of a few and of many levels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 1] = rng.integers(0, 6, n_rows) * 3
    X[:, 3] = rng.integers(0, 70, n_rows)
    X[rng.random(X.shape) < 0.08] = np.nan
    return X


def draw_classes(X: np.ndarray, n_classes: int = N_CLASSES) -> np.ndarray:
    signal = np.nan_to_num(X[:, 0]) + 0.3 * np.nan_to_num(X[:, 1] % 2) + np.sin(np.nan_to_num(X[:, 3]))
    edges = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
    noise = np.random.default_rng(1).random(len(X)) < 0.1
    return (np.digitize(signal, edges) + noise) % n_classes


def draw_values(X: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(2).gamma(1.0, 0.2, len(X))
    return np.exp(0.5 * np.nan_to_num(X[:, 0])) + np.nan_to_num(X[:, 3] % 5) + noise


FOREST = {"n_estimators": 7, "random_state": 0, "categorical_features": [1, 3]}
BOOST = {"max_iter": 8, "random_state": 0, "categorical_features": [1, 3], "early_stopping": False}
TREE = committee.DecisionTreeClassifier(max_depth=3, random_state=0)


def list_classifiers() -> dict[str, Any]:
    forest, boosted = committee.RandomForestClassifier(**FOREST), committee.HistGradientBoostingClassifier(**BOOST)
    plain = committee.RandomForestClassifier(5, random_state=0)
    bag = committee.BaggingClassifier
    ada = committee.AdaBoostClassifier
    return {
        "tree": committee.DecisionTreeClassifier(random_state=0, categorical_features=[1, 3]),
        "stump": committee.DecisionStumpClassifier(),
        "extra tree": committee.ExtraTreeClassifier(random_state=0),
        "forest": forest,
        "extra-trees": committee.ExtraTreesClassifier(5, random_state=0),
        "isotonic": committee.RandomForestClassifier(60, calibration="isotonic", random_state=0),
        "sigmoid": committee.RandomForestClassifier(60, calibration="sigmoid", random_state=0),
        "hist": boosted,
        "dart": committee.GradientBoostingClassifier(n_estimators=5, boosting="dart", random_state=0),
        "ada": ada(n_estimators=7),
        **{f"ada {name}": ada(TREE, n_estimators=6, algorithm=name) for name in ("samme", "samme.r")},
        **{f"ada {name}": ada(n_estimators=5, algorithm=name) for name in ("gentle", "logit")},
        "ada of forests": ada(committee.RandomForestClassifier(3, random_state=0), n_estimators=3, algorithm="samme"),
        "ada.r of forests": ada(
            committee.RandomForestClassifier(3, max_depth=3, random_state=0), n_estimators=3, algorithm="samme.r"
        ),
        "arcing": committee.ArcingClassifier(n_estimators=5, random_state=0),
        "bag": bag(n_estimators=5, random_state=0),
        "bag of features": bag(n_estimators=6, max_features=0.6, random_state=0),
        "bag of boosting": bag(
            committee.HistGradientBoostingClassifier(max_iter=3), n_estimators=3, max_features=3, random_state=0
        ),
        "hard vote": committee.VotingClassifier([("a", forest), ("b", boosted)], weights=[1, 2]),
        "soft vote": committee.VotingClassifier([("a", forest), ("b", boosted)], voting="soft"),
        "selection": committee.EnsembleSelectionClassifier([("a", plain), ("b", bag(n_estimators=3, random_state=0))]),
        "super learner": committee.SuperLearnerClassifier([("a", plain), ("b", bag(n_estimators=3, random_state=0))]),
        "mean stack": committee.StackingClassifier([("a", forest), ("b", boosted)], "mean", cv=3),
        "majority stack": committee.StackingClassifier([("a", forest), ("b", boosted)], "majority", cv=3),
        "convex stack": committee.StackingClassifier([("a", forest), ("b", boosted)], "nonnegative", cv=3, refit=False),
        "tree stack": committee.StackingClassifier(
            [("a", plain), ("b", TREE)], committee.RandomForestClassifier(3, random_state=0), cv=3, passthrough=True
        ),
        "layers": committee.StackingClassifier(
            [("a", plain), ("b", TREE)], "mean", layers=[[("c", TREE), ("d", plain)]], cv=3
        ),
    }


def list_two_class() -> dict[str, Any]:
    """Models of two classes, where they compute otherwise than for several."""
    ada = committee.AdaBoostClassifier
    return {
        "hist": committee.HistGradientBoostingClassifier(**BOOST),
        "exponential": committee.GradientBoostingClassifier(loss="exponential", n_estimators=5, random_state=0),
        **{
            f"ada {name}": ada(n_estimators=6, algorithm=name)
            for name in ("discrete", "real", "samme", "samme.r", "gentle", "logit")
        },
        "real of forests": ada(
            committee.RandomForestClassifier(3, max_depth=2, random_state=0), n_estimators=3, algorithm="real"
        ),
        "isotonic": committee.RandomForestClassifier(60, calibration="isotonic", random_state=0),
        "sigmoid": committee.RandomForestClassifier(60, calibration="sigmoid", random_state=0),
        "arc-gv": committee.ArcingClassifier(n_estimators=5, algorithm="arc-gv", random_state=0),
        "stack": committee.StackingClassifier(
            [("a", TREE), ("b", committee.HistGradientBoostingClassifier(max_iter=3))], "mean"
        ),
    }


def list_regressors() -> dict[str, Any]:
    forest, boosted = committee.RandomForestRegressor(**FOREST), committee.HistGradientBoostingRegressor(**BOOST)
    hist, ada = committee.HistGradientBoostingRegressor, committee.AdaBoostRegressor
    losses = ("squared_error", "absolute_error", "poisson", "gamma", "tweedie")
    return {
        "tree": committee.DecisionTreeRegressor(max_depth=4, random_state=0),
        "leaf": committee.DecisionTreeRegressor(min_samples_leaf=400),
        "forest": forest,
        "extra-trees": committee.ExtraTreesRegressor(5, random_state=0),
        **{name: hist(loss=name, **BOOST) for name in losses},
        "huber": committee.GradientBoostingRegressor(loss="huber", n_estimators=5, random_state=0),
        "quantiles": hist(loss="quantile", quantile=[0.1, 0.5, 0.9], **BOOST),
        "r2": ada(n_estimators=12, random_state=0),
        "rt": ada(n_estimators=12, algorithm="rt", random_state=0),
        "r2 of forests": ada(committee.RandomForestRegressor(3, random_state=0), n_estimators=4, random_state=0),
        "bag": committee.BaggingRegressor(n_estimators=5, random_state=0),
        "bag of boosting": committee.BaggingRegressor(hist(max_iter=3), n_estimators=3, max_features=3, random_state=0),
        "vote": committee.VotingRegressor([("a", forest), ("b", boosted)], weights=[0.3, 0.7]),
        "mean stack": committee.StackingRegressor([("a", forest), ("b", boosted)], "mean", cv=3),
        "convex stack": committee.StackingRegressor([("a", forest), ("b", boosted)], "nonnegative", cv=3),
        "super learner": committee.SuperLearnerRegressor([("a", forest), ("b", boosted)], cv=3),
        **{name: committee.GradientBoostingSurvivalAnalysis(name, n_estimators=6) for name in ("cox", "aft", "hazard")},
    }


def list_linear_stacks() -> dict[str, Any]:
    """Stacks whose meta-model is scikit-learn's: equal to rounding."""
    members = [("a", committee.RandomForestClassifier(5, random_state=0)), ("b", TREE)]
    values = [
        ("a", committee.RandomForestRegressor(5, random_state=0)),
        ("b", committee.DecisionTreeRegressor(max_depth=3)),
    ]
    return {
        "logistic": committee.StackingClassifier(members, cv=3),
        "logistic of two": committee.StackingClassifier(members, LogisticRegression(), cv=3),
        "ridge": committee.StackingRegressor(values, cv=3),
        "ridge of alpha": committee.StackingRegressor(values, Ridge(), cv=3),
    }


def list_rounded() -> dict[str, Any]:
    """Classifiers some part of which NumPy computes: equal to rounding."""
    usual = {"categorical_features": [1, 3], "random_state": 0}
    ordinal = committee.OrdinalGradientBoostingClassifier
    return {
        **{
            f"committee of {name}": committee.CommitteeClassifier(portfolio=[name], **usual)
            for name in ("linear", "kernel", "naive bayes", "extra trees", "network")
        },
        "committee": committee.CommitteeClassifier(
            portfolio=["linear", "kernel", "naive bayes", "forest", "boosting by code"], preset="fast", **usual
        ),
        "single feature": committee.SingleFeatureNB(),
        "single category": committee.SingleFeatureNB(categorical_features=[0, 1, 3]),
        "bag of naive Bayes": committee.BaggingClassifier(committee.SingleFeatureNB(), n_estimators=3, random_state=0),
        "ordinal": ordinal(n_estimators=5),
        "ordinal with spreads": ordinal(n_estimators=5, spread="by_row"),
        "ordinal by distance": ordinal(n_estimators=5, link="cloglog", predict_by="absolute_error"),
    }


def list_rounded_regressors() -> dict[str, Any]:
    """Regressors some part of which NumPy computes: equal to rounding."""
    usual = {"categorical_features": [1, 3], "random_state": 0}
    return {
        name: committee.CommitteeRegressor(portfolio=[name], **usual)
        for name in ("linear", "kernel", "shallow boosting of logs", "network")
    }


def list_two_outputs() -> dict[str, Any]:
    """Models of several targets, of classes or of values."""
    hist, boost = committee.HistGradientBoostingClassifier, committee.GradientBoostingClassifier
    stumps, tree = committee.AdaBoostClassifier, committee.DecisionTreeClassifier(max_depth=3, random_state=0)
    return {
        "classes": committee.RandomForestClassifier(4, random_state=0),
        "boosted classes": hist(**BOOST),
        "boosted labels": boost(n_estimators=6, random_state=0),
        "one tree for all": boost(n_estimators=6, multi_strategy="multi_output_tree", random_state=0),
        "exponential labels": boost(n_estimators=6, loss="exponential", random_state=0),
        "vote of boosting": committee.VotingClassifier([("a", hist(max_iter=3)), ("b", TREE)], voting="soft"),
        "bag of boosting": committee.BaggingClassifier(hist(max_iter=3), n_estimators=3, random_state=0),
        "stumps": stumps(n_estimators=6, random_state=0),
        "samme.r": stumps(tree, n_estimators=6, algorithm="samme.r", random_state=0),
        "adaboost of boosting": stumps(hist(max_iter=2), n_estimators=3, random_state=0),
        "boosted": committee.HistGradientBoostingRegressor(max_iter=5),
        "trees": committee.ExtraTreesRegressor(4),
        "r2": committee.AdaBoostRegressor(n_estimators=5, random_state=0),
        "rt": committee.AdaBoostRegressor(n_estimators=5, algorithm="rt", random_state=0),
    }


def fit_two_outputs(name: str) -> tuple[Any, np.ndarray]:
    X, model = draw_table(), list_two_outputs()[name]
    if not is_classifier(model):
        return model.fit(X, np.column_stack([draw_values(X), -draw_values(X[::-1])])), X
    # Targets of two classes only where the name says labels; elsewhere of three and two.
    y = np.column_stack([draw_classes(X, 2 if "labels" in name else 3), draw_classes(X[:, ::-1], 2)])
    return model.fit(X, y), X


def encode_rows(model: Any, X: np.ndarray) -> np.ndarray:
    """The table as exports read it: categories by the numbers of their levels."""
    from committee.engines.formula import present_formula

    codes = np.array(X, dtype=np.float64)
    for column, levels in enumerate(present_formula(model).schema.categories):
        if levels is not None:
            known = {level: code for code, level in enumerate(levels.tolist())}
            codes[:, column] = [known.get(value, np.nan) for value in X[:, column].tolist()]
    return codes
