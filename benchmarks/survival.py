"""Survival models, compared with scikit-survival and XGBoost: `python benchmarks/survival.py`; --quick is a smoke test.

The data are made by a script: 27 columns, censored Weibull times whose scale depends on products and thresholds of
some. All contenders have the same trees, depth or leaves, learning rate and one thread; seconds are CPU seconds of the
fit, which other work on the machine changes little. One function scores all: Harrell's concordance of the risks and the
integrated Brier score of the survival functions, on rows that were not trained on. One table says little about small
differences: `--draws` tables are drawn, scores and seconds are means, and a peer's line has the mean difference of our
concordance and its standard error over the tables.

scikit-survival needs other versions of packages than this library's environment may have: `--peer-python` names the
interpreter of an environment that has it; without, its cases are left out, and the page says so. Its times grow faster
than the rows: `--leave-out "50000/boosting, Cox/scikit-survival"` leaves out a fit, and the page says so too. `--rows`
and `--trees` give other sizes. `--outcomes FOLDER` keeps what each fit gave; fits that the folder has are not repeated.
`--lanes` is the number of tables at a time, each on a core of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

OURS, XGBOOST, SCIKIT_SURVIVAL = "committee", "XGBoost", "scikit-survival"
N_COLUMNS, N_TIMES = 27, 20


@dataclass(frozen=True)
class Sizes:
    """Rows to learn from, rows to score, trees of a forest, rounds of boosting."""

    n_rows: int
    n_scored: int = 10_000
    n_trees: int = 20
    n_rounds: int = 100
    draw: int = 0  # number of the drawn table


QUICK = Sizes(n_rows=400, n_scored=200, n_trees=5, n_rounds=5)
N_ROWS = (5_000, 10_000, 50_000)

#: By name: who fits it, and in which environment.
CASES = {
    "forest": (OURS, SCIKIT_SURVIVAL),
    "boosting, Cox": (OURS, XGBOOST, SCIKIT_SURVIVAL),
    "boosting, failure times": (OURS, XGBOOST),
    "boosting, hazards": (OURS,),
}


def make_rows(n_rows: int, seed: int) -> dict[str, np.ndarray]:
    """Columns, whether the event was observed, and the time, in whole hundredths."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    signal = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.7 * np.abs(X[:, 3]) - 0.5 * (X[:, 4] > 0.0)
    times = rng.weibull(1.5, size=n_rows) * np.exp(-signal / 1.5)
    censoring = rng.exponential(1.2, size=n_rows)
    return {"X": X, "event": times <= censoring, "time": np.ceil(100.0 * np.minimum(times, censoring)) / 100.0}


# --- fits: in a process of their own, which may be one of another environment --------------------------------------


def fit_case(case: str, contender: str, folder: Path, sizes: Sizes) -> dict[str, Any]:
    """Fit one contender on the rows in the folder; seconds of the fit, risks and, if it has any, survival functions."""
    train, test = (dict(np.load(folder / f"{name}.npz")) for name in ("train", "test"))
    times = np.load(folder / "times.npy")
    fit = {OURS: _fit_ours, XGBOOST: _fit_xgboost, SCIKIT_SURVIVAL: _fit_scikit_survival}[contender]
    fit(case, {name: values[:200] for name, values in train.items()}, QUICK)  # loads the libraries
    start = time.process_time()
    predict = fit(case, train, sizes)
    seconds = time.process_time() - start
    risk, survival = predict(test["X"], times)
    np.save(folder / "risk.npy", risk)
    if survival is not None:
        np.save(folder / "survival.npy", survival)
    return {"seconds": seconds, "has_survival": survival is not None}


def _fit_ours(case: str, rows: dict[str, np.ndarray], sizes: Sizes) -> Any:
    from committee import GradientBoostingSurvivalAnalysis, RandomSurvivalForest, make_survival_target

    y = make_survival_target(rows["event"], rows["time"])
    model: Any
    if case == "forest":
        model = RandomSurvivalForest(sizes.n_trees, n_jobs=1, random_state=0)
    else:
        options = {"boosting, Cox": {"loss": "cox"}, "boosting, hazards": {"loss": "hazard"}}
        chosen: Any = options.get(case, {"loss": "aft", "distribution": "extreme"})
        model = GradientBoostingSurvivalAnalysis(n_estimators=sizes.n_rounds, n_jobs=1, **chosen)
    model.fit(rows["X"], y)
    return lambda X, times: (model.predict(X), model.predict_survival_function(X, times))


def _fit_xgboost(case: str, rows: dict[str, np.ndarray], sizes: Sizes) -> Any:
    import xgboost

    common = {"max_depth": 3, "eta": 0.1, "nthread": 1, "tree_method": "hist", "max_bin": 255}
    if case == "boosting, Cox":
        table = xgboost.DMatrix(rows["X"], label=np.where(rows["event"], rows["time"], -rows["time"]))
        booster = xgboost.train({**common, "objective": "survival:cox"}, table, sizes.n_rounds)
        return lambda X, times: (booster.predict(xgboost.DMatrix(X), output_margin=True), None)
    table = xgboost.DMatrix(rows["X"])
    table.set_float_info("label_lower_bound", rows["time"])
    table.set_float_info("label_upper_bound", np.where(rows["event"], rows["time"], np.inf))
    params = {**common, "objective": "survival:aft", "aft_loss_distribution": "extreme"}
    booster = xgboost.train(params, table, sizes.n_rounds)

    def predict(X: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        location = booster.predict(xgboost.DMatrix(X), output_margin=True)
        return -location, np.exp(-np.exp(np.log(times) - location[:, None]))

    return predict


def _fit_scikit_survival(case: str, rows: dict[str, np.ndarray], sizes: Sizes) -> Any:
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis, RandomSurvivalForest
    from sksurv.util import Surv

    y = Surv.from_arrays(rows["event"], rows["time"])
    model: Any
    if case == "forest":
        # It keeps two curves over all times in each node: about 3 GB with 20 trees of 50,000 rows.
        low = len(rows["X"]) > 100_000
        model = RandomSurvivalForest(sizes.n_trees, n_jobs=1, random_state=0, low_memory=low)
        model.fit(rows["X"], y)
        if low:
            return lambda X, times: (model.predict(X), None)
    else:
        model = GradientBoostingSurvivalAnalysis(n_estimators=sizes.n_rounds, random_state=0).fit(rows["X"], y)

    def predict(X: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        curves = model.predict_survival_function(X)
        return model.predict(X), np.stack([curve(times) for curve in curves])

    return predict


# --- parent process ----------------------------------------------------------------------------------------------


class Outcomes:
    """What fits gave, a file each in a folder if there is one: cases side by side do not write over one another."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def find(self, sizes: Sizes, case: str, who: str) -> dict[str, Any] | None:
        """What a fit gave before, if there was one."""
        file = self._name(sizes, case, who)
        if file is None or not file.exists():
            return None
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found

    def keep(self, sizes: Sizes, case: str, who: str, outcome: dict[str, Any] | None) -> None:
        """Write down what a fit gave."""
        file = self._name(sizes, case, who)
        if file is not None and outcome is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(outcome, indent=1), encoding="utf-8")

    def _name(self, sizes: Sizes, case: str, who: str) -> Path | None:
        words = [*map(str, vars(sizes).values()), case, who]
        return None if self.folder is None else self.folder / f"{'_'.join(words)}.json"


def run_case(case: str, contender: str, folder: Path, sizes: Sizes, peer_python: str | None) -> dict[str, Any] | None:
    """Fit in a child process and score here; None if there is no environment for the contender."""
    python = peer_python if contender == SCIKIT_SURVIVAL else sys.executable
    if python is None:
        return None
    (folder / "survival.npy").unlink(missing_ok=True)
    words = [str(Path(__file__).resolve()), "--child", case, contender, str(folder), json.dumps(vars(sizes))]
    found = subprocess.run([python, *words], check=True, capture_output=True, text=True)
    outcome: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    print(case, contender, outcome, file=sys.stderr, flush=True)
    from committee import make_survival_target
    from committee.scoring import concordance_index, integrated_brier_score

    train, test = (dict(np.load(folder / f"{name}.npz")) for name in ("train", "test"))
    y_train, y = (make_survival_target(rows["event"], rows["time"]) for rows in (train, test))
    outcome["concordance"] = concordance_index(y, np.load(folder / "risk.npy"))
    if outcome["has_survival"]:
        times = np.load(folder / "times.npy")
        outcome["brier"] = integrated_brier_score(y_train, y, np.load(folder / "survival.npy"), times)
    return outcome


def run_suite(
    sizes: Sizes, peer_python: str | None, left_out: list[str], outcomes: Outcomes
) -> dict[str, dict[str, dict[str, Any] | None]]:
    """All cases, one after the other; those of which there are outcomes are not fitted again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train, test = make_rows(sizes.n_rows, 2 * sizes.draw), make_rows(sizes.n_scored, 2 * sizes.draw + 1)
        np.savez(folder / "train.npz", **train)
        np.savez(folder / "test.npz", **test)
        np.save(folder / "times.npy", np.quantile(test["time"], np.linspace(0.1, 0.8, N_TIMES)))
        found: dict[str, dict[str, dict[str, Any] | None]] = {case: {} for case in CASES}
        for case, contenders in CASES.items():
            for who in contenders:
                outcome = outcomes.find(sizes, case, who)
                if outcome is None and f"{sizes.n_rows}/{case}/{who}" not in left_out:
                    outcome = run_case(case, who, folder, sizes, peer_python)
                    outcomes.keep(sizes, case, who, outcome)
                found[case][who] = outcome
        return found


def join_draws(found: list[dict[str, dict[str, dict[str, Any] | None]]]) -> dict[str, dict[str, dict[str, Any] | None]]:
    """Means over the drawn tables that a fit was run on; of peers also the difference of our concordance."""
    joined: dict[str, dict[str, dict[str, Any] | None]] = {}
    for case, contenders in found[0].items():
        joined[case] = {}
        for who in contenders:
            pairs = [(own[case][who], own[case].get(OURS)) for own in found]
            known = [(outcome, ours) for outcome, ours in pairs if outcome is not None]
            if not known:
                joined[case][who] = None
                continue
            names = [name for name in ("seconds", "concordance", "brier") if name in known[0][0]]
            mean: dict[str, Any] = {name: float(np.mean([outcome[name] for outcome, _ in known])) for name in names}
            both = [ours["concordance"] - outcome["concordance"] for outcome, ours in known if ours is not None]
            if who != OURS and len(both) > 1:
                error = float(np.std(both, ddof=1)) / len(both) ** 0.5
                mean |= {"difference": float(np.mean(both)), "error": error}
            joined[case][who] = mean | {"n_draws": len(known)}
    return joined


def render(outcomes: dict[str, dict[str, dict[str, Any] | None]], sizes: Sizes) -> str:
    """The section of one number of rows."""
    lines = [
        f"## {sizes.n_rows:,} rows of {N_COLUMNS} columns",
        "",
        f"{sizes.n_trees} trees or {sizes.n_rounds} rounds; scores are of {sizes.n_scored:,} other rows, and the Brier "
        "score is smaller for better survival functions.",
        "",
        "| model | by | tables | fit, CPU seconds | concordance | ours less it | integrated Brier score |",
        "|---|---|---|---|---|---|---|",
    ]
    for case, found in outcomes.items():
        for who, outcome in found.items():
            if outcome is None:
                lines.append(f"| {case} | {who} | not measured | | | | |")
                continue
            brier = f"{outcome['brier']:.4f}" if "brier" in outcome else ""
            less = f"{outcome['difference']:+.4f} ± {outcome['error']:.4f}" if "difference" in outcome else ""
            cells = (
                outcome.get("n_draws", 1),
                f"{outcome['seconds']:.2f}",
                f"{outcome['concordance']:.4f}",
                less,
                brier,
            )
            lines.append(f"| {case} | {who} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def main(words: list[str] | None = None) -> None:
    from benchmarks.lanes import add_lanes, run_in_lanes, show_lanes

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data: a smoke test")
    parser.add_argument("--rows", type=int, nargs="+", default=N_ROWS, help="rows to learn from: a section each")
    parser.add_argument("--trees", type=int, help="trees of the forests")
    parser.add_argument("--draws", type=int, default=5, help="drawn tables of each number of rows")
    parser.add_argument("--peer-python", help="Python of an environment with scikit-survival")
    parser.add_argument("--leave-out", nargs="+", default=[], help="fits as ROWS/MODEL/LIBRARY")
    parser.add_argument("--outcomes", type=Path, help="folder of outcomes: fits that it has are not repeated")
    add_lanes(parser)
    parser.add_argument("--out", type=Path, help="folder of the page (benchmarks/results; none with --quick)")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.child:
        case, contender, folder, sizes = arguments.child
        print(json.dumps(fit_case(case, contender, Path(folder), Sizes(**json.loads(sizes)))))
        return
    from benchmarks.machine import measure_load, show_machine, show_peer
    from benchmarks.report import RESULTS

    given = {} if arguments.trees is None else {"n_trees": arguments.trees}
    chosen = [QUICK] if arguments.quick else [Sizes(n_rows, **given) for n_rows in arguments.rows]
    machine = f"{show_machine()}, {show_peer(arguments.peer_python, SCIKIT_SURVIVAL)}; load before the run "
    page = f"# Survival models\n\n{machine}{measure_load():.2f}. Made by `python benchmarks/survival.py`, one thread."
    page += f" {show_lanes(arguments.lanes, 1)}\n"
    n_draws = 1 if arguments.quick else arguments.draws
    given_to_all = arguments.peer_python, arguments.leave_out, Outcomes(arguments.outcomes)
    # The large tables take longest: they come first.
    tables = sorted(
        ((k, draw) for k in range(len(chosen)) for draw in range(n_draws)), key=lambda t: -chosen[t[0]].n_rows
    )
    calls = [(replace(chosen[k], draw=draw), *given_to_all) for k, draw in tables]
    found = dict(zip(tables, run_in_lanes(run_suite, calls, arguments.lanes, 1), strict=True))
    for k, sizes in enumerate(chosen):
        page += "\n" + render(join_draws([found[k, draw] for draw in range(n_draws)]), sizes)
    folder = arguments.out or (None if arguments.quick else RESULTS)
    if folder is not None:
        (folder / "survival.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
