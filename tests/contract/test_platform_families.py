"""Contract 1 across machines, for every family: fits and answers have the same bytes on every processor.

As in `test_platforms`, the digests were written on one machine (64-bit ARM) and are compared on all others. A digest
covers the answers of a fitted model to rows: predictions, probabilities, scores, explanations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import committee
from committee.automatic.neural_member import NeuralMember
from committee.inspection import partial_dependence, permutation_importance, shap_values
from committee.search import IntegerRange, RealRange
from tests.contract.test_platforms import make_table

N_ROWS, N_ASKED = 1200, 300
SEED: dict[str, Any] = {"random_state": 0}
FEW: dict[str, Any] = {"random_state": 0, "n_estimators": 10}
MIXED: dict[str, Any] = {**FEW, "growth": "mixed", "defaults": "tuned", "early_stopping": False}
DRAWN: dict[str, Any] = {**FEW, "bootstrap": True, "oob_score": True}
QUESTIONS = (
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "predict_survival_function",
    "predict_cumulative_hazard_function",
    "predict_quantiles",
    "predict_set",
)


class Tables:
    """One table and the targets of all tasks on it; whole numbers and exact arithmetic only."""

    def __init__(self) -> None:
        self.X, self.signal = make_table(N_ROWS)
        self.full = np.nan_to_num(self.X, nan=100.0)
        self.three = np.digitize(self.signal, np.quantile(self.signal, [0.4, 0.7], method="lower"))
        self.two = (self.three > 0).astype(int)
        rng = np.random.default_rng(5)
        self.times = 1.0 + np.floor(self.signal - self.signal.min()) / 64.0
        self.survival = committee.make_survival_target(rng.random(N_ROWS) < 0.7, self.times)
        self.queries = np.repeat(np.arange(N_ROWS // 20), 20)
        self.grades = self.three + (self.signal > np.quantile(self.signal, 0.9, method="lower"))
        self.words = rng.integers(0, 2, size=(N_ROWS, 30)) * (rng.random((N_ROWS, 30)) < 0.2)
        self.words[:, :3] |= (self.three[:, None] == np.arange(3)) & (rng.random((N_ROWS, 3)) < 0.6)


def ask(model: Any, rows: Any, names: Iterable[str] = QUESTIONS) -> list[Any]:
    answers = [getattr(model, name)(rows) for name in names if hasattr(model, name)]
    assert answers
    return answers


def list_members(kind: str) -> list[tuple[str, Any]]:
    tree, forest, boosting = (
        getattr(committee, name + kind) for name in ("DecisionTree", "ExtraTrees", "HistGradientBoosting")
    )
    return [
        ("tree", tree(max_depth=4, **SEED)),
        ("forest", forest(**FEW)),
        ("boosting", boosting(max_iter=8, **SEED)),
    ]


def fit_and_ask(name: str, target: str, table: str = "X", **params: Any) -> Callable[[Tables], list[Any]]:
    def run(data: Tables) -> list[Any]:
        X = getattr(data, table)
        model = getattr(committee, name)(**params)
        return ask(model.fit(X, getattr(data, target)), X[:N_ASKED])

    return run


def rank(data: Tables) -> list[Any]:
    model = committee.GradientBoostingRanker(**FEW).fit(data.X, data.grades, qid=data.queries)
    return ask(model, data.X[:N_ASKED])


def draw_thresholds(max_features: float | None) -> Callable[[Tables], list[Any]]:
    """Extra-trees of numbers that grow by the values of the columns."""

    def run(data: Tables) -> list[Any]:
        model = committee.ExtraTreesRegressor(max_features=max_features, **FEW).fit(data.full, data.signal)
        between = (data.full[:N_ASKED] + data.full[N_ASKED : 2 * N_ASKED]) / 2.0
        return [model.predict(between)]

    return run


def boost_many_rows(_: Tables) -> list[Any]:
    """So many rows that a round of AdaBoost reweights those of one side only."""
    X, signal = make_table(40_000)
    model = committee.AdaBoostClassifier(**FEW).fit(X, signal > np.quantile(signal, 0.6, method="lower"))
    return ask(model, X[:N_ASKED])


def isolate(data: Tables) -> list[Any]:
    return ask(committee.IsolationForest(**FEW).fit(data.X), data.X[:N_ASKED])


def train(target: str) -> Callable[[Tables], list[Any]]:
    def run(data: Tables) -> list[Any]:
        member = NeuralMember(target != "signal", categories=[0], n_epochs=2)
        member.fit(data.X, getattr(data, target))
        return [*member.coefs_, *member.intercepts_, member.predict(data.X[:N_ASKED])]

    return run


def embed(data: Tables) -> list[Any]:
    found = committee.RandomTreesEmbedding(**FEW).fit(data.X).transform(data.X[:N_ASKED])
    return [found.indices, found.indptr, found.data]


def explain(name: str, target: str, **options: Any) -> Callable[[Tables], list[Any]]:
    def run(data: Tables) -> list[Any]:
        model = getattr(committee, name)(**FEW).fit(data.X, getattr(data, target))
        if options.get("background"):
            options["background"] = data.X[-20:]
        found = shap_values(model, data.X[:60], **options)
        return [found.values, found.base_values]

    return run


def inspect_boosting(data: Tables) -> list[Any]:
    model = committee.GradientBoostingRegressor(**FEW).fit(data.X, data.signal)
    depends = partial_dependence(model, data.X, [1], grid_resolution=20)
    shuffled = permutation_importance(model, data.X, data.signal, n_repeats=2, random_state=0)
    return [depends["average"], shuffled.importances_mean, model.feature_importances_]


def draw_parameters(data: Tables) -> list[Any]:
    rates, sizes = RealRange(0.02, 0.3, log=True), IntegerRange(4, 128, log=True)
    return [[rates.ppf(k / 97) for k in range(97)], [sizes.ppf(k / 97) for k in range(97)]]


def automate(name: str, target: str) -> Callable[[Tables], list[Any]]:
    def run(data: Tables) -> list[Any]:
        model = getattr(committee, name)(portfolio=["extra trees", "forest"], cv=3, random_state=0, n_jobs=1)
        return ask(model.fit(data.X[:400], getattr(data, target)[:400]), data.X[-N_ASKED:])

    return run


def combine(name: str, target: str, **params: Any) -> Callable[[Tables], list[Any]]:
    kind = "Classifier" if name.endswith("Classifier") else "Regressor"
    return lambda data: fit_and_ask(name, target, "full", estimators=list_members(kind), **params)(data)


FAMILIES: dict[str, Callable[[Tables], list[Any]]] = {
    "random forest, classes": fit_and_ask("RandomForestClassifier", "three", **DRAWN),
    "random forest, numbers": fit_and_ask("RandomForestRegressor", "signal", keep_leaf_samples=True, **FEW),
    "extra trees, classes": fit_and_ask("ExtraTreesClassifier", "three", **DRAWN),
    "extra trees, numbers": fit_and_ask("ExtraTreesRegressor", "signal", keep_leaf_samples=True, **FEW),
    "extra trees, numbers without gaps": draw_thresholds(None),
    "extra trees, a third of the columns": draw_thresholds(0.34),
    "random trees embedding": embed,
    "isolation forest": isolate,
    "survival forest": fit_and_ask("RandomSurvivalForest", "survival", **FEW),
    "bagging, classes": fit_and_ask("BaggingClassifier", "three", oob_score=True, **FEW),
    "bagging, numbers": fit_and_ask("BaggingRegressor", "signal", **FEW),
    "boosting, classes": fit_and_ask("GradientBoostingClassifier", "three", **FEW),
    "boosting, two classes": fit_and_ask("GradientBoostingClassifier", "two", **FEW),
    "boosting, numbers": fit_and_ask("GradientBoostingRegressor", "signal", **FEW),
    "boosting, quantile": fit_and_ask("GradientBoostingRegressor", "signal", loss="quantile", alpha=0.8, **FEW),
    "boosting, histogram": fit_and_ask("HistGradientBoostingClassifier", "three", max_iter=10, **SEED),
    "symmetric boosting, classes": fit_and_ask("GradientBoostingClassifier", "three", growth="symmetric", **FEW),
    "symmetric boosting, numbers": fit_and_ask("GradientBoostingRegressor", "signal", growth="symmetric", **FEW),
    "mixed boosting, classes": fit_and_ask("GradientBoostingClassifier", "three", **MIXED),
    "mixed boosting, numbers": fit_and_ask("GradientBoostingRegressor", "signal", **MIXED),
    "random thresholds": fit_and_ask("GradientBoostingRegressor", "signal", splitter="random", **FEW),
    "ranker": rank,
    "ordered classes": fit_and_ask("OrdinalGradientBoostingClassifier", "three", **FEW),
    "ordered classes, cloglog": fit_and_ask("OrdinalGradientBoostingClassifier", "three", link="cloglog", **FEW),
    "ordered classes, spread by row": fit_and_ask("OrdinalGradientBoostingClassifier", "three", spread="by_row", **FEW),
    "survival boosting, cox": fit_and_ask("GradientBoostingSurvivalAnalysis", "survival", **FEW),
    "survival boosting, failure times": fit_and_ask(
        "GradientBoostingSurvivalAnalysis", "survival", loss="aft", distribution="logistic", **FEW
    ),
    "survival boosting, intervals": fit_and_ask("GradientBoostingSurvivalAnalysis", "survival", loss="hazard", **FEW),
    "adaboost, samme": fit_and_ask("AdaBoostClassifier", "three", **FEW),
    "adaboost, discrete": fit_and_ask("AdaBoostClassifier", "two", algorithm="discrete", **FEW),
    "adaboost, real": fit_and_ask("AdaBoostClassifier", "two", algorithm="real", **FEW),
    "adaboost, samme.r": fit_and_ask("AdaBoostClassifier", "three", algorithm="samme.r", **FEW),
    "adaboost, gentle": fit_and_ask("AdaBoostClassifier", "two", algorithm="gentle", **FEW),
    "adaboost, logit": fit_and_ask("AdaBoostClassifier", "three", algorithm="logit", **FEW),
    "adaboost, numbers": fit_and_ask("AdaBoostRegressor", "signal", loss="exponential", **FEW),
    "adaboost, rt": fit_and_ask("AdaBoostRegressor", "signal", algorithm="rt", power=3, learning_rate=0.7, **FEW),
    "adaboost, slow": fit_and_ask("AdaBoostRegressor", "signal", loss="square", learning_rate=0.3, **FEW),
    "adaboost, many rows": boost_many_rows,
    "arcing": fit_and_ask("ArcingClassifier", "three", **FEW),
    "words": fit_and_ask("BoosTexterClassifier", "three", "words", n_estimators=20),
    "stump": fit_and_ask("DecisionStumpClassifier", "two"),
    "bernoulli naive bayes": fit_and_ask("BernoulliNB", "three", "words"),
    "naive bayes of one feature": fit_and_ask("SingleFeatureNB", "three", "words"),
    "voting, classes": combine("VotingClassifier", "three", voting="soft"),
    "voting, numbers": combine("VotingRegressor", "signal"),
    "stacking, classes": combine(
        "StackingClassifier", "three", final_estimator=committee.RandomForestClassifier(**FEW)
    ),
    "stacking, numbers": combine(
        "StackingRegressor", "signal", final_estimator=committee.GradientBoostingRegressor(**FEW)
    ),
    "super learner, classes": combine("SuperLearnerClassifier", "three"),
    "super learner, numbers": combine("SuperLearnerRegressor", "signal"),
    "ensemble selection, classes": combine("EnsembleSelectionClassifier", "three", **SEED),
    "ensemble selection, numbers": combine("EnsembleSelectionRegressor", "signal", **SEED),
    "shap of a forest": explain("RandomForestClassifier", "three"),
    "shap of boosting": explain("GradientBoostingClassifier", "two"),
    "shap against a background": explain("GradientBoostingRegressor", "signal", background=True),
    "shap interactions": explain("ExtraTreesRegressor", "signal", interactions=True),
    "dependence and importance": inspect_boosting,
    "draws of a search": draw_parameters,
    "network, classes": train("three"),
    "network, numbers": train("signal"),
    "automatic committee, classes": automate("CommitteeClassifier", "three"),
    "automatic committee, numbers": automate("CommitteeRegressor", "signal"),
}


def digest_arrays(arrays: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        plain = np.ascontiguousarray(array)
        plain = plain.astype(np.int64) if plain.dtype.kind in "iub" else plain.astype(np.float64)
        digest.update(plain.tobytes())
    return digest.hexdigest()[:16]


DIGESTS = {
    "random forest, classes": "471837bc57995151",
    "random forest, numbers": "d172b56b02e00e94",
    "extra trees, classes": "967eca35a4fd078c",
    "extra trees, numbers": "c1e178d2a6050395",
    "extra trees, numbers without gaps": "e6118252f309449d",
    "extra trees, a third of the columns": "bdccefd9a48d4edb",
    "random trees embedding": "95c93b7a7bd37f72",
    "isolation forest": "2c0c8170afdaafea",
    "survival forest": "0bff00ea5a1aa923",
    "bagging, classes": "0f2969300e8802f2",
    "bagging, numbers": "29847ddf1c92d386",
    "boosting, classes": "557243995c19a7da",
    "boosting, two classes": "15b304954cac6792",
    "boosting, numbers": "4e734b24ee40681b",
    "boosting, quantile": "b7c3619f344e82cc",
    "boosting, histogram": "f5b0a1a75e9730cc",
    "symmetric boosting, classes": "8e4200b5311133cc",
    "symmetric boosting, numbers": "056271a3fea7a7f4",
    "mixed boosting, classes": "2c23b6bed3220794",
    "mixed boosting, numbers": "c60c6416eb9a0642",
    "random thresholds": "54909953986d628f",
    "ranker": "9aa87b26b708d9d5",
    "ordered classes": "3f721355c43b99c2",
    "ordered classes, cloglog": "612cd81ce2c441ca",
    "ordered classes, spread by row": "c2effc68870a5c2f",
    "survival boosting, cox": "9b196ad872fb7f12",
    "survival boosting, failure times": "b019876b3efd62e7",
    "survival boosting, intervals": "58c63138ca0b280f",
    "adaboost, samme": "cc9d70d0eeb5522e",
    "adaboost, discrete": "64a05185148555c2",
    "adaboost, real": "ee3f6dc25d7f262c",
    "adaboost, samme.r": "eebe582485c55a2b",
    "adaboost, gentle": "0c0a0318c1164b3d",
    "adaboost, logit": "fe3c7fcfed4e976e",
    "adaboost, numbers": "d413efeb4b72028b",
    "adaboost, rt": "14b4f39626911fcd",
    "adaboost, slow": "45ee96d8d5218671",
    "adaboost, many rows": "b88874b8ac5a17fa",
    "arcing": "00ca6f1f5eecd578",
    "words": "0a1fbfe38de0697d",
    "stump": "1ee4cd9d1282cefa",
    "bernoulli naive bayes": "ef334dce89043bc1",
    "naive bayes of one feature": "283c2f08ff37a0ae",
    "voting, classes": "97780b4b6e0aba69",
    "voting, numbers": "29a926fabf482087",
    "stacking, classes": "20f918bf994c7e51",
    "stacking, numbers": "3b32942b45caae4f",
    "super learner, classes": "a0e5378fc4287a32",
    "super learner, numbers": "d05661211b153bc5",
    "ensemble selection, classes": "1b5155f687c3ed9b",
    "ensemble selection, numbers": "6b6b8d893927d399",
    "shap of a forest": "137691239cf32f56",
    "shap of boosting": "843b0053647058c3",
    "shap against a background": "4f3aa9e530f4c78c",
    "shap interactions": "39b3b81226f17a8b",
    "dependence and importance": "dd6666ba67dcc6a9",
    "draws of a search": "b3be5ca691207670",
    "network, classes": "b49188d9e45aff07",
    "network, numbers": "cc7f3471917fadd2",
    "automatic committee, classes": "4eba3ceb07b5fa79",
    "automatic committee, numbers": "c23c814654057527",
}


@pytest.fixture(scope="module")
def tables() -> Tables:
    return Tables()


@pytest.mark.parametrize("name", list(FAMILIES))
def test_bytes_of_a_family_are_those_of_every_machine(name: str, tables: Tables) -> None:
    assert digest_arrays(FAMILIES[name](tables)) == DIGESTS[name]


if __name__ == "__main__":  # prints the table of digests
    given = Tables()
    for case, make in FAMILIES.items():
        print(f'    "{case}": "{digest_arrays(make(given))}",', flush=True)
