"""Models of both engines have the same digests on tables of public data; a part of `benchmarks/gpu_digests.py`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.gpu_digests import FITS, REGRESSION, compare, read_table
from committee.engines.gpu import Device

FITS_OF_TABLES = [
    ("abalone", "levels"),
    ("adult", "leaves"),
    ("airlines_2k", "levels"),
    ("ames_housing", "leaves of one row"),
    ("bank_marketing", "goss"),
    ("boston", "random forest"),
    ("california_housing", "extra-trees"),
    ("covertype", "leaves"),
    ("diamonds", "drawn rows"),
    ("dna", "random forest"),
    ("german_credit", "leaves"),
    ("heart_cleveland", "drawn rows"),
    ("higgs_7500", "levels"),
    ("ionosphere", "extra-trees"),
    ("letter", "random forest"),
    ("magic_telescope", "goss"),
    ("mnist", "levels"),
    ("mushroom", "leaves"),
    ("pima_diabetes", "leaves of one row"),
    ("sa_heart", "random forest"),
    ("sonar", "levels"),
    ("spambase", "extra-trees"),
    ("titanic", "leaves"),
    ("titanic_kaggle", "drawn rows"),
    ("vowel", "extra-trees"),
    ("vowel", "AdaBoost"),
    ("wine_quality", "AdaBoost"),
    ("wine_quality", "goss"),
    ("zip_digits", "random forest"),
]
N_ROWS, N_FEATURES, N_ROUNDS = 120, 10, 1


@pytest.mark.parametrize(("name", "fit"), FITS_OF_TABLES)
def test_digests_are_equal(device: Device, name: str, fit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = os.environ.get("COMMITTEE_DATA")
    path = Path(folder or "") / f"{name}.parquet"
    if not folder or not path.is_file():
        pytest.skip("COMMITTEE_DATA names no folder with this table")
    for module in ("boosting", "forest", "stumps"):
        monkeypatch.setattr(f"committee.engines.gpu.{module}.open_device", lambda: device)
    table = read_table(path, N_ROWS, 10**9).take(N_ROWS, N_FEATURES)
    assert fit in FITS
    assert table.is_regression == (name in REGRESSION)
    assert compare(fit, table, N_ROUNDS)
