"""Predicted distributions, compared with NGBoost: `python benchmarks/distributions.py`; --quick is a smoke test.

Both have their defaults, and the same rows, of `--splits` splits of each table (the drawn one is drawn anew for each);
the page has means over splits, and our scores less NGBoost's with the standard error of that. One function scores both
by the location and the spread that they predict: minus the log-likelihood, the continuous ranked probability score, the
root of the mean squared error, and how often an interval of 90 % holds the target. NGBoost may need an environment of
its own: `--peer-python` names its interpreter; without, its rows are left out, and the page says so.
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

OURS, NGBOOST = "committee", "NGBoost"
SCORES = ("likelihood", "crps", "error", "coverage")
N_SPLITS = 3
CASES = ("diabetes", "California housing", "drawn, spread by a feature")


def make_rows(case: str, n_rows: int | None = None, split: int = 0) -> dict[str, np.ndarray]:
    """Rows to learn from and, a fifth, rows to score."""
    from sklearn.datasets import fetch_california_housing, load_diabetes
    from sklearn.model_selection import train_test_split

    if case == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    elif case == "California housing":
        X, y = fetch_california_housing(return_X_y=True)
    else:
        rng = np.random.default_rng(split)
        X = rng.normal(size=(10_000, 6))
        y = 2.0 * X[:, 0] + np.exp(0.7 * X[:, 1]) * rng.normal(size=10_000)
    train, test, y_train, y_test = train_test_split(X[:n_rows], y[:n_rows], test_size=0.2, random_state=split)
    return {"X": train, "y": y_train, "X_test": test, "y_test": y_test}


def fit_case(contender: str, folder: Path, quick: bool) -> dict[str, float]:
    """Fit one contender on the rows in the folder, and keep location and spread of the rows to score."""
    rows = dict(np.load(folder / "rows.npz"))
    model: Any
    if contender == OURS:
        from committee import DistributionalBoostingRegressor

        model = DistributionalBoostingRegressor(random_state=0, n_jobs=1)
    else:
        from ngboost import NGBRegressor

        model = NGBRegressor(verbose=False, random_state=0, **({"n_estimators": 5} if quick else {}))
    start = time.perf_counter()
    model.fit(rows["X"], rows["y"])
    seconds = time.perf_counter() - start
    if contender == OURS:
        known = model.predict_distribution(rows["X_test"])
        pair = known.location, known.spread
    else:
        known = model.pred_dist(rows["X_test"])
        pair = known.loc, known.scale
    np.save(folder / "predicted.npy", np.stack(pair))
    return {"seconds": seconds}


def run_case(
    case: str, contender: str, quick: bool, peer_python: str | None, split: int = 0
) -> dict[str, float] | None:
    """Fit in a process of its own and score here; None if there is no environment for the contender."""
    from committee.ensembles.boosting.distributions import PredictedDistribution

    python = sys.executable if contender == OURS else peer_python
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), make_rows(case, 200 if quick else None, split)
        np.savez(folder / "rows.npz", **rows)
        words = [str(Path(__file__).resolve()), "--child", contender, name, *(["--quick"] if quick else [])]
        found = subprocess.run([python, *words], check=True, capture_output=True, text=True)
        outcome: dict[str, float] = json.loads(found.stdout.splitlines()[-1])
        known, y = PredictedDistribution("normal", *np.load(folder / "predicted.npy")), rows["y_test"]
    low, high = known.find_interval(0.9).T
    outcome["likelihood"] = -float(known.find_log_likelihood(y).mean())
    outcome["crps"] = float(known.find_crps(y).mean())
    outcome["error"] = float(np.sqrt(np.mean(np.square(y - known.location))))
    outcome["coverage"] = float(((y >= low) & (y <= high)).mean())
    return outcome


def compare(case: str, split: int, quick: bool, peer_python: str | None) -> dict[str, dict[str, float] | None]:
    """Outcomes of a case by contender."""
    return {who: run_case(case, who, quick, peer_python, split) for who in (OURS, NGBOOST)}


def join_splits(found: list[dict[str, dict[str, float] | None]]) -> dict[str, dict[str, float] | None]:
    """Means over splits; of the peer also our score less its own, and the standard error of that, by name."""
    joined: dict[str, dict[str, float] | None] = {}
    for who in (OURS, NGBOOST):
        known = [own for splits in found if (own := splits[who]) is not None]
        joined[who] = {name: float(np.mean([own[name] for own in known])) for name in known[0]} if known else None
    ours, peer = ([own for splits in found if (own := splits[who]) is not None] for who in (OURS, NGBOOST))
    kept = joined[NGBOOST]
    if kept is not None and len(ours) == len(peer) > 1:
        for name in SCORES:
            differences = [a[name] - b[name] for a, b in zip(ours, peer, strict=True)]
            kept[f"{name} difference"] = float(np.mean(differences))
            kept[f"{name} error"] = float(np.std(differences, ddof=1)) / len(differences) ** 0.5
    return joined


def render(outcomes: dict[str, dict[str, dict[str, float] | None]], machine: str) -> str:
    """The page of the results."""
    lines = [
        "# Predicted distributions",
        "",
        f"{machine} Made by `python benchmarks/distributions.py`: normal distributions with the defaults of both "
        "libraries, one thread; a fifth of the rows is scored, means over splits. Smaller is better, except for "
        "the coverage of intervals of 90 %. Differences have their standard error over the splits.",
        "",
        "| data | by | fit, seconds | minus log-likelihood | CRPS | root mean squared error | coverage |",
        "|---|---|---|---|---|---|---|",
    ]
    for case, found in outcomes.items():
        for who, own in found.items():
            if own is None:
                lines.append(f"| {case} | {who} | not measured | | | | |")
                continue
            scores = " | ".join(f"{own[name]:.4g}" for name in SCORES)
            lines.append(f"| {case} | {who} | {own['seconds']:.2f} | {scores} |")
            if f"{SCORES[0]} error" in own:
                less = [f"{own[f'{name} difference']:+.2g} ± {own[f'{name} error']:.2g}" for name in SCORES]
                lines.append(f"| {case} | ours less NGBoost's | | " + " | ".join(less) + " |")
    return "\n".join(lines) + "\n"


def main(words: list[str] | None = None) -> None:
    """Run the cases, print the page and keep it."""
    from benchmarks.lanes import add_lanes, run_in_lanes, show_lanes

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data: a smoke test")
    parser.add_argument("--peer-python", help="Python of an environment with NGBoost")
    parser.add_argument("--splits", type=int, default=N_SPLITS, help="splits of each table")
    add_lanes(parser)
    parser.add_argument("--out", type=Path, help="folder of the page (benchmarks/results; none with --quick)")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.child:
        contender, folder = arguments.child
        print(json.dumps(fit_case(contender, Path(folder), arguments.quick)))
        return
    from benchmarks.machine import measure_load, show_machine, show_peer
    from benchmarks.report import RESULTS

    cases = [case for case in CASES if not arguments.quick or case != "California housing"]
    n_splits = 1 if arguments.quick else arguments.splits
    given = arguments.quick, arguments.peer_python
    load, calls = measure_load(), [(case, split, *given) for split in range(n_splits) for case in cases]
    found = run_in_lanes(compare, calls, arguments.lanes, 1)
    joined = {case: join_splits(found[k :: len(cases)]) for k, case in enumerate(cases)}
    machine = f"{show_machine()}, {show_peer(arguments.peer_python, 'ngboost')}; load before the run {load:.2f}."
    page = render(joined, f"{machine} {show_lanes(arguments.lanes, 1)}")
    out = arguments.out or (None if arguments.quick else RESULTS)
    if out is not None:
        (out / "distributions.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
