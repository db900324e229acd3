"""What `committee fit` writes, where, and that it writes over nothing that was not named."""

import json
import os
from pathlib import Path

import pytest

from committee.cli.errors import CommandError
from committee.cli.fit_places import FitPlaces, OutputOptions, choose_places
from tests.cli.conftest import Run

ROWS = "a,y\n" + "".join(f"{i},{'no' if i < 20 else 'yes'}\n" for i in range(40))
QUICK = ("-e", "stump", "--folds", 2)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "houses.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def list_new(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.name != "houses.csv")


def choose(table: str | None = "houses.csv", **given: str | bool) -> FitPlaces:
    return choose_places(table, None, OutputOptions(**given))  # type: ignore[arg-type]


def write_both(places: FitPlaces) -> list[str | None]:
    def write(path: Path) -> int:
        return path.write_text("new")

    return [None if file is None else file.path.as_posix() for file in places.write(write, write)]


def test_the_model_and_the_report_are_kept(run: Run, folder: Path) -> None:
    done = run("fit", "houses.csv", "-t", "y", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "Model written to houses.committee (" in done.stdout
    assert "Report written to houses.report.html (" in done.stdout
    assert "Try next" not in done.stdout
    first = (folder / "houses.committee").read_bytes()
    found = json.loads(run("fit", "houses.csv", "-t", "y", *QUICK, "--json").stdout)
    assert (found["model"], found["report"]) == ("houses-2.committee", "houses-2.report.html")
    assert (folder / "houses.committee").read_bytes() == first
    assert list_new(folder) == [
        f"houses{number}.{ending}" for number in ("-2", "") for ending in ("committee", "report.html")
    ]
    done = run("predict", "houses-2.committee", "houses.csv")
    assert done.stdout.splitlines()[1:] == ['"no"'] * 20 + ['"yes"'] * 20


def test_the_demonstration_names_its_folder_and_what_to_try(run: Run, tmp_path: Path) -> None:
    done = run("fit", *QUICK)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "Model written to committee-demo/breast_cancer.committee (" in done.stdout
    assert "Report written to committee-demo/breast_cancer.report.html (" in done.stdout
    assert list_new(tmp_path) == [
        "committee-demo",
        "committee-demo/breast_cancer.committee",
        "committee-demo/breast_cancer.report.html",
    ]
    commands = [line.split()[1:] for line in done.stdout.split("Try next:")[1].splitlines() if line.strip()]
    assert len(commands) == 3
    assert "committee-demo-2/breast_cancer.committee" in run("fit", *QUICK).stdout
    for command in commands:
        tried = run(*command)
        assert tried.returncode == 0, tried.stderr
        assert tried.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--no-save"], []),
        (["--no-save", "--no-report"], []),
        (["--no-save", "--report", "p.html"], ["p.html"]),
        (["--no-report"], ["houses.committee"]),
        (["--report", "p.html"], ["houses.committee", "p.html"]),
        (["-o", "m.committee"], ["m.committee", "m.report.html"]),
        (["-o", "m.committee", "--no-report"], ["m.committee"]),
        (["-o", "m.committee", "--report", "p.html"], ["m.committee", "p.html"]),
    ],
    ids=lambda value: "_".join(value) or "nothing",
)
def test_every_combination(run: Run, folder: Path, arguments: list[str], expected: list[str]) -> None:
    done = run("fit", "houses.csv", "-t", "y", *QUICK, *arguments)
    assert done.returncode == 0, done.stderr
    assert list_new(folder) == expected
    for name in expected:
        assert f"written to {name} (" in done.stdout


@pytest.mark.parametrize("arguments", [["--no-save", "-o", "m"], ["--no-report", "--report", "p.html"]], ids=" ".join)
def test_contradictions(run: Run, folder: Path, arguments: list[str]) -> None:
    done = run("fit", "houses.csv", "-t", "y", *QUICK, *arguments)
    assert done.returncode == 2
    assert "contradict" in done.stderr
    assert list_new(folder) == []


def test_a_file_of_options_is_not_replaced_by_the_report(run: Run, folder: Path) -> None:
    settings = 'table = "houses.csv"\ntarget = "y"\nestimator = "stump"\nfolds = 2\n'
    (folder / "m.report.html").write_text(settings)
    for number in (2, 3):  # the second call replaces the model, but not its own settings
        done = run("fit", "--config", "m.report.html", "-o", "m.committee")
        assert done.returncode == 0, done.stderr
        assert (folder / "m.report.html").read_text() == settings
        assert f"Report written to m-{number}.report.html" in done.stdout


def test_a_model_that_is_replaced_takes_its_report_with_it(folder: Path) -> None:
    (folder / "m.report.html").write_text("mine")
    assert write_both(choose(output="m.committee")) == ["m.committee", "m-2.report.html"]
    assert (folder / "m.report.html").read_text() == "mine"
    (folder / "n.committee").write_text("old")
    (folder / "n.report.html").write_text("old")
    assert write_both(choose(output="n.committee")) == ["n.committee", "n.report.html"]


@pytest.mark.parametrize("taken", ["houses.committee", "houses.report.html"])
def test_both_files_get_the_same_number(folder: Path, taken: str) -> None:
    (folder / taken).symlink_to("nowhere")
    assert write_both(choose()) == ["houses-2.committee", "houses-2.report.html"]
    assert os.readlink(folder / taken) == "nowhere"


def test_a_name_that_is_taken_during_the_fit(folder: Path) -> None:
    places, demonstration = choose(), choose(None)
    (folder / "houses.committee").write_text("another process")
    (folder / "committee-demo").mkdir()
    assert write_both(places) == ["houses-2.committee", "houses.report.html"]
    assert (folder / "houses.committee").read_text() == "another process"
    assert write_both(demonstration)[0] == "committee-demo-2/breast_cancer.committee"


def test_a_failure_leaves_nothing_behind(folder: Path) -> None:
    def fail(path: Path) -> int:
        raise CommandError("The disk is full.", "")

    for table in ("houses.csv", None):
        with pytest.raises(CommandError, match="full"):
            choose(table).write(fail, fail)
    assert list_new(folder) == []


@pytest.mark.parametrize(
    ("table", "model"),
    [
        ("a.b.csv.gz", "a.b.committee"),
        ("../data/x.parquet", "x.committee"),
        ("wine", "wine.committee"),
        ("é" * 120 + ".csv", "é" * 85 + ".committee"),
    ],
)
def test_the_name_of_the_table(folder: Path, table: str, model: str) -> None:
    places = choose(table)
    assert places.model is not None
    assert str(places.model.path) == model


def test_a_folder_without_write_permission(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(CommandError, match="Nothing can be written in the folder") as caught:
        choose()
    assert caught.value.code == 2
    assert choose(no_save=True) == FitPlaces()
