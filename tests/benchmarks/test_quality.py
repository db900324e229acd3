"""The report of quality ranks all contenders, and those of each contest among themselves."""

from __future__ import annotations

from typing import Any

from benchmarks.quality import render
from benchmarks.quality_jobs import BOOSTING, CONTENDERS, OURS, PEERS

LOSSES = {OURS: 0.1, BOOSTING: 0.2, **{name: 0.15 + 0.1 * k for k, name in enumerate(PEERS)}}


def report(models: list[str]) -> list[list[str]]:
    """Cells of the report of one set, on which the contenders have the losses above."""
    outcomes: list[dict[str, Any]] = [
        {"name": "iris", "contender": m, "split": 0, "loss": loss, "errors": loss, "seconds": 1.0}
        for m, loss in LOSSES.items()
    ]
    return [line.strip("| ").split(" | ") for line in render(outcomes, ["iris", "wine"], [0], models).splitlines()]


def test_ranks_are_given_for_each_contest() -> None:
    cells: dict[str, list[list[str]]] = {}
    for row in report(list(CONTENDERS)):
        cells.setdefault(row[0], []).append(row[1:])
    assert cells["**mean rank of 7 by loss**"] == [["1.00", "3.00", "2.00", "4.00", "5.00", "6.00", "7.00"]]
    whole, single = cells["**mean rank of 6 by loss**"]
    assert whole == ["1.00", "", "2.00", "3.00", "4.00", "5.00", "6.00"]
    assert [cell for cell in single if cell] == ["2.00", "1.00", "3.00", "4.00", "5.00", "6.00"]
    assert "Not finished: wine." in cells


def test_any_contenders_can_be_named() -> None:
    rows = report([BOOSTING, "LightGBM"])
    assert ["**mean rank of 2 by loss**", "1.00", "2.00"] in rows
    assert not any("rank of 6" in row[0] for row in rows)
