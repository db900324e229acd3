"""Every script of the gallery runs alone and draws something."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


def test_the_scripts_are_found():
    assert len(SCRIPTS) >= 14
    assert all(path.name.startswith("plot_") for path in SCRIPTS)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_script_draws(path, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.extend(plt.get_fignums()))
    runpy.run_path(str(path), run_name="__main__")
    if path.stem == "plot_california" and not shown:
        assert "California housing was not found" in capsys.readouterr().out
        pytest.skip("California housing is not in scikit-learn's data folder nor in COMMITTEE_DATA")
    assert shown
    for number in shown:
        assert plt.figure(number).axes


def test_every_display_is_in_the_gallery():
    from committee import plots

    text = "\n".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    assert not [name for name in plots.__all__ if name not in text]
