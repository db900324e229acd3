"""Dates as types and as text: a model that was fitted to one format predicts from every other."""

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import committee
from committee.cli.problem import Roles, define_problem, write_numbers
from committee.cli.table import Source, read_source
from committee.cli.text_dates import read_text_dates, write_text_dates
from tests.cli.conftest import Run

DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=3 * k) for k in range(80)]


def make_tables() -> dict[str, pa.Table]:
    day = pa.array(DAYS)
    texts = pa.array([one.isoformat() for one in DAYS])
    kind = pa.array(["early" if k < 40 else "late" for k in range(80)])
    columns = {
        "typed.parquet": day,
        "stamped.parquet": day.cast(pa.timestamp("ns")),
        "text.parquet": texts,
        "levels.parquet": texts.dictionary_encode(),
        "text.csv": texts,
    }
    return {name: pa.table({"day": column, "kind": kind}) for name, column in columns.items()}


def write_tables(folder: Path) -> list[str]:
    tables = make_tables()
    for name, table in tables.items():
        if name.endswith(".csv"):
            pyarrow.csv.write_csv(table, folder / name)
        else:
            pyarrow.parquet.write_table(table, folder / name)
    return list(tables)


@pytest.mark.parametrize("fitted", ["text.csv", "typed.parquet", "text.parquet"])
def test_every_format_is_read_by_a_model_of_another(run: Run, tmp_path: Path, fitted: str) -> None:
    names = write_tables(tmp_path)
    done = run("fit", fitted, "-t", "kind", "-e", "stump", "--folds", 2, "--no-report", "-o", "m.committee")
    assert done.returncode == 0, done.stderr
    for name in names:
        done = run("predict", "m.committee", name)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[1:] == ['"early"'] * 40 + ['"late"'] * 40, name


def test_every_format_gives_the_same_dates(tmp_path: Path) -> None:
    write_tables(tmp_path)
    roles = Roles("kind")
    problems = [define_problem(read_source(str(tmp_path / name), "utf-8"), roles, "auto") for name in make_tables()]
    for problem in problems:
        assert problem.columns == problems[0].columns
        assert problem.columns[0].kind == "date"
        seconds = [write_numbers(one.features.column("day")).to_pylist() for one in (problem, problems[0])]
        assert seconds[0] == seconds[1]


def test_a_model_of_text_reads_dates(run: Run, tmp_path: Path) -> None:
    names = write_tables(tmp_path)
    frame = make_tables()["text.parquet"]
    often = pa.concat_tables([frame] * 20)  # categories of few rows are grouped
    model = committee.DecisionTreeClassifier(random_state=0).fit(often.select(["day"]), often["kind"].to_pylist())
    expected = [f'"{label}"' for label in model.predict(frame.select(["day"]))]
    assert len(set(expected)) == 2
    committee.save(model, tmp_path / "m.committee")
    for name in names:
        done = run("predict", "m.committee", name)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[1:] == expected, name


def test_other_text_is_still_refused(run: Run, tmp_path: Path) -> None:
    write_tables(tmp_path)
    run("fit", "text.csv", "-t", "kind", "-e", "stump", "--folds", 2, "--no-report", "-o", "m.committee")
    pyarrow.parquet.write_table(pa.table({"day": ["2020-01-01", "soon"]}), tmp_path / "new.parquet")
    done = run("predict", "m.committee", "new.parquet", "-o", "out.csv")
    assert done.returncode == 1
    assert "Column 'day' held dates without a time zone at fit and is text in 'new.parquet'" in done.stderr
    assert not (tmp_path / "out.csv").exists()
    pyarrow.parquet.write_table(pa.table({"day": pa.array([None, None], pa.string())}), tmp_path / "none.parquet")
    assert run("predict", "m.committee", "none.parquet").returncode == 0


@pytest.mark.parametrize(
    ("texts", "seconds"),
    [
        (["1970-01-02", None], [86400.0, None]),
        (["1970-01-01 00:01", "1970-01-01T00:00:01.5"], [60.0, 1.5]),
        (["1970-01-01T01:00:00+01:00", "1970-01-01T00:00:02Z"], [0.0, 2.0]),
        (["1970-01-01 00:00:00.000000001"], [1e-9]),
        (["1970-01-01T00:00:00Z", "1970-01-01T00:00:00"], None),
        (["1970-02-30"], None),
        (["1970-01-01", "never"], None),
        (["19700101"], None),
        (["1.5"], None),
        ([None], None),
        ([], None),
    ],
)
def test_iso_dates(texts: list[str | None], seconds: list[float | None] | None) -> None:
    column = pa.chunked_array([pa.array(texts, pa.string())])
    found = read_text_dates(column)
    if seconds is None:
        assert found is None
    else:
        assert found is not None
        problem = define_problem(
            Source("t", pa.table({"a": [*texts, *texts], "y": np.arange(2 * len(texts)) * 0.5 + 1})), Roles("y"), "auto"
        )
        assert write_numbers(problem.features.column("a")).to_pylist()[: len(texts)] == seconds


def test_dates_become_text() -> None:
    stamps = pa.chunked_array([pa.array([datetime.datetime(2020, 1, 2, 3, 4, 5)])])
    assert write_text_dates(stamps).to_pylist() == ["2020-01-02 03:04:05"]
    assert write_text_dates(pa.chunked_array([pa.array(DAYS[:1], pa.date64())])).to_pylist() == ["2020-01-01"]
    assert write_text_dates(pa.chunked_array([[1.5]])).to_pylist() == [1.5]
