"""Forests on a GPU beside this library's CPU engine: `python benchmarks/gpu_forest.py`.

Prints the seconds of a whole call and of its parts, and whether the first trees have the digest of the CPU's, and keeps
those of the second of two calls in ``results/gpu_forest.json`` (or ``--out``).
``--quick`` is a smoke test.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from committee import _core
from committee.engines.gpu import forest
from committee.engines.gpu.device import open_device


@dataclass(frozen=True)
class ForestTask:
    """A table and the trees that are grown for it."""

    name: str
    n_rows: int
    n_features: int
    n_trees: int
    criterion: str = "gini"
    max_features: int = 5
    random_splits: bool = False
    n_classes: int = 2
    max_depth: int = 0xFFFFFFFF
    n_compared: int = 4
    """Trees of the CPU engine, whose digest is compared."""


TASKS = [
    ForestTask("random forest, 1M x 28", 1_000_000, 28, 100),
    ForestTask("extra-trees, 1M x 28", 1_000_000, 28, 100, random_splits=True),
    ForestTask("random forest of numbers, 1M x 28", 1_000_000, 28, 100, "squared_error", 9, n_compared=2),
    ForestTask("7 classes, 500k x 54", 500_000, 54, 100, "gini", 7, n_classes=7),
    ForestTask("random forest, depth 16, 1M x 28", 1_000_000, 28, 100, max_depth=16),
    ForestTask("random forest, 100k x 28", 100_000, 28, 100),
]
QUICK = [ForestTask("random forest, quick", 2_000, 6, 3, max_features=2, n_compared=3)]


PARTS = {"_upload": "upload", "_prepare": "prepare", "_grow_levels": "levels", "_read": "read"}
"""Methods of the grower whose time is measured, and what it is called."""


def draw_table(task: ForestTask) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((task.n_rows, task.n_features), np.float32)
    z = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * X[:, 3] * X[:, 4] + rng.standard_normal(task.n_rows)
    return X, z


def time_parts(seconds: dict[str, float], name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """The same call, whose time is added up."""

    def timed(*arguments: Any, **named: Any) -> Any:
        start = time.perf_counter()
        try:
            return call(*arguments, **named)
        finally:
            seconds[name] += time.perf_counter() - start

    return timed


class _TimedCore:
    """The core, with the time of the host's parts."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.sample_forest = time_parts(seconds, "sample", _core.sample_forest)
        self.assemble_forest = time_parts(seconds, "assemble", _core.assemble_forest)

    def __getattr__(self, name: str) -> Any:
        return getattr(_core, name)


def digest(trees: _core.Trees, n: int) -> str:
    return hashlib.sha256(pickle.dumps(_core.concatenate_trees([trees.select(0, n)]))).hexdigest()[:16]


def run_task(task: ForestTask, device: Any) -> dict[str, Any]:
    X, z = draw_table(task)
    bins = _core.BinMapper.fit(X, None, np.zeros(task.n_features, np.uint32), 255, 0).transform(X, 0)
    params, plan = _core.GrowParams(), _core.ForestPlan()
    params.criterion, params.max_features, params.random_splits = task.criterion, task.max_features, task.random_splits
    params.max_depth, params.shuffle_ties, params.seed = task.max_depth, True, 1
    sampling = _core.RowSampling()
    sampling.replace, sampling.n_draws = True, 0 if task.random_splits else task.n_rows
    plan.sampling = sampling
    classes = task.criterion != "squared_error"
    edges = np.quantile(z, np.arange(1, task.n_classes) / task.n_classes)
    labels = np.digitize(z, edges).astype(np.uint32)[:, None] if classes else None
    values = None if classes else np.ascontiguousarray(z, np.float64)[:, None]
    given = (bins, None, labels, [task.n_classes] if classes else [], values, None, params, plan)
    found: dict[str, Any] = {"task": task.name}
    plan.n_trees = task.n_compared
    start = time.perf_counter()
    expected = _core.grow_forest(*given)
    found["cpu_s_per_tree"] = (time.perf_counter() - start) / task.n_compared
    for again in range(2):
        plan.n_trees = task.n_trees
        seconds: dict[str, float] = defaultdict(float)
        forest._core = _TimedCore(seconds)  # type: ignore[assignment, attr-defined]
        kept = {name: getattr(forest.ForestGrower, name) for name in PARTS}
        for name, call in kept.items():
            setattr(forest.ForestGrower, name, time_parts(seconds, PARTS[name], call))
        start = time.perf_counter()
        trees, importances = forest.grow_device_forest(*given, device=device)
        found[f"gpu_s_{again}"] = round(time.perf_counter() - start, 3)
        for name, call in kept.items():
            setattr(forest.ForestGrower, name, call)
        found[f"parts_{again}"] = {name: round(value, 3) for name, value in seconds.items()}
    forest._core = _core  # type: ignore[attr-defined]
    n = task.n_compared
    found["nodes"] = int(trees.node_offsets[-1])
    found["same"] = digest(trees, n) == digest(expected[0], n) and bool((importances[:n] == expected[1]).all())
    return found


def main() -> None:
    """Run the tasks and print what was measured, a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu_forest.json")
    options = parser.parse_args()
    device, rows = open_device(), []
    for task in QUICK if options.quick else TASKS:
        if options.only in task.name:
            found = run_task(task, device)
            print(json.dumps(found), flush=True)
            seconds = {"whole call": found["gpu_s_1"], **found["parts_1"]}
            rows.append({"task": task.name, "seconds": seconds, "nodes": found["nodes"], "same bytes": found["same"]})
            options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
