"""What a search cannot use is refused with a sentence; found by the fuzzer (`fuzz.searching`)."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import committee
from committee.exceptions import CommitteeError
from committee.search import HalvingSearch, IntegerRange, RandomSearch, RealRange, TPESearch, TunedThreshold

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
VALUES = X[:, 0] + 0.1 * RNG.normal(size=40)
TREE = committee.DecisionTreeRegressor(max_depth=2, random_state=0)
STUMP = committee.DecisionStumpClassifier()


def search(**given: Any) -> Callable[[], object]:
    params = {"n_candidates": 2, "cv": 2, "random_state": 0, "param_distributions": {"max_depth": [1, 2]}} | given
    return lambda: RandomSearch(TREE, **params).fit(X, VALUES)


def tune(estimator: Any, **given: Any) -> Callable[[], object]:
    return lambda: TunedThreshold(estimator, cv=2, **given).fit(X, np.where(VALUES > 0, "yes", "no"))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a factor next to one": (
        lambda: HalvingSearch(TREE, {"max_depth": [1, 2]}, factor=1.0000001).fit(X, VALUES),
        "'factor' parameter of HalvingSearch must be a float >= 1.1; got 1.0000001.",
    ),
    "ends that are text": (lambda: RealRange("a", 2.0), "must have finite numbers as its ends"),  # type: ignore[arg-type]
    "no ends": (lambda: IntegerRange(None, 2), "must have finite numbers as its ends"),  # type: ignore[arg-type]
    "an end at infinity": (lambda: IntegerRange(1, np.inf), "must have finite numbers as its ends"),  # type: ignore[arg-type]
    "an end beyond doubles": (lambda: IntegerRange(1, 10**400), "at most 1e+307 in size"),
    "an end between whole numbers": (lambda: IntegerRange(0.5, 4, log=True), "must have whole numbers as its ends"),  # type: ignore[arg-type]
    "a member that a number replaces": (
        lambda: RandomSearch(
            committee.VotingRegressor([("a", TREE)]), {"a": [3], "a__max_depth": [1, 2]}, n_candidates=2, cv=2
        ).fit(X, VALUES),
        "'a__max_depth' cannot be set: 'a' of VotingRegressor is 3, not an estimator.",
    ),
    "a name that is a number": (search(param_distributions={3: [1, 2]}), "must have names of parameters; got 3."),
    "a metric that is a number": (search(scoring={"a": 1.0}), "The 'scoring' parameter must be the name of a scorer"),
    "a function of two arguments": (search(scoring=lambda y, p: 0.0), "which does not take three arguments."),
    "a score that is text": (
        search(scoring=lambda *_: "high", error_score="raise"),
        "A scorer must return a number; it gave 'high'.",
    ),
    "a failure that is no sentence": (
        search(scoring=lambda *_: [][0]),
        "The estimator as it was given to RandomSearch cannot be fitted: IndexError: list index out of range.",
    ),
    "a score of failures beyond doubles": (search(error_score=10**400), "must be 'raise' or a number; got 1"),
    "scores of failures that are an array": (
        search(error_score=np.ones(2)),
        "must be 'raise' or a number; got an array of shape",
    ),
    "no probabilities": (tune(committee.IsolationForest()), "a classifier that predicts probabilities"),
    "scores of probabilities": (tune(STUMP, scoring="neg_log_loss"), "The metric cannot score such predictions: "),
    "scores of numbers": (tune(STUMP, scoring="r2"), "The metric cannot score such predictions: "),
    "more intervals than rows of any table": (
        lambda: committee.GradientBoostingSurvivalAnalysis(loss="hazard", n_intervals=2**40).fit(X, np.exp(VALUES)),
        "must be an int in [1, 65535]",
    ),
}


@pytest.mark.filterwarnings("ignore:A fit of candidate")
@pytest.mark.parametrize("name", REFUSED)
def test_a_sentence_says_what_is_wrong(name: str) -> None:
    call, sentence = REFUSED[name]
    with pytest.raises(CommitteeError, match=re.escape(sentence)):
        call()


@pytest.mark.parametrize("loss", ["cox", "aft", "hazard"])
@pytest.mark.parametrize("censored", [False, True])
def test_boosted_survival_models_are_searched(loss: str, censored: bool) -> None:
    """The data set that folds share has the events and times as the fit of a fold would read them."""
    times = np.exp(VALUES)
    y = committee.make_survival_target(event=np.arange(40) % 3 > 0, time=times) if censored else times
    model = committee.GradientBoostingSurvivalAnalysis(loss=loss, n_estimators=5, random_state=0)
    folds = [(np.arange(20, 40), np.arange(20)), (np.arange(20), np.arange(20, 40))]
    found = TPESearch(model, {"max_depth": [1, 2]}, n_candidates=2, cv=folds, bins="fold", error_score="raise")
    found.fit(X, y)
    for k, (train, test) in enumerate(folds):
        alone = committee.GradientBoostingSurvivalAnalysis(loss=loss, n_estimators=5, random_state=0)
        score = alone.fit(X[train], y[train]).score(X[test], y[test])
        assert_allclose(found.cv_results_[f"split{k}_test_score"][0], score)
