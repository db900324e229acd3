"""AdaBoost of several labels, class targets and numbers: to the bit the ensembles of single targets."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

import committee
from committee import AdaBoostClassifier, AdaBoostRegressor, ArcingClassifier, DecisionTreeClassifier
from committee.exceptions import CommitteeError, DataError, ModelFileError, ParameterTypeError


def make_targets(n_rows: int = 300, seed: int = 0) -> tuple[Any, Any, Any]:
    """Four columns; three labels, and two targets of two and four classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    labels = (X[:, :3] + 0.5 * rng.normal(size=(n_rows, 3)) > 0.3).astype(int)
    size = np.array(["large", "small"])[(X[:, 3] > 0).astype(int)]
    colour = np.array(["blue", "green", "grey", "red"])[np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.0, 1.0])]
    return X, labels, np.stack([size, colour], axis=1)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"algorithm": "samme.r", "estimator": DecisionTreeClassifier(max_depth=2)},
        {"algorithm": "gentle"},
        {"method": "resample"},
        {"n_iter_no_change": 3},
        {"estimator": LogisticRegression()},
    ],
    ids=["samme", "samme.r", "gentle", "resample", "stopping", "foreign"],
)
@pytest.mark.parametrize("which", ["labels", "classes"])
def test_each_target_has_its_own_ensemble(params: Any, which: str) -> None:
    X, labels, classes = make_targets()
    y = labels if which == "labels" else classes
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    model = AdaBoostClassifier(n_estimators=6, random_state=0, **params).fit(X, y, sample_weight=weights)
    assert model.n_outputs_ == y.shape[1] == len(model.estimators_) == len(model)
    assert [own.tolist() for own in model.classes_] == [np.unique(column).tolist() for column in y.T]
    assert model.n_classes_.tolist() == [len(own) for own in model.classes_]
    shares, found = model.predict_proba(X), model.predict(X)
    for k in range(y.shape[1]):
        single = AdaBoostClassifier(n_estimators=6, random_state=0, **params).fit(X, y[:, k], sample_weight=weights)
        np.testing.assert_array_equal(shares[k], single.predict_proba(X))
        np.testing.assert_array_equal(found[:, k], single.predict(X))
        np.testing.assert_array_equal(np.exp(model.predict_log_proba(X)[k]) > 0.5, shares[k] > 0.5)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], found)
    for one, other in zip(list(model.staged_predict_proba(X))[-1], shares, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not hasattr(model, "decision_function")
    if which == "labels":
        assert model.score(X, y) > 0.4


def test_it_is_what_one_classifier_for_each_output_is() -> None:
    X, labels, _ = make_targets()
    model = AdaBoostClassifier(n_estimators=8, random_state=0).fit(X, labels)
    theirs = MultiOutputClassifier(AdaBoostClassifier(n_estimators=8, random_state=0)).fit(X, labels)
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
    for one, other in zip(model.predict_proba(X), theirs.predict_proba(X), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(
        model.feature_importances_, np.mean([own.feature_importances_ for own in theirs.estimators_], axis=0)
    )


@pytest.mark.parametrize("params", [{}, {"algorithm": "rt"}, {"method": "reweight"}], ids=["r2", "rt", "reweight"])
def test_numbers(params: Any, tmp_path: Any) -> None:
    X, _, _ = make_targets()
    y = np.stack([X[:, 0] + 3.0, X[:, 1] * X[:, 2], X[:, 3] ** 2], axis=1)
    model = AdaBoostRegressor(n_estimators=6, random_state=0, **params).fit(X, y)
    found = model.predict(X)
    for k in range(3):
        single = AdaBoostRegressor(n_estimators=6, random_state=0, **params).fit(X, y[:, k])
        np.testing.assert_array_equal(found[:, k], single.predict(X))
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], found)
    assert len(list(model.staged_score(X, y))) == max(len(own.estimator_weights_) for own in model.estimators_)
    assert model.feature_importances_.shape == (4,)
    committee.save(model, tmp_path / "model")
    np.testing.assert_array_equal(committee.load(tmp_path / "model").predict(X), found)


def test_files_and_single_rows(tmp_path: Any) -> None:
    X, _, classes = make_targets()
    model = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, classes)
    committee.save(model, tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    committee.save(loaded, tmp_path / "again")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()
    for one, other in zip(loaded.predict_proba(X), model.predict_proba(X), strict=True):
        np.testing.assert_array_equal(one, other)
    rows = np.concatenate([model.predict(X[k : k + 1]) for k in range(10)])
    np.testing.assert_array_equal(rows, model.predict(X[:10]))
    assert model.estimators_[0]._schema is model.estimators_[1]._schema
    model._outputs = model._outputs[:1]
    committee.save(model, tmp_path / "wrong")
    with pytest.raises(ModelFileError, match=r"do not"):
        committee.load(tmp_path / "wrong")


def test_a_fit_replaces_the_other_kind() -> None:
    X, labels, _ = make_targets()
    model = AdaBoostClassifier(n_estimators=4, random_state=0).fit(X, labels)
    model.fit(X, labels[:, 0])
    assert not hasattr(model, "n_outputs_")
    assert model.predict(X).shape == (300,)
    assert model.decision_function(X).shape == (300,)
    model.fit(X, labels)
    assert not hasattr(model, "estimator_weights_")
    assert model.predict(X).shape == (300, 3)


def test_warm_starts() -> None:
    X, labels, _ = make_targets()
    model = AdaBoostClassifier(n_estimators=4, warm_start=True, random_state=0).fit(X, labels)
    model.set_params(n_estimators=8).fit(X, labels)
    straight = AdaBoostClassifier(n_estimators=8, random_state=0).fit(X, labels)
    np.testing.assert_array_equal(model.predict(X), straight.predict(X))
    assert [len(own.estimator_weights_) for own in model.estimators_] == [8, 8, 8]
    with pytest.raises(DataError, match=r"it was fitted on 3 targets, and y has 1"):
        model.fit(X, labels[:, 0])
    with pytest.raises(DataError, match=r"it was fitted on 3 targets, and y has 2"):
        model.fit(X, labels[:, :2])


def test_what_is_of_one_target_only() -> None:
    X, labels, classes = make_targets()
    model = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, labels)
    for ask in (
        lambda: model.margins(X, labels[:, 0]),
        lambda: model.training_error_bound(),
    ):
        with pytest.raises(ParameterTypeError, match=r"fitted on several targets .* in estimators_"):
            ask()
    with pytest.raises(DataError, match=r"two classes; y has 4.*\(Target 1.\)"):
        AdaBoostClassifier(algorithm="discrete").fit(X, classes)
    with pytest.raises(CommitteeError, match=r"predicts one output only"):
        ArcingClassifier().fit(X, labels)
    with pytest.warns(Warning, match=r"column-vector"):
        assert AdaBoostClassifier(n_estimators=2).fit(X, labels[:, :1]).predict(X).shape == (300,)
