"""Contract 1 across machines: the automatic committee with its members and presets, distillation, stacking, dependence.

As in `test_platform_families`, a digest covers the answers of a fitted model to rows, and is that of every processor.
SciPy and BLAS compute the fits of linear, kernel and neighbour members and of linear final estimators, so that their
last bits are those of one machine (`docs/inside/determinism.md`): the digests of `ROUNDED` are of five decimals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import committee
from committee.inspection import partial_dependence
from tests.contract.test_platform_families import FEW, N_ASKED, SEED, ask, combine, digest_arrays
from tests.contract.test_platform_targets import TargetTables, flatten

#: Of a table on which all members are quick; not so few that a network of classes is left out.
N_FITTED, N_DISTILLED = 400, 300
DECIMALS = 5
WITHOUT_BLAS = ["boosting", "extra trees", "network", "forest", "naive bayes", "shallow boosting", "boosting by code"]
SLOW = ["random boosting", "symmetric boosting", "long network", "extra trees of pairs", "boosting of pairs"]
QUESTIONS = ("predict", "predict_proba", "predict_interval")
Answers = Callable[[TargetTables], list[Any]]


def automate(name: str, target: str, portfolio: list[str] | None = None, **params: Any) -> Answers:
    def run(data: TargetTables) -> list[Any]:
        params.setdefault("cv", 3)
        model = getattr(committee, name)(portfolio=portfolio, n_jobs=1, **params, **SEED)
        model.fit(data.X[:N_FITTED], getattr(data, target)[:N_FITTED])
        return flatten(ask(model, data.X[-N_ASKED:], QUESTIONS))

    return run


def read_words(data: TargetTables) -> list[Any]:
    """Members of words and topics of text."""
    portfolio = ["naive bayes of words", "extra trees", "boosting"]
    model = committee.CommitteeClassifier(portfolio=portfolio, cv=3, n_jobs=1, **SEED)
    model.fit(data.frame[:N_FITTED], data.three[:N_FITTED])
    return ask(model, data.frame[-N_ASKED:], QUESTIONS)


def distill(name: str, target: str, student: str) -> Answers:
    def run(data: TargetTables) -> list[Any]:
        X, y = data.X[:N_DISTILLED], getattr(data, target)[:N_DISTILLED]
        model = getattr(committee, name)(portfolio=["boosting", "extra trees"], cv=3, n_jobs=1, **SEED).fit(X, y)
        small = model.distill(X, y, student=student)
        told = [small.distillation_[name] for name in ("committee", "student", "loss")]
        return [told, *ask(small, data.X[-N_ASKED:], ("predict", "predict_proba"))]

    return run


def depend(name: str, target: str, **params: Any) -> Answers:
    """Mean predictions, on the scale of probabilities or of expectations."""

    def run(data: TargetTables) -> list[Any]:
        model = getattr(committee, name)(**FEW, **params).fit(data.X, getattr(data, target))
        return [partial_dependence(model, data.X[:200], [1], grid_resolution=20)["average"]]

    return run


CLASSES, NUMBERS = "CommitteeClassifier", "CommitteeRegressor"

#: The same bytes everywhere.
FAMILIES: dict[str, Answers] = {
    "committee without BLAS, classes": automate(CLASSES, "three", WITHOUT_BLAS),
    "committee without BLAS, two classes": automate(CLASSES, "two", WITHOUT_BLAS),
    "committee without BLAS, numbers": automate(NUMBERS, "signal", [m for m in WITHOUT_BLAS if m != "naive bayes"]),
    "committee of slow members, two classes": automate(CLASSES, "two", SLOW),
    "committee of slow members, numbers": automate(NUMBERS, "signal", SLOW),
    "committee by stacking weights, classes": automate(CLASSES, "three", WITHOUT_BLAS[:3], combine="nonnegative"),
    "committee of labels": automate(CLASSES, "labels", WITHOUT_BLAS[:2]),
    "committee of class targets": automate(CLASSES, "class_targets", WITHOUT_BLAS[:2]),
    "committee of several numbers": automate(NUMBERS, "several", WITHOUT_BLAS[:2]),
    "committee of words": read_words,
    "distilled to boosting, classes": distill(CLASSES, "three", "boosting"),
    "distilled to a forest, classes": distill(CLASSES, "two", "forest"),
    "distilled to boosting, numbers": distill(NUMBERS, "signal", "boosting"),
    "distilled to a forest, numbers": distill(NUMBERS, "signal", "forest"),
    "dependence of probabilities": depend("GradientBoostingClassifier", "three"),
    "dependence of a probability": depend("GradientBoostingClassifier", "two"),
    "dependence of expectations": depend("GradientBoostingRegressor", "times", loss="poisson"),
}

#: The same decimals everywhere.
ROUNDED: dict[str, Answers] = {
    "linear, classes": automate(CLASSES, "three", ["linear"]),
    "linear, two classes": automate(CLASSES, "two", ["linear"]),
    "linear, numbers": automate(NUMBERS, "times", ["linear"]),
    "kernel, classes": automate(CLASSES, "three", ["kernel"]),
    "kernel, numbers": automate(NUMBERS, "times", ["kernel"]),
    "large kernel, classes": automate(CLASSES, "three", ["large kernel"]),
    "neighbours, classes": automate(CLASSES, "three", ["neighbours"]),
    "neighbours, numbers": automate(NUMBERS, "times", ["neighbours"]),
    "preset fast, classes": automate(CLASSES, "three", preset="fast", cv=None),
    "preset fast, numbers": automate(NUMBERS, "times", preset="fast", cv=None),
    "preset balanced, two classes": automate(CLASSES, "two"),
    "preset best, numbers": automate(NUMBERS, "times", preset="best"),
    "stacking with logistic regression": combine(
        "StackingClassifier", "two", final_estimator=LogisticRegression(solver="newton-cholesky", tol=1e-10)
    ),
    "stacking with ridge regression": combine("StackingRegressor", "times", final_estimator=Ridge()),
    "stacking as it comes, numbers": combine("StackingRegressor", "times"),
}


def digest(name: str, tables: TargetTables) -> str:
    if name in FAMILIES:
        return digest_arrays(FAMILIES[name](tables))
    # Zero has one sign only.
    return digest_arrays(np.round(np.asarray(answer, float), DECIMALS) + 0.0 for answer in ROUNDED[name](tables))


DIGESTS: dict[str, str] = {
    "committee without BLAS, classes": "7dfe1df5f61f27c7",
    "committee without BLAS, two classes": "75bead0b412a3083",
    "committee without BLAS, numbers": "a385ea3e2aae1bb8",
    "committee of slow members, two classes": "a9617dc53ce4f2f8",
    "committee of slow members, numbers": "e4680f11b01f2ff0",
    "committee by stacking weights, classes": "acf5501f676c17e5",
    "committee of labels": "74bfbc05e3c5688e",
    "committee of class targets": "b7034b38c1a17cc7",
    "committee of several numbers": "77bfb5a768279ddd",
    "committee of words": "3a18f2ac8c0a6385",
    "distilled to boosting, classes": "d0f8614cca320756",
    "distilled to a forest, classes": "5e4fdf292c83e7ad",
    "distilled to boosting, numbers": "047a6b975c6e3e27",
    "distilled to a forest, numbers": "b81f8ba776b1e78b",
    "dependence of probabilities": "8bf166cb561b37a7",
    "dependence of a probability": "5d1e14bc1e5da7dd",
    "dependence of expectations": "377b4726907e219b",
    "linear, classes": "1fb40c08a3524ff7",
    "linear, two classes": "71ed75e798477ff7",
    "linear, numbers": "084bd763c2a2caa6",
    "kernel, classes": "cce33f24dbfebf07",
    "kernel, numbers": "5c3419f6f4936765",
    "large kernel, classes": "c365152133655439",
    "neighbours, classes": "0f2d86d882ed6390",
    "neighbours, numbers": "2aa0598b9ade2047",
    "preset fast, classes": "65c78a7077c4fd1d",
    "preset fast, numbers": "ca016ef0dc5c47d3",
    "preset balanced, two classes": "e31ec7f29a83b00f",
    "preset best, numbers": "0bfe9ada20953e6e",
    "stacking with logistic regression": "092712be35b4f04e",
    "stacking with ridge regression": "efcf1ce9c1120842",
    "stacking as it comes, numbers": "3c2fa6b85dbc57d4",
}


@pytest.fixture(scope="module")
def tables() -> TargetTables:
    return TargetTables()


@pytest.mark.parametrize("name", [*FAMILIES, *ROUNDED])
def test_bytes_of_a_family_are_those_of_every_machine(name: str, tables: TargetTables) -> None:
    assert digest(name, tables) == DIGESTS[name]


if __name__ == "__main__":  # prints the table of digests
    given = TargetTables()
    for case in (*FAMILIES, *ROUNDED):
        print(f'    "{case}": "{digest(case, given)}",', flush=True)
