"""The flavour of MLflow, if it is installed: models come back as they were, and fits are logged."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import committee
from committee.exceptions import ParameterTypeError

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")

from committee.io.mlflow import autolog, load_model, log_model, save_model  # noqa: E402


@pytest.fixture(autouse=True)
def tracking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield
    autolog(disable=True)
    while mlflow.active_run() is not None:
        mlflow.end_run()


def make_data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    return X, np.where(X[:, 0] > X[:, 1], "yes", "no")


def list_runs() -> Any:
    return mlflow.MlflowClient().search_runs(["0"])


def test_a_saved_model_is_the_model(tmp_path: Path) -> None:
    X, y = make_data()
    model = committee.RandomForestClassifier(5, random_state=0).fit(X, y)
    save_model(model, tmp_path / "saved", metadata={"by": "test"})
    loaded = load_model(str(tmp_path / "saved"))
    assert type(loaded) is committee.RandomForestClassifier
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    generic = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    np.testing.assert_array_equal(generic.predict(X), model.predict(X))
    assert generic.metadata.flavors["committee"]["estimator"] == "RandomForestClassifier"
    assert "committee==" in (tmp_path / "saved" / "requirements.txt").read_text()
    with pytest.raises(ParameterTypeError, match="an estimator of committee; got"):
        save_model([], tmp_path / "other")  # type: ignore[arg-type]


def test_a_logged_model_is_found_by_its_address() -> None:
    X, y = make_data()
    model = committee.HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(X, y)
    with mlflow.start_run():
        info = log_model(model, "boosting")
    np.testing.assert_array_equal(load_model(info.model_uri).predict(X), model.predict(X))


def test_fits_are_logged() -> None:
    X, y = make_data()
    before = committee.GradientBoostingClassifier.fit
    autolog(log_models=False)
    model = committee.GradientBoostingClassifier(n_estimators=7, early_stopping=True, random_state=0).fit(X, y)
    (run,) = list_runs()
    assert run.data.params["n_estimators"] == "7"
    assert run.data.tags["estimator"] == "GradientBoostingClassifier"
    assert set(model.history_.curves) <= set(run.data.metrics)
    name, curve = next(iter(model.history_.curves.items()))
    logged = mlflow.MlflowClient().get_metric_history(run.info.run_id, name)
    assert sorted(one.value for one in logged) == sorted(curve.values.tolist())
    # Members are part of their ensemble.
    tree = committee.DecisionTreeClassifier()
    committee.VotingClassifier([("a", tree), ("b", tree)], n_jobs=2).fit(X, y)
    assert len(list_runs()) == 2
    with pytest.raises(ValueError, match="max_depth"):
        committee.DecisionTreeClassifier(max_depth=-1).fit(X, y)
    assert sorted(one.info.status for one in list_runs()) == ["FAILED", "FINISHED", "FINISHED"]
    autolog(disable=True)
    assert committee.GradientBoostingClassifier.fit is before
    assert "fit" not in vars(committee.RandomForestClassifier)
    committee.DecisionTreeClassifier().fit(X, y)
    assert len(list_runs()) == 3


def test_a_run_that_is_active_gets_the_model() -> None:
    X, y = make_data()
    autolog()
    with mlflow.start_run() as run:
        model = committee.RandomForestClassifier(4, oob_score=True, random_state=0).fit(X, y)
        with pytest.warns(UserWarning, match="did not take the parameters"):
            committee.RandomForestClassifier(5, random_state=0).fit(X, y)
    found = mlflow.MlflowClient().get_run(run.info.run_id)
    assert found.data.metrics["oob_score"] == pytest.approx(model.oob_score_)
    logged = mlflow.search_logged_models(output_format="list")
    assert len(logged) == 2
    oldest = min(logged, key=lambda one: one.creation_timestamp)
    np.testing.assert_array_equal(load_model(oldest.model_uri).predict_proba(X), model.predict_proba(X))
