"""Sums and differences of columns, and committees with members that are fitted to them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from committee import CommitteeClassifier, CommitteeRegressor, load, save
from committee.automatic.further_divisions import EntryFit
from committee.automatic.paired_columns import PairedMember, fit_pairs, make_paired_set
from committee.automatic.portfolio import FitContext, choose_entries, has_pairs
from committee.automatic.presets import PRESETS, find_preset
from committee.ensembles.combining.fold_average import FoldAverage
from committee.ensembles.combining.out_of_fold import MemberFit
from committee.ensembles.combining.training_set import TrainingSet
from committee.exceptions import ModelFileError, ParameterError

NAMES = ["boosting of pairs", "extra trees of pairs"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5)) * [1.0, 10.0, 100.0, 1.0, 1.0]
X[:, 3], X[:, 4] = RNG.integers(0, 3, 400), RNG.integers(0, 2, 400)
X[::9, 1] = np.nan
VALUES = np.where(X[:, 0] * 100.0 > X[:, 2], 3.0, 1.0) + 0.1 * (X[:, 3] == 1) + 0.05 * RNG.normal(size=400)
CATEGORIES = [3]


def fit(classify: bool = False, **params: Any) -> Any:
    kind = CommitteeClassifier if classify else CommitteeRegressor
    params = {"portfolio": NAMES, "random_state": 0, "categorical_features": CATEGORIES, **params}
    return kind(**params).fit(X, np.rint(VALUES) if classify else VALUES)


def widen_naively(table: Any, columns: list[int], scales: Any) -> list[list[float]]:
    """The twin of `ColumnPairs.widen`: one row and one pair after another."""
    rows = []
    for row in table.tolist():
        pairs = [(row[a] / scales[a], row[b] / scales[b]) for a, b in combinations(columns, 2)]
        rows.append([*row, *(a - b for a, b in pairs), *(a + b for a, b in pairs)])
    return rows


def test_sums_and_differences() -> None:
    pairs = fit_pairs(X, None, CATEGORIES)
    assert pairs is not None
    # A column of two values is none of them, nor a category.
    assert pairs.numbers.tolist() == [0, 1, 2]
    np.testing.assert_allclose(pairs.scales, np.nanstd(X[:, :3], axis=0), rtol=1e-3)
    wide = pairs.widen(X)
    np.testing.assert_array_equal(wide, widen_naively(X, [0, 1, 2], pairs.scales))
    assert wide.shape == (400, 5 + pairs.n_added)
    np.testing.assert_array_equal(pairs.widen(csr_matrix(np.nan_to_num(X))), pairs.widen(np.nan_to_num(X)))


def test_weights_count_rows() -> None:
    counts = RNG.integers(0, 4, 400).astype(float)
    weighted, repeated = fit_pairs(X, counts, CATEGORIES), fit_pairs(X.repeat(counts.astype(int), axis=0), None, [3])
    assert weighted is not None
    assert repeated is not None
    np.testing.assert_array_equal(weighted.scales, repeated.scales)


def test_large_values_stay_finite() -> None:
    pairs = fit_pairs(X, None, CATEGORIES)
    assert pairs is not None
    largest = np.finfo(float).max
    wide = pairs.widen(np.array([[largest, -largest, largest, 0.0, 0.0], [np.nan, largest, largest, 0.0, 0.0]]))
    assert not np.isinf(wide).any()
    assert np.isnan(wide[1]).sum() == 5


@pytest.mark.parametrize("width", [0, 1, 2, 12, 13])
def test_tables_that_are_widened(width: int) -> None:
    table = RNG.normal(size=(30, width))
    pairs = fit_pairs(table, None, [])
    assert (pairs is not None) == (2 <= width <= 12)
    assert make_paired_set(TrainingSet(csr_matrix(table), np.zeros(30)), []) is None


@pytest.mark.parametrize("classify", [False, True])
def test_members_of_pairs(classify: bool, tmp_path: Path) -> None:
    model, predict = fit(classify, n_jobs=1), "predict_proba" if classify else "predict"
    wanted = getattr(model, predict)(X)
    models = [m for one in model.estimators_ for m in (one.models if isinstance(one, FoldAverage) else [one])]
    assert any(isinstance(one, PairedMember) for one in models)
    np.testing.assert_array_equal(getattr(fit(classify, n_jobs=2), predict)(X), wanted)
    np.testing.assert_array_equal(getattr(model, predict)(X[17:18])[0], wanted[17])
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(getattr(load(tmp_path / "model"), predict)(X), wanted)
    np.testing.assert_allclose(getattr(model.predictor(), predict)(X), wanted, rtol=0, atol=1e-10)


def test_a_file_with_pairs_of_other_columns_is_refused(tmp_path: Path) -> None:
    model = fit(portfolio=NAMES[1:], n_jobs=1)
    for member in (one for one in model.estimators_ if isinstance(one, PairedMember)):
        member.pairs.numbers[-1] = X.shape[1]
    save(model, tmp_path / "model")
    with pytest.raises(ModelFileError, match="pairs are of columns of the table"):
        load(tmp_path / "model")


def test_one_split_sees_a_difference() -> None:
    plain, paired = (fit(portfolio=[name]).leaderboard_[0]["score"] for name in ("boosting", "boosting of pairs"))
    assert paired > 0.7 * plain  # errors, negative


def test_rows_are_predicted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fit(portfolio=NAMES[1:])
    wanted = model.predict(X)
    monkeypatch.setattr("committee.automatic.paired_columns._BLOCK_ROWS", 64)
    np.testing.assert_array_equal(model.predict(X), wanted)


def test_members_are_divided_further() -> None:
    training = make_paired_set(TrainingSet(X, VALUES), CATEGORIES)
    assert training is not None
    one = MemberFit("boosting of pairs", None, fold_models=[object()])
    entry = EntryFit([one], training, training.complete, False, 1, 0.0, [1])
    assert entry.can_divide()
    finished = entry.finish(one)
    assert finished.fitted is None
    assert isinstance(finished.fold_models[0], PairedMember)


def test_who_has_pairs() -> None:
    def list_names(n_rows: int, preset: str = "best", n_classes: int = 0) -> set[str]:
        views = ("table", "pairs")
        how = find_preset(preset, n_rows)
        entries = choose_entries(None, None, n_rows, n_classes=n_classes, views=views, preset=how)
        return {entry.name for entry in entries} & set(NAMES)

    assert list_names(1000) == list_names(20_000) == list_names(1000, n_classes=2) == set(NAMES)
    assert not list_names(999)
    assert not list_names(20_001)
    assert not list_names(1000, "balanced")
    assert not list_names(1000, "fast")
    assert not list_names(1000, n_classes=3)
    context = FitContext(0, [], 2, False, False, None, 0)
    assert not has_pairs(None, context)
    assert has_pairs(None, FitContext(0, [], 2, False, False, None, 0, preset=PRESETS["best"]))
    assert has_pairs(NAMES[:1], context)
    assert not has_pairs(["boosting"], context)


def test_pairs_need_columns() -> None:
    with pytest.raises(ParameterError, match="which needs two to twelve columns of numbers"):
        CommitteeRegressor(portfolio=NAMES).fit(X[:, [0, 4]], VALUES)
