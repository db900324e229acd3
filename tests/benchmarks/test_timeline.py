"""The page of waiting threads on a small table."""

from pathlib import Path

import pytest

from benchmarks import timeline


def test_the_page_has_a_row_for_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "LEAVES", (4,))
    monkeypatch.setattr(timeline, "ROUNDS", 2)
    monkeypatch.setattr(timeline, "measure_cores", lambda threads: f"{threads}")
    timeline.write_page(2_000, 2, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert "## boosting, 2 rounds of 4 leaves, 2,000 rows, 2 threads" in page
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    assert all(len(row) == len(timeline.HEAD) for row in rows)
    assert rows[-1][0] == "| all"
    assert any("fill_all" in row[0] for row in rows)


def test_sums_are_of_all_places() -> None:
    place = {"function": "f", "line": 1, "calls": 2, "tasks": 4, "before": 0.001, "wall": 0.004}
    place |= {"starting": 0.0, "waiting": 0.001, "busy": 0.006, "longest": 0.002}
    alone = [{**place, "before": 0.0, "wall": 0.004, "busy": 0.004}]
    *_, row, total = timeline.show_places([place], alone, 2).splitlines()
    assert row == "| f | 2 | 4 | 1.00 | 4.00 | 0.00 | 1.00 | 6.00 | 1.50 x | 75% |"
    assert total == "| all |  |  | 1.00 | 4.00 | 0.00 | 1.00 | 6.00 | 1.50 x | 60% |"
