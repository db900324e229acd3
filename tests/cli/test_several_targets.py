"""Several targets in the command: one model, scores and report of each target."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import committee
from committee.cli.metrics import choose_metrics
from committee.cli.model_setup import ModelSetup
from committee.cli.plan import Plan
from committee.cli.problem import Roles
from committee.cli.several_targets import define_problems
from committee.cli.table import read_source
from committee.cli.tuning import MeanOfTargets
from committee.inspection import OneTarget, permutation_importance, shap_values
from tests.cli.conftest import make_run
from tests.cli.test_report import read_page

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
    frame.to_parquet(path / "flats.parquet")
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
    page = read_page(folder / "classes.report.html")
    assert {"score-t1", "score-t2", "model-t1", "model-t2", "data", "card"} <= {a.get("id") for _, a in page.tags}


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


CASES = [
    ("kind,old", "price,rent", "gradient-boosting"),
    ("kind,old", "price,rent", "adaboost"),
    ("price,rent", "kind,old", "random-forest"),
    ("price,rent", "kind,old", "tree"),
]


@pytest.fixture(scope="module")
def estimators(folder: Path) -> Path:
    """Models of several targets of named estimators, with their reports."""
    for targets, dropped, name in CASES:
        left_out = [part for column in dropped.split(",") for part in ("--drop", column)]
        size = [] if name == "tree" else ["--set", "n_estimators=8"]
        options = [*left_out, "--folds", "3", *size, "-o", f"{name}.committee"]
        done = make_run(folder)("fit", "flats.csv", "-t", targets, "-e", name, *options)
        assert done.returncode == 0, done.stderr
        (folder / f"{name}.txt").write_text(done.stdout)
    return folder


@pytest.mark.parametrize(("targets", "dropped", "name"), CASES)
def test_a_named_estimator_is_fitted_to_all(estimators: Path, targets: str, dropped: str, name: str) -> None:
    said, names = (estimators / f"{name}.txt").read_text(), targets.split(",")
    assert all(f"Target {target}" in said for target in names)
    assert "All targets:" in said
    frame, model = pd.read_csv(estimators / "flats.csv").dropna(), committee.load(estimators / f"{name}.committee")
    assert model.predict(frame[["width", "colour"]]).shape == (len(frame), 2)
    done = make_run(estimators)("verify", f"{name}.committee", "flats.csv")
    assert done.stdout.startswith("identical: "), done.stdout + done.stderr
    page = read_page(estimators / f"{name}.report.html")
    own = {"summary", "score", "curve", "importance", "dependence", "model"}
    ids = {attrs.get("id") for tag, attrs in page.tags if tag == "section"}
    assert {f"{key}-t{k}" for key in own for k in (1, 2)} | {"data", "repeat", "card"} <= ids
    for target in names:
        assert f"{target}: Score" in page.text
        assert f"Target: {target}" in page.text


def test_scores_are_those_of_folds_of_all_targets(estimators: Path) -> None:
    """By hand: the same folds, the model of both targets, the metric of one."""
    source, done = (
        read_source(str(estimators / "flats.csv"), "utf-8"),
        json.loads(
            make_run(estimators)(
                *("fit", "flats.csv", "-t", "kind,old", "-e", "random-forest", "--drop", "price", "--drop", "rent"),
                *("--set", "n_estimators=5", "--folds", "3", "--no-save", "--json"),
            ).stdout
        ),
    )
    problems = define_problems(source, Roles(drop=["price", "rent"]), ["kind", "old"], "auto")
    setup = ModelSetup(problems[0], Plan("random-forest", {"n_estimators": 5}, 3, 0, None))
    frame, y = problems[0].features.to_pandas(), np.stack([problem.y.astype(object) for problem in problems], axis=1)
    found = []
    for train, test in setup.split_rows(np.arange(len(frame)), 3, 0):
        model = committee.RandomForestClassifier(5, random_state=0).fit(frame.iloc[train], y[train])
        found.append((model.predict(frame.iloc[test]) == y[test]).mean(axis=0))
    for k, page in enumerate(done["targets"]):
        assert page["scores"]["accuracy"]["model"]["mean"] == pytest.approx(np.mean(found, axis=0)[k])


def test_rare_combinations_of_labels_are_no_obstacle(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90), "a": rng.integers(0, 6, 90), "b": rng.integers(0, 6, 90)})
    frame.to_csv(tmp_path / "rare.csv", index=False)
    options = ("-e", "random-forest", "--set", "n_estimators=3", "--no-save", "--json")
    done = make_run(tmp_path)("fit", "rare.csv", "-t", "a,b", *options)
    assert done.returncode == 0, done.stderr


def test_explanations_of_each_target(estimators: Path) -> None:
    frame = pd.read_csv(estimators / "flats.csv").dropna()
    frame.to_csv(estimators / "known.csv", index=False)
    model, X = committee.load(estimators / "gradient-boosting.committee"), frame[["width", "colour"]]
    run = make_run(estimators)
    options = ("-t", "kind,old", "--repeats", "2", "--json", "-o", "effects.csv")
    done = run("explain", "gradient-boosting.committee", "known.csv", *options)
    assert done.returncode == 0, done.stderr
    written = pd.read_csv(estimators / "effects.csv")
    assert list(written)[:5] == ["prediction_kind", "prediction_old", "base_value_kind", *list(written)[3:5]]
    for k, page in enumerate(json.loads(done.stdout)["targets"]):
        view, target = OneTarget(model, k), ("kind", "old")[k]
        assert page["target"] == target
        order = np.argsort(np.random.default_rng(0).random(len(X)), kind="stable")  # of the sample of rows
        y = frame[target].to_numpy()[order]
        own = permutation_importance(view, X.iloc[order], y, n_repeats=2, random_state=0)
        losses = {one["name"]: one["loss"] for one in page["features"]}
        assert losses == pytest.approx(dict(zip(own.feature_names, own.importances_mean, strict=True)))
        values = shap_values(view, X).values
        chosen = np.searchsorted(view.classes_, view.predict(X))
        values = (
            values * np.where(chosen == 1, 1, -1)[:, None] if values.ndim == 2 else values[range(len(X)), :, chosen]
        )
        np.testing.assert_allclose(written[[f"effect_width_{target}", f"effect_colour_{target}"]], values, atol=1e-9)
    done = run("explain", "gradient-boosting.committee", "known.csv")
    assert "target kind" in done.stdout
    assert "Add --target" in done.stdout
    done = run("predict", "random-forest.committee", "known.csv", "--explain", "1")
    head = done.stdout.splitlines()[0].replace('"', "").split(",")
    assert head[2:] == [f"{one}_{name}" for name in ("price", "rent") for one in ("base_value", "reason_1", "effect_1")]


@pytest.mark.parametrize("name", ["classes", "gradient-boosting", "random-forest"])
def test_reports_on_new_data(estimators: Path, name: str) -> None:
    done = make_run(estimators)("report", f"{name}.committee", "flats.csv", "-o", f"{name}-new.html", "--json")
    assert done.returncode == 0, done.stderr
    found, names = json.loads(done.stdout), ["price", "rent"] if name == "random-forest" else ["kind", "old"]
    parts = [found, *found["other_targets"]]
    assert [part["target"] for part in parts] == names
    frame, model = pd.read_csv(estimators / "flats.csv").dropna(), committee.load(estimators / f"{name}.committee")
    answers = model.predict(frame[["width", "colour"]])
    for k, part in enumerate(parts):
        assert part["training"]["target"] == names[k]
        assert len(part["drift"]) == 2
        if name != "random-forest":
            right = (answers[:, k] == frame[names[k]]).mean()
            rows = 1 if names[k] == "old" else 0  # the row without a kind has an age
            assert part["scores"]["accuracy"]["model"]["mean"] == pytest.approx(right, abs=rows / len(frame))
    page = read_page(estimators / f"{name}-new.html")
    ids = {attrs.get("id") for tag, attrs in page.tags if tag == "section"}
    assert {"summary-t1", "score-t1", "summary-t2", "score-t2", "drift"} <= ids
    one = make_run(estimators)("report", f"{name}.committee", "flats.csv", "-t", names[1], "-o", "one.html")
    assert one.returncode == 0, one.stderr
    assert f"predicts {names[1]}" in " ".join(one.stdout.split())
    assert f"predicts {names[0]}" not in " ".join(one.stdout.split())


@pytest.mark.parametrize("options", [(), ("-e", "random-forest", "--oob")])
def test_tuning_of_several_targets(folder: Path, options: tuple[str, ...]) -> None:
    left_out = ("--drop", "kind", "--drop", "old", "--no-report", "--folds", "3")
    limits = ("--candidates", "2", "--budget", "60", "-o", "tuned.committee", "--json")
    done = make_run(folder)("tune", "flats.csv", "-t", "price,rent", *options, *left_out, *limits)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [page["target"] for page in found["targets"]] == ["price", "rent"]
    assert len(found["tuning"]["candidates"]) == 2
    if not options:  # the mean over the targets, in the same folds, but on bins that all of them share
        means = [page["scores"]["root mean squared error"]["model"]["mean"] for page in found["targets"]]
        best = found["tuning"]["candidates"][found["tuning"]["winner"]]["score"]
        assert best == pytest.approx(np.mean(means), rel=0.05)
    assert make_run(folder)("verify", "tuned.committee", "flats.csv").stdout.startswith("identical: ")


def test_the_metric_of_several_targets_is_the_mean() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0])
    model = committee.RandomForestClassifier(3, random_state=0).fit(X[:40], y[:40])
    (accuracy, _) = choose_metrics(None, "classification")
    wanted = (model.predict(X) == y).mean()
    assert MeanOfTargets((accuracy, accuracy))(model, X, y) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fit", "flats.csv", "-t", "kind,price"), "The targets are of different tasks"),
        (("fit", "flats.csv", "-t", "price,price"), "is not a list of targets"),
        (("fit", "flats.csv", "-t", "price,nothing"), "has no column 'nothing'"),
        (("fit", "flats.csv", "-t", "price,rent", "--task", "distribution"), "are all classes or all numbers"),
        (("fit", "flats.csv", "-t", "price,rent", "-e", "explainable-boosting"), "takes one target"),
        (("fit", "flats.parquet", "-t", "price,rent", "--memory", "1K"), "read in blocks takes one target"),
        (("compare", "flats.csv", "-t", "price,rent"), "fit and tune take several targets"),
        (("explain", "numbers.committee", "flats.csv", "-t", "kind"), "'kind' is not a target of the model"),
        (("report", "numbers.committee", "flats.csv", "-t", "kind"), "Its targets are price, rent"),
    ],
)
def test_what_is_not_offered_says_so(folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = make_run(folder)(*arguments)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
