"""The example of a study of Optuna, on few trials."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

pytest.importorskip("optuna", reason="the package optuna is not installed; pip install 'committee[optuna]'")

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "tuning" / "optuna_study.py"


def test_both_ways_find_something() -> None:
    example = runpy.run_path(str(SCRIPT))
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    search, study = example["search_with_study"](X, y, 4)
    assert search.n_candidates_ == 4
    assert len(study.trials) == 3  # the first candidate is the estimator as it was given
    assert search.best_score_ > -0.2
    choice = example["optimise_choice"](X, y, 3)
    assert len(choice.trials) == 3
    assert choice.best_value > -0.3
