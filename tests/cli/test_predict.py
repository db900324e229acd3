"""`committee predict` and `committee inspect`: model files in, predictions out."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from sklearn.datasets import load_diabetes

import committee
from committee.cli.inspect import inspect_model
from committee.cli.predict import PredictOptions, Predictor
from committee.cli.stream import open_stream
from tests.cli.conftest import Run, make_run


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory, table: pa.Table) -> Path:
    folder = tmp_path_factory.mktemp("forest")
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    done = make_run(folder)(
        *("fit", "t.parquet", "--target", "species", "--drop", "height", "-e", "extra-trees", "--folds", 2),
        *("--set", "n_estimators=10", "-o", "m.committee"),
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def fitted(tmp_path: Path, forest: Path) -> Path:
    """A model file, and beside it the table that it was fitted on."""
    shutil.copytree(forest, tmp_path, dirs_exist_ok=True)
    return tmp_path / "m.committee"


def plain(table: pa.Table) -> pa.Table:
    return table.set_column(1, "color", table.column("color").cast(pa.string()))


def expect(model: Path, table: pa.Table) -> tuple[list[str], np.ndarray]:
    rows = table.drop_columns(["species", "height"])
    loaded = committee.load(model)
    return loaded.predict(rows).tolist(), loaded.predict_proba(rows)


def test_answers_are_the_same_from_every_format_to_every_format(
    run: Run, tmp_path: Path, fitted: Path, table: pa.Table
) -> None:
    classes, shares = expect(fitted, table)
    pyarrow.csv.write_csv(plain(table), tmp_path / "t.csv")
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps(row, default=str) for row in plain(table).to_pylist()))
    for name, out in (("t.parquet", "a.csv"), ("t.csv", "a.parquet"), ("t.jsonl", "a.csv.gz")):
        done = run("predict", fitted.name, name, "-p", "-o", out)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"240 rows written to {out}\n"
        path = tmp_path / out
        found = pyarrow.parquet.read_table(path) if out == "a.parquet" else pyarrow.csv.read_csv(path)
        assert found.column_names == ["prediction", "probability_elm", "probability_oak"]
        assert found.column("prediction").to_pylist() == classes
        np.testing.assert_array_equal(np.column_stack([found.column(k).to_numpy() for k in (1, 2)]), shares)
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_to_the_screen_with_columns_that_are_kept(run: Run, fitted: Path, table: pa.Table) -> None:
    done = run("predict", fitted, "t.parquet", "--keep", "count", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = pyarrow.csv.read_csv(pa.BufferReader(done.stdout.encode()))
    assert found.column_names == ["count", "prediction"]
    assert found.column("count").equals(table.column("count"))
    assert found.column("prediction").to_pylist() == expect(fitted, table)[0]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet", "t.feather"])
def test_pieces_give_what_the_whole_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, table: pa.Table, name: str
) -> None:
    # Numbers that look whole at first, gaps at first, words that look like numbers at first.
    n = 400
    rng = np.random.default_rng(1)
    frame = pa.table(
        {
            "whole": [k if k < 300 else k + 0.5 for k in range(n)],
            "late": [None if k < 300 else float(k) for k in range(n)],
            "code": [str(k % 5) if k < 300 else "x" for k in range(n)],
        }
    )
    y = rng.normal(size=n) + np.arange(n) + 50.0 * (np.arange(n) % 5)
    model = committee.RandomForestRegressor(n_estimators=5, random_state=0).fit(frame, y)
    path = tmp_path / name
    if name == "t.csv":
        lines = [
            ",".join("" if v is None else f"{v:g}" if isinstance(v, float) else v for v in row.values())
            for row in frame.to_pylist()
        ]
        path.write_text("whole,late,code\n" + "\n".join(lines))
    elif name == "t.jsonl":
        path.write_text("\n".join(json.dumps(row) for row in frame.to_pylist()))
    elif name == "t.parquet":
        pyarrow.parquet.write_table(frame, path)
    else:
        pyarrow.feather.write_feather(frame, str(path), chunksize=70)
    monkeypatch.setattr("committee.cli.stream.MOST_ROWS", 64)
    monkeypatch.setattr("committee.cli.stream.BLOCK_BYTES", 1000)
    monkeypatch.setattr("committee.cli.table.BLOCK_BYTES", 1000)
    pieces = list(Predictor(model, open_stream(str(path), "utf-8"), PredictOptions()).predict_chunks())
    assert len(pieces) >= 6
    assert max(piece.num_rows for piece in pieces) <= 64
    found = pa.concat_tables(pieces).column("prediction").to_numpy()
    np.testing.assert_array_equal(found, model.predict(frame))


@pytest.mark.parametrize(
    ("change", "code", "fragment"),
    [
        (lambda t: t.drop_columns(["color"]), 1, "has no column 'color', which the model was fitted on"),
        (lambda t: t.rename_columns(["Width", *t.column_names[1:]]), 1, "Did you mean 'Width'?"),
        (
            lambda t: t.set_column(0, "width", t.column("color").cast(pa.string())),
            1,
            "'width' held numbers at fit and is text in",
        ),
        (lambda t: t.set_column(1, "color", t.column("count")), 1, "'color' held categories that are text"),
        (lambda t: t.slice(0, 0), 1, "no rows"),
    ],
    ids=["missing", "renamed", "text-for-number", "number-for-text", "empty"],
)
def test_tables_that_do_not_fit_the_model(
    run: Run, tmp_path: Path, fitted: Path, table: pa.Table, change: object, code: int, fragment: str
) -> None:
    pyarrow.parquet.write_table(change(table), tmp_path / "new.parquet")
    done = run("predict", fitted, "new.parquet", "-o", "a.csv")
    assert done.returncode == code
    assert fragment in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert not (tmp_path / "a.csv").exists()
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_errors(run: Run, tmp_path: Path) -> None:
    committee.save(committee.DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]), tmp_path / "m.committee")
    (tmp_path / "t.csv").write_text("a\n0\n1\n")
    (tmp_path / "bad.committee").write_bytes((tmp_path / "m.committee").read_bytes()[:-9])
    for arguments, code, fragment in [
        (("predict", "none.committee", "t.csv"), 2, "no model file"),
        (("predict", "bad.committee", "t.csv"), 1, "damaged"),
        (("predict", "m.committee", "t.csv", "-o", "a.xlsx"), 2, "no extension"),
        (("predict", "m.committee", "t.csv", "-p"), 2, "does not predict probabilities"),
        (("predict", "m.committee", "t.csv", "--calibrated"), 2, "Leave out --calibrated"),
        (("predict", "m.committee", "t.csv", "--keep", "b"), 2, "no column 'b'"),
        (("inspect", "bad.committee"), 1, "damaged"),
    ]:
        done = run(*arguments)
        assert done.returncode == code, done.stderr
        assert fragment in done.stderr
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 2, done.stderr
        assert "Traceback" not in done.stderr


def test_a_model_without_names_takes_columns_by_their_order(run: Run, tmp_path: Path) -> None:
    X, y = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 6.0]]), np.array([3, 4, 5])
    committee.save(committee.DecisionTreeClassifier().fit(X, y), tmp_path / "m.committee")
    (tmp_path / "t.csv").write_text("a,b\n0,5\n2,6\n")
    assert run("predict", "m.committee", "t.csv").stdout == '"prediction"\n3\n5\n'
    (tmp_path / "t.csv").write_text("a,b,c\n0,5,1\n")
    assert "needs 2 columns; 't.csv' has 3" in run("predict", "m.committee", "t.csv").stderr


def test_inspect(run: Run, fitted: Path) -> None:
    done = run("inspect", fitted)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout
    for fragment in ("ExtraTreesClassifier", "2 classes: elm, oak", "category of 3 levels", "n_estimators", "share"):
        assert fragment in done.stdout
    found = json.loads(run("inspect", fitted, "--json").stdout)
    assert found["n_features"] == 5
    assert found["columns"]["color"] == "category of 3 levels"
    assert found["parameters"]["n_estimators"] == 10
    assert found["n_bytes"] == fitted.stat().st_size
    model = committee.load(fitted)
    assert found["importances"] == dict(
        sorted(zip(model.feature_names_in_, model.feature_importances_, strict=True), key=lambda pair: -pair[1])
    )


def test_inspect_tells_what_a_model_found_out_about_itself(run: Run, tmp_path: Path) -> None:
    X, y = load_diabetes(return_X_y=True)
    automl = committee.CommitteeRegressor(portfolio=["linear"], random_state=0).fit(X, y)
    committee.save(automl, tmp_path / "automl.committee")
    shown = run("inspect", "automl.committee").stdout
    for fragment in ("score estimate: ", "score error: ", "linear", "weight"):
        assert fragment in shown
    assert max(map(len, shown.splitlines())) <= 80
    found = inspect_model(str(tmp_path / "automl.committee"), [])
    assert found.scores == {"score_estimate_": automl.score_estimate_, "score_error_": automl.score_error_}
    assert found.members == automl.leaderboard_
    forest = committee.RandomForestRegressor(20, oob_score=True, random_state=0).fit(X, y)
    committee.save(forest, tmp_path / "forest.committee")
    found = inspect_model(str(tmp_path / "forest.committee"), [])
    assert found.scores == {"oob_score_": pytest.approx(forest.oob_score_)}
    assert found.members == []


def test_a_model_of_dates_reads_them_from_files(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    days = np.datetime64("2020-01-01") + rng.integers(0, 700, 60)
    table = pa.table({"size": rng.normal(size=60), "when": pa.array(days), "vector": list(rng.normal(size=(60, 2)))})
    late = np.where(days.astype("M8[M]").astype(int) % 12 > 5, "late", "early")
    model = committee.DecisionTreeClassifier(random_state=0).fit(table.select(["size", "when"]), late)
    committee.save(model, tmp_path / "dates.committee")
    pyarrow.csv.write_csv(table.select(["size", "when"]), tmp_path / "table.csv")
    pyarrow.parquet.write_table(table, tmp_path / "table.parquet")
    for name in ("table.csv", "table.parquet"):
        done = run("predict", "dates.committee", name)
        assert done.stdout.replace('"', "").split() == ["prediction", *late.tolist()], name
    committee.save(committee.DecisionTreeClassifier().fit(table, late), tmp_path / "lists.committee")
    columns = inspect_model(tmp_path / "lists.committee", []).columns
    assert columns == {"size": "number", "when": "dates without a time zone", "vector": "lists of 2 values"}
    assert len(run("predict", "lists.committee", "table.parquet").stdout.split()) == 61
