"""`committee verify`, `sign` and `card`."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import committee
from tests.cli.conftest import make_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table as CSV and Parquet, and a model of it."""
    path, rng = tmp_path_factory.mktemp("verify"), np.random.default_rng(0)
    width, colour = rng.normal(size=120).round(3), rng.choice(["red", "blue", "grey"], size=120)
    kind = np.where(width + (colour == "red") > 0.5, "oak", "elm")
    frame = pd.DataFrame({"width": width, "colour": colour, "times": rng.integers(1, 4, 120), "kind": kind})
    frame.loc[5, "width"] = np.nan
    frame.to_csv(path / "trees.csv", index=False)
    frame.to_parquet(path / "trees.parquet")
    frame.assign(width=frame["width"] + 1).to_csv(path / "other.csv", index=False)
    made = make_run(path)(
        "fit", "trees.csv", "-t", "kind", "-e", "random-forest", "--set", "n_estimators=5", "--weights", "times",
        "--data-licence", "CC BY 4.0",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return path


@pytest.mark.parametrize("table", ["trees.csv", "trees.parquet"])
def test_a_model_of_the_command_verifies(folder: Path, table: str) -> None:
    done = make_run(folder)("verify", "trees.committee", table)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("identical: ")


def test_what_differs_is_named(folder: Path) -> None:
    run = make_run(folder)
    done = run("verify", "trees.committee", "other.csv")
    assert (done.returncode, done.stderr) == (1, "")
    assert "data: column 'width' differs." in done.stdout
    found = json.loads(run("verify", "trees.committee", "other.csv", "--json").stdout)
    assert (found["passed"], found["identical"], found["refitted"], found["signature"]) == (False, False, False, None)
    assert found["data"] == ["column 'width' differs."]


def test_the_automatic_committee_verifies(folder: Path) -> None:
    run = make_run(folder)
    made = run("fit", "trees.csv", "-t", "kind", "--time", "1e6", "--set", "n_members=2", "--no-report", "-o", "auto")
    assert made.returncode == 0, made.stderr
    done = run("verify", "auto", "trees.csv")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_model_from_python_verifies(folder: Path) -> None:
    frame = pd.read_csv(folder / "trees.csv")
    estimator = committee.HistGradientBoostingClassifier(max_iter=3, random_state=0)
    model = committee.certify(estimator, frame[["colour", "width"]], frame["kind"])
    committee.save(model, folder / "python.committee")
    done = make_run(folder)("verify", "python.committee", "trees.csv", "-t", "kind", "--drop", "times")
    assert done.returncode == 0, done.stdout + done.stderr
    committee.save(estimator.fit(frame[["width"]], frame["kind"]), folder / "plain.committee")
    done = make_run(folder)("verify", "plain.committee", "trees.csv", "-t", "kind")
    assert done.returncode == 1
    assert "has no certificate" in done.stderr


def test_the_card_and_the_report_show_the_same_facts(folder: Path) -> None:
    run = make_run(folder)
    card = json.loads(run("card", "trees.committee").stdout)
    assert card["title"] == "kind from trees.csv"
    assert (card["estimator"], card["task"], card["classes"]) == (
        "RandomForestClassifier",
        "classification",
        ["elm", "oak"],
    )
    assert card["columns"] == [{"name": "width", "type": "number"}, {"name": "colour", "type": "category of 3 levels"}]
    assert (card["data"]["rows"], card["data"]["licence"], card["seed"]) == (120, "CC BY 4.0", 0)
    assert card["certificate"]["weights"] is not None
    assert 0.5 < card["scores"]["accuracy"]["estimate"] <= 1.0
    assert card["scores"]["accuracy"]["standard_error"] >= 0.0
    page = (folder / "trees.report.html").read_text(encoding="utf-8")
    for fact in (card["data"]["sha256"], card["certificate"]["model"], "CC BY 4.0", "Model card"):
        assert fact in page
    done = run("card", "trees.committee", "-o", "card.json")
    assert done.returncode == 0
    assert json.loads((folder / "card.json").read_text(encoding="utf-8")) == card


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes keys with openssl")
def test_signing(folder: Path) -> None:
    import subprocess

    pytest.importorskip("cryptography")
    for call in ("genpkey -algorithm ed25519 -out private.pem", "pkey -in private.pem -pubout -out public.pem"):
        subprocess.run(["openssl", *call.split()], cwd=folder, check=True, capture_output=True)
    shutil.copy(folder / "trees.committee", folder / "signed.committee")
    run = make_run(folder)
    assert "signed.committee.sig" in run("sign", "signed.committee", "--key", "private.pem").stdout
    done = run("verify", "signed.committee", "trees.csv", "--key", "public.pem")
    assert done.returncode == 0
    assert "signature good" in done.stdout
    assert "identical" in done.stdout
    shutil.copy(folder / "trees.committee", folder / "stolen.committee")
    with open(folder / "stolen.committee", "r+b") as file:
        file.seek(60)
        file.write(b"\0")
    shutil.copy(folder / "signed.committee.sig", folder / "stolen.committee.sig")
    done = run("verify", "stolen.committee", "--key", "public.pem")
    assert done.returncode == 1
    assert "signature bad" in done.stdout
    assert run("sign", "stolen.committee", "--key", "private.pem").returncode == 1  # a damaged file is not signed


def test_calls_that_check_nothing(folder: Path) -> None:
    run = make_run(folder)
    assert run("verify", "trees.committee").returncode == 2
    assert run("verify", "nothing.committee", "trees.csv").returncode == 2
    assert run("sign", "nothing.committee", "--key", "private.pem").returncode == 2
