"""Additive models that can be read, beside InterpretML's: `python benchmarks/explainable.py`; --quick is a smoke test.

Both have their defaults, but the same number of outer bags and of pairs: InterpretML's 14 bags and, for classes, three
pairs for each feature. They have the same rows, 5,000 of larger tables (`--rows`), and one thread; seconds are CPU
seconds of the fit, which other work on the machine changes little. Scores are of a fourth of the rows, which neither
has seen: R² of numbers, the area under the ROC curve of two classes, means over three splits (`--splits`). The error of
the mean difference is the larger of two: that of 500 bootstrap samples of each split's scored rows, and that of the
spread over splits. Settings of ours were chosen on other splits of some of these tables. Tables other than those inside
scikit-learn are read from the folder COMMITTEE_DATA, and left out without it. InterpretML may need an environment of
its own: `--peer-python` names its interpreter; without, its rows are left out, and the page says so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

OURS, INTERPRET = "committee", "InterpretML"
#: Tables of COMMITTEE_DATA, and those that are made here.
FILES = {
    "wine quality": "wine_quality",
    "California housing": "california_housing",
    "magic telescope": "magic_telescope",
    "bank marketing": "bank_marketing",
    "adult": "adult",
}
CASES = ("breast cancer", "diabetes", *FILES, "drawn")
CLASSES = {"breast cancer", "magic telescope", "bank marketing", "adult"}
BAGS, PAIRS = 14, 3
N_SAMPLES, N_ROWS, N_SPLITS = 500, 5_000, 3
#: Settings were tried on splits below it.
FIRST_SPLIT = 100


def read_table(case: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Columns of numbers and of texts (missing: empty), and the target, whose classes are 0 and 1."""
    from sklearn import datasets

    if case in FILES:
        import pandas as pd

        frame = pd.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{FILES[case]}.parquet")
        y = frame.pop("target")
        columns = {}
        for name, column in frame.items():
            numeric = pd.api.types.is_numeric_dtype(column)
            made = column.to_numpy(np.float64) if numeric else column.astype(object).fillna("").to_numpy(str)
            columns[str(name)] = made
        if case in CLASSES:
            labels = y.astype(str).to_numpy(str)
            return columns, (labels == max(labels)).astype(np.float64)
        return columns, y.to_numpy(np.float64)
    if case == "breast cancer":
        X, y = datasets.load_breast_cancer(return_X_y=True)
    elif case == "diabetes":
        X, y = datasets.load_diabetes(return_X_y=True)
    else:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(N_ROWS, 10))
        y = np.sin(2.0 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.5 * X[:, 3] ** 2 + rng.normal(size=len(X))
    return {f"x{k}": X[:, k] for k in range(X.shape[1])}, y.astype(np.float64)


def make_rows(case: str, n_rows: int = N_ROWS, split: int = 0) -> dict[str, np.ndarray]:
    """Rows to learn from and, a fourth, rows to score; of larger tables so many rows, the same in all splits."""
    from sklearn.model_selection import train_test_split

    columns, y = read_table(case)
    drawn = np.random.default_rng(1).permutation(len(y))[:n_rows]
    train, test = train_test_split(drawn, test_size=0.25, random_state=FIRST_SPLIT + split)
    rows = {"y": y[train], "y_test": y[test], "names": np.array(list(columns))}
    for name, values in columns.items():
        rows |= {f"train {name}": values[train], f"test {name}": values[test]}
    return rows


def make_frame(rows: dict[str, np.ndarray], part: str, contender: str) -> Any:
    """The table as a contender takes it: texts as categories, or as they are."""
    import pandas as pd

    frame = pd.DataFrame({str(name): rows[f"{part} {name}"] for name in rows["names"]})
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            texts = frame[name].astype(object)
            frame[name] = texts.where(texts != "", None).astype("category" if contender == OURS else object)
    return frame


def fit_case(contender: str, case: str, folder: Path, quick: bool) -> dict[str, float]:
    """Fit one contender on the rows in the folder, and keep its predictions of the rows to score."""
    rows = dict(np.load(folder / "rows.npz"))
    kind = "Classifier" if case in CLASSES else "Regressor"
    options: dict[str, Any] = {"outer_bags": 2 if quick else BAGS, "random_state": 0, "n_jobs": 1}
    if contender == OURS:
        import committee

        options |= {"interactions": float(PAIRS)} | ({"max_iter": 5} if quick else {})
        model = getattr(committee, f"ExplainableBoosting{kind}")(**options)
    else:
        from interpret import glassbox

        options |= {"interactions": f"{PAIRS}x"} | ({"max_rounds": 50} if quick else {})
        model = getattr(glassbox, f"ExplainableBoosting{kind}")(**options)
    X, test = (make_frame(rows, part, contender) for part in ("train", "test"))
    start = time.process_time()
    model.fit(X, rows["y"])
    seconds = time.process_time() - start
    found = model.predict_proba(test)[:, 1] if case in CLASSES else model.predict(test)
    np.save(folder / f"{contender}.npy", found)
    return {"seconds": seconds}


def score_case(case: str, y: np.ndarray, predicted: np.ndarray) -> float:
    """R², or the area under the ROC curve."""
    from sklearn.metrics import r2_score, roc_auc_score

    return float((roc_auc_score if case in CLASSES else r2_score)(y, predicted))


def find_error(case: str, y: np.ndarray, first: np.ndarray, second: np.ndarray, n_samples: int = N_SAMPLES) -> float:
    """The standard error of the difference of two scores, by bootstrap samples of the rows."""
    rng, differences = np.random.default_rng(0), []
    for _ in range(n_samples):
        drawn = rng.integers(0, len(y), len(y))
        differences.append(score_case(case, y[drawn], first[drawn]) - score_case(case, y[drawn], second[drawn]))
    return float(np.std(differences))


def run_split(case: str, split: int, n_rows: int, quick: bool, peer_python: str | None) -> dict[str, dict[str, float]]:
    """Fit each contender that has an environment in a process of its own, and score here."""
    outcomes: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        rows = make_rows(case, n_rows, split)
        np.savez(Path(name) / "rows.npz", **rows)
        predicted = {}
        for contender, python in ((OURS, sys.executable), (INTERPRET, peer_python)):
            if python is None:
                continue
            words = [str(Path(__file__).resolve()), "--child", contender, case, name]
            found = subprocess.run([python, *words, *(["--quick"] * quick)], check=True, capture_output=True, text=True)
            predicted[contender] = np.load(Path(name) / f"{contender}.npy")
            score = score_case(case, rows["y_test"], predicted[contender])
            outcomes[contender] = {**json.loads(found.stdout.splitlines()[-1]), "score": score}
            print(case, split, contender, outcomes[contender], file=sys.stderr, flush=True)
    if len(predicted) == 2:
        outcomes[OURS]["error"] = find_error(case, rows["y_test"], predicted[OURS], predicted[INTERPRET])
    return outcomes


def join_splits(found: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float] | None]:
    """Means over splits, with the difference of the scores and its error; None for one without an environment."""
    joined: dict[str, dict[str, float] | None] = {
        who: {key: float(np.mean([own[who][key] for own in found])) for key in ("seconds", "score")}
        if all(who in own for own in found)
        else None
        for who in (OURS, INTERPRET)
    }
    ours = joined[OURS]
    if ours is not None and joined[INTERPRET] is not None:
        differences = [own[OURS]["score"] - own[INTERPRET]["score"] for own in found]
        spread = float(np.std(differences, ddof=1)) if len(found) > 1 else 0.0
        drawn = float(np.sqrt(np.mean([own[OURS]["error"] ** 2 for own in found])))
        ours |= {"difference": float(np.mean(differences)), "error": max(spread, drawn) / len(found) ** 0.5}
    return joined


def render(outcomes: dict[str, dict[str, dict[str, float] | None]], machine: str, n_rows: int, n_splits: int) -> str:
    """The page of the results."""
    lines = [
        "# Additive models that can be read",
        "",
        f"{machine} Made by `python benchmarks/explainable.py`, whose heading says what is measured: the defaults of "
        f"both libraries but {BAGS} outer bags and {PAIRS} pairs a feature, at most {n_rows:,} rows, one thread; "
        f"scores are R² or, of classes, the area under the ROC curve, means over {n_splits} splits, their difference "
        "and its standard error.",
        "",
        "| data | by | fit, CPU seconds | score | difference | times faster |",
        "|---|---|---|---|---|---|",
    ]
    for case, found in outcomes.items():
        for who, own in found.items():
            if own is None:
                lines.append(f"| {case} | {who} | not measured | | | |")
                continue
            peer = found.get(INTERPRET) if who == OURS else None
            ratio = difference = ""
            if peer is not None:
                ratio = f"{peer['seconds'] / own['seconds']:.1f}"
                difference = f"{own['difference']:+.4f} ± {own['error']:.4f}"
            lines.append(f"| {case} | {who} | {own['seconds']:.2f} | {own['score']:.4f} | {difference} | {ratio} |")
    return "\n".join(lines) + "\n"


def main(words: list[str] | None = None) -> None:
    """Run the cases, print the page and keep it."""
    from benchmarks.lanes import add_lanes, run_in_lanes, show_lanes

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data: a smoke test")
    parser.add_argument("--peer-python", help="Python of an environment with InterpretML")
    parser.add_argument("--rows", type=int, default=N_ROWS, help="the most rows of a table")
    parser.add_argument("--splits", type=int, default=N_SPLITS, help="splits of each table")
    parser.add_argument("--cases", nargs="*", default=CASES, help="some of the data sets")
    add_lanes(parser)
    parser.add_argument("--out", type=Path, help="folder of the page (benchmarks/results; none with --quick)")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.child:
        contender, case, folder = arguments.child
        print(json.dumps(fit_case(contender, case, Path(folder), arguments.quick)))
        return
    from benchmarks.machine import measure_load, show_machine, show_peer
    from benchmarks.report import RESULTS

    load, left_out = measure_load(), arguments.quick or not os.environ.get("COMMITTEE_DATA")
    cases = [case for case in arguments.cases if not (case in FILES and left_out)]
    n_rows, n_splits = (300, 1) if arguments.quick else (arguments.rows, arguments.splits)
    calls = [(c, split, n_rows, arguments.quick, arguments.peer_python) for split in range(n_splits) for c in cases]
    found = run_in_lanes(run_split, calls, arguments.lanes, 1)
    joined = {case: join_splits(found[k :: len(cases)]) for k, case in enumerate(cases)}
    machine = f"{show_machine()}, {show_peer(arguments.peer_python, 'interpret-core')}; load before the run {load:.2f}."
    page = render(joined, f"{machine} {show_lanes(arguments.lanes, 1)}", n_rows, n_splits)
    out = arguments.out or (None if arguments.quick else RESULTS)
    if out is not None:
        (out / "explainable.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
