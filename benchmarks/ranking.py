"""Learning to rank, compared with LightGBM and XGBoost: `python benchmarks/ranking.py`; --quick is a smoke test.

The data are made by a script in the shape of public sets (MSLR-WEB): about 100 documents a query, 136 columns, grades
0 to 4 of which most are 0. All contenders have the same rounds, leaves, learning rate, bins and threads. The score is
NDCG of the first ten places of queries that were not trained on, by one function for all; beside it the page has the
mean average precision (MAP), for which every grade but 0 is relevant. Both are means over drawn tables, with the
standard error of the difference from ours; the times are those of the first table.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.machine import list_cores
from benchmarks.measure import Job, Outcome, time_fit
from benchmarks.report import OURS, Case, Claim, Report, ratio
from benchmarks.suite import list_options, run_suite

LIGHTGBM, XGBOOST = "LightGBM", "XGBoost"
N_FEATURES, PLACES = 136, 10
LOSSES = {
    "lambdarank": (OURS, LIGHTGBM, XGBOOST),
    "pairwise": (OURS, XGBOOST),
    "listwise": (OURS, LIGHTGBM),
}
THEIR_NAMES = {
    LIGHTGBM: {"lambdarank": "lambdarank", "listwise": "rank_xendcg"},
    XGBOOST: {"lambdarank": "rank:ndcg", "pairwise": "rank:pairwise"},
}


@dataclass(frozen=True)
class Sizes:
    """Queries to learn from and to score, rounds and leaves of the models, repetitions, and drawn tables."""

    n_queries: int = 3_000
    n_scored: int = 1_000
    n_estimators: int = 100
    n_leaves: int = 31
    repeats: int = 2
    rounds: int = 1
    n_draws: int = 5


QUICK = Sizes(n_queries=40, n_scored=20, n_estimators=5, n_leaves=7, repeats=1, rounds=1, n_draws=2)


# --- child process -----------------------------------------------------------------------------------------------


def make_queries(n_queries: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, grades 0 to 4, and the query of each row.

    A third of the columns are the same for all documents of a query but for noise, a third are counts with many
    zeros, and a third are matches of query and document. The relevance depends on products and thresholds of some.
    """
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.gamma(6.0, 18.0, n_queries), 5, 400).astype(int)
    qid = np.repeat(np.arange(n_queries), sizes)
    n_rows, third = len(qid), N_FEATURES // 3
    of_query = rng.normal(size=(n_queries, N_FEATURES))
    X = rng.normal(size=(n_rows, N_FEATURES))
    X[:, :third] = of_query[qid, :third] + 0.3 * X[:, :third]
    X[:, third : 2 * third] = np.floor(np.maximum(0.0, 3.0 * X[:, third : 2 * third] - 1.0))
    X[:, 2 * third :] += 0.7 * of_query[qid, 2 * third :]
    matches, counts = X[:, 2 * third :], X[:, third : 2 * third]
    signal = matches[:, :8].sum(axis=1) / 3.0 + np.minimum(counts[:, :4], 2.0).sum(axis=1) / 2.0
    signal += 0.8 * matches[:, 8] * (X[:, 0] > 0.0) + 0.8 * matches[:, 9] * matches[:, 10]
    signal += rng.normal(scale=1.2, size=n_rows)
    # Grades are given within a query: 52, 32, 13, 2 and 1 per cent, as in MSLR-WEB.
    places = np.lexsort((signal, qid))
    rank = np.empty(n_rows)
    rank[places] = (np.arange(n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)) / np.repeat(sizes, sizes)
    blurred = np.clip(rank + 0.05 * of_query[qid, -1], 0.0, 1.0)
    return X, np.digitize(blurred, [0.52, 0.84, 0.97, 0.99]), qid


def make_ranker(contender: str, loss: str, n_estimators: int, n_leaves: int, threads: int) -> Any:
    common = {"n_estimators": n_estimators, "learning_rate": 0.1, "n_jobs": threads}
    if contender == OURS:
        from committee import GradientBoostingRanker

        options = {"max_leaf_nodes": n_leaves, "min_samples_leaf": 20, "min_child_weight": 1e-3, "random_state": 0}
        return GradientBoostingRanker(loss=loss, early_stopping=False, **options, **common)
    named = THEIR_NAMES[contender][loss]
    if contender == LIGHTGBM:
        from lightgbm import LGBMRanker

        return LGBMRanker(objective=named, num_leaves=n_leaves, random_state=0, verbose=-1, **common)
    from xgboost import XGBRanker

    options = {"max_leaves": n_leaves, "max_depth": 0, "grow_policy": "lossguide", "tree_method": "hist"}
    return XGBRanker(objective=named, max_bin=255, random_state=0, **options, **common)


def fit_ranker(contender: str, loss: str, sizes: dict[str, int], threads: int) -> Outcome:
    """Time of the fit on the first table, and NDCG and MAP of other queries of each table."""
    from committee.scoring import mean_average_precision, mean_ndcg

    ndcg: list[float] = []
    precision: list[float] = []
    for draw in range(sizes["n_draws"]):
        X, y, qid = make_queries(sizes["n_queries"], 2 * draw)
        X_new, y_new, qid_new = make_queries(sizes["n_scored"], 2 * draw + 1)
        queries = {"group": np.bincount(qid)} if contender == LIGHTGBM else {"qid": qid}

        def fit(X: Any = X, y: Any = y, queries: Any = queries) -> Any:
            ranker = make_ranker(contender, loss, sizes["n_estimators"], sizes["n_leaves"], threads)
            return ranker.fit(X, y, **queries)

        if draw == 0:
            model, outcome = time_fit(fit, sizes["repeats"])
        else:
            model = fit()
        scores = model.predict(X_new)
        ndcg.append(float(mean_ndcg(y_new, scores, qid=qid_new, k=PLACES)))
        precision.append(float(mean_average_precision(y_new > 0, scores, qid=qid_new)))
    return {**outcome, "score": float(np.mean(ndcg)), "map": float(np.mean(precision)), "ndcg_by_table": ndcg}


# --- parent process ----------------------------------------------------------------------------------------------


def name_case(loss: str) -> str:
    return f"{loss}: fit"


def list_cases(sizes: Sizes) -> list[Case]:
    """A fit with each loss, beside the peers that have it."""
    threads = min(2, len(list_cores()))

    def make_job(contender: str, loss: str) -> Job:
        arguments = {"contender": contender, "loss": loss, "sizes": vars(sizes), "threads": threads}
        return Job("benchmarks.ranking:fit_ranker", arguments, threads)

    return [Case(name_case(loss), {who: make_job(who, loss) for who in peers}) for loss, peers in LOSSES.items()]


class RankingReport(Report):
    """The page of rankings, with both measures, and by how much NDCG differs from ours."""

    def render(self) -> str:
        """The report as Markdown."""
        lines = ["", f"| what | who | NDCG@{PLACES} | MAP | our NDCG less it |", "|---|---|---|---|---|"]
        for case in self.cases:
            for contender in case.jobs:
                outcome = self.outcomes[case.name][contender]
                scores = f"{outcome['score']:.4f} | {outcome['map']:.4f}"
                lines.append(f"| {case.name} | {contender} | {scores} | {self._compare(case, contender)} |")
        return super().render() + "\n".join(lines) + "\n"

    def _compare(self, case: Case, contender: str) -> str:
        """The mean difference over the tables and its standard error."""
        if contender == OURS or OURS not in case.jobs:
            return ""
        ours, theirs = (self.outcomes[case.name][who]["ndcg_by_table"] for who in (OURS, contender))
        differences = np.subtract(ours, theirs)
        error = float(np.std(differences, ddof=1)) / len(differences) ** 0.5
        return f"{float(np.mean(differences)):+.4f} ± {error:.4f}"


CLAIMS = [
    Claim("LambdaMART, fit, times faster than LightGBM", ratio(name_case("lambdarank"), LIGHTGBM), 1),
    Claim("LambdaMART, fit, times faster than XGBoost", ratio(name_case("lambdarank"), XGBOOST), 1),
]


def main(words: list[str] | None = None) -> None:
    arguments = list_options(__doc__).parse_args(words)
    sizes = QUICK if arguments.quick else Sizes()
    run_suite("ranking", arguments, list_cases(sizes), CLAIMS, sizes.rounds, RankingReport)


if __name__ == "__main__":
    main()
