"""The benchmark of threads on tiny tables: what is timed, and how parts of a page are merged."""

from pathlib import Path

import pytest

from benchmarks import scaling
from benchmarks.scaling import WORKS, choose_works, join_page, read_sections, show_work
from benchmarks.scaling_jobs import ADABOOST, SHAPLEY, Work, run_jobs, write_table

HEAD = "# Threads, x86_64\n\nA machine."


def test_sections_of_a_page_are_read_as_they_were_written() -> None:
    titles = [WORKS[3].title, "an older model", WORKS[0].title]
    sections = {title: f"## {title}\n\n| a | b |\n|---|---|" for title in titles}
    page = join_page(HEAD, sections)
    assert read_sections(page) == sections
    assert [*read_sections(page)] == [titles[2], titles[0], titles[1]]
    assert page.startswith(f"{HEAD}\n\n## {WORKS[0].title}\n")


def test_titles_are_unique() -> None:
    assert len({work.title for work in WORKS}) == len(WORKS)


@pytest.mark.parametrize(("word", "count"), [("ExtraTrees", 2), ("covertype", 2), ("shapley", 1)])
def test_a_word_chooses_models(word: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMITTEE_DATA", "somewhere")
    chosen = choose_works([word], 1_000_000)
    assert len(chosen) == count
    assert all(word.lower() in work.title.lower() for work in chosen)


def test_public_tables_are_left_out_without_their_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COMMITTEE_DATA", raising=False)
    assert not any(work.is_public for work in choose_works([], 1_000_000))
    assert "covertype" in capsys.readouterr().err


def test_a_word_that_no_title_contains_is_an_error() -> None:
    with pytest.raises(SystemExit, match="no title contains nothing"):
        choose_works(["nothing"], 1_000_000)


@pytest.mark.parametrize(
    "work",
    [
        Work("boosting", 300, 2, 4),
        Work("ExtraTreesClassifier", 300, 2),
        Work(ADABOOST, 300, 2),
        Work(SHAPLEY, 300, 2, 4, table="ranks"),
    ],
    ids=lambda work: work.family,
)
def test_every_family_is_timed_and_scored(work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.scaling_jobs.TEST_ROWS", 100)
    write_table(tmp_path, work)
    outcomes = run_jobs(tmp_path, work, "committee", [1, 2])
    assert len(outcomes) == 2
    assert all({*outcome} == {*work.measured, "score"} for outcome in outcomes)
    assert all(outcome[what] > 0.0 for outcome in outcomes for what in work.measured)
    assert outcomes[0]["score"] == outcomes[1]["score"]


def test_a_section_has_seconds_and_ratios() -> None:
    work = Work(ADABOOST, 300, 2)
    ours, theirs = {"fit": 1.0, "predict": 0.5, "score": 0.75}, {"fit": 30.0, "predict": 2.0, "score": 0.5}
    shown = show_work(work, (1, 4), {"committee": [ours, {**ours, "fit": 0.5}], "scikit-learn": [theirs] * 2}, "Idle.")
    assert "| fit, committee | 1.000 s | 0.500 s | 2.0 x | 0.7500 |" in shown
    assert "| fit, scikit-learn | 30.000 s (30.00 x) | 30.000 s (60.00 x) | no threads | 0.5000 |" in shown


def test_a_run_of_some_models_keeps_the_other_sections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = Work("boosting", 300, 2, 4), Work("ExtraTreesClassifier", 300, 2)
    path = tmp_path / "scaling_x86_64.md"
    path.write_text(join_page(HEAD, {old.title: f"## {old.title}\n\nold", new.title: f"## {new.title}\n\nold"}))
    monkeypatch.setattr(scaling, "write_table", lambda folder, work: None)
    monkeypatch.setattr(scaling, "measure_load", lambda: 0.0)
    outcome = {"fit": 1.0, "predict": 1.0, "score": 0.5}
    monkeypatch.setattr(scaling, "time_work", lambda folder, work, who, threads: [outcome])
    scaling.write_page((1,), [new], path, anew=False)
    sections = read_sections(path.read_text())
    assert sections[old.title].endswith("old")
    assert "fit, committee | 1.000 s" in sections[new.title]
    scaling.write_page((1,), [new], path, anew=True)
    assert [*read_sections(path.read_text())] == [new.title]
