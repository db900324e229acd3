"""Rows a second by the size of the batch, and exports: `python benchmarks/predictor.py`.

100 boosted trees on 20 columns, one thread: the prepared predictor (dicts for one row, arrays for batches), `predict`,
the compiled C file, onnxruntime, LightGBM and treelite, as far as they are installed. Best of several repetitions.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import committee
from committee.io import to_c

SIZES = (1, 10, 100, 1000, 10000)
N_COLUMNS = 20


def draw() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10000, N_COLUMNS))
    return X, (X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)


def measure(ask: Callable[[Any], Any], rows: Any, seconds: float) -> float:
    """The least time of a call."""
    best, until = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < until:
        start = time.perf_counter()
        ask(rows)
        best = min(best, time.perf_counter() - start)
    return best


def compile_c(model: Any, folder: Path) -> tuple[Callable[[np.ndarray], np.ndarray], str]:
    to_c(model, folder / "model.c")
    command = ["cc", "-std=c99", "-O2", "-shared", "-fPIC", "-o", str(folder / "m.so"), str(folder / "model.c")]
    start = time.perf_counter()
    subprocess.run(command, check=True)
    taken = time.perf_counter() - start
    function = ctypes.CDLL(str(folder / "m.so")).model_predict_proba_rows

    def ask(rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), 2))
        function(rows.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(rows)), out.ctypes.data_as(ctypes.c_void_p))
        return out

    sizes = [(folder / name).stat().st_size / 1024 for name in ("model.c", "m.so")]
    return ask, f"C file {sizes[0]:,.0f} KiB, compiled {sizes[1]:,.0f} KiB in {taken:.1f} s"


def add_others(X: np.ndarray, y: np.ndarray, model: Any, folder: Path) -> dict[str, Callable[[Any], Any]]:
    others: dict[str, Callable[[Any], Any]] = {}
    try:
        import onnxruntime

        committee.io.to_onnx(model, folder / "m.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(folder / "m.onnx"), options, providers=["CPUExecutionProvider"])
        others["onnxruntime"] = lambda rows: session.run(["probabilities"], {"X": rows})
    except ImportError:
        pass
    try:
        import lightgbm

        booster = lightgbm.LGBMClassifier(n_estimators=100, verbose=-1).fit(X, y).booster_
        others["lightgbm"] = lambda rows: booster.predict(rows, num_threads=1)
        import treelite

        loaded = treelite.frontend.from_lightgbm(booster)
        others["treelite (gtil)"] = lambda rows: treelite.gtil.predict(loaded, rows, nthread=1)
    except ImportError:
        pass
    return others


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement")
    given = parser.parse_args()
    X, y = draw()
    model = committee.HistGradientBoostingClassifier(max_iter=100, n_jobs=1).fit(X, y)
    predictor = model.predictor()
    ways: dict[str, Callable[[Any], Any]] = {"predict_proba": model.predict_proba, "predictor": predictor.predict_proba}
    with tempfile.TemporaryDirectory() as name:
        note = "no C compiler"
        if shutil.which("cc"):
            ways["C"], note = compile_c(model, Path(name))
        ways |= add_others(X, y, model, Path(name))
        print("rows a second | " + " | ".join(str(size) for size in SIZES) + "\n" + "---|" * (len(SIZES) + 1))
        row = dict(zip(predictor.columns, X[0].tolist(), strict=True))
        print(f"predictor, a dict | {1.0 / measure(predictor.predict_proba_one, row, given.seconds):,.0f} |")
        for title, ask in ways.items():
            rates = [size / measure(ask, np.ascontiguousarray(X[:size]), given.seconds) for size in SIZES]
            print(f"{title} | " + " | ".join(f"{rate:,.0f}" for rate in rates), flush=True)
        print(note)


if __name__ == "__main__":
    main()
