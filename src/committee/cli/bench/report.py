"""Benchmark results as a page (Markdown) and as data (JSON)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from committee.cli.bench.measure import Job, Outcome, is_disturbed

__all__ = ["OURS", "Case", "Claim", "Report", "ratio", "show_seconds", "slow_down", "value"]

OURS = "committee"
# Titles of suites whose names in lower case are not words.
_TITLES = {"adaboost": "AdaBoost", "boostexter": "BoosTexter", "isolation": "Isolation forests", "wide": "Wide tables"}
#: Outcomes by case and contender.
CaseOutcomes: TypeAlias = dict[str, dict[str, Outcome]]
#: A number computed from the outcomes.
OutcomeFunction: TypeAlias = Callable[[CaseOutcomes], float]


@dataclass(frozen=True)
class Case:
    """One benchmark case with the jobs of all contenders, ours first."""

    name: str
    jobs: dict[str, Job]


@dataclass(frozen=True)
class Claim:
    """A requirement: a number computed from the outcomes, and its lower or upper limit.

    Without a limit the number is only reported.
    """

    text: str
    figure: OutcomeFunction
    limit: float | None = None
    at_least: bool = True
    unit: str = "x"

    def check(self, outcomes: CaseOutcomes) -> dict[str, Any]:
        """The claim with its number, and whether the limit is met."""
        reached = self.figure(outcomes)
        shown = f"{reached:.3g} {self.unit}"
        if self.limit is None:
            return {"claim": self.text, "wanted": "", "reached": shown, "met": None}
        met = reached >= self.limit if self.at_least else reached <= self.limit
        wanted = f"{'≥' if self.at_least else '≤'} {self.limit:g} {self.unit}"
        return {"claim": self.text, "wanted": wanted, "reached": shown, "met": bool(met)}


@dataclass(frozen=True)
class Report:
    """The outcomes of a suite, by case and contender, and the machine."""

    suite: str
    machine: dict[str, str]
    load: float
    quick: bool
    cases: Sequence[Case]
    outcomes: CaseOutcomes
    claims: Sequence[Claim]

    def write(self, folder: Path, name: str = "") -> Path:
        """Write both files, named after the suite or `name`; returns the path of the page."""
        name = name or self.suite
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.tabulate(), indent=1, ensure_ascii=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        page = folder / f"{name}.md"
        page.write_text(self.render(), encoding="utf-8")
        return page

    def render(self) -> str:
        """The page."""
        parts = [f"# {_TITLES.get(self.suite, self.suite.capitalize().replace('_', ' '))}, side by side", ""]
        parts.append(", ".join(f"{name} {value}" for name, value in self.machine.items()) + ".")
        if not math.isnan(self.load):
            parts.append(f"Others used {self.load:.0%} of the machine before the start.")
        if self.quick:
            parts.append("**A quick run on tiny data: times are not meaningful.**")
        claims = [*self._tabulate_claims(), ""] if self.claims else []
        parts += ["", *claims, *self._tabulate_outcomes()]
        parts += ["", "Ratio: the contender's best time over ours. Memory: growth of the peak during the first run."]
        parts.append("A time with * was disturbed: even its best run waited for the processor.")
        return "\n".join(parts) + "\n"

    def tabulate(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "suite": self.suite,
            "machine": self.machine,
            "load": None if math.isnan(self.load) else self.load,
            "quick": self.quick,
            "jobs": {case.name: {c: asdict(job) for c, job in case.jobs.items()} for case in self.cases},
            "outcomes": self.outcomes,
            "claims": [claim.check(self.outcomes) for claim in self.claims],
        }

    def _tabulate_claims(self) -> list[str]:
        rows = ["| what must be so | wanted | reached | |", "|---|---|---|---|"]
        for claim in self.claims:
            found = claim.check(self.outcomes)
            met = {True: "yes", False: "**no**", None: ""}[found["met"]]
            rows.append(f"| {found['claim']} | {found['wanted']} | {found['reached']} | {met} |")
        return rows

    def _tabulate_outcomes(self) -> list[str]:
        rows = ["| what | threads | who | best | median | ratio | score | memory, MB | bytes |"]
        rows.append("|---|---|---|---|---|---|---|---|---|")
        for case in self.cases:
            for contender, job in case.jobs.items():
                cells = self._show_outcome(case, contender, job)
                rows.append("| " + " | ".join(cells) + " |")
        return rows

    def _show_outcome(self, case: Case, contender: str, job: Job) -> list[str]:
        outcome, ours = self.outcomes[case.name][contender], self.outcomes[case.name].get(OURS, {})
        best = outcome.get("best")
        shown = "" if best is None else show_seconds(best) + ("*" if job.threads == 1 and is_disturbed(outcome) else "")
        middle = "" if best is None else show_seconds(outcome["median"])
        ratio = "" if best is None or "best" not in ours else f"{best / ours['best']:.2f}"
        score, memory, size = (outcome.get(key) for key in ("score", "memory_mb", "bytes"))
        return [
            case.name,
            str(job.threads),
            contender,
            shown,
            middle,
            ratio,
            "" if score is None else f"{score:.4f}",
            "" if memory is None else f"{memory:.0f}",
            "" if size is None else f"{size:,}",
        ]


def show_seconds(seconds: float) -> str:
    """Format seconds with three digits and a unit.

    Examples
    --------
    >>> show_seconds(0.00001234)
    '12.3 us'
    """
    unit, scale = next((u for u in (("s", 1.0), ("ms", 1e-3)) if seconds >= u[1]), ("us", 1e-6))
    return f"{seconds / scale:.3g} {unit}"


def ratio(case: str, contender: str, key: str = "best", ours: str = OURS) -> OutcomeFunction:
    """The ratio of a contender's time (or bytes) to ours in a case."""

    def read(outcomes: CaseOutcomes) -> float:
        return float(outcomes[case][contender][key] / outcomes[case][ours][key])

    return read


def slow_down(quiet: str, disturbed: str, contender: str) -> OutcomeFunction:
    """The ratio of a contender's median times in two cases."""

    def read(outcomes: CaseOutcomes) -> float:
        return float(outcomes[disturbed][contender]["median"] / outcomes[quiet][contender]["median"])

    return read


def value(case: str, contender: str, key: str, scale: float = 1.0) -> OutcomeFunction:
    """A value of an outcome, divided by a scale."""

    def read(outcomes: CaseOutcomes) -> float:
        return float(outcomes[case][contender][key] / scale)

    return read
