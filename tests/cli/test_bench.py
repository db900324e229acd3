"""`committee bench`: it runs everywhere and tells what it found; the times are no matter for a test."""

import json
import os
from pathlib import Path

import pytest

from committee.cli.bench.contenders import PEERS, list_contenders
from committee.cli.bench.machine import describe_machine, list_cores
from committee.cli.bench.measure import Job, is_disturbed, merge_outcomes, run_in_child
from committee.cli.bench.report import show_seconds
from committee.cli.bench.suite import QUICK, fit_model, list_cases, predict_model
from committee.plots.bench import plot_benchmark
from tests.cli.conftest import Run


def test_a_quick_run_writes_table_data_and_picture(run: Run, tmp_path: Path) -> None:
    done = run("bench", "--quick", "--only", "adaboost", "--only", "extra-trees", "--threads", 1, "-o", "times")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout
    assert "times are not meaningful" in done.stdout
    page = (tmp_path / "times" / "bench.md").read_text()
    data = json.loads((tmp_path / "times" / "bench.json").read_text())
    assert set(data["outcomes"]) == {"extra-trees, fit", "adaboost, fit"}
    for case, outcomes in data["outcomes"].items():
        assert list(outcomes) == ["committee", "scikit-learn"]
        for contender, outcome in outcomes.items():
            assert outcome["best"] > 0
            assert f"| {case} | 1 | {contender} |" in page
    assert data["machine"]["scikit-learn"] != "absent"
    picture = (tmp_path / "times" / "bench.svg").read_text()
    assert picture.lstrip().startswith("<?xml")
    assert "<svg" in picture


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [(("--only", "knitting"), "forest, fit"), (("--rows", "10"), "--rows"), (("-o", "file"), "is a file")],
)
def test_errors(run: Run, tmp_path: Path, arguments: tuple[str, ...], fragment: str) -> None:
    (tmp_path / "file").write_text("")
    done = run("bench", "--quick", *arguments)
    assert done.returncode == 2, done.stderr
    assert fragment in done.stderr
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("contender", ["committee", "scikit-learn", "LightGBM", "XGBoost", "CatBoost"])
def test_every_contender_runs_every_case_that_names_it(contender: str) -> None:
    pytest.importorskip(PEERS[contender])
    cases = list_cases(QUICK, 1, [contender])
    jobs = {case.name: job for case in cases for job in case.jobs.values()}
    assert any(name.startswith("boosting") for name in jobs)
    for job in jobs.values():
        function = {"fit_model": fit_model, "predict_model": predict_model}[job.function.partition(":")[2]]
        outcome = function(**job.options)
        assert outcome["seconds"]
        assert 0.4 < outcome["score"] <= 1.0


def test_ours_is_in_every_case_and_first() -> None:
    assert list_contenders()[:2] == ["committee", "scikit-learn"]
    for case in list_cases(QUICK, 2, list(PEERS)):
        assert next(iter(case.jobs)) == "committee"
        assert len(case.jobs) >= 2


def test_a_job_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match="no contender is called 'nobody'"):
        run_in_child([Job("committee.cli.bench.contenders:make_boosting", {"contender": "nobody", "rounds": 1,
                                                                           "leaves": 2, "threads": 1})])  # fmt: skip


def test_rounds_are_merged() -> None:
    first = {"seconds": [2.0, 3.0], "cpu": [2.0, 2.5], "memory_mb": 7.0}
    second = {"seconds": [1.0], "cpu": [0.5], "memory_mb": 9.0, "score": 0.5}
    merged = merge_outcomes([first, second])
    assert (merged["best"], merged["median"], merged["best_cpu"], merged["memory_mb"]) == (1.0, 2.0, 0.5, 7.0)
    assert is_disturbed(merged)


def test_the_machine_is_described() -> None:
    found = describe_machine()
    assert int(found["cores"]) == len(list_cores())
    assert ("of" in found) == (len(list_cores()) < (os.cpu_count() or 1))
    assert found["committee"]
    assert show_seconds(0.00123) == "1.23 ms"


def test_the_picture_has_a_bar_for_everyone() -> None:
    figure = plot_benchmark({"fit": {"us": 2.0, "them": 4.0}, "predict": {"us": 1.0, "others": 0.5}}, "us")
    (axes,) = figure.axes
    assert [bar.get_width() for bar in axes.patches] == [1.0, 2.0, 1.0, 0.5]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["fit", "predict"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["us", "them", "others"]
