"""Prediction, Shapley values and bins on a GPU, beside XGBoost on it: `python benchmarks/gpu_prediction.py`.

Every figure is printed when it is known and kept in ``results/gpu_prediction.json`` (or ``--out``). Tables are drawn by
the formula of `benchmarks/gpu.py`. Models have exactly the rounds that are named: no fit stops early. ``--quick`` is a
smoke test.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.gpu import draw_table
from committee import AdaBoostClassifier, HistGradientBoostingClassifier, _core
from committee.engines.gpu import GpuExplainer, GpuPredictor, open_device
from committee.engines.gpu.device_bins import bin_on_device
from committee.engines.tree_model import present_trees

N_FEATURES, N_REPEATS, N_TRAINING = 28, 5, 1_000_000
SHAPES: dict[str, dict[str, Any]] = {
    "depth 8": {"max_depth": 8, "max_leaf_nodes": None},
    "255 leaves": {"max_leaf_nodes": 255, "min_samples_leaf": 1},
}


def find_best(call: Callable[[], Any], n_repeats: int = N_REPEATS) -> tuple[float, Any]:
    """The shortest of some calls, in seconds, and what it returned; the first one is not counted."""
    best, found = float("inf"), call()
    for _ in range(n_repeats):
        start = time.perf_counter()
        found = call()
        best = min(best, time.perf_counter() - start)
    return best, found


class Report:
    """Figures in the order in which they were measured."""

    def __init__(self, out: Path) -> None:
        self._out, self._rows = out, []

    def add(self, part: str, name: str, **figures: Any) -> None:
        """Keep some figures and print them."""
        self._rows.append({"part": part, "name": name, **figures})
        shown = " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in figures.items())
        print(f"{part}: {name}: {shown}", flush=True)
        self._out.write_text(json.dumps(self._rows, indent=1) + "\n", encoding="utf-8")


def import_xgboost() -> Any:
    try:
        import xgboost
    except ImportError:
        return None
    return xgboost


def fit_xgboost(X: Any, y: Any, shape: str, n_rounds: int) -> Any:
    xgboost = import_xgboost()
    if xgboost is None:
        return None
    params: dict[str, Any] = {"device": "cuda", "tree_method": "hist", "eta": 0.1, "objective": "binary:logistic"}
    params["max_bin"] = 255
    given = {"max_depth": 8} if shape == "depth 8" else {"grow_policy": "lossguide", "max_leaves": 255, "max_depth": 0}
    return xgboost.train(params | given, xgboost.QuantileDMatrix(X, y, max_bin=255), n_rounds)


def measure_prediction(report: Report, sizes: Sequence[int], n_rounds: int, n_training: int) -> dict[str, Any]:
    import cupy

    X, y = draw_table(n_training, N_FEATURES, 2, 0)
    models: dict[str, Any] = {}
    for shape, params in SHAPES.items():
        model = HistGradientBoostingClassifier(max_iter=n_rounds, early_stopping=False, engine="gpu", **params)
        model.fit(X, y)
        other = fit_xgboost(X, y, shape, n_rounds)
        models[shape] = (model, other)
        predictor = GpuPredictor(model)
        expected = present_trees(model).sum_trees(X[:100_000], 0)
        for n_rows in sizes:
            rows = cupy.asarray(np.resize(X, (n_rows, N_FEATURES)))
            seconds, found = find_best(lambda rows=rows, own=predictor: own.predict_raw(rows))
            same = bool((found[: len(expected)].get() == expected[:n_rows]).all())
            figures: dict[str, Any] = {"n_trees": int(model.n_iter_), "rows_per_s": n_rows / seconds, "same": same}
            if other is not None:
                seconds, _ = find_best(lambda rows=rows, own=other: own.inplace_predict(rows, predict_type="margin"))
                figures |= {"xgboost_trees": other.num_boosted_rounds(), "xgboost_rows_per_s": n_rows / seconds}
            report.add("prediction", f"{shape}, {n_rows:,} rows", **figures)
    return models


def measure_explanation(report: Report, models: dict[str, Any], n_rows: int, n_compared: int) -> None:
    import cupy

    X, _ = draw_table(n_rows, N_FEATURES, 2, 1)
    for shape, (model, other) in models.items():
        explainer, own = GpuExplainer(model), present_trees(model)
        rows = cupy.asarray(X)
        seconds, (values, _) = find_best(lambda rows=rows, own=explainer: own.explain(rows), 2)
        few = X[:n_compared]
        start = time.perf_counter()
        expected, _ = _core.explain_rows(own.trees, few, own.combine, None, own.slots, own.width, False, 0)
        on_cpu = n_compared / (time.perf_counter() - start)
        apart = float(np.abs(values[:n_compared].get() - expected).max() / np.abs(expected).max())
        figures: dict[str, Any] = {
            "rows_per_s": n_rows / seconds,
            "cpu_rows_per_s": on_cpu,
            "largest_difference": apart,
        }
        if other is not None:
            xgboost = import_xgboost()
            other.set_param({"device": "cuda"})
            n = min(n_rows, 10 * n_compared)
            table = xgboost.DMatrix(cupy.asarray(X[:n]))
            seconds, _ = find_best(lambda own=other, table=table: own.predict(table, pred_contribs=True), 2)
            figures |= {"xgboost_rows_per_s": n / seconds}
        report.add("Shapley values", f"{shape}, {n_rows:,} rows", **figures)


def measure_bins(report: Report, sizes: Sequence[int]) -> None:
    import cupy

    device, levels = open_device(), np.zeros(N_FEATURES, np.uint32)
    for n_rows in sizes:
        X, y = draw_table(n_rows, N_FEATURES, 2, 2)
        on_device = cupy.asarray(X)
        for where, given in (("host", X), ("device", on_device)):
            seconds, found = find_best(lambda given=given: bin_on_device(device, given, None, levels, 255, 0), 3)
            figures: dict[str, Any] = {"seconds": seconds}
            if where == "host":
                start = time.perf_counter()
                expected = _core.BinMapper.fit(X, None, levels, 255, 0).transform(X, 0)
                figures["cpu_seconds"] = time.perf_counter() - start
                bins = _core.save_bins(found.mapper) == _core.save_bins(expected.mapper)
                figures["same"] = bins and bool((found.to_host().columns == expected.columns).all())
            xgboost = import_xgboost()
            if xgboost is not None:
                make = partial(xgboost.QuantileDMatrix, given, y, max_bin=255)
                figures["xgboost_seconds"], _ = find_best(make, 1)
            report.add("bins", f"{n_rows:,} rows, from the {where}", **figures)


def measure_stumps(report: Report, n_rows: int, n_rounds: int) -> None:
    X, y = draw_table(n_rows, N_FEATURES, 2, 0)
    found: dict[str, tuple[float, bytes]] = {}
    for engine in ("gpu", "cpu"):
        model = AdaBoostClassifier(n_estimators=n_rounds, engine=engine, n_jobs=-1)
        seconds, fitted = find_best(lambda model=model: model.fit(X, y), 1)
        found[engine] = seconds, pickle.dumps(present_trees(fitted).trees) + fitted.estimator_weights_.tobytes()
    same = found["gpu"][1] == found["cpu"][1]
    report.add(
        "AdaBoost",
        f"{n_rounds} rounds, {n_rows:,} rows",
        seconds=found["gpu"][0],
        cpu_seconds=found["cpu"][0],
        same=same,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all parts, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small tables, a smoke test")
    parser.add_argument("--parts", nargs="*", default=["prediction", "explanation", "bins", "stumps"])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu_prediction.json")
    given = parser.parse_args(arguments)
    report = Report(given.out)
    n_rounds, n_training = (5, 20_000) if given.quick else (500, N_TRAINING)
    sizes = [30_000] if given.quick else [1_000_000, 10_000_000]
    if "bins" in given.parts:
        measure_bins(report, [300_000] if given.quick else [1_000_000, 10_000_000])
    if "stumps" in given.parts:
        measure_stumps(report, 20_000 if given.quick else 1_000_000, 5 if given.quick else 200)
    if "prediction" in given.parts or "explanation" in given.parts:
        models = measure_prediction(report, sizes, n_rounds, n_training)
        if "explanation" in given.parts:
            measure_explanation(report, models, 2_000 if given.quick else 200_000, 200 if given.quick else 2_000)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
