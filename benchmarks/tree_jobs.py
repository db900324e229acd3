"""Jobs that the child processes of the tree suite run."""

from __future__ import annotations

import functools
import importlib
import io
import os
import pickle
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.measure import Outcome, time_calls, time_fit

WARM_UP_ROWS = 50


def make_tree(contender: str, name: str, params: dict[str, Any], threads: int = 1) -> Any:
    """A tree of one library; only committee's has threads, bins and exact splits as parameters."""
    module = {"committee": "committee", "scikit-learn": "sklearn.tree"}[contender]
    own = {"n_jobs": threads} if contender == "committee" else {}
    return getattr(importlib.import_module(module), name)(random_state=0, **params, **own)


def make_problem(kind: str, n_rows: int, n_test: int, n_columns: int = data.N_COLUMNS) -> data.Problem:
    if kind == "iris":
        from sklearn.datasets import load_iris

        X, y = load_iris(return_X_y=True)
        return data.Problem(X, y, X, y)
    if kind == "wide":
        return data.make_wide(n_rows, n_columns, n_test)
    if kind == "sparse":
        return data.make_sparse(n_rows, n_columns, n_test)
    return data.make_problem(kind, n_rows, n_test)


def warm_up(contender: str, name: str, params: dict[str, Any], problem: data.Problem) -> None:
    """Fit on a few rows, so that every library is loaded before the timing starts."""
    make_tree(contender, name, params).fit(problem.X[:WARM_UP_ROWS], problem.y[:WARM_UP_ROWS])


def fit_tree(
    contender: str, name: str, params: dict[str, Any], problem: dict[str, Any], repeats: int, threads: int = 1
) -> Outcome:
    found = make_problem(**problem)
    warm_up(contender, name, params, found)
    tree, outcome = time_fit(lambda: make_tree(contender, name, params, threads).fit(found.X, found.y), repeats)
    return {**outcome, "score": tree.score(found.X_test, found.y_test), "leaves": int(tree.get_n_leaves())}


def fit_tiny(contender: str, name: str, repeats: int) -> Outcome:
    """Fits that take microseconds and are timed in loops."""
    found = make_problem("iris", 0, 0)
    outcome = time_calls(lambda: make_tree(contender, name, {}).fit(found.X, found.y), repeats)
    return {**outcome, "score": make_tree(contender, name, {}).fit(found.X, found.y).score(found.X, found.y)}


def predict_tree(
    contender: str,
    name: str,
    params: dict[str, Any],
    problem: dict[str, Any],
    repeats: int,
    n_rows: int | None = None,
    method: str = "predict",
    threads: int = 1,
) -> Outcome:
    """Predictions for all test rows, or for the first `n_rows`."""
    found = make_problem(**problem)
    tree = make_tree(contender, name, params, threads).fit(found.X, found.y)
    rows = found.X_test[:n_rows]
    predict = getattr(tree, method)
    return {**time_calls(lambda: predict(rows), repeats), "score": tree.score(found.X_test, found.y_test)}


def pickle_tree(contender: str, name: str, params: dict[str, Any], problem: dict[str, Any], repeats: int) -> Outcome:
    found = make_problem(**problem)
    tree = make_tree(contender, name, params).fit(found.X, found.y)
    dumped = pickle.dumps(tree)
    outcome = time_calls(lambda: pickle.loads(pickle.dumps(tree)), repeats)
    return {**outcome, "bytes": len(dumped), "leaves": int(tree.get_n_leaves())}


def bin_table(contender: str, n_rows: int, repeats: int, threads: int) -> Outcome:
    """Find 255 bins per column and bin the table."""
    X = data.make_table(n_rows)
    bins = {"committee": _bin_ours, "LightGBM": _bin_lightgbm, "scikit-learn": _bin_histogram}[contender]
    bins(X[:WARM_UP_ROWS], threads)
    return time_fit(lambda: bins(X, threads), repeats)[1]


def _bin_ours(X: Any, threads: int) -> Any:
    import numpy as np

    from committee.data.binning import bin_columns

    return bin_columns(X, None, np.zeros(X.shape[1], dtype=np.uint32), 255, threads)


def _bin_lightgbm(X: Any, threads: int) -> Any:
    import lightgbm

    options = {"max_bin": 255, "num_threads": threads, "verbose": -1}
    return lightgbm.Dataset(X, params=options, free_raw_data=False).construct()


def _bin_histogram(X: Any, threads: int) -> Any:
    # The binning of scikit-learn's histogram boosting, which has no public interface.
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

    return _BinMapper(n_bins=256, n_threads=threads, random_state=0).fit_transform(X)


def fit_beside_others(contender: str, problem: dict[str, Any], repeats: int, threads: int, n_rounds: int) -> Outcome:
    """A fit on all cores: committee grows a tree, the others boost a few rounds."""
    found = make_problem(**problem)
    model: Any
    if contender == "LightGBM":
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_estimators=n_rounds, num_leaves=31, n_jobs=threads, verbose=-1, random_state=0)
    elif contender == "scikit-learn's histogram boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        model = HistGradientBoostingClassifier(max_iter=n_rounds, early_stopping=False, random_state=0)
    else:
        model = make_tree(contender, "DecisionTreeClassifier", {}, threads)
    model.fit(found.X, found.y)  # loads libraries, starts threads, allocates memory before the timing
    return time_calls(lambda: model.fit(found.X, found.y), repeats)


IMPORT = """
import sklearn.base, time
wall, cpu = time.perf_counter(), time.process_time()
{what}
print(time.perf_counter() - wall, time.process_time() - cpu)
"""


@functools.cache
def make_bytecode_folder() -> tempfile.TemporaryDirectory[str]:
    """One for all imports that this process times: each library is compiled once."""
    return tempfile.TemporaryDirectory()


def import_library(contender: str, repeats: int, compiled: bool = True) -> Outcome:
    """Time of the first import after sklearn.base: committee's trees and scikit-learn's; a smoke test compiles none."""
    module = {"committee": "committee", "scikit-learn": "sklearn.tree"}[contender]
    code = IMPORT.format(what=f"from {module} import DecisionTreeClassifier")
    runs = []
    # Installed packages are compiled to bytecode once; the same is done here, whatever the environment says.
    own = {"PYTHONPYCACHEPREFIX": make_bytecode_folder().name, "PYTHONDONTWRITEBYTECODE": ""} if compiled else {}
    for _ in range(repeats + compiled):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=True)
        runs.append([float(word) for word in done.stdout.split()])
    # The first run compiles and reads the files from disk.
    return {"seconds": [run[0] for run in runs[compiled:]], "cpu": [run[1] for run in runs[compiled:]]}


def measure_package_size(contender: str, wheel: str | None) -> Outcome:
    """Size of a wheel in bytes; without a wheel, of the package's files, compressed as in a wheel."""
    if wheel is not None:
        return {"bytes": Path(wheel).stat().st_size}
    package = Path(importlib.import_module(contender).__file__ or "").parent
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(package))
    return {"bytes": len(held.getvalue())}
