"""The command on tables with columns of free text."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from committee.cli.errors import CommandError
from committee.cli.table import find_file
from tests.cli.conftest import Run


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    words = {"mail": ["see", "you", "at", "home", "later"], "spam": ["free", "prize", "win", "cash", "now"]}
    kinds = rng.choice(["mail", "spam"], 160)
    rows = [[" ".join(rng.choice(words[kind], 7)), rng.choice(["a b c", "d e f"]), kind] for kind in kinds]
    path = tmp_path / "mail.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["message", "sender", "kind"], *rows])
    return path


def test_text_is_read_as_words(run: Run, mail: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "model.committee", tmp_path / "answers.csv"
    done = run("fit", mail, "-t", "kind", "-e", "random-forest", "--set", "n_estimators=20", "-o", model)
    assert done.returncode == 0, done.stderr
    assert "Column 'message' is free text" in " ".join(done.stdout.split())
    assert "identifier" not in done.stdout
    done = run("predict", model, mail, "-o", out, "--explain", 2)
    assert done.returncode == 0, done.stderr
    with out.open(newline="") as file, mail.open(newline="") as given:
        found, known = list(csv.reader(file)), list(csv.DictReader(given))
    place = next(k for k, name in enumerate(found[0]) if name.startswith("pred"))
    assert np.mean([row[place] == own["kind"] for row, own in zip(found[1:], known, strict=True)]) > 0.95
    done = run("inspect", model)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["message", "text"] in lines


def test_the_command_says_which_columns_are_text(run: Run, mail: Path) -> None:
    def notices(*arguments: object) -> list[str]:
        done = run("fit", mail, "-t", "kind", "--json", "--no-save", *arguments)
        assert done.returncode == 0, done.stderr
        found: list[str] = json.loads(done.stdout)["notices"]
        return [one for one in found if "free text" in one]

    assert len(notices("-e", "tree")) == 1
    assert notices("-e", "tree", "--set", "text_columns=None") == []
    assert len(notices("--set", "portfolio=['linear']")) == 1


def test_stored_tables_have_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMITTEE_DATA", str(tmp_path))
    with pytest.raises(CommandError) as caught:
        find_file("sonar")
    assert "needs the file sonar.parquet" in caught.value.hint
    (tmp_path / "sonar.csv").write_text("a,target\n1,R\n")
    assert find_file("sonar") == tmp_path / "sonar.csv"
