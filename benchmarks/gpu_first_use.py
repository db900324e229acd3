"""Seconds that the first use of a GPU takes more than the next ones: `python benchmarks/gpu_first_use.py`.

Each model is fitted in a process of its own, twice: with an empty cache of compiled kernels, and with the one that this
has left. The figure is the first call less the second one on the same table, whose kernels are loaded; the start of
CuPy and of the device is counted apart. Kept in ``results/gpu_first_use.json`` (or ``--out``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from committee import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from committee.engines.gpu import GpuExplainer, GpuPredictor, open_device

LEVELS: dict[str, Any] = {"max_depth": 8, "max_leaf_nodes": None, "min_samples_leaf": 1, "early_stopping": False}
N_ROWS, N_FEATURES = 300_000, 28


def _boost(engine: str, **params: Any) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=3, engine=engine, random_state=0, **params)


def list_uses(X: Any, y: Any) -> dict[str, Callable[[], Any]]:
    """What is called, by its name."""
    small = _boost("cpu", **LEVELS).fit(X[:2000], y[:2000])
    leaves: dict[str, Any] = {"max_leaf_nodes": 255, "min_samples_leaf": 1, "early_stopping": False}
    return {
        "boosting, depth 8": lambda: _boost("gpu", **LEVELS).fit(X, y),
        "boosting, 255 leaves": lambda: _boost("gpu", **leaves).fit(X, y),
        "boosting, default parameters": lambda: _boost("gpu").fit(X, y),
        "random forest": lambda: RandomForestClassifier(4, engine="gpu", random_state=0).fit(X, y),
        "AdaBoost": lambda: AdaBoostClassifier(n_estimators=3, engine="gpu").fit(X, y),
        "prediction": lambda: GpuPredictor(small).predict_raw(X[:2000]),
        "Shapley values": lambda: GpuExplainer(small).explain(X[:2000]),
    }


NAMES = [
    "boosting, depth 8",
    "boosting, 255 leaves",
    "boosting, default parameters",
    "random forest",
    "AdaBoost",
    "prediction",
    "Shapley values",
]


def measure_here(name: str) -> dict[str, float]:
    """Seconds of the start of the device, of the first call and of the second one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_FEATURES), np.float32)
    use = list_uses(X, (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(np.int64))[name]
    found: dict[str, float] = {}
    start = time.perf_counter()
    open_device().allocate(1)
    found["device"] = time.perf_counter() - start
    for call in ("first", "second"):
        start = time.perf_counter()
        use()
        found[call] = time.perf_counter() - start
    return found


def measure_apart(name: str, cache: str) -> dict[str, float]:
    """The same in a new process with a cache of its own."""
    command = [sys.executable, __file__, "--here", name]
    done = subprocess.run(
        command, env=os.environ | {"CUPY_CACHE_DIR": cache}, check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all uses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--here", choices=NAMES, help="measure one of them in this process")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu_first_use.json")
    given = parser.parse_args(arguments)
    if given.here is not None:
        print(json.dumps(measure_here(given.here)))
        return 0
    rows = []
    for name in NAMES:
        with tempfile.TemporaryDirectory() as cache:
            empty, kept = measure_apart(name, cache), measure_apart(name, cache)
        row = {"name": name, "compiled": empty["first"] - empty["second"], "loaded": kept["first"] - kept["second"]}
        rows.append(row | {"device": kept["device"], "call": kept["second"]})
        print(rows[-1], flush=True)
        given.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
