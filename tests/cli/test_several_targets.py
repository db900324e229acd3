"""Several targets in the command: one automatic committee, one model file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import committee
from tests.cli.conftest import make_run

FEW = ("--set", "portfolio=['linear','extra trees']")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with two targets of classes and two of numbers, and a model of each pair."""
    path, rng = tmp_path_factory.mktemp("several"), np.random.default_rng(0)
    width, colour = rng.normal(size=120).round(3), rng.choice(["red", "blue", "grey"], size=120)
    kind = np.where(width + (colour == "red") > 0.5, "oak", "elm").astype(object)
    kind[7] = None
    frame = pd.DataFrame({"width": width, "colour": colour, "kind": kind, "old": rng.integers(0, 2, 120)})
    frame = frame.assign(price=(3 * width + rng.normal(size=120)).round(3), rent=width**2)
    frame.to_csv(path / "flats.csv", index=False)
    for target, drop, out in (("kind,old", "price,rent", "classes"), ("price, rent", "kind,old", "numbers")):
        left_out = [part for name in drop.split(",") for part in ("--drop", name)]
        made = make_run(path)("fit", "flats.csv", "-t", target, *left_out, *FEW, "-o", f"{out}.committee")
        assert made.returncode == 0, made.stderr
        (path / f"{out}.txt").write_text(made.stdout)
    return path


def test_scores_are_of_each_target(folder: Path) -> None:
    said = (folder / "classes.txt").read_text()
    assert "Target kind" in said
    assert "Target old" in said
    assert said.count("The committee on rows not seen in training") == 2
    assert "1 of 120 rows were left out: their target is missing." in " ".join(said.split())
    assert "There is no report of several targets" in said
    assert not list(folder.glob("*.html"))


def test_predictions_are_named_by_target(folder: Path) -> None:
    frame = pd.read_csv(folder / "flats.csv")
    for name, options in (("classes", ["-p"]), ("numbers", ["--interval", "0.8"])):
        done = make_run(folder)("predict", f"{name}.committee", "flats.csv", *options, "-o", f"{name}.csv")
        assert done.returncode == 0, done.stderr
        found, model = pd.read_csv(folder / f"{name}.csv"), committee.load(folder / f"{name}.committee")
        answers = model.predict(frame[["width", "colour"]])
        if name == "classes":
            assert list(found) == [
                *("prediction_kind", "prediction_old", "probability_kind_elm", "probability_kind_oak"),
                *("probability_old_0", "probability_old_1"),
            ]
            assert found["prediction_kind"].tolist() == answers[:, 0].tolist()
        else:
            assert list(found)[:2] == ["prediction_price", "prediction_rent"]
            assert set(list(found)[2:]) == {"lower_price", "upper_price", "lower_rent", "upper_rent"}
            np.testing.assert_allclose(found[["prediction_price", "prediction_rent"]], answers)


def test_it_is_the_model_of_python_and_verifies(folder: Path) -> None:
    for name in ("classes", "numbers"):
        done = make_run(folder)("verify", f"{name}.committee", "flats.csv")
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith("identical: ")
    done = make_run(folder)("inspect", "classes.committee", "--json")
    found = json.loads(done.stdout)
    assert found["classes"] == ["0: elm", "0: oak", "1: 0", "1: 1"]
    assert {row["name"].partition(":")[0] for row in found["members"]} == {"0", "1"}


def test_one_document_for_all(folder: Path) -> None:
    done = make_run(folder)("fit", "flats.csv", "-t", "price,rent", *FEW, "--no-save", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["targets"]) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fit", "flats.csv", "-t", "kind,price"), "The targets are of different tasks"),
        (("fit", "flats.csv", "-t", "price,price"), "is not a list of targets"),
        (("fit", "flats.csv", "-t", "price,nothing"), "has no column 'nothing'"),
        (("fit", "flats.csv", "-t", "price,rent", "-e", "random-forest"), "--estimator random-forest is for one"),
        (("fit", "flats.csv", "-t", "price,rent", "--report", "r.html"), "There is no report of several targets"),
        (("fit", "flats.csv", "-t", "price,rent", "--task", "distribution"), "are all classes or all numbers"),
        (("compare", "flats.csv", "-t", "price,rent"), "only committee fit takes several targets"),
        (("explain", "numbers.committee", "flats.csv"), "committee explain is for models of one target"),
        (("report", "numbers.committee", "flats.csv"), "committee report is for models of one target"),
        (("predict", "numbers.committee", "flats.csv", "--explain", "1"), "predict --explain is for models of one"),
    ],
)
def test_what_is_not_offered_says_so(folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = make_run(folder)(*arguments)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
