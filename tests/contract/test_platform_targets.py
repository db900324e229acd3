"""Contract 1 across machines: several targets, distributions, columns of text, and leaves that follow new rows.

As in `test_platform_families`, a digest covers the answers of a fitted model to rows, and is that of every processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import committee
from tests.contract.test_platform_families import FEW, N_ASKED, N_ROWS, SEED, Tables, ask, digest_arrays

JOINT: dict[str, Any] = {**FEW, "multi_strategy": "multi_output_tree"}
QUESTIONS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
WORDS = ("pump", "valve", "leaks", "noise", "again", "motor", "cold", "hot", "slow", "oil", "belt", "dust")


class TargetTables(Tables):
    """The table with several targets, and a frame with a column of text."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(17)
        other = self.full[:, 3] - self.full[:, 4] / 2 + rng.integers(0, 200, size=N_ROWS)
        self.several = np.c_[self.signal, other]
        self.labels = (self.several > np.quantile(self.several, 0.6, axis=0, method="lower")).astype(int)
        four = np.digitize(other, np.quantile(other, [0.2, 0.5, 0.8], method="lower"))
        self.class_targets = np.c_[self.three, four]
        self.counts = np.floor(self.times).astype(int)
        self.frame = pd.DataFrame(self.X[:, :3], columns=["size", "age", "power"])
        self.frame["note"] = [self._write_note(rng, one) for one in self.three]

    def _write_note(self, rng: np.random.Generator, label: int) -> str:
        drawn = rng.integers(0, len(WORDS), size=6)
        return " ".join(
            [*(WORDS[k] for k in drawn), *([WORDS[label]] * int(rng.random() < 0.7)), str(rng.integers(50))]
        )


def flatten(answers: list[Any]) -> list[Any]:
    """Answers about several targets are lists of arrays."""
    return [array for answer in answers for array in (answer if isinstance(answer, list) else [answer])]


def fit_and_ask(name: str, target: str, table: str = "X", **params: Any) -> Callable[[TargetTables], list[Any]]:
    def run(data: TargetTables) -> list[Any]:
        X = getattr(data, table)
        model = getattr(committee, name)(**params).fit(X, getattr(data, target))
        return flatten(ask(model, X[:N_ASKED], QUESTIONS))

    return run


def refit(name: str, target: str, decay_rate: float = 0.5, **params: Any) -> Callable[[TargetTables], list[Any]]:
    """The first half of the rows, then leaves by the second."""

    def run(data: TargetTables) -> list[Any]:
        y, half = getattr(data, target), N_ROWS // 2
        old = getattr(committee, name)(**FEW, **params).fit(data.X[:half], y[:half])
        new = old.refit_leaves(data.X[half:], y[half:], decay_rate=decay_rate)
        return flatten(ask(new, data.X[:N_ASKED], QUESTIONS))

    return run


def refit_ranking(data: TargetTables) -> list[Any]:
    half, queries = N_ROWS // 2, data.queries
    old = committee.GradientBoostingRanker(**FEW).fit(data.X[:half], data.grades[:half], qid=queries[:half])
    new = old.refit_leaves(data.X[half:], data.grades[half:], qid=queries[half:], decay_rate=0.5)
    return [new.predict(data.X[:N_ASKED])]


def describe_distribution(distribution: str, target: str, **params: Any) -> Callable[[TargetTables], list[Any]]:
    """Means and spreads of rows; quantiles are SciPy's."""

    def run(data: TargetTables) -> list[Any]:
        model = committee.DistributionalBoostingRegressor(distribution, n_estimators=10, **params, **SEED)
        found = model.fit(data.X, getattr(data, target)).predict_distribution(data.X[:N_ASKED])
        return [
            found.find_mean(),
            found.find_standard_deviation(),
            found.find_log_likelihood(getattr(data, target)[:N_ASKED]),
        ]

    return run


FAMILIES: dict[str, Callable[[TargetTables], list[Any]]] = {
    "distribution, normal": describe_distribution("normal", "signal"),
    "distribution, normal, drawn": describe_distribution("normal", "signal", subsample=0.6, max_features=0.5),
    "distribution, lognormal": describe_distribution("lognormal", "times"),
    "distribution, counts": describe_distribution("negative_binomial", "counts"),
    "tree, several numbers": fit_and_ask("DecisionTreeRegressor", "several", max_depth=7, **SEED),
    "tree, class targets": fit_and_ask("DecisionTreeClassifier", "class_targets", max_depth=7, **SEED),
    "random forest, several numbers": fit_and_ask("RandomForestRegressor", "several", **FEW),
    "random forest, labels": fit_and_ask("RandomForestClassifier", "labels", **FEW),
    "random forest, class targets": fit_and_ask("RandomForestClassifier", "class_targets", **FEW),
    "extra trees, several numbers": fit_and_ask("ExtraTreesRegressor", "several", **FEW),
    "extra trees, class targets": fit_and_ask("ExtraTreesClassifier", "class_targets", **FEW),
    "boosting, several numbers": fit_and_ask("GradientBoostingRegressor", "several", **FEW),
    "boosting, labels": fit_and_ask("GradientBoostingClassifier", "labels", **FEW),
    "boosting, class targets": fit_and_ask("GradientBoostingClassifier", "class_targets", **FEW),
    "boosting by one tree, several numbers": fit_and_ask("GradientBoostingRegressor", "several", **JOINT),
    "boosting by one tree, labels": fit_and_ask("GradientBoostingClassifier", "labels", **JOINT),
    "boosting by one tree, class targets": fit_and_ask("GradientBoostingClassifier", "class_targets", **JOINT),
    "adaboost, several numbers": fit_and_ask("AdaBoostRegressor", "several", **FEW),
    "adaboost, labels": fit_and_ask("AdaBoostClassifier", "labels", **FEW),
    "adaboost, class targets": fit_and_ask("AdaBoostClassifier", "class_targets", **FEW),
    "bagging, several numbers": fit_and_ask("BaggingRegressor", "several", **FEW),
    "bagging, class targets": fit_and_ask("BaggingClassifier", "class_targets", **FEW),
    "refit leaves of a forest, classes": refit("RandomForestClassifier", "three"),
    "refit leaves of a forest, numbers": refit("ExtraTreesRegressor", "signal", decay_rate=0.0),
    "refit leaves of boosting, two classes": refit("GradientBoostingClassifier", "two"),
    "refit leaves of boosting, classes": refit("GradientBoostingClassifier", "three", decay_rate=0.9),
    "refit leaves of boosting, numbers": refit("GradientBoostingRegressor", "signal"),
    "refit leaves of boosting, poisson": refit("GradientBoostingRegressor", "times", loss="poisson"),
    "refit leaves of boosting, quantile": refit("GradientBoostingRegressor", "signal", loss="quantile", alpha=0.8),
    "refit leaves of boosting, huber": refit("GradientBoostingRegressor", "signal", loss="huber"),
    "refit leaves of ordered classes": refit("OrdinalGradientBoostingClassifier", "three"),
    "refit leaves of survival boosting": refit("GradientBoostingSurvivalAnalysis", "survival"),
    "refit leaves of a survival forest": refit("RandomSurvivalForest", "survival"),
    "refit leaves of a ranking": refit_ranking,
    "text in a forest": fit_and_ask("RandomForestClassifier", "three", "frame", **FEW),
    "text in boosting, classes": fit_and_ask("GradientBoostingClassifier", "three", "frame", **FEW),
    "text in boosting, numbers": fit_and_ask("GradientBoostingRegressor", "signal", "frame", **FEW),
}

DIGESTS: dict[str, str] = {
    "distribution, normal": "5a0268eaf985bd18",
    "distribution, normal, drawn": "a345e5c76bb5bde5",
    "distribution, lognormal": "dbf2bbf70bc59008",
    "distribution, counts": "6d9f92396775635f",
    "tree, several numbers": "bf61f55afe408b81",
    "tree, class targets": "b7e1a87b1befb3e7",
    "random forest, several numbers": "cefd94f6bc518a47",
    "random forest, labels": "67c7ada163040cc0",
    "random forest, class targets": "6433980646f29830",
    "extra trees, several numbers": "284b45addf24054f",
    "extra trees, class targets": "5c9ad2f140acc2ce",
    "boosting, several numbers": "aa46c99c449d7762",
    "boosting, labels": "7d18bf85a2153775",
    "boosting, class targets": "d3857bdbad3ca958",
    "boosting by one tree, several numbers": "0446512af118ce6e",
    "boosting by one tree, labels": "6f3e321d90d69f03",
    "boosting by one tree, class targets": "12d0bf78d80e4e2b",
    "adaboost, several numbers": "7fa96d12b601ef5b",
    "adaboost, labels": "1211e7bd6e3624c4",
    "adaboost, class targets": "64a2b692ffbe63f0",
    "bagging, several numbers": "cefd94f6bc518a47",
    "bagging, class targets": "4b6649ea9e835022",
    "refit leaves of a forest, classes": "bc84e44b1973b6c0",
    "refit leaves of a forest, numbers": "e7b9eec15b1b4ff9",
    "refit leaves of boosting, two classes": "791deb7f523668c8",
    "refit leaves of boosting, classes": "7621dde855f7ee4c",
    "refit leaves of boosting, numbers": "f3a8821a1dea6a00",
    "refit leaves of boosting, poisson": "96e704df746261d0",
    "refit leaves of boosting, quantile": "3d0b543fa78a9f5c",
    "refit leaves of boosting, huber": "e2006d5ca09c4d29",
    "refit leaves of ordered classes": "954cb4b5f19caf84",
    "refit leaves of survival boosting": "dc2ec0a0344ac652",
    "refit leaves of a survival forest": "605d388e42544143",
    "refit leaves of a ranking": "24debfd25c740573",
    "text in a forest": "db25dc498fdcf92b",
    "text in boosting, classes": "b15e49983f8fe78b",
    "text in boosting, numbers": "60dc552b6b2abc23",
}


@pytest.fixture(scope="module")
def tables() -> TargetTables:
    return TargetTables()


@pytest.mark.parametrize("name", list(FAMILIES))
def test_bytes_of_a_family_are_those_of_every_machine(name: str, tables: TargetTables) -> None:
    assert digest_arrays(FAMILIES[name](tables)) == DIGESTS[name]


if __name__ == "__main__":  # prints the table of digests
    given = TargetTables()
    for case, make in FAMILIES.items():
        print(f'    "{case}": "{digest_arrays(make(given))}",', flush=True)
