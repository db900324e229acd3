"""AdaBoost on trees over the partitions of a table: rows and bins stay on the workers, bytes are the plain fit's."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import committee
from committee.data import Dataset
from committee.data.blocks import BlockTable
from committee.engines.block_trees import BlockTrees
from tests.cluster.tables import MIXED, Y_CLASS, Y_VALUE, digest_model
from tests.cluster.test_boosting import kill_at

N_ROWS = 150
WEIGHTS = np.random.default_rng(3).gamma(0.7, size=N_ROWS)
TABLE = MIXED[:N_ROWS]
FRAME = TABLE.assign(label=Y_CLASS[:N_ROWS], value=Y_VALUE[:N_ROWS], weight=WEIGHTS)


def boost_classes(algorithm: str, depth: int = 3, **options: Any) -> Callable[[], Any]:
    tree = committee.DecisionTreeRegressor if algorithm in ("gentle", "logit") else committee.DecisionTreeClassifier
    return lambda: committee.AdaBoostClassifier(
        tree(max_depth=depth), algorithm=algorithm, n_estimators=3, random_state=0, **options
    )


#: By name: the target, the model, and whether weights are changed where the rows are.
CASES: dict[str, tuple[str, Callable[[], Any], bool]] = {
    "samme": ("label", boost_classes("samme", keep_sample_weights=True), True),
    "samme.r": ("label", boost_classes("samme.r"), True),
    "discrete": ("label", boost_classes("discrete", 2), True),
    "resample": ("label", boost_classes("real", method="resample"), False),
    "gentle": ("label", boost_classes("gentle", 2), False),
    "logit": ("label", boost_classes("logit", 2), False),
    "arcing": (
        "label",
        lambda: committee.ArcingClassifier(
            committee.DecisionTreeClassifier(max_depth=3), n_estimators=3, random_state=0
        ),
        False,
    ),
    "r2": ("value", lambda: committee.AdaBoostRegressor(n_estimators=3, random_state=0), False),
    "rt": (
        "value",
        lambda: committee.AdaBoostRegressor(n_estimators=3, algorithm="rt", method="reweight", random_state=0),
        False,
    ),
}


def describe(model: Any) -> tuple[str, ...]:
    names = "estimator_weights_", "estimator_errors_", "sample_weights_trace_"
    fitted = (np.asarray(getattr(model, name, 0.0)) for name in names)
    return digest_model(model, TABLE), *(values.tobytes().hex() for values in fitted)


@pytest.fixture(scope="module")
def alone() -> dict[str, tuple[str, ...]]:
    return {
        name: describe(make().fit(TABLE, FRAME[target], sample_weight=WEIGHTS))
        for name, (target, make, _) in CASES.items()
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Path]:
    """Folders of Parquet files, by target and number of partitions."""
    found = {}
    for target in ("label", "value"):
        for n_partitions in (1, 5):
            folder = found[target, n_partitions] = tmp_path_factory.mktemp(f"{target}-{n_partitions}")
            for k, rows in enumerate(np.array_split(np.arange(N_ROWS), n_partitions)):
                own = FRAME.iloc[rows][[*TABLE.columns, target, "weight"]]
                own.to_parquet(folder / f"part-{k}.parquet", index=False)
    return found


@pytest.mark.parametrize("engine", ["executor", "dask", "ray"])
def test_driver_has_no_bins(
    engine: str,
    make_workers: Any,
    folders: dict[tuple[str, int], Path],
    alone: dict[str, tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The driver neither reads a row nor gathers bins, and the fit is that of one process, to the byte."""

    def load(table: BlockTable, block: int) -> Any:
        pytest.fail(f"the driver reads {table.block_name(block)}")

    def gather(*_: Any) -> Any:
        pytest.fail("the driver gathers the bins")

    monkeypatch.setattr(BlockTable, "load", load)
    monkeypatch.setattr(Dataset, "binned", gather)
    caplog.set_level(logging.INFO, logger="committee")
    with committee.cluster(make_workers(engine, 2), n_workers=2, distribute="always") as active:
        for n_partitions in (1, 5):
            for name, (target, make, _) in CASES.items():
                model = make().fit(folders[target, n_partitions], target, sample_weight="weight")
                assert describe(model) == alone[name], (name, n_partitions)
        assert active.traffic.lost == 0
    assert caplog.text.count("with trees, by rows, is fitted on") == 2 * len(CASES)


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_worker_killed_in_mid_fit(
    engine: str,
    make_workers: Any,
    folders: dict[tuple[str, int], Path],
    alone: dict[str, tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With SIGKILL, while trees are grown; weights that the rows have got so far are not lost with it."""
    with committee.cluster(make_workers(engine, 2), n_workers=2, distribute="always") as active:
        for lost, (name, number) in enumerate([("samme", 9), ("r2", 15)]):
            target, make, _ = CASES[name]
            kill_at(active.hosts, number, monkeypatch)
            assert describe(make().fit(folders[target, 5], target, sample_weight="weight")) == alone[name]
            assert active.traffic.lost == lost + 1


def test_weights_stay_where_the_rows_are(
    folders: dict[tuple[str, int], Path], quick_processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first round nothing that has a number for each row travels, unless it is asked for."""

    def refuse(*_: Any) -> Any:
        pytest.fail("weights or leaves of rows travel")

    monkeypatch.setattr(BlockTrees, "set_weights", refuse)
    monkeypatch.setattr(BlockTrees, "find_leaves", refuse)
    with committee.cluster(2, distribute="always"):
        for name, (target, make, stay) in CASES.items():
            if stay and name != "samme":
                make().fit(folders[target, 5], target, sample_weight="weight")


def test_trees_that_need_more_than_histograms(
    folders: dict[tuple[str, int], Path], quick_processes: None, caplog: pytest.LogCaptureFixture
) -> None:
    """Random splits are grown by the driver, on bins that the workers made."""
    caplog.set_level(logging.INFO, logger="committee")

    def make() -> Any:
        return committee.AdaBoostClassifier(committee.ExtraTreeClassifier(max_depth=2), n_estimators=2, random_state=0)

    expected = describe(make().fit(TABLE, FRAME["label"], sample_weight=WEIGHTS))
    with committee.cluster(2, distribute="always"):
        assert describe(make().fit(folders["label", 5], "label", sample_weight="weight")) == expected
    assert "need more than histograms" in caplog.text
