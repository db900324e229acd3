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
        (["00:01", None, "23:59:59.5"], [60.0, None, 86399.5]),
        (["00:00:00.000000001"], [1e-9]),
        (["24:00:00"], None),
        (["00:01", "1970-01-01"], None),
        (["0 days 00:01:00", None, "-1 days +23:59:58.5"], [60.0, None, -1.5]),
        (["1 day, 2:03:04", "2 days, 0:00:00.000001"], [93784.0, 172800.000001]),
        (["1 days 25:00:00"], None),
        (["3 days"], None),
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
    times = pa.chunked_array([pa.array([datetime.time(3, 4, 5), datetime.time(3, 4, 5, 500000)])])
    assert write_text_dates(times).to_pylist() == ["03:04:05", "03:04:05.500000"]


def test_times_and_durations_of_every_format(run: Run, tmp_path: Path) -> None:
    minutes = np.arange(80) * 15
    times = [datetime.time(int(m) // 60, int(m) % 60) for m in minutes]
    spans = [datetime.timedelta(days=1, minutes=int(m)) for m in minutes]
    kind = ["early" if k < 40 else "late" for k in range(80)]
    texts = {"time": [f"{t:%H:%M:%S}" for t in times], "span": [f"1 days {t:%H:%M:%S}" for t in times], "kind": kind}
    pyarrow.csv.write_csv(pa.table(texts), tmp_path / "text.csv")
    pyarrow.parquet.write_table(pa.table(texts), tmp_path / "text.parquet")
    pyarrow.parquet.write_table(pa.table({"time": times, "span": spans, "kind": kind}), tmp_path / "typed.parquet")
    for fitted, dropped in (("text.csv", "span"), ("text.parquet", "time")):
        done = run("fit", fitted, "-t", "kind", "-e", "stump", "--folds", 2, "--no-report", "--drop", dropped)
        assert done.returncode == 0, done.stderr
        for name in {"text.csv", "text.parquet", "typed.parquet"} - {fitted}:
            done = run("predict", "text.committee", name)
            assert done.returncode == 0, done.stderr
            assert done.stdout.splitlines()[1:] == ['"early"'] * 40 + ['"late"'] * 40, name
        (tmp_path / "text.committee").unlink()


def test_types_of_a_first_block_are_not_those_of_all(tmp_path: Path) -> None:
    """Dates that are missing at first, or days before dates with a time."""
    from committee.cli.model_rows import ModelRows
    from committee.cli.stream import open_stream

    stamps = np.datetime64("2020-01-01T00:00:00") + np.arange(50) * np.timedelta64(6, "h")
    table = pa.table({"day": stamps, "size": np.arange(50.0)})
    model = committee.DecisionTreeRegressor(random_state=0).fit(table, np.arange(50.0) ** 2)
    n_first = 400_000  # more than a block of text
    for early, size in (("", ""), ("2020-01-03", "7")):
        with (tmp_path / "long.csv").open("w") as file:
            file.write("day,size\n" + f"{early},{size}\n" * n_first + "2020-01-02 06:00:00,5.5\n")
        rows = ModelRows(model, open_stream(str(tmp_path / "long.csv"), "utf-8"))
        last = [table for _, table in rows.read()][-1]
        assert write_numbers(last.column("day")).to_pylist()[-1] == 1577944800.0
        assert last.column("size").to_pylist()[-1] == 5.5
