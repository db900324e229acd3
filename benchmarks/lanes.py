"""Cases of a suite side by side, each on cores of its own, for a machine with many cores."""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

__all__ = ["add_lanes", "run_in_lanes", "show_lanes"]

Result = TypeVar("Result")


def add_lanes(parser: argparse.ArgumentParser) -> None:
    """The option for the number of cases at a time."""
    parser.add_argument("--lanes", type=int, default=1, help="cases at a time, each on cores of its own (default: 1)")


def split_cores(cores: Sequence[int], n_lanes: int, threads: int) -> list[list[int]]:
    """Sets of cores that do not overlap, one for each lane."""
    if n_lanes < 1 or n_lanes * threads > len(cores):
        raise SystemExit(f"--lanes must be from 1 to {len(cores) // threads} here ({len(cores)} cores); got {n_lanes}")
    return [list(cores[k * threads : (k + 1) * threads]) for k in range(n_lanes)]


def _take_lane(lanes: Any) -> None:
    os.sched_setaffinity(0, lanes.get())


def run_in_lanes(
    function: Callable[..., Result], calls: Sequence[tuple[Any, ...]], n_lanes: int, threads: int
) -> list[Result]:
    """Results of the calls in their order; the processes of a lane are pinned to as many cores as it has threads.

    With one lane the calls are made here, one after the other, on whatever cores this process may use.
    """
    if n_lanes == 1:
        return [function(*call) for call in calls]
    # Not above: an environment that has a peer only reads the options, and may not have this library.
    from benchmarks.machine import list_cores

    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        lanes = manager.Queue()
        for lane in split_cores(list_cores(), n_lanes, threads):
            lanes.put(lane)
        with ProcessPoolExecutor(n_lanes, context, _take_lane, (lanes,)) as pool:
            return [made.result() for made in [pool.submit(function, *call) for call in calls]]


def show_lanes(n_lanes: int, threads: int) -> str:
    """How the cases ran, as a sentence of the page."""
    if n_lanes == 1:
        return "The cases ran one after the other."
    return f"{n_lanes} cases ran at a time, each on {threads} cores of its own."
