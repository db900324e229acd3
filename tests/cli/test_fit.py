"""`committee fit` on real work: bundled tables and files of every format."""

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from committee.cli.cross_validation import CrossValidationRun
from committee.cli.model_setup import ModelSetup
from committee.cli.plan import Plan
from committee.cli.problem import Roles, define_problem, write_numbers
from committee.cli.table import Source, read_source
from committee.data import frames
from tests.cli.conftest import Run


def fit_json(run: Run, *arguments: object) -> dict[str, Any]:
    done = run("fit", *arguments, "--json", "--no-save")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_without_a_table(run: Run) -> None:
    done = run("fit", "--time", 10**6, "--no-save")  # no machine is so slow
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    for fragment in (
        "569 rows, 30 features",
        "malignant",
        "37.3%",
        "CommitteeClassifier(",
        "members in",
        "Leaderboard on rows not seen",
        "committee  ",
        "extra trees",
        "naive",
        "±",
    ):
        assert fragment in done.stdout


def test_the_score_is_what_it_says(run: Run) -> None:
    found = fit_json(run, "breast_cancer", "-e", "tree")
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
    found = fit_json(run, "diabetes", "--folds", "3", "-e", "tree")
    assert found["task"] == "regression"
    assert found["estimator"] == "DecisionTreeRegressor"
    assert found["scores"]["R²"]["model"]["mean"] > 0.15
    assert abs(found["scores"]["R²"]["naive"]["mean"]) < 0.1
    done = run("fit", "diabetes", "-e", "tree", "--set", "max_depth=3", "--no-save")
    assert "target from 25 to 346" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


FORMATS = [
    *("t.csv", "t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zst", "t.tsv", "t.tsv.lz4", "t.txt", "t.jsonl"),
    *("t.jsonl.gz", "t.ndjson.xz", "t.parquet", "t.parquet.xz", "t.feather", "t.feather.zst", "t.arrow", "t.arrows"),
]


def write_as(table: pa.Table, path: Path) -> None:
    """Write a table in the format that the ending names, packed if it says so."""
    plain = table.set_column(1, "color", table.column("color").cast(pa.string()))
    kind = path.name.split(".")[1]
    out = pa.BufferOutputStream()
    if kind in ("csv", "tsv", "txt"):
        pyarrow.csv.write_csv(plain, out, pyarrow.csv.WriteOptions(delimiter="\t" if kind == "tsv" else ","))
    elif kind in ("jsonl", "ndjson"):
        out.write("\n".join(json.dumps(row, default=str) for row in plain.to_pylist()).encode())
    elif kind == "parquet":
        pyarrow.parquet.write_table(table, out)
    elif kind == "arrows":
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
    else:
        pyarrow.feather.write_feather(table, out)
    data = out.getvalue().to_pybytes()
    if path.suffix == ".xz":
        path.write_bytes(lzma.compress(data))
    else:
        with pa.output_stream(str(path), compression="detect") as packed:
            packed.write(data)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_understood_alike(tmp_path: Path, table: pa.Table, name: str) -> None:
    write_as(table, tmp_path / name)
    roles = Roles(target="species", drop=["height"])
    problem = define_problem(read_source(str(tmp_path / name), "utf-8"), roles, "auto")
    assert problem.task == "classification"
    kinds = {column.name: column.kind for column in problem.columns}
    assert kinds == {"width": "number", "color": "category", "tall": "boolean", "seen": "date", "count": "number"}
    expected = define_problem(Source("t", table), roles, "auto")
    assert [c.n_missing for c in problem.columns] == [c.n_missing for c in expected.columns]
    for column in kinds:
        values = [write_numbers(one.features.column(column)).to_pylist() for one in (problem, expected)]
        assert values[0] == values[1]


@pytest.mark.parametrize("name", ["t.tsv", "t.parquet", "t.ndjson.xz"])
def test_every_format_gives_the_same_answer(run: Run, tmp_path: Path, table: pa.Table, name: str) -> None:
    write_as(table, tmp_path / name)
    found = fit_json(run, name, "--target", "species", "--drop", "height", "-e", "tree", "--set", "max_depth=4")
    assert found["candidates"] == []
    assert found["scores"]["accuracy"]["model"]["mean"] > 0.85
    assert set(list(found["importances"])[:2]) == {"width", "color"}


def test_same_seed_same_bytes_for_any_number_of_threads(run: Run) -> None:
    first, second = (
        run("fit", "wine", "--jobs", jobs, "--seed", 7, "--set", "n_members=4", "--json", "--no-save").stdout
        for jobs in (1, 2)
    )
    assert json.loads(first)["table"] == "wine (bundled)"
    assert first == second


@pytest.mark.parametrize(
    ("estimator", "name"), [("extra-tree", "ExtraTreeClassifier"), ("stump", "DecisionStumpClassifier")]
)
def test_other_estimators(run: Run, estimator: str, name: str) -> None:
    found = fit_json(run, "breast_cancer", "--estimator", estimator, "--folds", "3")
    assert found["estimator"] == name
    assert found["scores"]["accuracy"]["difference"]["mean"] > 0.15


def test_rows_and_columns_that_are_left_out_are_reported(run: Run, tmp_path: Path) -> None:
    lines = [f"{i % 7},,id{i},{'?' if i == 3 else ('yes' if i % 7 > 3 else 'no')}" for i in range(70)]
    (tmp_path / "t.csv").write_text("a,empty,name,y\n" + "\n".join(lines))
    found = fit_json(run, "t.csv", "--target", "y", "-e", "tree")
    assert found["rows"] == 69
    assert found["classes"] == {"no": 39, "yes": 30}
    notices = " ".join(found["notices"])
    assert "1 of 70 rows were left out" in notices
    assert "'empty' is left out" in notices
    assert "--drop 'name'" in notices


def test_another_encoding_and_delimiter(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"{'Köln' if i % 2 else 'Bonn'};{i % 2}\n" for i in range(40))
    (tmp_path / "t.csv").write_bytes(("Stadt;Größe\n" + rows).encode("latin-1"))
    found = fit_json(run, "t.csv", "--target", "Größe", "--encoding", "latin-1", "-e", "tree")
    assert found["scores"]["accuracy"]["model"]["mean"] == 1.0


@pytest.mark.parametrize(
    ("setting", "fragment"),
    [("max_deph=3", "Did you mean 'max_depth'?"), ("max_depth=-3", "must be"), ("criterion=ginny", "criterion")],
)
def test_bad_settings(run: Run, setting: str, fragment: str) -> None:
    done = run("fit", "iris", "-e", "tree", "--set", setting)
    assert done.returncode == 2
    assert fragment in done.stderr
    assert "Traceback" not in done.stderr


def test_too_few_rows(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,u\n2,v\n3,u\n4,v\n")
    done = run("fit", "t.csv", "--target", "y", "-e", "tree")
    assert done.returncode == 2
    assert "--folds" in done.stderr


def test_a_stump_refuses_a_quantity(run: Run) -> None:
    done = run("fit", "diabetes", "--estimator", "stump")
    assert done.returncode == 2
    assert "classes only" in done.stderr


@pytest.mark.parametrize(("delimiter", "ending"), [(";", "csv"), ("\t", "tsv"), ("|", "csv")])
def test_decimal_commas(tmp_path: Path, delimiter: str, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    path.write_text(
        f"a{delimiter}b{delimiter}c\n" + f"-1,5{delimiter}3{delimiter}x,y\n" + f"2,25{delimiter}{delimiter}1,2,3\n"
    )
    table = read_source(str(path), "utf-8").table
    assert table.column("a").to_pylist() == [-1.5, 2.25]
    assert table.column("b").to_pylist() == [3, None]
    assert table.column("c").to_pylist() == ["x,y", "1,2,3"]
    path.write_text(f"a{delimiter}b\n1,5{delimiter}2.5\n")
    assert read_source(str(path), "utf-8").table.column("b").to_pylist() == [2.5]


@pytest.mark.parametrize("name", ["tree", "random-forest"])
def test_the_table_is_read_once_and_not_by_each_fit(
    name: str, table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    plain = frames._read_arrow

    def count(X: Any) -> Any:
        found = plain(X)
        if found is not None:
            read.append(1)
        return found

    monkeypatch.setattr(frames, "_read_arrow", count)
    problem = define_problem(Source("t", table), Roles("species", drop=["height"]), "auto")
    plan = Plan(name, {"max_depth": 3} if name != "tree" else {}, 2, 0, 1)
    results = CrossValidationRun(ModelSetup(problem, plan)).run()
    assert read == [1]
    assert results.model.feature_names_in_.tolist() == problem.features.column_names
    # The model reads the same from the table itself.
    model = type(results.model)(**results.model.get_params()).fit(problem.features, problem.y)
    np.testing.assert_array_equal(
        model.predict_proba(problem.features), results.model.predict_proba(problem.features.slice(0))
    )
