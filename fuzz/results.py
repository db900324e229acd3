"""The counts of runs that are kept, and the table of them in docs/reliability.md.

Usage: python -m fuzz.results. Writes the table into the page.
"""

from __future__ import annotations

import json
from typing import Any

from fuzz.runner import ROOT

__all__ = ["RESULTS", "add_run", "make_table", "read_results"]

RESULTS = ROOT / "fuzz" / "results.json"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- counts: python -m fuzz.results -->", "<!-- end of counts -->"
ROWS = {
    "fit": "fits to any table, target and weights",
    "parameters": "fits with any parameters",
    "rows": "questions to fitted models about other tables",
    "inspection": "calls of functions that inspect, export or certify",
    "files": "changed model files, read and mapped",
    "command": "calls of the command with changed tables and odd arguments",
}


def read_results() -> dict[str, Any]:
    """The counts that are kept: a list of runs of the fuzzer, and failed allocations."""
    kept: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"runs": []}
    return kept


def add_run(done: dict[str, Any]) -> None:
    """Keep the counts of a run."""
    results = read_results()
    results["runs"].append(done)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def make_table(results: dict[str, Any]) -> str:
    """The counts as a table of Markdown."""
    lines = [
        "| what | cases | answered | refused with a sentence | findings | crashes | hangs |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    columns = ("answered", "refused", "finding", "crash", "hang")
    totals = dict.fromkeys(("cases", *columns), 0)
    for kind, words in ROWS.items():
        found = {c: sum(run["kinds"].get(kind, {}).get(c, 0) for run in results["runs"]) for c in columns}
        found = {"cases": sum(found.values()), **found}
        totals = {name: totals[name] + found[name] for name in totals}
        lines.append(f"| {words} | {' | '.join(f'{found[name]:,}' for name in found)} |")
    lines.append(f"| **all** | {' | '.join(f'**{value:,}**' for value in totals.values())} |")
    failed = results.get("allocations")
    if failed:
        lines += [
            "",
            f"Failed allocations of the core: {failed['failed']:,}, each allocation of {failed['calls']} calls (fits, "
            f"predictions, SHAP values, loads) once; crashes: {failed['crashes']}.",
        ]
    return "\n".join(lines)


def write_page() -> None:
    """Put the table between its marks on the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{make_table(read_results())}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    write_page()
