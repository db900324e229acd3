"""`committee fit` with every estimator that needs no members, and by every metric."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_outlier_detector

import committee
from committee.cli.catalog import list_estimators
from committee.cli.cross_validation import CrossValidationRun
from committee.cli.inspect import inspect_model
from committee.cli.metrics import choose_metrics
from committee.cli.model_rows import load_model
from committee.cli.model_setup import ModelSetup
from committee.cli.output import write_model
from committee.cli.plan import Plan
from committee.cli.predict import PredictOptions, Predictor
from committee.cli.problem import Roles, define_problem
from committee.cli.stream import open_stream
from committee.cli.table import read_source
from tests.cli.conftest import Run

NAMED = sorted({name for classes in list_estimators().values() for name in classes.values()})


def test_every_estimator_without_members_is_listed() -> None:
    classes = {name: getattr(committee, name) for name in committee.__all__}
    alone = [
        name
        for name, cls in classes.items()
        if inspect.isclass(cls)
        and hasattr(cls, "fit")
        and hasattr(cls, "predict")
        and all(p.default is not p.empty for p in inspect.signature(cls).parameters.values())
        and not is_outlier_detector(cls())  # which has no target
    ]
    assert sorted(alone) == NAMED


@pytest.mark.parametrize("name", ["random-forest", "adaboost", "bagging"])
@pytest.mark.parametrize("table", ["iris", "diabetes"])
def test_ensembles_beat_the_naive_guess(run: Run, tmp_path: Path, name: str, table: str) -> None:
    done = run("fit", table, "-e", name, "--folds", 3, "--json", "-o", "m.committee", "--set", "n_estimators=20")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    first = next(iter(found["scores"].values()))
    assert first["difference"]["mean"] > 0.2
    assert found["parameters"] == {"n_estimators": 20}
    assert found["candidates"] == []
    assert found["model"] == "m.committee"
    model = committee.load(tmp_path / "m.committee")
    assert type(model).__name__ == found["estimator"]
    assert model.get_params()["n_estimators"] == 20
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.committee", "m.report.html"]


@pytest.mark.parametrize("spelling", ["RandomForestClassifier", "random_forest", "RANDOM-FOREST"])
def test_spellings(run: Run, spelling: str) -> None:
    done = run("fit", "iris", "-e", spelling, "--folds", 2, "--set", "n_estimators=5", "--json", "--no-save")
    assert json.loads(done.stdout)["estimator"] == "RandomForestClassifier"


def test_the_model_is_the_one_that_was_scored(run: Run, tmp_path: Path) -> None:
    done = run("fit", "iris", "-e", "tree", "--seed", 3, "-o", "iris.committee")
    assert done.returncode == 0, done.stderr
    assert "Model written to iris.committee (" in done.stdout
    found = json.loads(run("fit", "iris", "-e", "tree", "--seed", 3, "--json", "--no-save").stdout)
    model = committee.load(tmp_path / "iris.committee")
    assert {"max_depth": model.max_depth} == found["parameters"]
    assert model.random_state == 3
    assert dict(zip(model.feature_names_in_, model.feature_importances_, strict=True)) == found["importances"]


def test_nothing_is_written_unless_asked(run: Run, tmp_path: Path) -> None:
    assert run("fit", "iris", "-e", "tree", "--set", "max_depth=2", "--no-save").returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("path", "fragment"), [("none/m.committee", "no folder 'none'"), (".", "is a folder")])
def test_an_invalid_path_is_reported_before_the_fit(run: Run, path: str, fragment: str) -> None:
    done = run("fit", "iris", "-o", path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert fragment in done.stderr
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    ("table", "metric", "shown", "better_is_lower"),
    [
        ("iris", "log-loss", "log-loss", True),
        ("iris", "roc_auc", "ROC AUC", False),
        ("breast_cancer", "f1_macro", "f1_macro", False),
        ("diabetes", "rmse", "root mean squared error", True),
        ("diabetes", "neg_median_absolute_error", "neg_median_absolute_error", False),
    ],
)
def test_metrics(run: Run, table: str, metric: str, shown: str, better_is_lower: bool) -> None:
    done = run("fit", table, "-e", "tree", "--metric", metric, "--folds", 3, "--json", "--no-save")
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)["scores"]
    assert next(iter(scores)) == shown
    assert (scores[shown]["difference"]["mean"] < 0) == better_is_lower


def test_the_depth_follows_the_metric(run: Run) -> None:
    found = json.loads(run("fit", "diabetes", "-e", "tree", "--metric", "mae", "--json", "--no-save").stdout)
    tried = found["candidates"]
    best = min(tried, key=lambda c: c["mean"])
    least = next(c for c in tried if c["mean"] <= best["mean"] + best["standard_error"])
    assert found["parameters"]["max_depth"] == least["max_depth"]


def test_log_loss_is_what_it_says() -> None:
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array(["no", "no", "no", "yes"])
    model = committee.DecisionTreeClassifier(max_depth=1).fit(X, y)
    (metric, *_) = choose_metrics("log-loss", "classification")
    assert metric.score(model, X, y) == pytest.approx(-np.log([1, 1, 0.5, 0.5]).mean())


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["--metric", "acuracy"], "Did you mean 'accuracy'?"),
        (["--metric", "rmse"], "not known for classification"),
        (["--estimator", "random-forst"], "Did you mean 'random-forest'?"),
        (["--estimator", "stacking"], "members"),
    ],
)
def test_unknown_names(run: Run, arguments: list[str], fragment: str) -> None:
    done = run("fit", "iris", *arguments)
    assert done.returncode == 2
    assert fragment in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_what_an_estimator_cannot_take_is_one_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n" + "red,0\nblue,1\n" * 20)
    done = run("fit", "t.csv", "--target", "y", "-e", "bernoulli-nb", "--json", "--no-save")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "learns from numbers only" in done.stderr
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("name", [name for name in NAMED if name.endswith(("Classifier", "Regressor", "NB"))])
def test_from_a_table_to_answers(tmp_path: Path, name: str) -> None:
    task = "regression" if name.endswith("Regressor") else "classification"
    source = "diabetes" if task == "regression" else "iris"
    cls = getattr(committee, name)
    counts = {"n_estimators": 5, "max_iter": 5, "n_rounds": 5, "n_members": 2}
    settings = {key: value for key, value in counts.items() if key in cls().get_params()}
    problem = define_problem(read_source(source, "utf-8"), Roles(), "auto")
    found = CrossValidationRun(ModelSetup(problem, Plan(name, settings, folds=2, seed=0, jobs=1))).run()
    assert found.estimator == name
    assert set(found.importances) in (set(), set(problem.features.column_names))
    write_model(found.model, tmp_path / "m.committee")
    loaded = load_model(str(tmp_path / "m.committee"), [])
    (predictions,) = Predictor(loaded, open_stream(source, "utf-8"), PredictOptions()).predict_chunks()
    assert predictions.column("prediction").to_pylist() == found.model.predict(problem.features).tolist()
    described = inspect_model(str(tmp_path / "m.committee"), [])
    assert described.estimator == name
    assert described.importances == found.importances
