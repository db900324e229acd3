"""Certificates: every family verifies, what differs is named, and a model can forget rows."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import committee
from committee.data.rows import select_rows
from committee.exceptions import DataError, ModelFileError, ParameterError
from committee.io.certificates.model_digest import digest_model, list_model_differences
from tests.io.models import ESTIMATORS, make_data, make_model

every_family = pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
X, Y = load_iris(return_X_y=True)


def write_bytes(model: Any, folder: Path, **options: Any) -> bytes:
    committee.save(model, folder / "model", **options)
    return (folder / "model").read_bytes()


def make_forest(**params: Any) -> Any:
    return committee.RandomForestClassifier(**{"n_estimators": 5, "random_state": 0, **params})


@pytest.fixture
def forest() -> Any:
    return committee.certify(make_forest(), X, Y)


@every_family
@pytest.mark.filterwarnings("ignore")
def test_every_family_verifies_from_a_file(cls: type[Any], tmp_path: Path) -> None:
    """Also where no seed was given: the one that was used is in the certificate."""
    estimator = make_model(cls, thorough=True, random_state=None)
    table, y = make_data(estimator)
    model = committee.certify(estimator, table, y)
    assert "certificate_" not in vars(estimator)
    for strip in (False, True):
        write_bytes(model, tmp_path, strip=strip)
        loaded = committee.load(tmp_path / "model")
        np.random.random(7)  # noqa: NPY002  the state of the global generator does not matter
        found = committee.verify(loaded, table, y)
        assert found, str(found)
        assert found.refitted
        assert loaded.certificate_ == model.certificate_


@every_family
@pytest.mark.filterwarnings("ignore")
def test_every_family_forgets(cls: type[Any], tmp_path: Path) -> None:
    estimator = make_model(cls, thorough=True)
    table, y = make_data(estimator)
    model = committee.certify(estimator, table, y)
    before = write_bytes(model, tmp_path)
    gone = [3, 50, 51, 119]
    found = committee.forget(model, table, y, gone)
    kept = np.setdiff1d(np.arange(len(y)), gone)
    rest = select_rows(table, kept)
    expected = committee.certify(estimator, rest, np.asarray(y)[kept])
    for made in (found, expected):  # the seconds that members took are the one thing that differs
        for row in getattr(made, "leaderboard_", []):
            row["seconds"] = 0.0
    assert write_bytes(found, tmp_path) == write_bytes(expected, tmp_path)
    assert write_bytes(model, tmp_path) == before
    assert committee.verify(found, rest, np.asarray(y)[kept])
    assert not committee.verify(found, table, y)


FORGETTING = {
    "forest": make_forest(),
    "boosting": committee.HistGradientBoostingClassifier(max_iter=3, random_state=0),
    "AdaBoost": committee.AdaBoostClassifier(n_estimators=3, random_state=0),
    "bag": committee.BaggingClassifier(n_estimators=3, random_state=0),
    "tree": committee.DecisionTreeClassifier(random_state=0),
}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_forgetting_is_weight_zero_and_absence(data: st.DataObject) -> None:
    """Whatever rows go: the model is that of the other rows, and predicts as one that gave them no weight."""
    estimator = FORGETTING[data.draw(st.sampled_from(sorted(FORGETTING)))]
    seed = data.draw(st.integers(0, 5))
    rng = np.random.default_rng(seed)
    n_rows = data.draw(st.integers(12, 40))
    table = rng.integers(0, 6, size=(n_rows, 3)).astype(float)
    y = rng.integers(0, 2, size=n_rows)
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows)))
    gone[:4], y[:4] = False, [0, 1, 0, 1]
    weights = rng.integers(1, 3, size=n_rows) if data.draw(st.booleans()) else None
    model = committee.certify(estimator, table, y, weights)
    found = committee.forget(model, table, y, gone if data.draw(st.booleans()) else np.flatnonzero(gone), weights)
    rest = None if weights is None else weights[~gone]
    absent = committee.certify(estimator, table[~gone], y[~gone], rest)
    assert found.certificate_ == absent.certificate_
    assert digest_model(found, strip=False) == digest_model(absent, strip=False)
    zero = (np.ones(n_rows) if weights is None else weights) * ~gone
    weightless = committee.certify(estimator, table, y, zero)
    np.testing.assert_array_equal(weightless.predict_proba(table), found.predict_proba(table))
    for entry in ("table", "target", "weights"):
        assert weightless.certificate_[entry] == found.certificate_[entry]


def test_forgetting_checks_what_it_is_given(forest: Any) -> None:
    other = X.copy()
    other[0, 2] += 1
    with pytest.raises(DataError, match=r"not those that the model was fitted on.*column 2 differs"):
        committee.forget(forest, other, Y, [3])
    for rows in ([150], [-1], [0.5], [[1]], "all", [True]):
        with pytest.raises(ParameterError, match="'rows' must be"):
            committee.forget(forest, X, Y, rows)
    with pytest.raises(ParameterError, match="names every row"):
        committee.forget(forest, X, Y, np.ones(150, dtype=bool))
    with pytest.raises(ModelFileError, match="no certificate"):
        committee.forget(make_forest().fit(X, Y), X, Y, [3])


def test_forgetting_rows_of_a_table_in_blocks(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=Y)
    frame.to_parquet(tmp_path / "iris.parquet", row_group_size=40)
    model = committee.certify(make_forest(), tmp_path / "iris.parquet", "kind")
    assert committee.verify(model, frame, "kind")
    found = committee.forget(model, tmp_path / "iris.parquet", "kind", [7, 90])
    assert committee.verify(found, frame.drop(index=[7, 90]), "kind")


@pytest.mark.parametrize("kind", ["list", "float32", "csr", "pandas", "polars", "columns"])
def test_containers_of_the_same_values(kind: str) -> None:
    table = np.round(X * 2) / 2  # exact in single precision
    model = committee.certify(make_forest(), table, Y)
    made = {
        "list": table.tolist(),
        "float32": table.astype(np.float32),
        "csr": sp.csr_matrix(table),
        "pandas": pd.DataFrame(table, columns=list("abcd")),
        "columns": np.asfortranarray(table),
    }
    given = pytest.importorskip("polars").DataFrame(table) if kind == "polars" else made[kind]
    found = committee.verify(model, given, pd.Series(Y))
    assert found, str(found)


def test_what_differs_is_named(forest: Any) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = committee.certify(make_forest(), frame, Y)
    other = frame.copy()
    other.loc[3, "c"] += 0.1
    found = committee.verify(model, other, Y)
    assert (found.identical, found.refitted, found.data) == (False, False, ["column 'c' differs."])
    assert committee.verify(model, frame.rename(columns={"b": "x"}), Y).data == ["column 'b' is named 'x' now."]
    assert committee.verify(model, frame[:100], Y[:100]).data[0] == "the table had 150 rows and has 100."
    swapped = Y.copy()
    swapped[[0, 149]] = swapped[[149, 0]]
    assert committee.verify(model, frame, swapped).data == ["The target differs."]
    assert committee.verify(model, frame, Y, np.arange(150) + 1).data == ["The weights differ (there were none)."]
    assert committee.verify(model, frame, Y, groups=Y).data == ["The argument 'groups' of the fit differs."]
    wide = X[:, [0, 1, 2, 3, 0]]
    assert committee.verify(forest, wide, Y).data == ["the table had 4 columns and has 5."]


def test_changed_parameters_and_models_are_named(forest: Any) -> None:
    forest.set_params(max_depth=2)
    assert committee.verify(forest, X, Y).parameters == ["parameter max_depth was None and is 2 here."]
    forest.set_params(max_depth=None, n_jobs=2, verbose=0)
    assert committee.verify(forest, X, Y)
    forest._trees = make_forest(random_state=1).fit(X, Y)._trees
    found = committee.verify(forest, X, Y)
    assert not found.refitted
    assert found.model == [
        "The model has been changed since it was fitted: it has another digest than the certificate."
    ]


def test_a_forged_certificate_is_found_by_the_fit(forest: Any) -> None:
    """Who changes the model and the digest in the certificate is found out by fitting again."""
    forest._trees = make_forest(random_state=1).fit(X, Y)._trees
    forest.certificate_ = {**forest.certificate_, "model": digest_model(forest, strip=False)}
    found = committee.verify(forest, X, Y)
    assert found.refitted
    assert not found
    assert "A new fit differs in" in found.model[0]
    assert "_trees" in found.model[0]


def test_versions_and_platforms_are_named(forest: Any) -> None:
    forest.certificate_["versions"]["numpy"] = "1.0"
    forest.certificate_["platform"]["machine"] = "abacus"
    found = committee.verify(forest, X, Y)
    assert found.identical  # they explain a difference, and there is none
    assert found.versions == [f"numpy was '1.0' and is {np.__version__!r} here."]
    assert found.platform[0].startswith("machine was 'abacus' and is")
    assert "version: numpy was" in str(found)


def test_parts_of_other_libraries() -> None:
    members = [("linear", LogisticRegression(max_iter=1000)), ("forest", make_forest(random_state=None))]
    model = committee.certify(committee.VotingClassifier(members, voting="soft"), X, Y)
    assert committee.verify(model, X, Y)
    model.estimators_[0].coef_[0, 0] += 1e-9
    assert not committee.verify(model, X, Y)


def test_types_of_targets_do_not_matter() -> None:
    labels = np.array(["oak", "elm", "fir"])[Y]
    for one, other in (
        (labels, labels.astype(object)),
        (Y.astype(np.int8), Y.tolist()),
        (Y, pd.Series(Y, dtype=float)),
    ):
        assert committee.verify(committee.certify(make_forest(), X, one), X, other)


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_generators_become_seeds(make: Any) -> None:
    model = committee.certify(make_forest(random_state=make(3)), X, Y)
    assert isinstance(model.random_state, int)
    assert committee.verify(model, X, Y)


def test_the_global_generator_is_as_before() -> None:
    np.random.seed(5)  # noqa: NPY002
    committee.certify(make_forest(), X, Y)
    assert np.random.random() == np.random.RandomState(5).random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    one = committee.certify(make_forest(random_state=None), X, Y)
    np.random.seed(5)  # noqa: NPY002
    assert committee.certify(make_forest(random_state=None), X, Y).certificate_ == one.certificate_


def test_a_selection_without_a_seed_draws_from_the_global_generator() -> None:
    members = [(str(k), committee.DecisionTreeClassifier(max_depth=k, random_state=0)) for k in range(1, 6)]
    weights = []
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002
        weights.append(committee.EnsembleSelectionClassifier(members, n_bags=5).fit(X, Y).weights_)
    np.testing.assert_array_equal(*weights)


@every_family
@pytest.mark.filterwarnings("ignore")
def test_another_fit_takes_the_certificate_away(cls: type[Any]) -> None:
    estimator = make_model(cls)
    table, y = make_data(estimator)
    model = committee.certify(estimator, table, y)
    assert "certificate_" in vars(model)
    assert "certificate_" not in vars(clone(model))
    model.fit(table, y)
    assert "certificate_" not in vars(model)


def test_certificates_survive_pickles_and_are_json(forest: Any) -> None:
    for made in (pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest)):
        assert made.certificate_ == forest.certificate_
        assert committee.verify(made, X, Y)
    assert json.loads(json.dumps(forest.certificate_)) == forest.certificate_


def test_certificates_of_later_versions_are_refused(forest: Any) -> None:
    whole = forest.certificate_
    broken = [{"version": 2}, [], *({k: v for k, v in whole.items() if k != name} for name in whole)]
    broken.remove({k: v for k, v in whole.items() if k != "estimator"})  # of which the model itself knows
    broken += [{**whole, "seed": -1}, {**whole, "target": 3}, {**whole, "table": {**whole["table"], "columns": 5}}]
    for one in broken:
        forest.certificate_ = one
        with pytest.raises(ModelFileError, match="cannot be read"):
            committee.verify(forest, X, Y)


def test_digests_see_every_attribute(forest: Any) -> None:
    for name in list(vars(forest)):
        if name in ("certificate_", "n_jobs", "verbose"):
            continue
        other = copy.copy(forest)
        vars(other)[name] = np.array(["something else"])
        assert digest_model(other, strip=False) != digest_model(forest, strip=False), name
        assert list_model_differences(forest, other, strip=False) == [name]


def test_automatic_committees_with_a_time_budget_verify() -> None:
    """A new fit has the members that the budget sufficed for, whatever time they take."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = committee.CommitteeClassifier(n_members=3, time_budget=1e6, random_state=0)
        model = committee.certify(estimator, X, Y)
        assert committee.verify(model, X, Y)


def test_forgetting_as_a_method_gives_the_bytes_of_a_fit_without_the_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X, gone = rng.normal(size=(80, 3)), [0, 17, 41]
    y = (X[:, 0] > 0).astype(int)
    forest = committee.RandomForestClassifier(n_estimators=5, random_state=0)
    without = committee.certify(forest, X, y).forget(gone, X, y)
    fitted = committee.certify(forest, np.delete(X, gone, axis=0), np.delete(y, gone))
    for name, model in (("a", without), ("b", fitted)):
        committee.save(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert without.certificate_["table"]["rows"] == 77
    weights = np.ones(len(X))
    weights[gone] = 0.0
    absent = committee.DecisionTreeClassifier(random_state=0).fit(X, y, sample_weight=weights)
    tree = committee.certify(committee.DecisionTreeClassifier(random_state=0), X, y).forget(gone, X, y)
    assert tree.predict_proba(X).tobytes() == absent.predict_proba(X).tobytes()
