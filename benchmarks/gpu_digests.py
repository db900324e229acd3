"""Whether models of the GPU engine have the digests of the CPU's, on tables of public data and on drawn ones.

``python benchmarks/gpu_digests.py --pack FOLDER --tables FILE`` makes a small file of the tables of a folder (Parquet
files whose last column is ``target``); ``python benchmarks/gpu_digests.py --tables FILE`` fits every family of models
with both engines, prints a line a table, and writes ``results/gpu_digests.json``. Drawn tables have the sizes at which
the engines change their ways. The exit status is 1 if any digest differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from committee import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.engines.tree_model import present_trees

TEXT_TABLES = ("reuters_r52", "reuters_r90_multilabel", "sms_spam")
REGRESSION = ("abalone", "ames_housing", "boston", "california_housing", "diamonds", "wine_quality")
PACKED_ROWS, PACKED_CELLS = 4_000, 120_000


@dataclass(frozen=True)
class Table:
    """A table of numbers and codes."""

    name: str
    X: Any
    y: Any
    categories: list[int]
    is_regression: bool

    def take(self, n_rows: int, n_features: int) -> Table:
        """Its first rows and columns."""
        kept = [c for c in self.categories if c < n_features]
        return Table(self.name, self.X[:n_rows, :n_features], self.y[:n_rows], kept, self.is_regression)


HIST = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
EXACT = (GradientBoostingClassifier, GradientBoostingRegressor)
FITS: dict[str, tuple[tuple[Any, Any], dict[str, Any]]] = {
    "levels": (HIST, {"max_iter": 5, "max_depth": 6, "max_leaf_nodes": None, "early_stopping": False}),
    "leaves": (HIST, {"max_iter": 5, "max_leaf_nodes": 31, "early_stopping": False}),
    "leaves of one row": (HIST, {"max_iter": 3, "min_samples_leaf": 1, "l2_regularization": 1.0, "max_features": 0.5}),
    "drawn rows": (EXACT, {"n_estimators": 4, "subsample": 0.6, "early_stopping": False}),
    "goss": (EXACT, {"n_estimators": 4, "boosting": "goss", "early_stopping": False}),
    "random forest": ((RandomForestClassifier, RandomForestRegressor), {"n_estimators": 4}),
    "extra-trees": ((ExtraTreesClassifier, ExtraTreesRegressor), {"n_estimators": 4}),
    "AdaBoost": ((AdaBoostClassifier, AdaBoostClassifier), {"n_estimators": 20}),
}
FORESTS = ("random forest", "extra-trees")


def read_table(path: Path, n_rows: int, n_cells: int) -> Table:
    """Some rows of a file of public data, spread over it; text and categories become codes."""
    import pandas

    frame = pandas.read_parquet(path)
    step = max(1, len(frame) // min(n_rows, max(200, n_cells // frame.shape[1])))
    frame = frame.iloc[::step]
    columns, categories = [], []
    for k, name in enumerate(frame.columns[:-1]):
        if pandas.api.types.is_numeric_dtype(frame[name]):
            columns.append(frame[name].to_numpy(dtype=np.float64, na_value=np.nan))
            continue
        codes = pandas.Categorical(frame[name].astype("str").where(frame[name].notna())).codes.astype(np.float64)
        columns.append(np.where(codes < 0, np.nan, codes))
        categories.append(k)
    target = frame.iloc[:, -1]
    is_regression = path.stem in REGRESSION
    y = target.to_numpy(dtype=np.float64) if is_regression else pandas.Categorical(target.astype("str")).codes
    return Table(path.stem, np.stack(columns, axis=1), np.asarray(y), categories, is_regression)


def list_files(folder: Path) -> list[Path]:
    """The tables of a folder that are not text."""
    return [path for path in sorted(folder.glob("*.parquet")) if path.stem not in TEXT_TABLES]


def pack(folder: Path, out: Path) -> None:
    """Make one file of some rows of each table."""
    arrays: dict[str, Any] = {}
    for path in list_files(folder):
        table = read_table(path, PACKED_ROWS, PACKED_CELLS)
        arrays[f"{table.name}/X"] = table.X.astype(np.float32)
        arrays[f"{table.name}/y"] = table.y
        arrays[f"{table.name}/categories"] = np.array(table.categories, np.int64)
    np.savez_compressed(out, **arrays)
    print(f"{len(arrays) // 3} tables, {out.stat().st_size / 1e6:.1f} MB")


def open_packed(path: Path) -> Iterator[Table]:
    """The tables of a packed file."""
    with np.load(path) as arrays:
        for name in sorted({key.partition("/")[0] for key in arrays}):
            categories = arrays[f"{name}/categories"].tolist()
            yield Table(name, arrays[f"{name}/X"], arrays[f"{name}/y"], categories, name in REGRESSION)


def draw_tables() -> Iterator[Table]:
    """Tables at the sizes where words, groups of features, samples of bins and the place of binning change."""
    rng = np.random.default_rng(0)
    sizes = [(n, 6) for n in (4_095, 4_096, 32_767, 32_768, 32_769, 65_537, 200_000, 200_001, 262_144, 262_145)]
    sizes += [(3_000, n) for n in (1, 15, 16, 17, 31, 32, 33, 64, 65, 300)] + [(300_001, 33), (1_100_000, 9)]
    for k, (n_rows, n_features) in enumerate(sizes):
        X = rng.standard_normal((n_rows, n_features)).astype(np.float32 if k % 2 else np.float64)
        z = X[:, 0] + X[:, n_features // 2] * X[:, -1] + rng.standard_normal(n_rows)
        if k % 3 == 0:
            X[rng.random(X.shape) < 0.05] = np.nan
        X[:, -1] = np.round(X[:, -1])
        is_regression = k % 2 == 1
        y = z if is_regression else np.digitize(z, [0.0] if k % 4 else [-1.0, 0.0, 1.0])
        yield Table(f"drawn, {n_rows:,} x {n_features}", X, y, [], is_regression)


def make_model(fit: str, table: Table, engine: str, n_rounds: int | None = None) -> Any:
    """An estimator of a family, not fitted; of so many rounds or trees."""
    families, params = FITS[fit]
    if n_rounds is not None:
        params = params | {name: n_rounds for name in ("max_iter", "n_estimators") if name in params}
    model = families[table.is_regression](engine=engine, random_state=0, **params)
    if fit not in (*FORESTS, "AdaBoost") and table.categories:
        model.set_params(categorical_features=table.categories)
    return model


def find_digest(model: Any) -> str:
    """Of the trees, and of what the model says about features."""
    trees = present_trees(model).trees
    parts = pickle.dumps(trees) + np.asarray(model.feature_importances_).tobytes()
    return hashlib.sha256(parts).hexdigest()[:16]


def compare(fit: str, table: Table, n_rounds: int | None = None) -> bool:
    """Whether both engines give the same digest."""
    X = np.nan_to_num(table.X, nan=-1.0) if fit in FORESTS else table.X
    # AdaBoost of stumps tells two halves of the numbers apart.
    y = table.y > np.median(table.y) if fit == "AdaBoost" and table.is_regression else table.y
    models = (make_model(fit, table, engine, n_rounds) for engine in ("cpu", "gpu"))
    digests = [find_digest(model.fit(X, y)) for model in models]
    return digests[0] == digests[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Pack tables, or compare digests on them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pack", type=Path, help="make the file of the tables in this folder, and nothing else")
    parser.add_argument("--tables", type=Path, help="the file of packed tables; without it drawn tables alone")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu_digests.json")
    given = parser.parse_args(arguments)
    if given.pack is not None:
        pack(given.pack, given.tables)
        return 0
    tables = [*(open_packed(given.tables) if given.tables else []), *draw_tables()]
    results: list[dict[str, Any]] = []
    for table in tables:
        start = time.perf_counter()
        same = {fit: compare(fit, table) for fit in FITS}
        seconds = time.perf_counter() - start
        results.append({"table": table.name, "shape": list(table.X.shape), "same": same})
        wrong = [fit for fit, equal in same.items() if not equal]
        said = f"{len(same)} equal digests" if not wrong else f"DIFFERENT: {wrong}"
        print(f"{table.name:28} {table.X.shape!s:18} {said} ({seconds:.1f} s)", flush=True)
        given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    n_wrong = sum(not all(row["same"].values()) for row in results)
    print(f"{len(results)} tables, {n_wrong} with a digest that differs")
    return int(n_wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
