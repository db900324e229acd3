"""`committee fit --task rank | survival | ordinal | distribution`, and what the other commands do with such models."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import committee
from committee.cli.metrics import choose_metrics
from committee.cli.problem import Roles, define_problem
from committee.cli.table import Source
from committee.cli.task_metrics import NaiveDistribution
from tests.cli.conftest import Run

N_ROWS = 360
OPTIONS = {
    "rank": ("-t", "relevance", "--query", "search"),
    "survival": ("-t", "days", "--event", "died"),
    "ordinal": ("-t", "grade", "--levels", "low,mid,high"),
    "distribution": ("-t", "price", "--task", "distribution"),
}
CLASSES = {
    "rank": "GradientBoostingRanker",
    "survival": "GradientBoostingSurvivalAnalysis",
    "ordinal": "OrdinalGradientBoostingClassifier",
    "distribution": "DistributionalBoostingRegressor",
}
TARGETS = {
    "rank": ["search", "relevance"],
    "survival": ["days", "died"],
    "ordinal": ["grade"],
    "distribution": ["price"],
}
SMALL = ("--set", "n_estimators=15", "--folds", 3)


def make_task_table(seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    X, kind = rng.normal(size=(N_ROWS, 3)), rng.choice(["a", "b"], N_ROWS)
    level = X[:, 0] + 0.5 * X[:, 1] + (kind == "a")
    time, censored = rng.exponential(100.0 * np.exp(-level)), rng.exponential(150.0, N_ROWS)
    return pa.table(
        {
            **{f"x{k}": X[:, k] for k in range(3)},
            "kind": kind,
            "search": [f"q{k // 12}" for k in range(N_ROWS)],
            "relevance": np.clip(np.round(level + 1 + 0.5 * rng.normal(size=N_ROWS)), 0, 4).astype(int),
            "days": np.minimum(time, censored) + 0.01,
            "died": np.where(time <= censored, "yes", "no"),
            "grade": np.array(["low", "mid", "high"])[np.digitize(level + 0.5 * rng.logistic(size=N_ROWS), [0, 1])],
            "price": 3.0 * level + rng.normal(size=N_ROWS),
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for task, names in TARGETS.items():
        for name, seed in ((task, 0), (f"new_{task}", 1)):
            table = make_task_table(seed).select(["x0", "x1", "x2", "kind", *names])
            pyarrow.csv.write_csv(table, tmp_path / f"{name}.csv")
    return tmp_path


@pytest.mark.parametrize("task", list(OPTIONS))
def test_from_a_table_to_a_report_of_new_rows(run: Run, folder: Path, task: str) -> None:
    done = run("fit", f"{task}.csv", *OPTIONS[task], *SMALL, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["task"], found["estimator"]) == (task, CLASSES[task])
    first, sign = next(iter(found["scores"].values())), -1 if task == "distribution" else 1
    assert sign * first["difference"]["mean"] > 3 * first["difference"]["standard_error"] > 0
    assert [one["name"] for one in found["features"]] == ["x0", "x1", "x2", "kind"]
    page = (folder / f"{task}.report.html").read_text(encoding="utf-8")
    expected = {"rank": "Relevance by place", "survival": "Survival by predicted risk"}.get(task, "Largest errors")
    assert expected in page
    assert ("Largest errors" in page) == (task in ("ordinal", "distribution"))
    assert "on held-out rows by number of members" in page or task == "survival"

    verified = run("verify", f"{task}.committee", f"{task}.csv", "--json")
    assert verified.returncode == 0, verified.stdout
    assert json.loads(verified.stdout)["identical"]

    reported = run("report", f"{task}.committee", f"new_{task}.csv", "--json")
    assert reported.returncode == 0, reported.stderr
    scores = json.loads(reported.stdout)["scores"]
    assert scores, reported.stdout
    for one in scores.values():
        assert one["model"]["mean"] != one["naive"]["mean"]


def test_another_event_or_query_is_another_certificate(run: Run, folder: Path) -> None:
    for task, column in (("survival", "died"), ("rank", "search")):
        assert run("fit", f"{task}.csv", *OPTIONS[task], *SMALL, "--no-report").returncode == 0
        table = pyarrow.csv.read_csv(folder / f"{task}.csv")
        values = table.column(column).to_pylist()
        values[0] = {"yes": "no", "no": "yes"}.get(values[0], "q5")
        changed = table.set_column(table.column_names.index(column), column, [values])
        pyarrow.csv.write_csv(changed, folder / "changed.csv")
        verified = run("verify", f"{task}.committee", "changed.csv")
        assert verified.returncode == 1, verified.stdout


def test_predictions_of_each_task(run: Run, folder: Path) -> None:
    wanted = {
        "rank": (("--keep", "search"), ["search", "prediction"]),
        "survival": (("--times", "30,100"), ["prediction", "survival_30", "survival_100"]),
        "ordinal": (("-p",), ["prediction", "probability_low", "probability_mid", "probability_high"]),
        "distribution": (("--interval", "0.9"), ["prediction", "lower", "upper"]),
    }
    for task, (options, names) in wanted.items():
        assert run("fit", f"{task}.csv", *OPTIONS[task], *SMALL, "--no-report").returncode == 0
        done = run("predict", f"{task}.committee", f"new_{task}.csv", *options, "--explain", 1, "-o", "out.parquet")
        assert done.returncode == 0, done.stderr
        found = pyarrow.parquet.read_table(folder / "out.parquet")
        assert found.column_names == [*names, "base_value", "reason_1", "effect_1"]
        model = committee.load(folder / f"{task}.committee")
        own = pyarrow.csv.read_csv(folder / f"new_{task}.csv").select(list(model.feature_names_in_))
        assert found.column("prediction").to_pylist() == model.predict(own).tolist()
        if task == "survival":
            curves = np.column_stack([found.column(name) for name in names[1:]])
            np.testing.assert_array_equal(curves, model.predict_survival_function(own, [30.0, 100.0]))
            assert (curves[:, 0] >= curves[:, 1]).all()


def test_tuning_and_comparing(run: Run, folder: Path) -> None:
    done = run("tune", "rank.csv", *OPTIONS["rank"], "--candidates", 2, "--folds", 2, "--no-save", "--json",
               "--set", "n_estimators=10")  # fmt: skip
    assert done.returncode == 0, done.stderr
    tuning = json.loads(done.stdout)["tuning"]
    assert tuning["metric"] == "NDCG"
    assert all(0.5 < one["score"] <= 1.0 for one in tuning["candidates"])
    done = run("compare", "survival.csv", *OPTIONS["survival"], "-e", "gradient-boosting", "-e", "random-forest",
               "--set", "n_estimators=10", "--folds", 2, "--repeats", 1, "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [one["estimator"] for one in found["results"]] == [CLASSES["survival"], "RandomSurvivalForest"]
    assert all(one["mean"] > 0.6 for one in found["results"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("rank.csv", "-t", "relevance", "--task", "rank"), "--task rank needs the query of each row."),
        (("rank.csv", *OPTIONS["rank"], "--groups", "kind"), "The folds of a ranking have whole queries."),
        (("rank.csv", "-t", "x0", "--query", "search"), "relevances from 0 to 31"),
        (("rank.csv", *OPTIONS["rank"], "-e", "committee"), "'committee' is for --task classification or regression"),
        (("rank.csv", *OPTIONS["rank"], "--metric", "accuracy"), "'accuracy' is not known for rank."),
        (("rank.csv", *OPTIONS["rank"], "--task", "survival"), "--query is for --task rank; the task is survival."),
        (("rank.csv", "-t", "relevance", "--query", "serch"), "has no column 'serch'."),
        (("survival.csv", "-t", "days", "--event", "kind"), "must say whether the event was observed; got 'b'."),
        (("survival.csv", "-t", "x0", "--event", "died"), "must not be negative"),
        (("ordinal.csv", "-t", "grade", "--task", "ordinal"), "are text, and their order is not known."),
        (("ordinal.csv", "-t", "grade", "--levels", "low,mid"), "has the level 'high', which is not in --levels."),
        (("ordinal.csv", "-t", "grade", "--levels", "low,low"), "'low,low' is not a list of levels."),
        (("distribution.csv", "-t", "kind", "--task", "distribution"), "holds no numbers"),
    ],
)
def test_refusals(run: Run, folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = run("fit", *arguments, "--no-save")
    assert done.returncode != 0
    assert sentence in " ".join(done.stderr.split())


def test_times_without_survival_and_targets_of_two_columns(run: Run, folder: Path) -> None:
    assert run("fit", "rank.csv", *OPTIONS["rank"], *SMALL, "--no-report").returncode == 0
    done = run("predict", "rank.committee", "rank.csv", "--times", "3")
    assert done.returncode == 2
    assert "predicts no survival curves" in done.stderr
    done = run("explain", "rank.committee", "rank.csv", "--target", "relevance")
    assert done.returncode == 2
    assert "needs more than one target column" in " ".join(done.stderr.split())
    for times in ("5,3", "x", "-1"):
        assert "is not a list of times" in run("predict", "rank.committee", "rank.csv", f"--times={times}").stderr


def test_levels_of_ordered_categories_and_of_numbers() -> None:
    table = make_task_table()
    ordered = pa.DictionaryArray.from_arrays(
        pa.array([["low", "mid", "high"].index(one) for one in table.column("grade").to_pylist()], pa.int8()),
        pa.array(["low", "mid", "high"]),
        ordered=True,
    )
    table = table.set_column(table.column_names.index("grade"), "grade", ordered)
    assert define_problem(Source("t", table, "grade"), Roles(), "ordinal").levels == ("low", "mid", "high")
    assert define_problem(Source("t", table, "relevance"), Roles(), "ordinal").levels == (0, 1, 2, 3, 4)
    given = Roles("relevance", levels=["4", "3", "2", "1", "0"])
    assert define_problem(Source("t", table), given, "auto").levels == (4, 3, 2, 1, 0)


def test_scores_of_levels_that_are_not_sorted() -> None:
    class Model:
        classes_ = np.array(["low", "mid", "high"])

        def predict_proba(self, X: object) -> np.ndarray:
            return np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])

        def predict(self, X: object) -> np.ndarray:
            return np.array(["low", "high"])

    y = np.array(["low", "mid"])
    metrics = {name: choose_metrics(name, "ordinal", ("low", "mid", "high"))[0] for name in ("log-loss", "level-error")}
    assert metrics["log-loss"].score(Model(), None, y) == pytest.approx(-np.log([0.7, 0.8]).mean())
    assert metrics["level-error"].score(Model(), None, y) == 0.5


def test_the_crps_of_the_naive_distribution() -> None:
    rng = np.random.default_rng(0)
    values, weights, y = rng.normal(size=30), rng.integers(1, 4, 30).astype(float), rng.normal(size=7)
    shares = weights / weights.sum()
    distance = np.abs(values[:, None] - y) * shares[:, None]
    spread = (np.abs(values[:, None] - values) * shares[:, None] * shares).sum()
    found = NaiveDistribution(values, weights)
    np.testing.assert_allclose(found.find_crps(y), distance.sum(axis=0) - 0.5 * spread)
    np.testing.assert_allclose(found.predict(y), np.average(values, weights=weights))
