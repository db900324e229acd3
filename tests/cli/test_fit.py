"""`committee fit` on real work: bundled tables and files of every format."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from tests.cli.conftest import Run


def fit_json(run: Run, *arguments: object) -> dict[str, Any]:
    done = run("fit", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_without_a_table(run: Run) -> None:
    done = run("fit")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    for fragment in ("569 rows, 30 features", "malignant", "37.3%", "DecisionTreeClassifier(max_depth=", "naive", "±"):
        assert fragment in done.stdout


def test_the_score_is_what_it_says(run: Run) -> None:
    found = fit_json(run, "breast_cancer")
    accuracy = found["scores"]["accuracy"]
    folds = accuracy["model"]["folds"]
    assert len(folds) == 5
    assert accuracy["model"]["mean"] == pytest.approx(np.mean(folds))
    assert accuracy["model"]["standard_error"] == pytest.approx(np.std(folds, ddof=1) / np.sqrt(5))
    assert accuracy["naive"]["mean"] == pytest.approx(357 / 569, abs=0.01)
    assert accuracy["model"]["mean"] > 0.9
    # The smallest depth within one standard error of the best.
    tried = found["candidates"]
    best = max(tried, key=lambda c: c["mean"])
    least = next(c for c in tried if c["mean"] >= best["mean"] - best["standard_error"])
    assert found["parameters"] == {"max_depth": least["max_depth"]}
    assert sum(found["importances"].values()) == pytest.approx(1.0)
    assert found["leaves"] > 1


def test_regression(run: Run) -> None:
    found = fit_json(run, "diabetes", "--folds", "3")
    assert found["task"] == "regression"
    assert found["estimator"] == "DecisionTreeRegressor"
    assert found["scores"]["R²"]["model"]["mean"] > 0.15
    assert abs(found["scores"]["R²"]["naive"]["mean"]) < 0.1
    done = run("fit", "diabetes", "--set", "max_depth=3")
    assert "target from 25 to 346" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.feather", "t.arrows", "t.feather.zst", "t.jsonl"]
)
def test_every_format_gives_the_same_answer(run: Run, tmp_path: Path, table: pa.Table, name: str) -> None:
    path = tmp_path / name
    plain = table.set_column(1, "color", table.column("color").cast(pa.string()))
    if name.endswith((".csv", ".tsv", ".csv.gz")):
        delimiter = "\t" if name == "t.tsv" else ","
        with pa.output_stream(str(path), compression="detect") as out:
            pyarrow.csv.write_csv(plain, out, pyarrow.csv.WriteOptions(delimiter=delimiter))
    elif name == "t.parquet":
        pyarrow.parquet.write_table(table, path)
    elif name == "t.arrows":
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table)
    elif ".feather" in name:
        with pa.output_stream(str(path), compression="detect") as out:
            pyarrow.feather.write_feather(table, out)
    else:
        rows = (json.dumps(row, default=str) for row in plain.to_pylist())
        path.write_text("\n".join(rows))
    found = fit_json(run, name, "--target", "species", "--drop", "height", "--set", "max_depth=4")
    assert found["task"] == "classification"
    assert found["candidates"] == []
    features = {f["name"]: f for f in found["features"]}
    kinds = {name: f["type"] for name, f in features.items()}
    assert kinds == {"width": "number", "color": "category", "tall": "boolean", "seen": "date", "count": "number"}
    assert features["width"]["missing"] == pc_missing(table)
    assert features["color"]["distinct"] == 3
    assert found["scores"]["accuracy"]["model"]["mean"] > 0.85
    assert set(list(found["importances"])[:2]) == {"width", "color"}


def pc_missing(table: pa.Table) -> int:
    return int(table.column("width").null_count)


def test_same_seed_same_bytes_for_any_number_of_threads(run: Run) -> None:
    first, second = (run("fit", "wine", "--jobs", jobs, "--seed", 7, "--json").stdout for jobs in (1, 2))
    assert json.loads(first)["table"] == "wine (bundled)"
    assert first == second


@pytest.mark.parametrize(
    ("estimator", "name"), [("extra-tree", "ExtraTreeClassifier"), ("stump", "DecisionStumpClassifier")]
)
def test_other_estimators(run: Run, estimator: str, name: str) -> None:
    found = fit_json(run, "breast_cancer", "--estimator", estimator, "--folds", "3")
    assert found["estimator"] == name
    assert found["scores"]["accuracy"]["difference"]["mean"] > 0.15


def test_rows_and_columns_that_are_left_out_are_told(run: Run, tmp_path: Path) -> None:
    lines = [f"{i % 7},,id{i},{'?' if i == 3 else ('yes' if i % 7 > 3 else 'no')}" for i in range(70)]
    (tmp_path / "t.csv").write_text("a,empty,name,y\n" + "\n".join(lines))
    found = fit_json(run, "t.csv", "--target", "y")
    assert found["rows"] == 69
    assert found["classes"] == {"no": 39, "yes": 30}
    notices = " ".join(found["notices"])
    assert "1 of 70 rows were left out" in notices
    assert "'empty' is left out" in notices
    assert "--drop 'name'" in notices


def test_another_encoding_and_delimiter(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"{'Köln' if i % 2 else 'Bonn'};{i % 2}\n" for i in range(40))
    (tmp_path / "t.csv").write_bytes(("Stadt;Größe\n" + rows).encode("latin-1"))
    found = fit_json(run, "t.csv", "--target", "Größe", "--encoding", "latin-1")
    assert found["scores"]["accuracy"]["model"]["mean"] == 1.0


@pytest.mark.parametrize(
    ("setting", "fragment"),
    [("max_deph=3", "Did you mean 'max_depth'?"), ("max_depth=-3", "must be"), ("criterion=ginny", "criterion")],
)
def test_bad_settings(run: Run, setting: str, fragment: str) -> None:
    done = run("fit", "iris", "--set", setting)
    assert done.returncode == 2
    assert fragment in done.stderr
    assert "Traceback" not in done.stderr


def test_too_few_rows(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,u\n2,v\n3,u\n4,v\n")
    done = run("fit", "t.csv", "--target", "y")
    assert done.returncode == 2
    assert "--folds" in done.stderr


def test_a_stump_refuses_a_quantity(run: Run) -> None:
    done = run("fit", "diabetes", "--estimator", "stump")
    assert done.returncode == 2
    assert "classes only" in done.stderr
