"""Columns beside the records: which features have them, and that trees do not depend on it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from committee.engines.gpu import Device, hot_columns
from committee.engines.gpu.layout import FINAL_NODE
from tests.gpu.comparing import check_equal, make_table


def test_features_are_ranked_by_the_rows_that_they_split() -> None:
    tree = np.zeros(5, FINAL_NODE)
    tree["left"], tree["feature"], tree["count"] = [1, 3, -1, -1, -1], [2, 7, 0, 0, 0], [99, 99, 30, 5, 6]
    other = np.zeros(3, FINAL_NODE)
    other["left"], other["feature"], other["count"] = [1, -1, -1], [7, 0, 0], [99, 20, 15]
    # Feature 7 splits 11 rows of the first tree and 35 of the other, feature 2 the 41 of the first.
    assert hot_columns.rank_split_features([tree, other], 9).tolist() == [7, 2]
    assert hot_columns.rank_split_features([tree], 9).tolist() == [2, 7]
    assert hot_columns.rank_split_features([np.zeros(0, FINAL_NODE)], 9).tolist() == []
    assert hot_columns.mark_columns(4, [3, 0]).tolist() == [1, 0xFFFFFFFF, 0xFFFFFFFF, 0]


def test_how_many_columns_there_are_and_when_they_are_chosen() -> None:
    # As many as 2.5 bytes for each value leave room for, and a quarter of the features if there is memory.
    assert hot_columns.count_columns(10_000_000, 28, 500_000_000, 1 << 40) == 20
    assert hot_columns.count_columns(10_000_000, 28, 100_000_000, 1 << 40) == 28
    assert hot_columns.count_columns(10_000_000, 28, 690_000_000, 1 << 40) == 7
    assert hot_columns.count_columns(10_000_000, 28, 690_000_000, 50_000_000) == 5
    assert hot_columns.count_columns(10_000_000, 28, 0, -1) == 0
    assert hot_columns.count_columns(1000, 28, 0, 1 << 40) == 0
    assert hot_columns.count_columns(10_000_000, 5000, 1 << 60, 1 << 60) == 64
    assert [n for n in range(1, 300) if hot_columns.chooses_again(n)] == [1, 4, 16, 64, 256]


@pytest.mark.parametrize(
    "params", [{"max_depth": 4}, {"max_leaf_nodes": 12}, {"subsample": 0.5, "max_depth": 3}], ids=str
)
@pytest.mark.parametrize("ample", [False, True])
def test_trees_do_not_depend_on_columns(
    device: Device, params: dict[str, Any], ample: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hot_columns, "_LEAST_ROWS", 1)
    monkeypatch.setattr(hot_columns, "_MOST_BYTES", 1e9 if ample else 0.0)
    X, z = make_table(900, 40, missing=0.1)
    gpu = check_equal(device, X, (z > 0).astype(float), "logistic", n_rounds=6, **params)
    grower = gpu._grower
    places = device.copy_out(grower._memories["column_of"], np.uint32, 40)
    chosen = np.flatnonzero(places != 0xFFFFFFFF)
    assert len(chosen) == 40 if ample else 0 < len(chosen) <= 10
    assert sorted(places[chosen]) == list(range(len(chosen)))
    # The columns are those of the table.
    stride, records = 928, device.copy_out(grower._memories["records"], np.uint8, 2 * 900 * 32).reshape(2, 900, 32)
    columns = device.copy_out(grower._memories["columns"], np.uint8, stride * len(chosen)).reshape(-1, stride)
    for feature in chosen:
        np.testing.assert_array_equal(columns[places[feature], :900], records[feature // 32, :, feature % 32])


def test_headers_of_the_kernels_are_installed() -> None:
    from committee.engines.gpu.sources import list_include_folders

    kernels, root = list_include_folders()[0], list_include_folders()[0].parents[4]
    made = root / "CMakeLists.txt"
    if not made.is_file():
        pytest.skip("the package is installed: what it lacks does not compile")
    listed = made.read_text(encoding="utf-8")
    named = {
        header
        for path in kernels.iterdir()
        for header in re.findall(r'#include "committee/([^"]+)"', path.read_text(encoding="utf-8"))
    }
    assert "stump_weights.hpp" in named
    for header in named:
        folder = header.partition("/")[0]
        assert f"${{SHARED_HEADERS}}/{header}" in listed or f"${{SHARED_HEADERS}}/{folder} " in listed, header
