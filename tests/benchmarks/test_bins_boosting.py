"""The rules of bins that `benchmarks/bins_boosting.py` compares are those of the core and of LightGBM."""

import numpy as np
import pytest

from benchmarks.bin_rules import RULES, code_columns
from committee._core import BinMapper


def make_columns(n_rows: int = 4000) -> np.ndarray:
    """Numbers with a long tail, with ties, with a heavy zero, on both sides of zero, few of them, whole ones."""
    rng = np.random.default_rng(0)
    columns = [np.exp(rng.normal(size=n_rows)), np.round(rng.gamma(2.0, size=n_rows), 2)]
    columns.append(np.where(rng.random(n_rows) < 0.4, 0.0, rng.normal(size=n_rows)))
    columns += [rng.standard_cauchy(n_rows), rng.integers(-40, 90, n_rows), rng.integers(0, 3000, n_rows) ** 2]
    return np.column_stack(columns).astype(float)


def test_narrow_ends_of_an_eighth_are_the_bins_of_the_core() -> None:
    X = make_columns()
    mapper = BinMapper.fit(X, None, np.zeros(X.shape[1], np.uint32), 255, 1)
    coded, coded_again = code_columns(X, X[:10], RULES["narrow ends, 1/8"])
    for j in range(X.shape[1]):
        assert np.array_equal(coded[:, j], np.searchsorted(mapper.thresholds(j), X[:, j]))
    assert np.array_equal(coded_again, coded[:10])


def test_a_model_of_lightgbm_is_the_same_on_its_own_bins() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X = make_columns()
    y = np.log(X[:, 0]) + X[:, 1] * np.sign(X[:, 2]) + np.arctan(X[:, 3]) + X[:, 4] / 50
    coded, _ = code_columns(X, X, RULES["LightGBM's bins"])
    params = {"n_estimators": 20, "verbose": -1, "n_jobs": 1}
    on_numbers = lightgbm.LGBMRegressor(**params).fit(X, y).predict(X)
    on_bins = lightgbm.LGBMRegressor(**params, min_data_in_bin=1, max_bin=256).fit(coded, y).predict(coded)
    assert np.array_equal(on_numbers, on_bins)


@pytest.mark.parametrize("rule", RULES)
def test_there_are_at_most_255_bins_and_missing_values_stay(rule: str) -> None:
    X = make_columns()
    X[::7, 1] = np.nan
    coded, _ = code_columns(X, X[:1], RULES[rule])
    assert np.array_equal(np.isnan(coded), np.isnan(X))
    assert np.nanmin(coded) == 0
    assert np.nanmax(coded) <= 254
