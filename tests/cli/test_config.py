"""Options from a TOML file."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

CONFIG = """
no-save = true
table = "wine"
estimator = "random-forest"
folds = 3
drop = ["ash", "hue"]
metric = "log-loss"
json = true
seed = 5

[set]
n_estimators = 7
max_depth = 3
criterion = "entropy"
"""


def test_a_file_is_the_same_as_the_options(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CONFIG)
    from_file = run("fit", "--config", "c.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["c.toml"]
    assert from_file.returncode == 0, from_file.stderr
    typed = run(
        *("fit", "wine", "-e", "random-forest", "--folds", 3, "--drop", "ash", "--drop", "hue", "--metric", "log-loss"),
        *(
            "--json",
            "--no-save",
            "--seed",
            5,
            "--set",
            "n_estimators=7",
            "--set",
            "max_depth=3",
            "--set",
            "criterion=entropy",
        ),
    )
    assert from_file.stdout == typed.stdout
    found = json.loads(from_file.stdout)
    assert found["parameters"] == {"n_estimators": 7, "max_depth": 3, "criterion": "entropy"}
    assert len(found["features"]) == 11


def test_the_command_line_goes_before_the_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CONFIG)
    done = run("fit", "wine", "-c", "c.toml", "-e", "tree", "--set", "max_depth=1", "--folds", "2", "--no-save")
    found = json.loads(done.stdout)
    assert found["estimator"] == "DecisionTreeClassifier"
    assert found["parameters"] == {"max_depth": 1}
    assert len(found["scores"]["accuracy"]["model"]["folds"]) == 2


@pytest.mark.parametrize(
    ("content", "code", "fragment"),
    [
        ("tabel = 'iris'", 2, "Did you mean 'table'?"),
        ("debug = true", 2, "unknown entry 'debug'"),
        ("folds = 'five'", 2, "--folds"),
        ("folds = 1", 2, "--folds"),
        ("set = 3", 2, "must be a table"),
        ("table = ", 1, "is not valid TOML"),
        ("drop = " + "[" * 5000, 1, "nested too deeply"),
        ("set.max_depth = " + "[" * 500 + "]" * 500, 1, "nested too deeply"),
    ],
)
def test_errors(run: Run, tmp_path: Path, content: str, code: int, fragment: str) -> None:
    (tmp_path / "c.toml").write_text(content)
    done = run("fit", "--config", "c.toml")
    assert done.returncode == code
    assert fragment in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_a_file_that_is_not_there(run: Run) -> None:
    done = run("fit", "--config", "c.toml")
    assert done.returncode == 2
    assert "'c.toml' could not be read" in done.stderr
