"""Loaders of public tables: they read what is there, and say what they need otherwise."""

import builtins
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import committee
from committee.datasets import STORED, find_table_file, load_stored_table, load_table
from committee.exceptions import DataError, ParameterError

pa = pytest.importorskip("pyarrow")


def make_columns(n_rows: int = 208, n_features: int = 60) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {f"V{k}": rng.normal(size=n_rows) for k in range(n_features)} | {"target": ["R", "M"] * (n_rows // 2)}


def write(folder: Path, columns: dict[str, Any], name: str) -> None:
    from pyarrow import csv, feather, parquet

    writers = {".parquet": parquet.write_table, ".feather": feather.write_feather, ".csv": csv.write_csv}
    writers[Path(name).suffix](pa.table(columns), str(folder / name))


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv"])
def test_files_of_each_format(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, make_columns(), f"sonar.{ending}")
    table = load_stored_table("sonar", tmp_path)
    assert table.data.shape == (208, 60)
    assert table.target.tolist() == ["R", "M"] * 104
    assert committee.DecisionTreeClassifier().fit(table.data, table.target).score(table.data, table.target) == 1.0
    monkeypatch.setenv("COMMITTEE_DATA", str(tmp_path))
    assert load_stored_table("sonar").data.equals(table.data)


def test_a_missing_file_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMMITTEE_DATA", raising=False)
    with pytest.raises(DataError) as caught:
        load_stored_table("titanic")
    sentence = str(caught.value)
    for said in ("titanic.parquet", "'folder'", "COMMITTEE_DATA", "1,309 rows", "11 features", "boat, body", "target"):
        assert said in sentence
    with pytest.raises(DataError, match=r"needs the file adult.parquet .* in the folder .*, which has none. It holds"):
        find_table_file("adult", tmp_path)
    with pytest.raises(ParameterError, match=r"must be one of abalone, adult, .*; got 'census'"):
        load_stored_table("census")
    with pytest.raises(ParameterError, match=r"got 'adult'. Others are read from a folder, by load_stored_table"):
        load_table("adult")


def test_another_table_under_the_name_is_refused(tmp_path: Path) -> None:
    write(tmp_path, make_columns(n_rows=100), "sonar.parquet")
    with pytest.raises(DataError, match=r"holds 100 rows and 60 features; the table 'sonar' has 208 and 60"):
        load_stored_table("sonar", tmp_path)
    columns = make_columns()
    columns["class"] = columns.pop("target")
    write(tmp_path, columns, "sonar.parquet")
    with pytest.raises(DataError, match=r"sonar.parquet has no column 'target'"):
        load_stored_table("sonar", tmp_path)
    (tmp_path / "sonar.parquet").write_bytes(b"no table")
    with pytest.raises(DataError, match=r"sonar.parquet cannot be read as a table"):
        load_stored_table("sonar", tmp_path)


def test_the_package_that_is_needed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, make_columns(), "sonar.parquet")
    find = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return find(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"needs the package pyarrow for sonar.parquet; run pip install pyarrow"):
        load_stored_table("sonar", tmp_path)


@pytest.mark.parametrize("name", STORED)
def test_the_files_that_are_there_are_those_tables(name: str) -> None:
    folder = os.environ.get("COMMITTEE_DATA")
    if not folder:
        pytest.skip("COMMITTEE_DATA names no folder with data sets")
    if not (Path(folder) / f"{name}.parquet").is_file():
        pytest.skip(f"{name}.parquet is not in COMMITTEE_DATA")
    if name == "mnist":
        pytest.skip("it takes seconds to read")
    table = load_stored_table(name)
    known = STORED[name]
    assert table.data.shape == (known.n_rows, known.n_features)
    assert len(table.target) == known.n_rows
    assert (table.target.dtype.kind == "f") == (known.task == "regression")
