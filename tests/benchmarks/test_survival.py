"""The benchmark of survival models on tiny data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.survival import (
    CASES,
    OURS,
    QUICK,
    SCIKIT_SURVIVAL,
    XGBOOST,
    Outcomes,
    fit_case,
    join_draws,
    make_rows,
    render,
    run_case,
    run_suite,
)


def write_rows(folder: Path) -> None:
    train, test = make_rows(QUICK.n_rows, 0), make_rows(QUICK.n_scored, 1)
    np.savez(folder / "train.npz", **train)
    np.savez(folder / "test.npz", **test)
    np.save(folder / "times.npy", np.quantile(test["time"], [0.2, 0.5, 0.8]))


@pytest.mark.parametrize("case", CASES)
def test_every_model_of_ours_is_fitted(case: str, tmp_path: Path) -> None:
    write_rows(tmp_path)
    outcome = fit_case(case, OURS, tmp_path, QUICK)
    assert outcome["seconds"] > 0.0
    assert np.load(tmp_path / "risk.npy").shape == (QUICK.n_scored,)
    assert np.load(tmp_path / "survival.npy").shape == (QUICK.n_scored, 3)


def test_a_peer_without_an_environment_is_not_measured(tmp_path: Path) -> None:
    write_rows(tmp_path)
    assert run_case("forest", SCIKIT_SURVIVAL, tmp_path, QUICK, None) is None
    page = render({"forest": {SCIKIT_SURVIVAL: None, OURS: {"seconds": 1.0, "concordance": 0.7}}}, QUICK)
    assert "| forest | scikit-survival | not measured | | | | |" in page
    assert "| forest | committee | 1 | 1.00 | 0.7000 |  |  |" in page


def test_tables_are_joined_with_the_error_of_the_difference() -> None:
    def make(ours: float, peer: float | None) -> dict[str, dict[str, dict[str, float] | None]]:
        other = None if peer is None else {"seconds": 2.0, "concordance": peer}
        return {"forest": {OURS: {"seconds": 1.0, "concordance": ours, "brier": 0.2}, SCIKIT_SURVIVAL: other}}

    joined = join_draws([make(0.70, 0.69), make(0.72, 0.73), make(0.5, None)])
    page = render(joined, QUICK)
    assert "| forest | committee | 3 | 1.00 | 0.6400 |  | 0.2000 |" in page
    assert "| forest | scikit-survival | 2 | 2.00 | 0.7100 | +0.0000 ± 0.0100 |  |" in page
    assert join_draws([make(0.7, None)])["forest"][SCIKIT_SURVIVAL] is None


def test_fits_are_left_out_or_taken_from_a_folder(tmp_path: Path) -> None:
    folder, known = tmp_path / "outcomes", {"seconds": 1.5, "concordance": 0.75}
    every = [(case, who) for case, contenders in CASES.items() for who in contenders]
    Outcomes(folder).keep(QUICK, "forest", OURS, known)
    left_out = [f"{QUICK.n_rows}/{case}/{who}" for case, who in every]
    found = run_suite(QUICK, None, left_out, Outcomes(folder))
    assert found["forest"][OURS] == known
    assert found["boosting, Cox"] == dict.fromkeys((OURS, XGBOOST, SCIKIT_SURVIVAL))
    assert [file.name for file in folder.iterdir()] == [
        f"{'_'.join(map(str, vars(QUICK).values()))}_forest_{OURS}.json"
    ]
