"""One model, to the byte: in memory, in blocks, on Dask and on Ray, for any number of workers and of partitions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import committee
from committee.data.blocks import BlockTable
from tests.cluster.tables import MIXED, Y_CLASS, Y_VALUE, digest_model

N_ROWS = 120
WEIGHTS = np.random.default_rng(5).integers(1, 4, N_ROWS).astype(float)
LEVELS = np.digitize(Y_VALUE[:N_ROWS], [-0.2, 0.4, 0.9])
WHOLE = MIXED[:N_ROWS].assign(label=Y_CLASS[:N_ROWS], value=Y_VALUE[:N_ROWS], level=LEVELS, weight=WEIGHTS)
FEATURES = WHOLE[MIXED.columns]
PARTITIONS = [1, 3, 17]

Fit = Callable[[Any, Any, Any], Any]
#: By the target, as each takes a table, the name of its target and weights, or arrays.
FAMILIES: dict[str, dict[str, Fit]] = {
    "label": {
        "forest": lambda X, y, w: committee.RandomForestClassifier(3, random_state=1).fit(X, y, w),
        "bag": lambda X, y, w: committee.BaggingClassifier(n_estimators=3, random_state=1).fit(X, y, w),
        "boosting": lambda X, y, w: committee.HistGradientBoostingClassifier(max_iter=2, random_state=1).fit(X, y, w),
        "stumps": lambda X, y, w: committee.AdaBoostClassifier(n_estimators=3, random_state=1).fit(X, y, w),
        "boosted trees of classes": lambda X, y, w: committee.AdaBoostClassifier(
            committee.DecisionTreeClassifier(max_depth=3), n_estimators=2, random_state=1
        ).fit(X, y, w),
        "voting": lambda X, y, w: committee.VotingClassifier(
            [("f", committee.ExtraTreesClassifier(2)), ("t", committee.DecisionTreeClassifier(max_depth=3))],
            random_state=4,
        ).fit(X, y, w),
    },
    "value": {
        "extra-trees": lambda X, y, w: committee.ExtraTreesRegressor(3, random_state=1).fit(X, y, w),
        "gradient boosting": lambda X, y, w: committee.GradientBoostingRegressor(
            n_estimators=2, subsample=0.7, random_state=1
        ).fit(X, y, w),
        "boosted trees": lambda X, y, w: committee.AdaBoostRegressor(n_estimators=2, random_state=1).fit(X, y, w),
        "stacking": lambda X, y, w: committee.StackingRegressor(
            [("f", committee.ExtraTreesRegressor(2)), ("t", committee.DecisionTreeRegressor(max_depth=3))],
            committee.DecisionTreeRegressor(max_depth=2),
            cv=2,
            random_state=4,
        ).fit(X, y, w),
    },
    "level": {
        "gentle": lambda X, y, w: committee.AdaBoostClassifier(n_estimators=1, algorithm="gentle", random_state=1).fit(
            X, y, w
        ),
        "arcing": lambda X, y, w: committee.ArcingClassifier(n_estimators=1, random_state=1).fit(X, y, w),
        "resampled": lambda X, y, w: committee.AdaBoostClassifier(
            committee.DecisionTreeClassifier(max_depth=2), n_estimators=1, method="resample", random_state=1
        ).fit(X, y, w),
        "boosting of classes": lambda X, y, w: committee.HistGradientBoostingClassifier(max_iter=2, random_state=1).fit(
            X, y, w
        ),
    },
    "none": {
        "isolation": lambda X, y, w: committee.IsolationForest(n_estimators=3, max_samples=32, random_state=1).fit(
            X, None, w
        ),
    },
}
CASES = {name: (target, fit) for target, fits in FAMILIES.items() for name, fit in fits.items()}


@pytest.fixture(scope="module")
def alone() -> dict[str, str]:
    return {
        name: digest_model(fit(FEATURES, WHOLE.get(target), WEIGHTS), FEATURES) for name, (target, fit) in CASES.items()
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Path]:
    """Folders of Parquet files, by target and number of partitions."""
    found = {}
    for target in FAMILIES:
        table = WHOLE[[*FEATURES, "weight", *([target] if target in WHOLE else [])]]
        for n_partitions in PARTITIONS:
            folder = found[target, n_partitions] = tmp_path_factory.mktemp(f"{target}-{n_partitions}")
            for k, rows in enumerate(np.array_split(np.arange(N_ROWS), n_partitions)):
                table.iloc[rows].to_parquet(folder / f"part-{k:02}.parquet", index=False)
    return found


def fit_all(folders: dict[tuple[str, int], Path], n_partitions: int) -> dict[str, str]:
    return {
        name: digest_model(fit(folders[target, n_partitions], target, "weight"), FEATURES)
        for name, (target, fit) in CASES.items()
    }


@pytest.mark.parametrize("n_partitions", PARTITIONS)
def test_blocks_in_this_process(n_partitions: int, folders: dict[tuple[str, int], Path], alone: dict[str, str]) -> None:
    assert fit_all(folders, n_partitions) == alone


@pytest.mark.parametrize(
    ("engine", "n_workers", "partitions"),
    [
        *(("dask", n_workers, PARTITIONS) for n_workers in (1, 2, 4)),
        ("ray", 1, [3]),
        ("ray", 2, PARTITIONS),
        ("ray", 4, [17]),
    ],
)
def test_clusters(
    engine: str,
    n_workers: int,
    partitions: list[int],
    make_workers: Any,
    folders: dict[tuple[str, int], Path],
    alone: dict[str, str],
) -> None:
    with committee.cluster(make_workers(engine, n_workers), n_workers=n_workers, distribute="always") as active:
        for n_partitions in partitions:
            assert fit_all(folders, n_partitions) == alone, n_partitions
        assert len(active.hosts.list_hosts()) == n_workers
        assert active.traffic.lost == 0


@pytest.mark.parametrize("engine", ["executor", "dask", "ray"])
def test_boosting_reads_no_row_in_the_driver(
    engine: str,
    make_workers: Any,
    folders: dict[tuple[str, int], Path],
    alone: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Workers load and bin the partitions; the driver keeps the target and the weights."""

    def load(table: BlockTable, block: int) -> Any:
        pytest.fail(f"the driver reads {table.block_name(block)}")

    monkeypatch.setattr(BlockTable, "load", load)
    with committee.cluster(make_workers(engine, 2), n_workers=2, distribute="always") as active:
        target, fit = CASES["boosting"]
        model = fit(folders[target, 3], target, "weight")
        assert active.traffic.made == 3  # every block once
    assert digest_model(model, FEATURES) == alone["boosting"]


VOTERS: dict[str, Callable[[], Any]] = {
    "forest": lambda: committee.RandomForestClassifier(13, oob_score=True, max_samples=0.6, random_state=1),
    "bag": lambda: committee.BaggingClassifier(n_estimators=12, max_features=0.7, oob_score=True, random_state=1),
}


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("engine", ["executor", "dask", "ray"])
def test_trees_vote_out_of_bag_where_the_rows_are(
    engine: str, make_workers: Any, folders: dict[tuple[str, int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of votes travel and are rounded as in one process; the driver reads no row."""
    expected = {name: digest_model(make().fit(FEATURES, WHOLE["label"], WEIGHTS)) for name, make in VOTERS.items()}

    def load(table: BlockTable, block: int) -> Any:
        pytest.fail(f"the driver reads {table.block_name(block)}")

    monkeypatch.setattr(BlockTable, "load", load)
    with committee.cluster(make_workers(engine, 2), n_workers=2, distribute="always"):
        found = {name: make().fit(folders["label", 3], "label", "weight") for name, make in VOTERS.items()}
    assert all(model.oob_score_ > 0.5 for model in found.values())
    assert {name: digest_model(model) for name, model in found.items()} == expected
