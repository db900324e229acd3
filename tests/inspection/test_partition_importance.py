"""Permutation importance of tables in partitions: that of the whole table, to the bit."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import committee
from committee.data.blocks.opened import OpenedSource
from committee.exceptions import DataError
from committee.inspection import Importance, partition_importance, permutation_importance

N = 300


def make_table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc"))
    table.loc[rng.random(N) < 0.1, "b"] = np.nan
    table["kind"] = pd.Categorical(rng.choice(["red", "green", "blue"], N))
    table["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, N), unit="D")
    return table


TABLE = make_table()
VALUES = (TABLE["a"] + (TABLE["kind"] == "red") + 0.01 * TABLE["day"].dt.day_of_year).to_numpy()
LABELS = np.where(np.median(VALUES) < VALUES, "high", "low")
WEIGHTS = np.arange(N) % 3 + 1.0
WHOLE = TABLE.assign(label=LABELS, value=VALUES, weight=WEIGHTS, unused=1.0)
NUMBERS = ["a", "c"]


def cut(table: Any, n_parts: int) -> list[Any]:
    bounds = np.linspace(0, N, n_parts + 1).astype(int)
    return [table[start:end] for start, end in pairwise(bounds)]


def assert_equal(found: Importance, expected: Importance) -> None:
    assert found.feature_names == expected.feature_names
    assert found.baseline == expected.baseline
    assert found.p_values is not None
    assert np.array_equal(found.p_values, expected.p_values)
    assert np.array_equal(found.importances, expected.importances)
    assert found.importances.any()


MODELS: dict[str, Any] = {
    "boosting": committee.HistGradientBoostingClassifier(max_iter=8, random_state=0).fit(TABLE, LABELS),
    "forest": committee.RandomForestClassifier(8, random_state=0).fit(TABLE, LABELS),
    "tree": committee.DecisionTreeClassifier(max_depth=4, random_state=0).fit(TABLE, LABELS),
    "adaboost": committee.AdaBoostClassifier(n_estimators=8, random_state=0).fit(TABLE, LABELS),
    "voting": committee.VotingClassifier(
        [("one", committee.RandomForestClassifier(3, random_state=0)), ("other", committee.DecisionTreeClassifier())],
        voting="soft",
    ).fit(TABLE, LABELS),
    "of another library": LogisticRegression().fit(TABLE[NUMBERS], LABELS),
}


@pytest.mark.parametrize("n_parts", [1, 3, 17])
@pytest.mark.parametrize("name", MODELS)
def test_equal_to_the_table_in_memory(name: str, n_parts: int) -> None:
    model = MODELS[name]
    table = TABLE[NUMBERS] if name == "of another library" else TABLE
    options: dict[str, Any] = {"n_repeats": 3, "random_state": 4, "sample_weight": WEIGHTS}
    expected = permutation_importance(model, table, LABELS, **options)
    assert_equal(permutation_importance(model, cut(table, n_parts), LABELS, **options), expected)


@pytest.mark.parametrize(
    "scoring",
    [
        "roc_auc",
        "neg_log_loss",
        "accuracy",
        lambda m, X, y: float((m.predict(X)[::7] == y[::7]).all() + m.predict_proba(X)[3, 0]),
    ],
)
@pytest.mark.parametrize("name", ["boosting", "voting"])
def test_scores_that_are_no_sums_over_rows(name: str, scoring: Any) -> None:
    options: dict[str, Any] = {"n_repeats": 2, "random_state": 0, "scoring": scoring}
    expected = permutation_importance(MODELS[name], TABLE, LABELS, **options)
    found = permutation_importance(MODELS[name], cut(TABLE, 4), LABELS, **options)
    assert found.baseline == expected.baseline
    assert np.array_equal(found.importances, expected.importances)


@pytest.mark.parametrize("single", [False, True])
def test_regressors_on_arrays(single: bool) -> None:
    X = TABLE[NUMBERS].to_numpy().astype(np.float32 if single else np.float64)
    model = committee.GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, VALUES)
    expected = permutation_importance(model, X, VALUES, random_state=0)
    assert_equal(permutation_importance(model, cut(X, 5), VALUES, random_state=0), expected)


def test_files_with_the_names_of_target_and_weights(tmp_path: Path) -> None:
    for number, part in enumerate(cut(WHOLE.drop(columns="value"), 3)):
        part.to_parquet(tmp_path / f"part-{number}.parquet", index=False)
    model = MODELS["boosting"]
    expected = permutation_importance(model, TABLE, LABELS, sample_weight=WEIGHTS, random_state=0)
    found = permutation_importance(model, tmp_path, "label", sample_weight="weight", random_state=0)
    assert_equal(found, expected)
    in_memory = TABLE.assign(label=LABELS, weight=WEIGHTS)
    assert_equal(permutation_importance(model, in_memory, "label", sample_weight="weight", random_state=0), expected)


def test_few_features_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    plain = partition_importance.TreePartitions.read

    def read(parts: Any, block: int) -> Any:
        reads.append(block)
        return plain(parts, block)

    monkeypatch.setattr(partition_importance.TreePartitions, "read", read)
    model, parts = MODELS["forest"], cut(TABLE, 2)
    together = permutation_importance(model, parts, LABELS, random_state=0)
    assert reads == 3 * [0, 1]  # as it is, the columns, the shuffles
    reads.clear()
    monkeypatch.setattr(partition_importance, "_MOST_BYTES", 1)
    assert_equal(permutation_importance(model, parts, LABELS, random_state=0), together)
    assert reads == (1 + 2 * TABLE.shape[1]) * [0, 1]


def test_only_columns_and_predictions_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker sends back, for one feature at a time: its column, and predictions."""
    sent: list[tuple[int, ...]] = []
    plain = partition_importance.map_blocks

    def map_blocks(X: Any, function: Any, items: Any, shared: Any) -> Any:
        for answer in plain(X, function, items, shared):
            flat = [own for part in answer for own in (part if isinstance(part, list) else [part])]
            sent.extend(own["raw"].shape if isinstance(own, dict) else own.shape for own in flat)
            yield answer

    monkeypatch.setattr(partition_importance, "map_blocks", map_blocks)
    X = TABLE[NUMBERS].to_numpy()
    model = committee.RandomForestClassifier(4, random_state=0).fit(X, LABELS)
    permutation_importance(model, cut(X, 3), LABELS, n_repeats=2, random_state=0)
    assert sent[:3] == 3 * [(100, 2)]  # probabilities of two classes
    assert sent[3:9] == 6 * [(100, 1)]  # both columns of three partitions
    assert sent[9:] == 12 * [(100, 2)]


def test_refusals(tmp_path: Path) -> None:
    model = MODELS["boosting"]
    with pytest.raises(DataError, match="X has no column 'kind', which HistGradientBoostingClassifier was fitted on"):
        permutation_importance(model, cut(TABLE.drop(columns="kind"), 2), LABELS)
    with pytest.raises(DataError, match=r"got 300 and a y of shape \(299,\)"):
        permutation_importance(model, cut(TABLE, 2), LABELS[1:])
    with pytest.raises(DataError, match="There is no column 'target' in X"):
        permutation_importance(model, cut(TABLE, 2), "target")


def test_a_partition_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for number, part in enumerate(cut(TABLE.assign(label=LABELS), 3)):
        part.to_parquet(tmp_path / f"part-{number}.parquet", index=False)
    opened: list[OpenedSource] = []
    plain = partition_importance.open_partitions

    def damage(model: Any, table: OpenedSource, n_jobs: int | None) -> Any:
        opened.append(table)
        load = table.source.load

        def fail(block: int, columns: Any = None) -> Any:
            if block == 1:
                raise OSError("the disk is gone")
            return load(block, columns)

        monkeypatch.setattr(table.source, "load", fail)
        return plain(model, table, n_jobs)

    monkeypatch.setattr("committee.inspection.importance.open_partitions", damage)
    with pytest.raises(DataError, match=r"Block 1 of X \(.*part-1\.parquet.*\) cannot be loaded: OSError: the disk"):
        permutation_importance(MODELS["boosting"], tmp_path, "label")
