"""The counts of kills, failed saves and interrupts: what they call wrong, and a few of each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import committee
from fuzz import stops
from tests.faults import saving

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def test_a_few_interrupts_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stops, "MOST_POLLS", 3)
    assert stops.interrupt_calls("bag of stumps") == {"calls": 1, "interrupts": 3, "as before": 3, "wrong": 0}


def test_a_call_that_goes_on_or_changes_its_model_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    model = committee.DecisionTreeRegressor(max_depth=1)
    table = np.random.default_rng(0).random((10_000, 4))

    def swallow() -> None:
        try:
            model.fit(table, table[:, 0])
        except KeyboardInterrupt:
            model.changed = True

    monkeypatch.setattr(stops, "list_calls", lambda _: [("deaf", stops.Call(swallow, model, swallow))])
    counts = stops.interrupt_calls()
    assert counts["wrong"] == counts["interrupts"] > 0


def test_a_save_over_the_old_file_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stops.count_errors("absent") == dict.fromkeys(
        ("models", "errors", "limits", "old file", "new file", "wrong"), 0
    )

    def save(model: Any, place: Path, *_: Any) -> int:
        place.write_bytes(b"half")
        return -9

    monkeypatch.setattr(saving, "kill_while_saving", save)
    monkeypatch.setattr(saving, "count_steps", lambda *_: 2)
    assert stops.count_kills("tree") == {"models": 1, "kills": 2, "old file": 0, "new file": 0, "wrong": 2}


def test_signals_are_heard() -> None:
    def work_long() -> None:
        while True:
            np.sort(np.arange(1000.0))

    heard = stops._send_signal(work_long, 0.05)
    assert heard is not None
    assert heard >= 0.0
    assert stops._send_signal(lambda: None, 1e9) is None
