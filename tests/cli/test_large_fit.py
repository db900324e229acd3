"""`committee fit` on a table that does not fit in memory, and `committee bin`."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import committee
from committee.cli import large_fit
from committee.cli.errors import CommandError
from committee.cli.problem import Roles
from tests.cli.conftest import Run

N = 3000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=N), "place": rng.choice(["a", "b", "c"], N), "id": np.arange(N)})
    frame["weight"] = rng.integers(1, 3, N) * 1.0
    frame["price"] = frame["size"] * 2 + (frame["place"] == "b") + rng.normal(size=N) / 5
    frame["label"] = np.where(frame["price"] > 0, "high", "low")
    frame.loc[:9, ["price", "label"]] = None
    parts = tmp_path / "sales"
    parts.mkdir()
    frame[:1000].to_parquet(parts / "0.parquet")
    frame[1000:].to_parquet(parts / "1.parquet", row_group_size=500)
    monkeypatch.chdir(tmp_path)
    return parts


def test_a_folder_is_fitted_in_blocks(run: Run, folder: Path) -> None:
    done = run("fit", str(folder), "--target", "label", "--drop", "price", "--drop", "id", "--weights", "weight")
    assert done.returncode == 0, done.stderr
    assert "2,990 rows, 2 features, read in" in done.stdout
    assert "of memory," in done.stdout
    assert "of disk and" in done.stdout
    assert "boosting takes its place" in done.stdout
    model = committee.load("sales.committee")
    assert type(model).__name__ == "HistGradientBoostingClassifier"
    assert list(model.feature_names_in_) == ["size", "place"]


def test_the_result_is_there_for_programs(run: Run, folder: Path) -> None:
    arguments = ("-e", "random-forest", "--set", "n_estimators=20", "--drop", "label", "--json", "-o", "m.committee")
    done = run("fit", str(folder), "-t", "price", *arguments)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["estimator"] == "RandomForestRegressor"
    assert found["rows"] == N - 10
    assert found["scores"]["R²"] > 0.9
    assert found["estimate"]["disk"] > 0
    assert Path(found["output"]) == Path("m.committee")
    predicted = run("predict", "m.committee", str(folder / "0.parquet"))
    assert len(predicted.stdout.splitlines()) == 1001


def test_a_file_is_read_in_blocks_if_it_needs_more_than_is_granted(folder: Path) -> None:
    file = str(folder / "1.parquet")
    assert large_fit.is_too_large(file, "1KB")
    assert not large_fit.is_too_large(file, "1GB")
    assert not large_fit.is_too_large(file, None)
    assert not large_fit.is_too_large(None, "1KB")
    assert not large_fit.is_too_large("houses.csv", "1KB")


def test_a_limit_that_is_too_low_is_an_error(run: Run, folder: Path) -> None:
    done = run("fit", str(folder / "1.parquet"), "-t", "price", "--memory", "10KB")
    assert done.returncode != 0
    assert "the limit is" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (Roles(None, None, None, ()), "is to be predicted"),
        (Roles("price", "place", None, ()), "--groups needs the whole table"),
        (Roles("price", None, None, ("nothing",)), "no column 'nothing' to drop"),
    ],
)
def test_what_cannot_be_done_in_blocks_is_said(folder: Path, roles: Roles, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        large_fit.LargeTable.open(str(folder), roles, "auto")


def test_bins_are_kept_in_a_file(run: Run, folder: Path) -> None:
    known = folder.parent / "known.parquet"
    pd.read_parquet(folder).dropna().drop(columns=["label", "id"]).to_parquet(known, index=False)
    done = run("bin", str(known), "--target", "price", "--weights", "weight", "-o", "sales.bins")
    assert done.returncode == 0, done.stderr
    assert "Bins written to sales.bins" in done.stdout
    bins = committee.BinnedFile("sales.bins")
    model = committee.RandomForestRegressor(n_estimators=5, random_state=0).fit(bins, "price", sample_weight="weight")
    whole = committee.RandomForestRegressor(n_estimators=5, random_state=0)
    whole.fit(pd.read_parquet(known), "price", sample_weight="weight")
    rows = pd.read_parquet(known)[["size", "place"]]
    assert np.array_equal(model.predict(rows), whole.predict(rows))


def test_bins_need_a_table_in_blocks(run: Run, folder: Path) -> None:
    Path("t.csv").write_text("a,b\n1,2\n")
    done = run("bin", "t.csv", "--target", "b", "-o", "t.bins")
    assert done.returncode != 0
    assert "no Parquet or Arrow file" in done.stderr


def test_the_report_is_about_rows_held_out(run: Run, folder: Path) -> None:
    options = ("--set", "max_iter=5", "--drop", "price", "--drop", "id", "--json", "-o", "m.committee")
    done = run("fit", str(folder), "-t", "label", "-e", "hist-gradient-boosting", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert Path(found["report"]) == Path("m.report.html")
    page = Path("m.report.html").read_text(encoding="utf-8")
    assert "rows held out of sales" in page
    assert "HistGradientBoostingClassifier" in page
    bare = run("fit", str(folder), "-t", "label", "--drop", "id", "--no-report", "--json", "-o", "other.committee")
    assert json.loads(bare.stdout)["report"] is None
