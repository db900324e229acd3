"""Fits on a Parquet table that is larger than the memory of the process, beside LightGBM and XGBoost.

    python -m benchmarks.out_of_core --gigabytes 8 --limit 2GB --folder /scratch --write

makes a table (seeded, 100 columns of float32, uncompressed, so that the file is as large as the values), then fits each
model in a process of its own. The memory of ours is limited by RLIMIT_DATA: private writable memory; files that are
mapped into memory do not count, as they do not need to stay there. The others run twice: without a limit, for their
time and peak, and with the same limit, to see whether they keep within it. XGBoost reads the same Parquet file by its
iterator for external memory and grows trees of 32 leaves by level; LightGBM's two-round loading reads text, so that the
table is written as CSV for it, which is not timed. The score is the area under the ROC curve of 100,000 other rows. The
peak is that of private memory (RssAnon) and of all resident pages (VmHWM), which includes pages of files that the
system would drop if others needed the room. ``--write`` puts the table into results/out_of_core.md, in the place of the
one of the same size.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import measure_load, show_machine
from benchmarks.report import RESULTS
from committee.data.memory import show_bytes
from committee.data.spilling import read_bytes

N_COLUMNS = 100
GROUP_ROWS = 100_000
N_TEST = 100_000
ROUNDS, LEAVES, RATE = 20, 31, 0.2
TREES, DEPTH = 8, 12
NAMES = [f"x{j}" for j in range(N_COLUMNS)]


# --- data ------------------------------------------------------------------------------------------------------------


def make_rows(seed: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one group: normal numbers, some columns with few values, some with missing ones, and two classes."""
    rng = np.random.default_rng([7, seed])
    X = rng.standard_normal((n_rows, N_COLUMNS), dtype=np.float32)
    X[:, 80:90] = np.floor(X[:, 80:90] * 3)
    X[:, 90:95][rng.random((n_rows, 5)) < 0.3] = np.nan
    score = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - 0.8 + 0.4 * (X[:, 80] > 1) + 0.3 * np.isnan(X[:, 90])
    y = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-2.0 * score))
    return X, y.astype(np.int8)


def write_table(path: Path, n_rows: int, text: Path | None) -> None:
    """Write the table by groups of rows, and as text besides if LightGBM needs it."""
    import pyarrow.csv

    finished = path, text
    path, text = path.with_suffix(".part"), None if text is None else text.with_suffix(".lines")
    schema = pa.schema([*((name, pa.float32()) for name in NAMES), ("y", pa.int8())])
    options = pyarrow.csv.WriteOptions(include_header=False)
    writer = pq.ParquetWriter(path, schema, compression="none", use_dictionary=False)
    lines = None if text is None else pyarrow.csv.CSVWriter(text, schema, write_options=options)
    for group, start in enumerate(range(0, n_rows, GROUP_ROWS)):
        X, y = make_rows(group, min(GROUP_ROWS, n_rows - start))
        table = pa.table([*(pa.array(X[:, j]) for j in range(N_COLUMNS)), pa.array(y)], schema=schema)
        writer.write_table(table)
        if lines is not None:
            lines.write_table(table)
    writer.close()
    if lines is not None:
        lines.close()
    for made, name in zip((path, text), finished, strict=True):
        if made is not None and name is not None:
            made.rename(name)


# --- fits, each in its own process -----------------------------------------------------------------------------------


def fit_boosting(job: dict[str, Any]) -> Any:
    import committee

    model = committee.HistGradientBoostingClassifier(
        max_iter=ROUNDS, max_leaf_nodes=LEAVES, learning_rate=RATE, early_stopping=False, random_state=0
    )
    with committee.memory_limit(job["limit"], folder=job["folder"]):
        model.fit(job["table"], "y")
    return lambda X: model.predict_proba(X)[:, 1]


def fit_forest(job: dict[str, Any]) -> Any:
    import committee

    model = committee.RandomForestClassifier(n_estimators=TREES, max_depth=DEPTH, random_state=0, max_samples=0.5)
    with committee.memory_limit(job["limit"], folder=job["folder"]):
        model.fit(job["table"], "y")
    return lambda X: model.predict_proba(X)[:, 1]


def fit_xgboost(job: dict[str, Any]) -> Any:
    import xgboost as xgb

    class Groups(xgb.DataIter):  # type: ignore[misc]
        def __init__(self) -> None:
            self.file, self.group = pq.ParquetFile(job["table"], memory_map=True), 0
            super().__init__(cache_prefix=job["folder"] + "/xgboost")

        def next(self, input_data: Any) -> bool:
            if self.group == self.file.num_row_groups:
                return False
            table = self.file.read_row_group(self.group)
            X = np.column_stack([table[name].to_numpy() for name in NAMES])
            input_data(data=X, label=table["y"].to_numpy())
            self.group += 1
            return True

        def reset(self) -> None:
            self.group = 0

    data = xgb.ExtMemQuantileDMatrix(Groups(), max_bin=255)
    # XGBoost's documentation advises against "lossguide" here: it reads the whole table once for each split
    params = {"objective": "binary:logistic", "eta": RATE, "max_depth": 5, "grow_policy": "depthwise"}
    booster = xgb.train({**params, "max_bin": 255, "tree_method": "hist"}, data, ROUNDS)
    return lambda X: booster.predict(xgb.DMatrix(X))


def fit_lightgbm(job: dict[str, Any]) -> Any:
    import lightgbm as lgb

    params = {"objective": "binary", "num_leaves": LEAVES, "learning_rate": RATE, "max_bin": 255, "verbose": -1}
    options = {"two_round": True, "header": False, "label_column": N_COLUMNS}
    data = lgb.Dataset(job["text"], params={**params, **options})
    booster = lgb.train({**params, **options}, data, ROUNDS)
    return lambda X: booster.predict(X)


JOBS = {
    "committee, boosting": fit_boosting,
    "committee, random forest": fit_forest,
    "LightGBM, two-round loading": fit_lightgbm,
    "XGBoost, external memory": fit_xgboost,
}


class Peak:
    """The most private memory of this process, looked at 20 times a second."""

    def __init__(self) -> None:
        self.private, self._stopped = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stopped.wait(0.05):
            self.private = max(self.private, read_status("RssAnon"))

    def stop(self) -> int:
        """End the watch and give the peak."""
        self._stopped.set()
        self._thread.join()
        return self.private


def read_status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return 0


def run_child(job: dict[str, Any]) -> None:
    from sklearn.metrics import roc_auc_score

    if job["limited"]:
        limit = read_bytes(job["limit"])
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    peak, started = Peak(), time.perf_counter()
    predict = JOBS[job["name"]](job)
    seconds, private = time.perf_counter() - started, peak.stop()
    X, y = make_rows(10**6, N_TEST)
    found = {"seconds": seconds, "private": private, "resident": read_status("VmHWM")}
    print(json.dumps({**found, "auc": float(roc_auc_score(y, predict(X)))}))


def run_job(job: dict[str, Any]) -> dict[str, Any]:
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
    command = [sys.executable, "-m", "benchmarks.out_of_core", "--child", json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode == 0:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return {"error": lines[-1][:160] if lines else f"ended with {done.returncode}"}


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Ours under the limit; others without, and whether they keep within it."""
    if job["name"].startswith("committee"):
        found = run_job({**job, "limited": True})
        return {**found, "within": "kept" if "error" not in found else ""}
    found = run_job({**job, "limited": False})
    limited = run_job({**job, "limited": True})
    failure = limited.get("error")
    return {**found, "within": f"kept, {limited['seconds']:.0f} s" if failure is None else f"failed: {failure}"}


def show_table(found: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| fit | seconds | peak of private memory | peak of resident pages | AUC | under the limit |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in found.items():
        if "error" in row:
            lines.append(f"| {name} | failed: {row['error']} | | | | {row['within']} |")
        else:
            private, resident = show_bytes(row["private"]), show_bytes(row["resident"])
            cells = f"{row['seconds']:.0f} | {private} | {resident} | {row['auc']:.4f} | {row['within']}"
            lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)


INTRODUCTION = f"""# Tables larger than memory

Made by `python -m benchmarks.out_of_core`, whose heading says what is measured. Boosting makes {ROUNDS} rounds of
{LEAVES} leaves, the forest {TREES} trees of depth {DEPTH} on samples of half of the rows. Our fits run under the limit,
the others without one, and once more with it. Resident pages include those of files, which the system drops when
others need the room. RLIMIT_DATA also counts memory that is reserved and not used.
"""


def write_section(path: Path, heading: str, text: str) -> None:
    """Put a section into the page, in the place of the one with this heading."""
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = dict(part.split("\n", 1) for part in page.split("\n## ")[1:])
    sections[heading] = f"\n{text}\n"
    parts = [f"\n## {name}\n{body.rstrip()}\n" for name, body in sections.items()]
    path.write_text(INTRODUCTION + "".join(parts), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="size of the Parquet file")
    parser.add_argument("--limit", default="600MB", help="memory of each process")
    parser.add_argument("--folder", default=None, help="where the table and temporary files are made")
    parser.add_argument("--keep", action="store_true", help="leave the table in the folder and use one that is there")
    parser.add_argument("--make", action="store_true", help="make the table, which is kept, and fit nothing")
    parser.add_argument("--only", default="", help="fits whose names contain this")
    parser.add_argument("--write", action="store_true", help="put the table into results/out_of_core.md")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        run_child(json.loads(given.child))
        return
    names = [name for name in JOBS if given.only in name]
    n_rows = int(given.gigabytes * 1e9 / (4 * N_COLUMNS + 1))
    with tempfile.TemporaryDirectory(prefix="out_of_core-", dir=given.folder) as folder:
        home = Path(given.folder or ".") if given.keep or given.make else Path(folder)
        table, text = home / f"rows-{n_rows}.parquet", home / f"rows-{n_rows}.csv"
        needs_text = any("LightGBM" in name for name in names)
        if not table.exists() or (needs_text and not text.exists()):
            write_table(table, n_rows, text if needs_text else None)
        if given.make:
            return
        size = show_bytes(table.stat().st_size)
        paths = {"table": str(table), "text": str(text), "folder": folder, "limit": given.limit}
        load = measure_load()
        found = {name: measure({"name": name, **paths}) for name in names}
    facts = (
        f"{n_rows:,} rows, {N_COLUMNS} columns, {size} of Parquet; limit {given.limit} by RLIMIT_DATA. "
        f"{show_machine()}. Load before: {load:.0%}."
    )
    page = f"{facts}\n\n{show_table(found)}"
    print(page)
    if given.write:
        write_section(RESULTS / "out_of_core.md", f"{given.gigabytes:g} GB, limit {given.limit}", page)


if __name__ == "__main__":
    main()
