"""Gradient boosting on a GPU, beside XGBoost on it and this library's CPU engine: `python benchmarks/gpu.py`.

Every figure is printed when it is known and kept in ``results/gpu.json`` (or ``--out``). Tables are drawn by a formula
of interactions and noise; scores are of 200,000 rows that were not learnt from. ``--quick`` is a smoke test.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from committee import _core
from committee.engines.gpu import GpuBoosting, GpuPredictor, open_device
from committee.engines.tree_model import TreeModel

RATE, N_TEST, MAX_BINS = 0.1, 200_000, 255
N_PREDICTED, N_REPEATS = 4_000_000, 3


@dataclass(frozen=True)
class Task:
    """A table and the trees that are grown for it."""

    name: str
    n_rows: int
    n_features: int
    n_rounds: int
    max_depth: int = 0
    max_leaves: int = 0
    n_classes: int = 2
    min_samples_leaf: int = 0
    cpu_rounds: int = 10
    """Rounds of the CPU engine, after which digests are compared."""


TASKS = [
    Task("depth 8, 1M", 1_000_000, 28, 500, max_depth=8, cpu_rounds=30),
    Task("255 leaves, 1M", 1_000_000, 28, 500, max_leaves=255, cpu_rounds=30),
    Task("31 leaves of 20 rows, 1M", 1_000_000, 28, 100, max_leaves=31, min_samples_leaf=20, cpu_rounds=30),
    Task("depth 8, 100k", 100_000, 28, 500, max_depth=8, cpu_rounds=100),
    Task("7 classes, 500k x 54, depth 8", 500_000, 54, 50, max_depth=8, n_classes=7, cpu_rounds=5),
    Task("wide, 100k x 2,000, depth 8", 100_000, 2000, 50, max_depth=8, cpu_rounds=5),
    Task("depth 8, 10M", 10_000_000, 28, 500, max_depth=8, cpu_rounds=5),
    Task("255 leaves, 10M", 10_000_000, 28, 100, max_leaves=255, cpu_rounds=5),
]
QUICK = [
    Task("depth 4, quick", 2_000, 5, 3, max_depth=4, cpu_rounds=3),
    Task("7 leaves of 20 rows, quick", 2_000, 5, 3, max_leaves=7, min_samples_leaf=20, cpu_rounds=3),
]


@dataclass
class Figures:
    """What was measured of a task, in seconds unless said otherwise."""

    task: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)


def measure(figures: Figures, name: str, call: Callable[[], Any]) -> Any:
    """The result of a call, whose time is kept and printed."""
    start = time.perf_counter()
    result = call()
    figures.seconds[name] = time.perf_counter() - start
    print(f"  {name:38} {figures.seconds[name]:9.3f} s", flush=True)
    return result


def draw_table(n_rows: int, n_features: int, n_classes: int, seed: int) -> tuple[Any, Any]:
    """Features, float32, and classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    z = X[:, 0] * X[:, 1] + 0.7 * X[:, 2] + np.sin(2 * X[:, 3]) * X[:, 4 % n_features]
    z = z + rng.standard_normal(n_rows, dtype=np.float32)
    cuts = [0.0] if n_classes == 2 else np.linspace(-2, 2, n_classes - 1)
    return X, np.digitize(z, cuts).astype(np.float64)


def make_params(task: Task, n_jobs: int = 0) -> _core.BoostingParams:
    params = _core.BoostingParams()
    params.n_jobs, params.learning_rate, params.reg_lambda, params.min_child_weight = n_jobs, RATE, 1.0, 1.0
    params.max_leaf_nodes, params.min_samples_leaf = task.max_leaves, task.min_samples_leaf
    if task.max_depth:
        params.max_depth = task.max_depth
    return params


def start(kind: Any, bins: _core.BinnedMatrix, y: Any, task: Task) -> Any:
    loss, n_scores = ("logistic", 1) if task.n_classes == 2 else ("softmax", task.n_classes)
    state = kind(bins, y, None, loss, float("nan"), n_scores, make_params(task), [])
    state.add_constant(list(state.find_baseline()))
    return state


def find_score(scores: Any, y: Any, n_classes: int) -> float:
    """Area under the curve, or log-loss of several classes."""
    if n_classes == 2:
        return float(roc_auc_score(y, scores))
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return float(log_loss(y, shares / shares.sum(axis=1, keepdims=True), labels=np.arange(n_classes)))


def digest(state: Any, last: int) -> str:
    return hashlib.sha256(pickle.dumps(state.finish(0, last))).hexdigest()[:16]


def run_ours(task: Task, X: Any, y: Any, test: tuple[Any, Any], figures: Figures) -> None:
    levels = np.zeros(X.shape[1], np.uint32)
    mapper = measure(figures, "bins learnt, CPU", lambda: _core.BinMapper.fit(X, None, levels, MAX_BINS, 0))
    bins = measure(figures, "bins applied, CPU", lambda: mapper.transform(X, 0))
    # Kernels are compiled at their first launch, which is not timed here (`gpu_first_use.py`).
    start(GpuBoosting, bins, y, task).boost(2)
    gpu = measure(figures, "GPU engine, table to the device", lambda: start(GpuBoosting, bins, y, task))
    per_round = gpu.n_scores
    measure(figures, f"GPU engine, {task.n_rounds} rounds", lambda: gpu.boost(task.n_rounds))
    trees = gpu.finish()
    raw = trees.predict(test[0], "sum", None, gpu.slots, per_round, n_jobs=0) + np.array(gpu.find_baseline())
    figures.scores["GPU engine"] = find_score(raw[:, 0] if per_round == 1 else raw, test[1], task.n_classes)
    state = gpu._grower._read_state()
    figures.notes |= {"steps": int(state["n_steps"]), "expanded": int(state["n_expanded"])}
    figures.notes |= {"counted": int(state["n_counts"]), "device bytes": gpu.nbytes}
    cpu = start(_core.Boosting, bins, y, task)
    measure(figures, f"CPU engine, {task.cpu_rounds} rounds", lambda: cpu.boost(task.cpu_rounds))
    last = task.cpu_rounds * per_round
    figures.notes["same bytes"] = digest(cpu, last) == digest(gpu, last)
    predict_on_device(gpu, test[0], figures)
    print(f"  score {figures.scores['GPU engine']:.5f} {figures.notes}", flush=True)


class GrownModel:
    """Trees as an estimator presents them."""

    def __init__(self, gpu: GpuBoosting) -> None:
        self._gpu = gpu

    def to_tree_model(self) -> TreeModel:
        """Sums of leaves, from the baseline."""
        gpu: Any = self._gpu
        baseline = np.array(gpu.find_baseline())
        return TreeModel(gpu.finish(), gpu, "sum", None, gpu.slots, gpu.n_scores, baseline)


def copy_to_device(X: Any) -> Any:
    """Rows to be predicted, on the device, over and over again; None where there is no CuPy."""
    try:
        import cupy
    except ImportError:
        return None
    return cupy.asarray(np.resize(X, (N_PREDICTED, X.shape[1])))


def measure_prediction(figures: Figures, name: str, predict: Callable[[], Any]) -> Any:
    """Rows a second, the best of a few, by rows that are on the device."""
    best = float("inf")
    for _ in range(N_REPEATS + 1):
        start = time.perf_counter()
        found = predict()
        best = min(best, time.perf_counter() - start)
    figures.notes[f"{name}, rows predicted a second"] = N_PREDICTED / best
    print(f"  {name}: {N_PREDICTED / best:.3g} rows predicted a second", flush=True)
    return found


def predict_on_device(gpu: GpuBoosting, X: Any, figures: Figures) -> None:
    rows = copy_to_device(X)
    if rows is None:
        return
    predictor = GpuPredictor(GrownModel(gpu))
    found = measure_prediction(figures, "GPU engine", lambda: predictor.predict_raw(rows))
    model: Any = GrownModel(gpu).to_tree_model()
    figures.notes["same predictions"] = bool((found[: len(X)].get() == model.sum_trees(X, 0)).all())


def run_xgboost(task: Task, X: Any, y: Any, test: tuple[Any, Any], figures: Figures) -> None:
    try:
        import xgboost
    except ImportError:
        print("  XGBoost is not installed", flush=True)
        return
    params: dict[str, Any] = {"device": "cuda", "tree_method": "hist", "eta": RATE, "lambda": 1.0}
    params |= {"min_child_weight": 1.0, "max_bin": MAX_BINS, "max_depth": task.max_depth}
    params |= {"objective": "binary:logistic"} if task.n_classes == 2 else {"objective": "multi:softprob"}
    if task.n_classes > 2:
        params["num_class"] = task.n_classes
    if task.max_leaves:
        params |= {"grow_policy": "lossguide", "max_leaves": task.max_leaves}
    table = measure(figures, "XGBoost, bins", lambda: xgboost.QuantileDMatrix(X, y, max_bin=MAX_BINS))
    model = measure(figures, f"XGBoost, {task.n_rounds} rounds", lambda: xgboost.train(params, table, task.n_rounds))
    raw = model.inplace_predict(test[0], predict_type="margin")
    figures.scores["XGBoost"] = find_score(raw, test[1], task.n_classes)
    rows = copy_to_device(test[0])
    if rows is not None:
        measure_prediction(figures, "XGBoost", lambda: model.inplace_predict(rows, predict_type="margin"))
    print(f"  score {figures.scores['XGBoost']:.5f}", flush=True)


def profile(task: Task) -> dict[str, list[float]]:
    """Microseconds and launches of each kernel in a tree, each launch waited for."""
    X, y = draw_table(task.n_rows, task.n_features, task.n_classes, 0)
    bins = _core.BinMapper.fit(X, None, np.zeros(X.shape[1], np.uint32), MAX_BINS, 0).transform(X, 0)
    gpu = start(GpuBoosting, bins, y, task)
    gpu.boost(5)
    program, n_trees = gpu._grower._program, 5
    device, memory = gpu._grower._device, gpu._grower._memories["state"]
    times: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    launch = program.launch

    def launch_timed(kernel: str, *arguments: Any, **options: Any) -> None:
        device.copy_out(memory, np.uint8, 1)
        begin = time.perf_counter()
        launch(kernel, *arguments, **options)
        device.copy_out(memory, np.uint8, 1)
        times[kernel][0] += (time.perf_counter() - begin) * 1e6 / n_trees
        times[kernel][1] += 1 / n_trees

    program.launch = launch_timed
    device.record = lambda launches: launches
    gpu._grower._recorded.clear()
    gpu.boost(n_trees)
    print(f"{task.name}: microseconds a tree, launches a tree (each launch waited for: about 15 us too much)")
    for kernel, (micros, launches) in sorted(times.items(), key=lambda item: -item[1][0]):
        print(f"  {kernel:20} {micros:9.0f} {launches:7.1f}", flush=True)
    return dict(times)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tasks until the time is used up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small tables, a smoke test")
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--profile", action="store_true", help="times of kernels instead")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no task after so many seconds")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu.json")
    given = parser.parse_args(arguments)
    begin, results = time.perf_counter(), []
    run = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    open_device()
    tasks = [task for task in (QUICK if given.quick else TASKS) if given.only in task.name]
    for task in tasks:
        if time.perf_counter() - begin > given.seconds:
            print(f"{task.name}: no time left", flush=True)
            continue
        if given.profile:
            profile(task)
            continue
        print(task.name, flush=True)
        figures = Figures(asdict(task), notes={"run": run})
        X, y = draw_table(task.n_rows + N_TEST, task.n_features, task.n_classes, 0)
        test, X, y = (X[-N_TEST:], y[-N_TEST:]), X[:-N_TEST], y[:-N_TEST]
        run_ours(task, X, y, test, figures)
        run_xgboost(task, X, y, test, figures)
        results.append(asdict(figures))
        given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
