"""The report of a suite. The code is part of the library, for `committee bench`."""

from pathlib import Path

from committee.cli.bench.report import OURS, Case, Claim, Report, ratio, show_seconds, slow_down, value

__all__ = ["OURS", "RESULTS", "Case", "Claim", "Report", "ratio", "show_seconds", "slow_down", "value"]

RESULTS = Path(__file__).resolve().parent / "results"
