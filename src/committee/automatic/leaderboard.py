"""The leaderboard of a committee: a row for each model of the portfolio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.ensembles.combining.out_of_fold import MemberFit, find_predicted_rows

if TYPE_CHECKING:
    from committee.automatic.combination import JackknifeEstimate, MemberCombiner
    from committee.typing import FloatArray

__all__ = ["format_best_score", "make_leaderboard"]


def format_best_score(members: list[MemberFit], combiner: MemberCombiner) -> str:
    """The best score of the stages of an entry, for the progress display."""
    rows = np.flatnonzero(find_predicted_rows(members))
    return f" {max(combiner.score(one.predictions, rows) for one in members):.4g}" if len(rows) else ""


def make_leaderboard(
    members: list[MemberFit], estimates: list[JackknifeEstimate], seconds: list[float], weights: FloatArray
) -> list[dict[str, Any]]:
    """A row for each entry, the best first; of several stages the best score, and the sum of the weights."""
    rows: dict[str, dict[str, Any]] = {}
    for one, own, spent, weight in zip(members, estimates, seconds, weights.tolist(), strict=True):
        stage = {"name": one.name, "rounds": _count_rounds(one), "score": own.score, "error": own.error}
        row = rows.setdefault(one.name, {**stage, "seconds": spent, "weight": 0.0})
        if own.score > row["score"]:
            row.update(stage)
        row["weight"] += weight
    return sorted(rows.values(), key=lambda row: -row["score"])


def _count_rounds(one: MemberFit) -> int | None:
    rounds = getattr(one.fold_models[0], "n_estimators", None) if one.fitted is None else None
    return None if rounds is None else int(rounds)
