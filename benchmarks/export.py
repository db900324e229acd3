"""Exported models beside treelite and lleaves: `python -m benchmarks.export`.

One model of LightGBM (100 trees of 31 leaves) and one forest of scikit-learn (50 trees of 127 leaves) are compiled by
all: by this library as a C file (read with `from_lightgbm` or `from_sklearn`), by treelite and tl2cgen as C, by lleaves
through LLVM. Sizes, processor seconds of compiling, rows a second of processor time one by one and in batches; the
predictions are compared in the run. tl2cgen and lleaves are left out where they are not installed (lleaves 1.3 needs
llvmlite below 0.45). ``--write`` puts the tables into results/export.md.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import itertools
import os
import pickle
import subprocess
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import measure_load, show_machine
from benchmarks.measure import Job, Outcome, run_in_child, run_in_turns, time_calls
from benchmarks.report import RESULTS

__all__ = ["compile_model", "main", "measure_rows"]

N_COLUMNS, SIZES = 28, (1, 100, 10_000)
#: Processes of each way of predicting.
ROUNDS = 3
#: Numbers of trees and leaves, of the full run and of a quick one.
SHAPES = {"boosting": ((100, 31), (10, 7)), "forest": ((50, 127), (10, 7))}
#: What compiles a model, and the packages that it needs.
COMPILERS: dict[str, tuple[str, ...]] = {
    "C file": (),
    "treelite, tl2cgen": ("treelite", "tl2cgen"),
    "lleaves": ("lleaves",),
}
SOURCES = {"boosting": "LightGBM", "forest": "scikit-learn"}
Ask = Callable[[np.ndarray], np.ndarray]


def draw() -> tuple[np.ndarray, np.ndarray]:
    """Rows and classes; the values are float32 numbers, to which scikit-learn would round them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(SIZES[-1], N_COLUMNS)).astype(np.float32).astype(np.float64)
    return X, (X[:, :5].sum(axis=1) + X[:, 5] * X[:, 6] + rng.normal(size=len(X)) > 0).astype(int)


# --- in the child ----------------------------------------------------------------------------------------------------


def fit_model(model: str, shape: tuple[int, int], folder: str) -> Outcome:
    """Fit the model of the other library and keep it."""
    X, y = draw()
    n_trees, n_leaves = shape
    if model == "boosting":
        import lightgbm

        settings = {"objective": "binary", "num_leaves": n_leaves, "num_threads": 1, "verbose": -1}
        lightgbm.train(settings, lightgbm.Dataset(X, y), n_trees).save_model(f"{folder}/boosting.txt")
    else:
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(n_trees, max_leaf_nodes=n_leaves, random_state=0, n_jobs=1).fit(X, y)
        Path(folder, "forest.pickle").write_bytes(pickle.dumps(forest))
    return {"seconds": [], "cpu": []}


def read_model(model: str, folder: str) -> Any:
    """The model as an object of its library."""
    if model == "boosting":
        import lightgbm

        return lightgbm.Booster(model_file=f"{folder}/boosting.txt")
    return pickle.loads(Path(folder, "forest.pickle").read_bytes())


def take_over(model: str, folder: str) -> Any:
    """The model as an estimator of this library."""
    from committee.io import from_lightgbm, from_sklearn

    fitted = from_lightgbm(f"{folder}/boosting.txt") if model == "boosting" else from_sklearn(read_model(model, folder))
    return fitted.set_params(n_jobs=1)


def compile_model(contender: str, model: str, folder: str) -> Outcome:
    """Compile the model; the processor seconds of that, and the sizes of source and library."""
    library = Path(folder, f"{model}.{contender[:2]}.so")
    sources: list[Path] = []
    if contender == "C file":
        from committee.io import to_c

        fitted = take_over(model, folder)
        start = os.times()
        sources = [Path(folder, f"{model}.c")]
        to_c(fitted, sources[0], name="model")
        command = ["cc", "-std=c99", "-O2", "-shared", "-fPIC", "-o", str(library), str(sources[0])]
        subprocess.run(command, check=True)
    elif contender == "lleaves":
        import lleaves

        start = os.times()
        lleaves.Model(model_file=f"{folder}/{model}.txt").compile(cache=library)
    else:
        import tl2cgen

        loaded = load_treelite(model, folder)
        start = os.times()
        tl2cgen.export_lib(loaded, toolchain="gcc", libpath=library)
    # Of this process and of the compilers that it has called.
    cpu = sum(after - before for after, before in zip(os.times()[:4], start[:4], strict=True))
    if contender.startswith("treelite"):
        tl2cgen.generate_c_code(loaded, dirpath=f"{folder}/{model}.tl", params={})
        sources = [*Path(folder, f"{model}.tl").glob("*.[ch]")]
    size = sum(path.stat().st_size for path in sources)
    return {"seconds": [cpu], "cpu": [cpu], "source": size, "bytes": library.stat().st_size}


def load_treelite(model: str, folder: str) -> Any:
    """The model as treelite reads it."""
    import treelite

    read = treelite.frontend.load_lightgbm_model if model == "boosting" else treelite.sklearn.import_model
    return read(f"{folder}/{model}.txt" if model == "boosting" else read_model(model, folder))


def open_model(contender: str, model: str, folder: str) -> Ask:
    """The function from rows to the probabilities of the second class."""
    library = str(Path(folder, f"{model}.{contender[:2]}.so"))
    if contender == "C file":
        return open_c(library)
    if contender == "lleaves":
        import lleaves

        compiled = lleaves.Model(model_file=f"{folder}/{model}.txt")
        compiled.compile(cache=library)
        return lambda rows: compiled.predict(rows, n_jobs=1)
    if contender.startswith("treelite"):
        import tl2cgen

        predictor = tl2cgen.Predictor(library, nthread=1)
        return lambda rows: predictor.predict(tl2cgen.DMatrix(rows)).reshape(len(rows), -1)[:, -1]
    if contender == "in process":
        predict_proba = take_over(model, folder).predictor().predict_proba
        return lambda rows: predict_proba(rows)[:, 1]
    source = read_model(model, folder)
    if model == "boosting":
        return lambda rows: source.predict(rows, num_threads=1)
    return lambda rows: source.predict_proba(rows)[:, 1]


def open_c(library: str) -> Ask:
    """The compiled C file."""
    function = ctypes.CDLL(library).model_predict_proba_rows
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p], None

    def ask(rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), 2))
        function(rows.ctypes.data, len(rows), out.ctypes.data)
        return out[:, 1]

    return ask


def measure_rows(contender: str, model: str, folder: str, size: int, repeats: int) -> Outcome:
    """Time calls of some rows, different ones in each; the largest difference to the source's predictions."""
    X, _ = draw()
    ask = open_model(contender, model, folder)
    difference = float(np.abs(ask(X) - open_model("source", model, folder)(X)).max())
    batches = itertools.cycle([np.ascontiguousarray(X[at : at + size]) for at in range(0, len(X), size)])
    return time_calls(lambda: ask(next(batches)), repeats) | {"difference": difference}


# --- in the parent ---------------------------------------------------------------------------------------------------


def run_model(model: str, quick: bool, folder: str) -> list[str]:
    """Both tables of a model."""
    shape = SHAPES[model][quick]
    found = [name for name, needed in COMPILERS.items() if all(map(importlib.util.find_spec, needed))]
    if model == "forest" and "lleaves" in found:
        found.remove("lleaves")  # it reads LightGBM's text alone
    run_in_turns([Job("benchmarks.export:fit_model", {"model": model, "shape": shape, "folder": folder})], 1)
    common = {"model": model, "folder": folder}
    jobs = [Job("benchmarks.export:compile_model", {"contender": name, **common}) for name in found]
    made = dict(zip(found, run_in_turns(jobs, 1, batched=quick), strict=True))
    timed = time_ways([*found, "in process", "source"], common, quick)
    lines = [f"## {model.capitalize()} of {SOURCES[model]}: {shape[0]} trees of {shape[1]} leaves", ""]
    lines += ["| compiled by | source, KiB | library, KiB | compiling, CPU s |", "|---|--:|--:|--:|"]
    for name, one in made.items():
        source = f"{one['source'] / 1024:,.0f}" if one["source"] else ""
        lines.append(f"| {name} | {source} | {one['bytes'] / 1024:,.0f} | {min(one['cpu']):.2f} |")
    lines += ["", "| rows a second | " + " | ".join(f"{size:,}" for size in SIZES) + " | largest difference |"]
    lines.append("|---|" + "--:|" * (len(SIZES) + 1))
    for way, outcomes in timed.items():
        rates = [f"{size / min(one['cpu']):,.0f}" for size, one in zip(SIZES, outcomes, strict=True)]
        difference = max(one["difference"] for one in outcomes)
        if difference > 1e-12:
            raise SystemExit(f"{way} predicts something else: the largest difference is {difference}")
        lines.append(f"| {SOURCES[model] if way == 'source' else way} | {' | '.join(rates)} | {difference:.1e} |")
    return lines


def time_ways(ways: list[str], common: dict[str, Any], quick: bool) -> dict[str, list[Outcome]]:
    """An outcome for each number of rows; the ways take turns, each in a process of its own."""
    found: dict[str, list[Outcome]] = {}
    for _ in range(1 if quick else ROUNDS):
        for way in ways:
            options = {"contender": way, **common, "repeats": 1 if quick else 5}
            jobs = [Job("benchmarks.export:measure_rows", {**options, "size": size}) for size in SIZES]
            outcomes = run_in_child(jobs)
            for one, earlier in zip(outcomes, found.get(way, []), strict=way in found):
                one["cpu"] += earlier["cpu"]
            found[way] = outcomes
    return found


def write_page(lines: list[str], load: float) -> str:
    """The page of the tables."""
    names = [name for name in ("treelite", "tl2cgen", "lleaves", "llvmlite") if importlib.util.find_spec(name)]
    peers = ", ".join(f"{name} {version(name)}" for name in names)
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    head = """# Exported models beside treelite and lleaves

`python -m benchmarks.export --write`

The same trees, compiled by each: *C file* is what `committee export MODEL -o model.c` writes, compiled with `cc -O2`;
tl2cgen's C is compiled with its own options; lleaves goes through LLVM and has no source. *In process* is this
library's prepared predictor, without compiling. 28 columns, probabilities of two classes, one thread. Rows a second of
processor time, best of three processes, called from Python by arrays of 1, 100 and 10,000 rows, other rows in each
call: one row is mostly the call itself (ctypes for the C file, a `DMatrix` for tl2cgen). The predictions of all rows
are compared with those of the library that the trees come from.
"""
    loaded = f"other processes used {load:.0%} of the machine before the run"
    return "\n".join([head, *lines, "", f"{show_machine()}; {peers}; {compiler}; {loaded}.", ""])


def main(words: list[str] | None = None) -> None:
    """Run both models and print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny models, one round: a smoke test")
    parser.add_argument("--write", action="store_true", help="put the page into results/export.md")
    given = parser.parse_args(words)
    load = measure_load(0.1 if given.quick else 2.0)
    lines: list[str] = []
    for model in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            lines += ["", *run_model(model, given.quick, folder)]
    page = write_page(lines[1:], load)
    print(page)
    if given.write:
        (RESULTS / "export.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
