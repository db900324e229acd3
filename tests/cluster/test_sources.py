"""Fits on Dask collections, Ray data sets and Parquet files: the bytes of the fit in memory."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import committee
from committee.data.sources.dask_source import DaskSource
from committee.data.sources.ray_source import RaySource
from committee.exceptions import CommitteeError, DataError
from tests.cluster.tables import MIXED, Y_CLASS, Y_VALUE, digest_model

WEIGHTS = np.random.default_rng(5).integers(1, 4, len(MIXED)).astype(float)
WHOLE = MIXED.assign(label=Y_CLASS, value=Y_VALUE, weight=WEIGHTS)

#: Each takes a table and the name of its target and weights, or arrays.
FAMILIES: dict[str, Callable[..., Any]] = {
    "forest": lambda X, y, w: committee.RandomForestClassifier(7, oob_score=False, random_state=1).fit(X, y, w),
    "extra-trees": lambda X, y, w: committee.ExtraTreesRegressor(5, random_state=1).fit(X, y, w),
    "bag": lambda X, y, w: committee.BaggingClassifier(n_estimators=4, random_state=1).fit(X, y, w),
    "boosting": lambda X, y, w: committee.HistGradientBoostingClassifier(max_iter=6, random_state=1).fit(X, y, w),
    "gradient boosting": lambda X, y, w: committee.GradientBoostingRegressor(
        n_estimators=5, subsample=0.7, random_state=1
    ).fit(X, y, w),
    "adaboost": lambda X, y, w: committee.AdaBoostClassifier(n_estimators=5, random_state=1).fit(X, y, w),
    "isolation": lambda X, y, w: committee.IsolationForest(n_estimators=8, max_samples=32, random_state=1).fit(
        X, None, w
    ),
}
TARGETS = {"extra-trees": "value", "gradient boosting": "value", "isolation": None}


def fit_whole(family: str) -> str:
    name = TARGETS.get(family, "label")
    return digest_model(FAMILIES[family](MIXED, None if name is None else WHOLE[name].to_numpy(), WEIGHTS))


def fit_parts(family: str, collection: Any) -> str:
    name = TARGETS.get(family, "label")
    return digest_model(FAMILIES[family](collection, name, "weight"))


def drop_others(family: str) -> pd.DataFrame:
    """The table with the target of a family only."""
    keep = TARGETS.get(family, "label")
    return WHOLE.drop(columns=[name for name in ("label", "value") if name != keep])


@pytest.fixture(scope="module")
def alone() -> dict[str, str]:
    return {family: fit_whole(family) for family in FAMILIES}


@pytest.mark.parametrize("n_partitions", [1, 3, 17])
def test_dask_frames(n_partitions: int, dask_client: Any, alone: dict[str, str]) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    families = FAMILIES if n_partitions == 3 else ["boosting"]  # workers and partitions: see test_matrix
    with dask_client.as_current(), committee.cluster(dask_client, n_workers=2, distribute="always") as active:
        found = {
            family: fit_parts(family, dd.from_pandas(drop_others(family), npartitions=n_partitions, sort=False))
            for family in families
        }
        assert active.traffic.rounds > 0
    assert found == {family: alone[family] for family in families}


@pytest.mark.parametrize("n_partitions", [1, 3])
def test_ray_data_sets(n_partitions: int, ray_cluster: Any, alone: dict[str, str]) -> None:
    data = pytest.importorskip("ray.data", reason="needs the extra 'ray'")
    families = FAMILIES if n_partitions == 3 else ["boosting"]
    with committee.cluster(ray_cluster, n_workers=2, distribute="always"):
        parts = np.array_split(np.arange(len(WHOLE)), n_partitions)
        found = {}
        for family in families:
            table = drop_others(family)
            found[family] = fit_parts(family, data.from_pandas([table.iloc[rows] for rows in parts]))
    assert found == {family: alone[family] for family in families}


def test_parquet_on_processes(tmp_path: Path, quick_processes: None, alone: dict[str, str]) -> None:
    table = drop_others("forest")
    for k, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[rows].to_parquet(tmp_path / f"part-{k}.parquet", index=False)
    with committee.cluster(2, distribute="always"):
        found = {family: fit_parts(family, tmp_path) for family in ("forest", "boosting")}
    assert found == {family: alone[family] for family in found}


def test_arrays_futures_and_delayed(dask_client: Any) -> None:
    da = pytest.importorskip("dask.array", reason="needs the extra 'dask'")
    dask = pytest.importorskip("dask", reason="needs the extra 'dask'")
    client = dask_client
    X = MIXED[["a", "b"]].to_numpy()
    plain = committee.RandomForestClassifier(5, random_state=0).fit(X, Y_CLASS).predict_proba(X)
    with client.as_current():
        array = da.from_array(X, chunks=(100, 1))
        target = da.from_array(Y_CLASS, chunks=70)
        model = committee.RandomForestClassifier(5, random_state=0).fit(array, target)
        assert np.array_equal(model.predict_proba(X), plain)
        parts = [X[:50], X[50:51], X[51:]]
        futures = client.scatter(parts)
        model = committee.RandomForestClassifier(5, random_state=0).fit(futures, Y_CLASS)
        assert np.array_equal(model.predict_proba(X), plain)
        with committee.cluster(client, distribute="always"):
            model = committee.RandomForestClassifier(5, random_state=0).fit(
                [dask.delayed(np.asarray)(part) for part in parts], Y_CLASS
            )
        assert np.array_equal(model.predict_proba(X), plain)


def test_dask_without_a_cluster(alone: dict[str, str]) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    assert fit_parts("forest", dd.from_pandas(drop_others("forest"), npartitions=3, sort=False)) == alone["forest"]


def test_a_collection_finds_its_cluster(
    dask_client: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, alone: dict[str, str]
) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    client = dask_client
    monkeypatch.setattr("committee.engines.cluster._LEAST_WORK", 1.0)
    monkeypatch.setattr("committee.engines.cluster._LEAST_VALUES", 1.0)
    with client.as_current(), caplog.at_level(logging.INFO, "committee"):
        assert fit_parts("forest", dd.from_pandas(drop_others("forest"), npartitions=3, sort=False)) == alone["forest"]
    assert "3 blocks are read on the Dask cluster; bytes travel." in caplog.text
    assert "is fitted on the Dask cluster" in caplog.text


def fail_in_second(table: pd.DataFrame, partition_info: Any = None) -> pd.DataFrame:
    if partition_info is not None and partition_info["number"] == 1:
        raise OSError("the disk is gone")
    return table


def test_partition_that_fails_to_load_is_named(dask_client: Any) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    client = dask_client
    frame = dd.from_pandas(drop_others("forest"), npartitions=3, sort=False)
    bad = frame.map_partitions(fail_in_second, meta=frame._meta)
    with (
        client.as_current(),
        committee.cluster(client, distribute="always") as active,
        pytest.raises(CommitteeError, match=r"partition 1 of the Dask collection.*the disk is gone"),
    ):
        fit_parts("forest", bad)
    assert active.hosts.traffic.lost == 0


def test_block_of_a_ray_data_set_that_fails_is_named(ray_cluster: Any) -> None:
    data = pytest.importorskip("ray.data", reason="needs the extra 'ray'")
    table = drop_others("boosting").assign(number=np.arange(len(WHOLE)))

    def fail_in_third(part: pd.DataFrame) -> pd.DataFrame:
        if (part["number"] == 150).any():
            raise OSError("the disk is gone")
        return part

    parts = [table.iloc[rows] for rows in np.array_split(np.arange(len(table)), 4)]
    bad = data.from_pandas(parts).map_batches(fail_in_third, batch_format="pandas", batch_size=None)
    with (
        committee.cluster(ray_cluster, n_workers=2, distribute="always") as active,
        pytest.raises(
            DataError, match=r"Block 2 of X \(block 2 of the Ray data set\) cannot be loaded: OSError: the disk"
        ),
    ):
        fit_parts("boosting", bad)
    assert active.hosts.traffic.lost == 0


def test_object_of_a_ray_data_set_that_is_lost_is_named(ray_cluster: Any) -> None:
    """A worker that cannot read a block says which one, and is not taken for a lost one."""
    data = pytest.importorskip("ray.data", reason="needs the extra 'ray'")
    source = RaySource(data.from_pandas([WHOLE.iloc[:100], WHOLE.iloc[100:]]))
    source._references[1] = ray_cluster.remote(fail_to_load).remote()
    with (
        committee.cluster(ray_cluster, n_workers=2, distribute="always") as active,
        pytest.raises(
            CommitteeError, match=r"\(block 1 of the Ray data set\) cannot be loaded: OSError: the node is gone"
        ),
    ):
        committee.HistGradientBoostingRegressor(max_iter=2).fit(source, Y_VALUE)
    assert active.hosts.traffic.lost == 0


def fail_to_load() -> Any:
    raise OSError("the node is gone")


def test_rows_of_a_lazy_ray_data_set_are_in_order(ray_cluster: Any, tmp_path: Path) -> None:
    """The first block is ready after the second."""
    data = pytest.importorskip("ray.data", reason="needs the extra 'ray'")
    ready = tmp_path / "ready"

    def wait_for_second(part: pd.DataFrame) -> pd.DataFrame:
        if part["number"].iloc[0] == 0:
            for _ in range(6000):  # ends also where blocks are computed one after the other
                if ready.exists():
                    break
                time.sleep(0.01)
        else:
            ready.touch()
        return part

    parts = [pd.DataFrame({"number": np.arange(5) + 5 * block}) for block in range(2)]
    source = RaySource(data.from_pandas(parts).map_batches(wait_for_second, batch_format="pandas", batch_size=None))
    assert [source.load(block)["number"][0].as_py() for block in range(source.n_blocks)] == [0, 5]


def test_plain_columns_are_known_without_reading() -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra 'dask'")
    source = DaskSource(dd.from_pandas(WHOLE.assign(small=np.float32(1.0)), npartitions=2))
    kinds = {name: source.find_plain_kind(name) for name in ("a", "flag", "kind", "label", "small")}
    assert kinds == {"a": "double", "flag": "truth", "kind": None, "label": None, "small": "single"}
