"""Predictions where the partitions are: lazy, and the bytes of the predictions in memory."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import committee
from committee.exceptions import DataTypeError, ParameterError
from committee.inspection import permutation_importance, shap_values
from tests.cluster.tables import MIXED, Y_CLASS, Y_VALUE

FOREST = committee.RandomForestClassifier(6, random_state=0).fit(MIXED, Y_CLASS)
VALUES = committee.HistGradientBoostingRegressor(max_iter=5).fit(MIXED, Y_VALUE)
BOOSTED = committee.HistGradientBoostingClassifier(max_iter=5).fit(MIXED, Y_CLASS)
OUTLIERS = committee.IsolationForest(n_estimators=5, random_state=0).fit(MIXED)
CASES = [
    (FOREST, "predict"),
    (FOREST, "predict_proba"),
    (FOREST, "predict_log_proba"),
    (VALUES, "predict"),
    (BOOSTED, "decision_function"),
    (OUTLIERS, "score_samples"),
    (OUTLIERS, "predict"),
]


def expect(model: Any, method: str) -> Any:
    if method == "shap_values":
        found = shap_values(model, MIXED)
        return np.hstack([found.values.reshape(len(MIXED), -1), found.base_values.reshape(len(MIXED), -1)])
    return getattr(model, method)(MIXED)


@pytest.mark.parametrize(("model", "method"), [*CASES, (FOREST, "shap_values"), (BOOSTED, "shap_values")])
def test_dask_frames(model: Any, method: str) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    table = MIXED.assign(other="unused").set_axis(np.arange(len(MIXED)) + 7)
    lazy = committee.predict_partitions(model, dd.from_pandas(table, npartitions=3, sort=False), method)
    assert lazy.npartitions == 3
    found = lazy.compute(scheduler="sync")
    assert np.array_equal(found.to_numpy(), expect(model, method))
    assert found.index.tolist() == table.index.tolist()
    meta = lazy._meta
    assert meta.columns.tolist() == found.columns.tolist() if found.ndim == 2 else meta.name == found.name
    assert found.to_numpy().dtype == meta.to_numpy().dtype


def test_dask_on_a_cluster_is_lazy_and_equal(dask_client: Any) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    client = dask_client
    with client.as_current():
        lazy = committee.predict_partitions(FOREST, dd.from_pandas(MIXED, npartitions=4, sort=False), "predict_proba")
        assert list(lazy.columns) == ["probability_no", "probability_yes"]
        assert np.array_equal(lazy.compute().to_numpy(), FOREST.predict_proba(MIXED))


def test_permutation_importance_stays_on_a_dask_cluster(dask_client: Any) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    frame = dd.from_pandas(MIXED.assign(label=Y_CLASS, other=0), npartitions=4, sort=False)
    expected = permutation_importance(BOOSTED, MIXED, Y_CLASS, scoring="roc_auc", n_repeats=3, random_state=1)
    with dask_client.as_current(), committee.cluster(dask_client, n_workers=2, distribute="always") as active:
        found = permutation_importance(BOOSTED, frame, "label", scoring="roc_auc", n_repeats=3, random_state=1)
        assert active.traffic.calls == 3 * 4  # as it is, the columns, the shuffles: of each partition
    assert found.baseline == expected.baseline
    assert np.array_equal(found.importances, expected.importances)


def test_permutation_importance_of_a_ray_data_set(ray_cluster: Any) -> None:
    data = pytest.importorskip("ray.data", reason="needs the extra 'ray'")
    parts = [MIXED.iloc[:100].assign(label=Y_CLASS[:100]), MIXED.iloc[100:].assign(label=Y_CLASS[100:])]
    expected = permutation_importance(FOREST, MIXED, Y_CLASS, n_repeats=2, random_state=1)
    with committee.cluster(ray_cluster, n_workers=2, distribute="always"):
        found = permutation_importance(FOREST, data.from_pandas(parts), "label", n_repeats=2, random_state=1)
    assert found.baseline == expected.baseline
    assert np.array_equal(found.importances, expected.importances)


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_dask_arrays(method: str) -> None:
    da = pytest.importorskip("dask.array", reason="needs the extra 'dask'")
    X = MIXED[["a", "b"]].to_numpy()
    model = committee.ExtraTreesClassifier(4, random_state=0).fit(X, (Y_VALUE > 0).astype(int))
    lazy = committee.predict_partitions(model, da.from_array(X, chunks=(90, 1)), method)
    expected = getattr(model, method)(X)
    assert lazy.shape == expected.shape
    assert np.array_equal(lazy.compute(scheduler="sync"), expected)


@pytest.mark.parametrize(
    ("model", "method"), [(FOREST, "predict"), (FOREST, "predict_proba"), (BOOSTED, "shap_values")]
)
def test_ray_data_sets(model: Any, method: str, ray_cluster: Any) -> None:
    data = pytest.importorskip("ray.data", reason="needs the extra 'ray'")
    parts = [MIXED.iloc[:100], MIXED.iloc[100:]]
    answers = committee.predict_partitions(model, data.from_pandas(parts), method)
    assert answers.context.execution_options.preserve_order
    found = answers.to_pandas()
    expected = expect(model, method)
    assert np.array_equal(found.to_numpy().reshape(expected.shape), expected)


@pytest.mark.parametrize(("model", "method"), [(FOREST, "predict"), (BOOSTED, "decision_function")])
def test_files_and_lists(model: Any, method: str, tmp_path: Path) -> None:
    for k, rows in enumerate(np.array_split(np.arange(len(MIXED)), 3)):
        MIXED.iloc[rows].to_parquet(tmp_path / f"part-{k}.parquet", index=False)
    for table in (tmp_path, [MIXED.iloc[:10], MIXED.iloc[10:]]):
        found = np.concatenate(list(committee.predict_partitions(model, table, method)))
        assert np.array_equal(found, expect(model, method))


def test_refusals() -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    frame = dd.from_pandas(MIXED, npartitions=2)
    with pytest.raises(ParameterError, match="must be one of predict, predict_proba"):
        committee.predict_partitions(FOREST, frame, "fit")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="RandomForestClassifier has no 'score_samples'"):
        committee.predict_partitions(FOREST, frame, "score_samples")
    with pytest.raises(DataTypeError, match="Call 'predict' of the model for a table in memory"):
        committee.predict_partitions(FOREST, MIXED)
    several = committee.RandomForestRegressor(2).fit(MIXED, np.column_stack([Y_VALUE, Y_VALUE]))
    with pytest.raises(DataTypeError, match="for one output"):
        committee.predict_partitions(several, frame)


def test_spark_frames(tmp_path: Path) -> None:
    sql = pytest.importorskip("pyspark.sql", reason="needs pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java")
    table = MIXED.assign(kind=MIXED["kind"].astype(object)).astype({"flag": bool})
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path)).config("spark.driver.bindAddress", "127.0.0.1")
    # A few rows do not repay what a compiler of long runs does with them.
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    builder = builder.config("spark.sql.codegen.wholeStage", "false").config(
        "spark.sql.codegen.factoryMode", "NO_CODEGEN"
    )
    spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    try:
        path = str(tmp_path / "rows.parquet")
        table.to_parquet(path, index=False)
        frame = spark.read.parquet(path)
        for model, method in ((FOREST, "predict"), (FOREST, "predict_proba"), (VALUES, "predict")):
            found = committee.predict_partitions(model, frame, method).toPandas()
            expected = expect(model, method)
            assert np.array_equal(found.to_numpy().reshape(expected.shape), expected)
    finally:
        spark.stop()
