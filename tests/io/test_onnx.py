"""ONNX graphs say what the model says."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import committee
from committee.exceptions import ParameterTypeError
from committee.io import to_onnx

onnx = pytest.importorskip("onnx", reason="pip install 'committee[onnx]'")
runtime = pytest.importorskip("onnxruntime", reason="pip install 'committee[onnx]'")

CLASSIFIERS = {
    "tree": committee.DecisionTreeClassifier(random_state=0),
    "forest": committee.RandomForestClassifier(15, random_state=0),
    "extra": committee.ExtraTreesClassifier(15, random_state=0),
    "bag": committee.BaggingClassifier(n_estimators=10, random_state=0),
    "hist": committee.HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "boosting": committee.GradientBoostingClassifier(n_estimators=20, early_stopping=False, random_state=0),
    "adaboost": committee.AdaBoostClassifier(n_estimators=10),
    "dart": committee.GradientBoostingClassifier(n_estimators=10, boosting="dart", random_state=0),
}
REGRESSORS = {
    "tree": committee.DecisionTreeRegressor(random_state=0),
    "forest": committee.RandomForestRegressor(15, random_state=0),
    "bag": committee.BaggingRegressor(n_estimators=10, random_state=0),
    "hist": committee.HistGradientBoostingRegressor(max_iter=20, random_state=0),
    "poisson": committee.HistGradientBoostingRegressor(loss="poisson", max_iter=20, random_state=0),
    "stump": committee.DecisionTreeRegressor(max_depth=1),
    "leaf": committee.DecisionTreeRegressor(min_samples_leaf=400),
}


def ask(model: object, X: np.ndarray) -> dict[str, np.ndarray]:
    session = runtime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": np.asarray(X, dtype=np.float64)})
    return dict(zip([output.name for output in session.get_outputs()], found, strict=True))


def make_gaps(X: np.ndarray) -> np.ndarray:
    return np.where(np.random.default_rng(0).random(X.shape) < 0.15, np.nan, X)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("name", list(CLASSIFIERS))
def test_classifiers(name: str, load: object) -> None:
    X, y = load(return_X_y=True)
    X, labels = make_gaps(X), np.array(["blue", "green", "red"])[y]
    model = CLASSIFIERS[name].fit(X[::2], labels[::2])
    found, shares = ask(model, X), model.predict_proba(X)
    np.testing.assert_allclose(found["probabilities"], shares, rtol=0, atol=1e-12)
    top = np.sort(shares, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-9
    assert clear.mean() > 0.8
    np.testing.assert_array_equal(found["label"][clear], model.predict(X)[clear])


@pytest.mark.parametrize("name", list(REGRESSORS))
def test_regressors(name: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    X = make_gaps(X)
    model = REGRESSORS[name].fit(X[::2], y[::2])
    np.testing.assert_allclose(ask(model, X)["value"], model.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        committee.RandomForestClassifier(10, categorical_features=[0, 2], random_state=0),
        committee.HistGradientBoostingClassifier(
            max_iter=10, categorical_features=[0, 2], min_samples_leaf=3, early_stopping=False
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_categories_are_codes(model: object) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 9, 400), rng.normal(size=400), rng.integers(0, 60, 400)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.isin(X[:, 0], [1, 4, 5]) ^ (X[:, 1] > 0.3) ^ np.isin(X[:, 2], np.arange(0, 60, 7))
    model.fit(X, y.astype(int))
    # Levels that occur are numbered from zero in their order.
    codes = X.copy()
    for column in (0, 2):
        levels = model._schema.categories[column]
        known = ~np.isnan(X[:, column])
        codes[known, column] = np.searchsorted(levels, X[known, column])
    found = ask(model, codes)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=0, atol=1e-12)
    assert found["label"].dtype == np.int64


def test_a_file_is_written(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = committee.RandomForestClassifier(5, random_state=0).fit(X, y)
    to_onnx(model, tmp_path / "m.onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    _, shares = session.run(None, {"X": X})
    np.testing.assert_allclose(shares, model.predict_proba(X))


class Halves:
    """A loss of one's own."""

    def value(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return 0.5 * (scores - y) ** 2

    def gradient(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores - y

    def hessian(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return np.ones_like(scores)


@pytest.mark.parametrize(
    ("model", "fragment"),
    [
        (committee.RandomForestClassifier(20, calibration="isotonic", random_state=0), "calibrated"),
        (committee.CommitteeClassifier(portfolio=["linear"]), "made of trees"),
        (
            committee.GradientBoostingRegressor(loss=Halves(), n_estimators=3),
            "cannot be written as ONNX",
        ),
        (committee.IsolationForest(n_estimators=3), "cannot be written as ONNX"),
    ],
    ids=["calibrated", "committee", "loss", "isolation"],
)
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
def test_what_cannot_be_written_is_refused(model: object, fragment: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ParameterTypeError, match=fragment):
        to_onnx(model.fit(X, y))


def test_several_outputs_are_refused() -> None:
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ParameterTypeError, match="several outputs"):
        to_onnx(committee.DecisionTreeRegressor().fit(X, np.column_stack([y, y])))


def test_a_model_of_dates_is_refused():
    when = np.array([["2020-01-01"], ["2021-05-02"]], "M8[s]")
    with pytest.raises(ParameterTypeError, match="fitted on dates, times or lists cannot be written as ONNX"):
        to_onnx(committee.DecisionTreeRegressor().fit(when, [0.0, 1.0]))
