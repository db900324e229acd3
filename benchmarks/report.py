"""The report of a suite. The code is part of the library, for `committee bench`."""

from pathlib import Path
from typing import ClassVar

from committee.cli.bench.report import OURS, Case, Claim, Report, ratio, show_seconds, slow_down, value

__all__ = [
    "OURS",
    "RESULTS",
    "Case",
    "Claim",
    "ProcessorReport",
    "Report",
    "ratio",
    "show_seconds",
    "slow_down",
    "value",
]

RESULTS = Path(__file__).resolve().parent / "results"


class ProcessorReport(Report):
    """Also processor seconds, which say more than the clock where other work shares the cores."""

    #: The last lines of the page.
    notes: ClassVar[tuple[str, ...]] = ()

    def render(self) -> str:
        """The report as Markdown."""
        parts = [super().render(), "Least processor seconds, over all threads, and their ratio to ours:", ""]
        parts += ["| what | who | processor | ratio | score |", "|---|---|---|---|---|"]
        for case in self.cases:
            found = self.outcomes[case.name]
            for contender in case.jobs:
                least, score = min(found[contender]["cpu"]), found[contender]["score"]
                times = f"{least / min(found[OURS]['cpu']):.2f}" if OURS in found else ""
                parts.append(f"| {case.name} | {contender} | {show_seconds(least)} | {times} | {score:.4f} |")
        parts += ["", *self.notes]
        return "\n".join(parts) + "\n"
