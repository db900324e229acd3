"""Pages of results: ``python -m benchmarks.gpu_page`` writes ``results/gpu.md`` and the other pages of GPUs.

The first is of `benchmarks/gpu.py`; ``gpu_prediction.md`` is of `benchmarks/gpu_prediction.py`, of `gpu_digests.py` and
of `gpu_first_use.py`; ``gpu_forest.md`` and ``gpu_crossing.md`` are of the programs of these names. A page whose
results are not there is left as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from committee.engines import choice

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
Bins are made by the CPU's cores here and sent to the device (`gpu_prediction.md` has those that the GPU makes); XGBoost
makes its own on the GPU. Kernels are compiled before (`gpu_prediction.md` has the time of first use).
Prediction: 4,000,000 rows that lie on the device. Bytes a value: the memory beside the scores, for each value of the
table. Bins and the rows of nodes grow with the table, histograms of nodes do not. They are what tables of few values,
of many leaves, of several classes and of thousands of columns take more than 2.5 bytes for.
{earlier}
| task | bins, s | XGBoost's bins, s | ratio | rows predicted a second | XGBoost's | device memory, MB | bytes a value |
|---|---|---|---|---|---|---|---|
"""
EARLIER = """
Tasks with a star are of an earlier run than the others, XGBoost's figures too.
"""
"""Where results do not say which run they are of."""


def lay_out(results: Sequence[Mapping[str, Any]]) -> str:
    """The page in Markdown."""
    whole = all("run" in figures["notes"] for figures in results)
    other = OTHER.format(earlier="" if whole else EARLIER)
    return HEAD + TRAINING + "".join(map(_lay_training, results)) + other + "".join(map(_lay_other, results))


def _name_task(figures: Mapping[str, Any]) -> str:
    name: str = figures["task"]["name"]
    return name if "run" in figures["notes"] else f"{name} *"


def _lay_training(figures: Mapping[str, Any]) -> str:
    task, seconds, scores = figures["task"], figures["seconds"], figures["scores"]
    ours, theirs = (seconds[f"{who}, {task['n_rounds']} rounds"] for who in ("GPU engine", "XGBoost"))
    cpu = seconds[f"CPU engine, {task['cpu_rounds']} rounds"] / task["cpu_rounds"]
    same = figures["notes"]["same bytes"] and figures["notes"]["same predictions"]
    cells = [_name_task(figures), task["n_rounds"], f"{ours:.3f}", f"{theirs:.3f}", f"{theirs / ours:.1f} x"]
    cells += [f"{scores['GPU engine']:.5f}", f"{scores['XGBoost']:.5f}"]
    cells += [f"{'yes' if same else '**no**'} ({task['cpu_rounds']})", f"{cpu:.4f}"]
    return f"| {' | '.join(map(str, cells))} |\n"


def count_bytes_of_value(task: Mapping[str, Any], n_bytes: int) -> float:
    """Memory of the device for each value of the table, without the scores."""
    n_scores = 1 if task["n_classes"] == 2 else task["n_classes"]
    own: int = task["n_rows"] * task["n_features"]
    return (n_bytes - 8 * n_scores * task["n_rows"]) / own


def _lay_other(figures: Mapping[str, Any]) -> str:
    seconds, notes = figures["seconds"], figures["notes"]
    ours = sum(seconds[step] for step in ("bins learnt, CPU", "bins applied, CPU", "GPU engine, table to the device"))
    theirs = seconds["XGBoost, bins"]
    rows = [notes[f"{who}, rows predicted a second"] for who in ("GPU engine", "XGBoost")]
    cells = [_name_task(figures), f"{ours:.3f}", f"{theirs:.3f}", f"{theirs / ours:.1f} x"]
    cells += [f"{rate / 1e6:.0f} million" for rate in rows] + [f"{notes['device bytes'] / 1e6:.0f}"]
    cells.append(f"{count_bytes_of_value(figures['task'], notes['device bytes']):.2f}")
    return f"| {' | '.join(cells)} |\n"


PREDICTION_HEAD = """# Prediction, Shapley values and bins on a GPU

One NVIDIA H200 with 16 x86-64 cores, beside XGBoost (`device="cuda"`), each table of one run. `python
benchmarks/gpu_prediction.py` repeats them, `python -m benchmarks.gpu_page` writes this page. Rows have 28 features,
float32, and are drawn by a formula; models have 500 rounds on a million rows, and no fit stops early. The best of some
calls, the first not counted.
"""
PARTS = {
    "prediction": """
Rows and predictions are on the device. *Same*: the bytes of the CPU's predictions.

| rows a second | this library | XGBoost | ratio | trees | same |
|---|---|---|---|---|---|
""",
    "Shapley values": """
Path-dependent Shapley values of all features; rows and values are on the device. The difference is the largest one from
the CPU engine's values, as a share of the largest value.

| rows a second | this library | XGBoost | ratio | 16 cores | difference |
|---|---|---|---|---|---|
""",
    "AdaBoost": """
`AdaBoostClassifier` of stumps, the whole fit from a table of the host. *Same*: the bytes of stumps and votes of the CPU
engine.

| seconds | this library | XGBoost | ratio | 16 cores | same |
|---|---|---|---|---|---|
""",
    "bins": """
Bins learnt and applied, at most 255 a feature. *Same*: the bins and the bytes of the CPU engine.

| seconds | this library | XGBoost | ratio | 16 cores | same |
|---|---|---|---|---|---|
""",
}


FIRST_USE = """
First use, in seconds more than the next ones on the same table: kernels are compiled and kept on disk, or loaded from
there by a later program. The start of CuPy and of the device, which any program on it has, is in a column of its own.

| first use | compiled | from the disk | start of the device |
|---|---|---|---|
"""


def lay_out_prediction(
    results: Sequence[Mapping[str, Any]],
    digests: Sequence[Mapping[str, Any]],
    first_uses: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The page of predictions in Markdown."""
    text = PREDICTION_HEAD
    for part, head in PARTS.items():
        rows = [row for row in results if row["part"] == part]
        text += head + "".join(map(_lay_measured, rows)) if rows else ""
    if first_uses:
        text += FIRST_USE
        for row in first_uses:
            cells = [row["name"], *(f"{row[name]:.2f}" for name in ("compiled", "loaded", "device"))]
            text += f"| {' | '.join(cells)} |\n"
    if digests:
        fits = list(digests[0]["same"])
        n_wrong = sum(not equal for row in digests for equal in row["same"].values())
        text += (
            f"\n`python benchmarks/gpu_digests.py` fits {len(fits)} kinds of models ({', '.join(fits)}) with both "
            f"engines\non {len(digests)} tables, public ones and drawn ones: {len(fits) * len(digests)} pairs of "
            f"digests, {n_wrong} of them different.\n"
        )
    return text


def _lay_measured(row: Mapping[str, Any]) -> str:
    is_rate = "rows_per_s" in row
    own, other = (row.get(f"{who}{'rows_per_s' if is_rate else 'seconds'}") for who in ("", "xgboost_"))
    cells = [row["name"], *(_show(value, is_rate) for value in (own, other))]
    cells.append("" if other is None else f"{own / other if is_rate else other / own:.1f} x")
    if row["part"] == "prediction":
        cells += [str(row["n_trees"]), "yes" if row["same"] else "**no**"]
    else:
        cells.append(_show(row.get("cpu_rows_per_s" if is_rate else "cpu_seconds"), is_rate))
        same = "" if "same" not in row else "yes" if row["same"] else "**no**"
        cells.append(f"{row['largest_difference']:.0e}" if is_rate else same)
    return f"| {' | '.join(cells)} |\n"


def _show(value: float | None, is_rate: bool) -> str:
    return "" if value is None else f"{value:.3g}" if is_rate else f"{value:.3f}"


FOREST_HEAD = """# Forests on a GPU

One H200 with 16 x86-64 cores; `python benchmarks/gpu_forest.py`, the second of two runs. Seconds of a whole call on
binned data, and of its parts: samples and arenas are made by the host while the device grows other trees, so parts
overlap. The first trees of each forest have the digest and the importances of the CPU engine's. Trees have full depth
where none is given.

| 100 trees | whole call | samples | levels | copies to the host | arenas | nodes |
|---|---|---|---|---|---|---|
"""
FOREST_END = """
Two batches are made into arenas at a time, so that the sum of these parts may exceed the whole call. Where trees are
deep, the making of arenas takes most of the time: extra-trees and forests of numbers have the most nodes.
"""


def lay_out_forests(results: Sequence[Mapping[str, Any]]) -> str:
    """The page of forests in Markdown."""
    text = FOREST_HEAD
    for row in results:
        parts = [row["seconds"].get(part, 0.0) for part in ("whole call", "sample", "levels", "read", "assemble")]
        name = row["task"] if row["same bytes"] else f"{row['task']} (**other bytes**)"
        n_nodes = f"{row['nodes'] / 1e6:.1f}M"
        text += f"| {' | '.join([name, *(f'{part:.2f}' for part in parts), n_nodes])} |\n"
    return text + FOREST_END


CROSSING_HEAD = """# From which size on a GPU is faster

Seconds of a whole fit of `HistGradientBoostingClassifier`, 100 rounds, from a table of the host: one NVIDIA H200 and 16
cores of the same machine, x86-64. The best of three, after one that is not counted: the first fit of a program also
loads CuPy and the kernels, which takes one or two seconds. `python benchmarks/gpu_crossing.py` repeats it, `python -m
benchmarks.gpu_page` writes this page. `engine="auto"` takes the GPU from {least:,} values on.

| rows x features | values | trees | GPU, s | CPU, s | CPU / GPU |
|---|---|---|---|---|---|
"""


def lay_out_crossing(results: Sequence[Mapping[str, Any]]) -> str:
    """The page of sizes in Markdown."""
    text = CROSSING_HEAD.format(least=choice._LEAST_CELLS)
    for row in results:
        size = f"{row['n_rows']:,} x {row['n_features']}"
        cells = [size, f"{row['n_rows'] * row['n_features'] / 1e6:.2f} million", row["shape"]]
        cells += [f"{row['gpu']:.3f}", f"{row['cpu']:.3f}", f"{row['cpu'] / row['gpu']:.1f}"]
        text += f"| {' | '.join(cells)} |\n"
    return text


def _read(name: str) -> Any:
    path = RESULTS / name
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def main() -> None:
    """Write the pages of the results that are there."""
    if results := _read("gpu.json"):
        (RESULTS / "gpu.md").write_text(lay_out(results), encoding="utf-8")
    if results := _read("gpu_prediction.json"):
        page = lay_out_prediction(results, _read("gpu_digests.json"), _read("gpu_first_use.json"))
        (RESULTS / "gpu_prediction.md").write_text(page, encoding="utf-8")
    if results := _read("gpu_forest.json"):
        (RESULTS / "gpu_forest.md").write_text(lay_out_forests(results), encoding="utf-8")
    if results := _read("gpu_crossing.json"):
        (RESULTS / "gpu_crossing.md").write_text(lay_out_crossing(results), encoding="utf-8")


if __name__ == "__main__":
    main()
