"""Fits on clusters: `python benchmarks/cluster.py`; --quick is a smoke test.

The same table and the same fit in this process, from blocks in this process, and on 1, 2 and 4 worker processes of a
process pool, Dask and Ray, beside the Dask modes of LightGBM and XGBoost. Blocks are Parquet files, which the workers
read and bin by themselves; LightGBM and XGBoost get Dask arrays that their workers have in memory already. Two fits of
different length separate the seconds of a tree from those of reading and binning. Workers have one thread each; more
workers than cores share them. CPU seconds are those of the driver and of all processes that it has started.

Workers of the driver's machine take the steps of boosting over a channel of the operating system. "Dask alone" is the
same fit with Dask's own connections, as to workers of other machines. A single worker grows several trees in one call.
The target is a product of two features above all, whose first splits are a matter of chance: from one table to the next
the AUC of boosting and of LightGBM differ by up to 0.002, in either direction.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

if not __package__:
    # Instead of this folder, whose sparse.py would stand for the package of that name that Dask imports.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import committee
from benchmarks.machine import measure_load, show_machine
from benchmarks.report import RESULTS

N_FEATURES, LEAVES, RATE, DEPTH = 28, 31, 0.1, 4


@dataclass(frozen=True)
class Sizes:
    """Rows, the numbers of trees of the two fits of boosting and of other ensembles, the numbers of workers."""

    rows: int = 300_000
    boosted: tuple[int, int] = (5, 35)
    grown: tuple[int, int] = (4, 12)
    workers: tuple[int, ...] = (1, 2, 4)


QUICK = Sizes(rows=4_000, boosted=(2, 4), grown=(2, 4), workers=(2,))
N_FILES = 8


@dataclass(frozen=True)
class Row:
    """A line of the table of results."""

    name: str
    workers: int
    setup: float
    tree: float
    cpu: float
    score: float
    rounds: float = 0.0
    megabytes: float = 0.0
    digest: str = ""


def make_rows(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) + 0.5 * X[:, 3] ** 2 + 0.3 * X[:, 4]
    return X, (score + rng.normal(size=n_rows) > 0.5).astype(np.int64)


def boost(n_trees: int) -> Any:
    return committee.HistGradientBoostingClassifier(
        max_iter=n_trees, max_leaf_nodes=LEAVES, learning_rate=RATE, early_stopping=False, min_samples_leaf=20
    )


def grow(n_trees: int) -> Any:
    return committee.RandomForestClassifier(n_trees, random_state=0, max_depth=10, min_samples_leaf=5)


def reweight(n_trees: int) -> Any:
    tree = committee.DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=20)
    return committee.AdaBoostClassifier(tree, n_estimators=n_trees, random_state=0)


FAMILIES: dict[str, Callable[[int], Any]] = {"boosting": boost, "forest": grow, "AdaBoost": reweight}


class Study:
    """The table, and the measurements so far."""

    def __init__(self, sizes: Sizes, folder: Path) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self.sizes, self.rows, self.folder = sizes, [], folder
        self.X, self.y = make_rows(sizes.rows)
        self.X_test, self.y_test = make_rows(min(100_000, sizes.rows), seed=1)
        for number, rows in enumerate(np.array_split(np.arange(sizes.rows), N_FILES)):
            columns = {f"x{j}": self.X[rows, j] for j in range(N_FEATURES)}
            parquet.write_table(pa.table({**columns, "y": self.y[rows]}), folder / f"part-{number}.parquet")

    def measure(self, name: str, workers: int, fit: Callable[[int], Any], traffic: Any = None) -> None:
        """Fit twice, and note the seconds of a tree and of the rest, the score, and what travelled."""
        from sklearn.metrics import roc_auc_score

        few, many = self.sizes.boosted if "boosting" in name else self.sizes.grown
        fit(1)  # imports, first connections
        counts = [] if traffic is None else [vars(traffic).copy()]
        start, cpu_start = time.perf_counter(), measure_cpu()
        fit(few)
        middle, cpu_middle = time.perf_counter(), measure_cpu()
        if traffic is not None:
            counts.append(vars(traffic).copy())
        model = fit(many)
        end, cpu_end = time.perf_counter(), measure_cpu()
        cpu = max(0.0, (cpu_end - cpu_middle) - (cpu_middle - cpu_start)) / (many - few)
        tree = max(0.0, (end - middle) - (middle - start)) / (many - few)
        scores = model(self.X_test) if callable(model) else model.predict_proba(self.X_test)[:, 1]
        rounds = megabytes = 0.0
        if traffic is not None:
            # What both fits sent, the table above all, is no part of a tree.
            counts.append(vars(traffic).copy())
            begin, between, after = ({**c, "moved": c["sent"] + c["received"]} for c in counts)
            of_tree = {name: after[name] - 2 * between[name] + begin[name] for name in ("rounds", "moved")}
            rounds, megabytes = (of_tree[name] / (many - few) for name in ("rounds", "moved"))
            megabytes /= 1e6
        digest = hashlib.sha256(np.asarray(scores, dtype=np.float64).tobytes()).hexdigest()[:8]
        setup = max(0.0, (middle - start) - few * tree)
        row = Row(name, workers, setup, tree, cpu, float(roc_auc_score(self.y_test, scores)), rounds, megabytes, digest)
        self.rows.append(row)
        print(show_row(row), flush=True)


def measure_cpu() -> float:
    """CPU seconds so far of this process and of all processes that it has started and that are running."""
    import psutil

    total = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def show_row(row: Row) -> str:
    cells = [row.name, str(row.workers), f"{row.setup:.2f}", f"{row.tree * 1e3:.1f}", f"{row.cpu * 1e3:.0f}"]
    cells.append(f"{row.score:.4f}")
    cells += [f"{row.rounds:.1f}", f"{row.megabytes:.2f}", row.digest] if row.rounds else ["", "", row.digest]
    return "| " + " | ".join(cells) + " |"


HEAD = ["fit", "workers", "set-up s", "ms a tree", "CPU ms a tree", "AUC"]
HEAD += ["round trips a tree", "MB a tree", "digest of the scores"]


@contextmanager
def start_dask(n_workers: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
        ) as local,
        Client(local) as client,
    ):
        yield client


def has(*names: str) -> bool:
    try:
        for name in names:
            importlib.import_module(name)
    except ImportError:
        return False
    return True


def measure_here(study: Study, families: tuple[str, ...]) -> None:
    """Fit in this process, with one thread and with all, and from blocks."""
    for family, make in FAMILIES.items():
        if family not in families:
            continue
        for jobs in (1, None):
            one = f"{family}, in memory, {'1 thread' if jobs else 'all threads'}"
            study.measure(one, 0, lambda n, make=make, jobs=jobs: make(n).set_params(n_jobs=jobs).fit(study.X, study.y))
        study.measure(f"{family}, blocks in this process", 0, lambda n, make=make: make(n).fit(study.folder, "y"))


def measure_cluster(
    study: Study, name: str, workers: Any, n_workers: int, families: tuple[str, ...], *, direct: bool = True
) -> None:
    with committee.cluster(workers, n_workers=n_workers, distribute="always") as active:
        active.hosts.direct = direct
        for family, make in FAMILIES.items():
            if family not in families:
                continue
            study.measure(
                f"{family}, {name}",
                n_workers,
                lambda n, make=make: make(n).fit(study.folder, "y"),
                active.traffic,
            )


def measure_lightgbm(study: Study, client: Any, n_workers: int) -> None:
    import dask.array as da
    import lightgbm

    rows = -(-study.sizes.rows // n_workers)
    X, y = (client.persist(da.from_array(table, chunks=(rows, *table.shape[1:]))) for table in (study.X, study.y))

    def fit(n_trees: int) -> Any:
        model = lightgbm.DaskLGBMClassifier(
            n_estimators=n_trees, num_leaves=LEAVES, learning_rate=RATE, tree_learner="data", client=client, verbose=-1
        ).fit(X, y)
        return model.to_local()

    study.measure("LightGBM boosting, Dask", n_workers, fit)


def measure_xgboost(study: Study, client: Any, n_workers: int) -> None:
    import dask.array as da
    import xgboost
    from xgboost import dask as xgb_dask

    rows = -(-study.sizes.rows // n_workers)
    X, y = (client.persist(da.from_array(table, chunks=(rows, *table.shape[1:]))) for table in (study.X, study.y))
    params = {"max_leaves": LEAVES, "grow_policy": "lossguide", "max_depth": 0, "eta": RATE, "tree_method": "hist"}

    def fit(n_trees: int) -> Any:
        matrix = xgb_dask.DaskQuantileDMatrix(client, X, y)
        booster = xgb_dask.train(
            client, {**params, "objective": "binary:logistic", "nthread": 1}, matrix, num_boost_round=n_trees
        )["booster"]
        return lambda rows: booster.predict(xgboost.DMatrix(rows))

    study.measure("XGBoost boosting, Dask", n_workers, fit)


def run(study: Study, families: tuple[str, ...]) -> None:
    measure_here(study, families)
    for n_workers in study.sizes.workers:
        measure_cluster(study, "process pool", n_workers, n_workers, families)
        if has("distributed"):
            with start_dask(n_workers) as client:
                measure_cluster(study, "Dask", client, n_workers, families)
                measure_cluster(study, "Dask alone", client, n_workers, ("boosting",), direct=False)
                if has("lightgbm"):
                    measure_lightgbm(study, client, n_workers)
                if has("xgboost"):
                    measure_xgboost(study, client, n_workers)
        if has("ray"):
            import ray

            ray.init(num_cpus=n_workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
            try:
                measure_cluster(study, "Ray", ray, n_workers, families)
            finally:
                ray.shutdown()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small table, two workers, nothing is written")
    parser.add_argument("--print-only", action="store_true", help="the results are printed, and not written")
    parser.add_argument("--rows", type=int, default=Sizes.rows)
    parser.add_argument("--workers", type=int, nargs="+", default=list(Sizes.workers))
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    given = parser.parse_args(arguments)
    sizes = QUICK if given.quick else Sizes(rows=given.rows, workers=tuple(given.workers))
    head = "| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD)
    print(head)
    load = measure_load()
    with TemporaryDirectory(prefix="cluster-") as folder:
        study = Study(sizes, Path(folder))
        run(study, tuple(given.families))
    if not given.quick and not given.print_only:
        text = (
            f"# Fits on clusters\n\n{sizes.rows:,} rows x {N_FEATURES} features (float32), {LEAVES} leaves; forests of "
            f"trees of depth 10, AdaBoost on trees of depth {DEPTH}. {show_machine()}. Load before: {load:.0%}. "
            "Workers are processes of one thread on this machine. Made by `benchmarks/cluster.py`, whose heading says "
            "what is measured.\n\n"
        )
        lines = "\n".join(show_row(row) for row in study.rows)
        (RESULTS / "cluster.md").write_text(f"{text}{head}\n{lines}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
