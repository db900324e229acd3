"""The page of the results of `benchmarks/gpu.py`: ``python -m benchmarks.gpu_page`` writes ``results/gpu.md``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
HEAD = """# GPU, side by side

Gradient boosting on one NVIDIA H200 beside XGBoost (`device="cuda"`) in one run, and this library's CPU engine on the
16 cores of the same machine. `python benchmarks/gpu.py` repeats it and writes `results/gpu.json`, `python -m
benchmarks.gpu_page` this page. Tables are drawn by a formula; scores are of 200,000 rows that were not learnt from: ROC
AUC, and the log loss where there are several classes. *Same bytes*: the trees of the GPU and of the CPU engine after
the first rounds (their number in brackets) have equal digests, and predictions on the device are those of the CPU.

"""
TRAINING = """| task | rounds | GPU engine, s | XGBoost, s | ratio | score | XGBoost's | same bytes | CPU, s a round |
|---|---|---|---|---|---|---|---|---|
"""
OTHER = """
Bins are made by the CPU's cores and sent to the device; XGBoost makes its own on the GPU. Prediction: 4,000,000 rows
that lie on the device.

| task | bins, s | XGBoost's bins, s | ratio | rows predicted a second | XGBoost's | device memory, MB |
|---|---|---|---|---|---|---|
"""


def lay_out(results: Sequence[Mapping[str, Any]]) -> str:
    """The page in Markdown."""
    return HEAD + TRAINING + "".join(map(_lay_training, results)) + OTHER + "".join(map(_lay_other, results))


def _lay_training(figures: Mapping[str, Any]) -> str:
    task, seconds, scores = figures["task"], figures["seconds"], figures["scores"]
    ours, theirs = (seconds[f"{who}, {task['n_rounds']} rounds"] for who in ("GPU engine", "XGBoost"))
    cpu = seconds[f"CPU engine, {task['cpu_rounds']} rounds"] / task["cpu_rounds"]
    same = figures["notes"]["same bytes"] and figures["notes"]["same predictions"]
    cells = [task["name"], task["n_rounds"], f"{ours:.3f}", f"{theirs:.3f}", f"{theirs / ours:.1f} x"]
    cells += [f"{scores['GPU engine']:.5f}", f"{scores['XGBoost']:.5f}"]
    cells += [f"{'yes' if same else '**no**'} ({task['cpu_rounds']})", f"{cpu:.4f}"]
    return f"| {' | '.join(map(str, cells))} |\n"


def _lay_other(figures: Mapping[str, Any]) -> str:
    seconds, notes = figures["seconds"], figures["notes"]
    ours = sum(seconds[step] for step in ("bins learnt, CPU", "bins applied, CPU", "GPU engine, table to the device"))
    theirs = seconds["XGBoost, bins"]
    rows = [notes[f"{who}, rows predicted a second"] for who in ("GPU engine", "XGBoost")]
    cells = [figures["task"]["name"], f"{ours:.3f}", f"{theirs:.3f}", f"{theirs / ours:.1f} x"]
    cells += [f"{rate / 1e6:.0f} million" for rate in rows] + [f"{notes['device bytes'] / 1e6:.0f}"]
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Write the page of the results that are there."""
    results = json.loads((RESULTS / "gpu.json").read_text(encoding="utf-8"))
    (RESULTS / "gpu.md").write_text(lay_out(results), encoding="utf-8")


if __name__ == "__main__":
    main()
