"""Reasons, intervals and calibrated probabilities: `committee explain`, and what `committee predict` tells besides."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import committee
from committee.cli.explanations import Explainer
from committee.cli.predict import PredictOptions, Predictor
from committee.cli.stream import open_stream
from committee.cli.table import read_source
from committee.inspection import permutation_importance, shap_values
from tests.cli.conftest import Run


def read_bundled(name: str, target: str) -> tuple[pa.Table, Any]:
    table = read_source(name, "utf-8").table
    return table.drop_columns([target]), table.column(target).to_numpy()


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Model files of several kinds."""
    folder = tmp_path_factory.mktemp("models")
    wine, cultivar = read_bundled("wine", "cultivar")
    X, y = read_bundled("diabetes", "progression")
    few = {"n_estimators": 15, "random_state": 0}
    made = {
        "wine": committee.ExtraTreesClassifier(**few).fit(wine, cultivar),
        "calibrated": committee.RandomForestClassifier(**few, calibration="sigmoid").fit(wine, cultivar),
        "diabetes": committee.RandomForestRegressor(n_estimators=40, random_state=0, oob_score=True).fit(X, y),
        "quantiles": committee.RandomForestRegressor(**few, keep_leaf_samples=True).fit(X, y),
        "plain": committee.RandomForestRegressor(**few).fit(X, y),
        "automl": committee.CommitteeRegressor(portfolio=["linear", "extra trees"], random_state=0).fit(X, y),
    }
    for name, model in made.items():
        committee.save(model, folder / f"{name}.committee")
    return folder


def test_explain_tells_what_the_functions_do(run: Run, models: Path) -> None:
    done = run("explain", models / "wine.committee", "wine", "--repeats", 4, "--rows", 500, "--seed", 1, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    X, y = read_bundled("wine", "cultivar")
    model = committee.load(models / "wine.committee")
    assert (found["metric"], found["n_rows"], found["exact"]) == ("accuracy", 178, True)
    assert found["score"] == pytest.approx((model.predict(X) == y).mean())
    by_name = {entry["name"]: entry for entry in found["features"]}
    assert [e["loss"] for e in found["features"]] == sorted((e["loss"] for e in found["features"]), reverse=True)
    values = shap_values(model, X).values
    chosen = np.searchsorted(model.classes_, model.predict(X))
    sizes = np.abs(values[np.arange(len(y)), :, chosen]).mean(axis=0)
    np.testing.assert_allclose([by_name[name]["shap"] for name in X.column_names], sizes, rtol=1e-9)
    # Rows are drawn in another order, so that shuffles differ; what matters is the same.
    again = permutation_importance(model, X, y, n_repeats=4, random_state=1)
    assert np.corrcoef([by_name[name]["loss"] for name in X.column_names], again.importances_mean)[0, 1] > 0.9


def test_explain_for_people_and_to_a_file(run: Run, tmp_path: Path, models: Path) -> None:
    done = run("explain", models / "plain.committee", "diabetes", "--metric", "mae", "--repeats", 2, "-o", "r.parquet",
               "--keep", "progression")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout
    for fragment in (
        "mean absolute error on these rows",
        "loss when shuffled",
        "mean |SHAP|",
        "SHAP values of 442 rows",
    ):
        assert fragment in done.stdout
    reasons = pyarrow.parquet.read_table(tmp_path / "r.parquet")
    X, y = read_bundled("diabetes", "progression")
    assert reasons.column_names == ["progression", "prediction", "base_value", *(f"effect_{n}" for n in X.column_names)]
    assert reasons.column("progression").to_pylist() == y.tolist()
    effects = np.column_stack([reasons.column(f"effect_{n}").to_numpy() for n in X.column_names])
    total = reasons.column("base_value").to_numpy() + effects.sum(axis=1)
    np.testing.assert_allclose(total, reasons.column("prediction").to_numpy())


def test_explain_without_a_target_and_by_sampling(run: Run, tmp_path: Path, models: Path) -> None:
    X, _ = read_bundled("diabetes", "progression")
    pyarrow.csv.write_csv(X, tmp_path / "t.csv")
    done = run("explain", models / "automl.committee", "t.csv", "--rows", 30)
    assert done.returncode == 0, done.stderr
    assert "Shapley values are sampled, for 30" in done.stdout
    assert "Add --target" in done.stdout
    assert "loss when shuffled" not in done.stdout


def test_explain_shuffles_columns_of_a_committee(run: Run, models: Path) -> None:
    found = json.loads(
        run("explain", models / "automl.committee", "diabetes", "--repeats", 3, "--rows", 100, "--json").stdout
    )
    assert found["exact"] is False
    assert found["n_explained"] == 100
    assert {e["name"] for e in found["features"][:3]} >= {"bmi"}
    assert found["features"][0]["loss"] > 0.02


@pytest.mark.parametrize(
    ("arguments", "code", "fragment"),
    [
        (("wine.committee", "diabetes"), 1, "has no column"),
        (("wine.committee", "wine", "--target", "cultivars"), 2, "Did you mean 'cultivar'?"),
        (("wine.committee", "wine", "--metric", "rmse"), 2, "not known for classification"),
        (("diabetes.committee", "diabetes", "-o", "r.xlsx"), 2, "no extension"),
        (("none.committee", "wine"), 2, "no model file"),
    ],
)
def test_errors(run: Run, models: Path, arguments: tuple[str, ...], code: int, fragment: str) -> None:
    done = run("explain", models / arguments[0], *arguments[1:])
    assert done.returncode == code, done.stderr
    assert fragment in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_reasons_beside_predictions(run: Run, models: Path) -> None:
    done = run("predict", models / "wine.committee", "wine", "--explain", 2, "--probabilities")
    assert done.returncode == 0, done.stderr
    found = pyarrow.csv.read_csv(pa.BufferReader(done.stdout.encode()))
    assert found.column_names[-5:] == ["base_value", "reason_1", "effect_1", "reason_2", "effect_2"]
    X, _ = read_bundled("wine", "cultivar")
    model = committee.load(models / "wine.committee")
    values = shap_values(model, X).values
    chosen = np.searchsorted(model.classes_, model.predict(X))
    own = values[np.arange(len(values)), :, chosen]
    np.testing.assert_allclose(np.abs(found.column("effect_1").to_numpy()), np.abs(own).max(axis=1))
    named = [X.column_names.index(name) for name in found.column("reason_1").to_pylist()]
    np.testing.assert_allclose(found.column("effect_1").to_numpy(), own[np.arange(len(own)), named])


def test_one_score_speaks_for_the_class_that_is_predicted() -> None:
    X, y = read_bundled("breast_cancer", "diagnosis")
    model = committee.HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X, y)
    predicted = model.predict(X)
    found = Explainer(model, X).explain(X, predicted)
    assert ((found.base + found.values.sum(axis=1)) > 0).all()


class Line:
    """A linear model with a product, as a model of no library."""

    n_features_in_ = 3

    def predict(self, X: np.ndarray) -> np.ndarray:
        return 2.0 * X[:, 0] - X[:, 1] + X[:, 1] * X[:, 2]


def test_sampled_reasons_add_up_and_are_exact_for_what_is_linear() -> None:
    X = np.random.default_rng(0).normal(size=(400, 3))
    explainer = Explainer(Line(), X, seed=3)
    assert not explainer.is_exact
    found = explainer.explain(X[:200], Line().predict(X[:200]))
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), Line().predict(X[:200]))
    slope, intercept = np.polyfit(X[:200, 0], found.values[:, 0], 1)
    assert slope == pytest.approx(2.0)
    np.testing.assert_allclose(found.values[:, 0], slope * X[:200, 0] + intercept, atol=1e-9)
    # Both orders of two features that act together are used equally often, so that each gets its half.
    background = explainer._background
    half = np.mean(0.5 * (X[0, 1] - background[:, 1]) * (X[0, 2] + background[:, 2]) - (X[0, 1] - background[:, 1]))
    assert found.values[0, 1] == pytest.approx(half)


@pytest.mark.parametrize("name", ["diabetes", "automl", "quantiles"])
def test_intervals(run: Run, tmp_path: Path, models: Path, name: str) -> None:
    done = run("predict", models / f"{name}.committee", "diabetes", "--interval", 0.8, "-o", "a.parquet")
    assert done.returncode == 0, done.stderr
    found = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    X, _ = read_bundled("diabetes", "progression")
    model = committee.load(models / f"{name}.committee")
    ends = model.predict_quantiles(X, [0.1, 0.9]) if name == "quantiles" else model.predict_interval(X, 0.8)
    np.testing.assert_allclose(np.column_stack([found.column(c).to_numpy() for c in ("lower", "upper")]), ends)
    assert (ends[:, 0] <= ends[:, 1]).all()
    assert (ends[:, 1] - ends[:, 0]).mean() > 50.0


def test_calibrated_probabilities(run: Run, tmp_path: Path, models: Path) -> None:
    done = run("predict", models / "calibrated.committee", "wine", "--calibrated", "-o", "a.parquet")
    assert done.returncode == 0, done.stderr
    found = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    X, _ = read_bundled("wine", "cultivar")
    shares = committee.load(models / "calibrated.committee").predict_proba(X)
    np.testing.assert_array_equal(found.column("probability_class_0").to_numpy(), shares[:, 0])


@pytest.mark.parametrize(
    ("name", "table", "option", "fragment"),
    [
        ("wine", "wine", ("--calibrated",), "not calibrated"),
        ("wine", "wine", ("--interval", "0.9"), "predicts no intervals"),
        ("plain", "diabetes", ("--interval", "0.9"), "--set oob_score=True"),
        ("plain", "diabetes", ("--interval", "1.5"), "--interval"),
        ("plain", "diabetes", ("--probabilities",), "does not predict probabilities"),
    ],
)
def test_what_a_model_cannot_tell(
    run: Run, models: Path, name: str, table: str, option: tuple[str, ...], fragment: str
) -> None:
    done = run("predict", models / f"{name}.committee", table, *option)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert fragment in done.stderr
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_large_table_is_never_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str) -> None:
    rng = np.random.default_rng(0)
    frame = pa.table({f"x{k}": rng.normal(size=200_000) for k in range(8)})
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        pyarrow.csv.write_csv(frame, path)
    else:
        pyarrow.parquet.write_table(frame, path, row_group_size=2000)
    whole = frame.nbytes
    model = committee.DecisionTreeRegressor(max_depth=3).fit(frame.slice(0, 500), rng.normal(size=500))
    del frame
    monkeypatch.setattr("committee.cli.stream.MOST_ROWS", 1000)
    monkeypatch.setattr("committee.cli.stream.BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr("committee.cli.table.BLOCK_BYTES", 1 << 16)
    before, most, n_rows, n_pieces = pa.total_allocated_bytes(), 0, 0, 0
    for predictions in Predictor(model, open_stream(str(path), "utf-8"), PredictOptions()).predict_chunks():
        most = max(most, pa.total_allocated_bytes() - before)
        n_rows, n_pieces = n_rows + predictions.num_rows, n_pieces + 1
    assert n_rows == 200_000
    assert n_pieces >= 200
    assert most < whole / 3
