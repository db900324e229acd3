"""`committee report`: a model on a new table."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tests.cli.conftest import Run, make_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a table like that of the fit, and one that has drifted."""
    path = tmp_path_factory.mktemp("report")
    for name, shift in (("old", 0.0), ("same", 0.0), ("new", 3.0)):
        rng = np.random.default_rng(len(name) + int(shift))
        width, color = rng.normal(size=200) + shift, rng.choice(["red", "blue"], size=200)
        kind = np.where(width - shift + (color == "red") > 0.5, "oak", "elm")
        table = pa.table({"width": width, "color": color.tolist(), "kind": kind.tolist()})
        pyarrow.csv.write_csv(table, path / f"{name}.csv")
    fit = make_run(path)("fit", "old.csv", "-t", "kind", "-e", "tree", "--set", "max_depth=3", "--no-report")
    assert fit.returncode == 0, fit.stderr
    return path


def test_drift_and_scores(folder: Path) -> None:
    run = make_run(folder)
    done = run("report", "old.committee", "new.csv")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "Columns that have drifted" in done.stdout
    assert any(line.startswith("width") and "large" in line for line in done.stdout.splitlines())
    assert "accuracy" in done.stdout
    assert "Report written to new.report.html (" in done.stdout
    assert "width" in (folder / "new.report.html").read_text(encoding="utf-8")
    assert "Report written to new-2.report.html" in run("report", "old.committee", "new.csv").stdout


def test_json(folder: Path) -> None:
    done = make_run(folder)("report", "old.committee", "same.csv", "-t", "kind", "--json", "-o", "same.html")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"] == 200
    assert found["target"] == "kind"
    assert found["report"] == "same.html"
    assert found["training"] == {"table": "old.csv", "rows": 200, "target": "kind"}
    assert {one["column"]: one["drift"] for one in found["drift"]} == {"width": "none", "color": "none"}
    assert found["scores"]["accuracy"]["model"]["mean"] > found["scores"]["accuracy"]["naive"]["mean"]


@pytest.mark.parametrize(
    ("arguments", "code", "fragment"),
    [
        (["none.committee", "new.csv"], 2, "no model file"),
        (["old.committee", "none.csv"], 2, "no file 'none.csv'"),
        (["old.committee", "new.csv", "-t", "kinds"], 2, "no column 'kinds'"),
        (["old.committee", "new.csv", "-o", "new.csv"], 2, "destroy"),
        (["old.committee", "new.csv", "-o", "old.committee"], 2, "destroy"),
        (["old.committee", "new.csv", "-o", "none/p.html"], 2, "no folder"),
        (["old.committee", "iris"], 1, "which the model was fitted on"),
        (["old.committee", "new.csv", "--metric", "acuracy", "-t", "kind"], 2, "Did you mean"),
        (["old.csv", "new.csv"], 1, "model file"),
    ],
)
def test_errors(folder: Path, arguments: list[str], code: int, fragment: str) -> None:
    before = sorted(path.name for path in folder.iterdir())
    done = make_run(folder)("report", *arguments)
    assert done.returncode == code, done.stderr
    assert fragment in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_model_of_python_has_no_summary(run: Run, tmp_path: Path) -> None:
    import committee

    frame = pa.table({"a": np.arange(50.0), "b": np.arange(50.0) % 7})
    committee.save(committee.DecisionTreeRegressor(max_depth=2).fit(frame, np.arange(50.0)), tmp_path / "m.committee")
    pyarrow.csv.write_csv(frame, tmp_path / "t.csv")
    done = run("report", "m.committee", "t.csv")
    assert done.returncode == 0, done.stderr
    assert "Columns that have drifted" not in done.stdout
