"""The counts of runs that are kept, and the tables of them in docs/reliability.md.

Usage: python -m fuzz.results [FILE ...]. Adds the runs of these files (``python -m fuzz --output FILE``) to
fuzz/results.json, puts counts of faults (``--output FILE`` of the other programs) into fuzz/faults.json, and writes the
tables into the page.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fuzz.runner import ROOT

__all__ = [
    "FAULTS",
    "PAGE",
    "RESULTS",
    "add_file",
    "add_run",
    "keep_counts",
    "make_tables",
    "read_faults",
    "read_results",
    "write_counts",
    "write_page",
]

RESULTS, FAULTS = ROOT / "fuzz" / "results.json", ROOT / "fuzz" / "faults.json"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- counts: python -m fuzz.results -->", "<!-- end of counts -->"
COLUMNS = {
    "answered": "answered",
    "refused": "refused with a sentence",
    "skipped": "skipped",
    "finding": "findings",
    "crash": "crashes",
    "hang": "hangs",
}
ROWS = {
    "fit": "fits to any table, target and weights",
    "parameters": "fits with any parameters",
    "rows": "questions to fitted models about other tables",
    "inspection": "calls of functions that inspect, export or certify",
    "files": "changed model files, read and mapped",
    "command": "calls of the command with changed tables and odd arguments",
    "search": "searches with any parameters, spaces and estimators",
}
FAULT_ROWS = {
    "allocations": "requests of the core for memory that failed, each of them once",
    "trees": "changed trees in a C++ program under ASan and UBSan",
    "guided trees": "inputs of the reader of trees, guided by coverage, under ASan and UBSan",
    "guided bins": "inputs of the readers of bins, guided by coverage, under ASan and UBSan",
    "guided border": "sessions of calls of the core with changed arguments, guided by coverage, under ASan and UBSan",
    "pool": "calls of the thread pool in a C++ program under TSan",
    "kills": "processes killed while they save a model, at every step of the save",
    "errors": "saves in which a step fails (no space, read-only, rights, quota) or the size of files is limited",
    "interrupts": "calls interrupted at polls of the core, from the first to the last",
    "signals": "signals (SIGINT) in the middle of such calls, fits to ten times the rows",
    "protections sources": "protections taken out once, to see a test fail",
    "protections certificates": "protections of signatures and certificates taken out once, to see a test fail",
    "protections core": "checks at the border of the core and looks for interrupts taken out once, to see a test fail",
    "address x86_64": "tests under ASan and UBSan, x86-64, see below",
    "address aarch64": "tests under ASan and UBSan, aarch64, see below",
    "thread x86_64": "tests under TSan, x86-64, see below",
    "thread aarch64": "tests under TSan, aarch64, see below",
}


def read_results() -> dict[str, Any]:
    """The counts that are kept: a list of runs of the fuzzer."""
    kept: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"runs": []}
    return kept


def read_faults() -> dict[str, Any]:
    """The counts of faults, by their kind; `keep_counts` writes them."""
    kept: dict[str, Any] = json.loads(FAULTS.read_text(encoding="utf-8")) if FAULTS.exists() else {}
    return kept


def add_run(done: dict[str, Any]) -> None:
    """Keep the counts of a run."""
    runs = [*read_results()["runs"], {name: done[name] for name in done if name not in ("findings", "failures")}]
    lines = ",\n ".join(json.dumps(run) for run in runs)
    RESULTS.write_text('{"runs": [\n ' + lines + "\n]}\n", encoding="utf-8")


def keep_counts(kind: str, counts: dict[str, Any]) -> None:
    """Put counts of faults of one kind into the file that the page is made from, and make the page again."""
    _keep_faults({kind: counts})
    write_page()


def _keep_faults(faults: dict[str, Any]) -> None:
    FAULTS.write_text(json.dumps(read_faults() | faults, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def write_counts(path: Path, kind: str, counts: dict[str, Any]) -> None:
    """Put counts of one kind into a file of their own, beside those of other kinds there."""
    kept = json.loads(path.read_text(encoding="utf-8"))["faults"] if path.exists() else {}
    draft = path.with_name(f"{path.name}.new")  # whoever is stopped while writing leaves the counts of before
    draft.write_text(json.dumps({"faults": kept | {kind: counts}}, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def add_file(path: Path) -> None:
    """Keep what is in the file of a program: a run of the fuzzer, or counts of faults."""
    done = json.loads(path.read_text(encoding="utf-8"))
    if "faults" in done:
        _keep_faults(done["faults"])
    else:
        add_run(done)


# --- tables --------------------------------------------------------------------------------------------------------


def _write_rows(first: str, counted: dict[str, dict[str, int]]) -> list[str]:
    lines = [f"| {first} | cases | {' | '.join(COLUMNS.values())} |", f"|---|{'--:|' * (len(COLUMNS) + 1)}"]
    counted = {**counted, "**all**": {c: sum(own.get(c, 0) for own in counted.values()) for c in COLUMNS}}
    for title, own in counted.items():
        numbers = [sum(own.get(c, 0) for c in COLUMNS), *(own.get(c, 0) for c in COLUMNS)]
        lines.append(f"| {title} | {' | '.join(f'{number:,}' for number in numbers)} |")
    return lines


def _sum_counts(counts: list[dict[str, int]]) -> dict[str, int]:
    return {c: sum(own.get(c, 0) for own in counts) for c in COLUMNS}


def make_tables(results: dict[str, Any], faults: dict[str, Any]) -> str:
    """The counts as tables of Markdown: by run, by kind, and of faults."""
    runs = results["runs"]
    by_run = {
        f"{number}: seed {run['seed']}, from {run['first']:,}; {run['machine']}": _sum_counts(
            list(run["kinds"].values())
        )
        for number, run in enumerate(runs, start=1)
    }
    by_kind = {words: _sum_counts([run["kinds"].get(kind, {}) for run in runs]) for kind, words in ROWS.items()}
    lines = [*_write_rows("run", by_run), "", *_write_rows("what", by_kind)]
    if faults:
        lines += ["", "| faults | counts |", "|---|---|"]
        for kind, counts in faults.items():
            shown = ", ".join(f"{name} {n:,}" for name, n in counts.items() if isinstance(n, int) and name != "seed")
            lines.append(f"| {FAULT_ROWS.get(kind, kind)} | {shown} |")
    return "\n".join(lines)


def write_page() -> None:
    """Put the tables between their marks on the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    tables = make_tables(read_results(), read_faults())
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        add_file(Path(name))
    write_page()
