"""The page on reliability has the numbers of the results that are kept."""

import json
from pathlib import Path

import pytest

from fuzz import results
from fuzz.results import BEGIN, END, PAGE, add_file, make_tables, read_faults, read_results, write_counts


def test_the_page_has_the_counts_that_are_kept() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert shown.strip() == make_tables(read_results(), read_faults())


def test_a_million_cases_were_run_and_crashed_in_the_first_run_only() -> None:
    runs = read_results()["runs"]
    counted = [sum(n for own in run["kinds"].values() for name, n in own.items() if name != "skipped") for run in runs]
    assert sum(counted) >= 1_000_000
    last = [own for run in runs[1:] for own in run["kinds"].values()]
    assert not any(own.get("crash") for own in last)
    # A fit of some seconds to many classes and columns, and two searches that waited: the page names them.
    assert sum(own.get("hang", 0) for own in last) == 3


def test_counts_in_files_of_programs_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of faults that were written by another machine, twice while it ran, and a run of the fuzzer."""
    monkeypatch.setattr(results, "FAULTS", tmp_path / "faults.json")
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results.json")
    for executions in (3, 5):
        write_counts(tmp_path / "border.json", "guided border", {"executions": executions, "crashes": 0})
    write_counts(tmp_path / "border.json", "guided trees", {"executions": 7})
    add_file(tmp_path / "border.json")
    run = {"seed": 1, "first": 0, "machine": "any", "kinds": {"fit": {"answered": 2}}, "findings": ["long"]}
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    add_file(tmp_path / "run.json")
    assert read_faults() == {"guided border": {"executions": 5, "crashes": 0}, "guided trees": {"executions": 7}}
    assert read_results() == {"runs": [{name: run[name] for name in run if name != "findings"}]}
    shown = make_tables(read_results(), read_faults())
    assert "| sessions of calls of the core with changed arguments, guided by coverage, under ASan and UBSan |" in shown
    assert "crashes 0, executions 5" in shown
