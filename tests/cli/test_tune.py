"""`committee tune`: the candidates, the winner as `committee fit` writes it, and no file written over."""

import json
from pathlib import Path

import committee
from tests.cli.conftest import Run


def test_it_writes_the_winner_and_says_what_to_expect(run: Run, tmp_path: Path) -> None:
    done = run("tune", "wine", "-e", "random-forest", "--candidates", 4, "--set", "n_estimators=20", "--folds", 3,
               "--method", "random", "--no-report")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "4 candidates in" in done.stdout
    assert "as given" in done.stdout
    assert "on new rows expect" in " ".join(done.stdout.split())
    model = committee.load(tmp_path / "wine.committee")
    assert type(model).__name__ == "RandomForestClassifier"
    assert model.n_estimators == 20


def test_the_json_lists_the_candidates(run: Run) -> None:
    done = run("tune", "diabetes", "--candidates", 3, "--folds", 3, "--metric", "mae", "--no-save", "--no-report",
               "--set", "learning_rate=0.2", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    tuning = found["tuning"]
    assert len(tuning["candidates"]) == 3
    assert tuning["candidates"][0]["parameters"] == {}
    assert all("learning_rate" not in one["parameters"] for one in tuning["candidates"])
    scores = [one["score"] for one in tuning["candidates"]]
    assert scores[tuning["winner"]] == min(scores)  # an error: smaller is better
    low, high = tuning["expected_interval"]
    assert 0.0 < low < tuning["expected_score"] < high


def test_out_of_bag_and_a_second_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wine.committee").write_text("mine")
    done = run("tune", "wine", "-e", "random-forest", "--oob", "--candidates", 2, "--folds", 3, "--no-report")
    assert done.returncode == 0, done.stderr
    assert "out-of-bag rows" in done.stdout
    assert (tmp_path / "wine.committee").read_text() == "mine"
    assert len(list(tmp_path.glob("*.committee"))) == 2


def test_what_cannot_be_tuned_is_said(run: Run) -> None:
    done = run("tune", "wine", "-e", "bernoulli-nb", "--budget", 1)
    assert done.returncode == 2
    assert "no default space for BernoulliNB" in " ".join(done.stderr.split())
