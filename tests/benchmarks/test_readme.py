"""The README's tables of times are what the suites measured."""

import json
from pathlib import Path

from benchmarks.readme import BEGIN, END, README, fill, render_table


def test_the_readme_shows_what_was_measured() -> None:
    text = README.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert fill(text, render_table()) == text, "run `make readme` and commit what it writes"


def test_what_was_not_measured_is_left_out(tmp_path: Path) -> None:
    machine = {"cores": "2", "processor": "A1", "scikit-learn": "1.6", "lightgbm": "absent"}
    times = {"committee": {"best": 0.5}, "scikit-learn": {"best": 20.0}, "someone else": {"best": 1.0}}
    found = {"suite": "forests", "machine": machine, "outcomes": {"fit, full trees": times}}
    (tmp_path / "forests_aarch64.json").write_text(json.dumps(found))
    table = render_table(tmp_path)
    lines = table.splitlines()
    assert len(lines) == 7
    assert lines[0].startswith("| 64-bit ARM | committee | scikit-learn |")
    assert lines[2] == "| random forest of 100 full trees, fit 100,000 rows | **500 ms** | 20 s (40) |  |  |  |"
    assert "2 cores of A1 (scikit-learn 1.6)" in table
    assert render_table(tmp_path / "none") == "No suite has been run yet."
