"""Cases side by side, each on cores of its own."""

from __future__ import annotations

import os
import sys

import pytest

from benchmarks.lanes import run_in_lanes, show_lanes, split_cores
from benchmarks.machine import list_cores, show_peer
from benchmarks.measure import Job
from benchmarks.ranking import Sizes
from benchmarks.report import OURS, Case
from benchmarks.suite import run_side_by_side


def find_cores(number: int) -> tuple[int, tuple[int, ...]]:
    return number, tuple(sorted(os.sched_getaffinity(0)))


def test_lanes_share_no_core() -> None:
    assert split_cores([3, 5, 6, 9, 11], 2, 2) == [[3, 5], [6, 9]]
    with pytest.raises(SystemExit, match=r"from 1 to 2 here \(5 cores\); got 3"):
        split_cores(range(5), 3, 2)
    with pytest.raises(SystemExit, match="got 0"):
        split_cores(range(5), 0, 2)


def test_one_lane_is_this_process() -> None:
    assert run_in_lanes(lambda a, b: a - b, [(3, 1), (1, 3)], 1, 2) == [2, -2]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the benchmarks pin cores, which Linux can")
@pytest.mark.skipif(len(list_cores()) < 2, reason="two lanes need two cores")
def test_results_are_in_the_order_of_the_calls_and_processes_are_pinned() -> None:
    found = run_in_lanes(find_cores, [(k,) for k in range(4)], 2, 1)
    assert [number for number, _ in found] == [0, 1, 2, 3]
    assert {cores for _, cores in found} <= {(core,) for core in list_cores()[:2]}


def test_a_page_says_how_its_cases_ran() -> None:
    assert show_lanes(1, 2) == "The cases ran one after the other."
    assert show_lanes(4, 2) == "4 cases ran at a time, each on 2 cores of its own."


def test_peers_have_a_version() -> None:
    assert show_peer(sys.executable, "pytest") == f"pytest {pytest.__version__}"
    assert show_peer(None, "ngboost") == "ngboost absent"


@pytest.mark.skipif(len(list_cores()) < 2, reason="two lanes need two cores")
def test_cases_of_a_suite_run_in_lanes() -> None:
    sizes = vars(Sizes(n_queries=20, n_scored=10, n_estimators=2, n_leaves=4, repeats=1, n_draws=1))

    def make_case(loss: str) -> Case:
        job = Job("benchmarks.ranking:fit_ranker", {"contender": OURS, "loss": loss, "sizes": sizes, "threads": 1})
        return Case(loss, {OURS: job})

    cases = [make_case(loss) for loss in ("pairwise", "listwise")]
    found = run_side_by_side(cases, lambda case: 1, True, 2)
    assert list(found) == ["pairwise", "listwise"]
    alone = run_side_by_side(cases, 1, True, 1)
    assert [own[OURS]["score"] for own in found.values()] == [own[OURS]["score"] for own in alone.values()]
