"""Text tables with and without a line of column names."""

from pathlib import Path

import pytest

from committee.cli.errors import CommandError
from committee.cli.table import read_source
from tests.cli.conftest import Run

IRIS = "".join(f"{5 + k % 7 / 10},{3 + k % 5 / 10},{'setosa' if k % 7 < 4 else 'virginica'}\n" for k in range(60))
# First lines and the line that is repeated below them.
DATA = {
    "fractions": ("5.1,3.5,1.4\n", "4.9,3.0,1.3\n"),
    "fractions and a class": ("5.1,3.5,setosa\n", "4.9,3.0,setosa\n"),
    "decimal commas": ("5,1;3,5;a\n", "4,9;3,0;b\n"),
    "decimal commas only": ("5,1;3,5\n", "4,9;3,0\n"),
    "whole numbers and a class": ("3,1,male\n", "1,0,male\n"),
    "pixels": ("5,0,0,0,12,0\n", "4,0,0,0,0,9\n"),
    "two numbers": ("7,1\n", "3,0\n"),
    "letters": ("p,x,s\n", "p,x,s\n"),
    "a date": ("2020-01-01,5\n", "2020-01-02,6\n"),
    "a missing value": ("?,3.5,b\n", "4.9,3.0,b\n"),
    "quoted text": ('1,"Braund, Mr.",male,22\n', '2,"Cumings, Mrs.",male,38\n'),
    "negative": ("-1,2,a\n", "3,4,b\n"),
}
NAMES = {
    "words": ("a,b,c\n", "1,2,3\n"),
    "words over text": ("name,city\n", "anna,rome\n"),
    "years": ("country,2019,2020\n", "fr,1.5,2.5\n"),
    "years only": ("2019,2020,2021\n", "1,2,3\n"),
    "counted from 0": ("0,1,2,3\n", "5,7,2,1\n"),
    "counted from 1": ("1,2\n", "5,7\n"),
    "an index": (",0,1\n", "0,5,7\n"),
    "an index and a name": (",x,1\n", "0,5,7\n"),
    "wavelengths": ("400.5,401,401.5,402,402.5,403\n", "1,2,3,4,5,6\n"),
    "months": ("item,2020-01-01,2020-02-01\n", "a,3,4\n"),
    "one word among numbers": ("id,2019,2020.5\n", "1,2,3\n"),
    "a single column": ("x\n", "y\n"),
    "one word that is a value": ("a,city\n", "a,rome\n"),
}


def write(folder: Path, first: str, second: str) -> str:
    path = folder / "t.csv"
    path.write_text(first + second * 20)
    return str(path)


@pytest.mark.parametrize("name", DATA)
def test_a_first_line_of_data_is_noticed(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, *DATA[name])
    with pytest.raises(CommandError, match="looks like data and not like column names") as caught:
        read_source(path, "utf-8")
    assert caught.value.code == 2
    assert "--no-header" in caught.value.hint
    table = read_source(path, "utf-8", header=False).table
    assert table.num_rows == 21
    assert table.column_names == [f"column{k + 1}" for k in range(table.num_columns)]


@pytest.mark.parametrize("name", NAMES)
def test_column_names_of_every_kind_are_names(tmp_path: Path, name: str) -> None:
    first, second = NAMES[name]
    path = write(tmp_path, first, second)
    for header in (None, True):
        table = read_source(path, "utf-8", header).table
        assert table.column_names == first.strip().split(",")
        assert table.num_rows == 20


def test_fit_and_predict_without_column_names(run: Run, tmp_path: Path) -> None:
    (tmp_path / "iris.csv").write_text(IRIS)
    done = run("fit", "iris.csv", "-t", "column3", "-e", "tree")
    assert done.returncode == 2
    assert "The first line of 'iris.csv' looks like data" in done.stderr
    assert len(done.stderr.splitlines()) == 2
    call = ("iris.csv", "-t", "column3", "-e", "tree", "--no-header", "--no-report")
    done = run("fit", *call)
    assert done.returncode == 0, done.stderr
    assert "60 rows, 2 features" in done.stdout
    done = run("predict", "iris.committee", "iris.csv")
    assert done.returncode == 2
    assert "--no-header" in done.stderr
    done = run("predict", "iris.committee", "iris.csv", "--no-header")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 61
    assert run("explain", "iris.committee", "iris.csv", "--no-header", "-t", "column3").returncode == 0
    assert run("compare", "iris.csv", "-t", "column3").returncode == 2


def test_a_model_that_knows_odd_names_finds_them(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("7,3,y\n" + "".join(f"{k % 9}.5,{k % 4},{k % 2}\n" for k in range(60)))
    (tmp_path / "u.csv").write_text("7,3\n" + "".join(f"{k % 9}.5,{k % 4}\n" for k in range(60)))
    done = run("fit", "t.csv", "-t", "y", "-e", "stump", "--no-report")
    assert done.returncode == 0, done.stderr
    done = run("predict", "t.committee", "u.csv")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("table", ["iris", "t.parquet"])
def test_other_tables_have_names(run: Run, tmp_path: Path, table: str) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    done = run("fit", table, "--no-header")
    assert done.returncode == 2
    assert "--no-header is for text tables" in done.stderr


def test_the_option_in_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "iris.csv").write_text(IRIS)
    (tmp_path / "c.toml").write_text('table = "iris.csv"\ntarget = "column3"\nheader = false\nestimator = "tree"\n')
    done = run("fit", "--config", "c.toml", "--no-save", "--report", "p.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "p.html").read_text()
    assert "--no-header" in page
    assert "header = false" in page
