"""Rows a second by the size of the batch, and exports: `python -m benchmarks.predictor`.

100 boosted trees on 20 columns, one thread: the prepared predictor (dicts for one row, arrays for batches), `predict`,
the compiled C file, onnxruntime, LightGBM, treelite and lleaves, as far as they are installed. They take turns; rows a
second of processor time, the best of all turns. ``--write`` puts the table into results/predictor.md.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import committee
from benchmarks.machine import measure_load, show_machine
from benchmarks.measure import time_calls
from committee.io import to_c

RESULTS = Path(__file__).resolve().parent / "results"
SIZES = (1, 10, 100, 1000, 10000)
N_COLUMNS = 20


def draw() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10000, N_COLUMNS))
    return X, (X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)


def measure_in_turns(ways: dict[str, dict[int, Callable[[], Any]]], rounds: int) -> dict[str, dict[int, float]]:
    """The least processor time of a call, by way and number of rows."""
    best = {title: dict.fromkeys(calls, float("inf")) for title, calls in ways.items()}
    for _ in range(rounds):
        for title, calls in ways.items():
            for size, call in calls.items():
                best[title][size] = min(best[title][size], *time_calls(call, 3)["cpu"])
    return best


def compile_c(model: Any, folder: Path) -> tuple[Callable[[np.ndarray], np.ndarray], str]:
    to_c(model, folder / "model.c")
    command = ["cc", "-std=c99", "-O2", "-shared", "-fPIC", "-o", str(folder / "m.so"), str(folder / "model.c")]
    start = os.times()
    subprocess.run(command, check=True)
    taken = os.times().children_user - start.children_user
    function = ctypes.CDLL(str(folder / "m.so")).model_predict_proba_rows

    def ask(rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), 2))
        function(rows.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(rows)), out.ctypes.data_as(ctypes.c_void_p))
        return out

    sizes = [(folder / name).stat().st_size / 1024 for name in ("model.c", "m.so")]
    return ask, f"C file {sizes[0]:,.0f} KiB, compiled {sizes[1]:,.0f} KiB in {taken:.1f} CPU s"


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
        booster.save_model(folder / "m.txt")
        others["lightgbm"] = lambda rows: booster.predict(rows, num_threads=1)
        import treelite

        loaded = treelite.frontend.from_lightgbm(booster)
        others["treelite (gtil)"] = lambda rows: treelite.gtil.predict(loaded, rows, nthread=1)
    except ImportError:
        pass
    try:
        import lleaves

        compiled = lleaves.Model(str(folder / "m.txt"))
        compiled.compile()
        others["lleaves"] = lambda rows: compiled.predict(rows, n_jobs=1)
    except ImportError:
        pass
    return others


def measure_all(rounds: int, folder: Path) -> list[str]:
    """The lines of the table, and a note on sizes."""
    X, y = draw()
    model = committee.HistGradientBoostingClassifier(max_iter=100, n_jobs=1).fit(X, y)
    predictor = model.predictor()
    ways: dict[str, Callable[[Any], Any]] = {"predict_proba": model.predict_proba, "predictor": predictor.predict_proba}
    committee.save(model, folder / "m.committee", strip=True)
    notes = []
    if shutil.which("cc"):
        ways["C"], note = compile_c(model, folder)
        notes.append(note)
    ways |= add_others(X, y, model, folder)
    titles = {"m.committee": "model file", "m.onnx": "ONNX", "m.txt": "LightGBM's text"}
    sizes = {title: folder / name for name, title in titles.items() if (folder / name).exists()}
    notes += [f"{title} {path.stat().st_size / 1024:,.0f} KiB" for title, path in sizes.items()]
    row = dict(zip(predictor.columns, X[0].tolist(), strict=True))
    batches = {size: np.ascontiguousarray(X[:size]) for size in SIZES}
    calls = {"predictor, a dict": {1: partial(predictor.predict_proba_one, row)}}
    calls |= {title: {size: partial(ask, rows) for size, rows in batches.items()} for title, ask in ways.items()}
    lines = ["| rows a second | " + " | ".join(f"{size:,}" for size in SIZES) + " |", "|---|" + "--:|" * len(SIZES)]
    for title, times in measure_in_turns(calls, rounds).items():
        rates = [f" {size / times[size]:,.0f} |" if size in times else " |" for size in SIZES]
        lines.append(f"| {title} |" + "".join(rates))
    return [*lines, "", "Sizes: " + ", ".join(notes) + "."]


def write_page(lines: list[str], load: float) -> None:
    """Put the table into results/predictor.md."""
    text = """# Rows a second, by the size of the batch

`python -m benchmarks.predictor --write`

100 boosted trees of 31 leaves on 20 columns, probabilities of two classes, one thread, arrays of doubles. Rows a second
of processor time, the best of several turns. LightGBM, treelite and lleaves, where they are installed, have a model of
LightGBM with as many trees and leaves; the others have the same model. treelite's `gtil` is its interpreter: its
compiler, and the C file beside it, are in [export](export.md). lleaves beside this library on larger batches is in
[boosting](boosting.md).

"""
    page = text + "\n".join(lines) + f"\n\n{show_machine()}; other processes used {load:.0%} of the machine before.\n"
    (RESULTS / "predictor.md").write_text(page, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="turns of each way (5)")
    parser.add_argument("--write", action="store_true", help="put the table into results/predictor.md")
    given = parser.parse_args()
    load = measure_load(2.0)
    with tempfile.TemporaryDirectory() as name:
        lines = measure_all(given.rounds, Path(name))
    print(*lines, sep="\n")
    if given.write:
        write_page(lines, load)


if __name__ == "__main__":
    main()
