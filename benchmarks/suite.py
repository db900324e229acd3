"""The command of a suite: its options, the choice of its cases, the runs and the report."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from benchmarks.lanes import add_lanes, run_in_lanes
from benchmarks.machine import QUIET, describe_machine, measure_load, name_processor
from benchmarks.measure import Outcome, run_in_turns
from benchmarks.report import RESULTS, Case, Claim, Report

__all__ = ["leave_out", "list_options", "run_suite"]


def list_options(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options of every suite; a suite adds its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="tiny data, one round: a smoke test")
    parser.add_argument("--busy", action="store_true", help="measure even if the machine is not idle")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="cases whose name contains WORD")
    parser.add_argument("--out", type=Path, help="folder of the report (benchmarks/results; none with --quick, --only)")
    add_lanes(parser)
    return parser


def leave_out(cases: list[Case], contenders: list[str]) -> None:
    """Remove contenders from all cases."""
    for case in cases:
        for name in {*contenders} & {*case.jobs}:
            del case.jobs[name]


def run_cases(cases: list[Case], turns: int | Callable[[Case], int], quick: bool) -> dict[str, dict[str, Outcome]]:
    """Outcomes by case and contender; cases that run equally often take turns."""
    counts = {case.name: turns(case) if callable(turns) else turns for case in cases}
    found: dict[str, dict[str, Outcome]] = {}
    for count in sorted({*counts.values()}, reverse=True):
        some = [case for case in cases if counts[case.name] == count]
        outcomes = iter(run_in_turns([job for case in some for job in case.jobs.values()], count, batched=quick))
        found |= {case.name: {contender: next(outcomes) for contender in case.jobs} for case in some}
    return {case.name: found[case.name] for case in cases}


def run_side_by_side(
    cases: list[Case], turns: int | Callable[[Case], int], quick: bool, n_lanes: int
) -> dict[str, dict[str, Outcome]]:
    """Outcomes of cases in lanes; the contenders of a case have the same cores, one after the other."""
    if n_lanes == 1:
        return run_cases(cases, turns, quick)
    threads = max(job.threads for case in cases for job in case.jobs.values())
    calls = [([case], turns(case) if callable(turns) else turns, quick) for case in cases]
    found: dict[str, dict[str, Outcome]] = {}
    for own in run_in_lanes(run_cases, calls, n_lanes, threads):
        found |= own
    return found


def run_suite(
    name: str,
    arguments: argparse.Namespace,
    cases: list[Case],
    claims: list[Claim],
    turns: int | Callable[[Case], int],
    make_report: type[Report] = Report,
) -> None:
    """Run the chosen cases on an idle machine, print the report and write it as ``<name>_<processor>``.

    Claims compare cases with one another, so that a choice of cases (``--only``) has none. `turns` is the number of
    runs of a case, or a function of the case.
    """
    load = measure_load(0.2 if arguments.quick else 2.0)
    if load > QUIET and not (arguments.quick or arguments.busy):
        raise SystemExit(f"other processes use {load:.0%} of the machine; wait, or pass --busy to measure anyway")
    words = arguments.only
    chosen = [case for case in cases if not words or any(word in case.name for word in words)]
    outcomes = run_side_by_side(chosen, turns, arguments.quick, arguments.lanes)
    machine = describe_machine() | ({"cases at a time": str(arguments.lanes)} if arguments.lanes > 1 else {})
    report = make_report(name, machine, load, arguments.quick, chosen, outcomes, [] if words else claims)
    folder = arguments.out or (None if arguments.quick or words else RESULTS)
    if folder is not None:
        report.write(folder, f"{name}_{name_processor()}")
    print(report.render())
