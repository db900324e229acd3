"""Timing. The code is part of the library, for `committee bench`."""

from committee.cli.bench.measure import Job, Outcome, run_in_child, run_in_turns, run_jobs, time_calls, time_fit

__all__ = ["Job", "Outcome", "run_in_child", "run_in_turns", "run_jobs", "time_calls", "time_fit"]
