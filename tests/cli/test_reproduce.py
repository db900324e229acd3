"""`committee reproduce`: the quick rows through the executable, the machinery around them, the page."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from committee import AdaBoostClassifier, DecisionTreeClassifier
from committee.cli.errors import CommandError
from committee.cli.reproduce import EXPERIMENTS, choose_rows, reproduce_rows
from committee.cli.reproduce.output import write_results_page
from committee.cli.reproduce.results import Line, ReproductionSettings, Result, compare_value
from committee.cli.reproduce.rounds import _find_letters
from tests.cli.browser import open_browser
from tests.cli.conftest import Run
from tests.cli.test_report import read_page


def test_the_quick_rows(run: Run, tmp_path: Path) -> None:
    done = run("reproduce", "R9", "r3", "--seeds", 2, "--out", "page.html")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["R9", "α", "of", "stump", "1", "0.42", "0.4236", "pass"] in rows
    assert "2 reproduced, 0 failed, 0 skipped" in done.stdout
    (importance,) = (row for row in rows if row[1:5] == ["share", "of", "sepal", "length"])
    assert importance[0] == "R3"
    assert importance[5] == "0.112"
    assert (importance[7], importance[10], importance[-1]) == ("±", "±", "pass")
    assert "Page written to page.html (" in done.stdout
    page = read_page(tmp_path / "page.html")
    assert {attrs.get("id") for tag, attrs in page.tags if tag == "section"} == {"overview", "R3", "R9"}
    assert "within one standard deviation over seeds of scikit-learn's mean" in page.text


def test_json(run: Run) -> None:
    done = run("reproduce", "R2", "--seeds", 2, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert result["key"] == "R2"
    assert result["verdict"] == "pass"
    lines = {line["what"]: line for line in result["lines"]}
    assert lines["bootstraps, out of bag"]["published"] == "0.899"
    for library in ("ours", "scikit_learn"):
        assert all(re.fullmatch(r"\d\.\d+ ± \d\.\d+", line[library]) for line in lines.values())
    assert "figures" not in result


def test_what_is_absent_is_skipped_with_the_reason(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMMITTEE_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    results = {result.key: result for result in reproduce_rows(["R4", "R10", "R11"], ReproductionSettings(2, 1))}
    assert {result.status for result in results.values()} == {"skipped"}
    assert "COMMITTEE_DATA" in results["R4"].skipped
    assert "fetch_california_housing" in results["R10"].skipped
    monkeypatch.setenv("COMMITTEE_DATA", str(tmp_path))
    (titanic,) = reproduce_rows(["R11"], ReproductionSettings(2, 1))
    assert "holds no titanic.parquet" in titanic.skipped
    write_results_page([*results.values()], ReproductionSettings(2, 1), tmp_path / "page.html")
    assert "Skipped" in read_page(tmp_path / "page.html").text


def test_trees_of_a_thousand_rounds_leave_something_to_boost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMMITTEE_DATA", raising=False)
    name, n_leaves, (X, _, y, _) = _find_letters()
    assert "digits" in name
    model = AdaBoostClassifier(DecisionTreeClassifier(max_leaf_nodes=n_leaves), n_estimators=20).fit(X, y)
    assert len(model.estimators_) == 20


def test_unknown_rows(run: Run) -> None:
    done = run("reproduce", "R17")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no result 'R17'" in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert run("reproduce", "R9", "--seeds", 1).returncode == 2
    assert run("reproduce", "R9", "--out", "none/p.html").returncode == 2


def test_rows_are_chosen_by_name() -> None:
    assert choose_rows([]) == choose_rows(["all"]) == [f"R{k}" for k in range(1, 17)]
    assert choose_rows(["r13", "R2"]) == ["R2", "R13"]
    with pytest.raises(CommandError, match="X"):
        choose_rows(["X"])


def test_a_failure_is_reported_and_ends_with_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from committee.cli.reproduce.command import reproduce_results

    def fail(settings: ReproductionSettings) -> Result:
        return Result("R9", "t", "s", [Line("a figure", "1", "2", "equal", False)])

    monkeypatch.setitem(EXPERIMENTS, "R9", ("t", fail))
    assert not reproduce_results(["R9"], 2, 1, None, as_json=False)
    printed = capsys.readouterr().out
    assert "FAIL" in printed
    assert "R9 failed: a figure: equal." in printed


def test_our_mean_is_compared_with_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for n, most in ((2, 0.05), (10, 0.05), (20, 0.005)):  # of equal distributions, a few pairs differ by chance
        pairs = rng.normal(size=(2000, 2, n))
        failed = [not compare_value("x", 9.9, ours, theirs, 9).passed for ours, theirs in pairs]
        assert np.mean(failed) <= most + 0.01
    shifted = [compare_value("x", 0.0, ours + 2.0, theirs, 9).passed for ours, theirs in rng.normal(size=(500, 2, 10))]
    assert np.mean(shifted) < 0.03
    # Without chance only rounding is forgiven; the published value does not matter.
    assert compare_value("x", 0.5, [0.8644] * 4, [0.864] * 4).passed
    assert not compare_value("x", 0.5, [0.866] * 4, [0.864] * 4).passed


@pytest.mark.parametrize("key", ["R1", "R5", "R6", "R8", "R13", "R15"])
def test_rows_without_files(key: str) -> None:
    (result,) = reproduce_rows([key], ReproductionSettings(4, 1))
    assert result.status == "pass", result.lines
    assert result.figures
    assert all(len(line.what) <= 34 for line in result.lines)


@pytest.mark.parametrize(("key", "n_seeds"), [("R14", 3), ("R16", 5)])
def test_trees_and_calibration(key: str, n_seeds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.cli.reproduce.members._TREES", 100)
    monkeypatch.setattr("committee.cli.reproduce.members._CALIBRATED_TREES", 30)
    (result,) = reproduce_rows([key], ReproductionSettings(n_seeds, 1))
    assert result.status == "pass", result.lines
    assert result.figures
    assert all(len(line.what) <= 34 for line in result.lines)
    assert sum(bool(line.scikit_learn) for line in result.lines) >= 2


def test_in_a_browser(tmp_path: Path) -> None:
    results = list(reproduce_rows(["R5", "R6", "R9"], ReproductionSettings(2, 1)))
    path = tmp_path / "page.html"
    write_results_page(results, ReproductionSettings(2, 1), path)
    with open_browser(tmp_path) as browser:
        for width in (1200, 360):
            browser.open(path, width=width)
            assert browser.run("document.documentElement.scrollWidth") <= width
            shown = browser.run("[...document.querySelectorAll('svg image')].map(e => e.getBBox().width)")
            assert len(shown) == 2
            assert min(shown) > 100
        assert browser.list_complaints() == []
        assert set(browser.list_requests()) == {path.resolve().as_uri()}
