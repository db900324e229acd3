"""From which size on the GPU is faster than the CPU's cores: `python benchmarks/gpu_crossing.py`.

Whole fits of gradient boosting by both engines, by the size of the table; the constant of ``engine="auto"`` comes from
it (`committee.engines.choice`). Figures are kept in ``results/gpu_crossing.json`` (or ``--out``). ``--quick`` is a
smoke test.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.gpu import draw_table
from committee import HistGradientBoostingClassifier

SIZES = [(n_rows, 28) for n_rows in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)]
SHAPES: dict[str, dict[str, Any]] = {"31 leaves": {}, "depth 8": {"max_depth": 8, "max_leaf_nodes": None}}
N_ROUNDS, N_REPEATS = 100, 3


def time_fit(engine: str, X: Any, y: Any, n_rounds: int, params: dict[str, Any]) -> float:
    """Seconds of the shortest of some fits; the first one, which loads the kernels, is not counted."""
    best = float("inf")
    for again in range(N_REPEATS + 1):
        model = HistGradientBoostingClassifier(max_iter=n_rounds, early_stopping=False, engine=engine, **params)
        start = time.perf_counter()
        model.fit(X, y)
        if again:
            best = min(best, time.perf_counter() - start)
    return best


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit all sizes by both engines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small tables, a smoke test")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu_crossing.json")
    given = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    for n_rows, n_features in [(500, 6)] if given.quick else SIZES:
        X, y = draw_table(n_rows, n_features, 2, 0)
        for shape, params in SHAPES.items():
            seconds = {
                engine: time_fit(engine, X, y, 2 if given.quick else N_ROUNDS, params) for engine in ("gpu", "cpu")
            }
            rows.append({"n_rows": n_rows, "n_features": n_features, "shape": shape, **seconds})
            print(
                f"{n_rows:9,} x {n_features:4} {shape:10} GPU {seconds['gpu']:.3f} s, CPU {seconds['cpu']:.3f} s",
                flush=True,
            )
            given.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
