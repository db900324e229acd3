"""Counts of a run of the tests under a sanitizer, for the page on reliability.

Usage: python -m fuzz.tested address LOG [LOG ...] [--keep]. A LOG is what a verbose run printed, output and errors, for
example that of `make sanitize-address SANITIZED_TESTS='tests -n 16 -v'`; it may be compressed by gzip. Several are of
runs that went on where another was cut, or that had libraries which another lacked: a test that was skipped in one and
ran in another has run, and of two runs of a test the later one counts. The first LOG is of a run that collected all
tests. With --keep the counts go into fuzz/faults.json, as those of this processor or of the one that --machine names.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import platform
import re
from collections.abc import Sequence
from pathlib import Path

from fuzz.results import keep_counts

__all__ = ["count_reports", "count_tests", "list_failed", "read_log"]

#: A line of pytest-xdist, or one of a single process; the outcome stands before the name there, after it here.
OUTCOMES = "PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS"
LINES = (
    re.compile(rf"^\[gw\d+\] \[ *\d+%\] (?P<outcome>{OUTCOMES}) (?P<name>\S+::.*?) *$", re.M),
    re.compile(rf"^(?P<name>\S+::.*?) (?P<outcome>{OUTCOMES})\b.*\[ *\d+%\]$", re.M),
)
COLLECTED = (re.compile(r"^\d+ workers? \[(\d+) items?\]", re.M), re.compile(r"\bcollected (\d+) items?", re.M))
#: The first line of a report: what is wrong, and where UBSan saw it. It may follow upon the name of the test that runs,
#: which a single process, or another one, has begun to print.
REPORT = re.compile(
    r"(?:==\d+==ERROR: |WARNING: (?=ThreadSanitizer)|(?P<place>[^\s\]]+:\d+:\d+): runtime error: )(?P<what>.*)$", re.M
)
#: The place of a report of ASan or TSan: the first frame in sources of ours.
FRAME = re.compile(r"^\s+#\d+ .*?(?P<place>cpp/\S+:\d+)", re.M)
WORSE = ("ERROR", "FAILED")


def read_log(path: Path) -> str:
    """The text of a file, compressed or not."""
    data = path.read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8", "replace")


def _find_outcomes(logs: Sequence[str]) -> dict[str, str]:
    """The outcome of each test; an error after the test itself makes it a failure."""
    merged: dict[str, str] = {}
    for log in logs:
        outcomes: dict[str, str] = {}
        for pattern in LINES:
            for match in pattern.finditer(log):
                if outcomes.get(match["name"]) not in WORSE:
                    outcomes[match["name"]] = match["outcome"]
        merged |= {name: one for name, one in outcomes.items() if one != "SKIPPED" or name not in merged}
    return merged


def count_tests(*logs: str) -> dict[str, int]:
    """How many tests passed, failed, were skipped, and had not been run when the time was over."""
    outcomes = collections.Counter(_find_outcomes(logs).values())
    collected = next((int(match[1]) for pattern in COLLECTED if (match := pattern.search(logs[0]))), None)
    if collected is None:
        raise ValueError("The log does not say how many tests were collected: run pytest with -v.")
    counts = {
        "passed": outcomes["PASSED"] + outcomes["XPASS"],
        "failed": outcomes["FAILED"] + outcomes["ERROR"],
        "skipped": outcomes["SKIPPED"] + outcomes["XFAIL"],
    }
    return counts | {"not run": max(0, collected - sum(counts.values()))}


def list_failed(*logs: str) -> list[str]:
    """The names of the tests that failed."""
    return sorted(name for name, outcome in _find_outcomes(logs).items() if outcome in WORSE)


def count_reports(text: str) -> dict[str, int]:
    """How often each report came, by what it says and where."""
    found: collections.Counter[str] = collections.Counter()
    starts = [*REPORT.finditer(text)]
    for number, match in enumerate(starts, start=1):
        end = starts[number].start() if number < len(starts) else len(text)
        frame = FRAME.search(text, match.end(), end)
        place = match["place"] or (frame["place"] if frame else "elsewhere")
        what = re.sub(r"\b0x[0-9a-f]+|\(pid=\d+\)|\d{4,}", "…", match["what"])
        found[f"{re.sub(r'^.*/(?=cpp/)', '', place)}: {what}"] += 1
    return dict(found)


def main() -> None:
    """Show the counts, what failed and what was reported."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.tested", description=__doc__)
    parser.add_argument("sanitizer", choices=["address", "thread"])
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--machine", default=platform.machine(), help="the processor that the tests ran on (this one)")
    parser.add_argument("--keep", action="store_true", help="write the counts into fuzz/faults.json")
    args = parser.parse_args()
    logs = [read_log(path) for path in args.logs]
    reports = count_reports("\n".join(logs))
    counts = count_tests(*logs) | {"distinct reports": len(reports)}
    print(*list_failed(*logs), *(f"{n} x {report}" for report, n in reports.items()), json.dumps(counts), sep="\n")
    if args.keep:
        keep_counts(f"{args.sanitizer} {args.machine}", dict(sorted(counts.items())))


if __name__ == "__main__":
    main()
