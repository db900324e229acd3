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


def test_a_later_version_on_the_page_of_threads_is_told(tmp_path: Path) -> None:
    machine = {"cores": "2", "processor": "A1", "xgboost": "3.2.0"}
    times = {"committee": {"best": 0.5}, "XGBoost": {"best": 20.0}}
    found = {"suite": "inspection", "machine": machine, "outcomes": {"Shapley values": times}}
    (tmp_path / "inspection_x86_64.json").write_text(json.dumps(found))
    assert "With XGBoost" not in render_table(tmp_path)
    rows = (
        "| explain, LightGBM | 2.0 s (20.00 x) |\n| explain, XGBoost | 0.4 s (4.00 x) | 0.3 s (3.21 x) | 9.7 x | 0.9 |"
    )
    page = (
        "# Threads\n\nprocessor B2, cores 16, memory 1 GiB, xgboost 3.4.1, catboost absent.\n\n## Shapley values, x\n"
    )
    (tmp_path / "scaling_x86_64.md").write_text(f"{page}{rows}\n")
    assert (
        "With XGBoost 3.4.1, whose Shapley values take less time, the ratio is 3.2 to 4.0 by 1 to 16 threads of B2"
        in (render_table(tmp_path))
    )
