"""Dates, times of day and durations reach the estimator as what they are, in every part of the command."""

import datetime
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import committee
from committee.cli import stream
from committee.cli.explain import explain_rows
from committee.cli.model_rows import ModelRows
from committee.cli.problem import Roles, define_problem, write_numbers
from committee.cli.table import Source
from tests.cli.conftest import Run, make_run

N_ROWS = 400
FOREST = ("-e", "random-forest", "--set", "n_estimators=10", "--folds", 2)


def make_table(first: str = "2021-03-01") -> pa.Table:
    """Only the weekday and the hour of a moment decide; the moments are in random order."""
    rng = np.random.default_rng(0)
    hours = rng.choice(np.arange(24 * 365), N_ROWS, replace=False)
    moment = np.datetime64(first, "h") + hours
    weekday = (moment.astype("M8[D]").astype(np.int64) + 3) % 7
    is_open = (weekday < 5) & (moment.astype(np.int64) % 24 >= 6)
    state = np.where(is_open, "open", "closed")
    return pa.table({"size": rng.normal(size=N_ROWS), "moment": pa.array(moment.astype("M8[us]")), "state": state})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same table in two formats, and a model of each."""
    path = tmp_path_factory.mktemp("dates")
    pyarrow.csv.write_csv(make_table(), path / "text.csv")
    pyarrow.parquet.write_table(make_table(), path / "typed.parquet")
    for name in ("text.csv", "typed.parquet"):
        done = make_run(path)("fit", name, "-t", "state", *FOREST, "--json", "-o", f"{name}.committee")
        assert done.returncode == 0, done.stderr
        (path / f"{name}.json").write_text(done.stdout, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["text.csv", "typed.parquet"])
def test_weekday_and_hour_are_learnt(folder: Path, name: str) -> None:
    found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    assert found["scores"]["accuracy"]["model"]["mean"] > 0.95
    assert next(iter(found["importances"])) == "moment"
    model = committee.load(folder / f"{name}.committee")
    assert model._schema.inputs.of_column(1)[0] == "date"
    assert {"weekday", "hour"} < set(model._schema.inputs.of_column(1)[1])


def test_both_formats_give_one_model(folder: Path) -> None:
    outputs = set()
    for fitted in ("text.csv", "typed.parquet"):
        for name in ("text.csv", "typed.parquet"):
            done = make_run(folder)("predict", f"{fitted}.committee", name, "-p")
            assert done.returncode == 0, done.stderr
            outputs.add(done.stdout)
    assert len(outputs) == 1
    states = [line.split(",")[0].strip('"') for line in outputs.pop().splitlines()[1:]]
    assert np.mean(np.array(states) == make_table()["state"].to_numpy()) > 0.97


@pytest.mark.parametrize("name", ["text.csv", "typed.parquet"])
def test_the_report_has_an_axis_of_dates(folder: Path, name: str) -> None:
    page = (folder / f"{name}.report.html").read_text(encoding="utf-8")
    assert "Partial dependence on moment." in page
    assert ">2021-07</text>" in page
    assert "2021-03-0" in page  # the range of the column
    assert "seconds)" not in page


@pytest.mark.parametrize("fitted", ["text.csv", "typed.parquet"])
def test_new_dates_in_a_report(folder: Path, fitted: str) -> None:
    pyarrow.parquet.write_table(make_table("2024-01-01"), folder / "later.parquet")
    run = make_run(folder)
    done = run("report", f"{fitted}.committee", "later.parquet", "--json", "-o", f"later-{fitted}.html")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    drift = next(one for one in found["drift"] if one["column"] == "moment")
    assert (drift["type"], drift["drift"]) == ("date", "large")
    assert any("outside 2021-03-0" in remark for remark in drift["remarks"])
    assert found["scores"]["accuracy"]["model"]["mean"] > 0.95
    page = (folder / f"later-{fitted}.html").read_text(encoding="utf-8")
    assert ">2022</text>" in page or ">2022-01</text>" in page
    assert "with the lowest probability of the true class" in page
    assert ">2024-" in page  # a value of a row with a large error


def test_compare_learns_weekdays(folder: Path) -> None:
    few = ("--folds", 2, "--repeats", 1)
    done = make_run(folder)("compare", "text.csv", "-t", "state", "-e", "tree", "-e", "stump", *few, "--json")
    assert done.returncode == 0, done.stderr
    tree = json.loads(done.stdout)["results"][0]
    assert tree["mean"] > 0.95


def test_explanations_are_of_the_column(folder: Path) -> None:
    done = make_run(folder)("explain", "text.csv.committee", "typed.parquet", "-t", "state", "--json")
    assert done.returncode == 0, done.stderr
    features = {one["name"]: one for one in json.loads(done.stdout)["features"]}
    assert set(features) == {"size", "moment"}
    assert features["moment"]["loss"] > 0.2 > abs(features["size"]["loss"])
    assert features["moment"]["shap"] > 0.2


def test_times_and_durations(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    minute, length = rng.integers(0, 24 * 60, 120), rng.integers(0, 3600, 120)
    table = pa.table(
        {
            "at": pa.array([datetime.time(m // 60, m % 60) for m in minute.tolist()], pa.time32("s")),
            "long": pa.array(length, pa.duration("s")),
            "when": pa.array(minute * 7919, pa.timestamp("s", "UTC")),
            "y": np.where(minute > 700, 1.5, 0.0) + np.where(length > 1000, 3.0, 0.0),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    done = run("fit", "t.parquet", "-t", "y", "-e", "tree", "--folds", 2, "--json", "-o", "m.committee")
    assert done.returncode == 0, done.stderr
    assert {one["type"] for one in json.loads(done.stdout)["features"]} == {"date"}
    columns = json.loads(run("inspect", "m.committee", "--json").stdout)["columns"]
    assert columns == {"at": "times of day", "long": "durations", "when": "dates with a time zone"}
    assert "long (seconds)" in (tmp_path / "m.report.html").read_text(encoding="utf-8")
    predicted = run("predict", "m.committee", "t.parquet").stdout.split()[1:]
    assert np.corrcoef(np.array(predicted, dtype=float), table["y"].to_numpy())[0, 1] > 0.9


def test_a_model_of_seconds_gets_seconds(run: Run, tmp_path: Path, folder: Path) -> None:
    table = make_table()
    seconds = write_numbers(table["moment"])
    late = np.where(seconds.to_numpy() > 1.63e9, "late", "early")
    rows = pa.table({"size": table["size"], "moment": seconds})
    model = committee.DecisionTreeClassifier(random_state=0).fit(rows, late)
    committee.save(model, tmp_path / "old.committee")
    for name in ("text.csv", "typed.parquet"):
        done = run("predict", "old.committee", folder / name)
        assert done.returncode == 0, done.stderr
        assert done.stdout.replace('"', "").split()[1:] == late.tolist()
        assert run("explain", "old.committee", folder / name).returncode == 0
        assert run("report", "old.committee", folder / name, "-t", "state", "-o", "r.html").returncode == 0


@pytest.mark.parametrize(
    ("column", "held"),
    [
        (pa.array([0, 1], pa.timestamp("s", "UTC")), "dates with a time zone"),
        (pa.array([1.0, 2.0]), "numbers"),
        (pa.array([0, 1], pa.duration("s")), "durations"),
    ],
)
def test_another_kind_is_refused(folder: Path, tmp_path: Path, column: pa.Array, held: str) -> None:
    pyarrow.parquet.write_table(pa.table({"size": [0.0, 1.0], "moment": column}), tmp_path / "new.parquet")
    done = make_run(folder)("predict", "text.csv.committee", tmp_path / "new.parquet")
    assert done.returncode == 1
    assert f"column 'moment' held dates without a time zone at fit and holds {held} now" in " ".join(
        done.stderr.split()
    )


def test_chunks_of_text_dates_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk may hold dates of another precision, or none at all."""
    table = make_table().slice(0, 90)
    y = np.arange(90.0)
    model = committee.CommitteeRegressor(portfolio=["linear"], random_state=0).fit(table.drop_columns("state"), y)
    texts = [str(one).replace("T", " ") for one in table["moment"].to_numpy()]
    texts[30:60] = [f"{one[:19]}.000000001" for one in texts[30:60]]
    texts[60:] = [None] * 30
    pyarrow.parquet.write_table(pa.table({"size": table["size"], "moment": texts}), tmp_path / "t.parquet")
    monkeypatch.setattr(stream, "MOST_ROWS", 30)
    found = list(explain_rows(ModelRows(model, stream.open_stream(str(tmp_path / "t.parquet"), "utf-8"))))
    assert [part.num_rows for part in found] == [30, 30, 30]
    together = pa.concat_tables(found)
    total = sum(together[name].to_numpy() for name in ("base_value", "effect_size", "effect_moment"))
    np.testing.assert_allclose(total, together["prediction"].to_numpy(), rtol=1e-9, atol=1e-9)


def test_the_features_of_a_problem_keep_their_types() -> None:
    table = make_table()
    problem = define_problem(Source("t", table), Roles("state"), "auto")
    assert problem.features.schema.field("moment").type == pa.timestamp("us")
    assert problem.columns[1].kind == "date"
    assert problem.columns[1].is_calendar
    assert problem.columns[1].n_distinct == N_ROWS
