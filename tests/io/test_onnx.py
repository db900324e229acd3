"""ONNX graphs say what the model says: labels equal on every row, numbers up to rounding."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier

import committee
from committee.exceptions import ParameterTypeError
from committee.io import to_onnx
from tests.io.c_models import (
    draw_classes,
    draw_table,
    draw_values,
    encode_rows,
    fit_two_outputs,
    list_classifiers,
    list_linear_stacks,
    list_regressors,
    list_rounded,
    list_rounded_regressors,
    list_two_class,
    list_two_outputs,
)

onnx = pytest.importorskip("onnx", reason="pip install 'committee[onnx]'")
runtime = pytest.importorskip("onnxruntime", reason="pip install 'committee[onnx]'")
pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
TWO = {f"{name} of two": model for name, model in list_two_class().items()}


def ask(model: object, X: np.ndarray) -> dict[str, np.ndarray]:
    """What the graph gives for a batch, after a comparison with what it gives row by row."""
    session = runtime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    codes = encode_rows(model, X)
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": codes}), strict=True))
    for k in (0, 17, 101):
        for name, own in zip(names, session.run(None, {"X": codes[k : k + 1]}), strict=True):
            assert own.shape == found[name][k : k + 1].shape
            if own.dtype.kind == "f":
                assert_allclose(own, found[name][k : k + 1], rtol=1e-12, atol=1e-12)
            else:
                assert_array_equal(own, found[name][k : k + 1])
    return found


@pytest.mark.parametrize("name", [*list_classifiers(), *TWO])
def test_classifiers(name: str) -> None:
    X = draw_table()
    y = draw_classes(X, 2 if name in TWO else 4)
    labels = np.array(["blue", "green", "red", "white"])[y]
    model = {**list_classifiers(), **TWO}[name].fit(X[::2], labels[::2])
    found = ask(model, X)
    assert_array_equal(found["label"], model.predict(X))
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        assert_allclose(found["probabilities"], model.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", list(list_regressors()))
def test_regressors(name: str) -> None:
    X = draw_table()
    model = list_regressors()[name].fit(X[::2], draw_values(X)[::2])
    assert_allclose(ask(model, X)["value"], model.predict(X), rtol=1e-12)


@pytest.mark.parametrize("name", list(list_linear_stacks()))
def test_linear_meta_models(name: str) -> None:
    X = draw_table()
    model = list_linear_stacks()[name]
    if not hasattr(model, "stack_method"):
        model.fit(X, draw_values(X))
        assert_allclose(ask(model, X)["value"], model.predict(X), rtol=1e-10)
        return
    model.fit(X, draw_classes(X, 2 if "two" in name else 4))
    found = ask(model, X)
    assert_array_equal(found["label"], model.predict(X))
    assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", list(list_rounded()))
def test_committees_and_naive_bayes(name: str, n_classes: int) -> None:
    X = draw_table()
    labels = np.array(["blue", "green", "red", "white"])[draw_classes(X, n_classes)]
    model = list_rounded()[name].fit(X[::2], labels[::2])
    found = ask(model, X)
    assert_array_equal(found["label"], model.predict(X))
    assert_allclose(found["probabilities"], model.predict_proba(X), rtol=0, atol=1e-11)
    predictor = model.predictor() if hasattr(model, "predictor") else None
    if predictor is not None:
        assert_allclose(predictor.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-11)
        assert predictor.predict_one(tuple(X[17])) == model.predict(X[17:18])[0]


@pytest.mark.parametrize("name", list(list_rounded_regressors()))
def test_committees_of_regressors(name: str) -> None:
    X = draw_table()
    model = list_rounded_regressors()[name].fit(X[::2], np.exp(draw_values(X)[::2] / 2.0))
    assert_allclose(ask(model, X)["value"], model.predict(X), rtol=1e-10)


def test_features_that_are_present() -> None:
    X = np.nan_to_num(draw_table())
    model = committee.BernoulliNB(alpha=0.5, binarize=0.2).fit(X, draw_classes(X))
    found = ask(model, X)
    assert_array_equal(found["label"], model.predict(X))
    assert_allclose(found["probabilities"], model.predict_proba(X), rtol=0, atol=1e-12)


def test_a_committee_that_knows_the_shares_alone() -> None:
    """Every row has the same answer, which is a row for each of them nevertheless."""
    X = draw_table()
    model = committee.CommitteeClassifier(portfolio=["linear"], random_state=0).fit(X, np.zeros(len(X)))
    found = ask(model, X)
    assert_array_equal(found["label"], [str(label) for label in model.predict(X)])
    assert_array_equal(found["probabilities"], model.predict_proba(X))


@pytest.mark.parametrize("name", list(list_two_outputs()))
def test_several_outputs(name: str) -> None:
    model, X = fit_two_outputs(name)
    found = ask(model, X)
    if not is_classifier(model):
        assert_allclose(found["value"], model.predict(X), rtol=1e-12)
        return
    for k, shares in enumerate(model.predict_proba(X)):
        assert_array_equal(found[f"label_{k}"], model.predict(X)[:, k])
        assert_allclose(found[f"probabilities_{k}"], shares, atol=1e-12)


def test_isolation_forest() -> None:
    X = draw_table()
    model = committee.IsolationForest(n_estimators=20, contamination=0.1, random_state=0).fit(X)
    found = ask(model, X)
    assert_array_equal(found["label"], model.predict(X))
    assert_allclose(found["scores"], model.score_samples(X), rtol=1e-12)


def test_whole_labels_stay_numbers() -> None:
    X = draw_table()
    found = ask(committee.RandomForestClassifier(3, random_state=0).fit(X, draw_classes(X)), X)
    assert found["label"].dtype == np.int64


def test_a_file_is_written(tmp_path: Path) -> None:
    X = draw_table()
    model = committee.RandomForestClassifier(5, random_state=0).fit(X, draw_classes(X))
    to_onnx(model, tmp_path / "m.onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    _, shares = session.run(None, {"X": X})
    assert_allclose(shares, model.predict_proba(X), atol=1e-12)


class Halves:
    """A loss of one's own, with a link of its own."""

    def value(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return 0.5 * (scores - y) ** 2

    def gradient(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores - y

    def hessian(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return np.ones_like(scores)

    def mean(self, scores: np.ndarray) -> np.ndarray:
        return np.tanh(scores)


@pytest.mark.parametrize(
    ("model", "fragment"),
    [
        (committee.CommitteeClassifier(portfolio=["neighbours"], random_state=0), "has the member 'neighbours'"),
        (committee.GradientBoostingRegressor(loss=Halves(), n_estimators=3), "written in Python"),
        (committee.BernoulliNB(alpha=0.0, force_alpha=True, binarize=20.0), "always or never"),
        (committee.OrdinalGradientBoostingClassifier(link="probit", n_estimators=2), "normal noise"),
        (committee.BoosTexterClassifier(n_estimators=2), "not made of trees"),
    ],
    ids=["committee", "loss", "bayes", "ordinal", "words"],
)
def test_what_cannot_be_written_is_refused(model: Any, fragment: str) -> None:
    X = np.nan_to_num(draw_table())
    with pytest.raises(ParameterTypeError, match=fragment):
        to_onnx(model.fit(X, draw_classes(X)))


def test_a_model_of_dates_is_refused() -> None:
    when = np.array([["2020-01-01"], ["2021-05-02"]], "M8[s]")
    with pytest.raises(ParameterTypeError, match="fitted on dates, times, lists or text"):
        to_onnx(committee.DecisionTreeRegressor().fit(when, [0.0, 1.0]))
