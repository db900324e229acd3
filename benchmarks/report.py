"""The page and the data of a suite; what writes them ships with the library, for `committee bench`."""

from pathlib import Path

from committee.cli.bench.report import OURS, Case, Claim, Report, ratio, show_seconds, slow_down, value

__all__ = ["OURS", "RESULTS", "Case", "Claim", "Report", "ratio", "show_seconds", "slow_down", "value"]

RESULTS = Path(__file__).resolve().parent / "results"
