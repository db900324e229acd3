"""Additive models that can be read, beside InterpretML's: `python benchmarks/explainable.py`; --quick is a smoke test.

Both have their defaults, but the same number of outer bags and of pairs, InterpretML's: 14 bags, three pairs for each
feature. They have the same rows and the same number of threads. Scores are of a fourth of the rows, which neither has
seen: R² of numbers, the area under the ROC curve of two classes. InterpretML may need an environment of its own:
`--peer-python` names its interpreter; without, its rows are left out, and the page says so.
"""

from __future__ import annotations

import argparse
import json
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
CASES = ("breast cancer", "diabetes", "California housing", "drawn, 50,000 rows")
CLASSES = {"breast cancer"}
BAGS, PAIRS = 14, 3


def make_rows(case: str, n_rows: int | None = None) -> dict[str, np.ndarray]:
    """Rows to learn from and, a fourth, rows to score."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    if case == "breast cancer":
        X, y = datasets.load_breast_cancer(return_X_y=True)
    elif case == "diabetes":
        X, y = datasets.load_diabetes(return_X_y=True)
    elif case == "California housing":
        X, y = datasets.fetch_california_housing(return_X_y=True)
    else:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(50_000, 10))
        y = np.sin(2.0 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.5 * X[:, 3] ** 2 + rng.normal(size=len(X))
    train, test, y_train, y_test = train_test_split(X[:n_rows], y[:n_rows], test_size=0.25, random_state=0)
    return {"X": train, "y": y_train, "X_test": test, "y_test": y_test}


def fit_case(contender: str, case: str, folder: Path, quick: bool, n_jobs: int) -> dict[str, float]:
    """Fit one contender on the rows in the folder, and keep its predictions of the rows to score."""
    rows = dict(np.load(folder / "rows.npz"))
    kind = "Classifier" if case in CLASSES else "Regressor"
    options: dict[str, Any] = {"outer_bags": 2 if quick else BAGS, "random_state": 0, "n_jobs": n_jobs}
    if contender == OURS:
        import committee

        options |= {"interactions": float(PAIRS)} | ({"max_iter": 5} if quick else {})
        model = getattr(committee, f"ExplainableBoosting{kind}")(**options)
    else:
        from interpret import glassbox

        options |= {"interactions": f"{PAIRS}x"} | ({"max_rounds": 50} if quick else {})
        model = getattr(glassbox, f"ExplainableBoosting{kind}")(**options)
    start = time.perf_counter()
    model.fit(rows["X"], rows["y"])
    seconds = time.perf_counter() - start
    found = model.predict_proba(rows["X_test"])[:, 1] if case in CLASSES else model.predict(rows["X_test"])
    np.save(folder / "predicted.npy", found)
    return {"seconds": seconds}


def run_case(case: str, contender: str, quick: bool, n_jobs: int, peer_python: str | None) -> dict[str, float] | None:
    """Fit in a process of its own and score here; None if there is no environment for the contender."""
    from sklearn.metrics import r2_score, roc_auc_score

    python = sys.executable if contender == OURS else peer_python
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as name:
        rows = make_rows(case, 300 if quick else None)
        np.savez(Path(name) / "rows.npz", **rows)
        words = [str(Path(__file__).resolve()), "--child", contender, case, name, "--jobs", str(n_jobs)]
        found = subprocess.run([python, *words, *(["--quick"] * quick)], check=True, capture_output=True, text=True)
        outcome: dict[str, float] = json.loads(found.stdout.splitlines()[-1])
        predicted = np.load(Path(name) / "predicted.npy")
    score = roc_auc_score if case in CLASSES else r2_score
    return {**outcome, "score": float(score(rows["y_test"], predicted))}


def render(outcomes: dict[str, dict[str, dict[str, float] | None]], machine: str) -> str:
    """The page of the results."""
    lines = [
        "# Additive models that can be read",
        "",
        f"{machine} Made by `python benchmarks/explainable.py`, whose heading says what is measured: the defaults of "
        f"both libraries but {BAGS} outer bags and {PAIRS} pairs a feature; scores are R² or, of classes, the area "
        "under the ROC curve.",
        "",
        "| data | by | fit, seconds | score | times faster |",
        "|---|---|---|---|---|",
    ]
    for case, found in outcomes.items():
        for who, own in found.items():
            if own is None:
                lines.append(f"| {case} | {who} | not measured | | |")
                continue
            peer = found.get(INTERPRET) if who == OURS else None
            ratio = "" if peer is None else f"{peer['seconds'] / own['seconds']:.1f}"
            lines.append(f"| {case} | {who} | {own['seconds']:.2f} | {own['score']:.4f} | {ratio} |")
    return "\n".join(lines) + "\n"


def main(words: list[str] | None = None) -> None:
    """Run the cases, print the page and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data: a smoke test")
    parser.add_argument("--peer-python", help="Python of an environment with InterpretML")
    parser.add_argument("--jobs", type=int, default=2, help="threads of both")
    parser.add_argument("--out", type=Path, help="folder of the page (benchmarks/results; none with --quick)")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.child:
        contender, case, folder = arguments.child
        print(json.dumps(fit_case(contender, case, Path(folder), arguments.quick, arguments.jobs)))
        return
    from benchmarks.machine import show_machine
    from benchmarks.report import RESULTS

    outcomes: dict[str, dict[str, dict[str, float] | None]] = {}
    for case in CASES:
        if arguments.quick and case == "California housing":
            continue
        outcomes[case] = {
            who: run_case(case, who, arguments.quick, arguments.jobs, arguments.peer_python)
            for who in (OURS, INTERPRET)
        }
        print(case, outcomes[case], file=sys.stderr, flush=True)
    page = render(outcomes, show_machine())
    out = arguments.out or (None if arguments.quick else RESULTS)
    if out is not None:
        (out / "explainable.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
