"""`committee fit` without an estimator: AutoML, groups, weights, time, progress."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.metrics import accuracy_score, r2_score

import committee
from committee.cli.automl_run import run_automl
from committee.cli.cross_validation import CrossValidationRun
from committee.cli.errors import CommandError
from committee.cli.model_setup import ModelSetup
from committee.cli.plan import Plan
from committee.cli.problem import Roles, define_problem
from committee.cli.results import Comparison, ScoreEstimate
from committee.cli.table import Source, read_source
from tests.cli.conftest import Run


def set_up(source: Source, roles: Roles, **settings: Any) -> ModelSetup:
    problem = define_problem(source, roles, "auto")
    return ModelSetup(problem, Plan("committee", {"n_members": 2, **settings}, folds=5, seed=0, jobs=1))


def test_the_leaderboard_is_the_model_s(run: Run, tmp_path: Path) -> None:
    done = run("fit", "wine", "--set", "n_members=3", "--json", "-o", "m.committee")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    model = committee.load(tmp_path / "m.committee")
    board = found["leaderboard"]
    assert (board["metric"], board["greater_is_better"]) == ("log-loss", False)
    assert board["committee"]["score"] == -model.score_estimate_
    assert board["committee"]["standard_error"] == model.score_error_
    assert [m["name"] for m in board["members"]] == [row["name"] for row in model.leaderboard_]
    assert [m["score"] for m in board["members"]] == [-row["score"] for row in model.leaderboard_]
    assert sum(m["weight"] for m in board["members"]) == pytest.approx(1.0)
    assert board["left_out"] == []
    truth = read_source("wine", "utf-8").table.column("cultivar").to_numpy()
    predicted = model.classes_[model.oof_decision_function_.argmax(axis=1)]
    assert found["scores"]["accuracy"]["model"]["mean"] == pytest.approx(accuracy_score(truth, predicted))
    assert found["scores"]["accuracy"]["difference"]["mean"] > 0.4


def test_members_that_do_not_suit_the_table_were_not_left_out_for_time() -> None:
    found = run_automl(set_up(read_source("diabetes", "utf-8"), Roles(), n_members=20))
    assert found.leaderboard is not None
    assert len(found.leaderboard.entries) > 6
    assert found.leaderboard.left_out == ()  # naive Bayes is for classes


def test_a_metric_is_the_committee_s_goal() -> None:
    found = run_automl(
        ModelSetup(
            define_problem(read_source("diabetes", "utf-8"), Roles(), "auto"),
            Plan("committee", {"n_members": 2}, folds=5, seed=0, jobs=1, metric="mae"),
        )
    )
    assert found.model.metric == "neg_mean_absolute_error"
    assert found.leaderboard is not None
    assert (found.leaderboard.metric, found.leaderboard.sign) == ("mean absolute error", -1)
    assert found.leaderboard.committee.mean == pytest.approx(found.comparisons["mean absolute error"].model.mean)
    truth = read_source("diabetes", "utf-8").table.column("progression").to_numpy()
    assert found.comparisons["R²"].model.mean == pytest.approx(r2_score(truth, found.predictions))
    assert found.comparisons["R²"].baseline.mean == pytest.approx(0.0)


def test_little_time_is_reported(run: Run) -> None:
    done = run("fit", "iris", "--time", 0.001, "--no-save")
    assert done.returncode == 0, done.stderr
    assert "1 members in" not in done.stdout
    assert "1 member in" in done.stdout
    assert "the time was up before" in done.stdout
    assert "larger --time" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def make_grouped(n_groups: int = 40, size: int = 8) -> pa.Table:
    """Each group has a number of its own, which gives the class away inside the group only."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(n_groups), size)
    label = rng.permutation(n_groups) % 2
    mark = rng.normal(size=n_groups)
    return pa.table(
        {
            "mark": mark[group] + 0.001 * rng.normal(size=len(group)),
            "noise": rng.normal(size=len(group)),
            "who": pa.array([f"p{k}" for k in group]),
            "y": pa.array(np.where(label[group] == 1, "ill", "well").tolist()),
        }
    )


@pytest.mark.parametrize("estimator", ["extra-trees", "committee"])
def test_groups_are_not_torn_apart(run: Run, tmp_path: Path, estimator: str) -> None:
    pyarrow.parquet.write_table(make_grouped(), tmp_path / "t.parquet")
    small = "n_members=2" if estimator == "committee" else "n_estimators=20"
    call = ("fit", "t.parquet", "-t", "y", "-e", estimator, "--set", small, "--json", "--no-save")
    leaking = json.loads(run(*call, "--drop", "who").stdout)
    honest = json.loads(run(*call, "--groups", "who").stdout)
    assert [f["name"] for f in honest["features"]] == ["mark", "noise"]
    assert leaking["scores"]["accuracy"]["model"]["mean"] > 0.8
    assert honest["scores"]["accuracy"]["model"]["mean"] < 0.7


@pytest.mark.parametrize("estimator", ["decision-tree", "committee"])
def test_weights_are_counted_in_fit_and_score(estimator: str) -> None:
    rng = np.random.default_rng(0)
    n = 200
    x, heavy = rng.normal(size=n), np.arange(n) % 2
    y = np.where(heavy == 1, x > 0, x < 0)  # half of the rows say the opposite of the other half
    table = pa.table({"x": x, "w": np.where(heavy == 1, 5.0, 0.2), "y": np.where(y, "a", "b").tolist()})
    problem = define_problem(Source("t", table), Roles("y", weights="w"), "auto")
    assert problem.features.column_names == ["x"]
    if estimator == "committee":
        found = run_automl(set_up(Source("t", table), Roles("y", weights="w")))
    else:
        plan = Plan(estimator, {"max_depth": 1}, folds=5, seed=0, jobs=1)
        found = CrossValidationRun(ModelSetup(problem, plan)).run()
    assert found.comparisons["accuracy"].model.mean > 0.85
    assert found.model.predict(pa.table({"x": [-1.0, 1.0]})).tolist() == ["b", "a"]


def make_wrong() -> pa.Table:
    table = make_grouped()
    n = table.num_rows
    table = table.append_column("one", pa.array([1] * n)).append_column("zero", pa.array([0.0] * n))
    return table.append_column("gap", pa.array([None, *range(1, n)]))


@pytest.mark.parametrize(
    ("roles", "code", "fragment"),
    [
        (Roles("y", groups="y"), 2, "--groups cannot be the target"),
        (Roles("y", groups="one"), 1, "one group"),
        (Roles("y", groups="gap"), 1, "'gap' is missing in 1 rows"),
        (Roles("y", weights="who"), 1, "holds no numbers"),
        (Roles("y", weights="mark"), 1, "negative"),
        (Roles("y", weights="zero"), 1, "are zero"),
    ],
)
def test_columns_that_cannot_be_what_they_should(roles: Roles, code: int, fragment: str) -> None:
    with pytest.raises(CommandError) as caught:
        define_problem(Source("t", make_wrong()), roles, "auto")
    assert fragment in caught.value.sentence
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("arguments", "code", "fragment"),
    [
        (("--groups", "whom"), 2, "Did you mean 'who'?"),
        (("--weights", "mark"), 1, "negative"),
        (("-e", "tree", "--time", "5"), 2, "--time is for the automatic committee"),
        (("-e", "tree", "--groups", "who", "--folds", "50"), 2, "groups are too few"),
        (("--time", "-1"), 2, "--time"),
        (("--set", "portfolio=['magic']"), 2, "'portfolio'"),
    ],
)
def test_errors(run: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, fragment: str) -> None:
    pyarrow.parquet.write_table(make_wrong(), tmp_path / "t.parquet")
    done = run("fit", "t.parquet", "-t", "y", *arguments, "--json", "--no-save")
    assert done.returncode == code, done.stderr
    assert fragment in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_few_rows_are_reported(tmp_path: Path) -> None:
    found = run_automl(set_up(Source("t", make_grouped(5, 4)), Roles("y", drop=["who"]), portfolio=["linear"]))
    assert "With 20 rows all scores may be far off." in found.notices


def run_in_terminal(*arguments: str, interrupt_at: str | None = None) -> tuple[int, str]:
    """Exit code, and what a terminal of 80 columns gets on the error stream; Ctrl-C when it shows some text."""
    ours, theirs = pty.openpty()
    env = os.environ | {"PYTHONPATH": str(Path(committee.__file__).parents[1]), "TERM": "xterm", "COLUMNS": "80"}
    # A shell starts background jobs with SIGINT ignored, and children inherit that; a terminal would not.
    start = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    start += "runpy.run_module('committee', run_name='__main__', alter_sys=True)"
    command = [sys.executable, "-c", start, *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, stdin=theirs, env=env) as process:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 1 << 16):
                seen += part
                if interrupt_at is not None and interrupt_at.encode() in seen:
                    process.send_signal(signal.SIGINT)
                    interrupt_at = None
        except OSError:  # Linux says so when the other end is closed
            pass
        finally:
            os.close(ours)
        code = process.wait(600)
    return code, seen.decode()


def test_an_interrupt_is_one_word_and_leaves_no_file(tmp_path: Path) -> None:
    place = tmp_path / "m.committee"
    code, seen = run_in_terminal("fit", "digits", "-o", str(place), interrupt_at=" left")
    assert code == 130
    assert "Interrupted." in seen
    assert "Traceback" not in seen
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("estimator", ["committee", "gradient-boosting"])
def test_a_terminal_sees_the_progress(estimator: str) -> None:
    small = "n_members=3" if estimator == "committee" else "n_estimators=40"
    code, seen = run_in_terminal("fit", "breast_cancer", "-e", estimator, "--set", small, "--folds", "2", "--no-save")
    assert code == 0
    assert "\x1b[" in seen
    assert ("committee" if estimator == "committee" else "fitting") in seen
    assert " left" in seen
    assert ("extra trees -0." if estimator == "committee" else "accuracy 0.") in seen


def test_estimates() -> None:
    scores = (0.5, 0.7, 0.9)
    one = ScoreEstimate.of_folds(scores)
    assert (one.mean, one.error) == (pytest.approx(0.7), pytest.approx(0.2 / np.sqrt(3)))
    both = Comparison.of_folds(scores, (0.4, 0.6, 0.8))
    assert (both.difference.mean, both.difference.error) == (pytest.approx(0.1), pytest.approx(0.0, abs=1e-12))
    # The jackknife's error of a mean of one row a block is the usual one.
    rows = np.array([1.0, 2.0, 4.0, 7.0])
    without = np.array([np.delete(rows, k).mean() for k in range(4)])
    assert ScoreEstimate.of_blocks(rows.mean(), without).error == pytest.approx(rows.std(ddof=1) / 2)
