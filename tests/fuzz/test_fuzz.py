"""Ten thousand cases of the fuzzer, the seeds that once found something, and the fuzzer itself.

``python -m fuzz --repeat SEED:CASE`` shows a case that fails here and runs it.
"""

from __future__ import annotations

import collections
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fuzz.cases import KINDS, SEARCHES, label_case, run_case
from fuzz.draws import Draw
from fuzz.oracle import Finding, Refusal, attempt, compare_answers
from fuzz.parameters import ESTIMATORS
from fuzz.runner import ROOT, Runner, read_below

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="times of a process as Linux has them")

SEED, N_BLOCKS, N_CASES = 0, 25, 400
CORPUS = [
    line.split("#")[0].strip() for line in (ROOT / "fuzz" / "corpus.txt").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner() as started:
        yield started


def find_faults(runner: Runner, cases: Iterable[tuple[int, int]]) -> list[dict[str, Any]]:
    groups = itertools.groupby(cases, key=lambda case: case[0])
    found = (one for seed, group in groups for one in runner.run_all(seed, (number for _, number in group)))
    return [one for one in found if one["result"] not in ("answered", "refused", "skipped")]


@pytest.mark.parametrize("block", range(N_BLOCKS))
def test_hostile_input_is_answered_or_refused_with_a_sentence(runner: Runner, block: int) -> None:
    assert find_faults(runner, ((SEED, number) for number in range(block * N_CASES, (block + 1) * N_CASES))) == []


def test_what_once_was_found_is_not_found_again(runner: Runner) -> None:
    cases = [tuple(map(int, line.split(":"))) for line in CORPUS if line]
    assert len(cases) > 20
    assert find_faults(runner, cases) == []


def test_a_case_is_made_of_its_seed_and_number() -> None:
    for number in (3, 21):
        assert run_case(SEED, number) == run_case(SEED, number)
    assert Draw(1, 2).numbers.random() != Draw(1, 3).numbers.random() != Draw(2, 3).numbers.random()


def test_all_kinds_and_estimators_are_drawn() -> None:
    labels = [label_case(SEED, number)[1:] for number in range(N_BLOCKS * N_CASES)]
    kinds, names = (collections.Counter(column) for column in zip(*labels, strict=True))
    assert kinds.keys() == {*KINDS, SEARCHES}
    assert names.keys() == ESTIMATORS.keys()
    assert min(kinds.values()) > 50


def test_a_crash_and_a_hang_are_findings(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    runner._start().send_signal(signal.SIGSTOP)  # no case is so short that it answers before the first look
    monkeypatch.setattr("fuzz.runner.MOST_BUSY", -1.0)
    monkeypatch.setattr("fuzz.runner.LOOK", 0.0)
    assert runner.run(SEED, 0)["result"] == "hang"
    monkeypatch.undo()
    assert runner.run(SEED, 0)["result"] in ("answered", "refused")
    process = runner._start()
    process.kill()
    process.wait()
    assert runner.run(SEED, 0)["result"] == "crash"


def test_the_time_of_processes_that_a_case_started_is_seen() -> None:
    """A case that waits for workers of its own on a busy machine does not hang."""
    code = "import time\nwhile time.process_time() < 0.3:\n    pass\nprint('done', flush=True)\ninput()"
    before = read_below(os.getpid())
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
        assert read_below(os.getpid()) >= before + 0.25


def test_the_oracle_knows_a_sentence_from_an_accident() -> None:
    import numpy as np

    import committee

    with pytest.raises(Refusal, match="max_depth"):
        attempt(lambda: committee.DecisionTreeClassifier(max_depth=0).fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(Finding, match="raised ZeroDivisionError"):
        attempt(lambda: 1 // 0)
    with pytest.raises(Finding, match="raised KeyError"):
        attempt(lambda: {}["absent"])
    with pytest.raises(Finding, match="the same"):
        compare_answers({"predict": np.array([1.0])}, {"predict": np.array([np.nextafter(1.0, 2.0)])}, "the same")
